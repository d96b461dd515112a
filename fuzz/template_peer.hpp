// Python's jinja2 as a child process (template_peer.py).
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ridge::fuzz {

class TemplatePeer {
  public:
    struct Answer {
        char kind = 'N';  // T: text, E: jinja2 raises, N: no verdict
        std::string text;
    };

    // `conversation`: the JSON that every template is rendered with. Says on stderr what it starts,
    // or why nothing will be compared.
    TemplatePeer(std::string script, std::string conversation)
        : script_(std::move(script)), conversation_(std::move(conversation)) {
        signal(SIGPIPE, SIG_IGN);
        // Debian's first: the package that ./dev installs is its own.
        for (const char* python : {"/usr/bin/python3", "python3"}) {
            python_ = python;
            if (start()) return;
        }
        python_.clear();
        std::fprintf(stderr,
                     "fuzz_template: no python3 here has jinja2 (python3-jinja2), so nothing is "
                     "compared with it\n");
    }
    ~TemplatePeer() { stop(); }
    TemplatePeer(const TemplatePeer&) = delete;
    TemplatePeer& operator=(const TemplatePeer&) = delete;

    bool there() const { return !python_.empty(); }

    // Renders them all, `how` being 'r' or 'p' (template_peer.py): many in one message, as waiting
    // for each other is most of the cost. A child that dies or hangs is replaced.
    std::vector<Answer> render(char how, const std::vector<std::string_view>& sources) {
        std::vector<Answer> answers(sources.size());
        if (sources.empty() || (child_ <= 0 && !start())) return answers;
        std::string message;
        for (const std::string_view source : sources) {
            message += length_of(source.size() + 1);
            message += how;
            message += source;
        }
        std::string bytes;
        if (!send(message) || !receive(bytes)) {
            stop();
            return answers;
        }
        std::string_view rest = bytes;
        for (Answer& answer : answers) {
            if (rest.size() < 5) std::abort();  // it answers all or dies
            const size_t n = length_at(rest);
            answer = {rest[4], std::string(rest.substr(5, n - 1))};
            rest.remove_prefix(4 + n);
        }
        return answers;
    }

  private:
    bool start() {
        int to[2];
        int from[2];
        if (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0) std::abort();
        posix_spawn_file_actions_t actions;
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_adddup2(&actions, to[0], 0);
        posix_spawn_file_actions_adddup2(&actions, from[1], 1);
        if (std::getenv("RIDGE_PEER_STDERR") ==
            nullptr)  // a Python without jinja2 says so at length
            posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
        std::string dont_write = "-B";
        char* const arguments[] = {python_.data(), dont_write.data(), script_.data(), nullptr};
        const int failed =
            posix_spawnp(&child_, python_.c_str(), &actions, nullptr, arguments, environ);
        posix_spawn_file_actions_destroy(&actions);
        close(to[0]);
        close(from[1]);
        to_ = to[1];
        from_ = from[0];
        if (failed != 0) child_ = 0;
        std::string version;
        if (failed == 0 && send(conversation_) && receive(version)) {
            if (!announced_)
                std::fprintf(stderr, "fuzz_template: compares with jinja2 %s\n", version.c_str());
            announced_ = true;
            return true;
        }
        stop();
        return false;
    }

    void stop() {
        if (to_ >= 0) close(to_);
        if (from_ >= 0) close(from_);
        to_ = from_ = -1;
        if (child_ > 0) {
            kill(child_, SIGKILL);
            while (waitpid(child_, nullptr, 0) < 0 && errno == EINTR) {
            }
        }
        child_ = 0;
    }

    static std::string length_of(size_t n) {
        std::string out;
        for (int shift = 0; shift < 32; shift += 8)
            out.push_back(static_cast<char>(n >> shift & 0xFF));
        return out;
    }

    static size_t length_at(std::string_view bytes) {
        size_t n = 0;
        for (size_t i = 4; i-- > 0;) n = n << 8 | static_cast<unsigned char>(bytes[i]);
        return n;
    }

    bool send(std::string_view message) {
        const std::string bytes = length_of(message.size()) + std::string(message);
        for (size_t done = 0; done < bytes.size();) {
            const ssize_t n = write(to_, bytes.data() + done, bytes.size() - done);
            if (n < 0 && errno == EINTR) continue;
            if (n <= 0) return false;
            done += static_cast<size_t>(n);
        }
        return true;
    }

    bool read_all(char* out, size_t size) {
        for (size_t done = 0; done < size;) {
            pollfd ready = {from_, POLLIN, 0};
            const int some = poll(&ready, 1, 120000);
            if (some < 0 && errno == EINTR) continue;
            if (some <= 0) return false;
            const ssize_t n = read(from_, out + done, size - done);
            if (n < 0 && errno == EINTR) continue;
            if (n <= 0) return false;
            done += static_cast<size_t>(n);
        }
        return true;
    }

    bool receive(std::string& message) {
        char length[4];
        if (!read_all(length, 4)) return false;
        message.assign(length_at({length, 4}), '\0');
        return read_all(message.data(), message.size());
    }

    std::string script_, conversation_, python_;
    pid_t child_ = 0;
    int to_ = -1, from_ = -1;
    bool announced_ = false;
};

}  // namespace ridge::fuzz

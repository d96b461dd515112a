#include "support/cli.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>

namespace ridge::test {
namespace {

double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

std::vector<std::string> environment(const CliOptions& options) {
    std::vector<std::pair<std::string, std::string>> set = {{"HOME", "/nonexistent"},
                                                            {"XDG_CACHE_HOME", ""}};
    set.insert(set.end(), options.environment.begin(), options.environment.end());
    std::vector<std::string> all;
    for (char** e = environ; *e != nullptr; ++e) {
        const std::string entry = *e;
        const std::string name = entry.substr(0, entry.find('='));
        if (std::none_of(set.begin(), set.end(), [&](const auto& s) { return s.first == name; }))
            all.push_back(entry);
    }
    for (const auto& [name, value] : set) all.push_back(name + "=" + value);
    return all;
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
    std::vector<char*> out;
    for (std::string& s : strings) out.push_back(s.data());
    out.push_back(nullptr);
    return out;
}

}  // namespace

CliRun run_cli(const char* program, const std::vector<std::string>& args,
               const CliOptions& options) {
    CliRun run;
    int in[2], out[2], err[2];
    if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0)
        return run;
    std::vector<std::string> arguments = {program};
    arguments.insert(arguments.end(), args.begin(), args.end());
    std::vector<std::string> env = environment(options);
    const std::vector<char*> argv = pointers(arguments), envp = pointers(env);
    const double begin = now();
    const pid_t pid = fork();
    if (pid < 0) return run;
    if (pid == 0) {
        signal(SIGPIPE, SIG_DFL);
        dup2(in[0], 0);
        dup2(out[1], 1);
        dup2(err[1], 2);
        execve(program, argv.data(), envp.data());
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    close(err[1]);
    // Inputs of tests are smaller than a pipe holds. A program that does not read them is no error.
    signal(SIGPIPE, SIG_IGN);
    const ssize_t written = write(in[1], options.input.data(), options.input.size());
    (void)written;
    close(in[1]);

    pollfd fds[2] = {{out[0], POLLIN, 0}, {err[0], POLLIN, 0}};
    std::string* const texts[2] = {&run.out, &run.err};
    while (fds[0].fd >= 0 || fds[1].fd >= 0) {
        const double left = options.timeout_s - (now() - begin);
        if (left <= 0 || poll(fds, 2, static_cast<int>(left * 1000) + 1) == 0) {
            run.timed_out = true;
            kill(pid, SIGKILL);
            break;
        }
        for (int i = 0; i < 2; ++i) {
            if (fds[i].fd < 0 || fds[i].revents == 0) continue;
            char buffer[65536];
            size_t most = sizeof buffer;
            if (i == 0) most = std::min(most, options.close_after - run.out.size());
            const ssize_t n = read(fds[i].fd, buffer, most);
            if (n > 0) texts[i]->append(buffer, static_cast<size_t>(n));
            if (n <= 0 || (i == 0 && run.out.size() >= options.close_after)) {
                close(fds[i].fd);
                fds[i].fd = -1;
            } else if (i == 0 && options.on_output) {
                options.on_output(run.out, pid);
            }
        }
    }
    for (const pollfd& f : fds)
        if (f.fd >= 0) close(f.fd);
    int status = 0;
    rusage usage{};
    // A program that closed its outputs but does not end is killed as well.
    while (wait4(pid, &status, WNOHANG, &usage) == 0) {
        if (!run.timed_out && now() - begin > options.timeout_s) {
            run.timed_out = true;
            kill(pid, SIGKILL);
        }
        usleep(1000);
    }
    run.seconds = now() - begin;
    run.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    const auto seconds = [](const timeval& t) {
        return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
    };
    run.cpu_seconds = seconds(usage.ru_utime) + seconds(usage.ru_stime);
    run.peak_bytes = static_cast<uint64_t>(usage.ru_maxrss) * 1024;
    return run;
}

bool is_one_complaint(const std::string& err) {
    return err.starts_with("ridge: ") && err.size() > 8 && err.find('\n') == err.size() - 1;
}

}  // namespace ridge::test

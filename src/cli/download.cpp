#include "cli/download.hpp"

#include <fmt/format.h>

#ifndef RIDGE_CURL

namespace ridge::cli {
Result<Downloaded> download(const Download&) {
    return fail(ErrorCode::unsupported,
                "this ridge was built without libcurl and cannot download; get the file by "
                "another program");
}
}  // namespace ridge::cli

#else

#include <curl/curl.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <thread>

#include "base/output_file.hpp"
#include "format/gguf_types.hpp"
#include "format/sha256.hpp"

namespace ridge::cli {
namespace {

constexpr long connect_seconds = 30, stalled_seconds = 60, most_redirects = 10;

struct CloseCurl {
    void operator()(CURL* c) const { curl_easy_cleanup(c); }
};
struct FreeList {
    void operator()(curl_slist* l) const { curl_slist_free_all(l); }
};

// The open part of a file, locked against a second pull.
class Part {
  public:
    explicit Part(const std::string& path)
        : path_(path), fd_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {}
    Part(const Part&) = delete;
    Part& operator=(const Part&) = delete;
    ~Part() {
        if (fd_ >= 0) ::close(fd_);
    }
    bool is_open() const { return fd_ >= 0; }
    // False, too, where the other pull ended meanwhile: what is open then is its finished file.
    bool lock() const {
        struct stat open = {}, named = {};
        return ::flock(fd_, LOCK_EX | LOCK_NB) == 0 && ::fstat(fd_, &open) == 0 &&
               ::stat(path_.c_str(), &named) == 0 && open.st_dev == named.st_dev &&
               open.st_ino == named.st_ino;
    }
    uint64_t size() const {
        struct stat s{};
        return ::fstat(fd_, &s) == 0 ? static_cast<uint64_t>(s.st_size) : 0;
    }
    bool truncate(uint64_t n) const { return ::ftruncate(fd_, static_cast<off_t>(n)) == 0; }
    bool append(const char* data, size_t n) const {
        for (off_t at = ::lseek(fd_, 0, SEEK_END); n > 0;) {
            const ssize_t done = ::pwrite(fd_, data, n, at);
            if (done < 0 && errno == EINTR) continue;
            if (done <= 0) return false;
            data += done;
            at += done;
            n -= static_cast<size_t>(done);
        }
        return true;
    }
    bool starts_with_gguf() const {
        uint32_t word = 0;
        return ::pread(fd_, &word, sizeof word, 0) == sizeof word && word == gguf::magic;
    }

  private:
    std::string path_;
    int fd_;
};

// What one connection has to know and finds out.
struct Transfer {
    const Download& what;
    const Part& part;
    uint64_t from = 0;        // the part's size when the request began
    long status = 0;          // of the response whose headers are being read
    uint64_t total = 0;       // of the whole file; 0: unknown
    std::string tag = {};     // validator: a strong ETag, else Last-Modified
    std::string stated = {};  // SHA-256 that the server names
    bool begun = false;       // the body has begun
    bool disk_failed = false, range_wrong = false, stopped = false;
    int disk_error = 0;
};

std::string trimmed(std::string_view text) {
    const size_t first = text.find_first_not_of(" \t\r\n\"");
    if (first == std::string_view::npos) return {};
    return std::string(text.substr(first, text.find_last_not_of(" \t\r\n\"") - first + 1));
}

bool named(std::string_view line, std::string_view name, std::string_view& value) {
    if (line.size() <= name.size() || line[name.size()] != ':') return false;
    for (size_t i = 0; i < name.size(); ++i)
        if ((line[i] | 32) != (name[i] | 32)) return false;
    value = line.substr(name.size() + 1);
    return true;
}

size_t on_header(char* data, size_t, size_t n, void* user) {
    auto& t = *static_cast<Transfer*>(user);
    const std::string_view line(data, n);
    std::string_view value;
    if (line.starts_with("HTTP/")) {  // also of each redirect
        const size_t space = line.find(' ');
        t.status = space == std::string_view::npos ? 0 : std::atol(line.data() + space + 1);
        t.tag.clear();
        t.total = 0;
    } else if (named(line, "etag", value)) {
        const size_t first = value.find_first_not_of(" \t");
        if (first != std::string_view::npos && value[first] == '"')  // weak ones do not do
            t.tag = std::string(value.substr(first, value.find_last_of('"') - first + 1));
        if (is_sha256(trimmed(value)) && t.stated.empty()) t.stated = trimmed(value);
    } else if (named(line, "x-linked-etag", value)) {
        if (is_sha256(trimmed(value))) t.stated = trimmed(value);
    } else if (named(line, "last-modified", value)) {
        if (t.tag.empty()) t.tag = trimmed(value);
    } else if (named(line, "content-length", value)) {
        if (t.status == 200) t.total = std::strtoull(trimmed(value).c_str(), nullptr, 10);
    } else if (named(line, "content-range", value)) {  // bytes FIRST-LAST/TOTAL
        const std::string range = trimmed(value);
        unsigned long long first = 0, last = 0, total = 0;
        if (t.status == 206) {
            t.range_wrong =
                std::sscanf(range.c_str(), "bytes %llu-%llu/%llu", &first, &last, &total) != 3 ||
                first != t.from;
            t.total = total;
        }
    }
    return n;
}

size_t on_body(char* data, size_t, size_t n, void* user) {
    auto& t = *static_cast<Transfer*>(user);
    if (t.status != 200 && t.status != 206) return n;  // an error page is not the file
    if (t.range_wrong) return 0;
    if (!t.begun) {
        t.begun = true;
        // 200 to a request for the rest: the whole file, since it is another by now
        if (t.status == 200 && t.from > 0) {
            if (!t.part.truncate(0)) t.disk_failed = true;
            t.from = 0;
        }
        std::ofstream(t.what.path + ".part.tag", std::ios::binary) << t.tag;
    }
    errno = 0;
    if (t.disk_failed || !t.part.append(data, n)) {
        t.disk_failed = true;
        t.disk_error = errno;
        return 0;
    }
    return n;
}

int on_progress(void* user, curl_off_t, curl_off_t now, curl_off_t, curl_off_t) {
    auto& t = *static_cast<Transfer*>(user);
    if (!t.what.progress) return 0;
    t.stopped = !t.what.progress(t.from + static_cast<uint64_t>(now), t.total);
    return t.stopped ? 1 : 0;
}

std::string saved_tag(const Download& what) {
    std::ifstream in(what.path + ".part.tag", std::ios::binary);
    std::string tag{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    const bool usable = tag.size() < 1000 && tag.find_first_of("\r\n") == std::string::npos;
    return usable ? tag : std::string();
}

CURLcode connect_once(CURL* curl, Transfer& t, char* why) {
    const std::string tag = saved_tag(t.what);
    t.from = t.part.size();
    if (t.from > 0 && tag.empty()) {  // nothing says that the rest belongs to it
        if (!t.part.truncate(0)) t.disk_failed = true;
        t.from = 0;
    }
    std::unique_ptr<curl_slist, FreeList> headers;
    if (t.from > 0) headers.reset(curl_slist_append(nullptr, ("If-Range: " + tag).c_str()));
    curl_easy_reset(curl);
    curl_easy_setopt(curl, CURLOPT_URL, t.what.url.c_str());
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR,
                     t.what.url.starts_with("https:") ? "https" : "http,https");
    curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 1L);
    curl_easy_setopt(curl, CURLOPT_MAXREDIRS, most_redirects);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, connect_seconds);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, stalled_seconds);
    curl_easy_setopt(curl, CURLOPT_USERAGENT, "ridge");
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, why);
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, &t);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, &t);
    curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, on_progress);
    curl_easy_setopt(curl, CURLOPT_XFERINFODATA, &t);
    if (headers) curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers.get());
    if (t.from > 0) curl_easy_setopt(curl, CURLOPT_RANGE, (std::to_string(t.from) + "-").c_str());
    if (!t.what.bearer.empty()) {  // curl does not send it on to another host
        curl_easy_setopt(curl, CURLOPT_HTTPAUTH, CURLAUTH_BEARER);
        curl_easy_setopt(curl, CURLOPT_XOAUTH2_BEARER, t.what.bearer.c_str());
    }
    return curl_easy_perform(curl);
}

Status http_error(const Download& what, long status) {
    if (status == 404 || status == 410)
        return fail(ErrorCode::not_found, fmt::format("there is no {} (HTTP {}); check the name",
                                                      gguf::quoted(what.url), status));
    if (status == 401 || status == 403)
        return fail(ErrorCode::io,
                    fmt::format("{} may not be read (HTTP {}); set RIDGE_HUB_TOKEN if it needs a "
                                "token",
                                gguf::quoted(what.url), status));
    return fail(ErrorCode::io,
                fmt::format("{} answered HTTP {}; try later", gguf::quoted(what.url), status));
}

// Connects until the part is whole.
Status fetch(CURL* curl, const Download& what, const Part& part, std::string& stated,
             uint64_t& resumed_at) {
    char why[CURL_ERROR_SIZE] = "";
    for (int tries = 0;;) {
        Transfer t{what, part};
        t.stated = stated;
        const uint64_t before = part.size();
        const CURLcode code = connect_once(curl, t, why);
        stated = t.stated;
        if (t.status == 206 && resumed_at == 0) resumed_at = t.from;
        if (t.stopped) return fail(ErrorCode::cancelled, "");
        if (t.disk_failed)
            return fail(ErrorCode::io, fmt::format("cannot write '{}.part': {}", what.path,
                                                   std::strerror(t.disk_error)));
        const bool whole = t.total == 0 || part.size() == t.total;
        if (code == CURLE_OK && (t.status == 200 || t.status == 206) && whole) {
            // a body without any byte never began
            if (!t.begun && t.from > 0 && t.status == 200 && !part.truncate(0))
                return fail(ErrorCode::io, "cannot shorten the part");
            return {};
        }
        if (t.status == 416 || t.range_wrong) {  // the part does not fit the server's file
            if (before == 0 || !part.truncate(0)) return http_error(what, t.status);
            continue;
        }
        const bool temporary = code != CURLE_OK || t.status >= 500 || t.status == 429 || !whole;
        if (!temporary || code == CURLE_URL_MALFORMAT || code == CURLE_UNSUPPORTED_PROTOCOL ||
            code == CURLE_TOO_MANY_REDIRECTS || code == CURLE_PEER_FAILED_VERIFICATION)
            tries = what.retries;
        if (part.size() > before) tries = 0;
        if (tries >= what.retries) {
            if (code == CURLE_OK && t.status != 200 && t.status != 206)
                return http_error(what, t.status);
            return fail(ErrorCode::io,
                        fmt::format("getting {} failed: {}; the same command goes on from byte {}",
                                    gguf::quoted(what.url),
                                    why[0] != '\0' ? why : curl_easy_strerror(code), part.size()));
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(100 << std::min(tries, 6)));
        ++tries;
    }
}

}  // namespace

Result<Downloaded> download(const Download& what) {
    RIDGE_TRY(may_replace(what.path));
    const Part part(what.path + ".part");
    if (!part.is_open())
        return fail(ErrorCode::io,
                    fmt::format("cannot write '{}.part': {}", what.path, std::strerror(errno)));
    if (!part.lock())
        return fail(ErrorCode::io, fmt::format("another program is writing '{}.part'", what.path));
    // each part that ridge begins has its tag, if only an empty one
    if (part.size() > 0 && ::access((what.path + ".part.tag").c_str(), F_OK) != 0)
        return fail(ErrorCode::io, fmt::format("'{}.part' is there and was not begun by ridge; "
                                               "move it away or say by -o where to write",
                                               what.path));
    const std::unique_ptr<CURL, CloseCurl> curl(curl_easy_init());
    if (!curl) return fail(ErrorCode::out_of_memory, "libcurl does not start");
    Downloaded out;
    std::string stated;
    const auto discard = [&] {
        ::unlink((what.path + ".part").c_str());
        ::unlink((what.path + ".part.tag").c_str());
    };
    if (const Status got = fetch(curl.get(), what, part, stated, out.resumed_at); !got) {
        if (part.size() == 0) discard();
        return propagate(got);
    }
    out.bytes = part.size();
    RIDGE_ASSIGN(out.sha256, sha256_of_file(what.path + ".part"));
    std::string expected = what.sha256.empty() ? stated : what.sha256;
    for (char& c : expected) c = static_cast<char>(c >= 'A' && c <= 'F' ? c | 32 : c);
    if (!expected.empty() && expected != out.sha256) {
        discard();
        return fail(ErrorCode::bad_file,
                    fmt::format("what {} gave has the SHA-256 {}, not {}; it was thrown away",
                                gguf::quoted(what.url), out.sha256, expected));
    }
    out.checked = !expected.empty();
    if (what.path.ends_with(".gguf") && !part.starts_with_gguf()) {
        discard();
        return fail(ErrorCode::bad_file,
                    fmt::format("what {} gave is no GGUF file; it was thrown away",
                                gguf::quoted(what.url)));
    }
    RIDGE_TRY(move_over(what.path + ".part", what.path));
    ::unlink((what.path + ".part.tag").c_str());
    return out;
}

}  // namespace ridge::cli

#endif

// Error texts, the log, the version.
#include <cstdio>
#include <mutex>

#include "api/api.hpp"

namespace ridge::api {
namespace {

// A fixed buffer: keeping the text of "out of memory" must not need memory.
thread_local char last_error[1024];

struct LogSink {
    std::mutex mutex;
    ridge_log_fn fn = nullptr;
    void* user = nullptr;
};
LogSink& sink() {
    static LogSink s;
    return s;
}

ridge_status status_of(ErrorCode code) noexcept {
    switch (code) {
        case ErrorCode::invalid_argument:
            return RIDGE_INVALID_ARGUMENT;
        case ErrorCode::not_found:
            return RIDGE_NOT_FOUND;
        case ErrorCode::io:
            return RIDGE_IO;
        case ErrorCode::bad_file:
            return RIDGE_BAD_FILE;
        case ErrorCode::unsupported:
            return RIDGE_UNSUPPORTED;
        case ErrorCode::out_of_memory:
            return RIDGE_OUT_OF_MEMORY;
        case ErrorCode::cancelled:
            return RIDGE_CANCELLED;
        case ErrorCode::internal:
            return RIDGE_INTERNAL;
    }
    return RIDGE_INTERNAL;
}

}  // namespace

ridge_status note(ErrorCode code, const char* message) noexcept {
    std::snprintf(last_error, sizeof last_error, "%s", message);
    return status_of(code);
}

void log(int32_t level, const std::string& text) {
    LogSink& s = sink();
    const std::lock_guard lock(s.mutex);
    if (s.fn != nullptr) s.fn(s.user, level, text.c_str());
}

}  // namespace ridge::api

extern "C" {

const char* ridge_error(void) {
    return ridge::api::last_error;
}

const char* ridge_version(void) {
    return RIDGE_VERSION;
}

void ridge_set_log(ridge_log_fn log, void* user) {
    auto& s = ridge::api::sink();
    const std::lock_guard lock(s.mutex);
    s.fn = log;
    s.user = user;
}

}  // extern "C"

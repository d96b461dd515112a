// Small helpers of the text tests.
#pragma once

#include <pthread.h>
#include <time.h>

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>

#include "support/sanitized.hpp"

namespace ridge::test {

inline std::string utf8(uint32_t c) {
    std::string s;
    if (c < 0x80) {
        s.push_back(static_cast<char>(c));
    } else if (c < 0x800) {
        s.push_back(static_cast<char>(0xC0 | c >> 6));
        s.push_back(static_cast<char>(0x80 | (c & 0x3F)));
    } else if (c < 0x10000) {
        s.push_back(static_cast<char>(0xE0 | c >> 12));
        s.push_back(static_cast<char>(0x80 | (c >> 6 & 0x3F)));
        s.push_back(static_cast<char>(0x80 | (c & 0x3F)));
    } else {
        s.push_back(static_cast<char>(0xF0 | c >> 18));
        s.push_back(static_cast<char>(0x80 | (c >> 12 & 0x3F)));
        s.push_back(static_cast<char>(0x80 | (c >> 6 & 0x3F)));
        s.push_back(static_cast<char>(0x80 | (c & 0x3F)));
    }
    return s;
}

// A megabyte or little more of `unit` repeated.
inline std::string megabyte_of(const std::string& unit) {
    std::string text;
    while (text.size() < 1'000'000) text += unit;
    return text;
}

// Runs `work` on a thread with a stack of 64 KiB (1 MiB under sanitizers, whose frames are larger)
// and returns the seconds of CPU time it took: wall time would measure the neighbours too.
inline double cpu_seconds_on_small_stack(const std::function<void()>& work) {
    struct Job {
        const std::function<void()>* work;
        double seconds;
    } job{&work, 0};
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, sanitized ? 1 << 20 : 64 << 10);
    const auto run = [](void* p) -> void* {
        auto* job = static_cast<Job*>(p);
        const auto now = [] {
            timespec t{};
            clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
            return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
        };
        const double start = now();
        (*job->work)();
        job->seconds = now() - start;
        return nullptr;
    };
    pthread_t thread{};
    const int failed = pthread_create(&thread, &attr, run, &job);
    pthread_attr_destroy(&attr);
    if (failed != 0) throw std::runtime_error("no thread with a small stack");
    pthread_join(thread, nullptr);
    return job.seconds;
}

#ifdef __OPTIMIZE__
constexpr bool kOptimized = true;
#else
constexpr bool kOptimized = false;  // ./dev coverage
#endif
constexpr double kSecondsForAMegabyte = sanitized || !kOptimized ? 20.0 : 1.0;

}  // namespace ridge::test

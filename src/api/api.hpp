// What the files of the C API share: the objects behind its handles, and how errors and exceptions
// become statuses.
#pragma once

#include <atomic>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "ridge/ridge.h"
#include "runtime/model.hpp"
#include "sample/chooser.hpp"

struct ridge_model {
    std::unique_ptr<ridge::Model> model;
    std::vector<std::pair<std::string, std::string>> texts;  // metadata asked for, ended by zero
};

struct ridge_context {
    ridge_model* owner = nullptr;
    std::unique_ptr<ridge::Context> context;
    std::atomic<bool> cancel{false};
    std::vector<ridge::Row> rows;
    std::vector<int64_t> row_of;     // [batch index]: row of the pass
    std::vector<int64_t> logits_of;  // [batch index]: its logits, or -1
    std::vector<uint32_t> next;      // [sequence]: its next position, while a batch is laid out
    int64_t last_logits = -1;        // the last that were asked for
};

struct ridge_sampler {
    ridge::TokenChooser chooser;
    uint32_t vocabulary;
};

namespace ridge::api {

// Keeps the sentence for ridge_error().
ridge_status note(ErrorCode code, const char* message) noexcept;
inline ridge_status note(const Error& e) noexcept {
    return note(e.code, e.message.c_str());
}
inline ridge_status invalid(const char* message) noexcept {
    return note(ErrorCode::invalid_argument, message);
}
void log(int32_t level, const std::string& text);

// Is the handle there? Where it is null, the sentence is kept. For functions without a status.
inline bool present(const void* handle, const char* what) noexcept {
    if (handle != nullptr) return true;
    (void)invalid(what);
    return false;
}
// The same for those with one.
inline Status needs(const void* handle, const char* what) {
    if (handle != nullptr) return {};
    return fail(ErrorCode::invalid_argument, what);
}
inline constexpr const char* no_model = "the model is null; open one with ridge_model_open";
inline constexpr const char* no_context = "the context is null; make one with ridge_context_create";
inline constexpr const char* no_sampler = "the sampler is null; make one with ridge_sampler_create";

// Runs f, which returns a Status; no exception passes.
template <typename F>
ridge_status guard(F&& f) noexcept {
    try {
        const Status s = f();
        return s ? RIDGE_OK : note(s.error());
    } catch (const std::bad_alloc&) {
        return note(ErrorCode::out_of_memory, "there is not enough memory");
    } catch (const std::exception& e) {
        return note(ErrorCode::internal, e.what());
    } catch (...) {
        return note(ErrorCode::internal, "an unknown exception");
    }
}
// The same for functions that return a count: Result<int64_t>, or minus the status.
template <typename F>
int64_t guard_count(F&& f) noexcept {
    int64_t n = 0;
    const ridge_status s = guard([&]() -> Status {
        RIDGE_ASSIGN(n, f());
        return {};
    });
    return s == RIDGE_OK ? n : -static_cast<int64_t>(s);
}

// The caller's parameters over the defaults, field by field as far as the caller's struct goes;
// null leaves the defaults. Error: a size that no version of the struct has.
template <typename T>
Status take_params(const T* given, T& params) {
    if (given == nullptr) return {};
    if (given->size < sizeof(size_t) || given->size > 4096)
        return fail(ErrorCode::invalid_argument,
                    "a parameter struct has no valid size; fill it with its _defaults function");
    const size_t n = given->size < sizeof(T) ? given->size : sizeof(T);
    __builtin_memcpy(static_cast<void*>(&params), given, n);
    params.size = sizeof(T);
    return {};
}

// Copies as many items as fit and returns how many there are.
template <typename T>
int64_t give(const T* items, size_t n, T* out, size_t capacity) {
    const size_t fits = n < capacity ? n : capacity;
    if (fits != 0) __builtin_memcpy(out, items, fits * sizeof(T));
    return static_cast<int64_t>(n);
}

}  // namespace ridge::api

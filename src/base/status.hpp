// Status and Result: how every fallible function of the library reports what was wrong.
//
// An Error is one sentence for the user (what, where, what to do) and a code for programs. The
// library never prints, exits or throws across its API; it returns these.
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace ridge {

enum class ErrorCode {
    invalid_argument,  // the caller's value is out of range or contradicts another
    not_found,         // a file, tensor, key or token does not exist
    io,                // the operating system refused a read, write or map
    bad_file,          // a model or data file breaks its format
    unsupported,       // well formed, but outside what ridge does; the text names what it does
    out_of_memory,     // an allocation or a size computation did not fit
    cancelled,         // stopped by the caller
    internal,          // a mistake of ridge's own
};

struct Error {
    ErrorCode code = ErrorCode::internal;
    std::string message;
};

using Status = tl::expected<void, Error>;

template <typename T>
using Result = tl::expected<T, Error>;

inline tl::unexpected<Error> fail(ErrorCode code, std::string message) {
    return tl::unexpected<Error>(Error{code, std::move(message)});
}

// Passes an error of another Result or Status on unchanged.
template <typename R>
tl::unexpected<Error> propagate(R&& failed) {
    return tl::unexpected<Error>(std::forward<R>(failed).error());
}

}  // namespace ridge

// Returns from the enclosing function when `expr` (a Status) failed.
#define RIDGE_TRY(expr)                                         \
    do {                                                        \
        if (auto ridge_status = (expr); !ridge_status)          \
            return ::ridge::propagate(std::move(ridge_status)); \
    } while (false)

#define RIDGE_CONCAT_(a, b) a##b
#define RIDGE_CONCAT(a, b) RIDGE_CONCAT_(a, b)

// RIDGE_ASSIGN(auto x, f()): x is the value of the Result f(), or the error is returned.
#define RIDGE_ASSIGN(decl, expr) RIDGE_ASSIGN_(RIDGE_CONCAT(ridge_result_, __LINE__), decl, expr)
#define RIDGE_ASSIGN_(tmp, decl, expr)                   \
    auto tmp = (expr);                                   \
    if (!tmp) return ::ridge::propagate(std::move(tmp)); \
    decl = std::move(*tmp)

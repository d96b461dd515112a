// ridge.hpp: owners for ridge.h's handles, and errors as exceptions of the caller's own side.
// Header only; everything it does is a call of the C API.
#ifndef RIDGE_RIDGE_HPP
#define RIDGE_RIDGE_HPP

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "ridge/ridge.h"

namespace ridge_cpp {

class Error : public std::runtime_error {
  public:
    explicit Error(ridge_status s) : std::runtime_error(ridge_error()), status(s) {}
    ridge_status status;
};

inline void check(ridge_status s) {
    if (s != RIDGE_OK) throw Error(s);
}
inline int64_t check(int64_t n) {
    if (n < 0) throw Error(static_cast<ridge_status>(-n));
    return n;
}

struct Free {
    void operator()(ridge_model* m) const { ridge_model_free(m); }
    void operator()(ridge_context* c) const { ridge_context_free(c); }
    void operator()(ridge_sampler* s) const { ridge_sampler_free(s); }
};
using Model = std::unique_ptr<ridge_model, Free>;
using Context = std::unique_ptr<ridge_context, Free>;
using Sampler = std::unique_ptr<ridge_sampler, Free>;

inline Model open_model(const std::string& path, const ridge_model_params* params = nullptr) {
    ridge_model* m = nullptr;
    check(ridge_model_open(path.c_str(), params, &m));
    return Model(m);
}
inline Context make_context(ridge_model* model, const ridge_context_params* params = nullptr) {
    ridge_context* c = nullptr;
    check(ridge_context_create(model, params, &c));
    return Context(c);
}
inline Sampler make_sampler(const ridge_model* model,
                            const ridge_sampler_params* params = nullptr) {
    ridge_sampler* s = nullptr;
    check(ridge_sampler_create(model, params, &s));
    return Sampler(s);
}

inline std::vector<int32_t> tokenize(const ridge_model* model, std::string_view text,
                                     bool add_special = true, bool parse_special = false) {
    const auto call = [&](int32_t* out, size_t room) {
        return static_cast<size_t>(check(ridge_tokenize(model, text.data(), text.size(),
                                                        add_special, parse_special, out, room)));
    };
    std::vector<int32_t> ids(call(nullptr, 0));
    call(ids.data(), ids.size());
    return ids;
}
inline std::string detokenize(const ridge_model* model, const std::vector<int32_t>& ids) {
    const auto call = [&](char* out, size_t room) {
        return static_cast<size_t>(
            check(ridge_detokenize(model, ids.data(), ids.size(), out, room)));
    };
    std::string text(call(nullptr, 0), '\0');
    call(text.data(), text.size());
    return text;
}

}  // namespace ridge_cpp

#endif

// Sequences and their states.
#include "api/api.hpp"

using namespace ridge;
using namespace ridge::api;

namespace {

Status check_sequence(const ridge_context* c, uint32_t sequence) {
    RIDGE_TRY(needs(c, no_context));
    if (sequence < c->context->sequences()) return {};
    return fail(ErrorCode::invalid_argument, "sequence " + std::to_string(sequence) +
                                                 " does not exist; the context has " +
                                                 std::to_string(c->context->sequences()));
}

}  // namespace

extern "C" {

int32_t ridge_sequence_length(const ridge_context* context, uint32_t sequence) {
    if (!present(context, no_context)) return -RIDGE_INVALID_ARGUMENT;
    if (sequence >= context->context->sequences()) return -invalid("there is no such sequence");
    return static_cast<int32_t>(context->context->length(sequence));
}

int64_t ridge_sequence_tokens(const ridge_context* context, uint32_t sequence, int32_t* ids,
                              size_t capacity) {
    return guard_count([&]() -> Result<int64_t> {
        RIDGE_TRY(check_sequence(context, sequence));
        const auto all = context->context->tokens(sequence);
        return give(all.data(), all.size(), ids, ids == nullptr ? 0 : capacity);
    });
}

int64_t ridge_sequence_trim(ridge_context* context, uint32_t sequence, uint32_t length) {
    return guard_count([&]() -> Result<int64_t> {
        RIDGE_TRY(check_sequence(context, sequence));
        return int64_t{context->context->trim(sequence, length)};
    });
}

int64_t ridge_sequence_copy(ridge_context* context, uint32_t from, uint32_t to, uint32_t length) {
    return guard_count([&]() -> Result<int64_t> {
        RIDGE_TRY(needs(context, no_context));
        RIDGE_ASSIGN(const uint32_t n, context->context->copy(from, to, length));
        return int64_t{n};
    });
}

int64_t ridge_state_save(const ridge_context* context, uint32_t sequence, void* bytes,
                         size_t capacity) {
    return guard_count([&]() -> Result<int64_t> {
        RIDGE_TRY(needs(context, no_context));
        RIDGE_ASSIGN(const std::vector<uint8_t> state, context->context->save(sequence));
        return give(state.data(), state.size(), static_cast<uint8_t*>(bytes),
                    bytes == nullptr ? 0 : capacity);
    });
}

ridge_status ridge_state_load(ridge_context* context, uint32_t sequence, const void* bytes,
                              size_t n) {
    return guard([&]() -> Status {
        RIDGE_TRY(needs(context, no_context));
        if (bytes == nullptr && n != 0)
            return fail(ErrorCode::invalid_argument, "ridge_state_load needs the state's bytes");
        return context->context->load(sequence, {static_cast<const uint8_t*>(bytes), n});
    });
}

}  // extern "C"

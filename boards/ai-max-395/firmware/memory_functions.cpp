// What GCC may call of its own accord.
#include <stddef.h>
#include <stdint.h>

extern "C" {

void* memcpy(void* to, const void* from, size_t bytes) {
    auto* const d = static_cast<volatile uint8_t*>(to);
    const auto* const s = static_cast<const uint8_t*>(from);
    for (size_t i = 0; i < bytes; ++i) d[i] = s[i];
    return to;
}

void* memmove(void* to, const void* from, size_t bytes) {
    auto* const d = static_cast<volatile uint8_t*>(to);
    const auto* const s = static_cast<const uint8_t*>(from);
    if (d < s)
        for (size_t i = 0; i < bytes; ++i) d[i] = s[i];
    else
        for (size_t i = bytes; i-- > 0;) d[i] = s[i];
    return to;
}

void* memset(void* to, int value, size_t bytes) {
    auto* const d = static_cast<volatile uint8_t*>(to);
    for (size_t i = 0; i < bytes; ++i) d[i] = static_cast<uint8_t>(value);
    return to;
}
}

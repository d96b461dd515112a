// Whether this build runs under sanitizers (CMake's RIDGE_SANITIZE), whichever compiler made it, or
// counts what tests reach (RIDGE_COVERAGE).
#pragma once

#include <string_view>

namespace ridge::test {

inline constexpr std::string_view sanitizers = RIDGE_SANITIZE;
inline constexpr bool sanitized = !sanitizers.empty();
inline constexpr bool address_sanitized = sanitizers.find("address") != std::string_view::npos;
// Many times slower than what users run: limits of time are wider by ten.
#ifdef RIDGE_COVERAGE
inline constexpr bool instrumented = true;
#else
inline constexpr bool instrumented = address_sanitized;
#endif

}  // namespace ridge::test

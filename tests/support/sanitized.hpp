// Whether this build runs under sanitizers (CMake's RIDGE_SANITIZE), whichever compiler made it.
#pragma once

#include <string_view>

namespace ridge::test {

inline constexpr std::string_view sanitizers = RIDGE_SANITIZE;
inline constexpr bool sanitized = !sanitizers.empty();
inline constexpr bool address_sanitized = sanitizers.find("address") != std::string_view::npos;

}  // namespace ridge::test

// SHA-256 (FIPS 180-4), for checking downloads.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/status.hpp"

namespace ridge {

class Sha256 {
  public:
    void add(const void* data, size_t bytes);
    // The digest as 64 lower-case hexadecimal digits; the object is used up.
    std::string finish();

  private:
    void block(const uint8_t* p);
    std::array<uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    std::array<uint8_t, 64> pending_{};
    uint64_t total_ = 0;
};

// Of a whole file. Errors: not_found, io.
Result<std::string> sha256_of_file(const std::string& path);

// 64 hexadecimal digits, in either case?
bool is_sha256(const std::string& text);

}  // namespace ridge

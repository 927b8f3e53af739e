// SHA-256 (FIPS 180-4), by which checkpoints and texts are named where their paths must not be.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace locus {

class Sha256 {
 public:
  void add(std::string_view bytes);
  // 64 lower-case hexadecimal digits; ends the message.
  std::string finish();

 private:
  void block(const unsigned char* bytes);

  std::array<std::uint32_t, 8> state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<unsigned char, 64> pending_{};
  std::uint64_t length_ = 0;  // bytes so far
};

std::string sha256(std::string_view bytes);
// Errors: kBadInput when the file cannot be read.
Result<std::string> sha256_of_file(const std::filesystem::path& path);

}  // namespace locus

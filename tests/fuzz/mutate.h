// Damaged copies of files: bytes as a bad disk leaves them, and JSON as a program with other ideas writes it. The same
// seed makes the same copies.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <string_view>

namespace locus::fuzz {

enum class Form { kBytes, kJson, kSafetensors, kNumbers };

class Mutator {
 public:
  explicit Mutator(std::uint64_t seed) : random_(seed) {}

  // kJson: a value replaced by one of another kind or size, a member left out, renamed or said twice. kSafetensors:
  // that in the header (whose length is written anew) or in JSON inside its texts, another shape or dtype of as many
  // bytes, or values that are not finite. One file in four of either is damaged as bytes. kNumbers: a safetensors file
  // whose header stays whole and whose values become NaN, infinite, huge or tiny: one, a stretch, or a whole tensor.
  std::string damaged(std::string_view file, Form form);

 private:
  std::string bytes(std::string file);
  std::string json(const std::string& text, int depth = 0);
  std::string safetensors(std::string_view file);
  std::string numbers(std::string file);
  // Of a safetensors header.
  std::string inner_json(const std::string& header);
  std::string other_shape(std::string header);
  std::size_t below(std::size_t end) { return end == 0 ? 0 : static_cast<std::size_t>(random_() % end); }

  std::mt19937_64 random_;
};

}  // namespace locus::fuzz

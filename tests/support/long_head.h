// A trace file of one head's queries and keys: what a map too large to reduce at once is made of.
#pragma once

#include <filesystem>
#include <random>
#include <span>
#include <vector>

#include "models/formats/tensor_source.h"

namespace locus::test {

inline Status write_long_head(const std::filesystem::path& path, std::int64_t length, unsigned seed = 7) {
  constexpr std::int64_t kWidth = 8;
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<std::vector<float>> values(2);
  for (std::vector<float>& each : values) {
    each.resize(static_cast<std::size_t>(length * kWidth));
    for (float& value : each) {
      value = normal(random);
    }
  }
  const std::vector<std::int64_t> shape{1, length, kWidth};
  return formats::write_safetensors(
      path,
      {{"layers.0.q", formats::DType::kF32, shape, std::as_bytes(std::span(values[0]))},
       {"layers.0.k", formats::DType::kF32, shape, std::as_bytes(std::span(values[1]))}},
      {{"locus.format", "trace/1"}, {"encoding", R"({"name": "none"})"}, {"causal", "true"}});
}

}  // namespace locus::test

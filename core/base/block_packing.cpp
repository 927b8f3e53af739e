#include "core/base/block_packing.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/base/block_formats.h"

namespace locus::blocks {

namespace {

void put_word(std::byte* block, std::size_t at, std::uint16_t word) {
  block[at] = static_cast<std::byte>(word & 0xFFU);
  block[at + 1] = static_cast<std::byte>(word >> 8U);
}
// Returns the number as it was rounded.
float put_half(std::byte* block, std::size_t at, float value) {
  const std::uint16_t bits = half_of_float(value);
  put_word(block, at, bits);
  return float_of_half(bits);
}
void put_bits(std::byte* block, std::size_t at, int bits, std::size_t shift) {
  block[at] |= static_cast<std::byte>(static_cast<unsigned>(bits) << shift);
}

float inverse(float value) {
  return value != 0 ? 1 / value : 0;
}

// The step, of `low` … `high`, that lies nearest to value / scale.
int step_of(float value, float inverse_scale, int low, int high) {
  const float step = std::nearbyint(value * inverse_scale);
  return static_cast<int>(std::clamp(step, static_cast<float>(low), static_cast<float>(high)));
}

float largest_of(const float* values, std::size_t count) {
  float largest = 0;
  for (std::size_t n = 0; n < count; ++n) {
    largest = std::abs(values[n]) > std::abs(largest) ? values[n] : largest;
  }
  return largest;
}

// 32 numbers of four or five bits: low four in the nibbles of `low`, the fifth in the four bytes `high`.
void put_steps(const std::array<int, 32>& steps, std::byte* low, std::byte* high) {
  for (std::size_t n = 0; n < 32; ++n) {
    put_bits(low, n % 16, steps[n] & 15, n < 16 ? 0 : 4);
    if (high != nullptr) {
      put_bits(high, n / 8, steps[n] >> 4, n % 8);
    }
  }
}

// Steps on both sides of 0: the largest number, whatever its sign, is the lowest step exactly.
void pack_around_zero(const float* values, int half_range, std::byte* block, std::byte* low, std::byte* high) {
  const float d = put_half(block, 0, largest_of(values, 32) / static_cast<float>(-half_range));
  std::array<int, 32> steps{};
  for (std::size_t n = 0; n < 32; ++n) {
    steps[n] = step_of(values[n], inverse(d), -half_range, half_range - 1) + half_range;
  }
  put_steps(steps, low, high);
}

void pack_above_least(const float* values, int top, std::byte* block, std::byte* low, std::byte* high) {
  const auto [least, most] = std::minmax_element(values, values + 32);
  const float d = put_half(block, 0, (*most - *least) / static_cast<float>(top));
  const float m = put_half(block, 2, *least);
  std::array<int, 32> steps{};
  for (std::size_t n = 0; n < 32; ++n) {
    steps[n] = step_of(values[n] - m, inverse(d), 0, top);
  }
  put_steps(steps, low, high);
}

struct Line {
  float scale = 0;
  float least = 0;  // at least 0: what is subtracted
};

double error_of(const float* values, std::size_t count, const Line& line, int low, int high) {
  double error = 0;
  for (std::size_t n = 0; n < count; ++n) {
    const int q = step_of(values[n] + line.least, inverse(line.scale), low, high);
    const double off = static_cast<double>(values[n]) - (static_cast<double>(line.scale) * q - line.least);
    error += off * off;
  }
  return error;
}

// The line through the steps that `guess` gives: least squares. `guess` where they are all one step.
Line fitted(const float* values, std::size_t count, const Line& guess, int high) {
  double sum_q = 0;
  double sum_qq = 0;
  double sum_x = 0;
  double sum_qx = 0;
  for (std::size_t n = 0; n < count; ++n) {
    const double q = step_of(values[n] + guess.least, inverse(guess.scale), 0, high);
    sum_q += q;
    sum_qq += q * q;
    sum_x += static_cast<double>(values[n]);
    sum_qx += q * static_cast<double>(values[n]);
  }
  const auto number = static_cast<double>(count);
  const double spread = number * sum_qq - sum_q * sum_q;
  if (spread <= 0) {
    return guess;
  }
  const double scale = (number * sum_qx - sum_q * sum_x) / spread;
  const double least = (scale * sum_q - sum_x) / number;
  if (least < 0) {  // the format has no values that all lie above 0
    return {static_cast<float>(sum_qx / sum_qq), 0};
  }
  return {static_cast<float>(scale), static_cast<float>(least)};
}

Line best_line(const float* values, std::size_t count, int high) {
  const auto [low_value, high_value] = std::minmax_element(values, values + count);
  const float least = std::max(0.0F, -*low_value);
  const float range = *high_value + least;
  if (!(range > 0)) {
    return {0, least};
  }
  Line best{range / static_cast<float>(high), least};
  double error = error_of(values, count, best, 0, high);
  for (int tried = -6; tried <= 10; ++tried) {
    const Line guess{range / (static_cast<float>(high) + 0.1F * static_cast<float>(tried)), least};
    const Line line = fitted(values, count, guess, high);
    const double own = line.scale > 0 ? error_of(values, count, line, 0, high) : error;
    if (own < error) {
      error = own;
      best = line;
    }
  }
  return best;
}

// The scale of steps −half_range … half_range − 1; it may be below 0.
float best_scale(const float* values, std::size_t count, int half_range) {
  const float largest = largest_of(values, count);
  float best = largest / static_cast<float>(-half_range);
  double error = error_of(values, count, {best, 0}, -half_range, half_range - 1);
  for (int tried = -9; tried <= 9; ++tried) {
    const float guess = largest / (static_cast<float>(-half_range) + 0.1F * static_cast<float>(tried));
    double sum_qx = 0;
    double sum_qq = 0;
    for (std::size_t n = 0; n < count; ++n) {
      const double q = step_of(values[n], inverse(guess), -half_range, half_range - 1);
      sum_qx += q * static_cast<double>(values[n]);
      sum_qq += q * q;
    }
    const auto scale = static_cast<float>(sum_qq > 0 ? sum_qx / sum_qq : 0);
    const double own = error_of(values, count, {scale, 0}, -half_range, half_range - 1);
    if (own < error) {
      error = own;
      best = scale;
    }
  }
  return best;
}

// The header of Q4_K and Q5_K, and the 256 steps below it.
std::array<int, 256> pack_lines(const float* values, int high, std::byte* block) {
  std::array<Line, 8> lines;
  Line largest;
  for (std::size_t group = 0; group < 8; ++group) {
    lines[group] = best_line(values + group * 32, 32, high);
    largest.scale = std::max(largest.scale, lines[group].scale);
    largest.least = std::max(largest.least, lines[group].least);
  }
  const float d = put_half(block, 0, largest.scale / 63);
  const float d_least = put_half(block, 2, largest.least / 63);
  std::array<int, 256> steps{};
  for (std::size_t group = 0; group < 8; ++group) {
    const int scale = step_of(lines[group].scale, inverse(d), 0, 63);
    const int least = step_of(lines[group].least, inverse(d_least), 0, 63);
    set_k_scales(block + 4, group, scale, least);
    const float step = d * static_cast<float>(scale);
    const float lowest = d_least * static_cast<float>(least);
    for (std::size_t n = group * 32; n < (group + 1) * 32; ++n) {
      steps[n] = step_of(values[n] + lowest, inverse(step), 0, high);
    }
  }
  return steps;
}

void put_k_nibble(std::byte* low, std::size_t n, int step) {
  put_bits(low, n / 64 * 32 + n % 32, step & 15, n % 64 < 32 ? 0 : 4);
}

}  // namespace

std::pair<int, int> k_scales(const std::byte* scales, std::size_t group) {
  const auto at = [&](std::size_t n) { return std::to_integer<int>(scales[n]); };
  if (group < 4) {
    return {at(group) & 63, at(group + 4) & 63};
  }
  return {(at(group + 4) & 15) | at(group - 4) >> 6 << 4, at(group + 4) >> 4 | at(group) >> 6 << 4};
}

void set_k_scales(std::byte* scales, std::size_t group, int scale, int least) {
  if (group < 4) {
    put_bits(scales, group, scale, 0);
    put_bits(scales, group + 4, least, 0);
    return;
  }
  put_bits(scales, group + 4, scale & 15, 0);
  put_bits(scales, group + 4, least & 15, 4);
  put_bits(scales, group - 4, scale >> 4, 6);
  put_bits(scales, group, least >> 4, 6);
}

void pack_f32(const float* values, std::byte* block) {
  std::memcpy(block, values, sizeof *values);
}
void pack_f16(const float* values, std::byte* block) {
  put_half(block, 0, *values);
}
// To the nearest, ties to even.
void pack_bf16(const float* values, std::byte* block) {
  const auto bits = std::bit_cast<std::uint32_t>(*values);
  put_word(block, 0, static_cast<std::uint16_t>((bits + 0x7FFFU + (bits >> 16U & 1U)) >> 16U));
}

void pack_q8_0(const float* values, std::byte* block) {
  const float d = put_half(block, 0, std::abs(largest_of(values, 32)) / 127);
  for (std::size_t n = 0; n < 32; ++n) {
    block[2 + n] = static_cast<std::byte>(step_of(values[n], inverse(d), -127, 127));
  }
}
void pack_q4_0(const float* values, std::byte* block) {
  std::fill_n(block, 18, std::byte{0});
  pack_around_zero(values, 8, block, block + 2, nullptr);
}
void pack_q4_1(const float* values, std::byte* block) {
  std::fill_n(block, 20, std::byte{0});
  pack_above_least(values, 15, block, block + 4, nullptr);
}
void pack_q5_0(const float* values, std::byte* block) {
  std::fill_n(block, 22, std::byte{0});
  pack_around_zero(values, 16, block, block + 6, block + 2);
}
void pack_q5_1(const float* values, std::byte* block) {
  std::fill_n(block, 24, std::byte{0});
  pack_above_least(values, 31, block, block + 8, block + 4);
}

void pack_q4_k(const float* values, std::byte* block) {
  std::fill_n(block, 144, std::byte{0});
  const std::array<int, 256> steps = pack_lines(values, 15, block);
  for (std::size_t n = 0; n < 256; ++n) {
    put_k_nibble(block + 16, n, steps[n]);
  }
}
void pack_q5_k(const float* values, std::byte* block) {
  std::fill_n(block, 176, std::byte{0});
  const std::array<int, 256> steps = pack_lines(values, 31, block);
  for (std::size_t n = 0; n < 256; ++n) {
    put_k_nibble(block + 48, n, steps[n]);
    put_bits(block, 16 + n % 32, steps[n] >> 4, n / 32);
  }
}

void pack_q6_k(const float* values, std::byte* block) {
  std::fill_n(block, 210, std::byte{0});
  std::array<float, 16> scales{};
  for (std::size_t group = 0; group < 16; ++group) {
    scales[group] = best_scale(values + group * 16, 16, 32);
  }
  const float d = put_half(block, 208, largest_of(scales.data(), 16) / -128);
  for (std::size_t group = 0; group < 16; ++group) {
    const int scale = step_of(scales[group], inverse(d), -128, 127);
    block[192 + group] = static_cast<std::byte>(scale);
    for (std::size_t n = group * 16; n < (group + 1) * 16; ++n) {
      const int step = step_of(values[n], inverse(d * static_cast<float>(scale)), -32, 31) + 32;
      put_bits(block, n / 128 * 64 + n % 64, step & 15, n % 128 < 64 ? 0 : 4);
      put_bits(block, 128 + n / 128 * 32 + n % 32, step >> 4, n % 128 / 32 * 2);
    }
  }
}

}  // namespace locus::blocks

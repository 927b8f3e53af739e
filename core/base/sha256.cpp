#include "core/base/sha256.h"

#include <algorithm>
#include <bit>
#include <fstream>
#include <vector>

namespace locus {

namespace {

constexpr std::array<std::uint32_t, 64> kRound{
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

}  // namespace

void Sha256::block(const unsigned char* bytes) {
  std::array<std::uint32_t, 64> w{};
  for (std::size_t n = 0; n < 16; ++n) {
    w[n] = static_cast<std::uint32_t>(bytes[4 * n]) << 24 | static_cast<std::uint32_t>(bytes[4 * n + 1]) << 16 |
           static_cast<std::uint32_t>(bytes[4 * n + 2]) << 8 | static_cast<std::uint32_t>(bytes[4 * n + 3]);
  }
  for (std::size_t n = 16; n < 64; ++n) {
    const std::uint32_t s0 = std::rotr(w[n - 15], 7) ^ std::rotr(w[n - 15], 18) ^ (w[n - 15] >> 3);
    const std::uint32_t s1 = std::rotr(w[n - 2], 17) ^ std::rotr(w[n - 2], 19) ^ (w[n - 2] >> 10);
    w[n] = w[n - 16] + s0 + w[n - 7] + s1;
  }
  auto [a, b, c, d, e, f, g, h] = state_;
  for (std::size_t n = 0; n < 64; ++n) {
    const std::uint32_t s1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
    const std::uint32_t t1 = h + s1 + ((e & f) ^ (~e & g)) + kRound[n] + w[n];
    const std::uint32_t s0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
    const std::uint32_t t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = d + t1;
    d = c;
    c = b;
    b = a;
    a = t1 + t2;
  }
  const std::array<std::uint32_t, 8> sum{a, b, c, d, e, f, g, h};
  for (std::size_t n = 0; n < 8; ++n) {
    state_[n] += sum[n];
  }
}

void Sha256::add(std::string_view text) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
  std::size_t left = text.size();
  while (left > 0) {
    const std::size_t filled = length_ % 64;
    if (filled == 0 && left >= 64) {
      block(bytes);
      bytes += 64;
      left -= 64;
      length_ += 64;
      continue;
    }
    const std::size_t take = std::min(left, 64 - filled);
    std::copy_n(bytes, take, pending_.begin() + static_cast<std::ptrdiff_t>(filled));
    bytes += take;
    left -= take;
    length_ += take;
    if (length_ % 64 == 0) {
      block(pending_.data());
    }
  }
}

std::string Sha256::finish() {
  const std::uint64_t bits = length_ * 8;
  const std::size_t filled = length_ % 64;
  std::string padding(filled < 56 ? 56 - filled : 120 - filled, '\0');
  padding[0] = '\x80';
  for (int shift = 56; shift >= 0; shift -= 8) {
    padding += static_cast<char>(bits >> shift & 0xFF);
  }
  add(padding);
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const std::uint32_t word : state_) {
    for (int shift = 28; shift >= 0; shift -= 4) {
      text += kDigits[word >> shift & 0xF];
    }
  }
  return text;
}

std::string sha256(std::string_view bytes) {
  Sha256 hash;
  hash.add(bytes);
  return hash.finish();
}

Result<std::string> sha256_of_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return bad_input("cannot be read", path.string());
  }
  Sha256 hash;
  std::vector<char> buffer(std::size_t{1} << 20);
  while (file) {
    file.read(buffer.data(), static_cast<std::streamsize>(buffer.size()));
    hash.add({buffer.data(), static_cast<std::size_t>(file.gcount())});
  }
  if (file.bad()) {
    return bad_input("cannot be read to its end", path.string());
  }
  return hash.finish();
}

}  // namespace locus

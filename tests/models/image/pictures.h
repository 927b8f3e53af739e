// Image files built byte by byte: PNG with stored blocks, uncompressed TIFF, and two small encoded ones.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace locus::image {

using Colour = std::array<std::uint8_t, 3>;
using Paint = std::function<Colour(std::int64_t x, std::int64_t y)>;

inline void put_big(std::string& bytes, std::uint64_t value, int count) {
  for (int n = count - 1; n >= 0; --n) {
    bytes.push_back(static_cast<char>(static_cast<std::uint8_t>(value >> (8 * n))));
  }
}

inline void put_little(std::string& bytes, std::uint64_t value, int count) {
  for (int n = 0; n < count; ++n) {
    bytes.push_back(static_cast<char>(static_cast<std::uint8_t>(value >> (8 * n))));
  }
}

inline std::uint32_t crc32(std::string_view bytes) {
  std::uint32_t crc = ~0U;
  for (const char symbol : bytes) {
    crc ^= static_cast<std::uint8_t>(symbol);
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc >> 1) ^ ((crc & 1U) != 0 ? 0xEDB88320U : 0U);
    }
  }
  return ~crc;
}

inline std::string png_chunk(const std::string& name, const std::string& data) {
  std::string chunk;
  put_big(chunk, data.size(), 4);
  chunk += name + data;
  put_big(chunk, crc32(name + data), 4);
  return chunk;
}

// `claimed_*` go into the header, whatever the pixels are.
inline std::string png_header(std::uint32_t claimed_width, std::uint32_t claimed_height) {
  std::string header;
  put_big(header, claimed_width, 4);
  put_big(header, claimed_height, 4);
  header += std::string("\x08\x02\x00\x00\x00", 5);
  return "\x89PNG\r\n\x1A\n" + png_chunk("IHDR", header);
}

inline std::string png_of(std::int64_t width, std::int64_t height, const Paint& paint, const std::string& extra = {}) {
  std::string rows;
  for (std::int64_t y = 0; y < height; ++y) {
    rows.push_back(0);
    for (std::int64_t x = 0; x < width; ++x) {
      for (const std::uint8_t value : paint(x, y)) {
        rows.push_back(static_cast<char>(value));
      }
    }
  }
  std::uint32_t a = 1;
  std::uint32_t b = 0;
  for (const char symbol : rows) {
    a = (a + static_cast<std::uint8_t>(symbol)) % 65521;
    b = (b + a) % 65521;
  }
  std::string stream = "\x78\x01";
  for (std::size_t at = 0; at < rows.size(); at += 60000) {
    const std::string block = rows.substr(at, 60000);
    stream.push_back(at + 60000 >= rows.size() ? 1 : 0);
    put_little(stream, block.size(), 2);
    put_little(stream, ~block.size() & 0xFFFFU, 2);
    stream += block;
  }
  put_big(stream, (b << 16) | a, 4);
  return png_header(static_cast<std::uint32_t>(width), static_cast<std::uint32_t>(height)) + extra +
         png_chunk("IDAT", stream) + png_chunk("IEND", "");
}

// One EXIF or TIFF directory with SHORT and LONG values, little-endian, at byte 8.
inline std::string directory(const std::vector<std::array<std::uint32_t, 3>>& entries) {
  std::string bytes("II\x2A\0\x08\0\0\0", 8);
  put_little(bytes, entries.size(), 2);
  for (const auto& [tag, type, value] : entries) {
    put_little(bytes, tag, 2);
    put_little(bytes, type, 2);
    put_little(bytes, 1, 4);
    put_little(bytes, value, 4);
  }
  put_little(bytes, 0, 4);
  return bytes;
}

inline std::string tiff_of(std::uint32_t width, std::uint32_t height, std::uint32_t orientation, const Paint& paint) {
  constexpr std::uint32_t kShort = 3;
  constexpr std::uint32_t kLong = 4;
  const std::uint32_t data = 8 + 2 + 10 * 12 + 4;
  std::string bytes = directory({{256, kLong, width},
                                 {257, kLong, height},
                                 {258, kShort, 8},
                                 {259, kShort, 1},
                                 {262, kShort, 2},
                                 {273, kLong, data},
                                 {274, kShort, orientation},
                                 {277, kShort, 3},
                                 {278, kLong, height},
                                 {279, kLong, width * height * 3}});
  for (std::uint32_t y = 0; y < height; ++y) {
    for (std::uint32_t x = 0; x < width; ++x) {
      for (const std::uint8_t value : paint(x, y)) {
        bytes.push_back(static_cast<char>(value));
      }
    }
  }
  return bytes;
}

// 16 × 8, the left half red, the right half blue.
inline constexpr const char* kJpegBase64 =
    "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAMCAgMCAgMDAwMEAwMEBQgFBQQEBQoHBwYIDAoMDAsKCwsNDhIQDQ4RDgsLEBYQERMU"
    "FRUVDA8XGBYUGBIUFRT/2wBDAQMEBAUEBQkFBQkUDQsNFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQU"
    "FBQUFBQUFBT/wAARCAAIABADASIAAhEBAxEB/8QAFgABAQEAAAAAAAAAAAAAAAAAAAcI/8QAFBABAAAAAAAAAAAAAAAAAAAAAP/E"
    "ABUBAQEAAAAAAAAAAAAAAAAAAAcI/8QAGBEAAgMAAAAAAAAAAAAAAAAAAAhFg8P/2gAMAwEAAhEDEQA/AM6IEBwWWYo2KNYaKuyP"
    "/9k=";
inline constexpr const char* kWebpBase64 = "UklGRiYAAABXRUJQVlA4TBkAAAAvD8ABAA8Q87//8x8OxILJ/KU7U4jof+QAAA==";

}  // namespace locus::image

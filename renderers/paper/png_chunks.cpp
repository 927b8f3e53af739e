#include "renderers/paper/png_chunks.h"

#include <zlib.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace locus::paper {

namespace {

constexpr std::string_view kSignature("\x89PNG\r\n\x1A\n", 8);
constexpr std::size_t kLongestText = std::size_t{64} << 20;
constexpr std::size_t kFrame = 12;  // length, kind and CRC of a chunk

std::uint32_t number_at(std::string_view bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t n = 0; n < 4; ++n) {
    value = value << 8U | static_cast<std::uint8_t>(bytes[at + n]);
  }
  return value;
}

// CRC-32 of kind and data, as ISO 3309 has it.
std::uint32_t crc_of(std::string_view bytes) {
  static const std::array<std::uint32_t, 256> table = [] {
    std::array<std::uint32_t, 256> made{};
    for (std::uint32_t n = 0; n < 256; ++n) {
      std::uint32_t value = n;
      for (int bit = 0; bit < 8; ++bit) {
        value = (value & 1U) != 0 ? 0xEDB88320U ^ (value >> 1U) : value >> 1U;
      }
      made[n] = value;
    }
    return made;
  }();
  std::uint32_t value = 0xFFFFFFFFU;
  for (const char byte : bytes) {
    value = table[(value ^ static_cast<std::uint8_t>(byte)) & 0xFFU] ^ (value >> 8U);
  }
  return value ^ 0xFFFFFFFFU;
}

Error cut(std::size_t size) {
  return bad_input("expected a whole PNG, found one that ends too early, after " + std::to_string(size) + " bytes");
}

Error damaged(std::size_t at) {
  return bad_input("expected a whole PNG, found a damaged chunk at byte " + std::to_string(at));
}

// Sizes and depth that there are: libpng says more of others.
bool good_header(std::string_view data) {
  if (data.size() != 13) {
    return false;
  }
  const auto depth = static_cast<std::uint8_t>(data[8]);
  const auto colour = static_cast<std::uint8_t>(data[9]);
  const bool known_depth = depth == 8 || depth == 16 || ((colour == 0 || colour == 3) && depth <= 4 && depth != 3);
  const bool known_colour = colour == 0 || colour == 2 || (colour == 3 && depth != 16) || colour == 4 || colour == 6;
  const std::uint32_t width = number_at(data, 0);
  const std::uint32_t height = number_at(data, 4);
  return width > 0 && height > 0 && width < 1'000'000 && height < 1'000'000 && depth > 0 && known_depth &&
         known_colour && data[10] == 0 && data[11] == 0 && static_cast<std::uint8_t>(data[12]) <= 1;
}

// The text that zlib packed; none where it is damaged or longer than kLongestText.
std::optional<std::string> unpacked(std::string_view packed) {
  z_stream stream{};
  if (inflateInit(&stream) != Z_OK) {
    return std::nullopt;
  }
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  std::string text;
  int state = Z_OK;
  while (state == Z_OK && text.size() < kLongestText) {
    std::array<char, std::size_t{1} << 16> part{};
    stream.next_out = reinterpret_cast<Bytef*>(part.data());
    stream.avail_out = static_cast<uInt>(part.size());
    state = inflate(&stream, Z_NO_FLUSH);
    text.append(part.data(), part.size() - stream.avail_out);
  }
  inflateEnd(&stream);
  return state == Z_STREAM_END && text.size() <= kLongestText ? std::optional(std::move(text)) : std::nullopt;
}

std::string utf8_of_latin1(std::string_view latin1) {
  std::string text;
  for (const char c : latin1) {
    const auto code = static_cast<std::uint8_t>(c);
    if (code < 0x80) {
      text += c;
    } else {
      text += static_cast<char>(0xC0U | code >> 6U);
      text += static_cast<char>(0x80U | (code & 0x3FU));
    }
  }
  return text;
}

// Removes the next zero byte with what is before it; false: there is none.
bool skip_text(std::string_view& data) {
  const std::size_t end = data.find('\0');
  data.remove_prefix(end == std::string_view::npos ? data.size() : end + 1);
  return end != std::string_view::npos;
}

// The text of a chunk tEXt, zTXt or iTXt, whose data begin behind the keyword.
std::optional<std::string> text_of(std::string_view kind, std::string_view data) {
  if (kind == "tEXt") {
    return utf8_of_latin1(data);
  }
  if (kind == "zTXt") {
    const auto text = data.starts_with('\0') ? unpacked(data.substr(1)) : std::nullopt;
    return text ? std::optional(utf8_of_latin1(*text)) : std::nullopt;
  }
  if (data.size() < 2 || data[1] != '\0') {
    return std::nullopt;
  }
  const bool packed = data[0] == 1;
  data.remove_prefix(2);
  if (!skip_text(data) || !skip_text(data)) {  // a language, the keyword in it
    return std::nullopt;
  }
  return packed ? unpacked(data) : std::optional(std::string(data));
}

}  // namespace

std::optional<std::string> text_of_png(std::string_view bytes, std::string_view keyword) {
  for (std::size_t at = kSignature.size(); at + kFrame <= bytes.size();) {
    const std::size_t length = number_at(bytes, at);
    if (length > bytes.size() - at - kFrame) {
      return std::nullopt;
    }
    const std::string_view kind = bytes.substr(at + 4, 4);
    std::string_view data = bytes.substr(at + 8, length);
    if ((kind == "tEXt" || kind == "zTXt" || kind == "iTXt") && data.starts_with(keyword) &&
        data.substr(keyword.size()).starts_with('\0')) {
      data.remove_prefix(keyword.size() + 1);
      return text_of(kind, data);
    }
    at += kFrame + length;
  }
  return std::nullopt;
}

Status check_png(std::string_view bytes) {
  if (!bytes.starts_with(kSignature)) {
    return damaged(0);
  }
  for (std::size_t at = kSignature.size(); bytes.size() - at >= kFrame;) {
    const std::size_t length = number_at(bytes, at);
    if (length > bytes.size() - at - kFrame) {
      return cut(bytes.size());
    }
    const std::string_view kind = bytes.substr(at + 4, 4);
    const bool first = at == kSignature.size();
    if (crc_of(bytes.substr(at + 4, 4 + length)) != number_at(bytes, at + 8 + length) || first != (kind == "IHDR") ||
        (first && !good_header(bytes.substr(at + 8, length)))) {
      return damaged(at);
    }
    if (kind == "IEND") {
      return {};
    }
    at += kFrame + length;
  }
  return cut(bytes.size());
}

}  // namespace locus::paper

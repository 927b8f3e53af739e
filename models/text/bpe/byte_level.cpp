#include "models/text/bpe/byte_level.h"

#include <array>
#include <nlohmann/json.hpp>

#include "models/text/utf8.h"

namespace locus::text {
namespace {

constexpr bool stands_for_itself(unsigned byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

constexpr std::array<char32_t, 256> make_characters() {
  std::array<char32_t, 256> characters{};
  char32_t next = 0x100;
  for (unsigned byte = 0; byte < 256; ++byte) {
    characters[byte] = stands_for_itself(byte) ? byte : next++;
  }
  return characters;
}
constexpr std::array<char32_t, 256> kCharacters = make_characters();

constexpr std::array<std::int16_t, 0x144> make_bytes() {
  std::array<std::int16_t, 0x144> bytes{};
  for (auto& byte : bytes) {
    byte = -1;
  }
  for (unsigned byte = 0; byte < 256; ++byte) {
    bytes[kCharacters[byte]] = static_cast<std::int16_t>(byte);
  }
  return bytes;
}
constexpr std::array<std::int16_t, 0x144> kBytes = make_bytes();

}  // namespace

std::string to_byte_level(std::string_view bytes) {
  std::string entry;
  for (const char byte : bytes) {
    append_utf8(entry, kCharacters[static_cast<std::uint8_t>(byte)]);
  }
  return entry;
}

std::optional<std::string> from_byte_level(std::string_view entry) {
  std::string bytes;
  for (std::size_t at = 0; at < entry.size();) {
    const Character character = character_at(entry, at);
    if (!character.valid || character.code >= kBytes.size() || kBytes[character.code] < 0) {
      return std::nullopt;
    }
    bytes.push_back(static_cast<char>(static_cast<std::uint8_t>(kBytes[character.code])));
    at += character.bytes;
  }
  return bytes;
}

namespace {

constexpr std::string_view kDigits = "0123456789ABCDEF";

}  // namespace

std::string byte_name(std::uint8_t byte) {
  return {'<', '0', 'x', kDigits[byte >> 4], kDigits[byte & 15], '>'};
}

std::optional<std::uint8_t> byte_of_name(std::string_view name) {
  if (name.size() != 6 || !name.starts_with("<0x") || name.back() != '>') {
    return std::nullopt;
  }
  const std::size_t high = kDigits.find(name[3]);
  const std::size_t low = kDigits.find(name[4]);
  if (high == std::string_view::npos || low == std::string_view::npos) {
    return std::nullopt;
  }
  return static_cast<std::uint8_t>(high * 16 + low);
}

std::string byte_level_tokenizer_json(std::span<const std::string> entries,
                                      std::span<const std::pair<std::string, std::string>> merges,
                                      Segmentation segmentation) {
  using Json = nlohmann::ordered_json;
  Json vocabulary = Json::object();
  for (std::size_t n = 0; n < entries.size(); ++n) {
    vocabulary[entries[n]] = n;
  }
  Json pairs = Json::array();
  for (const auto& [left, right] : merges) {
    pairs.push_back({left, right});
  }
  const Json byte_level{{"type", "ByteLevel"},
                        {"add_prefix_space", false},
                        {"trim_offsets", false},
                        {"use_regex", segmentation == Segmentation::kWords}};
  const Json model{{"type", "BPE"},
                   {"dropout", nullptr},
                   {"unk_token", nullptr},
                   {"continuing_subword_prefix", nullptr},
                   {"end_of_word_suffix", nullptr},
                   {"fuse_unk", false},
                   {"byte_fallback", false},
                   {"vocab", vocabulary},
                   {"merges", pairs}};
  const Json document{{"version", "1.0"},
                      {"truncation", nullptr},
                      {"padding", nullptr},
                      {"added_tokens", Json::array()},
                      {"normalizer", nullptr},
                      {"pre_tokenizer", byte_level},
                      {"post_processor", nullptr},
                      {"decoder", byte_level},
                      {"model", model}};
  return document.dump(2) + "\n";
}

}  // namespace locus::text

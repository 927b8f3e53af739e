#include "models/image/tags.h"

namespace locus::image {
namespace {

constexpr std::size_t kEntryBytes = 12;

}  // namespace

std::uint32_t Tags::number(std::size_t at, std::size_t bytes) const {
  std::uint32_t value = 0;
  for (std::size_t n = 0; n < bytes; ++n) {
    const auto byte = static_cast<std::uint8_t>(block_[big_endian_ ? at + n : at + bytes - 1 - n]);
    value = (value << 8) | byte;
  }
  return value;
}

std::optional<Tags> Tags::parse(std::string_view block) {
  if (block.size() < 8 || (!block.starts_with("II") && !block.starts_with("MM"))) {
    return std::nullopt;
  }
  Tags tags;
  tags.block_ = block;
  tags.big_endian_ = block.starts_with("MM");
  const std::size_t directory = tags.number(4, 4);
  if (tags.number(2, 2) != 42 || directory < 8 || directory + 2 > block.size()) {
    return std::nullopt;
  }
  tags.first_ = directory + 2;
  tags.count_ = tags.number(directory, 2);
  if (tags.first_ + tags.count_ * kEntryBytes > block.size()) {
    return std::nullopt;
  }
  return tags;
}

std::optional<Tag> Tags::find(std::uint16_t wanted) const {
  constexpr std::uint32_t kShort = 3;
  constexpr std::uint32_t kLong = 4;
  for (std::size_t n = 0; n < count_; ++n) {
    const std::size_t entry = first_ + n * kEntryBytes;
    const std::uint32_t type = number(entry + 2, 2);
    if (number(entry, 2) == wanted && number(entry + 4, 4) == 1 && (type == kShort || type == kLong)) {
      return Tag{number(entry + 8, type == kShort ? 2 : 4), entry + 8};
    }
  }
  return std::nullopt;
}

int Tags::orientation() const {
  const auto tag = find(kTagOrientation);
  return tag && tag->value >= 1 && tag->value <= 8 ? static_cast<int>(tag->value) : 1;
}

}  // namespace locus::image

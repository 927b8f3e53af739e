// The tags of a TIFF directory: a TIFF's own, or the EXIF block of another format.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace locus::image {

struct Tag {
  std::uint32_t value = 0;  // the first SHORT or LONG
  std::size_t offset = 0;   // of the value in the block
};

class Tags {
 public:
  // None when the block is not a classic TIFF or its first directory is outside the block.
  static std::optional<Tags> parse(std::string_view block);
  // The first SHORT or LONG value of a tag of the first directory.
  std::optional<Tag> find(std::uint16_t number) const;
  // The tag's value when it is one of 1 … 8, else 1.
  int orientation() const;

 private:
  std::uint32_t number(std::size_t at, std::size_t bytes) const;

  std::string_view block_;
  bool big_endian_ = false;
  std::size_t first_ = 0;  // entry
  std::size_t count_ = 0;
};

inline constexpr std::uint16_t kTagWidth = 256;
inline constexpr std::uint16_t kTagHeight = 257;
inline constexpr std::uint16_t kTagOrientation = 274;
inline constexpr std::uint16_t kTagTileWidth = 322;
inline constexpr std::uint16_t kTagTileHeight = 323;

}  // namespace locus::image

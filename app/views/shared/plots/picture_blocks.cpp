#include "app/views/shared/plots/picture_blocks.h"

#include <algorithm>

#include "app/views/shared/plots/series.h"

namespace locus::views {

namespace {

constexpr std::int64_t kSmallSide = 128;  // pixels: enough for the largest strip at scale 2

struct PictureBlocks {
  std::vector<figure::AxisBlock> list;
};
// The size in the cache, in bytes.
std::size_t cached_bytes(const PictureBlocks& blocks) {
  std::size_t bytes = sizeof blocks;
  for (const figure::AxisBlock& block : blocks.list) {
    bytes += sizeof block + block.name.size() + (block.rgba ? block.rgba->size() : 0);
  }
  return bytes;
}

PictureBlocks blocks_of(const models::Trace& trace) {
  PictureBlocks blocks;
  const std::vector<models::ImageSpan>& images = trace.images();
  const std::vector<models::Picture> pictures = trace.pictures();
  for (std::size_t n = 0; n < images.size(); ++n) {
    const models::ImageSpan& image = images[n];
    if (image.count < 1) {
      continue;
    }
    const models::Picture small = n < pictures.size() ? small_picture(pictures[n], kSmallSide) : models::Picture();
    const auto end = static_cast<double>(image.token(image.count - 1) + 1);
    blocks.list.push_back({{static_cast<double>(image.first), end},
                           models::picture_name(images, n),
                           small.rgba,
                           small.width,
                           small.height});
  }
  return blocks;
}

}  // namespace

models::Picture small_picture(const models::Picture& picture, std::int64_t side) {
  if (!picture.rgba || picture.width < 1 || picture.height < 1) {
    return {};
  }
  const std::int64_t longer = std::max(picture.width, picture.height);
  if (longer <= side) {
    return picture;
  }
  const auto scaled = [&](std::int64_t pixels) { return std::max<std::int64_t>(1, pixels * side / longer); };
  models::Picture small{scaled(picture.width), scaled(picture.height), nullptr};
  std::vector<std::uint8_t> rgba;
  rgba.reserve(static_cast<std::size_t>(4 * small.width * small.height));
  for (std::int64_t y = 0; y < small.height; ++y) {
    const Range rows{y * picture.height / small.height, (y + 1) * picture.height / small.height};
    for (std::int64_t x = 0; x < small.width; ++x) {
      const Range columns{x * picture.width / small.width, (x + 1) * picture.width / small.width};
      for (std::int64_t channel = 0; channel < 4; ++channel) {
        std::int64_t sum = 0;
        for (std::int64_t row = rows.begin; row < rows.end; ++row) {
          for (std::int64_t column = columns.begin; column < columns.end; ++column) {
            sum += (*picture.rgba)[static_cast<std::size_t>(4 * (row * picture.width + column) + channel)];
          }
        }
        const std::int64_t covered = rows.size() * columns.size();
        rgba.push_back(static_cast<std::uint8_t>((sum + covered / 2) / covered));
      }
    }
  }
  small.rgba = std::make_shared<const std::vector<std::uint8_t>>(std::move(rgba));
  return small;
}

Blocks picture_blocks(const ViewInput& input, const Column& column) {
  if (column.trace->images().empty()) {
    return nullptr;
  }
  const auto made = analysed<PictureBlocks>(input, column, {column.trace}, {"blocks of pictures", 0},
                                            [&]() -> Result<PictureBlocks> { return blocks_of(*column.trace); });
  return made.ok() ? Blocks(*made, &(*made)->list) : nullptr;
}

Blocks repeated_blocks(const Blocks& blocks, std::int64_t tokens, std::int64_t count) {
  if (!blocks || tokens < 1) {
    return nullptr;
  }
  std::vector<figure::AxisBlock> repeated;
  for (std::int64_t n = 0; n < count; ++n) {
    for (figure::AxisBlock block : *blocks) {
      const auto at = [&](double token) { return static_cast<double>(n) + token / static_cast<double>(tokens); };
      block.cells = {at(block.cells.low), at(block.cells.high)};
      repeated.push_back(std::move(block));
    }
  }
  return std::make_shared<const std::vector<figure::AxisBlock>>(std::move(repeated));
}

}  // namespace locus::views

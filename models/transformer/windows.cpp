#include "models/transformer/windows.h"

#include <algorithm>
#include <string>

namespace locus::transformer {

std::vector<std::int64_t> windows_of(const AttentionSpec& attention, Stages stages, std::int64_t rows,
                                     std::int64_t columns) {
  const std::int64_t side = attention.tile;
  if (side == 0) {
    return std::vector<std::int64_t>(static_cast<std::size_t>(rows * columns), 0);
  }
  const bool alone = stages == Stages::kSwin && std::min(rows, columns) <= side;
  // The library turns the grid cyclically by the shift, and hides what the turn brings together: patches of the first
  // and last rows stay in windows of their own.
  const std::int64_t before = attention.shift > 0 && !alone ? side - attention.shift : 0;
  const std::int64_t across = (columns - 1 + before) / side + 1;
  std::vector<std::int64_t> windows;
  windows.reserve(static_cast<std::size_t>(rows * columns));
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t column = 0; column < columns; ++column) {
      windows.push_back((row + before) / side * across + (column + before) / side);
    }
  }
  return windows;
}

namespace {

Status check_layers(const std::vector<LayerSpec>& layers, std::int64_t rows, std::int64_t columns) {
  for (const LayerSpec& layer : layers) {
    const std::int64_t side = layer.attention.tile;
    if (side > 0 && (rows % side != 0 || columns % side != 0)) {
      return unsupported("expected a grid of whole windows of " + std::to_string(side) + " × " + std::to_string(side) +
                         " patches, found " + std::to_string(rows) + " × " + std::to_string(columns) +
                         " patches, which the library pads");
    }
  }
  return {};
}

}  // namespace

Status check_grid(const Spec& spec, std::int64_t rows, std::int64_t columns) {
  if (spec.image.stages == Stages::kNone) {
    return {};
  }
  const std::int64_t unit = spec.image.unit;
  const std::size_t stages = spec.image.before.size();
  if ((rows << stages) % unit != 0 || (columns << stages) % unit != 0) {
    return unsupported("expected a grid of whole units of " + std::to_string(unit) + " × " + std::to_string(unit) +
                       " patches in the first stage, found " + std::to_string(rows << stages) + " × " +
                       std::to_string(columns << stages) + " patches");
  }
  LOCUS_CHECK(check_layers(spec.layers, rows, columns));
  for (std::size_t n = 0; n < spec.image.before.size(); ++n) {
    const std::size_t later = spec.image.before.size() - n;
    LOCUS_CHECK(check_layers(spec.image.before[n].layers, rows << later, columns << later));
  }
  return {};
}

}  // namespace locus::transformer

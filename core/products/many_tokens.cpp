#include "core/products/many_tokens.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>

#include "core/products/integer_products.h"
#include "core/products/matrix_tiles.h"
#include "core/products/panels.h"

namespace locus::products {

namespace {

// One product by the vector kernels: strips of x are packed once, panels of the weights as they are needed.
class StripProduct {
 public:
  static constexpr std::int64_t kDepth = 512;       // inputs of a panel
  static constexpr std::int64_t kMaxOutputs = 256;  // of a panel: 512 KiB of float32
  static constexpr std::int64_t kMaxTokens = 1536;  // whose strips are held at once; a multiple of every kernel's rows

  StripProduct(const Weights& weights, const Kernels& with, const float* x, std::int64_t tokens, std::int64_t x_stride)
      : weights_(weights), with_(with), tokens_(tokens), strips_(floats(round_up(tokens, with.rows) * weights.inputs)) {
    at::parallel_for(0, round_up(tokens, with.rows) / with.rows, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t strip = begin; strip < end; ++strip) {
        pack_strip(x + strip * with_.rows * x_stride, std::min(with_.rows, tokens_ - strip * with_.rows), x_stride,
                   strips_.get() + strip * with_.rows * weights_.inputs);
      }
    });
  }

  // Writes outputs [begin, end) to y. `panel`: kMaxOutputs × kDepth floats.
  void write(std::int64_t begin, std::int64_t end, float* panel, const float* bias, float* y,
             std::int64_t y_stride) const {
    for (std::int64_t first = 0; first < weights_.inputs; first += kDepth) {
      const std::int64_t depth = std::min(kDepth, weights_.inputs - first);
      for (std::int64_t n = begin; n < end; n += with_.columns) {
        pack_slice(n, std::min(with_.columns, end - n), first, depth, panel + (n - begin) * depth);
      }
      for (std::int64_t t = 0; t < tokens_; t += with_.rows) {
        const float* strip = strips_.get() + t * weights_.inputs + first * with_.rows;
        for (std::int64_t n = begin; n < end; n += with_.columns) {
          write_tile(strip, panel + (n - begin) * depth, depth, std::min(with_.rows, tokens_ - t),
                     std::min(with_.columns, end - n), first == 0 ? start_of(bias, n) : nullptr, y + t * y_stride + n,
                     y_stride);
        }
      }
    }
  }

 private:
  // strip[k·rows + m] = x[m·x_stride + k]; 0 for m ≥ count.
  void pack_strip(const float* x, std::int64_t count, std::int64_t x_stride, float* strip) const {
    for (std::int64_t m = 0; m < with_.rows; ++m) {
      for (std::int64_t k = 0; k < weights_.inputs; ++k) {
        strip[k * with_.rows + m] = m < count ? x[m * x_stride + k] : 0.0F;
      }
    }
  }

  // Rows of blocks are expanded a slice at a time: columns × depth numbers, which fit the second-level cache.
  void expand_slice(std::int64_t n, std::int64_t count, std::int64_t first, std::int64_t depth, float* slice) const {
    alignas(64) std::array<float, kDepth * 64> rows;
    for (std::int64_t c = 0; c < count; ++c) {
      blocks::expand(*weights_.blocks, weights_.at(n + c, first), depth / weights_.blocks->elements,
                     rows.data() + c * depth);
    }
    with_.pack[static_cast<std::size_t>(Format::kFloat)](rows.data(), depth, count, depth, slice);
  }

  void pack_slice(std::int64_t n, std::int64_t count, std::int64_t first, std::int64_t depth, float* slice) const {
    if (weights_.blocks != nullptr) {
      return expand_slice(n, count, first, depth, slice);
    }
    const auto format = static_cast<std::size_t>(weights_.format);
    if (weights_.input_stride == 1) {
      with_.pack[format](weights_.at(n, first), weights_.output_stride, count, depth, slice);
    } else if (weights_.output_stride == 1) {
      with_.pack_transposed[format](weights_.at(n, first), weights_.input_stride, count, depth, slice);
    } else {
      for (std::int64_t k = 0; k < depth; ++k) {
        for (std::int64_t c = 0; c < with_.columns; ++c) {
          slice[k * with_.columns + c] = c < count ? with_.one[format](weights_.at(n + c, first + k)) : 0.0F;
        }
      }
    }
  }

  void write_tile(const float* strip, const float* slice, std::int64_t depth, std::int64_t rows, std::int64_t columns,
                  const float* start, float* y, std::int64_t y_stride) const {
    if (columns == with_.columns) {
      return with_.tile(strip, slice, depth, rows, start, y, y_stride);
    }
    write_part(rows, with_.columns, columns, start, y, y_stride, [&](float* whole, std::int64_t stride) {
      with_.tile(strip, slice, depth, rows, start_of(nullptr, 0), whole, stride);
    });
  }

  const Weights& weights_;
  const Kernels& with_;
  std::int64_t tokens_;
  Lines<float> strips_;
};

constexpr std::int64_t kPair = 2 * kTileBlock;

// What a thread works in: blocks of outputs, and sums, of all tokens where these come in several stretches.
struct TileMemory {
  Lines<std::byte> panel;
  Lines<float> sums;
};

// One product in matrix tiles. Inputs are taken in stretches, whose blocks of tokens lie one after another.
class TiledProduct {
 public:
  TiledProduct(const Weights& weights, const Kernels& with, const float* x, std::int64_t tokens, std::int64_t x_stride)
      : weights_(weights),
        with_(with),
        tiles_(*with.tiles),
        tokens_(tokens),
        depth_(depth_of(weights)),
        blocks_(lines_of<std::byte>(round_up(tokens, kTileBlock) / kTileBlock * block_bytes(weights.inputs))) {
    at::parallel_for(0, round_up(tokens, kTileBlock) / kTileBlock, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t block = begin; block < end; ++block) {
        for (std::int64_t first = 0; first < weights_.inputs; first += depth_) {
          if (!tiles_.pack_tokens(x + block * kTileBlock * x_stride + first, x_stride,
                                  std::min(kTileBlock, tokens_ - block * kTileBlock),
                                  std::min(depth_, weights_.inputs - first), token_block(block, first))) {
            takes_all_ = false;
          }
        }
      }
    });
  }

  // Whether the tiles can hold every number of the tokens.
  bool takes_all() const { return takes_all_; }

  // Writes outputs [begin, end) to y, panel_outputs() at most, in `memory` of a thread that began its tiles.
  void write(std::int64_t begin, std::int64_t end, const TileMemory& memory, const float* bias, float* y,
             std::int64_t y_stride) const {
    for (std::int64_t first = 0; first < weights_.inputs; first += depth_) {
      const std::int64_t depth = std::min(depth_, weights_.inputs - first);
      const std::int64_t size = block_bytes(depth);
      std::array<std::int64_t, kMaxOutputs / kTileBlock> parts{};
      for (std::int64_t n = begin; n < end; n += kTileBlock) {
        const std::int64_t block = (n - begin) / kTileBlock;
        parts[static_cast<std::size_t>(block)] =
            pack_outputs(n, std::min(kTileBlock, end - n), first, depth, memory.panel.get() + block * size);
      }
      float* sums = memory.sums.get();
      const std::int64_t kept = depth < weights_.inputs ? kTileSums : 0;  // until the next stretch
      for (std::int64_t t = 0; t < tokens_; t += kPair) {
        const std::byte* const tokens = token_block(t / kTileBlock, first);
        for (std::int64_t n = begin; n < end; n += kPair, sums += kept) {
          const std::int64_t block = (n - begin) / kTileBlock;
          const bool two = n + kTileBlock < end;
          const bool more = first > 0;
          const std::int64_t most = std::max(parts[static_cast<std::size_t>(block)],
                                             two ? parts[static_cast<std::size_t>(block + 1)] : std::int64_t{1});
          tiles_.multiply(tokens, size, memory.panel.get() + block * size, two ? size : 0, most, size / kStepBytes,
                          tokens_ - t > kTileBlock, more, sums);
          if (first + depth == weights_.inputs) {
            tiles_.store(sums, std::min(tokens_ - t, kPair), std::min(end - n, kPair),
                         bias != nullptr ? bias + n : nullptr, y + t * y_stride + n, y_stride);
          }
        }
      }
    }
  }

  TileMemory memory() const {
    const std::int64_t outputs = std::min(panel_outputs(), round_up(weights_.outputs, kPair));
    const std::int64_t sums = depth_ >= weights_.inputs ? kTileSums : outputs * round_up(tokens_, kPair);
    return {lines_of<std::byte>(outputs / kTileBlock * block_bytes(depth_)), floats(sums)};
  }

  // The outputs of a panel. Where a stretch of all tokens and a panel do not fit a core's second-level cache of 2 MiB,
  // larger panels read the tokens less often.
  std::int64_t panel_outputs() const {
    constexpr std::int64_t kFewTokens = std::int64_t{1} << 20;  // bytes
    return round_up(tokens_, kTileBlock) / kTileBlock * block_bytes(depth_) <= kFewTokens ? kMaxOutputs / 2
                                                                                          : kMaxOutputs;
  }

 private:
  static constexpr std::int64_t kMaxOutputs = 256;
  static constexpr std::int64_t kMaxDepth = 768;  // inputs of a stretch

  static std::int64_t block_bytes(std::int64_t inputs) {
    return round_up(inputs, kTileInputs) / kTileInputs * kStepBytes;
  }
  // Stretches of about the same length, of whole blocks of the weights.
  static std::int64_t depth_of(const Weights& weights) {
    const std::int64_t unit =
        std::max<std::int64_t>(kTileInputs, weights.blocks != nullptr ? weights.blocks->elements : 1);
    const std::int64_t stretches = (weights.inputs + kMaxDepth - 1) / kMaxDepth;
    return std::max(round_up((weights.inputs + stretches - 1) / stretches, unit), unit);
  }

  std::byte* token_block(std::int64_t block, std::int64_t first) const {
    const std::int64_t before = round_up(tokens_, kTileBlock) / kTileBlock * block_bytes(first);
    return blocks_.get() + before + block * block_bytes(std::min(depth_, weights_.inputs - first));
  }

  std::int64_t pack_outputs(std::int64_t n, std::int64_t count, std::int64_t first, std::int64_t depth,
                            std::byte* block) const {
    const auto format = static_cast<std::size_t>(weights_.format);
    if (weights_.blocks == nullptr && weights_.input_stride == 1) {
      return tiles_.pack_outputs[format](weights_.at(n, first), weights_.output_stride, count, depth, block);
    }
    if (weights_.blocks == nullptr && weights_.output_stride == 1) {
      return tiles_.pack_transposed[format](weights_.at(n, first), weights_.input_stride, count, depth, block);
    }
    alignas(64) std::array<float, kTileBlock * kMaxDepth> rows;
    for (std::int64_t c = 0; c < count; ++c) {
      float* const row = rows.data() + c * depth;
      if (weights_.blocks != nullptr) {
        blocks::expand(*weights_.blocks, weights_.at(n + c, first), depth / weights_.blocks->elements, row);
      } else {
        for (std::int64_t k = 0; k < depth; ++k) {
          row[k] = with_.one[format](weights_.at(n + c, first + k));
        }
      }
    }
    return tiles_.pack_outputs[static_cast<std::size_t>(Format::kFloat)](rows.data(), depth, count, depth, block);
  }

  const Weights& weights_;
  const Kernels& with_;
  const MatrixTiles& tiles_;
  std::int64_t tokens_;
  std::int64_t depth_;       // inputs of a stretch
  Lines<std::byte> blocks_;  // of tokens
  std::atomic<bool> takes_all_{true};
};

constexpr std::int64_t kTiledBytes = 16 << 20;  // of tokens in tiles at once

// False: the tiles cannot hold the tokens, and nothing was written.
bool multiply_tiled(const Weights& weights, const float* x, std::int64_t tokens, std::int64_t x_stride,
                    const float* bias, float* y, std::int64_t y_stride, const Kernels& with) {
  const TiledProduct product(weights, with, x, tokens, x_stride);
  if (!product.takes_all()) {
    return false;
  }
  for_panels(weights.outputs, kPair, product.panel_outputs(), [&](const auto& panels) {
    const TileMemory memory = product.memory();
    with.tiles->begin();
    panels([&](std::int64_t begin, std::int64_t end) { product.write(begin, end, memory, bias, y, y_stride); });
    with.tiles->end();
  });
  return true;
}

void multiply_strips(const Weights& weights, const float* x, std::int64_t tokens, std::int64_t x_stride,
                     const float* bias, float* y, std::int64_t y_stride, const Kernels& with) {
  const StripProduct product(weights, with, x, tokens, x_stride);
  for_panels(weights.outputs, with.columns, StripProduct::kMaxOutputs, [&](const auto& panels) {
    const auto panel = floats(StripProduct::kMaxOutputs * std::min(StripProduct::kDepth, weights.inputs));
    panels([&](std::int64_t begin, std::int64_t end) { product.write(begin, end, panel.get(), bias, y, y_stride); });
  });
}

// Tokens whose tiles take kTiledBytes, in whole pairs of blocks.
std::int64_t tokens_at_once(const Weights& weights) {
  const std::int64_t pair_bytes = 2 * round_up(weights.inputs, kTileInputs) / kTileInputs * kStepBytes;
  return std::max<std::int64_t>(kTiledBytes / pair_bytes, 8) * kPair;
}

}  // namespace

void multiply_many(const Weights& weights, const float* x, std::int64_t tokens, std::int64_t x_stride,
                   const float* bias, float* y, std::int64_t y_stride, const Kernels& with) {
  if (weights.inputs == 0) {
    return fill(bias, 0, weights.outputs, tokens, y, y_stride);
  }
  const bool tiled = with.tiles != nullptr && tokens >= kLeastTiled;
  const std::int64_t most = tiled ? tokens_at_once(weights) : StripProduct::kMaxTokens;
  for (std::int64_t t = 0; t < tokens; t += most) {
    const std::int64_t count = std::min(most, tokens - t);
    const float* const from = x + t * x_stride;
    float* const to = y + t * y_stride;
    if (tiled && multiply_tiled(weights, from, count, x_stride, bias, to, y_stride, with)) {
      continue;
    }
    if (takes_integers(weights, with)) {
      multiply_integers(weights, from, count, x_stride, bias, to, y_stride, *with.integers);
    } else {
      multiply_strips(weights, from, count, x_stride, bias, to, y_stride, with);
    }
  }
}

}  // namespace locus::products

#include "models/edits/picture_positions.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

namespace locus::models {

namespace {

constexpr double kFrameStep = 2;  // of VideoRoPE

// A picture, or the frames of a video that stand side by side.
struct CellBlock {
  std::size_t first = 0;  // of the spans
  std::size_t count = 0;
};

CellBlock block_at(const std::vector<ImageSpan>& pictures, std::size_t first) {
  CellBlock block{first, 1};
  for (std::size_t n = first + 1; n < pictures.size(); ++n, ++block.count) {
    const ImageSpan& before = pictures[n - 1];
    if (before.video < 0 || pictures[n].video != before.video || pictures[n].first != before.first + before.count) {
      break;
    }
  }
  return block;
}

Status check_grid(const ImageSpan& span, std::int64_t length) {
  if (span.rows <= 0 || span.pitch != span.columns || span.tile_rows > 0 || span.ended || span.whole ||
      span.count != span.rows * span.columns) {
    return unsupported("expected pictures of rows of cells, found one in tiles or with tokens between its rows");
  }
  return span.first >= 0 && span.first <= length - span.count
             ? Status()
             : Status(bad_input("expected pictures within " + std::to_string(length) + " tokens"));
}

// Sets (t, h, w) of the block's cells, the first row of `at` being its first token; where the next word is.
double place_block(const PositionDesign& design, const ImageSpan* spans, std::size_t frames, double start, double* at) {
  using Kind = PositionDesign::Kind;
  std::int64_t cells = 0;
  for (std::size_t frame = 0; frame < frames; ++frame) {
    cells += spans[frame].count;
  }
  std::int64_t cell = 0;
  std::int64_t extent = static_cast<std::int64_t>(frames);
  for (std::size_t frame = 0; frame < frames; ++frame) {
    const ImageSpan& span = spans[frame];
    const std::int64_t middle_row = (span.rows - 1) / 2;
    const std::int64_t middle_column = (span.columns - 1) / 2;
    const auto time = start + static_cast<double>(frame) * (design.kind == Kind::kVideoRope ? kFrameStep : 1);
    for (std::int64_t n = 0; n < span.count; ++n, ++cell, at += 3) {
      const std::int64_t above = n / span.columns;
      const auto row = static_cast<double>(above);
      const auto column = static_cast<double>(n % span.columns);
      if (design.kind == Kind::kV2pe) {
        std::fill_n(at, 3, start - 1 + design.stride * static_cast<double>(cell + 1) / static_cast<double>(cells));
      } else if (design.kind == Kind::kVideoRope) {
        at[0] = time;
        at[1] = time + row - static_cast<double>(middle_row);
        at[2] = time + column - static_cast<double>(middle_column);
      } else {
        at[0] = time;
        at[1] = row;
        at[2] = column;
      }
    }
    extent = std::max({extent, span.rows, span.columns});
  }
  switch (design.kind) {
    case Kind::kV2pe:
      return std::ceil(start - 1 + design.stride) + 1;
    case Kind::kVideoRope:
      return start + static_cast<double>(frames - 1) * kFrameStep + 1;
    case Kind::kOmniRope:
      break;
  }
  return start + static_cast<double>(extent);
}

}  // namespace

Result<at::Tensor> designed_positions(const PositionDesign& design, const std::vector<ImageSpan>& pictures,
                                      std::int64_t length, double start) {
  if (pictures.empty()) {
    return bad_input("expected a text with pictures in it, found none");
  }
  for (const ImageSpan& span : pictures) {
    LOCUS_CHECK(check_grid(span, length));
  }
  at::Tensor ids = at::empty({length, 3}, at::kDouble);
  auto* const at = ids.data_ptr<double>();
  double next = start;
  std::size_t picture = 0;
  for (std::int64_t token = 0; token < length;) {
    if (picture < pictures.size() && token == pictures[picture].first) {
      const CellBlock block = block_at(pictures, picture);
      next = place_block(design, pictures.data() + block.first, block.count, next, at + 3 * token);
      picture += block.count;
      token = pictures[picture - 1].first + pictures[picture - 1].count;
      continue;
    }
    std::fill_n(at + 3 * token, 3, next);
    next += 1;
    ++token;
  }
  return ids;
}

}  // namespace locus::models

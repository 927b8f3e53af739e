#include "models/edits/picture_positions.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <vector>

namespace locus::models {

namespace {

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

// The plane perpendicular to (1, 1, 1), on which words lie: the two directions as (t, h, w).
const std::array<double, 3> kAcross{0, 1 / std::sqrt(2.0), -1 / std::sqrt(2.0)};
const std::array<double, 3> kUpward{2 / std::sqrt(6.0), -1 / std::sqrt(6.0), -1 / std::sqrt(6.0)};

// The angles of a picture's cells on the circle.
std::vector<double> circle_angles(std::int64_t rows, std::int64_t columns) {
  const auto count = static_cast<std::size_t>(rows * columns);
  std::vector<double> angle(count);
  for (std::size_t n = 0; n < count; ++n) {
    const auto cell = static_cast<std::int64_t>(n);
    const std::int64_t row = cell / columns;
    const std::int64_t column = cell % columns;
    angle[n] = std::atan2(static_cast<double>(2 * row - (rows - 1)), static_cast<double>(2 * column - (columns - 1)));
  }
  const auto [least, largest] = std::minmax_element(angle.begin(), angle.end());
  const double from = *least;
  const double range = *largest - *least;
  for (std::size_t n = 0; n < count; ++n) {
    const double own = range > 0 ? (angle[n] - from) / range * 2 * std::numbers::pi : angle[n];
    const double in_order = static_cast<double>(n) / static_cast<double>(count) * 2 * std::numbers::pi;
    angle[n] = (own + in_order) / 2;
  }
  return angle;
}

// Cells of a frame that starts at `time`.
void place_circle(double radius, const ImageSpan& span, double time, double* at) {
  const double own = radius > 0 ? radius : static_cast<double>(std::max(span.rows, span.columns) - 1) / 2;
  for (const double angle : circle_angles(span.rows, span.columns)) {
    for (std::size_t c = 0; c < 3; ++c) {
      *at++ = time + own * (std::cos(angle) * kAcross[c] + std::sin(angle) * kUpward[c]);
    }
  }
}

// (t, h, w) of a cell of a block that starts at `start`.
std::array<double, 3> place_of(const PositionDesign& design, const ImageSpan& span, double start, double frame,
                               std::int64_t cell) {
  const std::int64_t above = cell / span.columns;
  const auto row = static_cast<double>(above);
  const auto column = static_cast<double>(cell - above * span.columns);
  if (design.kind == PositionDesign::Kind::kMRope) {
    return {start + design.scale[0] * frame, start + design.scale[1] * row, start + design.scale[2] * column};
  }
  if (design.kind == PositionDesign::Kind::kOmniRope) {
    return {start + frame, row, column};
  }
  const double time = start + frame * design.stride;
  const std::int64_t middle_row = (span.rows - 1) / 2;
  const std::int64_t middle_column = (span.columns - 1) / 2;
  return {design.kind == PositionDesign::Kind::kHope ? 0 : time, time + row - static_cast<double>(middle_row),
          time + column - static_cast<double>(middle_column)};
}

// Where the word behind a block of these cells is; `at` their positions.
double next_word(const PositionDesign& design, const ImageSpan* spans, std::size_t frames, double start,
                 const double* at, std::int64_t cells) {
  switch (design.kind) {
    case PositionDesign::Kind::kV2pe:
      return std::ceil(start - 1 + design.stride) + 1;
    case PositionDesign::Kind::kVideoRope:
    case PositionDesign::Kind::kHope:
      return start + static_cast<double>(frames - 1) * design.stride + 1;
    case PositionDesign::Kind::kMRope:
    case PositionDesign::Kind::kCircleRope:
      return *std::max_element(at, at + 3 * cells) + 1;
    case PositionDesign::Kind::kOmniRope:
      break;
  }
  auto extent = static_cast<std::int64_t>(frames);
  for (std::size_t frame = 0; frame < frames; ++frame) {
    extent = std::max({extent, spans[frame].rows, spans[frame].columns});
  }
  return start + static_cast<double>(extent);
}

// Sets (t, h, w) of the block's cells, the first row of `at` being its first token; where the next word is.
double place_block(const PositionDesign& design, const ImageSpan* spans, std::size_t frames, double start, double* at) {
  std::int64_t cells = 0;
  for (std::size_t frame = 0; frame < frames; ++frame) {
    cells += spans[frame].count;
  }
  std::int64_t cell = 0;
  for (std::size_t frame = 0; frame < frames; ++frame) {
    const ImageSpan& span = spans[frame];
    if (design.kind == PositionDesign::Kind::kCircleRope) {
      place_circle(design.radius, span, start + static_cast<double>(frame), at + 3 * cell);
      cell += span.count;
      continue;
    }
    for (std::int64_t n = 0; n < span.count; ++n, ++cell) {
      if (design.kind == PositionDesign::Kind::kV2pe) {
        std::fill_n(at + 3 * cell, 3,
                    start - 1 + design.stride * static_cast<double>(cell + 1) / static_cast<double>(cells));
      } else {
        const std::array<double, 3> own = place_of(design, span, start, static_cast<double>(frame), n);
        std::copy(own.begin(), own.end(), at + 3 * cell);
      }
    }
  }
  return next_word(design, spans, frames, start, at, cells);
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
    if (design.kind == PositionDesign::Kind::kHope) {
      at[3 * token] = 0;
    }
    next += 1;
    ++token;
  }
  return ids;
}

}  // namespace locus::models

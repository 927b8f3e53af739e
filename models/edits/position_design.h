// Names of the designs that place a picture's cells otherwise than the model does.
#pragma once

#include <array>
#include <optional>
#include <string_view>

namespace locus::models {

// A picture of R × C cells, or F frames of them one after the other, whose first cell would be a word at s; (t, h, w) of
// frame f, row r and column c:
//   kV2pe        s − 1 + stride·(k + 1)/n of cell k of n, in all components; the next word at ⌈s − 1 + stride⌉ + 1
//   kMRope       (s + a·f, s + b·r, s + c'·c) with the scales (a, b, c'); the next word one behind the largest
//   kVideoRope   with T = s + stride·f: (T, T + r − ⌊(R − 1)/2⌋, T + c − ⌊(C − 1)/2⌋); the next word at
//                s + stride·(F − 1) + 1
//   kHope        as kVideoRope, and the time of every token, words too, is 0: pairs of time do not turn
//   kOmniRope    (s + f, r, c), rows and columns from 0; the next word at s + max(F, R, C)
//   kCircleRope  on a circle around the centre of the picture, perpendicular to (1, 1, 1): with φ the mean of the cell's
//                angle (from the smallest to the largest made 0 to 2π) and of 2πk/n, X = ρ cos φ and Y = ρ sin φ,
//                (t, h, w) = s + f + (2Y/√6, X/√2 − Y/√6, −X/√2 − Y/√6); the next word one behind the largest.
//                Radius ρ; 0: half of the larger side, (max(R, C) − 1)/2
struct PositionDesign {
  enum class Kind { kV2pe, kMRope, kVideoRope, kHope, kOmniRope, kCircleRope };

  Kind kind = Kind::kV2pe;
  double stride = 16;                    // kV2pe; kVideoRope and kHope: of frames
  std::array<double, 3> scale{1, 1, 1};  // kMRope
  double radius = 0;                     // kCircleRope
};

inline constexpr std::string_view kDesignForms =
    "v2pe, v2pe:STRIDE, mrope, mrope:TxHxW, videorope, hope, hope:STRIDE, omnirope, circlerope or circlerope:RADIUS";

// Nothing where the text names none. Without a number: V2PE's stride 16, VideoRoPE's 2, HoPE's 1, scales 1, radius 0.
std::optional<PositionDesign> parse_design(std::string_view text);

}  // namespace locus::models

// Names of the designs that place a picture's cells otherwise than the model does.
#pragma once

#include <optional>
#include <string_view>

namespace locus::models {

// A picture of R × C cells, or F frames of them one after the other, whose first cell would be a word at s; (t, h, w) of
// frame f, row r and column c:
//   kV2pe       s − 1 + stride·(k + 1)/n of cell k of n, in all components; the next word at ⌈s − 1 + stride⌉ + 1
//   kVideoRope  (s + 2f, s + 2f + r − ⌊(R − 1)/2⌋, s + 2f + c − ⌊(C − 1)/2⌋); the next word at s + 2(F − 1) + 1
//   kOmniRope   (s + f, r, c), rows and columns from 0; the next word at s + max(F, R, C)
struct PositionDesign {
  enum class Kind { kV2pe, kVideoRope, kOmniRope };

  Kind kind = Kind::kV2pe;
  double stride = 16;  // kV2pe
};

inline constexpr std::string_view kDesignForms = "v2pe, v2pe:STRIDE, videorope or omnirope";

// Nothing where the text names none: "v2pe" (stride 16), "v2pe:64", "videorope", "omnirope".
std::optional<PositionDesign> parse_design(std::string_view text);

}  // namespace locus::models

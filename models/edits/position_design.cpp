#include "models/edits/position_design.h"

#include "core/base/numbers.h"

namespace locus::models {

namespace {

constexpr double kMaxStride = 1e6;

}  // namespace

std::optional<PositionDesign> parse_design(std::string_view text) {
  using Kind = PositionDesign::Kind;
  constexpr std::string_view kV2pe = "v2pe";
  if (text == "videorope") {
    return PositionDesign{Kind::kVideoRope};
  }
  if (text == "omnirope") {
    return PositionDesign{Kind::kOmniRope};
  }
  if (text == kV2pe) {
    return PositionDesign{Kind::kV2pe};
  }
  if (!text.starts_with(kV2pe) || text[kV2pe.size()] != ':') {
    return std::nullopt;
  }
  const std::optional<double> stride = parse_number<double>(text.substr(kV2pe.size() + 1));
  return stride && *stride > 0 && *stride <= kMaxStride ? std::optional(PositionDesign{Kind::kV2pe, *stride})
                                                        : std::nullopt;
}

}  // namespace locus::models

#include "models/edits/position_design.h"

#include "core/base/numbers.h"

namespace locus::models {

namespace {

constexpr double kMaxNumber = 1e6;
constexpr double kVideoStride = 2;

struct DesignName {
  std::string_view name;
  PositionDesign plain;  // without a number behind the name
};

constexpr std::array<DesignName, 6> kDesigns{
    {{"v2pe", {.kind = PositionDesign::Kind::kV2pe}},
     {"mrope", {.kind = PositionDesign::Kind::kMRope}},
     {"videorope", {.kind = PositionDesign::Kind::kVideoRope, .stride = kVideoStride}},
     {"hope", {.kind = PositionDesign::Kind::kHope, .stride = 1}},
     {"omnirope", {.kind = PositionDesign::Kind::kOmniRope}},
     {"circlerope", {.kind = PositionDesign::Kind::kCircleRope}}}};

bool read_positive(std::string_view text, double& value) {
  const std::optional<double> number = parse_number<double>(text);
  if (!number || !(*number > 0 && *number <= kMaxNumber)) {
    return false;
  }
  value = *number;
  return true;
}

// T x H x W
bool read_scale(std::string_view text, std::array<double, 3>& scale) {
  const std::size_t first = text.find('x');
  const std::size_t second = first == std::string_view::npos ? first : text.find('x', first + 1);
  return second != std::string_view::npos && read_positive(text.substr(0, first), scale[0]) &&
         read_positive(text.substr(first + 1, second - first - 1), scale[1]) &&
         read_positive(text.substr(second + 1), scale[2]);
}

bool read_number(std::string_view text, PositionDesign& design) {
  switch (design.kind) {
    case PositionDesign::Kind::kV2pe:
    case PositionDesign::Kind::kHope:
      return read_positive(text, design.stride);
    case PositionDesign::Kind::kMRope:
      return read_scale(text, design.scale);
    case PositionDesign::Kind::kCircleRope:
      return read_positive(text, design.radius);
    case PositionDesign::Kind::kVideoRope:
    case PositionDesign::Kind::kOmniRope:
      break;
  }
  return false;
}

}  // namespace

std::optional<PositionDesign> parse_design(std::string_view text) {
  const std::size_t colon = text.find(':');
  for (const DesignName& each : kDesigns) {
    if (text.substr(0, colon) == each.name) {
      PositionDesign design = each.plain;
      return colon == std::string_view::npos || read_number(text.substr(colon + 1), design) ? std::optional(design)
                                                                                            : std::nullopt;
    }
  }
  return std::nullopt;
}

}  // namespace locus::models

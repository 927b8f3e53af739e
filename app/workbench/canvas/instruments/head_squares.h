// The matrix of heads: the square of each head, the measurement that colours it, and its colour.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/session/navigator_choice.h"
#include "app/views/shared/parameters.h"
#include "app/workbench/work/fingerprints.h"
#include "renderers/figure/color_scale.h"
#include "renderers/figure/geometry.h"

namespace locus::workbench {

// A measurement that can colour the squares.
struct HeadNumber {
  const char* name;
  double views::Fingerprint::*value;
  bool share;  // a value in [0, 1]
};
inline constexpr std::array<HeadNumber, session::kHeadStatistics.size()> kHeadNumbers{
    {{session::kHeadStatistics[0], &views::Fingerprint::previous, true},
     {session::kHeadStatistics[1], &views::Fingerprint::first, true},
     {session::kHeadStatistics[2], &views::Fingerprint::induction, true},
     {session::kHeadStatistics[3], &views::Fingerprint::self, true},
     {session::kHeadStatistics[4], &views::Fingerprint::distance, false},
     {session::kHeadStatistics[5], &views::Fingerprint::entropy, false},
     {session::kHeadStatistics[6], &views::Fingerprint::images, true}}};
// The measurement of that name; the first one for unknown names.
std::size_t head_number(const std::string& name);

// One value per head, layer by layer; NaN: not measured.
std::vector<float> head_values(const HeadSurvey& survey, std::size_t number);
// The differences of two surveys; empty: they have different numbers of heads.
std::vector<float> head_differences(const HeadSurvey& survey, const HeadSurvey& reference, std::size_t number);
// Colour range: [0, 1] for shares, from 0 to the largest value otherwise; symmetric for differences.
figure::ColorScale scale_of_heads(const std::vector<float>& values, std::size_t number, bool difference);
// The head with the largest value; empty: nothing is measured.
std::optional<views::HeadRef> strongest_head(const std::vector<float>& values, std::int64_t heads);

// Layers from top to bottom, heads from left to right.
struct HeadSquares {
  std::int64_t layers = 0;
  std::int64_t heads = 0;
  double side = 0;
  figure::Point origin;

  double width() const { return side * static_cast<double>(heads); }
  double height() const { return side * static_cast<double>(layers); }
  figure::Rect square(std::int64_t layer, std::int64_t head) const;
  std::optional<views::HeadRef> at(const figure::Point& point) const;
  // The nearest head, for pointers dragged out of the squares.
  views::HeadRef nearest(const figure::Point& point) const;
};
// The largest squares, up to `largest`, that fit into width × height.
HeadSquares squares_within(std::int64_t layers, std::int64_t heads, double width, double height, double largest);

// The neighbour of a head; at the edge the head itself.
views::HeadRef moved(const views::HeadRef& head, int layers, int heads, const HeadSquares& squares);

}  // namespace locus::workbench

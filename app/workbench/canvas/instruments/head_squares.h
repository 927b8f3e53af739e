// The matrix of heads: where the square of a head lies, which of their numbers colours it, and how.
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

// What colours the squares.
struct HeadNumber {
  const char* name;
  double views::Fingerprint::*value;
  bool share;  // of 1
};
inline constexpr std::array<HeadNumber, session::kHeadStatistics.size()> kHeadNumbers{
    {{session::kHeadStatistics[0], &views::Fingerprint::previous, true},
     {session::kHeadStatistics[1], &views::Fingerprint::first, true},
     {session::kHeadStatistics[2], &views::Fingerprint::induction, true},
     {session::kHeadStatistics[3], &views::Fingerprint::self, true},
     {session::kHeadStatistics[4], &views::Fingerprint::distance, false},
     {session::kHeadStatistics[5], &views::Fingerprint::entropy, false},
     {session::kHeadStatistics[6], &views::Fingerprint::images, true}}};
// Which of them has that name; the first for another one.
std::size_t head_number(const std::string& name);

// One value per head, layer by layer; NaN where it is not measured.
std::vector<float> head_values(const HeadSurvey& survey, std::size_t number);
// Those of one survey less those of another; empty where they have not the same heads.
std::vector<float> head_differences(const HeadSurvey& survey, const HeadSurvey& reference, std::size_t number);
// From 0 to 1 for shares and to the largest of them otherwise; about 0 for differences.
figure::ColorScale scale_of_heads(const std::vector<float>& values, std::size_t number, bool difference);
// The head with the largest value; empty: none is measured.
std::optional<views::HeadRef> strongest_head(const std::vector<float>& values, std::int64_t heads);

// Layers from the top down, heads from left to right.
struct HeadSquares {
  std::int64_t layers = 0;
  std::int64_t heads = 0;
  double side = 0;
  figure::Point origin;

  double width() const { return side * static_cast<double>(heads); }
  double height() const { return side * static_cast<double>(layers); }
  figure::Rect square(std::int64_t layer, std::int64_t head) const;
  std::optional<views::HeadRef> at(const figure::Point& point) const;
  // The nearest one, where the pointer was dragged out of them.
  views::HeadRef nearest(const figure::Point& point) const;
};
// The largest squares, none larger than `largest`, that lie within width × height.
HeadSquares squares_within(std::int64_t layers, std::int64_t heads, double width, double height, double largest);

// The head beside another one; at the edge it stays.
views::HeadRef moved(const views::HeadRef& head, int layers, int heads, const HeadSquares& squares);

}  // namespace locus::workbench

// Points as marks: where they, their crosses and their names are drawn.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "renderers/figure/layer_marks.h"
#include "renderers/figure/scene.h"
#include "renderers/text/typeface.h"

namespace locus::figure {
namespace {

Figure three_points() {
  Points points;
  points.x = {1, 2, 3, std::numeric_limits<double>::quiet_NaN()};
  points.y = {1, 2, 3, 4};
  points.x_low = {0.5, 1.5, 2.5, 0};
  points.x_high = {1.5, std::numeric_limits<double>::quiet_NaN(), 3.5, 0};
  points.y_low = {0.5, 1, 2, 0};
  points.y_high = {1.5, 3, 4, 0};
  points.values = {0, 1, 2, 3};
  points.scale.high = 3;
  points.sizes_px = {10, 20, 10, 10};
  points.hollow = {0, 0, 1, 0};
  points.faint = {0, 1, 0, 0};
  points.names = {"", "", "2.1", ""};
  Panel panel;
  panel.x.view = {0, 5};
  panel.y.view = {0, 5};
  panel.color_bar_label = "layer";
  panel.layers.emplace_back(std::move(points));
  Figure figure;
  figure.panels.push_back(std::move(panel));
  return figure;
}

struct Drawn {
  Layout layout;
  std::vector<LineMark> discs, rings, crosses;
  std::vector<PlacedText> names;
};

Drawn drawn(const Figure& figure) {
  static const text::Typeface typeface;
  Drawn found{lay_out(figure, 600, 500, Style::light(12, 1), typeface), {}, {}, {}, {}};
  const Rect plot = found.layout.panels[0].plot;
  for (const Mark& mark : compose(figure, found.layout).marks) {
    const auto* line = std::get_if<LineMark>(&mark.shape);
    const auto* text = std::get_if<TextMark>(&mark.shape);
    if (text != nullptr && text->text.text == "2.1") {
      found.names.push_back(text->text);
    }
    if (line == nullptr || mark.clip.width != plot.width || mark.clip.x != plot.x) {
      continue;
    }
    const bool disc =
        line->points.size() == 2 && line->points[0].x == line->points[1].x && line->points[0].y == line->points[1].y;
    if (line->color >> 8 == Style::light(12, 1).foreground >> 8) {
      continue;  // the edge below a disc or ring
    }
    const bool cross = line->points.size() == 2 && !disc && line->color >> 8 == Style::light(12, 1).muted >> 8;
    (disc ? found.discs : cross ? found.crosses : found.rings).push_back(*line);
  }
  std::erase_if(found.rings, [](const LineMark& line) { return line.points.size() < 8; });  // the grid
  return found;
}

TEST(Points, DiscsStandWhereTheirNumbersAreAndFaintOnesBehind) {
  const Drawn marks = drawn(three_points());
  const PanelLayout& place = marks.layout.panels[0];
  ASSERT_EQ(marks.discs.size(), 2U);  // the third is a ring, the fourth has no place
  EXPECT_EQ(marks.discs[0].points[0].x, place.x.place(2));
  EXPECT_EQ(marks.discs[0].width, 20);
  EXPECT_LT(marks.discs[0].color & 0xFF, 0x80U);
  EXPECT_EQ(marks.discs[1].points[0].x, place.x.place(1));
  EXPECT_EQ(marks.discs[1].points[0].y, place.y.place(1));
  EXPECT_EQ(marks.discs[1].width, 10);
  EXPECT_EQ(marks.discs[1].color & 0xFF, 0xFFU);
}

// A disc with an empty half: a ring, and the other half filled.
TEST(Points, HalvesAreFilledWhereTheyAreNotEmpty) {
  for (const auto hollow : {Points::kLeftEmpty, Points::kLowerEmpty}) {
    Figure figure = three_points();
    std::get<Points>(figure.panels[0].layers[0]).hollow = {0, 0, hollow, 0};
    const Drawn marks = drawn(figure);
    const PanelLayout& place = marks.layout.panels[0];
    ASSERT_EQ(marks.rings.size(), 1U);
    std::size_t halves = 0;
    for (const Mark& mark : compose(figure, marks.layout).marks) {
      const auto* area = std::get_if<AreaMark>(&mark.shape);
      if (area == nullptr) {
        continue;
      }
      ++halves;
      const double x = place.x.place(3);
      const double y = place.y.place(3);
      const bool right = hollow == Points::kLeftEmpty;
      EXPECT_NEAR(area->x.front(), right ? x : x - 5, 1e-9);
      EXPECT_NEAR(area->x.back(), x + 5, 1e-9);
      for (std::size_t n = 0; n < area->x.size(); ++n) {
        EXPECT_LE(std::hypot(area->x[n] - x, area->high[n] - y), 5 + 1e-9);
        EXPECT_LE(area->high[n], y + 1e-9);  // above the middle
        EXPECT_NEAR(area->low[n], right ? 2 * y - area->high[n] : y, 1e-9);
      }
    }
    EXPECT_EQ(halves, 1U);
  }
}

TEST(Points, RingsAreAsWideAsDiscs) {
  const Drawn marks = drawn(three_points());
  const PanelLayout& place = marks.layout.panels[0];
  ASSERT_EQ(marks.rings.size(), 1U);
  const LineMark& ring = marks.rings[0];
  for (const Point& point : ring.points) {
    const double radius = std::hypot(point.x - place.x.place(3), point.y - place.y.place(3));
    EXPECT_NEAR(radius + ring.width / 2, 5, 1e-9);
  }
}

TEST(Points, CrossesAreTheIntervalsThatAreKnown) {
  const Drawn marks = drawn(three_points());
  const PanelLayout& place = marks.layout.panels[0];
  ASSERT_EQ(marks.crosses.size(), 5U);  // three points of two, less the one without an upper end
  const LineMark& last = marks.crosses.back();
  EXPECT_EQ(last.points[0].x, place.x.place(3));
  EXPECT_EQ(last.points[0].y, place.y.place(2));
  EXPECT_EQ(last.points[1].y, place.y.place(4));
}

TEST(Points, NamesStandBesideThemWithinThePlot) {
  Figure figure = three_points();
  const Drawn marks = drawn(figure);
  ASSERT_EQ(marks.names.size(), 1U);
  EXPECT_GT(marks.names[0].at.x, marks.layout.panels[0].x.place(3));
  EXPECT_EQ(marks.names[0].align, 0);
  figure.panels[0].x.view = {0, 3.05};
  const Drawn at_the_edge = drawn(figure);
  ASSERT_EQ(at_the_edge.names.size(), 1U);
  EXPECT_LT(at_the_edge.names[0].at.x, at_the_edge.layout.panels[0].x.place(3));
  EXPECT_EQ(at_the_edge.names[0].align, 1);
}

TEST(Points, ABarShowsTheirScale) {
  const Drawn marks = drawn(three_points());
  EXPECT_GT(marks.layout.panels[0].color_bar.width, 0);
}

// Dashes of a curve, in its plot and in the legend.
TEST(Points, DashesAreAsLongAsTheCurveSays) {
  static const text::Typeface typeface;
  for (const float dash : {1.0F, 0.5F, 3.0F}) {
    Figure figure;
    Curve curve;
    curve.name = "one";
    curve.x = curve.y = {0, 1};
    curve.dashed = true;
    curve.dash = dash;
    Curve other = curve;
    other.name = "two";
    other.dashed = false;
    Panel& panel = figure.panels.emplace_back();
    panel.x.view = panel.y.view = {0, 1};
    panel.layers = {curve, other};
    const Layout layout = lay_out(figure, 600, 500, Style::light(12, 1), typeface);
    std::vector<double> dashes;
    for (const Mark& mark : compose(figure, layout).marks) {
      const auto* line = std::get_if<LineMark>(&mark.shape);
      if (line != nullptr && line->dash > 0) {
        dashes.push_back(line->dash / line->width);
      }
    }
    ASSERT_EQ(dashes.size(), 2U);
    for (const double each : dashes) {
      EXPECT_NEAR(each, 4 * static_cast<double>(dash), 1e-6);
    }
    // The legend shows two dashes.
    const LegendEntry& shown = layout.panels[0].legend.front();
    EXPECT_GE(shown.swatch.width, 2.6 * dashes.front() * curve_width(curve, Style::light(12, 1)) - 1e-6);
  }
}

}  // namespace
}  // namespace locus::figure

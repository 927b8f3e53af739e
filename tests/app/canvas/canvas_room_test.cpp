// Room on the canvas: for the box at the pointer, for the caption of a view.
#include "app/viewport/canvas_room.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "renderers/figure/scene.h"
#include "tests/support/sample_figures.h"

namespace locus::viewport {
namespace {

using figure::Point;
using figure::Rect;

// Every letter is half as wide as its type is high.
class Letters final : public figure::TextMetrics {
 public:
  double width(const std::string& text, double size) const override {
    const auto letters = std::count_if(text.begin(), text.end(),
                                       [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80; });
    return 0.5 * size * static_cast<double>(letters);
  }
};

bool within(const Rect& area, const Rect& box) {
  return box.x >= area.x && box.y >= area.y && box.right() <= area.right() && box.bottom() <= area.bottom();
}

// Wherever the pointer is: in its map where it can be, never over the pointer there, and never outside the canvas.
TEST(CanvasRoom, TheBoxStaysInItsMapAndBesideThePointer) {
  std::mt19937 random(7);
  const auto draw = [&](double low, double high) { return std::uniform_real_distribution<double>(low, high)(random); };
  const Rect canvas{0, 0, 800, 600};
  int in_map = 0;
  for (int n = 0; n < 2000; ++n) {
    const Rect map{draw(0, 400), draw(0, 300), draw(60, 400), draw(60, 300)};
    const Point at{draw(map.x, map.right()), draw(map.y, map.bottom())};
    const Point size{draw(20, 250), draw(20, 150)};
    const Rect box = box_beside(at, size, {map, canvas});
    EXPECT_TRUE(within(canvas, box));
    EXPECT_EQ(box.width, size.x);
    EXPECT_EQ(box.height, size.y);
    in_map += within(map, box) ? 1 : 0;
    EXPECT_FALSE(within(map, box) && box.contains(at.x, at.y));
    // Half the map beside the pointer is room enough.
    if (size.x + 14 <= map.width / 2 && size.y + 14 <= map.height / 2) {
      EXPECT_TRUE(within(map, box));
    }
  }
  EXPECT_GT(in_map, 200);
}

TEST(CanvasRoom, ACaptionTakesAMarginOrALineOfItsOwn) {
  const Letters typeface;
  const std::string caption = "One head: each row is a token that looks, each column a token that it looks at.";
  const figure::Figure map = *samples::by_name("attention");
  const figure::Style style = figure::Style::light(13, 1);
  const figure::Layout wide = figure::lay_out(map, 900, 480, style, typeface);
  const auto beside = caption_in_margins(caption, 12, wide, typeface);
  ASSERT_TRUE(beside.has_value());
  EXPECT_FALSE(beside->below);
  std::string read;
  for (const std::string& line : beside->lines) {
    read += (read.empty() ? "" : " ") + line;
    EXPECT_LE(typeface.width(line, 12), beside->area.width);
  }
  EXPECT_EQ(read, caption);
  for (const figure::PanelLayout& panel : wide.panels) {
    EXPECT_TRUE(beside->area.intersected(panel.plot).empty());
    EXPECT_TRUE(beside->area.intersected(panel.color_bar).empty());
  }
  const Margins margins = free_margins(wide, typeface);
  EXPECT_TRUE(within(margins.left, beside->area) || within(margins.right, beside->area));
  const auto lower = caption_in_margins(caption, 12, wide, typeface, 40);
  ASSERT_TRUE(lower.has_value());
  EXPECT_NEAR(lower->area.y, beside->area.y + 40, 1e-9);
  // A map that fills the canvas leaves no margin.
  const figure::Layout narrow = figure::lay_out(map, 480, 480, style, typeface);
  EXPECT_FALSE(caption_in_margins(caption, 12, narrow, typeface).has_value());
  const PlacedCaption below = caption_below(caption, 12, 900, 480, typeface);
  EXPECT_EQ(below.lines.size(), 1U);
  EXPECT_LT(below.area.height, 30);
  EXPECT_DOUBLE_EQ(below.area.bottom(), 480);
}

// A box over the figure moves off its labels, and no further.
TEST(CanvasRoom, ABoxOverTheFigureCoversNoLabel) {
  const std::vector<figure::Rect> texts{{10, 40, 80, 10}, {10, 58, 80, 10}, {200, 0, 50, 100}};
  EXPECT_DOUBLE_EQ(clear_top({20, 10, 50, 20}, 100, texts), 10);
  const double below = clear_top({20, 60, 50, 20}, 100, texts);
  EXPECT_GE(below, 68);
  EXPECT_LT(below, 74);
  const double above = clear_top({20, 30, 50, 20}, 100, texts);
  EXPECT_LE(above + 20, 40);
  EXPECT_GT(above + 20, 34);
  EXPECT_DOUBLE_EQ(clear_top({20, 90, 50, 20}, 100, {}), 80) << "within the canvas";
}

TEST(CanvasRoom, TextsAreAmongWhatIsDrawn) {
  const Letters metrics;
  const auto figure = samples::by_name("length-curve");
  ASSERT_TRUE(figure);
  const figure::Layout layout = figure::lay_out(*figure, 700, 500, figure::Style::light(12), metrics);
  const auto texts = text_places(layout, metrics);
  EXPECT_GT(texts.size(), 5U);
  EXPECT_GT(drawn_places(layout, metrics).size(), texts.size());
  EXPECT_TRUE(std::ranges::none_of(
      texts, [&](const figure::Rect& text) { return text.width >= layout.panels.front().plot.width; }));
}

// The highest place of a mark.
double top_of(const figure::Mark& mark) {
  struct Top {
    double operator()(const figure::FillMark& mark) const { return mark.rect.y; }
    double operator()(const figure::LineMark& mark) const { return mark.points.front().y; }
    double operator()(const figure::AreaMark& mark) const { return mark.low.front(); }
    double operator()(const figure::TextMark& mark) const { return mark.text.at.y; }
    double operator()(const figure::MapMark& mark) const { return mark.y_begin; }
    double operator()(const figure::ImageMark& mark) const { return mark.y_begin; }
  };
  return std::visit(Top(), mark.shape);
}

// All that is drawn of a figure goes down together.
TEST(CanvasRoom, AFigureThatMakesRoomMovesAsAWhole) {
  const Letters metrics;
  for (const char* name : {"attention-pictures", "length-curve", "image-overlay", "token-strip", "histogram"}) {
    const auto figure = samples::by_name(name);
    ASSERT_TRUE(figure) << name;
    const figure::Layout layout = figure::lay_out(*figure, 700, 500, figure::Style::light(12), metrics);
    const figure::Scene before = figure::compose(*figure, layout);
    const figure::Scene after = figure::compose(*figure, moved_down(layout, 30));
    ASSERT_EQ(before.marks.size(), after.marks.size());
    for (std::size_t n = 0; n < before.marks.size(); ++n) {
      EXPECT_NEAR(top_of(after.marks[n]), top_of(before.marks[n]) + 30, 1e-6) << name << ", mark " << n;
    }
  }
}

}  // namespace
}  // namespace locus::viewport

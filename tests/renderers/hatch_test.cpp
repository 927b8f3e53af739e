// What a mask hides is hatched, on the GPU as on paper, and nothing else is.
#include "renderers/figure/hatch.h"

#include <gtest/gtest.h>

#include <QImage>
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "renderers/figure/layout.h"
#include "renderers/paper/paper.h"
#include "renderers/vulkan/offscreen.h"
#include "tests/support/sample_figures.h"

namespace locus::figure {
namespace {

constexpr float kNoValue = std::numeric_limits<float>::quiet_NaN();

// Two rows of two cells; the upper right one is hidden.
std::shared_ptr<const Field> one_hidden() {
  Field field = Field::zeros(2, 2);
  field.values = {0, kNoValue, 1, 0.5F};
  return std::make_shared<const Field>(std::move(field));
}

Panel panel_of_hidden(bool masked) {
  HeatMap map;
  map.field = one_hidden();
  map.masked = masked;
  Panel panel;
  panel.x.view = {0, 2};
  panel.y.view = {2, 0};
  panel.equal_aspect = true;
  panel.show_axes = false;
  panel.layers.emplace_back(map);
  return panel;
}

Figure figure_of_hidden(bool masked = true) {
  Figure figure;
  figure.panels.push_back(panel_of_hidden(masked));
  return figure;
}

TEST(Hatch, LinesLieOnHiddenCellsAlone) {
  MapMark map;
  map.field = one_hidden();
  map.hatch = {0x808080FF, 5, 1};
  map.x_begin = 10;
  map.x_end = 110;
  map.y_begin = 20;
  map.y_end = 120;
  const auto lines = hatch_lines(map, {0, 0, 200, 200});
  ASSERT_FALSE(lines.empty());
  double length = 0;
  for (const LineMark& line : lines) {
    ASSERT_EQ(line.points.size(), 2U);
    for (const Point& point : line.points) {
      EXPECT_GE(point.x, 60 - 0.5);
      EXPECT_LE(point.x, 110 + 1e-9);
      EXPECT_GE(point.y, 20 - 1e-9);
      EXPECT_LE(point.y, 70 + 0.5);
      EXPECT_NEAR(std::remainder(point.x + point.y, 5), 0, 1e-9);
    }
    length += std::hypot(line.points[1].x - line.points[0].x, line.points[1].y - line.points[0].y);
  }
  EXPECT_NEAR(length, 50 * 50 / (5 / std::sqrt(2.0)), 50);  // lines so far apart over that area
  map.hatch = {};
  EXPECT_TRUE(hatch_lines(map, {0, 0, 200, 200}).empty());
  EXPECT_EQ(hatch_of(0xD0D0D000, Style::light()).period, 0);  // what shows through stays as it is
}

// The colours of a picture of w × h pixels: of the upper right quarter, and of the rest.
struct Colors {
  std::set<QRgb> hidden;
  std::set<QRgb> seen;
};
Colors colors_of(const QImage& image) {
  Colors colors;
  for (int y = 2; y + 2 < image.height(); ++y) {
    for (int x = 2; x + 2 < image.width(); ++x) {
      const bool hidden = x > image.width() / 2 + 2 && y < image.height() / 2 - 2;
      const bool beside = std::abs(x - image.width() / 2) <= 2 || std::abs(y - image.height() / 2) <= 2;
      if (!beside) {
        (hidden ? colors.hidden : colors.seen).insert(image.pixel(x, y));
      }
    }
  }
  return colors;
}

QImage on_gpu(const Figure& figure) {
  static const text::Typeface typeface;
  auto offscreen = vulkan::Offscreen::create({}, typeface);
  EXPECT_TRUE(offscreen) << offscreen.error().describe();
  const Style style = Style::light(12, 1);
  const Layout layout = lay_out(figure, 200, 200, style, typeface);
  const Scene scene = compose(figure, layout);
  const vulkan::PlacedScene placed{&scene, 0, 0, 1};
  const auto drawn = (*offscreen)->render({&placed, 1}, 200, 200);
  EXPECT_TRUE(drawn) << drawn.error().describe();
  const Rect& plot = layout.panels.front().plot;
  return QImage(drawn->rgba.data(), 200, 200, QImage::Format_RGBA8888)
      .copy(static_cast<int>(plot.x), static_cast<int>(plot.y), static_cast<int>(plot.width),
            static_cast<int>(plot.height));
}

TEST(Hatch, TheGpuDrawsItOnHiddenCellsAlone) {
  const Style style = Style::light(12, 1);
  const auto color = [](Color c) {
    return qRgb(static_cast<int>(c >> 24), static_cast<int>(c >> 16 & 0xFF), static_cast<int>(c >> 8 & 0xFF));
  };
  const Colors hatched = colors_of(on_gpu(figure_of_hidden()));
  const QRgb line = color(hatch_of(style.mask, style).color);
  EXPECT_EQ(hatched.hidden, (std::set<QRgb>{color(style.mask), line}));
  EXPECT_EQ(hatched.seen.size(), 3U);
  EXPECT_FALSE(hatched.seen.contains(line));
  EXPECT_EQ(colors_of(on_gpu(figure_of_hidden(false))).hidden, std::set<QRgb>{color(style.mask)});
}

TEST(Hatch, PaperDrawsItToo) {
  paper::PaperOptions options;
  options.width_mm = 40;
  for (const bool masked : {true, false}) {
    const auto png = paper::encode(figure_of_hidden(masked), paper::Format::kPng, options);
    ASSERT_TRUE(png);
    const QImage image = QImage::fromData(QByteArray::fromStdString(*png));
    std::set<QRgb> grays;
    for (int y = 0; y < image.height(); ++y) {
      for (int x = 0; x < image.width(); ++x) {
        const QRgb pixel = image.pixel(x, y);
        if (qRed(pixel) == qGreen(pixel) && qGreen(pixel) == qBlue(pixel) && qRed(pixel) > 120 && qRed(pixel) < 208) {
          grays.insert(pixel);
        }
      }
    }
    EXPECT_EQ(!grays.empty(), masked);
    const auto svg = paper::encode(figure_of_hidden(masked), paper::Format::kSvg, options);
    ASSERT_TRUE(svg);
    EXPECT_EQ(svg->find("<path fill=\"none\"") != std::string::npos, masked);
    const auto html = paper::encode(figure_of_hidden(masked), paper::Format::kHtml, options);
    ASSERT_TRUE(html);
    EXPECT_EQ(html->find("\"hatch\":\"#") != std::string::npos, masked);
  }
}

TEST(Hatch, TheLegendSaysWhatHides) {
  static const text::Typeface typeface;
  Figure figure = figure_of_hidden();
  EXPECT_TRUE(lay_out(figure, 200, 200, Style::light(), typeface).panels.front().legend.empty());
  std::get<HeatMap>(figure.panels.front().layers.front()).hidden = "not visible: window 5";
  const Layout layout = lay_out(figure, 200, 200, Style::light(), typeface);
  ASSERT_EQ(layout.panels.front().legend.size(), 1U);
  EXPECT_TRUE(std::ranges::any_of(layout.panels.front().texts,
                                  [](const PlacedText& text) { return text.text == "not visible: window 5"; }));
}

// A thin line of the theme's colour, in pieces.
TEST(Hatch, TheEdgeIsDrawnInPieces) {
  static const text::Typeface typeface;
  Figure figure = figure_of_hidden();
  auto& map = std::get<HeatMap>(figure.panels.front().layers.front());
  const double gap = std::nan("");
  map.edge_x = {0, 1, gap, 1, 2};
  map.edge_y = {1, 1, gap, 0, 0};
  const Style style = Style::light();
  const Scene scene = compose(figure, lay_out(figure, 200, 200, style, typeface));
  const auto edges = std::ranges::count_if(scene.marks, [&](const Mark& mark) {
    const auto* line = std::get_if<LineMark>(&mark.shape);
    return line != nullptr && line->color == style.foreground && line->points.size() == 2;
  });
  EXPECT_EQ(edges, 2);
}

}  // namespace
}  // namespace locus::figure

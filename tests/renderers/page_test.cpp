// Figures on the page of a paper: what a reader of a column or a page needs of the layout.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "renderers/figure/scene.h"
#include "renderers/figure/words.h"
#include "renderers/text/typeface.h"
#include "tests/support/sample_figures.h"

namespace locus::figure {
namespace {

constexpr double kColumn = 84 * 72 / 25.4;  // pt
constexpr double kPage = 180 * 72 / 25.4;
constexpr double kSmallest = 6;
const std::string kText = "The harbour slept. One boat left the harbour, and two boats stayed.\nNobody saw them go.";

Style paper_style() {
  Style style = Style::light(7);
  style.smallest = kSmallest;
  return style;
}

Layout on_page(const Figure& figure, double width) {
  static const text::Typeface typeface;
  return lay_out(figure, width, 0, paper_style(), typeface);
}

// A head over the single bytes of a text, shown as the tokenizers of bytes show them.
Figure bytes_of(const std::string& text) {
  Figure figure = samples::attention(static_cast<std::int64_t>(text.size()));
  auto names = std::make_shared<std::vector<std::string>>();
  for (const char byte : text) {
    names->push_back(byte == ' ' ? "·" : byte == '\n' ? "⏎" : std::string(1, byte));
  }
  figure.panels[0].x.cell_names = figure.panels[0].y.cell_names = names;
  return figure;
}

// A map with a colour bar above a table of rows × columns numbers.
Figure map_over_table(std::int64_t rows, std::int64_t columns) {
  Figure figure = samples::attention(20);
  HeatMap map;
  map.field = samples::waves(rows, columns);
  auto texts = std::make_shared<std::vector<std::string>>();
  for (std::int64_t n = 0; n < rows * columns; ++n) {
    texts->push_back(std::to_string(10 + n) + ".25");
  }
  map.texts = texts;
  Panel panel;
  panel.equal_aspect = true;
  panel.x.view = {0, static_cast<double>(columns)};
  panel.y.view = {static_cast<double>(rows), 0};
  panel.y.cell_names = std::make_shared<const std::vector<std::string>>(
      std::vector<std::string>{"distance", "gate", "position", "attention"});
  panel.layers.emplace_back(map);
  figure.panels.push_back(panel);
  return figure;
}

// Two panels of curves beside each other.
Figure two_curves() {
  Figure figure = samples::length_curve();
  figure.columns = 2;
  figure.panels.push_back(figure.panels[0]);
  figure.panels[1].y.label.clear();
  return figure;
}

std::vector<std::pair<std::string, Figure>> pages() {
  std::vector<std::pair<std::string, Figure>> list;
  for (const char* name : {"attention", "attention-long", "attention-pair", "histogram", "length-curve", "token-strip",
                           "image-overlay", "thumbnails", "points"}) {
    list.emplace_back(name, *samples::by_name(name));
  }
  list.emplace_back("bytes", bytes_of(kText));
  list.emplace_back("table", map_over_table(4, 9));
  list.emplace_back("curves", two_curves());
  return list;
}

std::vector<PlacedText> texts_of(const Figure& figure, double width) {
  std::vector<PlacedText> texts;
  for (const Mark& mark : compose(figure, on_page(figure, width)).marks) {
    if (const auto* text = std::get_if<TextMark>(&mark.shape); text != nullptr && !text->text.text.empty()) {
      texts.push_back(text->text);
    }
  }
  return texts;
}

// Of capitals and figures, from the baseline to their tops; what hangs below may touch the next line's room.
Rect ink_of(const PlacedText& text, const TextMetrics& metrics) {
  const double width = metrics.width(text.text, text.size);
  const double up = 0.73 * text.size;
  return text.vertical ? Rect{text.at.x - up, text.at.y - (1 - text.align) * width, up, width}
                       : Rect{text.at.x - text.align * width, text.at.y - up, width, up};
}

// Of the luminances of two colours, 1 to 21; 4.5 is what text needs (WCAG 2).
double contrast(std::array<double, 3> one, std::array<double, 3> other) {
  const auto luminance = [](const std::array<double, 3>& rgb) {
    const auto linear = [](double v) { return v <= 0.04045 ? v / 12.92 : std::pow((v + 0.055) / 1.055, 2.4); };
    return 0.2126 * linear(rgb[0]) + 0.7152 * linear(rgb[1]) + 0.0722 * linear(rgb[2]);
  };
  const double a = luminance(one);
  const double b = luminance(other);
  return (std::max(a, b) + 0.05) / (std::min(a, b) + 0.05);
}

std::array<double, 3> channels(std::uint32_t color) {
  return {(color >> 24) / 255.0, (color >> 16 & 0xFF) / 255.0, (color >> 8 & 0xFF) / 255.0};
}

// "trained length" in white on the yellow end of viridis, in black on its dark one.
TEST(Page, WordsOfAMarkerAreReadOnAnyColourOfAMap) {
  for (const std::uint32_t words : {0xFFFFFFFFU, 0x101010FFU}) {
    Figure figure = *samples::by_name("attention");
    Marker marker;
    marker.at = 8;
    marker.label = "trained length";
    marker.color = words;
    figure.panels.front().layers.emplace_back(marker);
    const auto marks = compose(figure, on_page(figure, kPage)).marks;
    const auto label = std::find_if(marks.begin(), marks.end(), [](const Mark& mark) {
      const auto* text = std::get_if<TextMark>(&mark.shape);
      return text != nullptr && text->text.text == "trained length";
    });
    ASSERT_NE(label, marks.end());
    ASSERT_NE(label, marks.begin());
    const auto* ground = std::get_if<FillMark>(&std::prev(label)->shape);
    ASSERT_NE(ground, nullptr) << "the words stand on the bare map";
    const double share = (ground->color & 0xFF) / 255.0;
    for (const std::uint32_t map : {0xFDE725FFU, 0x440154FFU, 0x21918CFFU, 0xFFFFFFFFU, 0x000000FFU}) {
      std::array<double, 3> seen = channels(map);
      for (std::size_t c = 0; c < 3; ++c) {
        seen[c] = share * channels(ground->color)[c] + (1 - share) * seen[c];
      }
      EXPECT_GE(contrast(channels(std::get<TextMark>(label->shape).text.color), seen), 4.5) << std::hex << map;
    }
  }
}

// Where neither side of the line has room for its words, they stand across it, on two lines, or not at all: never over
// what is beside the plot.
TEST(Page, WordsOfAMarkerStayWithinThePlot) {
  static const text::Typeface typeface;
  int whole = 0;
  int on_two_lines = 0;
  int left_out = 0;
  for (const double width : {kPage, kColumn, 0.6 * kColumn, 0.45 * kColumn, 0.3 * kColumn}) {
    for (const double at : {0.5, 4.0, 8.0, 12.0, 15.5}) {
      Figure figure = *samples::by_name("attention");
      figure.panels.front().layers.emplace_back(
          Marker{Marker::Direction::kVertical, at, "trained length", 0xFFFFFFFF, true});
      const Layout layout = on_page(figure, width);
      const Rect& plot = layout.panels.front().plot;
      int lines = 0;
      for (const Mark& mark : compose(figure, layout).marks) {
        const auto* text = std::get_if<TextMark>(&mark.shape);
        if (text == nullptr ||
            (text->text.text != "trained length" && text->text.text != "trained" && text->text.text != "length")) {
          continue;
        }
        const Rect ink = ink_of(text->text, typeface);
        EXPECT_GE(ink.x, plot.x - 0.01) << width << " at " << at;
        EXPECT_LE(ink.right(), plot.right() + 0.01) << width << " at " << at;
        EXPECT_LE(ink.bottom(), plot.bottom()) << width << " at " << at;
        ++lines;
      }
      whole += lines == 1 ? 1 : 0;
      on_two_lines += lines == 2 ? 1 : 0;
      left_out += lines == 0 ? 1 : 0;
    }
  }
  EXPECT_GE(whole, 5);
  EXPECT_GE(on_two_lines, 5);
  EXPECT_GE(left_out, 5);
}

TEST(Page, NoTypeIsSmallerThanSixPoints) {
  for (const auto& [name, figure] : pages()) {
    for (const double width : {kColumn, kPage}) {
      for (const PlacedText& text : texts_of(figure, width)) {
        EXPECT_GE(text.size, kSmallest - 1e-9) << name << " at " << width << ": " << text.text;
      }
    }
  }
}

TEST(Page, EveryTextIsOnThePageAndCoversNoOther) {
  const text::Typeface typeface;
  for (const auto& [name, figure] : pages()) {
    for (const double width : {kColumn, kPage}) {
      const double height = on_page(figure, width).height;
      const std::vector<PlacedText> texts = texts_of(figure, width);
      ASSERT_FALSE(texts.empty());
      for (std::size_t a = 0; a < texts.size(); ++a) {
        const Rect ink = ink_of(texts[a], typeface);
        const std::string what = name + " at " + std::to_string(width) + ": " + texts[a].text;
        EXPECT_TRUE(ink.x >= -0.5 && ink.y >= -0.5 && ink.right() <= width + 0.5 && ink.bottom() <= height + 0.5)
            << what;
        for (std::size_t b = 0; b < a; ++b) {
          const Rect common = ink.intersected(ink_of(texts[b], typeface));
          EXPECT_TRUE(common.width < 0.5 || common.height < 0.5) << what << " | " << texts[b].text;
        }
      }
    }
  }
}

// Each word stands between the lines where it begins and where the next one does.
TEST(Page, BytesTooSmallForTheirNamesAreNamedByWords) {
  const PanelLayout place = on_page(bytes_of(kText), kColumn).panels[0];
  for (const std::vector<Tick>& ticks : {place.x_ticks, place.y_ticks}) {
    std::string said;
    for (std::size_t n = 0; n < ticks.size(); ++n) {
      if (ticks[n].label.empty()) {
        EXPECT_TRUE(ticks[n].mark);
        continue;
      }
      ASSERT_TRUE(n > 0 && n + 1 < ticks.size());
      EXPECT_FALSE(ticks[n].mark);
      const double begin = ticks[n - 1].at;
      const double end = n + 2 < ticks.size() ? ticks[n + 1].at : static_cast<double>(kText.size());
      EXPECT_EQ(ticks[n].at, (begin + end) / 2) << ticks[n].label;
      // The cells between the lines are those letters.
      std::string cells = kText.substr(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
      cells.erase(cells.find_last_not_of(" \n") + 1);
      EXPECT_EQ(ticks[n].label, cells);
      said += (said.empty() ? "" : " ") + ticks[n].label;
    }
    std::string text = kText;
    std::replace(text.begin(), text.end(), '\n', ' ');
    EXPECT_EQ(said, text);
  }
}

TEST(Page, LongTextsAreCounted) {
  std::string text;
  for (int n = 0; n < 12; ++n) {
    text += kText + " ";
  }
  const PanelLayout place = on_page(bytes_of(text), kColumn).panels[0];
  ASSERT_GE(place.x_ticks.size(), 3U);
  for (const Tick& tick : place.x_ticks) {
    EXPECT_EQ(tick.label, tick_label(tick.value, 1));
  }
}

TEST(Page, WordsOfBytesAndOfTokens) {
  const auto words = [](const std::vector<std::string>& tokens) {
    std::vector<std::string> list;
    for (const Range& word : words_of(tokens, {0, static_cast<std::int64_t>(tokens.size())})) {
      list.push_back(text_of(tokens, word));
    }
    return list;
  };
  using List = std::vector<std::string>;
  EXPECT_EQ(words({"a", "t", "·", "n", "o", "o", "n", "⏎", "x"}), (List{"at", "noon", "x"}));
  EXPECT_EQ(words({"The", "·har", "bour", "▁sle", "pt", "."}), (List{"The", "harbour", "slept."}));
  EXPECT_EQ(words({"in", "out"}), (List{"inout"}));  // no word begins: one
  EXPECT_EQ(words({"\n", "\n"}), (List{"⏎"}));
  EXPECT_EQ(words({"a", "<0x09>", "b", "b", "<0x0D>", "⏎", "c"}), (List{"a", "bb", "c"}));
  EXPECT_EQ(words({}), List{});
}

TEST(Page, ARowOfNarrowPlotsIsStacked) {
  const Figure figure = two_curves();
  const Layout page = on_page(figure, kPage);
  EXPECT_GT(page.panels[1].plot.x, page.panels[0].plot.right());
  const Layout column = on_page(figure, kColumn);
  EXPECT_GT(column.panels[1].plot.y, column.panels[0].plot.bottom());
  EXPECT_EQ(column.panels[1].plot.x, column.panels[0].plot.x);
  EXPECT_GT(column.panels[0].plot.width, 0.6 * kColumn);
  const auto& texts = column.panels[1].texts;  // where a row begins, the axis is named
  EXPECT_TRUE(std::any_of(texts.begin(), texts.end(),
                          [&](const PlacedText& text) { return text.text == figure.panels[0].y.label; }));
  // A canvas of a given height keeps what the view asked for.
  const text::Typeface typeface;
  const Layout screen = lay_out(figure, kColumn, 100, paper_style(), typeface);
  EXPECT_EQ(screen.panels[1].plot.y, screen.panels[0].plot.y);
}

TEST(Page, ATableBelowAMapHasRoomForItsNumbers) {
  const Figure figure = map_over_table(4, 9);
  const Layout layout = on_page(figure, kColumn);
  EXPECT_GT(layout.panels[1].plot.right(), layout.panels[0].color_bar.x);  // the bar is not beside it
  EXPECT_EQ(layout.panels[1].plot.x, layout.panels[0].plot.x);
  const auto texts = texts_of(figure, kColumn);
  EXPECT_EQ(
      std::count_if(texts.begin(), texts.end(), [](const PlacedText& text) { return text.text.ends_with(".25"); }), 36);
}

}  // namespace
}  // namespace locus::figure

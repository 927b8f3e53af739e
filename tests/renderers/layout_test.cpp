#include "renderers/figure/layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "renderers/figure/axis_blocks.h"
#include "renderers/figure/panel_decor.h"
#include "renderers/figure/scene.h"
#include "renderers/figure/words.h"
#include "renderers/text/typeface.h"
#include "tests/support/sample_figures.h"

namespace locus::figure {
namespace {

const std::vector<const char*> kSamples = {"attention",          "attention-long", "attention-pair", "thumbnails",
                                           "histogram",          "length-curve",   "token-strip",    "image-overlay",
                                           "attention-pictures", "points"};

Rect bounds(const PlacedText& text, const TextMetrics& metrics) {
  const double width = metrics.width(text.text, text.size);
  const double up = 0.76 * text.size;  // of capitals and ascenders; what is above is empty
  const double down = TextMetrics::descent(text.size);
  if (text.vertical) {
    return {text.at.x - up, text.at.y - (1 - text.align) * width, up + down, width};
  }
  return {text.at.x - text.align * width, text.at.y - up, width, up + down};
}

void expect_inside(const Layout& layout, const TextMetrics& metrics, const std::string& where) {
  const double slack = 1;
  std::vector<PlacedText> texts = layout.texts;
  for (const PanelLayout& panel : layout.panels) {
    texts.insert(texts.end(), panel.texts.begin(), panel.texts.end());
    EXPECT_GE(panel.plot.width, 1) << where;
    EXPECT_GE(panel.plot.height, 1) << where;
  }
  for (const PlacedText& text : texts) {
    const Rect box = bounds(text, metrics);
    EXPECT_GE(box.x, -slack) << where << ": " << text.text;
    EXPECT_GE(box.y, -slack) << where << ": " << text.text;
    EXPECT_LE(box.right(), layout.width + slack) << where << ": " << text.text;
    EXPECT_LE(box.bottom(), layout.height + slack) << where << ": " << text.text;
  }
}

TEST(Layout, NoLabelIsCut) {
  const text::Typeface typeface;
  for (const char* name : kSamples) {
    const Figure figure = *samples::by_name(name);
    for (const auto& [width, height] : std::vector<std::pair<double, double>>{{1280, 800}, {640, 480}, {2560, 1400}}) {
      expect_inside(lay_out(figure, width, height, Style::light(12, 1), typeface), typeface,
                    std::string(name) + " at " + std::to_string(width));
    }
    for (const double width : {238.0, 493.0}) {
      expect_inside(lay_out(figure, width, 0, Style::light(7), typeface), typeface, std::string(name) + " on paper");
    }
  }
}

TEST(Layout, LongTextsAreWrappedOrElided) {
  Figure figure = samples::attention(20);
  const std::string sentence = "a rather long sentence that does not fit on one line of a column of a paper at all ";
  figure.title = sentence + sentence;
  figure.panels[0].title = sentence + sentence;
  figure.panels[0].note = sentence + sentence;
  figure.panels[0].x.label = sentence;
  figure.panels[0].y.label = sentence;
  figure.panels[0].color_bar_label = sentence;
  const text::Typeface typeface;
  expect_inside(lay_out(figure, 238, 0, Style::light(7), typeface), typeface, "long texts");
}

// A note has three lines, below a high plot up to six.
TEST(Layout, NotesBelowHighPlotsAreLonger) {
  const text::Typeface typeface;
  Figure figure = samples::attention(20);
  figure.panels[0].equal_aspect = false;
  for (int n = 0; n < 60; ++n) {
    figure.panels[0].note += "word" + std::to_string(100 + n) + " ";
  }
  const auto lines = [&](double height) {
    const Layout layout = lay_out(figure, 300, height, Style::light(10, 1), typeface);
    expect_inside(layout, typeface, "a note at " + std::to_string(height));
    return std::ranges::count_if(layout.panels[0].texts,
                                 [](const PlacedText& text) { return text.text.starts_with("word"); });
  };
  EXPECT_EQ(lines(250), 3);
  EXPECT_EQ(lines(900), 6);
  EXPECT_GT(lines(420), 3);
  EXPECT_LT(lines(420), 6);
}

TEST(Layout, LabelsOfAnAxisDoNotOverlap) {
  const text::Typeface typeface;
  for (const char* name : kSamples) {
    const Layout layout = lay_out(*samples::by_name(name), 700, 500, Style::light(12, 1), typeface);
    for (const PanelLayout& panel : layout.panels) {
      for (std::size_t a = 0; a < panel.texts.size(); ++a) {
        for (std::size_t b = 0; b < a; ++b) {
          const Rect common = bounds(panel.texts[a], typeface).intersected(bounds(panel.texts[b], typeface));
          EXPECT_TRUE(common.width < 2 || common.height < 2)
              << name << ": " << panel.texts[a].text << " | " << panel.texts[b].text;
        }
      }
    }
  }
}

// Strips beside the labels show where a picture's cells are, and the picture as it is, not stretched.
TEST(Layout, PicturesStandBesideTheirCells) {
  const text::Typeface typeface;
  const Figure figure = samples::attention_pictures(4);
  const Panel& panel = figure.panels[0];
  const Layout layout = lay_out(figure, 700, 600, Style::light(12), typeface);
  const PanelLayout& place = layout.panels[0];
  ASSERT_EQ(place.x_blocks.size(), 2U);
  ASSERT_EQ(place.y_blocks.size(), 2U);
  for (std::size_t n = 0; n < 2; ++n) {
    const Interval cells = (*panel.x.blocks)[n].cells;
    const PlacedBlock& below = place.x_blocks[n];
    EXPECT_NEAR(below.line.x, place.x.place(cells.low), 1e-9);
    EXPECT_NEAR(below.line.right(), place.x.place(cells.high), 1e-9);
    EXPECT_GT(below.line.y, place.plot.bottom());
    EXPECT_NEAR(below.picture.center_y(), below.line.bottom() + 0.2 * 12 + below.picture.height / 2, 1e-9);
    EXPECT_NEAR(below.picture.width / below.picture.height, 120.0 / 80, 1e-9);
    EXPECT_GE(below.picture.x, below.line.x);
    EXPECT_LE(below.picture.right(), below.line.right());
    const PlacedBlock& beside = place.y_blocks[n];
    EXPECT_NEAR(beside.line.y, place.y.place(cells.low), 1e-9);
    EXPECT_NEAR(beside.line.bottom(), place.y.place(cells.high), 1e-9);
    EXPECT_LT(beside.line.right(), place.plot.x);
    EXPECT_LT(beside.picture.right(), beside.line.x);
    EXPECT_NEAR(beside.picture.width / beside.picture.height, 120.0 / 80, 1e-9);
  }
  const auto shows = [&](const std::string& text) {
    return std::ranges::count_if(place.texts, [&](const PlacedText& each) { return each.text == text; });
  };
  EXPECT_EQ(shows("image 1"), 2);  // below and beside; its cells are named without it
  EXPECT_EQ(shows("1,3"), 4);
  EXPECT_EQ(shows("image 1 1,3"), 0);
  // Half of it out of view: the strip ends where the plot does.
  Figure zoomed = figure;
  zoomed.panels[0].x.view = {7, 16};
  const Layout near = lay_out(zoomed, 700, 600, Style::light(12), typeface);
  EXPECT_NEAR(near.panels[0].x_blocks[0].line.x, near.panels[0].plot.x, 1e-9);
  zoomed.panels[0].x.view = {13, 17};
  EXPECT_EQ(lay_out(zoomed, 700, 600, Style::light(12), typeface).panels[0].x_blocks.size(), 0U);
}

// Where cells have no room for names, words of the text beside the pictures do, and no word is made of cells.
TEST(Layout, WordsBesidePicturesAreThoseOfTheText) {
  const text::Typeface typeface;
  Figure figure = samples::attention_pictures(30);
  figure.panels[0].x.label.clear();
  const Axis& axis = figure.panels[0].x;
  EXPECT_EQ(runs_beside_blocks(axis, {1, 75}).size(), 4U);
  EXPECT_EQ(runs_beside_blocks(axis, {1, 75})[1].cells, (Range{4, 64}));
  EXPECT_TRUE(runs_beside_blocks(axis, {1, 75})[1].block);
  EXPECT_EQ(between_blocks(axis, {65, 66}), (Range{64, 72}));
  EXPECT_EQ(name_beside_block(axis, 5, "image 1 0,2"), "0,2");
  EXPECT_EQ(name_beside_block(axis, 3, "image 1 0,2"), "image 1 0,2");
  const Layout layout = lay_out(figure, 1400, 1150, Style::light(12), typeface);
  std::string words;
  for (const PlacedText& text : layout.panels[0].texts) {
    words += text.text + "|";
  }
  EXPECT_NE(words.find("old cabinet|cabinet are"), std::string::npos) << words;
  EXPECT_EQ(words.find("0,"), std::string::npos) << words;
}

TEST(Layout, EqualAspectMakesCellsSquare) {
  const text::Typeface typeface;
  Figure figure = samples::attention(20);
  figure.panels[0].x.view = {0, 20};
  figure.panels[0].y.view = {10, 0};
  for (const double height : {200.0, 900.0}) {
    const Layout layout = lay_out(figure, 800, height, Style::light(12), typeface);
    const Rect& plot = layout.panels[0].plot;
    EXPECT_NEAR(plot.width / 20, plot.height / 10, 1e-6);
  }
}

TEST(Layout, TheNaturalHeightFitsAPaperColumn) {
  const text::Typeface typeface;
  const Layout layout = lay_out(samples::attention(20), 238, 0, Style::light(7), typeface);
  EXPECT_GT(layout.height, 150);
  EXPECT_LT(layout.height, 260);
  EXPECT_GT(layout.panels[0].plot.width, 140);  // the map, not its margins, has the column
}

TEST(Layout, ThePixelUnderThePointerIsItsCell) {
  const text::Typeface typeface;
  const Figure figure = samples::attention(20);
  const Layout layout = lay_out(figure, 800, 600, Style::light(12, 1), typeface);
  const PanelLayout& panel = layout.panels[0];
  const auto hit = hit_test(layout, panel.x.place(7.5), panel.y.place(3.25));
  ASSERT_TRUE(hit);
  EXPECT_EQ(hit->panel, 0U);
  EXPECT_NEAR(hit->x, 7.5, 1e-9);
  EXPECT_NEAR(hit->y, 3.25, 1e-9);
  EXPECT_LT(panel.y.place(0.5), panel.y.place(19.5));  // query 0 is on top
  EXPECT_FALSE(hit_test(layout, panel.plot.x - 2, panel.plot.y + 5));
}

TEST(Layout, LogarithmicAxesInvert) {
  AxisMap axis{512, 8192, 100, 500, true};
  EXPECT_NEAR(axis.place(2048), 300, 1e-9);
  EXPECT_NEAR(axis.value(axis.place(777)), 777, 1e-9);
}

TEST(Layout, TokensOfAStripAreHit) {
  const text::Typeface typeface;
  const Figure figure = samples::token_strip();
  const Layout layout = lay_out(figure, 400, 0, Style::light(12, 1), typeface);
  const PanelLayout& panel = layout.panels[0];
  ASSERT_EQ(panel.tokens.size(), 57U);
  for (const TokenBox& token : panel.tokens) {
    EXPECT_LE(token.box.right(), panel.plot.right() + 1e-9);
    EXPECT_LE(token.box.bottom(), panel.plot.bottom() + 1e-9);
    const auto hit = hit_test(layout, token.box.center_x(), token.box.center_y());
    ASSERT_TRUE(hit);
    EXPECT_EQ(hit->token, token.token);
  }
  EXPECT_GT(panel.tokens[26].box.y, panel.tokens[25].box.y);  // a line feed ends its line
}

TEST(Layout, WordsStayOnALine) {
  const text::Typeface typeface;
  Figure figure;
  Panel panel;
  TokenStrip strip;
  const std::string text = "The harbour slept. One boat left";
  for (const char letter : text) {
    strip.tokens.push_back(letter == ' ' ? "·" : std::string(1, letter));
  }
  strip.values.assign(strip.tokens.size(), 0.5F);
  panel.layers.emplace_back(strip);
  figure.panels.push_back(panel);
  for (const double width : {120.0, 150.0, 200.0, 300.0}) {
    const Layout layout = lay_out(figure, width, 0, Style::light(12, 1), typeface);
    const std::vector<TokenBox>& tokens = layout.panels[0].tokens;
    ASSERT_EQ(tokens.size(), text.size());
    int lines = 1;
    for (std::size_t n = 1; n < tokens.size(); ++n) {
      EXPECT_LE(tokens[n].box.right(), layout.panels[0].plot.right() + 1e-6);
      if (tokens[n].box.y > tokens[n - 1].box.y) {
        EXPECT_EQ(text[n - 1], ' ') << "broken before " << n << " at " << width;
        ++lines;
      }
    }
    EXPECT_GT(lines, 1) << width;
  }
}

TEST(Layout, LineFeedsEndLinesWhicheverWayTheyAreWritten) {
  const text::Typeface typeface;
  for (const char* const feed : {"\n", "⏎"}) {
    Figure figure;
    TokenStrip strip;
    strip.tokens = {"a", feed, feed, "b", std::string("c") + feed, "d"};
    strip.values.assign(strip.tokens.size(), 0.5F);
    figure.panels.emplace_back().layers.emplace_back(strip);
    const Layout layout = lay_out(figure, 400, 0, Style::light(12, 1), typeface);
    const std::vector<TokenBox>& tokens = layout.panels[0].tokens;
    ASSERT_EQ(tokens.size(), 6U);
    EXPECT_EQ(tokens[2].box.y, tokens[0].box.y);  // empty lines take no room
    EXPECT_GT(tokens[3].box.y, tokens[2].box.y);
    EXPECT_EQ(tokens[4].box.y, tokens[3].box.y);
    EXPECT_GT(tokens[5].box.y, tokens[4].box.y);
  }
}

// Rows of small maps are named after checkpoints.
// A text that does not fit begins where its selected token is seen, and can be scrolled and zoomed.
TEST(Layout, ALongTextShowsItsSelectedTokenOrTheLineThatIsAskedFor) {
  const text::Typeface typeface;
  Figure figure;
  Panel& panel = figure.panels.emplace_back();
  panel.show_axes = false;
  panel.y.view = {-1, 0};
  TokenStrip strip;
  for (int n = 0; n < 4000; ++n) {
    strip.tokens.push_back(n % 6 == 5 ? "·" : "m");
  }
  strip.values.assign(strip.tokens.size(), 0.5F);
  strip.selected = 3000;
  panel.layers.emplace_back(strip);
  const auto laid_out = [&] { return lay_out(figure, 400, 300, Style::light(12, 1), typeface).panels[0]; };
  const auto seen = [](const PanelLayout& place, std::size_t token) {
    const Rect& box = place.tokens[token].box;
    return box.y >= place.plot.y - 0.01 && box.bottom() <= place.plot.bottom() + 0.01;
  };
  const PanelLayout chosen = laid_out();
  EXPECT_TRUE(seen(chosen, 3000));
  EXPECT_FALSE(seen(chosen, 0));
  EXPECT_GT(chosen.first_line, 1);
  EXPECT_GT(chosen.lines, chosen.first_line + chosen.lines_seen);
  figure.panels[0].y.view = {0, 1};
  EXPECT_TRUE(seen(laid_out(), 0));
  figure.panels[0].y.view = {1e6, 1e6 + 1};
  EXPECT_TRUE(seen(laid_out(), 3999));
  figure.panels[0].x.view = {0, 0.5};
  EXPECT_NEAR(laid_out().token_size, 2 * chosen.token_size, 1e-9);
}

TEST(Layout, NamesBesideSmallPlotsAreWhole) {
  const text::Typeface typeface;
  Figure figure = samples::attention(6);
  Panel panel = figure.panels[0];
  panel.title = "(1, 1)";
  panel.x.label.clear();
  const auto beside = [&](const std::string& name, double side) {
    panel.y.label = name;
    figure.panels.assign(1, panel);
    std::string seen;
    const Layout layout = lay_out(figure, 3 * side, side, Style::light(13, 1), typeface);
    for (const PlacedText& text : layout.panels[0].texts) {
      seen += text.vertical ? text.text : "";
    }
    return seen;
  };
  EXPECT_NE(beside("shapes-learned", 130).find("shapes-learned"), std::string::npos);
  EXPECT_NE(beside("text-tape-no-equivariance", 130).find("text-tape-no-equivariance"), std::string::npos);
}

TEST(Layout, TitlesOfARowStandOnOneLine) {
  const text::Typeface typeface;
  Figure figure = samples::histogram();
  figure.panels.push_back(figure.panels[0]);
  figure.panels[0].title = "With a legend";
  figure.panels[1].title = "Without";
  for (Layer& layer : figure.panels[1].layers) {
    if (auto* bars = std::get_if<Bars>(&layer)) {
      bars->name.clear();
    }
  }
  figure.columns = 2;
  const Layout layout = lay_out(figure, 900, 320, Style::light(12, 1), typeface);
  const auto baseline = [&](std::size_t panel) {
    for (const PlacedText& text : layout.panels[panel].texts) {
      if (text.text == figure.panels[panel].title) {
        return text.at.y;
      }
    }
    return -1.0;
  };
  EXPECT_GT(baseline(0), 0);
  EXPECT_EQ(baseline(0), baseline(1));
}

TEST(Layout, NamesGiveWayToNumbersWhenCellsAreSmall) {
  const text::Typeface typeface;
  const auto label = [&](std::int64_t tokens) {
    return lay_out(samples::attention(tokens), 500, 500, Style::light(12, 1), typeface).panels[0].x_ticks.at(0).label;
  };
  EXPECT_EQ(label(20), "<s>");
  EXPECT_EQ(label(400), "0");
}

// Of pairs that are too many for a name each, every fourth or so has its own, with its wavelength.
TEST(Layout, NumberedNamesAreThinnedOut) {
  const text::Typeface typeface;
  const auto labels = [&](std::size_t cells, bool numbered) {
    std::vector<std::string> names;
    for (std::size_t n = 0; n < cells; ++n) {
      names.push_back((numbered ? std::to_string(n) : std::string("pair")) + " · " + std::to_string(10 * n));
    }
    Figure figure;
    Panel panel;
    panel.x.view = {0, static_cast<double>(cells)};
    panel.x.cell_names = std::make_shared<const std::vector<std::string>>(std::move(names));
    panel.y.view = {0, 1};
    figure.panels.push_back(panel);
    std::vector<std::string> texts;
    const Layout layout = lay_out(figure, 640, 480, Style::light(12, 1), typeface);
    for (const Tick& tick : layout.panels[0].x_ticks) {
      texts.push_back(tick.label);
    }
    return texts;
  };
  EXPECT_EQ(labels(16, true).size(), 16U);
  const std::vector<std::string> thin = labels(128, true);
  ASSERT_GE(thin.size(), 16U);
  const std::size_t step = 128 / thin.size();
  EXPECT_EQ(thin[1], std::to_string(step) + " · " + std::to_string(10 * step));
  EXPECT_EQ(thin.back(), std::to_string(128 - step) + " · " + std::to_string(10 * (128 - step)));
  EXPECT_EQ(labels(128, false)[0], "0");
}

// A cell's detail is written beside its text in wide cells, below it in high ones, and left out in small ones.
TEST(Layout, DetailsOfCellsAreWrittenWhereThereIsRoom) {
  const text::Typeface typeface;
  const auto written = [&](std::int64_t rows, std::int64_t columns) {
    auto field = std::make_shared<Field>();
    field->rows = rows;
    field->columns = columns;
    field->values.assign(static_cast<std::size_t>(rows * columns), 0.5F);
    const auto cells = static_cast<std::size_t>(rows * columns);
    Figure figure;
    Panel panel;
    panel.x.view = {0, static_cast<double>(columns)};
    panel.y.view = {0, static_cast<double>(rows)};
    HeatMap map;
    map.field = field;
    map.texts = std::make_shared<const std::vector<std::string>>(cells, "a");
    map.details = std::make_shared<const std::vector<std::string>>(cells, "0.25");
    panel.layers.emplace_back(std::move(map));
    figure.panels.push_back(panel);
    const Style style = Style::light(12, 1);
    const Layout layout = lay_out(figure, 640, 480, style, typeface);
    std::set<std::string> texts;
    for (const Mark& mark : compose(figure, layout).marks) {
      if (const auto* text = std::get_if<TextMark>(&mark.shape)) {
        texts.insert(text->text.text);
      }
    }
    const auto has = [&](const char* text) { return texts.count(text) > 0; };
    return std::vector<bool>{has("a  0.25"), has("a") && has("0.25"), has("a")};
  };
  EXPECT_EQ(written(16, 4), (std::vector<bool>{true, false, false}));
  EXPECT_EQ(written(4, 16), (std::vector<bool>{false, true, true}));
  EXPECT_EQ(written(16, 64), (std::vector<bool>{false, false, true}));
}

// Of numbers with intervals, in cells that have no room for the longest, those that fit are written; without intervals
// none, so that every cell has its own or none has.
TEST(Layout, NumbersOfATableThatFitAreWritten) {
  const text::Typeface typeface;
  for (const bool details : {true, false}) {
    auto field = std::make_shared<Field>(Field::zeros(4, 16));
    Figure figure;
    Panel panel;
    panel.x.view = {0, 16};
    panel.y.view = {0, 4};
    HeatMap map;
    map.field = field;
    std::vector<std::string> texts(64, "0.25");
    texts[7] = "(0.000025)";
    map.texts = std::make_shared<const std::vector<std::string>>(texts);
    if (details) {
      map.details = std::make_shared<const std::vector<std::string>>(64, "± 0.01");
    }
    panel.layers.emplace_back(std::move(map));
    figure.panels.push_back(panel);
    std::multiset<std::string> written;
    for (const Mark& mark : compose(figure, lay_out(figure, 380, 300, Style::light(12, 1), typeface)).marks) {
      if (const auto* text = std::get_if<TextMark>(&mark.shape)) {
        written.insert(text->text.text);
      }
    }
    EXPECT_EQ(written.count("0.25"), details ? 63U : 0U);
    EXPECT_EQ(written.count("(0.000025)"), 0U);
    EXPECT_EQ(written.count("± 0.01"), 0U);
  }
}

// All labels of an axis stand in one direction: upright where few are too long for it, which are shortened.
TEST(Layout, LabelsOfAnAxisHaveOneDirection) {
  const text::Typeface typeface;
  const std::vector<std::string> words{"the", "harbour", "a", "slept", "of", "boats", "I", "letters"};
  for (std::size_t letters = 0; letters <= 16; ++letters) {
    auto names = std::make_shared<std::vector<std::string>>();
    for (std::size_t n = 0; n < 16; ++n) {
      names->push_back(n < letters ? std::string(1, static_cast<char>('a' + n)) : words[n % words.size()] + "ing");
    }
    Figure figure = samples::attention(16);
    figure.panels[0].x.cell_names = names;
    const Layout layout = lay_out(figure, 360, 360, Style::light(12, 1), typeface);
    const PanelLayout& place = layout.panels[0];
    int vertical = 0;
    int upright = 0;
    double right = 0;
    for (const PlacedText& text : place.texts) {
      const bool below = text.at.y > place.plot.bottom() && text.size < layout.style.text_size;
      vertical += below && text.vertical ? 1 : 0;
      if (below && !text.vertical && text.align == 0.5) {
        ++upright;
        const double half = typeface.width(text.text, text.size) / 2;
        EXPECT_GE(text.at.x - half, right - 0.5) << letters << ": " << text.text << " is over the one before";
        right = text.at.x + half;
      }
    }
    EXPECT_EQ(std::min(vertical, upright), 0) << letters;
    EXPECT_EQ(std::max(vertical, upright), 16) << letters;
    EXPECT_EQ(upright > 0, letters >= 12) << letters;
  }
}

TEST(Layout, LettersStandUprightAmongWords) {
  const text::Typeface typeface;
  const auto names = std::make_shared<const std::vector<std::string>>(
      std::vector<std::string>{"m", "i", "W", "a", "word", "m", "·", "t", "h", "e", "m", "a", "t", ".", "x", "y"});
  Figure figure = samples::attention(16);
  figure.panels[0].x.cell_names = names;
  for (const double width : {300.0, 400.0, 500.0}) {
    int letters = 0;
    const Layout layout = lay_out(figure, width, width, Style::light(12, 1), typeface);
    for (const PlacedText& text : layout.panels[0].texts) {
      letters += text.text == "m" || text.text == "W" ? 1 : 0;
      EXPECT_FALSE(text.vertical && (text.text == "m" || text.text == "W")) << width;
    }
    EXPECT_GT(letters, 0) << width;
  }
}

// A line goes through the part of the title that is struck, and through nothing else.
TEST(Layout, APartOfATitleIsStruckThrough) {
  const text::Typeface typeface;
  Figure figure = *samples::by_name("attention");
  Panel& panel = figure.panels.front();
  panel.title = "text-rope · layer 3, head 1 (rope)";
  const auto strikes = [&](double width) {
    return lay_out(figure, width, 0.8 * width, Style::light(12, 1), typeface).panels.front();
  };
  EXPECT_TRUE(strikes(800).strikes.empty());
  panel.struck = "layer 9, head 1";  // not of this title
  EXPECT_TRUE(strikes(800).strikes.empty());
  panel.struck = "layer 3, head 1";
  for (const double width : {800.0, 260.0}) {
    const PanelLayout place = strikes(width);
    ASSERT_EQ(place.strikes.size(), 1U) << width;
    const Rect& line = place.strikes.front();
    const auto text = std::ranges::find_if(
        place.texts, [&](const PlacedText& each) { return each.text.find(panel.struck) != std::string::npos; });
    ASSERT_NE(text, place.texts.end());
    const Rect box = bounds(*text, typeface);
    EXPECT_NEAR(line.width, typeface.width(panel.struck, text->size), 0.01);
    EXPECT_GE(line.x, box.x - 0.5);
    EXPECT_LE(line.right(), box.right() + 0.5);
    EXPECT_GT(line.y, box.y);
    EXPECT_LT(line.y, text->at.y);
  }
  panel.struck = "rope · layer";  // where lines of a narrow title break
  EXPECT_EQ(strikes(800).strikes.size(), 1U);
}

TEST(Layout, LinesOfATitleAreBalanced) {
  const text::Typeface typeface;
  const std::string title = "text-tape · layer 1, head 1";
  const auto lines = balanced(typeface, title, 15, typeface.width("text-tape · layer 1, head", 15) + 1, 2);
  EXPECT_EQ(lines, (std::vector<std::string>{"text-tape ·", "layer 1, head 1"}));
  EXPECT_EQ(balanced(typeface, title, 15, 1000, 2), std::vector<std::string>{title});
  const auto cut = balanced(typeface, title + " and more and more", 15, typeface.width("text-tape · layer", 15), 2);
  EXPECT_EQ(cut, wrapped(typeface, title + " and more and more", 15, typeface.width("text-tape · layer", 15), 2));
}

// Maps of several checkpoints side by side, as the views make them: titles, one label, one colour bar.
Figure maps_of(std::size_t count) {
  const Figure one = samples::attention(60);
  Figure figure;
  figure.columns = static_cast<int>(count);
  for (std::size_t n = 0; n < count; ++n) {
    Panel panel = one.panels.front();
    panel.title = "text-alibi-trained-long-" + std::to_string(n) + " · layer 1, mean of 4 heads";
    panel.y.label = n == 0 ? "query" : "";
    panel.color_bar_label = n + 1 == count ? "attention weight" : "";
    figure.panels.push_back(panel);
  }
  return figure;
}

double least_side(const Layout& layout) {
  double least = 1e9;
  for (const PanelLayout& panel : layout.panels) {
    least = std::min({least, panel.plot.width, panel.plot.height});
  }
  return least;
}

TEST(Layout, ARowOfMapsWrapsIntoTheGridThatMakesThemLargest) {
  const text::Typeface typeface;
  // What the docks leave of a window of 1280 × 800, and of larger ones.
  const Style style = Style::light(13, 1);
  const Layout small = lay_out(maps_of(4), 730, 520, style, typeface);
  EXPECT_EQ(small.panels[0].slot.y, small.panels[1].slot.y);
  EXPECT_GT(small.panels[2].slot.y, small.panels[0].slot.y);
  EXPECT_EQ(small.panels[2].slot.x, small.panels[0].slot.x);
  const Layout wide = lay_out(maps_of(4), 2000, 420, style, typeface);
  EXPECT_EQ(wide.panels[3].slot.y, wide.panels[0].slot.y);
  const Layout high = lay_out(maps_of(2), 400, 900, style, typeface);
  EXPECT_GT(high.panels[1].slot.y, high.panels[0].slot.y);
  EXPECT_FALSE(high.panels[1].texts.empty());
  // No grid of the same panels has larger maps.
  for (const auto& [width, height] : std::vector<std::pair<double, double>>{{730, 520}, {2000, 420}, {900, 900}}) {
    for (std::size_t count = 1; count <= 6; ++count) {
      const Figure figure = maps_of(count);
      const double best = least_side(lay_out(figure, width, height, style, typeface));
      for (int columns = 1; columns < figure.columns; ++columns) {
        Figure grid = figure;
        grid.columns = columns;
        EXPECT_GE(1.09 * best, least_side(lay_out(grid, width, height, style, typeface)))
            << count << " in " << columns << " columns of " << width << " x " << height;
      }
    }
  }
}

// Four maps of the same tokens: the lower row and the left column name them; one map of other tokens has its own, and
// so has the map above it.
TEST(Layout, MapsInLineNameTheirTokensOnce) {
  const text::Typeface typeface;
  Figure figure;
  figure.columns = 2;
  for (int n = 0; n < 4; ++n) {
    Panel panel = samples::by_name("attention")->panels.front();
    panel.y.label = n % 2 == 0 ? "query" : "";
    panel.x.label = n == 0 ? "" : "key";
    figure.panels.push_back(std::move(panel));
  }
  const auto labels = [&](std::size_t n, bool along_x) {
    const Layout layout = lay_out(figure, 900, 800, Style::light(11, 1), typeface);
    const Rect plot = layout.panels[n].plot;
    const auto& texts = layout.panels[n].texts;
    return std::count_if(texts.begin(), texts.end(), [&](const PlacedText& text) {
      return along_x ? text.at.y > plot.bottom() && text.at.x < plot.right() : text.at.x < plot.x;
    });
  };
  const double shared = lay_out(figure, 900, 800, Style::light(11, 1), typeface).panels[0].plot.width;
  EXPECT_EQ(labels(0, true), 0);
  EXPECT_EQ(labels(1, true), 0);
  EXPECT_GT(labels(2, true), 4);
  EXPECT_GT(labels(3, true), 4);
  EXPECT_GT(labels(0, false), 4);
  EXPECT_EQ(labels(1, false), 0);
  EXPECT_EQ(labels(3, false), 0);
  auto others = std::make_shared<std::vector<std::string>>(*figure.panels[3].x.cell_names);
  others->front() += "x";
  figure.panels[3].x.cell_names = others;
  figure.panels[3].y.cell_names = others;
  EXPECT_GT(labels(1, true), 4);
  EXPECT_GT(labels(3, true), 4);
  EXPECT_GT(labels(3, false), 4);
  EXPECT_EQ(labels(0, true), 0);
  EXPECT_LT(lay_out(figure, 900, 800, Style::light(11, 1), typeface).panels[0].plot.width, shared);
}

TEST(Layout, TextsOfDifferentPanelsDoNotOverprint) {
  const text::Typeface typeface;
  for (const auto& [width, height] : std::vector<std::pair<double, double>>{{730, 520}, {500, 400}, {1400, 300}}) {
    for (std::size_t count = 2; count <= 8; ++count) {
      const Layout layout = lay_out(maps_of(count), width, height, Style::light(13, 1), typeface);
      for (std::size_t a = 0; a < count; ++a) {
        for (const PlacedText& text : layout.panels[a].texts) {
          const Rect box = bounds(text, typeface);
          for (std::size_t b = 0; b < count; ++b) {
            const Rect& slot = layout.panels[b].slot;
            const double overlap_x = std::min(box.right(), slot.right()) - std::max(box.x, slot.x);
            const double overlap_y = std::min(box.bottom(), slot.bottom()) - std::max(box.y, slot.y);
            EXPECT_FALSE(a != b && overlap_x > 1 && overlap_y > 1)
                << "\"" << text.text << "\" of " << a << " over " << b << " of " << count << " at " << width;
          }
        }
      }
    }
  }
}

TEST(Layout, WordsOfBytesAreTheCharactersTheyMake) {
  const std::vector<std::string> tokens{"▁", "<0xE7>", "<0xAC>", "<0xAC>", "<0xE4>", "<0xBA>", "<0x8C>", "z"};
  EXPECT_EQ(text_of(tokens, {0, 8}), "第二z");
  EXPECT_EQ(text_of(tokens, {1, 4}), "第");
  EXPECT_EQ(text_of(tokens, {2, 4}), "<0xAC><0xAC>");  // no character
  EXPECT_EQ(text_of({"<0x", "<0xE7", "<0xE7>"}, {0, 3}), "<0x<0xE7<0xE7>");
}

TEST(Layout, TokensOfBytesAreNamedByTheirCharacter) {
  const std::vector<std::string> tokens{"a",      "<0xE7>", "<0xAC>", "<0xAC>", "<0xC5><0xBC>",
                                        "<0x0A>", "<0xAC>", "<0xC5>"};
  const std::vector<std::string> wanted{"a", "第¹", "第²", "第³", "ż", "<0x0A>", "<0xAC>", "<0xC5>"};
  for (std::size_t n = 0; n < tokens.size(); ++n) {
    EXPECT_EQ(name_of(tokens, n), wanted[n]) << n;
  }
  // A token that ends one character and begins the next is neither.
  EXPECT_EQ(name_of({"<0xE7>", "<0xAC><0xAC>", "<0xE4><0xBA>", "<0x8C>"}, 1), "第²");
  EXPECT_EQ(name_of({"<0xC5>", "<0xBC><0xC5>", "<0x82>"}, 1), "<0xBC><0xC5>");
  EXPECT_EQ(name_of({"<0xC5>", "<0xBC><0xC5>", "<0x82>"}, 2), "ł²");
  // What leaves no mark is named by its bytes: a no-break space, a line separator.
  EXPECT_EQ(name_of({"<0xC2>", "<0xA0>"}, 1), "<0xA0>");
  EXPECT_EQ(name_of({"<0xE2>", "<0x80>", "<0xA8>"}, 0), "<0xE2>");
  // Texts and axes are written with them.
  const text::Typeface typeface;
  TokenStrip strip;
  strip.tokens = {"<0xC5>", "<0xBC>"};
  strip.values = {0, 1};
  const auto boxes = flow_tokens(strip, 400, 12, Style::light(12), typeface);
  ASSERT_EQ(boxes.size(), 2U);
  EXPECT_EQ(boxes[0].text + boxes[1].text, "ż¹ż²");
  Figure figure = samples::attention(8);
  figure.panels[0].x.cell_names = figure.panels[0].y.cell_names =
      std::make_shared<const std::vector<std::string>>(tokens);
  const Layout layout = lay_out(figure, 900, 700, Style::light(12, 1), typeface);
  EXPECT_TRUE(std::ranges::any_of(layout.panels[0].texts, [](const PlacedText& each) { return each.text == "第²"; }));
}

TEST(Layout, AWordThatTheEdgeOfAMapCutsIsNamedWhole) {
  const std::vector<std::string> tokens{"o", "n", "e", "·", "<0xC5>", "<0xBC>", "e", "·", "s", "i", "x"};
  EXPECT_EQ(text_of(tokens, whole_words(tokens, {5, 9})), "że six");
  EXPECT_EQ(text_of(tokens, whole_words(tokens, {0, 4})), "one");
  EXPECT_EQ(whole_words(tokens, {4, 8}), (Range{4, 8}));
}

// A text of letters is read by its words for three times as long as a text of words, which then is counted.
TEST(Layout, MapsOfLettersNameTheWordsThatTheyMake) {
  const text::Typeface typeface;
  const std::string word = "read";
  const auto named = [&](bool letters, int words) {
    std::vector<std::string> names;
    for (int n = 0; n < words; ++n) {
      if (letters) {
        for (const char letter : word) {
          names.emplace_back(1, letter);
        }
        names.emplace_back("·");
      } else {
        names.push_back("·" + word);
      }
    }
    Figure figure = samples::attention(static_cast<std::int64_t>(names.size()));
    figure.panels[0].x.cell_names = figure.panels[0].y.cell_names =
        std::make_shared<const std::vector<std::string>>(names);
    const Layout layout = lay_out(figure, 560, 480, Style::light(12, 1), typeface);
    return std::ranges::any_of(layout.panels[0].texts,
                               [&](const PlacedText& each) { return each.text.starts_with(word); });
  };
  EXPECT_TRUE(named(true, 60));
  EXPECT_TRUE(named(true, 120));  // more than three words a label
  EXPECT_FALSE(named(true, 400));
  EXPECT_FALSE(named(false, 120));
}

// The symbols of a task are no words: a label has as many as there is room for, and a long text is counted.
TEST(Layout, MapsOfSymbolsWithoutWordsNameThemInGroups) {
  const text::Typeface typeface;
  const auto labels = [&](std::size_t count) {
    std::vector<std::string> names;
    for (std::size_t n = 0; n < count; ++n) {
      names.emplace_back(1, "w0i1"[n % 4]);
    }
    Figure figure = samples::attention(static_cast<std::int64_t>(count));
    figure.panels[0].x.cell_names = figure.panels[0].y.cell_names =
        std::make_shared<const std::vector<std::string>>(names);
    const Layout layout = lay_out(figure, 560, 480, Style::light(12, 1), typeface);
    std::set<std::string> found;
    for (const PlacedText& each : layout.panels[0].texts) {
      found.insert(each.text);
    }
    return found;
  };
  EXPECT_TRUE(labels(44).contains("w"));
  EXPECT_TRUE(labels(84).contains("w0i"));
  EXPECT_TRUE(labels(84).contains("1w0"));
  EXPECT_FALSE(labels(84).contains("20"));
  EXPECT_TRUE(labels(400).contains("100"));
}

// Tokens that are long words: three maps stand beside each other with numbers, not below each other with words.
TEST(Layout, WordsLeaveTheirRoomToMapsThatTheyWouldHalve) {
  const text::Typeface typeface;
  const Figure one = samples::attention(64);
  std::vector<std::string> names;
  for (int n = 0; n < 64; ++n) {
    names.emplace_back(n % 8 == 0 ? "▁incomprehensible" : "ness");
  }
  Figure figure;
  figure.panels = {one.panels[0], one.panels[0], one.panels[0]};
  figure.columns = 3;
  for (Panel& panel : figure.panels) {
    panel.x.cell_names = panel.y.cell_names = std::make_shared<const std::vector<std::string>>(names);
  }
  const Layout layout = lay_out(figure, 765, 510, Style::light(12, 1), typeface);
  Figure counted = figure;
  for (Panel& panel : counted.panels) {
    panel.x.cell_names = panel.y.cell_names = nullptr;
  }
  const Layout numbers = lay_out(counted, 765, 510, Style::light(12, 1), typeface);
  EXPECT_GE(layout.panels[0].plot.width, 0.74 * numbers.panels[0].plot.width);
  // Where there is room for both, words stay.
  const Layout large = lay_out(figure, 1800, 1000, Style::light(12, 1), typeface);
  EXPECT_TRUE(std::ranges::any_of(large.panels[0].texts,
                                  [](const PlacedText& each) { return each.text.starts_with("incompre"); }));
}

TEST(Layout, EmptyFiguresAndTinyCanvasesAreHarmless) {
  const text::Typeface typeface;
  EXPECT_TRUE(lay_out({}, 100, 100, Style::light(12), typeface).panels.empty());
  for (const char* name : kSamples) {
    const Layout layout = lay_out(*samples::by_name(name), 12, 9, Style::light(12, 1), typeface);
    EXPECT_TRUE(std::isfinite(layout.panels[0].plot.width)) << name;
  }
}

TEST(Layout, ColourBarsGrowUpwards) {
  const text::Typeface typeface;
  const Figure figure = *samples::by_name("attention");
  const Layout layout = lay_out(figure, 560, 480, Style::light(12, 1), typeface);
  const PanelLayout& panel = layout.panels[0];
  ASSERT_GT(panel.color_bar.height, 0);
  ASSERT_GE(panel.bar_ticks.size(), 2U);
  for (const Tick& tick : panel.bar_ticks) {
    const double wanted = panel.color_bar.bottom() - tick.at * panel.color_bar.height;
    const bool is_beside = std::any_of(panel.texts.begin(), panel.texts.end(), [&](const PlacedText& text) {
      return text.text == tick.label && text.at.x > panel.color_bar.x &&
             std::abs(text.at.y - wanted) < text.size;  // the baseline is a little below
    });
    EXPECT_TRUE(is_beside) << tick.label;
  }
}

TEST(Layout, LegendsOfSeveralRowsStandAboveThePlot) {
  const text::Typeface typeface;
  Figure figure;
  Panel& panel = figure.panels.emplace_back();
  for (int n = 0; n < 8; ++n) {
    Curve curve;
    curve.name = "a rather long name of curve " + std::to_string(n);
    curve.x = {0, 1};
    curve.y = {0, 1};
    panel.layers.emplace_back(curve);
  }
  panel.x.view = panel.y.view = {0, 1};
  const Layout layout = lay_out(figure, 560, 480, Style::light(12, 1), typeface);
  const PanelLayout& place = layout.panels[0];
  ASSERT_EQ(place.legend.size(), 8U);
  EXPECT_GT(place.legend.back().swatch.y, place.legend.front().swatch.y);
  for (const LegendEntry& entry : place.legend) {
    EXPECT_LT(entry.swatch.bottom(), place.plot.y);
    EXPECT_GT(entry.swatch.y, 0);
  }
}

TEST(Layout, CharactersOfFourTokensAreNamed) {
  const std::vector<std::string> tokens{"<0xF0>", "<0x9F>", "<0x98>", "<0x80>"};
  const std::vector<std::string> wanted{"😀¹", "😀²", "😀³", "😀⁴"};
  for (std::size_t n = 0; n < tokens.size(); ++n) {
    EXPECT_EQ(name_of(tokens, n), wanted[n]);
  }
  EXPECT_EQ(text_of(tokens, {0, 4}), "😀");
}

}  // namespace
}  // namespace locus::figure

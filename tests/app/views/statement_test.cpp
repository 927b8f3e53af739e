// What a figure says in one line, against numbers that are computed otherwise.
#include "app/views/shared/statement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "app/views/shared/plots/series.h"
#include "core/base/numbers.h"
#include "tests/support/fake_model.h"

namespace locus::views {
namespace {

ViewInput input_of(const std::string& text, double slope = 0.2) {
  test::FakeShape shape;
  shape.slope = slope;
  shape.name = "fake";
  ViewInput input;
  input.columns.push_back({"fake", nullptr, std::make_shared<test::FakeTrace>(shape, text)});
  input.layer = 1;
  input.head = 2;
  return input;
}

TEST(Statement, AMapOfWeightsSaysWhereTheyGo) {
  const ViewInput input = input_of(std::string(40, 'a'), 0.02);  // a slope at which no place stands out
  const ViewInfo& info = (*find_view("attention"))->info();
  const auto figure = (*find_view("attention"))->figure(input);
  ASSERT_TRUE(figure.ok());
  const auto& trace = static_cast<const test::FakeTrace&>(*input.columns.front().trace);
  double self = 0;
  double far = 0;
  for (std::int64_t i = 1; i < 40; ++i) {
    self += trace.weight(1, 2, i, i) / 39;
    for (std::int64_t j = 0; j < i - 32; ++j) {
      far += trace.weight(1, 2, i, j) / 39;
    }
  }
  const std::string said = statement(info, input, *figure);
  EXPECT_TRUE(said.starts_with("head 1.2 gives its own token " + fixed_text(self, 2) + ", the one before ")) << said;
  EXPECT_NE(said.find(", tokens more than 32 back " + fixed_text(far, 2)), std::string::npos) << said;
  EXPECT_EQ(statement(info, input_of("short"), *(*find_view("attention"))->figure(input_of("short"))).find("back"),
            std::string::npos);
}

// Of few queries every one counts.
TEST(Statement, TheMeansLeaveOutTheFirstQueryAlone) {
  const ViewInput input = input_of("abc");
  const auto figure = (*find_view("attention"))->figure(input);
  ASSERT_TRUE(figure.ok());
  const auto& trace = static_cast<const test::FakeTrace&>(*input.columns.front().trace);
  const auto weight = [&](std::int64_t i, std::int64_t j) { return trace.weight(1, 2, i, j); };
  EXPECT_EQ(statement((*find_view("attention"))->info(), input, *figure),
            "head 1.2 gives its own token " + fixed_text((weight(1, 1) + weight(2, 2)) / 2, 2) + ", the one before " +
                fixed_text((weight(1, 0) + weight(2, 1)) / 2, 2) + ", the first " +
                fixed_text((weight(1, 0) + weight(2, 0)) / 2, 2));
}

// A map that is shown at less than a cell a token does not hold the weights: the measured head does.
TEST(Statement, AReducedMapOfWeightsSaysWhatTheHeadWasMeasuredToDo) {
  const ViewInput input = input_of(std::string(8, 'a'));
  const ViewInfo& info = (*find_view("attention"))->info();
  figure::HeatMap map;
  Field field = Field::zeros(4, 4);
  field.values[5] = 1;
  field.row_axis = {"query", "token", 0, 2};
  field.column_axis = {"key", "token", 0, 2};
  field.quantity = "attention weight";
  map.field = std::make_shared<const Field>(field);
  figure::Figure figure;
  figure.panels.emplace_back().layers.emplace_back(map);
  Fingerprint head;
  head.self = 0.125;
  head.previous = 0.2;
  head.first = 0.25;
  head.distance = 3.25;
  const auto known = [&](std::size_t column, const HeadRef& of) {
    return column == 0 && of == HeadRef{1, 2} ? &head : nullptr;
  };
  EXPECT_EQ(statement(info, input, figure, known), "head 1.2 gives its own token " + fixed_text(0.125, 2) +
                                                       ", the one before 0.20, the first 0.25, looks " +
                                                       fixed_text(3.25, 1) + " tokens back on average");
  head.previous = 0.5;
  head.induction = 0.75;
  EXPECT_EQ(statement(info, input, figure, known),
            "head 1.2 is an induction head: 75 % of its weight on random tokens given twice, is a previous-token head: "
            "50 % of its weight");
  EXPECT_TRUE(statement(info, input, figure).starts_with("attention weight from ")) << statement(info, input, figure);
}

TEST(Statement, OtherMapsSayTheirRangeAndWhereTheLargestIs) {
  figure::Figure figure;
  figure::HeatMap map;
  Field field = Field::zeros(2, 3);
  field.values = {0, -2, 1, 0, std::numeric_limits<float>::quiet_NaN(), 5};
  field.row_axis = {"query", "token", 4, 1};
  field.column_axis = {"key", "token", 0, 16};
  field.quantity = "logit";
  map.field = std::make_shared<const Field>(field);
  figure.panels.emplace_back().layers.emplace_back(map);
  EXPECT_EQ(statement({}, input_of("abc"), figure), "logit from −2.00 to 5.00, the largest at query 5, key 32 to 47");
}

TEST(Statement, CurvesAndHistogramsSayTheirNumbers) {
  figure::Figure figure;
  figure::Curve curve;
  curve.name = "rope";
  curve.x = {8, 16, 32};
  curve.y = {std::nan(""), 4, 2};
  figure.panels.emplace_back().layers.emplace_back(curve);
  EXPECT_EQ(statement({}, input_of("abc"), figure), "rope: 4.00 at 16, 2.00 at 32");
  figure.panels.front().layers = {figure::Bars{"tapa: μ 1", {-1, 1, 3}, {2, 6}}};
  EXPECT_EQ(statement({}, input_of("abc"), figure), "tapa: mean 1.50, 88 % above 0");
}

// Tokens more than 32 back: there is one from the 34th on.
TEST(Statement, WhatIsFarBackIsSaidWhereThereIsSuchAToken) {
  const auto says_far = [](std::int64_t tokens) {
    const ViewInput input = input_of(std::string(static_cast<std::size_t>(tokens), 'a'), 0.02);
    const auto figure = (*find_view("attention"))->figure(input);
    return figure.ok() &&
           statement((*find_view("attention"))->info(), input, *figure).find("back") != std::string::npos;
  };
  EXPECT_FALSE(says_far(33));
  EXPECT_TRUE(says_far(34));
}

// As many rows as the text has tokens, but not one a token.
TEST(Statement, RowsOfSeveralTokensAreNotTheHeads) {
  figure::Figure figure;
  figure::HeatMap map;
  Field field = Field::zeros(4, 4);
  field.values[14] = 3;
  field.row_axis = {"query", "token", 0, 2};
  field.column_axis = {"key", "token", 0, 2};
  map.field = std::make_shared<const Field>(field);
  figure.panels.emplace_back().layers.emplace_back(map);
  EXPECT_EQ(statement((*find_view("attention"))->info(), input_of("abcd"), figure),
            "values from 0 to 3.00, the largest at query 6 to 7, key 4 to 5");
}

// Bars of layers are no histogram: their mean is no number of anything.
TEST(Statement, BarsOfNamedThingsSayTheLargest) {
  figure::Figure figure;
  figure::Panel& panel = figure.panels.emplace_back();
  panel.x.label = "layer";
  panel.x.view = {0, 3};
  panel.x.cell_names = std::make_shared<const std::vector<std::string>>(std::vector<std::string>{"0", "1", "2"});
  panel.layers.emplace_back(figure::Bars{"tape", {0, 0.4, 1, 1.4, 2, 2.4}, {2, 0, -6, 0, 3}});
  const std::string said = statement({}, input_of("abc"), figure);
  EXPECT_EQ(said, "tape: −6.00 at layer 1");
}

TEST(Statement, OfManySeriesTheFirstThreeAreNamed) {
  figure::Figure figure;
  figure::Panel& panel = figure.panels.emplace_back();
  const auto named = [&](int count) {
    panel.layers.clear();
    for (int n = 0; n < count; ++n) {
      figure::Curve curve;
      curve.name = "c" + std::to_string(n);
      curve.x = {1};
      curve.y = {2};
      panel.layers.emplace_back(curve);
    }
    return statement({}, input_of("abc"), figure);
  };
  const std::string three = "c0: 2.00 at 1; c1: 2.00 at 1; c2: 2.00 at 1";
  EXPECT_EQ(named(3), three);
  EXPECT_EQ(named(5), three + "; and 2 more");
}

TEST(Statement, ATextSaysWhichTokenHasMost) {
  figure::Figure figure;
  figure::TokenStrip strip;
  strip.tokens = {"a", " red", " circle"};
  strip.values = {0.25F, std::numeric_limits<float>::quiet_NaN(), 0.5F};
  figure.panels.emplace_back().layers.emplace_back(strip);
  EXPECT_EQ(statement({}, input_of("abc"), figure), "the largest value is at token 2 \" circle\": 0.500");
  std::get<figure::TokenStrip>(figure.panels.front().layers.front()).selected = 2;
  EXPECT_EQ(statement({}, input_of("abc"), figure), "token 2 gives most to token 2 \" circle\": 0.500");
}

// Of maps beside each other each has its clause, with its name.
TEST(Statement, ColumnsAreNamed) {
  ViewInput input = input_of("abc");
  const auto alone = (*find_view("attention"))->figure(input);
  ASSERT_TRUE(alone.ok());
  const std::string said = statement((*find_view("attention"))->info(), input, *alone);
  input.columns.push_back(input.columns.front());
  const auto both = (*find_view("attention"))->figure(input);
  ASSERT_TRUE(both.ok());
  EXPECT_EQ(statement((*find_view("attention"))->info(), input, *both), "fake: " + said + "; fake: " + said);
}

// A map less another is no attention: what a head gives is not read from it, and its title says whose heads it is of.
TEST(Statement, ADifferenceIsNotReadAsAttention) {
  ViewInput input = input_of("abcdef");
  for (const double slope : {0.5, 2.0}) {
    test::FakeShape shape;
    shape.slope = slope;
    input.columns.push_back(
        {"slope " + fixed_text(slope, 1), nullptr, std::make_shared<test::FakeTrace>(shape, "abcdef")});
  }
  input.difference = true;
  const View& view = **find_view("attention");
  const auto figure = view.figure(input);
  const auto data = view.data(input);
  ASSERT_TRUE(figure.ok() && data.ok());
  EXPECT_EQ(figure->panels[0].title, "fake − slope 2.0 · layer 1, head 2");
  const auto [low, high] = std::ranges::minmax_element(data->values);
  const auto cell = high - data->values.begin();
  const std::string range = "difference of attention weight from " + short_number(static_cast<double>(*low)) + " to " +
                            short_number(static_cast<double>(*high)) + ", the largest at query " +
                            std::to_string(cell / 6) + ", key " + std::to_string(cell % 6);
  const Fingerprint measured;
  const std::string line = statement(view.info(), input, *figure, [&](auto, const auto&) { return &measured; });
  EXPECT_TRUE(line.starts_with(figure->panels[0].title + ": " + range + "; " + figure->panels[1].title +
                               ": difference of attention weight from "))
      << line;
  EXPECT_NE(line.find("; slope 2.0: head 1.2 gives its own token "), std::string::npos) << line;
  input.columns[0].own = HeadRef{0, 3};
  const auto other = view.figure(input);
  ASSERT_TRUE(other.ok());
  EXPECT_EQ(other->panels[0].title, "fake · layer 0, head 3 − slope 2.0 · layer 1, head 2");
  EXPECT_EQ(other->panels[1].title, "slope 0.5 − slope 2.0 · layer 1, head 2");
  const auto parts = view.data_parts(input);
  ASSERT_TRUE(parts.ok());
  EXPECT_EQ(parts->titles, std::vector<std::string>{
                               "fake, layer 0, head 3 − slope 2.0, layer 1, head 2: difference of attention weight"});
}

// The rows of a table are no columns of the input, and its cells have names.
TEST(Statement, ATableNamesItsRows) {
  ViewInput input = input_of("abc");
  input.columns.push_back(input.columns.front());
  figure::HeatMap map;
  Field field = Field::zeros(2, 2);
  field.values = {9, 1, 3, 4};
  map.field = std::make_shared<const Field>(field);
  figure::Figure figure;
  figure::Panel& panel = figure.panels.emplace_back();
  panel.x.label = "split";
  panel.x.cell_names = std::make_shared<const std::vector<std::string>>(std::vector<std::string>{"in", "longer"});
  panel.y.cell_names = std::make_shared<const std::vector<std::string>>(std::vector<std::string>{"rope", "cope"});
  panel.color_bar_label = "error (%)";
  panel.layers.emplace_back(map);
  EXPECT_EQ(statement({}, input, figure), "error (%) from 1.00 (rope, split longer) to 9.00 (rope, split in)");
  field.values[3] = 12;
  std::get<figure::HeatMap>(panel.layers.front()).field = std::make_shared<const Field>(field);
  EXPECT_EQ(statement({}, input, figure), "error (%) from 1.00 (rope, split longer) to 12.0 (cope, split longer)");
}

// A line is about the first panel: its title tells it from the others.
TEST(Statement, OneOfSeveralPanelsIsNamedByItsTitle) {
  figure::Figure figure;
  for (const char* const title : {"b, layer 0", "a, layer 0"}) {
    figure::Curve curve;
    curve.name = "itself";
    curve.x = {0, 1};
    curve.y = {2, 3};
    figure::Panel& panel = figure.panels.emplace_back();
    panel.title = title;
    panel.y.label = "share";
    panel.layers.emplace_back(curve);
  }
  EXPECT_EQ(statement({}, input_of("abc"), figure), "b, layer 0: share, itself: 2.00 at 0, 3.00 at 1");
  figure.panels.pop_back();
  EXPECT_EQ(statement({}, input_of("abc"), figure), "share, itself: 2.00 at 0, 3.00 at 1");
}

TEST(Statement, OfSeveralLargestCellsNoneIsNamed) {
  figure::Figure figure;
  figure::HeatMap map;
  Field field = Field::zeros(2, 2);
  field.values = {1, 7, 7, 2};
  field.row_axis.name = "layer";
  field.column_axis.name = "head";
  map.field = std::make_shared<const Field>(field);
  figure.panels.emplace_back().layers.emplace_back(map);
  EXPECT_EQ(statement({}, input_of("abc"), figure), "values from 1.00 to 7.00, the largest in 2 cells");
}

// Rows that are scaled to a maximum of 1 all have it: what is said is where.
TEST(Statement, AMaximumThatIsThereByConstructionIsNotNamed) {
  figure::Figure figure;
  figure::HeatMap map;
  Field field = Field::zeros(8, 8);
  field.row_axis = {"query", "token", 0, 1};
  field.column_axis = {"key", "token", 0, 1};
  for (std::int64_t i = 0; i < 8; ++i) {
    for (std::int64_t j = 0; j < 8; ++j) {
      field.at(i, j) = j > i                                   ? std::numeric_limits<float>::quiet_NaN()
                       : j == std::max<std::int64_t>(i - 2, 0) ? 1
                                                               : 0.25F;
    }
  }
  map.field = std::make_shared<const Field>(field);
  figure.panels.emplace_back().layers.emplace_back(map);
  figure.panels.front().color_bar_label = "attention from position, row max 1";
  EXPECT_EQ(statement({}, input_of("abcdefgh"), figure),
            "attention from position, row max 1 down to 0.250, the largest of a row at distance 2 in 6 of 7 rows");
}

TEST(Statement, AMapOfDistancesSaysSo) {
  figure::Figure figure;
  figure::HeatMap map;
  Field field = Field::zeros(8, 8);
  field.row_axis = {"query", "token", 0, 1};
  field.column_axis = {"key", "token", 0, 1};
  for (std::int64_t i = 0; i < 8; ++i) {
    for (std::int64_t j = 0; j < 8; ++j) {
      field.at(i, j) = j > i ? std::numeric_limits<float>::quiet_NaN() : -0.5F * static_cast<float>(i - j);
    }
  }
  map.field = std::make_shared<const Field>(field);
  figure.panels.emplace_back().layers.emplace_back(map);
  figure.panels.front().color_bar_label = "position contribution";
  EXPECT_EQ(statement({}, input_of("abcdefgh"), figure),
            "position contribution depends on i − j alone, from −3.50 to 0, the largest at distance 0");
}

// The highest point of a curve, unless it is an end, not alone, within the band of an end, or as with a null.
TEST(Statement, ACurveSaysWhereItStandsOut) {
  const auto said = [](std::vector<double> y, std::vector<double> low = {}, std::vector<double> high = {},
                       std::vector<std::uint8_t> hollow = {}) {
    figure::Figure figure;
    figure::Curve curve;
    curve.name = "c";
    curve.x = {0, 1, 2, 3};
    curve.y = std::move(y);
    curve.low = std::move(low);
    curve.high = std::move(high);
    curve.hollow = std::move(hollow);
    figure.panels.emplace_back().layers.emplace_back(curve);
    return statement({}, input_of("abc"), figure);
  };
  EXPECT_EQ(said({1, 5, 2, 1}), "c: 1.00 at 0, 1.00 at 3, most 5.00 at 1");
  const std::string ends = "c: 1.00 at 0, 1.00 at 3";
  EXPECT_EQ(said({1, 5, 5, 1}), ends);
  EXPECT_EQ(said({1, 5, 2, 1}, {0, 1, 1, 0}, {3, 9, 3, 3}), ends);
  EXPECT_EQ(said({1, 5, 2, 1}, {0, 4, 1, 0}, {3, 9, 3, 3}), ends + ", most 5.00 at 1");
  EXPECT_EQ(said({1, 5, 2, 1}, {}, {}, {0, 1, 0, 0}), ends);
  EXPECT_EQ(said({1, 1.1, 9, 8}), "c: 1.00 at 0, 8.00 at 3");
}

// Of a grid of heads what they do, once all are measured.
TEST(Statement, AGridCountsTheHeadsByWhatTheyDo) {
  const ViewInput input = input_of("abcdef");
  const View& view = **find_view("attention-grid");
  const auto figure = view.figure(input);
  ASSERT_TRUE(figure.ok()) << figure.error().describe();
  const models::ModelInfo& model = input.columns.front().trace->model();
  const std::string all = std::to_string(model.layers * model.heads);
  Fingerprint plain;
  plain.induction = std::nan("");
  Fingerprint previous = plain;
  previous.previous = 0.6;
  bool whole = true;
  const auto known = [&](std::size_t, const HeadRef& head) -> const Fingerprint* {
    return !whole && head.layer > 0 ? nullptr : head == HeadRef{0, 1} ? &previous : &plain;
  };
  EXPECT_EQ(statement(view.info(), input, *figure, known),
            "1 of " + all + " heads are previous-token heads (head 0.1)");
  previous.previous = 0.2;
  EXPECT_EQ(statement(view.info(), input, *figure, known),
            "none of the " + all + " heads gives a third of its weight to one place");
  whole = false;
  EXPECT_FALSE(statement(view.info(), input, *figure, known).empty());
  ViewInput coarse = input_of(std::string(200, 'a'));
  coarse.width_px = coarse.height_px = 200;
  const auto small = view.figure(coarse);
  ASSERT_TRUE(small.ok()) << small.error().describe();
  EXPECT_TRUE(statement(view.info(), coarse, *small).starts_with("attention weight from "));
}

TEST(Statement, ATextOfOtherNumbersNamesThem) {
  figure::Figure figure;
  figure::TokenStrip strip;
  strip.tokens = {"a", "b"};
  strip.values = {-1, 3};
  strip.selected = 1;
  figure.panels.emplace_back().layers.emplace_back(strip);
  figure.panels.front().color_bar_label = "logit";
  EXPECT_EQ(statement({}, input_of("abc"), figure), "token 1: the largest logit is at token 1 \"b\": 3.00");
}

// A figure that is still shown when the second of its columns has been closed.
TEST(Statement, ADifferenceOfColumnsThatAreGoneIsNotDescribed) {
  figure::Figure figure;
  figure.panels.resize(2);
  figure.panels[1].color_bar_label = "difference of attention weights";
  EXPECT_EQ(statement({}, input_of("abc"), figure), "");
}

TEST(Statement, NothingIsSaidOfNothing) {
  EXPECT_EQ(statement({}, input_of("abc"), {}), "");
  figure::Figure figure;
  figure.panels.emplace_back();
  EXPECT_EQ(statement({}, input_of("abc"), figure), "");
}

}  // namespace
}  // namespace locus::views

// `memory`: the slopes of lightning attention, which have a formula, quantiles of a run's half-lives, and refusals.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "app/views/shared/view.h"
#include "tests/support/bundled.h"
#include "tests/support/exported_views.h"
#include "tests/support/hybrid.h"

namespace locus::views {
namespace {

using test_views::at;
using test_views::view_of;

Column hybrid(const std::string& type, models::Side side = models::Side::kDecoder) {
  Column column = test::hybrid_column(type);
  if (side == models::Side::kMixer) {
    column.trace = column.trace->side(side);
  }
  return column;
}

ViewInput input_beside(Column column) {
  ViewInput input;
  input.columns.push_back(std::move(column));
  return input;
}

// ln 2 / s with s = 2^(−8(h+1)/H) (1 − l/(L − 1 + 10⁻⁵) + 10⁻⁵).
TEST(Memory, OfFixedSlopesIsTheirFormula) {
  const ViewInput input = input_beside(hybrid("minimax"));
  const auto data = view_of("memory").data(input);
  ASSERT_TRUE(data.ok()) << data.error().describe();
  EXPECT_EQ(data->columns, (std::vector<std::string>{"layer", "head", "low", "median", "high"}));
  ASSERT_EQ(data->shape, (std::vector<std::int64_t>{8, 5}));
  for (std::int64_t row = 0; row < 8; ++row) {
    const std::int64_t layer = row < 4 ? 1 : 3;
    const std::int64_t head = row % 4;
    EXPECT_EQ(at(*data, row, 0), static_cast<double>(layer));
    EXPECT_EQ(at(*data, row, 1), static_cast<double>(head));
    const double share = static_cast<double>(layer) / (3 + 1e-5);
    const double slope = std::exp2(-2.0 * static_cast<double>(head + 1)) * (1 - share + 1e-5);
    for (const std::int64_t column : {2, 3, 4}) {
      test_views::expect_near(at(*data, row, column), std::log(2.0) / slope);
    }
  }
}

// With forget gates the contribution of the token before is the logarithm of the query's own gate.
TEST(Memory, OfForgetGatesIsThatOfTheContribution) {
  models::Input input;
  input.text = "The old man closed the door. He sat down by the fire.";
  const Column column = test::column_of(test::bundled("text-fox"), input, "text-fox");
  const auto data = view_of("memory").data(input_beside(column));
  ASSERT_TRUE(data.ok()) << data.error().describe();
  ASSERT_EQ(data->shape, (std::vector<std::int64_t>{16, 5}));
  const models::Trace& trace = *column.trace;
  for (std::int64_t layer = 0; layer < 4; ++layer) {
    const auto lives = trace.state_numbers(layer, models::StateNumber::kHalfLife);
    ASSERT_TRUE(lives.ok()) << lives.error().describe();
    for (std::int64_t head = 0; head < 4; ++head) {
      const auto map = trace.map({layer, head, Quantity::kContribution, {}, {}});
      ASSERT_TRUE(map.ok());
      for (std::int64_t token = 1; token < trace.length(); ++token) {
        const auto gate = static_cast<double>(map->at(token, token - 1));
        const auto life = static_cast<double>(lives->at(head, token));
        EXPECT_NEAR(life * gate, std::log(0.5), 1e-3 + 1e-5 * life);
      }
    }
    EXPECT_EQ(trace.state_numbers(layer, models::StateNumber::kNorm).error().code, ErrorCode::kUnsupported);
  }
}

// Heads of the first layer, which an edit lets forget nothing, stand above all others, and whole.
TEST(Memory, WhatForgetsNothingIsWithinTheAxis) {
  const test::TemporaryFolder folder;
  const models::Input read = test::write_hybrid("qwen3_next", folder.path());
  const auto edited = test::open_model(folder.path())->edited({*models::parse_edit("decay 0.all keep", 0)});
  ASSERT_TRUE(edited.ok()) << edited.error().describe();
  const auto figure = view_of("memory").figure(input_beside(test::column_of(*edited, read, "edited")));
  ASSERT_TRUE(figure.ok()) << figure.error().describe();
  const figure::Panel& panel = figure->panels.front();
  const auto& points = std::get<figure::Points>(panel.layers.front());
  double finite = 0;
  for (std::size_t n = 0; n < points.y.size(); ++n) {
    if (points.x[n] >= 1) {
      finite = std::max({finite, points.y[n], points.y_high[n]});
    }
  }
  const double last = static_cast<double>(read.ids->size());
  for (std::size_t n = 0; n < points.y.size(); ++n) {
    if (points.x[n] < 1) {
      EXPECT_GT(points.y[n], std::max(finite, last));
      EXPECT_LT(points.y[n], panel.y.view.high);
    }
  }
  EXPECT_NE(panel.note.find("forget nothing: at the upper end"), std::string::npos) << panel.note;
}

TEST(Memory, HasTheQuantilesOfTheRunOnBothSides) {
  const ViewInput input = input_beside(hybrid("qwen3_next"));
  const ViewInput of_mixers = input_beside(hybrid("qwen3_next", models::Side::kMixer));
  const auto data = view_of("memory").data(input);
  const auto same = view_of("memory").data(of_mixers);
  ASSERT_TRUE(data.ok() && same.ok());
  EXPECT_EQ(data->values, same->values);
  const models::Trace& trace = *of_mixers.columns.front().trace;
  bool spread = false;
  for (std::int64_t row = 0; row < data->shape[0]; ++row) {
    const auto lives =
        trace.state_numbers(static_cast<std::int64_t>(at(*data, row, 0)), models::StateNumber::kHalfLife);
    ASSERT_TRUE(lives.ok());
    std::vector<float> own;
    for (std::int64_t token = 0; token < lives->columns; ++token) {
      own.push_back(lives->at(static_cast<std::int64_t>(at(*data, row, 1)), token));
    }
    // Ranks 2, 11 and 20 of 24 tokens, counted from 0.
    std::ranges::sort(own);
    EXPECT_EQ(static_cast<float>(at(*data, row, 2)), own[2]);
    EXPECT_EQ(static_cast<float>(at(*data, row, 3)), own[11]);
    EXPECT_EQ(static_cast<float>(at(*data, row, 4)), own[20]);
    spread = spread || at(*data, row, 4) > 1.1 * at(*data, row, 2);
  }
  EXPECT_TRUE(spread);
}

TEST(Memory, DrawsAPointAHeadOnOneAxis) {
  ViewInput input = input_beside(hybrid("qwen3_next"));
  input.columns.push_back(hybrid("lfm2"));
  input.cache = std::make_shared<FieldCache>(std::size_t{1} << 20);
  const auto figure = view_of("memory").figure(input);
  ASSERT_TRUE(figure.ok()) << figure.error().describe();
  ASSERT_EQ(figure->panels.size(), 2U);
  EXPECT_EQ(figure->panels[0].y.view, figure->panels[1].y.view);
  EXPECT_TRUE(figure->panels[0].y.logarithmic);
  const auto& decaying = std::get<figure::Points>(figure->panels[0].layers.front());
  EXPECT_EQ(decaying.x.size(), 8U);
  EXPECT_EQ(decaying.hollow.front(), figure::Points::kDisc);
  const auto& reach = std::get<figure::Points>(figure->panels[1].layers.front());
  EXPECT_EQ(reach.hollow.front(), figure::Points::kRing);
  EXPECT_EQ(reach.y.front(), static_cast<double>(input.columns[1].model->info().layer_info[0].mixer_reach));
  EXPECT_NE(figure->panels[1].note.find("short convolutions"), std::string::npos);
  const Selection selection = view_of("memory").pick(input, {0, 2.1, 1, -1});
  EXPECT_EQ(selection.layer, 2);
  EXPECT_FALSE(selection.head);
  EXPECT_FALSE(view_of("memory").pick(input, {0, 1.5, 1, -1}).layer);
  EXPECT_EQ(view_of("memory").said_of(input, {0, 2.1, 1, -1}).front().rfind("layer 2, head 0: half is left after ", 0),
            0U);
}

TEST(Memory, RefusesModelsWithoutMixers) {
  const ViewInput input = test_views::input_of();
  const auto figure = view_of("memory").figure(input);
  ASSERT_FALSE(figure.ok());
  EXPECT_EQ(figure.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(figure.error().message.find('\n'), std::string::npos);
  EXPECT_NE(figure.error().message.find("layers without a softmax"), std::string::npos);
}

// Of the chosen token, and of each that is pointed at, where the text decides it.
TEST(Memory, StandsUnderTheText) {
  ViewInput input = input_beside(hybrid("qwen3_next", models::Side::kMixer));
  input.cache = std::make_shared<FieldCache>(std::size_t{1} << 20);
  input.query = 7;
  const auto figure = view_of("attention-text").figure(input);
  ASSERT_TRUE(figure.ok()) << figure.error().describe();
  EXPECT_NE(figure->panels.front().note.find("query 7 (framed) forgets half within "), std::string::npos);
  const std::vector<std::string> said = view_of("attention-text").said_of(input, {0, 0, 0, 3});
  ASSERT_EQ(said.size(), 1U);
  EXPECT_EQ(said.front().rfind("forgets half within ", 0), 0U);
  ViewInput fixed = input_beside(hybrid("minimax", models::Side::kMixer));
  fixed.layer = 1;
  const auto steady = view_of("attention-text").figure(fixed);
  ASSERT_TRUE(steady.ok()) << steady.error().describe();
  EXPECT_EQ(steady->panels.front().note.find("forgets"), std::string::npos);
}

// The norm of the state behind each token, of a head and of the mean of all.
TEST(Memory, TintsTheTextByTheNormOfTheState) {
  ViewInput input = input_beside(hybrid("qwen3_next", models::Side::kMixer));
  input.options.set("tint", std::string("state"));
  input.query = 7;
  const auto norms = input.columns.front().trace->state_numbers(0, models::StateNumber::kNorm);
  ASSERT_TRUE(norms.ok()) << norms.error().describe();
  for (const std::int64_t head : {std::int64_t{1}, kMean}) {
    input.head = head;
    const auto figure = view_of("attention-text").figure(input);
    ASSERT_TRUE(figure.ok()) << figure.error().describe();
    const figure::Panel& panel = figure->panels.front();
    EXPECT_EQ(panel.note.rfind("behind token 7 (framed) the norm is ", 0), 0U) << panel.note;
    EXPECT_EQ(panel.color_bar_label, "norm of the state");
    const auto& strip = std::get<figure::TokenStrip>(panel.layers.front());
    const auto data = view_of("attention-text").data(input);
    ASSERT_TRUE(data.ok());
    EXPECT_EQ(data->columns, (std::vector<std::string>{"token", "norm of the state"}));
    ASSERT_EQ(data->shape, (std::vector<std::int64_t>{norms->columns, 2}));
    const auto most = std::ranges::max_element(strip.values) - strip.values.begin();
    EXPECT_NE(figure->statement.find("largest behind token " + std::to_string(most) + " "), std::string::npos)
        << figure->statement;
    for (std::int64_t token = 0; token < norms->columns; ++token) {
      double expected = 0;
      for (std::int64_t each = 0; each < norms->rows; ++each) {
        expected += head == kMean  ? static_cast<double>(norms->at(each, token)) / static_cast<double>(norms->rows)
                    : each == head ? static_cast<double>(norms->at(each, token))
                                   : 0;
      }
      EXPECT_NEAR(strip.values[static_cast<std::size_t>(token)], expected, 1e-6 * (1 + expected));
      test_views::expect_near(at(*data, token, 1), static_cast<double>(strip.values[static_cast<std::size_t>(token)]));
    }
  }
  ViewInput of_text = input_beside(hybrid("qwen3_next"));
  of_text.options = input.options;
  const auto refused = view_of("attention-text").figure(of_text);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(refused.error().message.find("side mixer"), std::string::npos) << refused.error().message;
}

}  // namespace
}  // namespace locus::views

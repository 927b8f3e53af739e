// The view examples: its lines, tables and data against the atlas, the window that a click opens, and what it refuses.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "app/views/shared/view.h"
#include "models/api/analyses.h"
#include "models/api/atlas_run.h"
#include "tests/support/atlas_inputs.h"
#include "tests/support/checkpoint_folder.h"
#include "tests/support/exported_views.h"
#include "tests/support/paths.h"

namespace locus::views {
namespace {

using models::Example;
using models::ExampleCell;
using test::FakeAtlas;
using test::made_up_input;
using test_views::column_named;
using test_views::exported;
using test_views::view_of;

figure::Figure drawn_examples(const ViewInput& input) {
  const auto figure = view_of("examples").figure(input);
  EXPECT_TRUE(figure.ok()) << figure.error().describe();
  return figure.ok() ? *figure : figure::Figure();
}

// The number of column `name` in a row, whose words stand before its numbers.
float row_number(const Data& data, std::size_t row, const std::string& name) {
  const auto numbers = static_cast<std::size_t>(data.shape.back());
  const std::size_t words = data.columns.size() - numbers;
  return data.values[row * numbers + static_cast<std::size_t>(column_named(data, name)) - words];
}

const figure::TokenStrip& lines_in(const figure::Figure& figure) {
  return std::get<figure::TokenStrip>(figure.panels.front().layers.front());
}

TEST(ExamplesView, LinesAreTintedByTheirQuery) {
  const ViewInput input = made_up_input(1, 2);
  const figure::Figure figure = drawn_examples(input);
  ASSERT_EQ(figure.panels.size(), 4U);
  const figure::TokenStrip& strip = lines_in(figure);
  const models::HeadExamples all = FakeAtlas().examples(1, 2).value();
  std::size_t line = 0;
  std::int64_t tinted = 0;
  for (std::size_t n = 0; n < strip.tokens.size(); ++n) {
    if (strip.tokens[n] == "⏎") {
      EXPECT_EQ(tinted, 2) << line;  // the key, and the query itself
      ++line;
      tinted = 0;
      continue;
    }
    if (std::isnan(strip.values[n])) {
      continue;
    }
    const Example& window = all.windows[line];
    const auto pointed = view_of("examples").pick(input, {0, 0, 0, static_cast<std::int64_t>(n)});
    ASSERT_TRUE(pointed.query && pointed.run);
    const auto cell =
        std::ranges::find(window.cells, static_cast<std::int32_t>(pointed.query->index), &ExampleCell::key);
    ASSERT_NE(cell, window.cells.end());
    EXPECT_EQ(strip.values[n], cell->weight);
    EXPECT_EQ(pointed.run->ids, window.ids);
    EXPECT_EQ(pointed.run->checkpoint, "made-up");
    EXPECT_EQ(pointed.layer, 1);
    EXPECT_EQ(pointed.head, 2);
    EXPECT_EQ(strip.tokens[n].starts_with("→"), pointed.query->index == window.cells.front().query);
    ++tinted;
  }
  EXPECT_EQ(line, 3U);  // of the largest activations
  EXPECT_NE(figure.statement.find("head 1.2 acts most in window 5, 0.81"), std::string::npos) << figure.statement;
}

TEST(ExamplesView, LevelsShowTheirSamples) {
  ViewInput input = made_up_input(0, 0);
  for (const auto& [level, lines] : {std::pair(0, 3), std::pair(1, 1), std::pair(2, 1), std::pair(7, 0)}) {
    input.options.set("level", std::int64_t{level});
    const figure::Figure figure = drawn_examples(input);
    EXPECT_EQ(std::ranges::count(lines_in(figure).tokens, "⏎"), lines) << level;
  }
  EXPECT_NE(drawn_examples(input).panels.front().note.find("levels 1 to 2"), std::string::npos);
  input.options.set("level", std::int64_t{2});
  EXPECT_NE(drawn_examples(input).panels.front().note.find("1 drawn from level 2, activations from"),
            std::string::npos);
}

// A key that is far away stands in a piece of its own.
TEST(ExamplesView, LinesAreAsLongAsAsked) {
  ViewInput input = made_up_input(2, 3);
  for (const std::int64_t count : {6, 24, 400}) {
    input.options.set("tokens", count);
    const figure::TokenStrip strip = lines_in(drawn_examples(input));
    std::int64_t length = 0;
    for (const std::string& token : strip.tokens) {
      length = token == "⏎" ? 0 : length + 1;
      EXPECT_LE(length, std::min<std::int64_t>(count, FakeAtlas::kLength) + 8);
    }
    EXPECT_EQ(std::ranges::count_if(strip.tokens, [](const std::string& token) { return token.starts_with("→"); }), 3);
  }
}

TEST(ExamplesView, DataAreAllKeptCells) {
  const Data data = exported("examples", made_up_input(1, 1));
  const models::HeadExamples all = FakeAtlas().examples(1, 1).value();
  ASSERT_EQ(data.shape.front(), 18);
  std::size_t row = 0;
  for (const Example& window : all.windows) {
    for (const ExampleCell& cell : window.cells) {
      EXPECT_EQ(row_number(data, row, "window"), static_cast<float>(window.window));
      EXPECT_EQ(row_number(data, row, "level"), static_cast<float>(window.level));
      EXPECT_EQ(row_number(data, row, "top"), window.top ? 1 : 0);
      EXPECT_EQ(row_number(data, row, "query"), static_cast<float>(cell.query));
      EXPECT_EQ(row_number(data, row, "weight"), cell.weight);
      EXPECT_EQ(data.titles[2 * row + 1], window.tokens[static_cast<std::size_t>(cell.key)]);
      ++row;
    }
  }
}

TEST(ExamplesView, ThePointerSaysWhatATokenReads) {
  const ViewInput input = made_up_input(1, 2);
  const figure::TokenStrip strip = lines_in(drawn_examples(input));
  const auto query =
      std::ranges::find_if(strip.tokens, [](const std::string& token) { return token.starts_with("→"); });
  const auto said = view_of("examples").said_of(input, {0, 0, 0, query - strip.tokens.begin()});
  ASSERT_EQ(said.size(), 4U);
  EXPECT_EQ(said[0].substr(0, 26), "window 5, activation 0.812");
  EXPECT_EQ(said[2].substr(0, 5), "reads");
  EXPECT_EQ(said[3].substr(0, 10), "is read by");
  EXPECT_TRUE(view_of("examples").said_of(input, {1, 0.5, 0.5, -1}).empty());
  EXPECT_FALSE(view_of("examples").pick(input, {1, 0.5, 0.5, -1}).run);
}

TEST(ExamplesView, RefusesInOneLine) {
  ViewInput input = test::bundled_atlas_input("text-learned", 0, 0);
  const auto none = view_of("examples").figure(input);
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(none.error().message.find("has no examples, which locus atlas --what examples keeps"), std::string::npos);
  input = made_up_input(0, kMean);
  EXPECT_EQ(view_of("examples").figure(input).error().code, ErrorCode::kUsage);
}

// What is shown of a real atlas is what a run of the window in its checkpoint says.
TEST(ExamplesView, AWindowOpensToTheSameWeights) {
  const std::filesystem::path assets = test::source_dir() + "/assets";
  const std::filesystem::path checkpoint = assets / "checkpoints/text-rope";
  test::TemporaryFolder folder;
  models::AtlasOptions options;
  options.corpus = {assets / "samples/alice.txt"};
  options.windows = 12;
  options.length = 40;
  options.replicates = 5;
  options.what = {"examples"};
  options.out = folder.path() / "atlas.safetensors";
  const auto model = test::open_model(checkpoint);
  ASSERT_TRUE(make_atlas(*model, checkpoint, options).ok());
  ViewInput input = made_up_input(2, 1);
  input.columns = {{"atlas", nullptr, models::open_atlas_trace(options.out).value()}};
  const figure::Figure figure = drawn_examples(input);
  const figure::TokenStrip& strip = lines_in(figure);
  std::int64_t compared = 0;
  Token query;  // of the line
  for (std::size_t n = 0; n < strip.tokens.size(); ++n) {
    const Selection at = view_of("examples").pick(input, {0, 0, 0, static_cast<std::int64_t>(n)});
    ASSERT_TRUE(at.run);
    query = n == 0 || strip.tokens[n - 1] == "⏎" ? *at.query : query;  // of the activation before the line
    if (std::isnan(strip.values[n])) {
      continue;
    }
    const auto run = model->run({.ids = at.run->ids}, {.keep = {}}).value();
    models::MapRequest request;
    request.layer = 2;
    request.head = 1;
    EXPECT_NEAR(strip.values[n], run->map(request)->at(query.index, at.query->index), 1e-4);
    ++compared;
  }
  EXPECT_GT(compared, 10);
  const auto& bars = std::get<figure::Bars>(figure.panels[1].layers.front());
  double sum = 0;
  for (const double share : bars.heights) {
    sum += share;
  }
  EXPECT_NEAR(sum, 1, 1e-9);
}

}  // namespace
}  // namespace locus::views

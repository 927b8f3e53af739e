// What views of texts with pictures show, against maps and vectors of the run.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "app/views/shared/statement.h"
#include "app/views/shared/view.h"
#include "core/base/numbers.h"
#include "models/api/analyses.h"
#include "tests/support/bundled.h"
#include "tests/support/exported_views.h"
#include "tests/support/paths.h"
#include "tests/support/pictured_text.h"

namespace locus::views {
namespace {

using test_views::view_of;

constexpr double kTolerance = 1e-5;  // of float32 numbers that are divided or averaged

ViewInput captions_input() {
  models::Input given;
  given.text = "<image> a red circle left of a blue square .";
  given.images = {test::source_dir() + "/assets/samples/circle-square.png"};
  ViewInput input;
  input.columns.push_back(test::column_of(test::bundled("captions-mrope"), given));
  input.query = 17;
  return input;
}

TEST(PicturedNumbers, RelativeAttentionIsDividedByThatOfTheNeutralText) {
  ViewInput input = captions_input();
  input.layer = 0;
  input.head = 1;
  input.options = {{"relative", true}, {"neutral", std::string("a green ring .")}};
  const auto data = view_of("attention-image").data(input);
  ASSERT_TRUE(data.ok()) << data.error().describe();
  models::Input neutral;
  neutral.text = "<image> a green ring .";
  neutral.images = {test::source_dir() + "/assets/samples/circle-square.png"};
  const auto base = input.columns.front().model->run(neutral);
  ASSERT_TRUE(base.ok()) << base.error().describe();
  const models::Trace& trace = *input.columns.front().trace;
  const auto row = trace.map({0, 1, models::Quantity::kWeight, {17, 18}, {}});
  const std::int64_t last = (*base)->length() - 1;
  const auto divisor = (*base)->map({0, 1, models::Quantity::kWeight, {last, last + 1}, {}});
  const models::ImageSpan& cells = trace.images().front();
  ASSERT_EQ(data->shape, (std::vector<std::int64_t>{cells.rows, cells.columns}));
  for (std::int64_t cell = 0; cell < cells.count; ++cell) {
    const auto expected = static_cast<double>(row->at(0, cells.token(cell))) /
                          static_cast<double>(divisor->at(0, (*base)->images().front().token(cell)));
    EXPECT_NEAR(data->values[static_cast<std::size_t>(cell)] / expected, 1, kTolerance);
  }
}

// The grids of several pictures in one row: 2 × 2 and 1 × 2 tiles of 2 × 2 cells, each with the whole picture behind it.
TEST(PicturedNumbers, TilesAreAtTheirPlaceInThePicture) {
  const auto model = models::open(test::pictured_folder("internvl_tiles"));
  ASSERT_TRUE(model.ok()) << model.error().describe();
  auto given = test::pictured_input("internvl_tiles", true);
  ASSERT_TRUE(given.ok()) << given.error().describe();
  given->pixels.reset();
  ViewInput input;
  input.columns.push_back(test::column_of(*model, *given));
  input.layer = 1;
  input.head = 2;
  const models::Trace& trace = *input.columns.front().trace;
  const std::int64_t last = trace.length() - 1;
  const auto row = trace.map({1, 2, models::Quantity::kWeight, {last, last + 1}, {}});
  ASSERT_TRUE(row.ok()) << row.error().describe();
  std::vector<float> expected;
  const auto add = [&](std::int64_t first, std::int64_t down, std::int64_t across) {
    for (std::int64_t y = 0; y < 2 * down; ++y) {
      for (std::int64_t x = 0; x < 2 * across; ++x) {
        expected.push_back(row->at(0, first + (y / 2 * across + x / 2) * 4 + y % 2 * 2 + x % 2));
      }
    }
  };
  add(4, 2, 2);
  add(20, 1, 1);
  add(28, 1, 2);
  add(36, 1, 1);
  const auto data = view_of("attention-image").data(input);
  ASSERT_TRUE(data.ok()) << data.error().describe();
  EXPECT_EQ(data->values, expected);
  EXPECT_EQ(data->shape, (std::vector<std::int64_t>{32}));
  const auto figure = view_of("attention-image").figure(input);
  ASSERT_TRUE(figure.ok()) << figure.error().describe();
  ASSERT_EQ(figure->panels.size(), 8U);  // and the pictures themselves
  EXPECT_NE(figure->panels[0].title.find("image 1"), std::string::npos);
  EXPECT_NE(figure->panels[1].title.find("image 1 whole"), std::string::npos);
  EXPECT_NE(figure->panels[2].title.find("image 2"), std::string::npos);
  EXPECT_EQ(figure->panels[0].x.view.high, 4);
  const Selection picked = view_of("attention-image").pick(input, {0, 2.5, 1.5, -1});  // row 1, column 2
  EXPECT_EQ(picked.query, 4 + 4 + 2);
  const auto places = view_of("attention-image").places(input, picked);
  ASSERT_FALSE(places.empty());
  EXPECT_EQ(places.front().panel, 0U);
  EXPECT_EQ(places.front().x.low, 2);
  EXPECT_EQ(places.front().y.low, 1);
}

TEST(PicturedNumbers, RelativeAttentionIsOfWeightsOfATypedText) {
  ViewInput input = captions_input();
  input.options = {{"relative", true}};
  input.quantity = models::Quantity::kLogit;
  EXPECT_EQ(view_of("attention-image").data(input).error().code, ErrorCode::kUsage);
  const auto model = models::open(test::pictured_folder("qwen3_vl"));
  ASSERT_TRUE(model.ok()) << model.error().describe();
  const auto ids = test::pictured_input("qwen3_vl");
  ASSERT_TRUE(ids.ok()) << ids.error().describe();
  ViewInput of_ids;
  of_ids.columns.push_back(test::column_of(*model, *ids));
  of_ids.options = {{"relative", true}};
  EXPECT_EQ(view_of("attention-image").data(of_ids).error().code, ErrorCode::kUnsupported);
}

TEST(PicturedNumbers, TheStatementNamesWhatTheWordReads) {
  ViewInput input = captions_input();
  input.layer = 0;
  input.head = 1;
  const auto figure = view_of("attention-image").figure(input);
  ASSERT_TRUE(figure.ok()) << figure.error().describe();
  const models::Trace& trace = *input.columns.front().trace;
  const auto row = trace.map({0, 1, models::Quantity::kWeight, {17, 18}, {}});
  const models::ImageSpan& cells = trace.images().front();
  double sum = 0;
  std::int64_t best = 0;
  for (std::int64_t cell = 0; cell < cells.count; ++cell) {
    sum += static_cast<double>(row->at(0, cells.token(cell)));
    best = row->at(0, cells.token(cell)) > row->at(0, cells.token(best)) ? cell : best;
  }
  const std::string line = statement(view_of("attention-image").info(), input, *figure);
  const std::string expected = "gives " + fixed_text(sum, 2) + " of its attention to the picture, most of it to row " +
                               std::to_string(best / cells.columns) + ", column " +
                               std::to_string(best % cells.columns) + ": ";
  EXPECT_NE(line.find(expected), std::string::npos) << line;
  EXPECT_NE(line.find("red"), std::string::npos) << line;
}

TEST(PicturedNumbers, AnArrowLeadsFromTheWordToThePatchThatItReadsMost) {
  ViewInput input = captions_input();
  input.layer = 0;
  input.head = 1;
  const models::Trace& trace = *input.columns.front().trace;
  const models::ImageSpan& cells = trace.images().front();
  const auto row = trace.map({0, 1, models::Quantity::kWeight, {17, 18}, {}});
  std::int64_t best = 0;
  for (std::int64_t cell = 0; cell < cells.count; ++cell) {
    best = row->at(0, cells.token(cell)) > row->at(0, cells.token(best)) ? cell : best;
  }
  const auto figure = view_of("attention-image").figure(input);
  ASSERT_TRUE(figure.ok()) << figure.error().describe();
  ASSERT_EQ(figure->panels.size(), 2U);  // and the picture itself
  const figure::Panel& panel = figure->panels.front();
  const auto& arrow = std::get<figure::Curve>(panel.layers.back());
  const std::int64_t patch_row = best / cells.columns;
  EXPECT_EQ(arrow.x[1], static_cast<double>(best % cells.columns) + 0.5);
  EXPECT_EQ(arrow.y[1], static_cast<double>(patch_row) + 0.5);
  EXPECT_LT(arrow.y[0], 0);
  const auto& word = std::get<figure::HeatMap>(panel.layers[panel.layers.size() - 3]);
  EXPECT_NE(word.texts->front().find("red"), std::string::npos) << word.texts->front();
  EXPECT_LT(panel.y.view.high, 0);
  EXPECT_EQ(figure->panels.back().y.view, panel.y.view);
  EXPECT_EQ(figure->panels.back().layers.size(), 1U);
  EXPECT_NE(panel.note.find(" of " + std::to_string(cells.count) + " patches with half of its weight"),
            std::string::npos)
      << panel.note;
  input.query = cells.token(3);
  const auto of_patch = view_of("attention-image").figure(input);
  ASSERT_TRUE(of_patch.ok()) << of_patch.error().describe();
  EXPECT_EQ(of_patch->panels.front().y.view.high, 0);
}

TEST(PicturedNumbers, ProfilesAlongAComponentAreMeansOverCellsOfAPicture) {
  ViewInput input = captions_input();
  input.layer = 1;
  input.head = 2;
  input.quantity = models::Quantity::kLogit;
  const models::Trace& trace = *input.columns.front().trace;
  const auto map = trace.map({1, 2, models::Quantity::kLogit, {}, {}});
  ASSERT_TRUE(map.ok());
  const auto vectors = trace.position_vectors();
  const models::ImageSpan& cells = trace.images().front();
  for (const auto& [along, component] : {std::pair("t", 0), std::pair("h", 1), std::pair("w", 2)}) {
    SCOPED_TRACE(along);
    input.options = {{"along", std::string(along)}};
    const auto data = view_of("distance-profile").data(input);
    ASSERT_TRUE(data.ok()) << data.error().describe();
    std::map<std::int64_t, std::pair<double, double>> sums;
    for (std::int64_t i = 0; i < trace.length(); ++i) {
      for (std::int64_t j = 0; j <= i; ++j) {
        if (component == 0 || (cells.holds(i) && cells.holds(j))) {
          const auto at = static_cast<std::size_t>(component);
          const double apart = vectors[static_cast<std::size_t>(i)][at] - vectors[static_cast<std::size_t>(j)][at];
          auto& [sum, count] = sums[std::llround(apart)];
          sum += static_cast<double>(map->at(i, j));
          count += 1;
        }
      }
    }
    const auto width = static_cast<std::int64_t>(data->columns.size());
    for (std::int64_t n = 0; n < data->shape.front(); ++n) {
      const auto distance = std::llround(data->values[static_cast<std::size_t>(n * width)]);
      const float mean = data->values[static_cast<std::size_t>(n * width + 1)];
      if (sums.contains(distance)) {
        EXPECT_NEAR(mean, sums[distance].first / sums[distance].second, kTolerance) << distance;
        EXPECT_EQ(data->values[static_cast<std::size_t>(n * width + 4)], sums[distance].second);
      } else {
        EXPECT_TRUE(std::isnan(mean)) << distance;
      }
    }
  }
  EXPECT_EQ(view_of("distance-profile").figure(test_views::input_of()).ok(), true);
  ViewInput plain = test_views::input_of();
  plain.options = {{"along", std::string("h")}};
  EXPECT_EQ(view_of("distance-profile").figure(plain).error().code, ErrorCode::kUnsupported);
}

// Rotations of cells depend on rows and columns apart alone, and the maps are those of dot_product().
TEST(PicturedNumbers, AnchorsOfAPictureAgainstItsCellsAndTheWords) {
  ViewInput input = captions_input();
  input.options = {{"anchors", std::string("1,2")}};
  const auto data = view_of("pe-dot-product-2d").data(input);
  ASSERT_TRUE(data.ok()) << data.error().describe();
  const models::Trace& trace = *input.columns.front().trace;
  const models::ImageSpan& cells = trace.images().front();
  ASSERT_EQ(data->shape, (std::vector<std::int64_t>{1, cells.rows, cells.columns}));
  const std::int64_t anchor = cells.token(cells.columns + 2);
  const Range all{0, trace.length()};
  const auto row = trace.dot_product(0, 0, {anchor, anchor + 1}, all, {});
  ASSERT_TRUE(row.ok()) << row.error().describe();
  for (std::int64_t cell = 0; cell < cells.count; ++cell) {
    EXPECT_EQ(data->values[static_cast<std::size_t>(cell)], row->at(0, cells.token(cell)));
  }
  const auto value = [&](std::int64_t r, std::int64_t c) {
    return data->values[static_cast<std::size_t>(r * cells.columns + c)];
  };
  EXPECT_NEAR(value(0, 2), value(2, 2), kTolerance * std::abs(value(0, 2)));  // one row up and down
  EXPECT_NEAR(value(1, 1), value(1, 3), kTolerance * std::abs(value(1, 1)));  // one column left and right
  EXPECT_LT(value(3, 2), value(1, 2));
  const auto figure = view_of("pe-dot-product-2d").figure(input);
  ASSERT_TRUE(figure.ok()) << figure.error().describe();
  ASSERT_EQ(figure->panels.size(), 2U);
  const auto& words = std::get<figure::HeatMap>(figure->panels.back().layers.front());
  ASSERT_EQ(words.field->columns, trace.length() - cells.count);
  EXPECT_EQ(words.field->at(0, words.field->columns - 1), row->at(0, trace.length() - 1));
  const Selection moved = view_of("pe-dot-product-2d").pick(input, {0, 3.5, 0.5, -1});
  ASSERT_TRUE(moved.option.has_value());
  EXPECT_EQ(std::get<std::string>(moved.option->second), "0,3");
  EXPECT_FALSE(view_of("pe-dot-product-2d").pick(input, {1, 3.5, 0.5, -1}).option.has_value());
}

// A column whose positions are one number stands beside one whose positions are vectors.
TEST(PicturedNumbers, PositionsOfFlatAndOfMropeStandBesideEachOther) {
  ViewInput input = captions_input();
  models::Input given;
  given.text = "<image> a red circle left of a blue square .";
  given.images = {test::source_dir() + "/assets/samples/circle-square.png"};
  input.columns.push_back(test::column_of(test::bundled("captions-flat"), given));
  const auto figure = view_of("positions").figure(input);
  ASSERT_TRUE(figure.ok()) << figure.error().describe();
  ASSERT_EQ(figure->panels.size(), 5U);  // two strips; rows and columns of the first, the position of the second
  const auto& flat = std::get<figure::HeatMap>(figure->panels[4].layers.back()).field;
  const models::ImageSpan& cells = input.columns.back().trace->images().front();
  for (std::int64_t row = 0; row < cells.rows; ++row) {
    for (std::int64_t column = 0; column < cells.columns; ++column) {
      EXPECT_EQ(flat->at(row, column), static_cast<float>(cells.first + row * cells.columns + column));
    }
  }
  std::swap(input.columns[0], input.columns[1]);
  const auto data = view_of("positions").data(input);
  ASSERT_TRUE(data.ok()) << data.error().describe();
  EXPECT_EQ(data->columns, (std::vector<std::string>{"token", "position"}));
}

TEST(PicturedNumbers, CellsAreMarksInATintedText) {
  const ViewInput input = captions_input();
  const auto figure = view_of("attention-text").figure(input);
  ASSERT_TRUE(figure.ok()) << figure.error().describe();
  const auto& strip = std::get<figure::TokenStrip>(figure->panels.front().layers.front());
  const models::ImageSpan& cells = input.columns.front().trace->images().front();
  EXPECT_EQ(strip.tokens[static_cast<std::size_t>(cells.token(5))], "▦");
  EXPECT_EQ(strip.tokens.size(), input.columns.front().trace->tokens().size());
}

TEST(PicturedNumbers, ViewsThatRunPartsOfATextSayThatTheyCannotHoldPictures) {
  const ViewInput input = captions_input();
  for (const char* const name : {"length-curve", "shift-stability"}) {
    const Status available = view_of(name).available(input.columns.front());
    ASSERT_FALSE(available.ok()) << name;
    EXPECT_NE(available.error().message.find("pictures"), std::string::npos);
  }
}

}  // namespace
}  // namespace locus::views

// What no query sees is masked in every view that draws attention maps, whatever masks it: the future, a window, a
// chunk, the blocks of a picture. In data a masked weight is 0 and everything else NaN.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "app/views/shared/plots/map_lines.h"
#include "app/views/shared/view.h"
#include "tests/support/bundled.h"
#include "tests/support/exported_views.h"
#include "tests/support/paths.h"

namespace locus::views {
namespace {

using test_views::view_of;

constexpr std::int64_t kMaskedLength = 18;

Column masking_column(const std::string& family) {
  auto model = models::open(test::source_dir() + "/tests/golden/families/" + family);
  EXPECT_TRUE(model.ok()) << (model.ok() ? "" : model.error().describe());
  models::Input input;
  input.ids = std::vector<std::int64_t>(static_cast<std::size_t>(kMaskedLength));
  std::iota(input.ids->begin(), input.ids->end(), std::int64_t{3});
  return test::column_of(*std::move(model), input, family);
}

// A picture whose tower attends within windows.
Column windowed_tower() {
  const std::string folder = test::source_dir() + "/tests/golden/families-vlm/qwen2_5_vl";
  auto model = models::open(folder);
  EXPECT_TRUE(model.ok()) << (model.ok() ? "" : model.error().describe());
  const models::Model& of = **model;
  models::Input input;
  const std::int64_t placeholder = of.info().placeholder;
  EXPECT_GE(placeholder, 0);
  input.ids = std::vector<std::int64_t>{5, placeholder, 6};
  input.images = {folder + "/image0.png"};
  auto trace = of.run(input);
  EXPECT_TRUE(trace.ok()) << (trace.ok() ? "" : trace.error().describe());
  auto tower = (*trace)->side(models::Side::kVision);
  EXPECT_NE(tower, nullptr);
  return {"tower", *std::move(model), std::move(tower)};
}

// A picture in a text whose cells see each other.
Column picture_in_text() {
  const std::string folder = test::source_dir() + "/tests/golden/families-vlm/gemma3";
  auto model = models::open(folder);
  EXPECT_TRUE(model.ok()) << (model.ok() ? "" : model.error().describe());
  models::Input input;
  input.ids = std::vector<std::int64_t>{5, (*model)->info().placeholder, 6, 7, 8, 9};
  input.images = {folder + "/image0.png"};
  return test::column_of(*std::move(model), input, "gemma3");
}

ViewInput masking_input(const Column& column, std::int64_t layer) {
  ViewInput input;
  input.columns.push_back(column);
  input.layer = layer;
  input.head = 1;
  return input;
}

// Whether the query sees the key: a hidden logit is NaN.
bool sees(const Field& logits, std::int64_t query, std::int64_t key) {
  return !std::isnan(logits.at(query, key));
}

std::vector<Column> masking_columns() {
  return {masking_column("gemma2"),
          masking_column("gemma3_text"),
          masking_column("llama4_text"),
          masking_column("modernbert"),
          windowed_tower(),
          picture_in_text()};
}

const Field& drawn_map(const figure::Figure& figure) {
  return *map_of(figure.panels.front())->field;
}

TEST(MaskedCells, AreMaskedInTheMapAndZeroInItsData) {
  for (const Column& column : masking_columns()) {
    std::int64_t hidden_before = 0;  // keys before their query that it does not see
    for (std::int64_t layer = 0; layer < column.trace->model().layers; ++layer) {
      const ViewInput input = masking_input(column, layer);
      const Field logits = test_views::map_of(*column.trace, layer, 1, models::Quantity::kLogit);
      const auto figure = view_of("attention").figure(input);
      ASSERT_TRUE(figure.ok()) << figure.error().describe();
      const Data data = test_views::exported("attention", input);
      const Field& map = drawn_map(*figure);
      ASSERT_EQ(map.rows, logits.rows);
      for (std::int64_t i = 0; i < map.rows; ++i) {
        for (std::int64_t j = 0; j < map.columns; ++j) {
          const bool seen = sees(logits, i, j);
          hidden_before += !seen && j <= i ? 1 : 0;
          ASSERT_EQ(std::isnan(map.at(i, j)), !seen) << column.name << " layer " << layer << " cell " << i << ", " << j;
          ASSERT_EQ(test_views::at(data, i, j), seen ? static_cast<double>(map.at(i, j)) : 0.0);
        }
      }
    }
    EXPECT_GT(hidden_before, column.name == "gemma3" ? -1 : 0) << column.name;
  }
}

// Hatched whatever the quantity; what hides keys before their query is in the legend, and the edge of a window or a
// chunk runs between what is seen and what is not.
TEST(MaskedCells, AreHatchedAndTheLegendSaysWhatHidesThem) {
  const std::map<std::string, std::string> said{{"gemma2", "not visible: window 5"},
                                                {"llama4_text", "not visible: chunk 6"}};
  for (const auto& [name, why] : said) {
    const Column column = masking_column(name);
    const models::ModelInfo& model = column.trace->model();
    int explained = 0;
    for (std::int64_t layer = 0; layer < model.layers; ++layer) {
      ViewInput input = masking_input(column, layer);
      for (const models::Quantity quantity : {models::Quantity::kWeight, models::Quantity::kLogit}) {
        input.quantity = quantity;
        const auto figure = view_of("attention").figure(input);
        ASSERT_TRUE(figure.ok()) << figure.error().describe();
        const figure::HeatMap& map = *map_of(figure->panels.front());
        EXPECT_TRUE(map.masked);
        const models::LayerInfo& own = model.layer_info[static_cast<std::size_t>(layer)];
        if (own.window == 0 && own.chunk == 0) {
          EXPECT_EQ(map.hidden, "") << name << " layer " << layer;
          EXPECT_TRUE(map.edge_x.empty());
          continue;
        }
        ++explained;
        EXPECT_TRUE(map.hidden.starts_with("not visible: ")) << map.hidden;
        EXPECT_EQ(map.hidden, own.window > 0 ? "not visible: window " + std::to_string(own.window)
                                             : "not visible: chunk " + std::to_string(own.chunk));
        // Every upright piece stands at the first key that its query sees.
        for (std::size_t n = 1; n < map.edge_x.size(); ++n) {
          if (map.edge_x[n] != map.edge_x[n - 1]) {
            continue;
          }
          const auto key = static_cast<std::int64_t>(map.edge_x[n]);
          for (auto query = static_cast<std::int64_t>(map.edge_y[n - 1]); query < std::llround(map.edge_y[n]);
               ++query) {
            EXPECT_FALSE(std::isnan(map.field->at(query, key))) << query << ", " << key;
            EXPECT_TRUE(std::isnan(map.field->at(query, key - 1))) << query << ", " << key;
          }
        }
      }
    }
    EXPECT_GT(explained, 0) << name << ": " << why;
  }
}

TEST(MaskedCells, AreHatchedWhereEdgesAreCut) {
  const auto model = test::bundled("text-rope");
  const auto edit = models::parse_edit("edge 1.2 6:9 0:4", 0);
  ASSERT_TRUE(edit.ok()) << edit.error().describe();
  const auto cut = model->edited({*edit});
  ASSERT_TRUE(cut.ok()) << cut.error().describe();
  ViewInput input;
  input.columns.push_back(test::column_of(*cut, std::string("One boat, two boats."), "cut"));
  input.layer = 1;
  input.head = 2;
  for (const models::Quantity quantity : {models::Quantity::kWeight, models::Quantity::kLogit}) {
    input.quantity = quantity;
    const auto figure = view_of("attention").figure(input);
    ASSERT_TRUE(figure.ok()) << figure.error().describe();
    const figure::HeatMap& map = *map_of(figure->panels.front());
    EXPECT_TRUE(std::isnan(map.field->at(7, 2))) << models::to_text(quantity);
    EXPECT_FALSE(std::isnan(map.field->at(7, 5)));
    EXPECT_EQ(map.hidden, "not visible: cut edges");
  }
  input.head = 1;  // the other heads have all edges
  EXPECT_EQ(map_of(view_of("attention").figure(input)->panels.front())->hidden, "");
}

// A layer without a softmax has no map: no mask is to blame.
TEST(MaskedCells, AreNotNamedWhereALayerHasNoMap) {
  ViewInput input;
  input.columns.push_back(test::column_of(test::bundled("text-delta-nope"), std::string("One boat, two."), "hybrid"));
  int empty = 0;
  for (input.layer = 0; input.layer < 4; ++input.layer) {
    const auto figure = view_of("attention").figure(input);
    ASSERT_TRUE(figure.ok()) << figure.error().describe();
    const figure::HeatMap& map = *map_of(figure->panels.front());
    EXPECT_EQ(map.hidden, "") << input.layer;
    empty += std::isnan(map.field->at(5, 0)) ? 1 : 0;
  }
  EXPECT_EQ(empty, 3);
}

TEST(MaskedCells, AreMaskedInReducedMapsWhereAllOfTheirKeysAre) {
  for (const Column& column : masking_columns()) {
    ViewInput input = masking_input(column, 0);
    input.width_px = input.height_px = 1;  // at least 32 pixels are told apart
    input.reduction = Reduction::kMean;
    const Field logits = test_views::map_of(*column.trace, 0, 1, models::Quantity::kLogit);
    models::MapRequest request;
    request.head = 1;
    request.mark_masked = true;
    constexpr std::int64_t kPixels = 6;
    const auto map = column.trace->overview(request, kPixels, kPixels, Reduction::kMean);
    ASSERT_TRUE(map.ok());
    for (std::int64_t r = 0; r < kPixels; ++r) {
      for (std::int64_t c = 0; c < kPixels; ++c) {
        bool any = false;
        for (std::int64_t i = r * logits.rows / kPixels; i < (r + 1) * logits.rows / kPixels; ++i) {
          for (std::int64_t j = c * logits.columns / kPixels; j < (c + 1) * logits.columns / kPixels; ++j) {
            any = any || sees(logits, i, j);
          }
        }
        EXPECT_EQ(std::isnan(map->at(r, c)), !any) << column.name << " pixel " << r << ", " << c;
      }
    }
  }
}

TEST(MaskedCells, AreMaskedInTheGrid) {
  for (const Column& column : masking_columns()) {
    ViewInput input = masking_input(column, 0);
    input.width_px = input.height_px = 4096;
    const auto figure = view_of("attention-grid").figure(input);
    ASSERT_TRUE(figure.ok()) << figure.error().describe();
    const Field& mosaic = drawn_map(*figure);
    const auto rows = static_cast<std::int64_t>(figure->panels.front().y.view.low);
    const std::int64_t size = mosaic.rows / rows;
    for (std::int64_t layer = 0; layer < column.trace->model().layers; ++layer) {
      const Field logits = test_views::map_of(*column.trace, layer, 1, models::Quantity::kLogit);
      ASSERT_GE(size, logits.rows);
      Selection head;
      head.layer = layer;
      head.head = 1;
      const auto places = view_of("attention-grid").places(input, head);
      ASSERT_EQ(places.size(), 1U);
      const auto top = static_cast<std::int64_t>(places[0].y.low) * size;
      const auto left = static_cast<std::int64_t>(places[0].x.low) * size;
      for (std::int64_t r = 0; r < size; ++r) {
        for (std::int64_t c = 0; c < size; ++c) {
          const bool seen = sees(logits, r * logits.rows / size, c * logits.columns / size);
          ASSERT_EQ(std::isnan(mosaic.at(top + r, left + c)), !seen) << column.name;
        }
      }
    }
  }
}

TEST(MaskedCells, AreNotTintedInTheText) {
  const Column column = masking_column("gemma2");
  ViewInput input = masking_input(column, 0);
  input.query = 12;
  const Field logits = test_views::map_of(*column.trace, 0, 1, models::Quantity::kLogit);
  const auto figure = view_of("attention-text").figure(input);
  ASSERT_TRUE(figure.ok()) << figure.error().describe();
  const auto& strip = std::get<figure::TokenStrip>(figure->panels.front().layers.front());
  const Data data = test_views::exported("attention-text", input);
  ASSERT_FALSE(sees(logits, 12, 2));
  for (std::int64_t key = 0; key < column.trace->length(); ++key) {
    const float value = strip.values[static_cast<std::size_t>(key)];
    EXPECT_EQ(std::isnan(value), !sees(logits, 12, key)) << key;
    EXPECT_EQ(test_views::at(data, key, 1), std::isnan(value) ? 0.0 : static_cast<double>(value)) << key;
  }
}

// Where one of two maps masks a cell, the difference is what the other gives to it; where both do, it is masked.
TEST(MaskedCells, OfOneMapAloneAreNothingInADifference) {
  ViewInput input = masking_input(masking_column("gemma2"), 0);
  Column other = input.columns.front();
  other.own = HeadRef{1, 1};  // a layer without a window
  input.columns.push_back(other);
  input.difference = true;
  const Field windowed = test_views::map_of(*other.trace, 0, 1, models::Quantity::kLogit);
  const Field full = test_views::map_of(*other.trace, 1, 1, models::Quantity::kLogit);
  ASSERT_FALSE(sees(windowed, 12, 2));
  ASSERT_TRUE(sees(full, 12, 2));
  const auto figure = view_of("attention").figure(input);
  ASSERT_TRUE(figure.ok()) << figure.error().describe();
  const Data data = test_views::exported("attention", input);
  const Field& map = *map_of(figure->panels.back())->field;
  for (std::int64_t i = 0; i < map.rows; ++i) {
    for (std::int64_t j = 0; j < map.columns; ++j) {
      const bool any = sees(windowed, i, j) || sees(full, i, j);
      ASSERT_EQ(std::isnan(map.at(i, j)), !any);
      ASSERT_EQ(test_views::at(data, i, j), any ? static_cast<double>(map.at(i, j)) : 0.0) << i << ", " << j;
    }
  }
}

// The distance that the layer's mask lets a query see, counted on the map.
std::int64_t farthest_seen(const Field& logits) {
  std::int64_t most = 0;
  for (std::int64_t i = 0; i < logits.rows; ++i) {
    for (std::int64_t j = 0; j < logits.columns; ++j) {
      most = sees(logits, i, j) ? std::max(most, std::abs(i - j)) : most;
    }
  }
  return most;
}

double rightmost(const figure::Panel& panel) {
  double most = 0;
  for (const figure::Layer& layer : panel.layers) {
    if (const auto* curve = std::get_if<figure::Curve>(&layer)) {
      most = curve->x.empty() ? most : std::max(most, curve->x.back());
    }
  }
  return most;
}

// Distances that no query sees are not drawn, not exported, and it is said where they end.
TEST(MaskedCells, CurvesOverDistancesEndWhereTheWindowDoes) {
  for (const char* const family : {"gemma2", "gemma3_text", "llama4_text", "modernbert"}) {
    const Column column = masking_column(family);
    for (std::int64_t layer = 0; layer < column.trace->model().layers; ++layer) {
      ViewInput input = masking_input(column, layer);
      const Field logits = test_views::map_of(*column.trace, layer, 1, models::Quantity::kLogit);
      const std::int64_t farthest = farthest_seen(logits);
      const bool limited = farthest + 1 < kMaskedLength;
      EXPECT_EQ(column.trace->model().farthest(layer).has_value(), limited) << family << " layer " << layer;
      const std::string said = "no query sees farther than " + std::to_string(farthest) + " tokens";
      for (const char* const view : {"distance-profile", "kernel"}) {
        ViewInput own = input;
        if (view == std::string("kernel")) {
          own.options.set("reach", std::int64_t{16});
        } else {
          own.options.set("theory", std::string("llama"));
          own.quantity = models::Quantity::kLogit;
        }
        const auto figure = view_of(view).figure(own);
        if (!figure.ok()) {
          EXPECT_EQ(figure.error().code, ErrorCode::kUnsupported) << figure.error().describe();
          continue;
        }
        const figure::Panel& panel = figure->panels.front();
        const std::int64_t last = limited ? farthest : kMaskedLength - 1;
        EXPECT_EQ(rightmost(panel), static_cast<double>(last)) << view << " " << family << " layer " << layer;
        EXPECT_LE(panel.x.view.high, static_cast<double>(last + 1)) << view << " " << family;
        EXPECT_EQ(panel.note.find(said) != std::string::npos, limited) << view << ": " << panel.note;
        const Data data = test_views::exported(view, own);
        std::int64_t quoted = 0;
        for (std::int64_t row = 0; row < data.shape[0]; ++row) {
          for (std::int64_t c = 1; c < data.shape[1]; ++c) {
            const bool number = std::isfinite(test_views::at(data, row, c)) && test_views::at(data, row, c) != 0;
            quoted = number ? std::max(quoted, static_cast<std::int64_t>(test_views::at(data, row, 0))) : quoted;
          }
        }
        EXPECT_EQ(quoted, last) << view << " " << family;
      }
    }
  }
}

}  // namespace
}  // namespace locus::views

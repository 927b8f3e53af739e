// Sink cells of the view `attention-image`: their ratios against sums over whole maps of single heads, and what is drawn,
// written and exported of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "app/views/images/sink_cells.h"
#include "app/views/shared/view.h"
#include "core/base/numbers.h"
#include "tests/support/bundled.h"
#include "tests/support/exported_views.h"
#include "tests/support/fake_views.h"
#include "tests/support/paths.h"
#include "tests/support/pictured_text.h"

namespace locus::views {
namespace {

using test_views::fake;
using test_views::fake_image;
using test_views::view_of;

constexpr double kRatioTolerance = 1e-4;  // of float32 means over heads

// Of one key, from every head's whole map; a weight of 0 is a key that is not seen.
double ratio_by_heads(const models::Trace& trace, std::int64_t layer, std::int64_t key) {
  std::vector<Field> maps;
  for (std::int64_t head = 0; head < trace.model().heads; ++head) {
    const auto map = trace.map({layer, head, models::Quantity::kWeight, {}, {}});
    EXPECT_TRUE(map.ok()) << map.error().describe();
    maps.push_back(*map);
  }
  const auto readers = [&](std::int64_t of) {
    std::int64_t count = 0;
    for (std::int64_t query = 0; query < trace.length(); ++query) {
      count += query != of && maps.front().at(query, of) > 0 ? 1 : 0;
    }
    return count;
  };
  std::int64_t most = 0;
  for (std::int64_t other = 0; other < trace.length(); ++other) {
    most = std::max(most, readers(other));
  }
  if (readers(key) < 16 || 4 * readers(key) < most) {
    return std::nan("");
  }
  double read = 0;
  double equal = 0;
  for (std::int64_t query = 0; query < trace.length(); ++query) {
    if (query == key || !(maps.front().at(query, key) > 0)) {
      continue;
    }
    std::int64_t seen = 0;
    for (std::int64_t other = 0; other < trace.length(); ++other) {
      seen += maps.front().at(query, other) > 0 ? 1 : 0;
    }
    for (const Field& map : maps) {
      read += static_cast<double>(map.at(query, key)) / static_cast<double>(maps.size());
    }
    equal += 1 / static_cast<double>(seen);
  }
  return read / equal;
}

void expect_ratios(const models::Trace& trace) {
  const auto ratios = sink_ratios(trace, {1, 0}, {});
  ASSERT_TRUE(ratios.ok()) << ratios.error().describe();
  ASSERT_EQ(ratios->rows, 2);
  ASSERT_EQ(ratios->columns, trace.length());
  std::int64_t measured = 0;
  for (std::int64_t row = 0; row < 2; ++row) {
    for (std::int64_t key = 0; key < trace.length(); ++key) {
      const double expected = ratio_by_heads(trace, 1 - row, key);
      const auto found = static_cast<double>(ratios->at(row, key));
      EXPECT_EQ(std::isnan(found), std::isnan(expected)) << key;
      if (!std::isnan(expected)) {
        EXPECT_NEAR(found, expected, kRatioTolerance * (1 + expected)) << key;
        ++measured;
      }
    }
  }
  EXPECT_GT(measured, 0);
}

TEST(SinkCells, RatiosAreThoseOfSumsOverWholeMaps) {
  for (const char* const family : {"qwen3_vl", "gemma3", "pixtral"}) {  // causal; blocks and a window; ends of rows
    SCOPED_TRACE(family);
    const auto model = models::open(test::pictured_folder(family));
    ASSERT_TRUE(model.ok()) << model.error().describe();
    const auto given = test::pictured_input(family);
    ASSERT_TRUE(given.ok()) << given.error().describe();
    const auto trace = (*model)->run(*given);
    ASSERT_TRUE(trace.ok()) << trace.error().describe();
    expect_ratios(**trace);
  }
  expect_ratios(fake(fake_image()));
}

TEST(SinkCells, AreMarkedWrittenAndExported) {
  ViewInput input = fake_image();
  const models::Trace& trace = fake(input);
  const models::ImageSpan cells = cells_of(trace.image_grid());
  std::vector<SinkCell> expected;
  for (std::int64_t cell = 0; cell < cells.count; ++cell) {
    if (const double ratio = ratio_by_heads(trace, 0, cells.token(cell)); ratio > 3) {
      expected.push_back({cell, ratio});
    }
  }
  ASSERT_FALSE(expected.empty());
  input.options.set("sinks", 3.0);
  const auto data = view_of("attention-image").data(input);
  ASSERT_TRUE(data.ok()) << data.error().describe();
  EXPECT_EQ(data->shape, (std::vector<std::int64_t>{cells.rows, cells.columns}));
  EXPECT_EQ(data->values.size(), static_cast<std::size_t>(cells.count));
  for (const SinkCell& sink : expected) {
    const std::string place = "row " + std::to_string(sink.cell / cells.columns) + ", column " +
                              std::to_string(sink.cell % cells.columns) + " (" + fixed_text(sink.ratio, 2) + ")";
    EXPECT_NE(data->titles.front().find(place), std::string::npos) << data->titles.front();
  }
  const std::string count = std::to_string(expected.size()) + " sink cell";
  EXPECT_NE(data->titles.front().find("; " + count), std::string::npos) << data->titles.front();
  const auto figure = view_of("attention-image").figure(input);
  ASSERT_TRUE(figure.ok()) << figure.error().describe();
  const figure::Panel& panel = figure->panels.front();
  EXPECT_NE(panel.note.find("; " + count), std::string::npos) << panel.note;
  const figure::Curve* frames = nullptr;
  for (const figure::Layer& layer : panel.layers) {
    const auto* const curve = std::get_if<figure::Curve>(&layer);
    frames = curve != nullptr && curve->name.starts_with("sink cell") ? curve : frames;
  }
  ASSERT_NE(frames, nullptr);  // an entry of the legend
  ASSERT_EQ(frames->x.size(), 6 * expected.size());
  for (std::size_t n = 0; n < expected.size(); ++n) {
    for (std::size_t corner = 6 * n; corner < 6 * n + 5; ++corner) {
      EXPECT_EQ(static_cast<std::int64_t>(std::floor(frames->x[corner])), expected[n].cell % cells.columns);
      EXPECT_EQ(static_cast<std::int64_t>(std::floor(frames->y[corner])), expected[n].cell / cells.columns);
    }
    EXPECT_TRUE(std::isnan(frames->x[6 * n + 5]));
  }
}

// Every layer has its own, the exported values stay those of the weights, and 0 marks none.
TEST(SinkCells, AreOfTheirLayerAndCanBeTurnedOff) {
  ViewInput input = fake_image();
  input.layer = kAll;
  input.head = kAll;
  input.options.set("sinks", 0.0);
  const auto plain = view_of("attention-image").data(input);
  ASSERT_TRUE(plain.ok()) << plain.error().describe();
  input.options.set("sinks", 1.5);
  const auto marked = view_of("attention-image").data(input);
  ASSERT_TRUE(marked.ok()) << marked.error().describe();
  EXPECT_EQ(marked->shape, plain->shape);
  EXPECT_EQ(marked->values, plain->values);
  ASSERT_EQ(marked->titles.size(), plain->titles.size());
  const models::Trace& trace = fake(input);
  const models::ImageSpan cells = cells_of(trace.image_grid());
  const std::int64_t heads = trace.model().heads;
  const auto ratios = sink_ratios(trace, {0, 1, 2}, {});
  ASSERT_TRUE(ratios.ok()) << ratios.error().describe();
  for (std::size_t n = 0; n < marked->titles.size(); ++n) {
    EXPECT_EQ(plain->titles[n].find("sink"), std::string::npos) << plain->titles[n];
    const auto layer = static_cast<std::int64_t>(n) / heads;
    const std::string own = sinks_text(sink_cells(*ratios, layer, cells, 1.5), cells);
    EXPECT_EQ(marked->titles[n], plain->titles[n] + "; " + own);
  }
}

TEST(SinkCells, KeysThatFewQueriesSeeAreNone) {
  ViewInput input = test_views::fake_text("A short text of letters");
  const models::Trace& trace = fake(input);
  const auto ratios = sink_ratios(trace, {0}, {});
  ASSERT_TRUE(ratios.ok()) << ratios.error().describe();
  for (std::int64_t key = 0; key < trace.length(); ++key) {
    EXPECT_EQ(std::isnan(ratios->at(0, key)), trace.length() - 1 - key < 16) << key;
  }
}

TEST(SinkCells, TextsNameThePlaces) {
  const models::ImageSpan cells{3, 6, 2, 3, 3};
  EXPECT_EQ(sinks_text({}, cells), "");
  EXPECT_EQ(sinks_text({{4, 6.125}}, cells), "1 sink cell: row 1, column 1 (6.12)");
  EXPECT_EQ(sinks_text({{0, 5.5}, {5, 20}}, cells), "2 sink cells: row 0, column 0 (5.50), row 1, column 2 (20.00)");
}

}  // namespace
}  // namespace locus::views

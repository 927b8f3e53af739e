// What the views and the inspector show of layers that are not like others: gpt-oss's sink, DeBERTa's parts.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <variant>

#include "app/views/shared/view.h"
#include "app/workbench/work/cell_values.h"
#include "models/api/model.h"
#include "tests/support/counting_trace.h"
#include "tests/support/exported_views.h"
#include "tests/support/paths.h"

namespace locus::views {
namespace {

using test_views::view_of;

constexpr std::int64_t kTokens = 20;

ViewInput run_of(const std::string& family) {
  static const models::OpenOptions defaults;  // a temporary one is a false alarm of GCC 12
  auto model = models::open(test::source_dir() + "/tests/golden/families/" + family, defaults);
  EXPECT_TRUE(model.ok()) << model.error().describe();
  models::Input ids;
  ids.ids.emplace();
  for (std::int64_t n = 0; n < kTokens; ++n) {
    ids.ids->push_back(3 + (7 * n) % 40);
  }
  auto trace = (*model)->run(ids);
  EXPECT_TRUE(trace.ok());
  ViewInput input;
  input.columns.push_back({family, *model, *trace});
  return input;
}

std::vector<const figure::HeatMap*> heat_maps(const figure::Panel& panel) {
  std::vector<const figure::HeatMap*> maps;
  for (const figure::Layer& layer : panel.layers) {
    if (const auto* map = std::get_if<figure::HeatMap>(&layer)) {
      maps.push_back(map);
    }
  }
  return maps;
}

TEST(SinkView, TheSinkStandsLeftOfKeyZero) {
  ViewInput input = run_of("gpt_oss");
  for (const std::int64_t head : {std::int64_t{2}, kMean}) {
    input.head = head;
    const auto figure = view_of("attention").figure(input);
    ASSERT_TRUE(figure.ok()) << figure.error().describe();
    const figure::Panel& panel = figure->panels.front();
    const auto maps = heat_maps(panel);
    ASSERT_EQ(maps.size(), 2U);
    const Field& keys = *maps[0]->field;
    const Field& sink = *maps[1]->field;
    EXPECT_EQ(panel.x.view.low, -1);
    EXPECT_EQ(sink.column_axis.first, -1);
    EXPECT_EQ(sink.column_axis.first + sink.column_axis.step, 0);
    ASSERT_EQ(sink.rows, kTokens);
    float most = 0;
    for (std::int64_t row = 0; row < kTokens; ++row) {
      double sum = sink.at(row, 0);
      for (std::int64_t key = 0; key <= row; ++key) {
        sum += std::isnan(keys.at(row, key)) ? 0 : keys.at(row, key);  // outside the window
      }
      EXPECT_NEAR(sum, 1, 1e-5) << row;
      most = std::max(most, sink.at(row, 0));
    }
    EXPECT_GT(most, 0.01F);
    EXPECT_EQ(maps[0]->scale.high, maps[1]->scale.high);
    EXPECT_GE(maps[0]->scale.high, most);
    const auto named = std::find_if(panel.layers.begin(), panel.layers.end(), [](const figure::Layer& layer) {
      const auto* marker = std::get_if<figure::Marker>(&layer);
      return marker != nullptr && marker->at == 0;
    });
    EXPECT_NE(named, panel.layers.end());
    EXPECT_NE(panel.note.find("left of key 0: the sink"), std::string::npos) << panel.note;
    EXPECT_EQ(view_of("attention").home(input)->x.low, -1);
  }
  const auto data = view_of("attention").data(input);
  ASSERT_TRUE(data.ok());
  EXPECT_EQ(data->shape, (std::vector<std::int64_t>{kTokens, kTokens}));
}

TEST(SinkView, OnlyWeightsOfLayersWithASinkHaveIt) {
  ViewInput input = run_of("gpt_oss");
  input.quantity = models::Quantity::kLogit;
  const auto logits = view_of("attention").figure(input);
  ASSERT_TRUE(logits.ok());
  EXPECT_EQ(heat_maps(logits->panels.front()).size(), 1U);
  EXPECT_EQ(logits->panels.front().x.view.low, 0);
  const ViewInput plain = run_of("smollm3");
  const auto figure = view_of("attention").figure(plain);
  ASSERT_TRUE(figure.ok());
  EXPECT_EQ(heat_maps(figure->panels.front()).size(), 1U);
  EXPECT_EQ(view_of("attention").home(plain)->x.low, 0);
}

// The window asks for it at each change of its state, and a stored map's sink takes a pass over the map.
TEST(SinkView, WhereAMapBeginsIsKnownWithoutItsSink) {
  ViewInput input = run_of("gpt_oss");
  const auto counter = std::make_shared<test::CountingTrace>(input.columns.front().trace);
  input.columns.front().trace = counter;
  EXPECT_EQ(view_of("attention").home(input)->x.low, -1);
  EXPECT_EQ(counter->reads(), 0);
  EXPECT_TRUE(view_of("attention").figure(input).ok());
  EXPECT_GT(counter->reads(), 1);
}

TEST(SinkView, TheInspectorSaysTheSinksWeight) {
  ViewInput input = run_of("gpt_oss");
  input.head = 1;
  const auto cells = workbench::cell_values(view_of("attention"), input, 6, 2, {});
  ASSERT_TRUE(cells.ok());
  const auto& values = cells->front().values;
  EXPECT_EQ(values.back().quantity, std::nullopt);
  const auto sink = input.columns.front().trace->sink(0, 1, {6, 7});
  ASSERT_TRUE(values.back().value.has_value());
  EXPECT_EQ(*values.back().value, sink->values.front());
  const auto none = workbench::cell_values(view_of("attention"), run_of("smollm3"), 6, 2, {});
  EXPECT_FALSE(none->front().values.back().value.has_value());
}

TEST(SinkView, DebertasPartsAreInTheInspectorAndTheMap) {
  ViewInput input = run_of("deberta-v2");
  const auto cells = workbench::cell_values(view_of("attention"), input, 3, 9, {});
  ASSERT_TRUE(cells.ok());
  const auto& values = cells->front().values;
  ASSERT_EQ(values.size(), 12U);
  const auto value = [&](std::size_t n) { return values[n].value.value_or(NAN); };
  EXPECT_NEAR(value(0) + value(6) + value(7), value(2), 1e-5);  // content + c2p + p2c is the logit
  EXPECT_NEAR(value(6) + value(7), value(1), 1e-5);             // the contribution
  for (const models::Quantity quantity : {models::Quantity::kC2p, models::Quantity::kP2c}) {
    input.quantity = quantity;
    const auto figure = view_of("attention").figure(input);
    ASSERT_TRUE(figure.ok()) << figure.error().describe();
    EXPECT_EQ(heat_maps(figure->panels.front()).front()->scale.colormap, "vik");
  }
  input.columns = run_of("qwen3").columns;
  EXPECT_EQ(view_of("attention").figure(input).error().code, ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace locus::views

// The view `kernel`: its exported numbers against the logits of single tokens and of the run.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "app/views/curves/distance_curves.h"
#include "core/base/numbers.h"
#include "models/api/kernel.h"
#include "tests/support/exported_views.h"
#include "tests/support/fake_model.h"

namespace locus::views {
namespace {

using test_views::at;
using test_views::column_named;
using test_views::expect_near;
using test_views::exported;
using test_views::view_of;

ViewInput kernel_input(std::int64_t layer, std::int64_t head) {
  ViewInput input = test_views::input_of();
  input.layer = layer;
  input.head = head;
  input.options.set("reach", std::int64_t{48});
  return input;
}

// The mean of the run's logits on each diagonal.
std::map<std::int64_t, double> diagonals(const ViewInput& input) {
  const Field map = test_views::map_of(*input.columns[0].trace, input.layer, input.head, models::Quantity::kLogit);
  std::map<std::int64_t, double> means;
  for (std::int64_t distance = 0; distance < map.rows; ++distance) {
    double sum = 0;
    for (std::int64_t query = distance; query < map.rows; ++query) {
      sum += static_cast<double>(map.at(query, query - distance));
    }
    means[distance] = sum / static_cast<double>(map.rows - distance);
  }
  return means;
}

TEST(Kernel, ExportsTheMeanOfAllPairsOfTokensAndOfTheText) {
  const ViewInput input = kernel_input(0, 3);
  const Data data = exported("kernel", input);
  const models::Model& model = *input.columns[0].model;
  const models::Trace& trace = *input.columns[0].trace;
  const std::int64_t vocabulary = model.info().vocabulary;
  for (const std::int64_t distance : {std::int64_t{0}, std::int64_t{1}, std::int64_t{17}, std::int64_t{48}}) {
    const auto pairs = models::strongest_token_pairs(model, trace, {0, 3, 48}, distance, vocabulary * vocabulary);
    ASSERT_TRUE(pairs.ok());
    double sum = 0;
    double square = 0;
    for (const models::TokenPair& pair : *pairs) {
      sum += pair.logit;
      square += pair.logit * pair.logit;
    }
    const auto count = static_cast<double>(pairs->size());
    ASSERT_EQ(pairs->size(), static_cast<std::size_t>(vocabulary * vocabulary));
    expect_near(at(data, distance, column_named(data, "text-rope kernel")), sum / count);
    expect_near(at(data, distance, column_named(data, "text-rope spread")),
                std::sqrt(square / count - sum / count * (sum / count)), 2e-4);
  }
  for (const auto& [distance, mean] : diagonals(input)) {
    expect_near(at(data, distance, column_named(data, "text-rope measured")), mean, 2e-4);
  }
}

TEST(Kernel, NamesTheShareOfTheTextThatItExplains) {
  const ViewInput input = kernel_input(2, 1);
  const Data data = exported("kernel", input);
  const std::int64_t kernel = column_named(data, "text-rope kernel");
  const std::int64_t measured = column_named(data, "text-rope measured");
  const std::int64_t count = column_named(data, "text-rope count");
  std::int64_t rows = std::min<std::int64_t>(49, input.columns[0].trace->length());
  const bool long_text = at(data, 0, count) >= 32;
  while (long_text && at(data, rows - 1, count) < 16) {
    --rows;  // few queries have those distances
  }
  double cells = 0;
  double mean = 0;
  double shift = 0;
  for (std::int64_t n = 0; n < rows; ++n) {
    cells += at(data, n, count);
    mean += at(data, n, count) * at(data, n, measured);
    shift += at(data, n, count) * (at(data, n, measured) - at(data, n, kernel));
  }
  double around = 0;
  double missed = 0;
  for (std::int64_t n = 0; n < rows; ++n) {
    around += at(data, n, count) * std::pow(at(data, n, measured) - mean / cells, 2);
    missed += at(data, n, count) * std::pow(at(data, n, measured) - at(data, n, kernel) - shift / cells, 2);
  }
  const double share = 1 - missed / around;
  const auto figure = view_of("kernel").figure(input);
  ASSERT_TRUE(figure.ok());
  const auto& text = std::get<figure::Curve>(figure->panels[0].layers[1]);
  const std::string wanted = std::string("R² ") + (share < 0 ? "−" : "") + fixed_text(std::abs(share), 3);
  EXPECT_NE(text.name.find(wanted), std::string::npos) << text.name << " and " << share;
  EXPECT_NE(figure->panels[0].note.find("approximation"), std::string::npos) << figure->panels[0].note;
  EXPECT_NEAR(text.y[3], at(data, 3, measured) - shift / cells, 1e-4);
}

// Of the text the first token is left out where it is a sink, and so are distances that few queries have.
TEST(Kernel, LeavesOutSinksAndFewQueries) {
  int sinks = 0;
  for (std::int64_t n = 0; n < 16; ++n) {
    const ViewInput input = kernel_input(n / 4, n % 4);
    const models::Trace& trace = *input.columns[0].trace;
    const Field weights = test_views::map_of(trace, n / 4, n % 4);
    const Field logits = test_views::map_of(trace, n / 4, n % 4, models::Quantity::kLogit);
    ASSERT_GE(weights.rows, 36);
    double first = 0;
    for (std::int64_t i = 1; i < weights.rows; ++i) {
      first += static_cast<double>(weights.at(i, 0)) / static_cast<double>(weights.rows - 1);
    }
    const bool sink = first > 0.3;
    sinks += sink ? 1 : 0;
    const auto figure = view_of("kernel").figure(input);
    ASSERT_TRUE(figure.ok()) << figure.error().describe();
    const figure::Panel& panel = figure->panels.front();
    const auto& curve = std::get<figure::Curve>(panel.layers[1]);
    EXPECT_EQ(panel.note.find("without the first token, which has") != std::string::npos, sink) << panel.note;
    EXPECT_NE(panel.note.find("fewer than 16 queries"), std::string::npos) << panel.note;
    const std::int64_t skipped = sink ? 1 : 0;
    EXPECT_EQ(curve.x.back(), static_cast<double>(weights.rows - 16 - skipped));
    const auto mean = [&](std::int64_t distance) {
      double sum = 0;
      for (std::int64_t key = skipped; key + distance < logits.rows; ++key) {
        sum += static_cast<double>(logits.at(key + distance, key));
      }
      return sum / static_cast<double>(logits.rows - distance - skipped);
    };
    EXPECT_NEAR(curve.y[9] - curve.y[2], mean(9) - mean(2), 1e-3);  // the curve is the mean less a constant
  }
  EXPECT_LT(sinks, 16);
}

// A head whose weights rise with the distance sinks on the first token.
TEST(Kernel, ASinkHasItsMeanWeight) {
  for (const double slope : {-0.5, 0.2}) {
    test::FakeShape shape;
    shape.slope = slope;
    const test::FakeTrace trace(shape, "one two three four");
    double first = 0;
    for (std::int64_t i = 1; i < trace.length(); ++i) {
      first += trace.weight(0, 1, i, 0) / static_cast<double>(trace.length() - 1);
    }
    const auto sink = sink_weight(trace, {0, 1}, {});
    ASSERT_TRUE(sink.ok()) << sink.error().describe();
    EXPECT_EQ(*sink > 0, slope < 0) << first;
    EXPECT_NEAR(*sink, first > 0.3 ? first : 0, 1e-5);
  }
}

TEST(Kernel, PartsOfThePairsSumToIt) {
  ViewInput input = kernel_input(1, 0);
  const Data curves = exported("kernel", input);
  input.options.set("data", std::string("parts"));
  const Data parts = exported("kernel", input);
  ASSERT_EQ(parts.shape[1], 49);
  for (std::int64_t distance = 0; distance < 49; ++distance) {
    double sum = 0;
    for (std::int64_t pair = 0; pair < parts.shape[0]; ++pair) {
      sum += at(parts, pair, distance);
    }
    expect_near(sum, at(curves, distance, column_named(curves, "text-rope kernel")));
  }
}

TEST(Kernel, ListsThePairsOfTokensAtADistance) {
  ViewInput input = kernel_input(0, 3);
  input.options.set("at", std::int64_t{5});
  input.options.set("data", std::string("tokens"));
  const Data data = exported("kernel", input);
  const auto all =
      models::strongest_token_pairs(*input.columns[0].model, *input.columns[0].trace, {0, 3, 48}, 5, 1 << 20);
  ASSERT_TRUE(all.ok());
  ASSERT_EQ(data.shape, (std::vector<std::int64_t>{20, 3}));
  for (std::int64_t n = 0; n < 20; ++n) {
    const models::TokenPair& pair = (*all)[static_cast<std::size_t>(n)];
    EXPECT_EQ(at(data, n, 0), static_cast<double>(pair.query));
    EXPECT_EQ(at(data, n, 1), static_cast<double>(pair.key));
    EXPECT_EQ(data.titles[static_cast<std::size_t>(2 * n)], pair.query_label);
    EXPECT_EQ(data.titles[static_cast<std::size_t>(2 * n + 1)], pair.key_label);
  }
  const auto figure = view_of("kernel").figure(input);
  ASSERT_TRUE(figure.ok());
  ASSERT_EQ(figure->panels.size(), 2U);
  const auto& list = std::get<figure::HeatMap>(figure->panels[1].layers[0]);
  EXPECT_NE(list.texts->front().find("to"), std::string::npos);
  EXPECT_FLOAT_EQ(list.field->values.front(), static_cast<float>(all->front().logit));
}

TEST(Kernel, AClickOnADistanceListsItsPairs) {
  ViewInput input = kernel_input(0, 3);
  input.cache = std::make_shared<FieldCache>(8 << 20);
  ASSERT_TRUE(view_of("kernel").figure(input).ok());
  const Selection picked = view_of("kernel").pick(input, {0, 7.2, 0.5, -1});
  ASSERT_TRUE(picked.option.has_value());
  EXPECT_EQ(*picked.option, (std::pair<std::string, SettingValue>("at", std::int64_t{7})));
  EXPECT_FALSE(view_of("kernel").pick(input, {0, 60, 0.5, -1}).option.has_value());
  const Selection pair = view_of("kernel").pick(input, {1, 7.2, 2.5, -1});
  ASSERT_TRUE(pair.option.has_value());
  EXPECT_EQ(pair.option->first, "band");
}

TEST(Kernel, RefusesWhatHasNone) {
  ViewInput input = kernel_input(0, 0);
  input.columns = {test::column_of(test::bundled("text-cope"), test_views::kText)};
  const auto figure = view_of("kernel").figure(input);
  ASSERT_FALSE(figure.ok());
  EXPECT_EQ(figure.error().code, ErrorCode::kUnsupported);
  input = kernel_input(0, kMean);
  EXPECT_EQ(view_of("kernel").figure(input).error().code, ErrorCode::kUsage);
  input = kernel_input(0, 0);
  input.columns[0].model = nullptr;
  EXPECT_EQ(view_of("kernel").figure(input).error().code, ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace locus::views

// The views of heads and of their distance bias: what they export, against computations from the bundled model's maps.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <memory>
#include <numeric>
#include <random>
#include <tuple>

#include "app/views/curves/bias_drawing.h"
#include "app/views/heads/heads_table.h"
#include "app/views/shared/plots/series.h"
#include "core/base/numbers.h"
#include "tests/support/exported_views.h"

namespace locus::views {
namespace {

using namespace test_views;

// Mean of s(i, i − λ) over λ of a range and, for each, over all queries: what independent pairs sample.
double mean_score(const Field& logits, std::int64_t from, std::int64_t to) {
  double sum = 0;
  for (std::int64_t distance = from; distance <= to; ++distance) {
    double row = 0;
    for (std::int64_t i = distance; i < logits.rows; ++i) {
      row += static_cast<double>(logits.at(i, i - distance));
    }
    sum += row / static_cast<double>(logits.rows - distance);
  }
  return sum / static_cast<double>(to - from + 1);
}

TEST(AnalysisViews, DistanceBiasSamplesTheDifferenceOfMeanScores) {
  ViewInput input = pair_of();
  input.options = {{"near-to", std::int64_t{4}},
                   {"far-from", std::int64_t{50}},
                   {"far-to", std::int64_t{60}},
                   {"pairs", std::int64_t{20000}},
                   {"bins", std::int64_t{25}}};
  const Data histogram = exported("distance-bias", input);
  ASSERT_EQ(histogram.columns, (std::vector<std::string>{"bin_left", "bin_right", "text-rope", "base 300"}));
  ASSERT_EQ(histogram.shape.back(), 4);
  const std::int64_t bins = histogram.shape.front();
  const auto last = static_cast<double>(bins - 1);
  ASSERT_GE(bins, 25);  // which the narrower histogram has
  input.options.set("export", std::string("pairs"));
  const Data pairs = exported("distance-bias", input);
  ASSERT_EQ(pairs.shape, (std::vector<std::int64_t>{20000, 2}));
  const std::string said = view_of("distance-bias").figure(input)->statement;
  for (std::int64_t column = 0; column < 2; ++column) {
    double sum = 0;
    double squares = 0;
    std::vector<double> counts(static_cast<std::size_t>(bins), 0);
    const double left = at(histogram, 0, 0);
    const double width = (at(histogram, bins - 1, 1) - left) / static_cast<double>(bins);
    for (std::int64_t n = 0; n < 20000; ++n) {
      const double value = at(pairs, n, column);
      sum += value;
      squares += value * value;
      counts[static_cast<std::size_t>(std::clamp((value - left) / width, 0.0, last))] += 1;
    }
    const Field logits = map_of(*input.columns[static_cast<std::size_t>(column)].trace, 1, 2, models::Quantity::kLogit);
    const double mean = sum / 20000;
    EXPECT_NE(said.find(": mean " + short_number(mean) + ", "), std::string::npos) << said << " of " << mean;
    const double deviation = std::sqrt(squares / 20000 - mean * mean);
    const double expected = mean_score(logits, 0, 4) - mean_score(logits, 50, 60);
    EXPECT_NEAR(mean, expected, 5 * deviation / std::sqrt(20000.0));  // five standard errors
    EXPECT_GT(std::abs(expected), 10 * deviation / std::sqrt(20000.0)) << "the test could not tell it from 0";
    double total = 0;
    for (std::int64_t bin = 0; bin < bins; ++bin) {
      // A value on an edge may fall to either side once edges are float32.
      EXPECT_NEAR(at(histogram, bin, 2 + column), counts[static_cast<std::size_t>(bin)], 3);
      total += at(histogram, bin, 2 + column);
    }
    EXPECT_EQ(total, 20000);
  }
}

TEST(AnalysisViews, DistanceBiasShowsEveryHeadBesideTheChosenOne) {
  ViewInput input = pair_of();
  input.options = {{"near-to", std::int64_t{4}},
                   {"far-from", std::int64_t{50}},
                   {"far-to", std::int64_t{60}},
                   {"pairs", std::int64_t{500}},
                   {"export", std::string("heads")}};
  const Data heads = exported("distance-bias", input);
  ASSERT_EQ(heads.columns, (std::vector<std::string>{"layer", "head", "text-rope mean", "text-rope deviation",
                                                     "base 300 mean", "base 300 deviation"}));
  ASSERT_EQ(heads.shape, (std::vector<std::int64_t>{16, 6}));
  // The chosen head, layer 1 head 2, has the numbers of its own histogram: the same pairs.
  EXPECT_EQ(at(heads, 6, 0), 1);
  EXPECT_EQ(at(heads, 6, 1), 2);
  input.options.set("export", std::string("pairs"));
  const Data pairs = exported("distance-bias", input);
  for (std::int64_t column = 0; column < 2; ++column) {
    double sum = 0;
    double squares = 0;
    for (std::int64_t n = 0; n < 500; ++n) {
      sum += at(pairs, n, column);
      squares += at(pairs, n, column) * at(pairs, n, column);
    }
    const double mean = sum / 500;
    EXPECT_NEAR(at(heads, 6, 2 + 2 * column), mean, 1e-5);
    EXPECT_NEAR(at(heads, 6, 3 + 2 * column), std::sqrt(squares / 500 - mean * mean), 1e-4);
  }
  // In the figure: a curve a column, a dot at μ and a line from μ − σ to μ + σ a head.
  input.options.set("every-head", true);
  const auto figure = view_of("distance-bias").figure(input);
  ASSERT_TRUE(figure.ok()) << figure.error().describe();
  ASSERT_EQ(figure->panels.size(), 2U);
  const auto& curve = std::get<figure::Curve>(figure->panels[1].layers[0]);
  ASSERT_EQ(curve.y.size(), 16U * 5);
  EXPECT_NEAR(curve.y[30], at(heads, 6, 2), 1e-5);
  EXPECT_NEAR((curve.y[33] - curve.y[32]) / 2, at(heads, 6, 3), 1e-5);
  EXPECT_EQ(figure->panels[1].x.cell_names->at(6), "1.2");
  EXPECT_EQ(figure->panels[1].note, "500 pairs of each head");
}

// A text too short for the ranges that are asked says both: what the controls show, and what was measured.
TEST(AnalysisViews, DistanceBiasSaysWhatItWasAskedAndWhatFits) {
  ViewInput input = pair_of();
  input.options = {{"pairs", std::int64_t{100}}};
  const auto shortened = view_of("distance-bias").figure(input);
  ASSERT_TRUE(shortened.ok()) << shortened.error().describe();
  EXPECT_NE(shortened->panels.front().note.find(" (the largest of 10000–10100 that fit)"), std::string::npos)
      << shortened->panels.front().note;
  input.options = {{"far-from", std::int64_t{50}},
                   {"far-to", std::int64_t{60}},
                   {"near-to", std::int64_t{4}},
                   {"pairs", std::int64_t{100}}};
  const auto whole = view_of("distance-bias").figure(input);
  ASSERT_TRUE(whole.ok());
  EXPECT_EQ(whole->panels.front().note.find("λ 0–4, Λ 50–60; "), 0U) << whole->panels.front().note;
}

TEST(AnalysisViews, DistanceBiasBinsEachColumnOverItsOwnRange) {
  ViewInput input = pair_of();
  input.options = {{"far-from", std::int64_t{50}}, {"far-to", std::int64_t{60}}, {"near-to", std::int64_t{4}},
                   {"pairs", std::int64_t{1000}},  {"bins", std::int64_t{25}},   {"own-bins", true}};
  const Data own = exported("distance-bias", input);
  ASSERT_EQ(own.columns, (std::vector<std::string>{"text-rope bin_left", "text-rope bin_right", "text-rope",
                                                   "base 300 bin_left", "base 300 bin_right", "base 300"}));
  for (const std::int64_t column : {2, 5}) {
    double total = 0;
    for (std::int64_t bin = 0; bin < 25; ++bin) {
      total += at(own, bin, column);
    }
    EXPECT_EQ(total, 1000);
    // Nothing lies beyond the first and the last pair.
    EXPECT_GT(at(own, 0, column), 0);
    EXPECT_GT(at(own, 24, column), 0);
  }
}

// The bins of one width follow the narrower histogram, up to four times as many.
TEST(AnalysisViews, DistanceBiasBinsByTheNarrowerHistogram) {
  const auto between = [](float low, float high) {
    analysis::DistanceBias bias;
    bias.differences = {low, (low + high) / 2, high};
    return std::make_shared<const analysis::DistanceBias>(bias);
  };
  const auto bins_beside = [&](float low, float high) {
    const std::vector<BiasBins> bins = bias_histograms({between(-10, 10), between(low, high)}, 20, false, false);
    EXPECT_EQ(bins[0].edges, bins[1].edges);
    EXPECT_LE(bins[0].edges.front(), -10);
    EXPECT_GE(bins[0].edges.back(), 10);
    for (const BiasBins& each : bins) {
      EXPECT_EQ(std::accumulate(each.heights.begin(), each.heights.end(), 0.0), 3);
    }
    return bins[0].heights.size();
  };
  EXPECT_EQ(bins_beside(-10, 10), 20);
  EXPECT_EQ(bins_beside(-5, 5), 40);
  EXPECT_EQ(bins_beside(-1, 1), 80);
  EXPECT_EQ(bias_histograms({between(3, 3)}, 20, false, true)[0].heights.size(), 20);
}

TEST(AnalysisViews, DistanceBiasOverAFolderOfTextsHasAnInterval) {
  const auto folder = std::filesystem::path(testing::TempDir()) / ("locus_texts_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  for (const char* const name : {"a.txt", "b.txt", "c.txt"}) {
    std::ofstream(folder / name) << name << ' ' << kText;
  }
  std::ofstream(folder / "notes.md") << "not a text";
  ViewInput input = input_of();
  input.options = {{"pairs", std::int64_t{300}}, {"texts", folder.string()}};
  auto figure = view_of("distance-bias").figure(input);
  ASSERT_TRUE(figure.ok()) << figure.error().describe();
  EXPECT_NE(std::get<figure::Bars>(figure->panels[0].layers[0]).name.find('['), std::string::npos);
  input.options.set("texts", std::string());
  figure = view_of("distance-bias").figure(input);
  ASSERT_TRUE(figure.ok());
  EXPECT_EQ(std::get<figure::Bars>(figure->panels[0].layers[0]).name.find('['), std::string::npos);
  EXPECT_NE(figure->panels[0].note.find("no interval"), std::string::npos);
  input.options.set("texts", (folder / "none").string());
  EXPECT_EQ(view_of("distance-bias").figure(input).error().code, ErrorCode::kBadInput);
  std::filesystem::remove_all(folder);
}

struct Habits {
  double entropy = 0;
  double relative = 0;
  double distance = 0;
  double previous = 0;
  double first = 0;
  double self = 0;
};

Habits habits_of(const Field& map) {
  Habits sum;
  for (std::int64_t i = 1; i < map.rows; ++i) {
    double entropy = 0;
    for (std::int64_t j = 0; j <= i; ++j) {
      const auto a = static_cast<double>(map.at(i, j));
      entropy -= a > 0 ? a * std::log(a) : 0;
      sum.distance += a * static_cast<double>(i - j);
    }
    sum.entropy += entropy;
    sum.relative += entropy / std::log(static_cast<double>(i + 1));
    sum.previous += static_cast<double>(map.at(i, i - 1));
    sum.first += static_cast<double>(map.at(i, 0));
    sum.self += static_cast<double>(map.at(i, i));
  }
  for (double* const each : {&sum.entropy, &sum.relative, &sum.distance, &sum.previous, &sum.first, &sum.self}) {
    *each /= static_cast<double>(map.rows - 1);
  }
  return sum;
}

// One input of 32 random ids given twice: the weight on the token after the earlier occurrence.
Field induction_of(const models::Model& model) {
  std::mt19937_64 random(1);
  std::uniform_int_distribution<std::int64_t> draw(0, model.info().vocabulary - 1);
  models::Input input;
  input.ids.emplace(64);
  std::generate(input.ids->begin(), input.ids->begin() + 32, [&] { return draw(random); });
  std::copy_n(input.ids->begin(), 32, input.ids->begin() + 32);
  const auto trace = model.run(input);
  EXPECT_TRUE(trace.ok());
  Field field = Field::zeros(4, 4);
  for (std::int64_t layer = 0; layer < 4; ++layer) {
    for (std::int64_t head = 0; head < 4; ++head) {
      const Field map = map_of(**trace, layer, head);
      for (std::int64_t i = 32; i < 64; ++i) {
        field.at(layer, head) += map.at(i, i - 31) / 32;
      }
    }
  }
  return field;
}

TEST(AnalysisViews, HeadsAreMeasuredAndSorted) {
  ViewInput input = input_of();
  input.options = {{"repeats", std::int64_t{1}}};
  const Data data = exported("heads", input);
  ASSERT_EQ(data.shape, (std::vector<std::int64_t>{16, 24}));
  const Field induction = induction_of(*input.columns[0].model);
  double last = 1;
  for (std::int64_t row = 0; row < 16; ++row) {
    const auto layer = static_cast<std::int64_t>(at(data, row, 0));
    const auto head = static_cast<std::int64_t>(at(data, row, 1));
    const Habits expected = habits_of(map_of(*input.columns[0].trace, layer, head));
    expect_near(at(data, row, column_named(data, "entropy")), expected.entropy);
    expect_near(at(data, row, column_named(data, "relative-entropy")), expected.relative);
    expect_near(at(data, row, column_named(data, "mean-distance")), expected.distance);
    expect_near(at(data, row, column_named(data, "previous-token")), expected.previous);
    expect_near(at(data, row, column_named(data, "first-token")), expected.first);
    expect_near(at(data, row, column_named(data, "self")), expected.self);
    expect_near(at(data, row, column_named(data, "induction")), static_cast<double>(induction.at(layer, head)));
    EXPECT_TRUE(std::isnan(at(data, row, column_named(data, "gate-selectivity"))));
    for (const char* const share : {"carrier", "still-pairs", "concentration"}) {
      EXPECT_LE(at(data, row, column_named(data, share)), 1) << share;
    }
    EXPECT_LE(expected.previous, last + 1e-6);
    last = expected.previous;
  }
  // Sorted by it: the first row is its largest, the last one its smallest.
  const auto end = [&](std::int64_t row) {
    return short_number(at(data, row, column_named(data, "previous-token"))) + " (head " +
           std::to_string(static_cast<int>(at(data, row, 0))) + "." +
           std::to_string(static_cast<int>(at(data, row, 1))) + ")";
  };
  EXPECT_EQ(view_of("heads").figure(input)->statement,
            "weight on the previous token from " + end(15) + " to " + end(0));
}

TEST(AnalysisViews, ClickingARowOfTheTableOpensItsHead) {
  ViewInput input = input_of();
  input.cache = std::make_shared<FieldCache>(1 << 20);
  input.options = {{"repeats", std::int64_t{0}}};
  figure::Hit hit;
  hit.x = 2.5;
  hit.y = 0.5;
  EXPECT_EQ(view_of("heads").pick(input, hit), Selection{});  // nothing is computed on the window's thread
  const Data data = exported("heads", input);
  const Selection selection = view_of("heads").pick(input, hit);
  EXPECT_EQ(selection.layer, static_cast<std::int64_t>(at(data, 0, 0)));
  EXPECT_EQ(selection.head, static_cast<std::int64_t>(at(data, 0, 1)));
  EXPECT_TRUE(selection.open);
  const auto places = view_of("heads").places(input, selection);
  ASSERT_EQ(places.size(), 1U);
  EXPECT_EQ(places[0].y.low, 0);
}

TEST(AnalysisViews, KeysWalkThroughTheTableAndScrollIt) {
  ViewInput input = input_of();
  input.cache = std::make_shared<FieldCache>(1 << 20);
  input.options = {{"repeats", std::int64_t{0}}, {"rows", std::int64_t{4}}};
  const Data data = exported("heads", input);  // all heads, sorted
  const auto head_of = [&](std::int64_t row) {
    return std::pair(static_cast<std::int64_t>(at(data, row, 0)), static_cast<std::int64_t>(at(data, row, 1)));
  };
  std::tie(input.layer, input.head) = head_of(2);
  const View& view = view_of("heads");
  auto step = view.step(input, 1);
  ASSERT_TRUE(step.has_value());
  EXPECT_EQ(std::pair(*step->layer, *step->head), head_of(3));
  EXPECT_FALSE(step->option.has_value());  // still in view
  step = view.step(input, 5);
  EXPECT_EQ(std::pair(*step->layer, *step->head), head_of(7));
  ASSERT_TRUE(step->option.has_value());
  EXPECT_EQ(step->option->first, "from");
  EXPECT_EQ(step->option->second, SettingValue(std::int64_t{4}));
  step = view.step(input, 1000);  // the end
  EXPECT_EQ(std::pair(*step->layer, *step->head), head_of(15));
  input.options.set("from", std::int64_t{12});
  const auto figure = view.figure(input);
  ASSERT_TRUE(figure.ok());
  EXPECT_NE(figure->panels[0].note.find("rows 12 to 15 of 16"), std::string::npos) << figure->panels[0].note;
  figure::Hit hit;
  hit.x = 0.5;
  hit.y = 3.5;
  const Selection picked = view.pick(input, hit);
  EXPECT_EQ(std::pair(*picked.layer, *picked.head), head_of(15));
  input.options.set("as", std::string("map"));
  EXPECT_FALSE(view.step(input, 1).has_value());
}

TEST(AnalysisViews, ABestMatchOpensThePair) {
  ViewInput input = pair_of();
  input.cache = std::make_shared<FieldCache>(1 << 20);
  input.options = {{"match", std::string("best")}};
  const View& view = view_of("head-difference");
  figure::Hit hit;
  hit.x = 2.5;
  hit.y = 1.5;
  EXPECT_EQ(view.pick(input, hit), Selection{});  // nothing is computed on the window's thread
  const Data data = exported("head-difference", input);
  for (std::int64_t n = 0; n < 16; ++n) {
    hit.x = static_cast<double>(n % 4) + 0.5;
    const std::int64_t row = n / 4;
    hit.y = static_cast<double>(row) + 0.5;
    const Selection picked = view.pick(input, hit);
    ASSERT_TRUE(picked.open);
    ASSERT_EQ(picked.partners.size(), 2U);
    EXPECT_EQ(picked.partners[0], (HeadRef{n / 4, n % 4}));
    EXPECT_EQ(picked.partners[1],
              (HeadRef{static_cast<std::int64_t>(at(data, n, 2)), static_cast<std::int64_t>(at(data, n, 3))}));
  }
  input.options.set("match", std::string("index"));
  EXPECT_TRUE(view.pick(input, hit).partners.empty());
}

// By itself where there is no head of the same index: the columns have other numbers of layers.
TEST(AnalysisViews, CheckpointsOfDifferentShapesAreMatched) {
  ViewInput input;
  for (const char* name : {"text-rope", "addition-rope"}) {
    input.columns.push_back(test::column_of(test::bundled(name), "12+34=46"));
  }
  ASSERT_NE(input.columns[0].trace->model().layers, input.columns[1].trace->model().layers);
  const auto figure = view_of("head-difference").figure(input);
  ASSERT_TRUE(figure.ok()) << figure.error().describe();
  EXPECT_EQ(figure->panels.front().color_bar_label, "total variation to the best match");
  input.options.set("match", std::string("index"));
  EXPECT_FALSE(view_of("head-difference").figure(input).ok());
}

TEST(AnalysisViews, HeadDifferenceIsHalfTheAbsoluteDifferenceOfRows) {
  ViewInput input = pair_of();
  input.options = {{"rows", std::int64_t{0}}};
  const Data data = exported("head-difference", input);
  ASSERT_EQ(data.shape, (std::vector<std::int64_t>{4, 4}));
  for (std::int64_t layer = 0; layer < 4; ++layer) {
    for (std::int64_t head = 0; head < 4; ++head) {
      const Field a = map_of(*input.columns[0].trace, layer, head);
      const Field b = map_of(*input.columns[1].trace, layer, head);
      double sum = 0;
      for (std::int64_t i = 1; i < a.rows; ++i) {
        for (std::int64_t j = 0; j <= i; ++j) {
          sum += std::abs(static_cast<double>(a.at(i, j)) - static_cast<double>(b.at(i, j))) / 2;
        }
      }
      expect_near(at(data, layer, head), sum / static_cast<double>(a.rows - 1));
    }
  }
  input.options.set("match", std::string("best"));
  const Data best = exported("head-difference", input);
  ASSERT_EQ(best.shape, (std::vector<std::int64_t>{16, 5}));
  double matched = 0;
  double plain = 0;
  for (std::int64_t n = 0; n < 16; ++n) {
    matched += at(best, n, 4);
    plain += at(data, n / 4, n % 4);
  }
  EXPECT_LE(matched, plain + 1e-4);
  input.columns.pop_back();
  EXPECT_EQ(view_of("head-difference").figure(input).error().code, ErrorCode::kUsage);
}

// text-rope was trained on 256 tokens: 10 % of them are 25, 75 to 99 % are 192 to 253.
TEST(AnalysisViews, DistanceBiasTakesPercentOfTheTrainedLength) {
  std::string text;
  while (text.size() < 700) {
    text += "So we beat on, boats against the current. ";
  }
  ViewInput input = input_of(text);
  input.options = {{"unit", std::string("percent")},
                   {"near-to", std::int64_t{10}},
                   {"far-from", std::int64_t{75}},
                   {"far-to", std::int64_t{99}},
                   {"pairs", std::int64_t{100}}};
  const auto figure = view_of("distance-bias").figure(input);
  ASSERT_TRUE(figure.ok()) << figure.error().describe();
  EXPECT_EQ(figure->panels[0].note.find("λ 0–25, Λ 192–253"), 0U) << figure->panels[0].note;
}

TEST(AnalysisViews, HeadsWithoutAStatisticComeLast) {
  HeadRows rows(4);
  const std::array<double, 4> values{0.5, kNaN, 2, kNaN};
  for (std::size_t n = 0; n < rows.size(); ++n) {
    rows[n].values.fill(0);
    rows[n].values[3] = values[n];
  }
  HeadsOptions options;
  options.statistic = 3;
  EXPECT_EQ(sorted_heads(rows, options), (std::vector<std::size_t>{2, 0, 1, 3}));
  options.ascending = true;
  EXPECT_EQ(sorted_heads(rows, options), (std::vector<std::size_t>{0, 2, 1, 3}));
}

// Of sixteen heads 95 % are all: ⌈15.2⌉ of them.
TEST(AnalysisViews, TheNullIsItsHeadsNinetyFivePercent) {
  ViewInput input = pair_of();
  input.columns.push_back(test::column_of(test::bundled("text-alibi"), kText));
  input.options = {{"null", true}, {"rows", std::int64_t{16}}};
  std::swap(input.columns[1], input.columns[2]);
  const auto figure = view_of("head-difference").figure(input);
  ASSERT_TRUE(figure.ok()) << figure.error().describe();
  const auto values = [&](std::size_t panel) {
    return std::get<figure::HeatMap>(figure->panels[panel].layers.front()).field->values;
  };
  const std::vector<float> null = values(1);
  ASSERT_EQ(null.size(), 16U);
  const double high = static_cast<double>(*std::max_element(null.begin(), null.end()));
  const std::vector<float> own = values(0);
  const auto above =
      std::count_if(own.begin(), own.end(), [&](float value) { return static_cast<double>(value) > high; });
  EXPECT_NE(figure->panels[0].note.find(std::to_string(above) + " of 16 heads above the null's 95 % (" +
                                        short_number(high) + ")"),
            std::string::npos)
      << figure->panels[0].note;
}

}  // namespace
}  // namespace locus::views

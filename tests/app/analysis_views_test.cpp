// The views of analyses: what they export, against computations from the bundled model's maps and predictions on a text
// made up here.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <random>

#include "app/views/view.h"
#include "tests/support/bundled.h"

namespace locus::views {
namespace {

constexpr const char* kText =
    "A grey cat counts the boats. One boat, two boats, three boats, and then a fourth that nobody saw. "
    "The grey cat counts the boats again: one boat, two boats.";

const View& view_of(const std::string& name) {
  return **find_view(name);
}

ViewInput input_of(const std::string& text = kText) {
  ViewInput input;
  input.columns.push_back(test::column_of(test::bundled("text-rope"), text));
  input.layer = 1;
  input.head = 2;
  return input;
}

// With a second column whose RoPE turns by another base.
ViewInput pair_of() {
  ViewInput input = input_of();
  input.columns.push_back(test::column_of(test::bundled("text-rope", 300.0), kText, "base 300"));
  return input;
}

Field map_of(const models::Trace& trace, std::int64_t layer, std::int64_t head,
             models::Quantity quantity = models::Quantity::kWeight) {
  models::MapRequest request;
  request.layer = layer;
  request.head = head;
  request.quantity = quantity;
  const auto map = trace.map(request);
  EXPECT_TRUE(map.ok());
  return *map;
}

// |a − b| ≤ tolerance·(1 + |b|).
void expect_near(double a, double b, double tolerance = 2e-5) {
  EXPECT_LE(std::abs(a - b), tolerance * (1 + std::abs(b))) << a << " and " << b;
}

double at(const Data& data, std::int64_t row, std::int64_t column) {
  return static_cast<double>(data.values[static_cast<std::size_t>(row * data.shape[1] + column)]);
}

std::int64_t column_named(const Data& data, const std::string& name) {
  const auto found = std::find(data.columns.begin(), data.columns.end(), name);
  EXPECT_NE(found, data.columns.end()) << name;
  return found - data.columns.begin();
}

Data exported(const std::string& view, const ViewInput& input) {
  const auto data = view_of(view).data(input);
  EXPECT_TRUE(data.ok()) << (data.ok() ? "" : data.error().describe());
  const auto figure = view_of(view).figure(input);
  EXPECT_TRUE(figure.ok()) << (figure.ok() ? "" : figure.error().describe());
  return data.ok() ? *data : Data{{0, 0}, {}, {}};
}

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
  ASSERT_EQ(histogram.shape, (std::vector<std::int64_t>{25, 4}));
  input.options.set("export", std::string("pairs"));
  const Data pairs = exported("distance-bias", input);
  ASSERT_EQ(pairs.shape, (std::vector<std::int64_t>{20000, 2}));
  for (std::int64_t column = 0; column < 2; ++column) {
    double sum = 0;
    double squares = 0;
    std::vector<double> counts(25, 0);
    const double left = at(histogram, 0, 0);
    const double width = (at(histogram, 24, 1) - left) / 25;
    for (std::int64_t n = 0; n < 20000; ++n) {
      const double value = at(pairs, n, column);
      sum += value;
      squares += value * value;
      counts[static_cast<std::size_t>(std::clamp((value - left) / width, 0.0, 24.0))] += 1;
    }
    const Field logits = map_of(*input.columns[static_cast<std::size_t>(column)].trace, 1, 2, models::Quantity::kLogit);
    const double mean = sum / 20000;
    const double deviation = std::sqrt(squares / 20000 - mean * mean);
    const double expected = mean_score(logits, 0, 4) - mean_score(logits, 50, 60);
    EXPECT_NEAR(mean, expected, 5 * deviation / std::sqrt(20000.0));  // five standard errors
    EXPECT_GT(std::abs(expected), 10 * deviation / std::sqrt(20000.0)) << "the test could not tell it from 0";
    double total = 0;
    for (std::int64_t bin = 0; bin < 25; ++bin) {
      // A value on an edge may fall to either side once edges are float32.
      EXPECT_NEAR(at(histogram, bin, 2 + column), counts[static_cast<std::size_t>(bin)], 3);
      total += at(histogram, bin, 2 + column);
    }
    EXPECT_EQ(total, 20000);
  }
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
  ASSERT_EQ(data.shape, (std::vector<std::int64_t>{16, 11}));
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
    EXPECT_LE(expected.previous, last + 1e-6);
    last = expected.previous;
  }
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

TEST(AnalysisViews, ShiftStabilityComparesTheRowsOfTheSameToken) {
  ViewInput input = input_of();
  const Data still = exported("shift-stability", input);
  ASSERT_EQ(still.shape, (std::vector<std::int64_t>{4, 4}));
  for (std::int64_t layer = 0; layer < 4; ++layer) {
    EXPECT_LT(at(still, layer, 1), 1e-3);  // RoPE
  }
  input.options = {{"move", std::string("tokens")}, {"by", std::int64_t{2}}, {"token", std::int64_t{10}}};
  const Data moved = exported("shift-stability", input);
  models::Input longer;
  longer.ids = {10, 10};
  const models::Trace& plain = *input.columns[0].trace;
  for (const models::TokenInfo& token : plain.tokens()) {
    longer.ids->push_back(token.id);
  }
  const auto ran = input.columns[0].model->run(longer);
  ASSERT_TRUE(ran.ok());
  const std::int64_t length = plain.length();
  for (std::int64_t layer = 0; layer < 4; ++layer) {
    double change = 0;
    for (std::int64_t head = 0; head < 4; ++head) {
      const Field before = map_of(plain, layer, head);
      const Field after = map_of(**ran, layer, head);
      for (std::int64_t i = 0; i < length; ++i) {
        for (std::int64_t j = 0; j <= i; ++j) {
          change += std::abs(static_cast<double>(after.at(i + 2, j + 2)) - static_cast<double>(before.at(i, j)));
        }
      }
    }
    expect_near(at(moved, layer, 1), change / static_cast<double>(4 * length), 5e-5);
    expect_near(at(moved, layer, 2), change / static_cast<double>(2 * length * (length + 1)), 5e-5);
    const auto e = plain.dot_product(layer, kMean, {}, {}, false);
    const auto f = (*ran)->dot_product(layer, kMean, {}, {}, false);
    double difference = 0;
    double size = 0;
    for (std::int64_t i = 0; i < length; ++i) {
      for (std::int64_t j = 0; j <= i; ++j) {
        difference += std::abs(static_cast<double>(f->at(i + 2, j + 2)) - static_cast<double>(e->at(i, j)));
        size += std::abs(static_cast<double>(e->at(i, j)));
      }
    }
    expect_near(at(moved, layer, 3), 100 * difference / size, 1e-3);
  }
}

// −ln p(token n | the `context` tokens before it), from the prediction of a run of its own.
double nats_of(const Column& column, std::int64_t token, std::int64_t begin) {
  models::Input input;
  input.ids.emplace();
  for (std::int64_t n = begin; n < token; ++n) {
    input.ids->push_back(column.trace->tokens()[static_cast<std::size_t>(n)].id);
  }
  const auto trace = column.model->run(input);
  EXPECT_TRUE(trace.ok());
  for (const models::Prediction& each : (*trace)->top(column.model->info().vocabulary)) {
    if (each.id == column.trace->tokens()[static_cast<std::size_t>(token)].id) {
      return -std::log(static_cast<double>(each.probability));
    }
  }
  return std::nan("");
}

TEST(AnalysisViews, LengthCurveScoresTheSameTokensWithMoreContext) {
  ViewInput input = pair_of();
  input.options = {{"shortest", std::int64_t{8}},
                   {"longest", std::int64_t{32}},
                   {"scored", std::int64_t{3}},
                   {"windows", std::int64_t{2}}};
  const Data data = exported("length-curve", input);
  ASSERT_EQ(data.shape, (std::vector<std::int64_t>{3, 5}));
  for (std::int64_t row = 0; row < 3; ++row) {
    const std::int64_t length = std::int64_t{8} << row;
    EXPECT_EQ(at(data, row, 0), static_cast<double>(length));
    for (std::int64_t column = 0; column < 2; ++column) {
      const Column& which = input.columns[static_cast<std::size_t>(column)];
      double nats = 0;
      for (const std::int64_t end : {std::int64_t{32}, which.trace->length()}) {
        for (std::int64_t token = end - 3; token < end; ++token) {
          nats += nats_of(which, token, end - length);
        }
      }
      expect_near(at(data, row, 1 + 2 * column), std::exp(nats / 6), 1e-4);
      expect_near(at(data, row, 2 + 2 * column), nats / 6 / std::log(2.0), 1e-4);
    }
  }
}

TEST(AnalysisViews, TaskAccuracyShowsWhatEvaluatePrinted) {
  const auto file = std::filesystem::path(testing::TempDir()) / ("locus_rows_" + std::to_string(getpid()) + ".json");
  std::ofstream(file) << R"({"task": "flip-flop", "rows": [
    {"checkpoint": "a", "encoding": "cope", "metric": "error", "splits": {"dense": 0.5, "in": 0.01},
     "interval": {"dense": [0.4, 0.6], "in": [0.0, 0.02]}},
    {"checkpoint": "b", "encoding": "rope", "metric": "error", "splits": {"in": 0.03, "dense": null},
     "interval": {"in": [0.02, 0.05], "dense": [null, null]}}]})";
  ViewInput input = input_of("x");
  input.options = {{"file", file.string()}};
  const Data data = exported("task-accuracy", input);
  ASSERT_EQ(data.shape, (std::vector<std::int64_t>{2, 7}));
  expect_near(at(data, 0, column_named(data, "a error")), 0.01);
  expect_near(at(data, 1, column_named(data, "a error")), 0.5);
  expect_near(at(data, 1, column_named(data, "a high")), 0.6);
  expect_near(at(data, 0, column_named(data, "b error")), 0.03);
  EXPECT_TRUE(std::isnan(at(data, 1, column_named(data, "b error"))));
  std::ofstream(file) << R"({"task": "addition", "rows": [{"checkpoint": "c", "encoding": "tape", "metric": "error",
    "splits": {"in": 0.1, "1+1": 0.0, "1+2": 0.25, "2+1": 0.5, "2+2": 0.75}}]})";
  const Data map = exported("task-accuracy", input);
  EXPECT_EQ(map.shape, (std::vector<std::int64_t>{2, 2}));
  EXPECT_EQ(map.values, (std::vector<float>{0.0F, 0.25F, 0.5F, 0.75F}));
  std::ofstream(file) << R"({"rows": [{"checkpoint": 3}]})";
  EXPECT_EQ(view_of("task-accuracy").figure(input).error().code, ErrorCode::kBadInput);
  std::filesystem::remove(file);
  input.options = {};  // training.json of text-rope
  const Data trained = exported("task-accuracy", input);
  ASSERT_EQ(trained.columns[1], "text-rope bits_per_byte");
  expect_near(at(trained, 0, 1), 1.9775764872046406);
}

// RoPE's curve is a combination of C(λ) and S(λ) alone, which are computed here.
TEST(AnalysisViews, TheoryOfADistanceProfileIsMadeOfItsTwoSums) {
  ViewInput input = input_of();
  input.quantity = models::Quantity::kLogit;
  for (const auto& [name, turn] : {std::pair("llama", 1.0), std::pair("paper", 2 * M_PI)}) {
    input.options = {{"theory", std::string(name)}};
    const Data data = exported("distance-profile", input);
    ASSERT_EQ(data.shape[1], 6);
    std::array<double, 5> normal{};  // Σ c², Σ cs, Σ s², Σ cy, Σ sy
    std::vector<std::array<double, 3>> rows;
    for (std::int64_t n = 0; n < data.shape[0]; ++n) {
      double c = 0;
      double s = 0;
      for (int d = 0; d < 16; ++d) {
        const double angle = turn * static_cast<double>(n) * std::pow(10000.0, -2.0 * d / 32);
        c += std::cos(angle) / 32;
        s += std::sin(angle) / 32;
      }
      const double y = at(data, n, 5);
      rows.push_back({c, s, y});
      normal[0] += c * c;
      normal[1] += c * s;
      normal[2] += s * s;
      normal[3] += c * y;
      normal[4] += s * y;
    }
    const double determinant = normal[0] * normal[2] - normal[1] * normal[1];
    const double mu = (normal[3] * normal[2] - normal[4] * normal[1]) / determinant;
    const double nu = (normal[4] * normal[0] - normal[3] * normal[1]) / determinant;
    EXPECT_GT(std::abs(mu), 0.01);
    for (const auto& [c, s, y] : rows) {
      expect_near(y, mu * c + nu * s, 1e-4);
    }
  }
  input.quantity = models::Quantity::kWeight;  // the theory is of logits
  EXPECT_EQ(exported("distance-profile", input).shape[1], 5);
}

}  // namespace
}  // namespace locus::views

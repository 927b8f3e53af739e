// The views of curves and bars: what they export, against computations from the bundled model's maps and predictions.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "app/views/shared/plots/series.h"
#include "core/base/numbers.h"
#include "tests/support/bundled.h"
#include "tests/support/exported_views.h"
#include "tests/support/paths.h"

namespace locus::views {
namespace {

using namespace test_views;

// C and S of bases, in their own places and with the paper's angle; what is said of Theorem 2.2 against all near and far
// distances that are shown.
TEST(CurveViews, SumsOfBasesStandInsteadOfTheHead) {
  ViewInput input = input_of();
  input.options = {{"bases", std::string("10000, 5e5")}, {"width", std::int64_t{128}}};
  const Data data = exported("distance-profile", input);
  ASSERT_EQ(data.columns.size(), 6U);
  EXPECT_EQ(data.columns[3], "base 500000 distance");
  double near = 1;
  double far = -1;
  for (std::int64_t row = 0; row < data.shape[0]; ++row) {
    const double distance = at(data, row, 3);
    if (std::isnan(distance)) {
      break;
    }
    double cosine = 0;
    double sine = 0;
    for (int d = 0; d < 64; ++d) {
      const double turns = distance / std::pow(5e5, d / 64.0);
      cosine += std::cos(2 * std::acos(-1.0) * turns) / 128;
      sine += std::sin(2 * std::acos(-1.0) * turns) / 128;
    }
    expect_near(at(data, row, 4), cosine, 1e-6);
    expect_near(at(data, row, 5), sine, 1e-6);
    near = distance == 2 || distance == 3 ? std::min(near, cosine) : near;
    far = distance > 5e5 ? std::max(far, cosine) : far;
  }
  const auto figure = view_of("distance-profile").figure(input);
  ASSERT_TRUE(figure.ok()) << figure.error().describe();
  ASSERT_EQ(figure->panels.size(), 2U);
  const std::string& note = figure->panels[0].note;
  const std::string before = ", 10000 none near, 500000 ";
  const auto said = note.find(before);
  ASSERT_NE(said, std::string::npos) << note;
  EXPECT_NE(note.find("(λ ≤ 3)"), std::string::npos) << note;
  const std::string number = note.substr(said + before.size());
  const auto gap = parse_number<double>(number.substr(0, number.find(' ')));
  ASSERT_TRUE(gap.has_value()) << note;
  EXPECT_NEAR(*gap, near - far, 0.03) << note;  // fewer far distances are shown than are compared
  EXPECT_GT(*gap, 1.0 / 8);
  input.options.set("bases", std::string("ten"));
  EXPECT_EQ(view_of("distance-profile").figure(input).error().code, ErrorCode::kUsage);
}

TEST(CurveViews, ShiftStabilityComparesTheRowsOfTheSameToken) {
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
    const auto e = plain.dot_product(layer, kMean, {}, {}, {});
    const auto f = (*ran)->dot_product(layer, kMean, {}, {}, {});
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

// Without a token of one's own, three are put in front in turn: the first of the text and the most frequent others,
// here the space and e. The mean, the least and the largest are those of three exports of one token each.
TEST(CurveViews, ShiftStabilityVariesTheTokenInFront) {
  ViewInput input = input_of("Tell me the weather there.");
  input.options = {{"move", std::string("tokens")}, {"by", std::int64_t{2}}};
  const Data varied = exported("shift-stability", input);
  ASSERT_EQ(varied.shape, (std::vector<std::int64_t>{4, 10}));
  std::vector<Data> single;
  for (const char letter : {'T', 'e', ' '}) {
    input.options.set("token", std::int64_t{letter});
    single.push_back(exported("shift-stability", input));
  }
  for (const char* const what : {" attention row", " attention cell", " dot product %"}) {
    const std::string name = input.columns[0].name + what;
    for (std::int64_t layer = 0; layer < 4; ++layer) {
      std::vector<double> values;
      for (const Data& each : single) {
        values.push_back(at(each, layer, column_named(each, name)));
      }
      expect_near(at(varied, layer, column_named(varied, name)), (values[0] + values[1] + values[2]) / 3);
      expect_near(at(varied, layer, column_named(varied, name + " low")), std::ranges::min(values));
      expect_near(at(varied, layer, column_named(varied, name + " high")), std::ranges::max(values));
    }
  }
  input.options.set("token", std::int64_t{-1});
  const auto figure = view_of("shift-stability").figure(input);
  ASSERT_TRUE(figure.ok()) << figure.error().describe();
  EXPECT_NE(figure->panels[0].note.find("“T”, “e”, “·” in turn"), std::string::npos) << figure->panels[0].note;
  // As they are, and not in the hundredths of the axis.
  double largest = 0;
  for (std::int64_t layer = 0; layer < varied.shape[0]; ++layer) {
    largest = std::max(largest, at(varied, layer, column_named(varied, input.columns[0].name + " attention row")));
  }
  EXPECT_EQ(figure->statement, "rows of attention change on average by at most " + short_number(largest));
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

TEST(CurveViews, LengthCurveScoresTheSameTokensWithMoreContext) {
  const std::string text = "A grey cat counts the boats. One boat, two.";
  ViewInput input = input_of(text);
  input.columns.push_back(test::column_of(test::bundled("text-rope", 300.0), text, "base 300"));
  input.options = {{"shortest", std::int64_t{8}}, {"longest", std::int64_t{32}}, {"scored", std::int64_t{5}}};
  const Data data = exported("length-curve", input);
  ASSERT_EQ(data.shape, (std::vector<std::int64_t>{3, 8}));
  for (std::int64_t row = 0; row < 3; ++row) {
    const std::int64_t length = std::int64_t{8} << row;
    EXPECT_EQ(at(data, row, 0), static_cast<double>(length));
    for (std::int64_t column = 0; column < 2; ++column) {
      const Column& which = input.columns[static_cast<std::size_t>(column)];
      const std::int64_t tokens = which.trace->length();
      double nats = 0;
      std::int64_t begin = 0;
      for (std::int64_t token = 1; token < tokens; ++token) {
        begin += begin + length < token ? 5 : 0;  // windows start five apart
        nats += nats_of(which, token, begin);
      }
      const double mean = nats / static_cast<double>(tokens - 1);
      expect_near(at(data, row, 1 + 2 * column), std::exp(mean), 1e-4);
      expect_near(at(data, row, 2 + 2 * column), mean / std::log(2.0), 1e-4);
    }
  }
}

// Of three stretches, from runs of both columns: what the second needs more, and Student's interval over the stretches.
TEST(CurveViews, LengthCurvePairsItsColumnsStretchByStretch) {
  std::string text;
  while (text.size() < 200) {
    text += "So we beat on, boats against the current. ";
  }
  ViewInput input = input_of(text);
  input.columns.push_back(test::column_of(test::bundled("text-rope", 300.0), text, "base 300"));
  input.options = {{"shortest", std::int64_t{32}}, {"longest", std::int64_t{32}}};
  const Data data = exported("length-curve", input);
  const std::int64_t tokens = input.columns[0].trace->length();
  ASSERT_EQ(tokens / 64, 3);
  std::array<double, 3> more{};
  std::array<double, 3> bytes{};
  for (std::int64_t token = 1; token < tokens; ++token) {
    const auto stretch = static_cast<std::size_t>(3 * token / tokens);
    const std::int64_t begin = (token - 1) / 32 * 32;
    more[stretch] +=
        (nats_of(input.columns[1], token, begin) - nats_of(input.columns[0], token, begin)) / std::log(2.0);
    bytes[stretch] += 1;
  }
  const auto count = static_cast<double>(tokens - 1);
  const double mean = (more[0] + more[1] + more[2]) / count;
  double squares = 0;
  for (std::size_t n = 0; n < 3; ++n) {
    squares += std::pow((more[n] - mean * bytes[n]) / count, 2);
  }
  const double reach = 4.3027 * std::sqrt(3.0 / 2 * squares);
  const std::string less = input.columns[1].name + " less " + input.columns[0].name;
  expect_near(at(data, 0, column_named(data, less)), mean, 1e-4);
  expect_near(at(data, 0, column_named(data, less + " low")), mean - reach, 1e-3);
  expect_near(at(data, 0, column_named(data, less + " high")), mean + reach, 1e-3);
  const auto figure = view_of("length-curve").figure(input);
  ASSERT_TRUE(figure.ok()) << figure.error().describe();
  ASSERT_EQ(figure->panels.size(), 2U);
  const auto& first = std::get<figure::Curve>(figure->panels[1].layers[0]);
  const auto& second = std::get<figure::Curve>(figure->panels[1].layers[1]);
  EXPECT_EQ(first.y, std::vector<double>{0});
  EXPECT_EQ(first.low, first.high);
  expect_near(second.y[0], mean, 1e-4);
  expect_near(second.low[0], mean - reach, 1e-3);
  EXPECT_NE(figure->panels[1].note.find("3 stretches"), std::string::npos) << figure->panels[1].note;
  input.options.set("differences", false);
  EXPECT_EQ(view_of("length-curve").figure(input)->panels.size(), 1U);
}

// Two texts of a folder: what both need together, and the stretches of both.
TEST(CurveViews, LengthCurveReadsAFolderOfTexts) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(testing::TempDir()) / ("locus_chapters_" + std::to_string(getpid()));
  fs::create_directories(folder);
  std::string whole;
  while (whole.size() < 200) {
    whole += "So we beat on, boats against the current. ";
  }
  const std::array<std::string, 2> texts{whole, whole.substr(7, 150)};
  double nats = 0;
  double tokens = 0;
  for (std::size_t n = 0; n < 2; ++n) {
    std::ofstream(folder / (std::to_string(n) + ".txt")) << texts[n];
    ViewInput one = input_of(texts[n]);
    one.options = {{"shortest", std::int64_t{32}}, {"longest", std::int64_t{64}}};
    const Data data = exported("length-curve", one);
    const auto scored = static_cast<double>(one.columns[0].trace->length() - 1);
    nats += scored * std::log(at(data, 1, 1));
    tokens += scored;
  }
  ViewInput input = input_of("x");
  input.columns.push_back(test::column_of(test::bundled("text-rope", 300.0), "x", "base 300"));
  input.options = {{"shortest", std::int64_t{32}}, {"longest", std::int64_t{64}}, {"texts", folder.string()}};
  const Data both = exported("length-curve", input);
  expect_near(at(both, 1, 1), std::exp(nats / tokens), 1e-4);
  expect_near(at(both, 1, 2), nats / tokens / std::log(2.0), 1e-4);
  const auto figure = view_of("length-curve").figure(input);
  ASSERT_TRUE(figure.ok()) << figure.error().describe();
  EXPECT_NE(figure->panels[1].note.find("5 stretches"), std::string::npos) << figure->panels[1].note;
  input.options.set("texts", (folder / "none").string());
  EXPECT_EQ(view_of("length-curve").figure(input).error().code, ErrorCode::kBadInput);
  fs::remove_all(folder);
}

TEST(CurveViews, TaskAccuracyShowsWhatEvaluatePrinted) {
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
  input.options.set("accuracy", true);
  EXPECT_EQ(exported("task-accuracy", input).values, (std::vector<float>{1.0F, 0.75F, 0.5F, 0.25F}));
  input.options = {{"file", file.string()}};
  std::ofstream(file) << R"({"rows": [{"checkpoint": 3}]})";
  EXPECT_EQ(view_of("task-accuracy").figure(input).error().code, ErrorCode::kBadInput);
  std::filesystem::remove(file);
  input.options = {};  // training.json of text-rope
  const Data trained = exported("task-accuracy", input);
  ASSERT_EQ(trained.columns[1], "text-rope bits_per_byte");
  expect_near(at(trained, 0, 1), 1.9775764872046406);
}

// However few splits there are: a single one does not fill the plot.
TEST(CurveViews, FewBarsKeepTheWidthOfBars) {
  const auto file = std::filesystem::path(testing::TempDir()) / ("locus_bars_" + std::to_string(getpid()) + ".json");
  for (const char* splits : {R"({"in": 0.25})", R"({"in": 0.25, "out": 0.5, "far": 0.6, "a": 0.1, "b": 0.2, "c": 1,
                                 "d": 0.5, "e": 0.5})"}) {
    std::ofstream(file) << R"({"task": "counting", "rows": [{"checkpoint": "a", "encoding": "rope", "metric": "error",
      "splits": )" << splits
                        << "}]}";
    ViewInput input = input_of("x");
    input.options = {{"file", file.string()}};
    const auto figure = view_of("task-accuracy").figure(input);
    ASSERT_TRUE(figure.ok()) << figure.error().describe();
    const figure::Panel& panel = figure->panels.front();
    const auto& bars = std::get<figure::Bars>(panel.layers.front());
    const double width = (bars.edges[1] - bars.edges[0]) / (panel.x.view.high - panel.x.view.low);
    EXPECT_LE(width, 0.15) << splits;
    EXPECT_GE(width, 0.05) << splits;
    EXPECT_NEAR(panel.x.view.low + panel.x.view.high, static_cast<double>(panel.x.cell_names->size()), 1e-9);
  }
  std::filesystem::remove(file);
}

// What --map measured, two checkpoints beside each other: each cell at its lengths, whatever the other splits are.
TEST(CurveViews, MapsOfLengthsStandBesideEachOther) {
  const auto file = std::filesystem::path(testing::TempDir()) / ("locus_map_" + std::to_string(getpid()) + ".json");
  const auto row = [](const std::string& name, const std::string& values) {
    return R"({"checkpoint": ")" + name + R"(", "metric": "error", "splits": {"in": 0.5, "longer": 1.0},
      "map": {"row": "r", "rows": [2, 3], "column": "c", "columns": [1, 2, 3], "samples": 8, "values": )" +
           values + "}}";
  };
  std::ofstream(file) << R"({"task": "addition", "rows": [)" << row("a", "[[0, 0.25, 1], [0.5, null, 0.75]]") << ", "
                      << row("b", "[[1, 1, 1], [1, 1, 0.5]]") << "]}";
  ViewInput input = input_of("x");
  input.options = {{"file", file.string()}, {"accuracy", true}};
  const Data data = exported("task-accuracy", input);
  ASSERT_EQ(data.shape, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(at(data, 0, 1), 0.75);
  EXPECT_TRUE(std::isnan(at(data, 1, 1)));
  const auto figure = view_of("task-accuracy").figure(input);
  ASSERT_EQ(figure->panels.size(), 2U);
  EXPECT_EQ(figure->columns, 2);
  const auto& first = std::get<figure::HeatMap>(figure->panels[0].layers.front());
  const auto& second = std::get<figure::HeatMap>(figure->panels[1].layers.front());
  EXPECT_EQ(first.scale.low, 0);
  EXPECT_EQ(first.scale.high, 100);  // percent
  EXPECT_EQ(second.scale.high, 100);
  EXPECT_EQ(second.field->at(1, 2), 50.0F);
  // The sums of 3 and 2 digits stand over [2, 3) × [3, 4).
  EXPECT_EQ(first.field->column_axis.first + 1, 2);
  EXPECT_EQ(first.field->row_axis.first + 1, 3);
  EXPECT_EQ(figure->panels[0].x.view.high, 4);
  EXPECT_NE(figure->panels[1].note.find("mean accuracy 8.3 %, 8 sums a cell"), std::string::npos)
      << figure->panels[1].note;
  input.options.set("as", std::string("bars"));
  EXPECT_EQ(view_of("task-accuracy").figure(input)->panels.size(), 1U);
  std::ofstream(file) << R"({"rows": [)" << row("c", "[[0, 1], [1, 0]]") << "]}";
  EXPECT_EQ(view_of("task-accuracy").figure(input).error().code, ErrorCode::kBadInput);
  std::filesystem::remove(file);
  input.options = {{"accuracy", true}};  // bits per byte
  EXPECT_EQ(view_of("task-accuracy").figure(input).error().code, ErrorCode::kUnsupported);
  input.options = {{"as", std::string("map")}};
  EXPECT_EQ(view_of("task-accuracy").figure(input).error().code, ErrorCode::kUnsupported);
}

TEST(CurveViews, ATrainingCurveIsWhatTrainingWrote) {
  models::Input any;
  any.ids = {0};
  ViewInput input;
  input.columns.push_back(test::column_of(test::bundled("text-rope"), any));
  const Data data = exported("training-curve", input);
  ASSERT_EQ(data.shape, (std::vector<std::int64_t>{1500, 3}));
  std::ifstream file(test::source_dir() + "/assets/checkpoints/text-rope/loss.csv");
  std::string line;
  std::getline(file, line);
  for (std::int64_t row = 0; std::getline(file, line); ++row) {
    std::vector<std::string> fields;
    std::istringstream words(line + ",");
    for (std::string word; std::getline(words, word, ',');) {
      fields.push_back(word);
    }
    ASSERT_EQ(fields.size(), 4U) << line;
    expect_near(at(data, row, 1), *parse_number<double>(fields[1]));
    const bool measured = !fields[3].empty();
    EXPECT_EQ(std::isnan(at(data, row, 2)), !measured) << line;
    if (measured) {
      expect_near(at(data, row, 2), *parse_number<double>(fields[3]));
    }
  }
  // The loss as it is drawn: the mean of the last three steps.
  input.options = {{"of", std::string("loss")}, {"smooth", std::int64_t{3}}};
  const auto figure = view_of("training-curve").figure(input);
  ASSERT_TRUE(figure.ok()) << figure.error().describe();
  const auto& curve = std::get<figure::Curve>(figure->panels[0].layers[0]);
  EXPECT_NEAR(curve.y[9], (at(data, 7, 1) + at(data, 8, 1) + at(data, 9, 1)) / 3, 1e-5);
}

TEST(CurveViews, ADamagedTrainingCurveIsOneClearError) {
  const auto folder = std::filesystem::path(testing::TempDir()) / ("locus_loss_" + std::to_string(getpid()));
  std::filesystem::copy(test::source_dir() + "/assets/checkpoints/text-rope", folder);
  models::Input any;
  any.ids = {0};
  const models::OpenOptions defaults;
  const auto model = models::open(folder, defaults);
  ASSERT_TRUE(model.ok()) << model.error().describe();
  ViewInput input;
  input.columns.push_back(test::column_of(*model, any));
  const std::string head = "step,loss,learning_rate,validation\n";
  for (const std::string& text : std::vector<std::string>{
           std::string(), std::string("loss\n"), head, head + "1,2\n", head + "1,two,0.1,\n", head + "1,2,0.1,x\n",
           head + "2,1,0.1,\n1,1,0.1,\n", head + "1,2,0.1,3,4\n", "step,loss,learning_rate,validation,\n1,2,0.1,,\n",
           "step,loss,learning_rate,validations\n1,2,0.1,\n", "step,loss,learning_rate,validation,in,in\n1,2,0.1,,,\n",
           "step,loss,learning_rate,validation,in\n1,2,0.1,\n", "step,loss,learning_rate,validation,in\n1,2,0.1,,x\n",
           std::string("\xff\x00\x01", 3)}) {
    std::ofstream(folder / "loss.csv") << text;
    const auto figure = view_of("training-curve").figure(input);
    ASSERT_FALSE(figure.ok()) << text;
    EXPECT_EQ(figure.error().code, ErrorCode::kBadInput) << text;
    EXPECT_NE(figure.error().describe().find("loss.csv"), std::string::npos) << figure.error().describe();
    EXPECT_EQ(figure.error().describe().find('\n'), std::string::npos);
  }
  std::filesystem::remove(folder / "loss.csv");
  EXPECT_EQ(view_of("training-curve").figure(input).error().code, ErrorCode::kUnsupported);
  std::filesystem::remove_all(folder);
}

// A line a split where there is one checkpoint, a panel a split where there are two; files without splits have none.
TEST(CurveViews, ATrainingCurveHasTheSplitsOfTheFile) {
  const auto folder = std::filesystem::path(testing::TempDir()) / ("locus_splits_" + std::to_string(getpid()));
  std::filesystem::copy(test::source_dir() + "/assets/checkpoints/text-rope", folder);
  std::ofstream(folder / "loss.csv") << "step,loss,learning_rate,validation,in,sparse\n"
                                     << "1,2,0.1,,,\n2,1.5,0.1,0.5,0.25,0.75\n3,1,0.1,,,\n4,0.5,0,,0.125,\n";
  models::Input any;
  any.ids = {0};
  const auto model = models::open(folder, models::OpenOptions());
  ASSERT_TRUE(model.ok()) << model.error().describe();
  ViewInput input;
  input.columns.push_back(test::column_of(*model, any));
  const std::string name = input.columns.front().name;
  const Data data = exported("training-curve", input);
  ASSERT_EQ(data.columns,
            (std::vector<std::string>{"step", name + " loss", name + " validation", name + " in", name + " sparse"}));
  ASSERT_EQ(data.shape, (std::vector<std::int64_t>{4, 5}));
  EXPECT_TRUE(std::isnan(at(data, 0, 3)));
  EXPECT_EQ(at(data, 1, 3), 0.25);
  EXPECT_EQ(at(data, 1, 4), 0.75);
  EXPECT_EQ(at(data, 3, 3), 0.125);
  EXPECT_TRUE(std::isnan(at(data, 3, 4)));
  input.options = {{"of", std::string("splits")}};
  const auto one = view_of("training-curve").figure(input);
  ASSERT_TRUE(one.ok()) << one.error().describe();
  ASSERT_EQ(one->panels.size(), 1U);
  const auto& in = std::get<figure::Curve>(one->panels[0].layers[0]);
  EXPECT_EQ(in.name, "in");
  EXPECT_EQ(in.x, (std::vector<double>{2, 4}));
  EXPECT_EQ(in.y, (std::vector<double>{0.25, 0.125}));
  EXPECT_EQ(std::get<figure::Curve>(one->panels[0].layers[1]).name, "sparse");
  Column second = input.columns.front();
  second.name = "again";
  input.columns.push_back(second);
  const auto two = view_of("training-curve").figure(input);
  ASSERT_TRUE(two.ok()) << two.error().describe();
  ASSERT_EQ(two->panels.size(), 2U);
  EXPECT_EQ(two->panels[1].title, "sparse");
  EXPECT_EQ(std::get<figure::Curve>(two->panels[1].layers[1]).name, "again");
  input.columns = {test::column_of(test::bundled("text-rope"), any)};
  EXPECT_EQ(view_of("training-curve").figure(input).error().code, ErrorCode::kUnsupported);
  std::filesystem::remove_all(folder);
}

// The bundled maps are those of training.json, with the lengths of training framed, also where they are the task's own.
TEST(CurveViews, BundledAdditionIsAMap) {
  models::Input any;
  any.ids = {0};
  for (const auto& [name, digits] : {std::pair<std::string, std::int64_t>{"addition-rope", 6},
                                     {"addition-tape", 6},
                                     {"addition-10-fire", 10},
                                     {"addition-10-tape", 10}}) {
    ViewInput input;
    input.columns.push_back(test::column_of(test::bundled(name), any));
    const Data data = exported("task-accuracy", input);
    std::ifstream file(test::source_dir() + "/assets/checkpoints/" + name + "/training.json");
    const nlohmann::json map = nlohmann::json::parse(file).at("map");
    ASSERT_EQ(data.shape, (std::vector<std::int64_t>{2 * digits, 2 * digits})) << name;
    for (std::int64_t row = 0; row < 2 * digits; ++row) {
      EXPECT_EQ(map.at("rows")[static_cast<std::size_t>(row)], row + 1);
      for (std::int64_t column = 0; column < 2 * digits; ++column) {
        expect_near(at(data, row, column),
                    map.at("values")[static_cast<std::size_t>(row)][static_cast<std::size_t>(column)].get<double>());
      }
    }
    const auto figure = view_of("task-accuracy").figure(input);
    ASSERT_TRUE(figure.ok()) << figure.error().describe();
    ASSERT_EQ(figure->panels[0].layers.size(), 2U) << name;
    const auto& box = std::get<figure::Box>(figure->panels[0].layers[1]);
    EXPECT_EQ(box.x.low, 1);
    EXPECT_EQ(box.x.high, static_cast<double>(digits + 1)) << name;
  }
}

// By default without the first token where it is a sink, and without the distances that few queries have.
TEST(CurveViews, ADistanceProfileLeavesOutSinksAndFewQueries) {
  const std::string text = "The harbour slept. One boat left, two boats stayed.";
  const auto model = test::bundled("text-rope");
  ViewInput input;
  input.columns.push_back(test::column_of(model, text));
  input.layer = 1;
  input.head = 2;
  const models::Trace& trace = *input.columns.front().trace;
  const Field weights = map_of(trace, 1, 2);
  double first = 0;
  for (std::int64_t i = 1; i < weights.rows; ++i) {
    first += static_cast<double>(weights.at(i, 0)) / static_cast<double>(weights.rows - 1);
  }
  const auto figure = view_of("distance-profile").figure(input);
  ASSERT_TRUE(figure.ok()) << figure.error().describe();
  const figure::Panel& panel = figure->panels.front();
  const auto& curve = std::get<figure::Curve>(panel.layers.front());
  const bool sinks = first > 0.3;
  EXPECT_EQ(panel.note.find("without the first token") != std::string::npos, sinks) << panel.note << first;
  EXPECT_NE(panel.note.find("distances of fewer than 16 queries left out"), std::string::npos) << panel.note;
  EXPECT_EQ(curve.x.back(), static_cast<double>(weights.rows - 16 - (sinks ? 1 : 0)));
  const Data data = exported("distance-profile", input);
  EXPECT_EQ(data.shape[0], weights.rows);  // all distances
  input.options = {{"skip-first", std::int64_t{1}}};
  EXPECT_EQ(exported("distance-profile", input).values == data.values, sinks);
  // A short text has all of its distances.
  input.columns.front() = test::column_of(model, text.substr(0, 20));
  const auto few = view_of("distance-profile").figure(input);
  EXPECT_EQ(few->panels.front().note.find("fewer"), std::string::npos);
}

// The weights on the first token alone make it a sink: of the bundled heads one that has it, and one that has not.
TEST(CurveViews, ASinkIsSaidWithItsWeight) {
  ViewInput input = input_of();
  const models::Trace& trace = *input.columns[0].trace;
  int sinks = 0;
  for (std::int64_t layer = 0; layer < trace.model().layers; ++layer) {
    for (std::int64_t head = 0; head < trace.model().heads; ++head) {
      const Field weights = map_of(trace, layer, head);
      double first = 0;
      for (std::int64_t i = 1; i < weights.rows; ++i) {
        first += static_cast<double>(weights.at(i, 0)) / static_cast<double>(weights.rows - 1);
      }
      input.layer = layer;
      input.head = head;
      const auto figure = view_of("distance-profile").figure(input);
      ASSERT_TRUE(figure.ok()) << figure.error().describe();
      const std::string& note = figure->panels.front().note;
      const std::string said = "without the first token, which has " + fixed_text(100 * first, 0) + " % of the weight";
      EXPECT_EQ(note.find(said) != std::string::npos, first > 0.3) << layer << "." << head << ": " << first << note;
      sinks += first > 0.3 ? 1 : 0;
    }
  }
  RecordProperty("sinks", sinks);
}

// Mean, quantiles (nearest rank) and cells of every distance, from the whole map; of one head and of the mean.
TEST(CurveViews, ADistanceProfileIsOfTheWholeMap) {
  ViewInput input = input_of();
  const models::Trace& trace = *input.columns[0].trace;
  for (const std::int64_t head : {std::int64_t{2}, kMean}) {
    for (const auto& [quantity, baseline] :
         {std::pair(models::Quantity::kLogit, true), std::pair(models::Quantity::kWeight, true),
          std::pair(models::Quantity::kWeight, false)}) {
      input.head = head;
      input.quantity = quantity;
      input.options = {{"skip-first", std::int64_t{2}}, {"baseline", baseline}};
      if (head == kMean && quantity != models::Quantity::kWeight) {
        EXPECT_EQ(view_of("distance-profile").data(input).error().code, ErrorCode::kUnsupported);
        continue;
      }
      const Data data = exported("distance-profile", input);
      ASSERT_EQ(data.shape, (std::vector<std::int64_t>{trace.length(), 5}));
      const Field map = map_of(trace, 1, head, quantity);
      const bool relative = baseline && quantity == models::Quantity::kWeight;
      for (std::int64_t distance = 0; distance < trace.length(); ++distance) {
        std::vector<double> values;
        double sum = 0;
        for (std::int64_t i = distance + 2; i < trace.length(); ++i) {
          values.push_back(static_cast<double>(map.at(i, i - distance)) * (relative ? static_cast<double>(i + 1) : 1));
          sum += values.back();
        }
        EXPECT_EQ(at(data, distance, 4), static_cast<double>(values.size()));
        if (values.empty()) {
          EXPECT_TRUE(std::isnan(at(data, distance, 1)));
          continue;
        }
        std::sort(values.begin(), values.end());
        const auto rank = [&](double share) {
          return values[static_cast<std::size_t>(std::llround(share * static_cast<double>(values.size() - 1)))];
        };
        expect_near(at(data, distance, 1), sum / static_cast<double>(values.size()));
        expect_near(at(data, distance, 2), rank(0.1));
        expect_near(at(data, distance, 3), rank(0.9));
      }
    }
  }
}

// RoPE's curve is a combination of C(λ) and S(λ) alone, which are computed here.
TEST(CurveViews, TheoryOfADistanceProfileIsMadeOfItsTwoSums) {
  ViewInput input = input_of();
  input.quantity = models::Quantity::kLogit;
  for (const auto& [name, turn] : {std::pair("llama", 1.0), std::pair("paper", 2 * M_PI)}) {
    input.options = {{"theory", std::string(name)}};
    const Data data = exported("distance-profile", input);
    ASSERT_EQ(data.shape[1], 7);
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

// Each histogram has area 1, on the common bins too, and counts the same pairs.
TEST(CurveViews, DensitiesOfTheDistanceBiasHaveAreaOne) {
  ViewInput input = pair_of();
  input.options = {{"near-to", std::int64_t{4}},
                   {"far-from", std::int64_t{20}},
                   {"far-to", std::int64_t{40}},
                   {"pairs", std::int64_t{300}},
                   {"bins", std::int64_t{9}}};
  const Data pairs = exported("distance-bias", input);
  input.options.set("density", true);
  const Data density = exported("distance-bias", input);
  for (std::int64_t column = 2; column < 4; ++column) {
    double area = 0;
    for (std::int64_t bin = 0; bin < density.shape.front(); ++bin) {
      const double width = at(density, bin, 1) - at(density, bin, 0);
      area += width * at(density, bin, column);
      expect_near(300 * width * at(density, bin, column), at(pairs, bin, column), 1e-4);
    }
    expect_near(area, 1, 1e-4);
  }
}

TEST(CurveViews, ALengthCurveMarksTheTrainedLength) {
  std::string text;
  while (text.size() < 600) {
    text += "So we beat on, boats against the current. ";
  }
  ViewInput input = input_of(text);
  input.options = {{"shortest", std::int64_t{128}}, {"longest", std::int64_t{512}}};
  const auto figure = view_of("length-curve").figure(input);
  ASSERT_TRUE(figure.ok()) << figure.error().describe();
  const auto* marker = std::get_if<figure::Marker>(&figure->panels[0].layers.back());
  ASSERT_NE(marker, nullptr);
  EXPECT_EQ(marker->at, 256);
}

// Waves are 6.3 and 11.2 tokens long: 8.55 is nearer to the first by difference and to the second by ratio.
TEST(CurveViews, ADistancePicksTheWaveNearestInProportion) {
  const ViewInput input = input_of();
  Hit hit;
  hit.x = 8.55;
  const Selection selection = view_of("distance-profile").pick(input, hit);
  ASSERT_TRUE(selection.option);
  EXPECT_EQ(selection.option->second, SettingValue(std::string("1")));
}

// The R² in a theory's name, from the exported columns: every distance as often as it occurs.
TEST(CurveViews, ATheorysShareIsOfCells) {
  ViewInput input = input_of();
  input.quantity = models::Quantity::kLogit;
  input.options = {{"theory", std::string("llama")}};
  const auto figure = view_of("distance-profile").figure(input);
  ASSERT_TRUE(figure.ok()) << figure.error().describe();
  const Data data = exported("distance-profile", input);
  std::size_t theories = 0;
  for (const figure::Layer& layer : figure->panels[0].layers) {
    const auto* curve = std::get_if<figure::Curve>(&layer);
    const std::size_t share = curve == nullptr ? std::string::npos : curve->name.find(", R² ");
    if (share == std::string::npos) {
      continue;
    }
    ++theories;
    const std::int64_t foretold = column_named(data, curve->name.substr(0, share));
    const std::int64_t mean = column_named(data, "text-rope mean");
    const std::int64_t count = column_named(data, "text-rope count");
    double cells = 0;
    double sum = 0;
    for (std::int64_t row = 0; row < data.shape[0]; ++row) {
      cells += at(data, row, count);
      sum += at(data, row, count) * at(data, row, mean);
    }
    double around = 0;
    double missed = 0;
    for (std::int64_t row = 0; row < data.shape[0]; ++row) {
      around += at(data, row, count) * std::pow(at(data, row, mean) - sum / cells, 2);
      missed += at(data, row, count) * std::pow(at(data, row, mean) - at(data, row, foretold), 2);
    }
    const double wanted = 1 - missed / around;
    EXPECT_EQ(curve->name.substr(share),
              std::string(", R² ") + (wanted < 0 ? "−" : "") + fixed_text(std::abs(wanted), 3));
  }
  EXPECT_GE(theories, 1U);
}

}  // namespace
}  // namespace locus::views

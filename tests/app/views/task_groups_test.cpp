// Task results side by side: seeds as one row, rows by a setting, and what the command says of settings there are not.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "app/views/curves/task_groups.h"
#include "tests/support/exported_views.h"
#include "tests/support/paths.h"

namespace locus::views {
namespace {

Accuracy run_of(const std::string& name, const std::string& encoding, std::map<std::string, std::string> settings,
                double in, double longer) {
  settings["encoding"] = encoding;
  Accuracy row{name, "error", {{"in", in}, {"longer", longer}}};
  row.settings = std::move(settings);
  return row;
}

TEST(TaskGroups, SeedsAreOneRowWithTheirMeanAndRange) {
  std::vector<Accuracy> runs{run_of("a", "cope", {{"seed", "1"}, {"steps", "10"}}, 0.1, 0.5),
                             run_of("b", "rope", {{"seed", "1"}, {"steps", "10"}}, 0.4, 0.6),
                             run_of("a2", "cope", {{"seed", "2"}, {"steps", "10"}}, 0.3, 0.2),
                             run_of("c", "cope", {{"seed", "3"}, {"steps", "20"}}, 0.9, 0.9)};
  runs[0].other_seeds = {{{"longer", 0.8}, {"in", 0.5}}};
  const std::vector<Accuracy> joined = join_seeds(runs);
  ASSERT_EQ(joined.size(), 3U);  // of c the steps differ too
  EXPECT_EQ(joined[0].checkpoint, "a");
  EXPECT_EQ(joined[0].seeds, 3);
  EXPECT_NEAR(joined[0].splits[0].value, 0.3, 1e-12);
  EXPECT_EQ(joined[0].splits[0].low, 0.1);
  EXPECT_EQ(joined[0].splits[0].high, 0.5);
  EXPECT_NEAR(joined[0].splits[1].value, 0.5, 1e-12);
  EXPECT_EQ(joined[0].splits[1].low, 0.2);
  EXPECT_EQ(joined[0].splits[1].high, 0.8);
  EXPECT_EQ(interval_note(joined), "lines: least and largest of 3 seeds");
  EXPECT_EQ(joined[1].seeds, 1);
  EXPECT_TRUE(std::isnan(joined[1].splits[0].low));
  EXPECT_EQ(joined[2].checkpoint, "c");
}

TEST(TaskGroups, ASeedWithoutASplitMakesNoMeanOfIt) {
  std::vector<Accuracy> runs{run_of("a", "cope", {{"seed", "1"}}, 0.1, 0.5),
                             run_of("b", "cope", {{"seed", "2"}}, 0.3, 0.2)};
  runs[1].splits.pop_back();
  const std::vector<Accuracy> joined = join_seeds(runs);
  ASSERT_EQ(joined.size(), 1U);
  EXPECT_NEAR(joined[0].splits[0].value, 0.2, 1e-12);
  EXPECT_TRUE(std::isnan(joined[0].splits[1].value));
}

TEST(TaskGroups, ASettingsNumbersAscendAndWordsComeLast) {
  const auto sized = [](const std::string& name, const std::string& encoding, const std::string& size, double in) {
    return run_of(name, encoding, {{"train_size", size}}, in, 1);
  };
  const auto groups = grouped_by({sized("a", "cope", "new", 0.01), sized("b", "cope", "10000", 0.02),
                                  sized("c", "relative", "900", 0.5), sized("d", "cope", "900", 0.3)},
                                 "train_size", "in");
  ASSERT_TRUE(groups.ok()) << groups.error().describe();
  ASSERT_EQ(groups->size(), 2U);
  EXPECT_EQ((*groups)[0].checkpoint, "cope");
  EXPECT_EQ(split_names(*groups), (std::vector<std::string>{"900", "10000", "new"}));
  EXPECT_EQ(find_split((*groups)[0].splits, "900")->value, 0.3);
  EXPECT_EQ(find_split((*groups)[0].splits, "new")->value, 0.01);
  EXPECT_EQ((*groups)[1].checkpoint, "relative");
  EXPECT_EQ(find_split((*groups)[1].splits, "900")->value, 0.5);
  EXPECT_EQ(find_split((*groups)[1].splits, "10000"), nullptr);
}

TEST(TaskGroups, EncodingsAreToldApartByTheOptionsThatDiffer) {
  const auto gated = [](const std::string& name, const std::string& gates) {
    return run_of(name, "cope", {{"variables", "3"}, {"encoding.gates", gates}, {"encoding.p_max", "64"}}, 0.1, 1);
  };
  const auto groups = grouped_by({gated("a", "key"), gated("b", "sep-key")}, "variables", "longer");
  ASSERT_TRUE(groups.ok()) << groups.error().describe();
  ASSERT_EQ(groups->size(), 2U);
  EXPECT_EQ((*groups)[0].checkpoint, "cope gates=key");
  EXPECT_EQ((*groups)[1].checkpoint, "cope gates=sep-key");
  EXPECT_EQ(find_split((*groups)[1].splits, "3")->value, 1);
}

TEST(TaskGroups, WhatCannotBeComparedIsSaid) {
  const std::vector<Accuracy> runs{run_of("a", "cope", {{"variables", "3"}, {"steps", "10"}}, 0.1, 1),
                                   run_of("b", "cope", {{"variables", "3"}, {"steps", "20"}}, 0.2, 1)};
  const auto same = grouped_by(runs, "variables", "in");
  ASSERT_FALSE(same.ok());
  EXPECT_EQ(same.error().code, ErrorCode::kBadInput);
  EXPECT_NE(same.error().message.find("one run of cope with variables 3, found a and b"), std::string::npos)
      << same.error().message;
  const auto none = grouped_by(runs, "letters", "in");
  ASSERT_FALSE(none.ok());
  EXPECT_NE(none.error().message.find("expected one of encoding, steps, variables"), std::string::npos)
      << none.error().message;
  const auto split = grouped_by(runs, "steps", "dense");
  ASSERT_FALSE(split.ok());
  EXPECT_NE(split.error().message.find("expected one of in, longer"), std::string::npos) << split.error().message;
}

// CoPE's Table 3 is such a figure: a group of bars a number of variables, a bar an encoding.
TEST(TaskGroups, TheViewReadsSettingsFromTraining) {
  ViewInput input;
  for (const char* name : {"counting-cope", "counting-rope"}) {
    models::Input symbol;
    symbol.ids = {0};
    input.columns.push_back(test::column_of(test::bundled(name), symbol, name));
  }
  input.options = {{"by", std::string("variables")}, {"split", std::string("shorter")}};
  // In distribution first, then as they are written.
  const auto runs = read_accuracies(input);
  ASSERT_TRUE(runs.ok()) << runs.error().describe();
  EXPECT_EQ(split_names(*runs), (std::vector<std::string>{"in", "longer", "shorter"}));
  const Data data = test_views::exported("task-accuracy", input);
  ASSERT_EQ(data.shape[0], 1);
  EXPECT_EQ(data.columns.front(), "variables");
  EXPECT_EQ(test_views::at(data, 0, 0), 3);
  // The mean of three seeds, which training.json of the bundled one keeps.
  EXPECT_NEAR(test_views::at(data, 0, test_views::column_named(data, "cope error")), (0.111 + 0.169 + 0.099) / 3, 1e-6);
  EXPECT_NEAR(test_views::at(data, 0, test_views::column_named(data, "cope low")), 0.099, 1e-6);
  EXPECT_NEAR(test_views::at(data, 0, test_views::column_named(data, "cope high")), 0.169, 1e-6);
  EXPECT_NEAR(test_views::at(data, 0, test_views::column_named(data, "rope error")), 0.3, 1e-6);
}

// A file of other numbers says what its splits are; their names have room in a small window.
TEST(TaskGroups, AFileNamesItsAxis) {
  ViewInput input;
  models::Input symbol;
  symbol.ids = {0};
  input.columns.push_back(test::column_of(test::bundled("counting-cope"), symbol, "one"));
  input.options = {{"file", test::source_dir() + "/assets/sessions/tape-table-3.json"}, {"as", std::string("table")}};
  const auto table = test_views::view_of("task-accuracy").figure(input);
  ASSERT_TRUE(table.ok()) << table.error().describe();
  EXPECT_EQ(table->panels[0].x.label, "quantity");
  ASSERT_EQ(table->panels[0].x.cell_names->size(), 5U);
  for (const std::string& name : *table->panels[0].x.cell_names) {
    EXPECT_LE(name.size(), 12U) << name;
  }
  EXPECT_EQ(test_views::exported("task-accuracy", input).columns.front(), "quantity");
  const auto file = std::filesystem::path(testing::TempDir()) / ("locus_axis_" + std::to_string(getpid()) + ".json");
  input.options = {{"file", file.string()}, {"as", std::string("bars")}};
  const auto label = [&](const std::string& axis) -> std::string {
    std::ofstream(file) << "{" << axis
                        << R"("rows": [{"checkpoint": "a", "metric": "cost", "splits": {"MACs": 1, "time": 2}}]})";
    const auto figure = test_views::view_of("task-accuracy").figure(input);
    return figure.ok() ? figure->panels[0].x.label : figure.error().describe();
  };
  EXPECT_EQ(label(""), "split");
  EXPECT_EQ(label(R"("axis": null, )"), "split");
  EXPECT_EQ(label(R"("axis": "what it costs", )"), "what it costs");
  for (const std::string& wrong :
       {std::string(R"("axis": 3, )"), std::string(R"("axis": "", )"), std::string(R"("axis": ["a"], )"),
        R"("axis": ")" + std::string(41, 'a') + R"(", )"}) {
    EXPECT_NE(label(wrong).find("expected axis: a text of 1 to 40 bytes"), std::string::npos) << wrong;
  }
  std::filesystem::remove(file);
}

// Shares are drawn in percent, a dot at each value so that one of 0 is seen; a table says the range of several seeds.
TEST(TaskGroups, FiguresSayPercentAndRanges) {
  ViewInput input;
  for (const char* name : {"counting-cope", "counting-rope"}) {
    models::Input symbol;
    symbol.ids = {0};
    input.columns.push_back(test::column_of(test::bundled(name), symbol, name));
  }
  const auto bars = test_views::view_of("task-accuracy").figure(input);
  ASSERT_TRUE(bars.ok()) << bars.error().describe();
  const figure::Panel& panel = bars->panels[0];
  EXPECT_EQ(panel.y.label, "error (%)");
  EXPECT_LT(panel.y.view.low, 0);
  const auto& marks = std::get<figure::Curve>(panel.layers.back());
  // In, longer, shorter of CoPE, then of RoPE: a dot, a line from the least to the largest, five points each.
  ASSERT_EQ(marks.y.size(), 30U);
  EXPECT_EQ(marks.y[5], 0);  // longer
  EXPECT_TRUE(std::isnan(marks.y[6]));
  EXPECT_NEAR(marks.y[10], 100 * (0.111 + 0.169 + 0.099) / 3, 1e-6);
  EXPECT_NEAR(marks.y[12], 9.9, 1e-6);
  EXPECT_NEAR(marks.y[13], 16.9, 1e-6);
  EXPECT_EQ(marks.x[10], marks.x[13]);
  input.options = {{"as", std::string("table")}};
  const auto table = test_views::view_of("task-accuracy").figure(input);
  ASSERT_TRUE(table.ok()) << table.error().describe();
  const auto& cells = std::get<figure::HeatMap>(table->panels[0].layers[0]);
  EXPECT_EQ(table->panels[0].color_bar_label, "error (%)");
  EXPECT_EQ((*cells.texts)[2], "12.6");
  EXPECT_EQ((*cells.details)[2], "(9.9 … 16.9)");
  EXPECT_EQ((*cells.details)[5], "") << "one seed";
  EXPECT_NEAR(cells.field->at(0, 2), 12.6333, 1e-3);
}

TEST(TaskGroups, LengthsStandInTheirOrder) {
  ViewInput input;
  models::Input symbol;
  symbol.ids = {0};
  input.columns.push_back(test::column_of(test::bundled("passkey-rope-256"), symbol, "passkey-rope-256"));
  const auto bars = test_views::view_of("task-accuracy").figure(input);
  ASSERT_TRUE(bars.ok()) << bars.error().describe();
  EXPECT_EQ(*bars->panels[0].x.cell_names, (std::vector<std::string>{"in", "512", "1024"}));
}

// A checkpoint that runs otherwise than it was trained has the results that were recorded of that, or none.
// A table of one split is dots on an axis, at the numbers that are exported, with every seed.
TEST(TaskGroups, ATableOfOneSplitIsDots) {
  ViewInput input;
  for (const char* const name : {"text-learned", "text-cope", "text-relative"}) {
    input.columns.push_back(test::column_of(test::bundled(name), "My name.", name));
  }
  input.options.set("as", std::string("table"));
  const Data data = test_views::exported("task-accuracy", input);
  const auto figure = test_views::view_of("task-accuracy").figure(input);
  ASSERT_TRUE(figure.ok()) << figure.error().describe();
  ASSERT_EQ(figure->panels.size(), 1U);
  const figure::Panel& panel = figure->panels.front();
  EXPECT_EQ(panel.x.label, "bits per byte, split in");
  EXPECT_EQ(*panel.y.cell_names, (std::vector<std::string>{"text-learned", "text-cope", "text-relative"}));
  ASSERT_EQ(panel.layers.size(), 3U);
  const auto& seeds = std::get<figure::Points>(panel.layers[1]);
  const auto& means = std::get<figure::Points>(panel.layers[2]);
  ASSERT_EQ(means.x.size(), 3U);
  for (std::size_t n = 0; n < 3; ++n) {
    const auto at = static_cast<std::int64_t>(3 * n);
    EXPECT_NEAR(means.x[n], test_views::at(data, 0, at + 1), 1e-6);
    EXPECT_EQ(means.y[n], static_cast<double>(n) + 0.5);
    const double low = test_views::at(data, 0, at + 2);
    EXPECT_TRUE(std::isnan(low) ? std::isnan(means.x_low[n]) : std::abs(means.x_low[n] - low) < 1e-6);
    double sum = 0;
    double count = 0;
    for (std::size_t seed = 0; seed < seeds.x.size(); ++seed) {
      const bool own = std::floor(seeds.y[seed]) == std::floor(means.y[n]);
      sum += own ? seeds.x[seed] : 0;
      count += own ? 1 : 0;
    }
    EXPECT_EQ(count, n == 0 ? 0 : 3) << "learned positions were trained once";
    EXPECT_TRUE(n == 0 || std::abs(sum / 3 - means.x[n]) < 1e-9);
    EXPECT_TRUE(means.x[n] > panel.x.view.low && means.x[n] < panel.x.view.high);
  }
  EXPECT_EQ(means.names.front(), "2.744");
  EXPECT_EQ(means.names[1].find("2.167 (2.159 … 2.171)"), 0U) << means.names[1];
  EXPECT_EQ(figure->statement.find("bits per byte, split in: least text-"), 0U) << figure->statement;
  EXPECT_TRUE(figure->statement.ends_with("largest text-learned 2.74")) << figure->statement;
  EXPECT_EQ(panel.note, "lines: least and largest of 3 seeds, rings: each of them");
}

TEST(TaskGroups, AWhatIfHasItsOwnResults) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(testing::TempDir()) / ("locus_what_if_" + std::to_string(getpid()));
  fs::create_directories(folder);
  fs::copy(test::source_dir() + "/assets/checkpoints/counting-rope", folder / "counting-rope",
           fs::copy_options::recursive);
  std::ifstream in(folder / "counting-rope" / "training.json");
  nlohmann::json record = nlohmann::json::parse(in);
  record["what_if"] = {{{"rope_scaling", "yarn:2"}, {"splits", {{"in", 0.75}}}},
                       {{"rope_base", 300}, {"rope_base_layers", "1"}, {"splits", {{"in", 0.25}}}},
                       {{"rope_base", 300}, {"splits", {{"in", 0.5}}}},
                       "no object"};
  std::ofstream(folder / "counting-rope" / "training.json") << record;
  models::Input symbol;
  symbol.ids = {0};
  ViewInput input;
  const auto open = [&](std::optional<double> base, const std::string& scaling, const std::string& name,
                        const std::string& layers = "") {
    models::OpenOptions options;
    options.overrides = {base, scaling, layers};
    const auto model = models::open((folder / "counting-rope").string(), options);
    ASSERT_TRUE(model.ok()) << model.error().describe();
    input.columns.push_back(test::column_of(*model, symbol, name));
  };
  open({}, "", "trained");
  open({}, "yarn:2.0", "stretched");
  open(300, "", "slower");
  open(10000, "", "its own");
  open(300, "", "slower in one layer", "1");
  const auto results = read_accuracies(input);
  ASSERT_TRUE(results.ok()) << results.error().describe();
  const std::vector<Accuracy> rows = join_seeds(*results);
  ASSERT_EQ(rows.size(), 5U);  // none is another seed
  EXPECT_EQ(find_split(rows[0].splits, "in")->value, record.at("splits").at("in").get<double>());
  EXPECT_EQ(find_split(rows[1].splits, "in")->value, 0.75);
  EXPECT_EQ(rows[1].settings.at("rope_scaling"), "yarn:2");
  EXPECT_EQ(find_split(rows[2].splits, "in")->value, 0.5);
  EXPECT_EQ(find_split(rows[3].splits, "in")->value, find_split(rows[0].splits, "in")->value);
  EXPECT_EQ(find_split(rows[4].splits, "in")->value, 0.25);
  EXPECT_EQ(rows[4].settings.at("rope_base_layers"), "1");
  input.columns.clear();
  open({}, "linear:2", "other");
  EXPECT_EQ(read_accuracies(input).error().code, ErrorCode::kUnsupported);
  EXPECT_NE(read_accuracies(input).error().message.find("not with linear:2"), std::string::npos);
  const auto edit = models::parse_edit("head 0.0 zero", 0);
  ASSERT_TRUE(edit.ok()) << edit.error().describe();
  const auto edited = test::bundled("counting-rope")->edited({*edit});
  ASSERT_TRUE(edited.ok()) << edited.error().describe();
  input.columns = {test::column_of(*edited, symbol, "edited")};
  EXPECT_EQ(read_accuracies(input).error().code, ErrorCode::kUnsupported);
  fs::remove_all(folder);
}

// text-rope with another RoPE base and another seed written beside it: other options of the encoding are no other seed.
TEST(TaskGroups, ALengthCurveDrawsSeedsAsABand) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(testing::TempDir()) / ("locus_seed_" + std::to_string(getpid()));
  fs::create_directories(folder);
  fs::copy(test::source_dir() + "/assets/checkpoints/text-rope", folder / "text-rope-2", fs::copy_options::recursive);
  std::ifstream in(folder / "text-rope-2" / "training.json");
  nlohmann::json record = nlohmann::json::parse(in);
  record["seed"] = 2;
  std::ofstream(folder / "text-rope-2" / "training.json") << record;
  ViewInput input = test_views::input_of();
  models::OpenOptions slower;
  slower.overrides.rope_base = 300;
  for (const models::OpenOptions& options : {models::OpenOptions{}, slower}) {
    const auto other = models::open((folder / "text-rope-2").string(), options);
    ASSERT_TRUE(other.ok()) << other.error().describe();
    input.columns.push_back(test::column_of(*other, test_views::kText));
  }
  EXPECT_EQ(columns_by_training(input.columns), (std::vector<std::vector<std::size_t>>{{0, 1}, {2}}));
  input.options = {{"shortest", std::int64_t{8}}, {"longest", std::int64_t{16}}};
  const auto figure = test_views::view_of("length-curve").figure(input);
  ASSERT_TRUE(figure.ok()) << figure.error().describe();
  const auto& band = std::get<figure::Curve>(figure->panels[0].layers[0]);
  const auto& line = std::get<figure::Curve>(figure->panels[0].layers[1]);
  EXPECT_EQ(band.low, band.y);  // the same weights
  EXPECT_EQ(band.high, band.y);
  EXPECT_TRUE(line.low.empty());
  EXPECT_NE(figure->panels[0].note.find("2 seeds"), std::string::npos) << figure->panels[0].note;

  // Other weights, first and last: the band's edges are the least and the largest, whichever comes first.
  fs::copy(folder / "text-rope-2", folder / "worse", fs::copy_options::recursive);
  const std::uintmax_t size = fs::file_size(folder / "worse" / "model.safetensors");
  std::fstream weights(folder / "worse" / "model.safetensors", std::ios::in | std::ios::out | std::ios::binary);
  std::vector<char> tail(static_cast<std::size_t>(size / 4) * 2);
  weights.seekg(-static_cast<std::streamoff>(tail.size()), std::ios::end);
  weights.read(tail.data(), static_cast<std::streamsize>(tail.size()));
  for (std::size_t n = 0; n < tail.size(); n += 2) {
    tail[n] = static_cast<char>(tail[n] ^ 0x80);  // an eighth of a float16, up or down
  }
  weights.seekp(-static_cast<std::streamoff>(tail.size()), std::ios::end);
  weights.write(tail.data(), static_cast<std::streamsize>(tail.size()));
  weights.close();
  record["seed"] = 3;
  std::ofstream(folder / "worse" / "training.json") << record;
  const auto worse = models::open((folder / "worse").string(), {});
  ASSERT_TRUE(worse.ok()) << worse.error().describe();
  ViewInput two = test_views::input_of();
  two.options = input.options;
  two.columns.insert(two.columns.begin(), test::column_of(*worse, test_views::kText, "other"));
  for (int order = 0; order < 2; ++order) {
    const auto uneven = test_views::view_of("length-curve").figure(two);
    ASSERT_TRUE(uneven.ok()) << uneven.error().describe();
    EXPECT_EQ(uneven->panels.size(), 1U);  // seeds of one training are not compared with each other
    const auto& edges = std::get<figure::Curve>(uneven->panels[0].layers[0]);
    const Data each = test_views::exported("length-curve", two);
    bool any_apart = false;
    for (std::size_t n = 0; n < edges.x.size(); ++n) {
      const auto row = static_cast<std::int64_t>(n);
      const double first = test_views::at(each, row, test_views::column_named(each, "other bits per byte"));
      const double second = test_views::at(each, row, test_views::column_named(each, "text-rope bits per byte"));
      any_apart = any_apart || std::abs(first - second) > 0.001 * second;
      EXPECT_NEAR(edges.high[n], std::max(first, second), 1e-5 * first);
      EXPECT_NEAR(edges.low[n], std::min(first, second), 1e-5 * second);
      EXPECT_NEAR(edges.y[n], (first + second) / 2, 1e-5 * first);
    }
    EXPECT_TRUE(any_apart);
    std::swap(two.columns[0], two.columns[1]);
  }
  fs::remove_all(folder);
}

}  // namespace
}  // namespace locus::views

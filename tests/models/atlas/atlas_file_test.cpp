// The atlas file: what is written is read, intervals have the coverage they state, damaged files are refused.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <functional>
#include <limits>
#include <random>

#include "core/base/numbers.h"
#include "models/formats/atlas/contents.h"
#include "tests/support/checkpoint_folder.h"

namespace locus {
namespace {

using models::Atlas;
using models::AtlasNull;
using models::AtlasValues;
using models::kAtlasOfModel;
using models::atlas::bootstrap_interval;
using models::atlas::Contents;
using models::atlas::SampleCount;
using models::atlas::Table;

// Sums of `samples`, one list of entries each, with `weights` [samples][R] as replicates' counts.
Table table_of(const std::string& statistic, std::int64_t layer, const std::vector<std::int64_t>& shape,
               const std::vector<std::vector<double>>& samples, const std::vector<std::vector<double>>& weights) {
  const std::size_t entries = samples.front().size();
  const std::size_t replicates = weights.front().size();
  Table table{statistic, layer, AtlasNull::kText, shape, {}, {}, {}};
  table.sum.assign(entries, 0);
  table.squares.assign(entries, 0);
  std::vector<double> drawn(entries * replicates);
  for (std::size_t s = 0; s < samples.size(); ++s) {
    for (std::size_t n = 0; n < entries; ++n) {
      table.sum[n] += samples[s][n];
      table.squares[n] += samples[s][n] * samples[s][n];
      for (std::size_t b = 0; b < replicates; ++b) {
        drawn[b * entries + n] += weights[s][b] * samples[s][n];
      }
    }
  }
  table.replicates.assign(drawn.begin(), drawn.end());
  return table;
}

SampleCount count_of(const std::vector<std::vector<double>>& weights) {
  SampleCount count{static_cast<double>(weights.size()), std::vector<double>(weights.front().size())};
  for (const std::vector<double>& of_sample : weights) {
    for (std::size_t b = 0; b < of_sample.size(); ++b) {
      count.replicates[b] += of_sample[b];
    }
  }
  return count;
}

std::vector<std::vector<double>> poisson(std::size_t samples, std::size_t replicates, std::mt19937_64& random) {
  std::poisson_distribution<int> draw(1);
  std::vector<std::vector<double>> weights(samples, std::vector<double>(replicates));
  for (auto& of_sample : weights) {
    for (double& weight : of_sample) {
      weight = draw(random);
    }
  }
  return weights;
}

class AtlasFile : public testing::Test {
 protected:
  void SetUp() override {
    contents_ = {};
    std::mt19937_64 random(7);
    const auto weights = poisson(5, 4, random);
    const std::vector<std::vector<double>> samples{{1, 4}, {2, 4}, {3, 5}, {4, 4}, {5, 3}};
    contents_.info.checkpoint = "text-rope";
    contents_.info.sha256 = "00ff";
    contents_.info.family = "llama";
    contents_.info.encoding = "rope";
    contents_.info.layers = 2;
    contents_.info.heads = 2;
    contents_.info.step = 1000;
    contents_.info.corpus = {{"alice \"1\".txt", "ab", 12}};
    contents_.info.what = {"heads", "loss"};
    contents_.info.windows = 8;
    contents_.info.done = 5;
    contents_.info.length = 16;
    contents_.info.map_size = 4;
    contents_.info.replicates = 4;
    contents_.info.seed = 18446744073709551615U;
    contents_.info.version = "1.2.3";
    contents_.notes["block"] = "16";
    contents_.samples["windows"] = count_of(weights);
    contents_.samples["null.windows"] = {1, {1, 0, 2, 1}};
    contents_.axes["profile.edges"] = {0, 1, 2};
    for (std::int64_t layer = 0; layer < 2; ++layer) {
      contents_.tables.push_back(table_of("heads.self", layer, {2}, samples, weights));
    }
    Table null = table_of("heads.self", 1, {2}, {{7, 8}}, {{1, 0, 2, 1}});
    null.null = AtlasNull::kShuffled;
    contents_.tables.push_back(null);
    contents_.tables.push_back(table_of("loss", kAtlasOfModel, {2, 1}, samples, weights));
    Table bare = table_of("mean-map", 0, {2}, samples, weights);
    bare.replicates.clear();
    contents_.tables.push_back(bare);
    set_up_examples();
  }

  // Two windows of 16 tokens; head 0.0 has both, head 1.1 one.
  void set_up_examples() {
    const auto cell = [](std::int64_t query, std::int64_t key, std::int64_t weight) {
      return (query * 16 + key) * models::atlas::kCellScale + weight;
    };
    contents_.info.examples = models::ExampleOptions{.activation = "previous", .top = 1, .sample = 1, .levels = 3};
    contents_.examples = {};
    for (const std::int64_t window : {2, 4}) {
      for (std::int64_t t = 0; t < 16; ++t) {
        contents_.examples.windows[window].push_back((window + t) % 5);
      }
    }
    contents_.examples.labels = {{0, "a"}, {1, "é"}, {2, ""}, {3, "d\x1B"}, {4, "e"}};
    contents_.examples.layers.resize(2);
    contents_.examples.layers[0].bounds = {0.25, 0.5, kNaN, kNaN};
    contents_.examples.layers[1].bounds = {kNaN, kNaN, 0.125, 0.125};
    contents_.examples.layers[0].kept = {{0, 2, 0.25, 2, false, true, false, {cell(1, 0, 9000), cell(2, 1, 50)}},
                                         {0, 4, 0.75, 3, true, true, false, {}}};
    contents_.examples.layers[1].kept = {{1, 4, 0.125, 3, true, false, false, {cell(15, 15, 10000)}}};
  }

  // What open_atlas() or the examples of head 0.0 say of the file after a change of its tensors.
  using Tensors = std::map<std::string, models::atlas::OwnTensor>;
  std::string error_after(const std::function<void(Tensors&, std::map<std::string, std::string>&)>& change) {
    write();
    const auto source = formats::open_tensors(path()).value();
    Tensors tensors;
    for (const formats::TensorInfo& tensor : source->tensors()) {
      tensors[tensor.name] = {tensor.name, tensor.dtype, tensor.shape, {tensor.storage.begin(), tensor.storage.end()}};
    }
    auto metadata = source->metadata();
    change(tensors, metadata);
    std::vector<formats::OutputTensor> list;
    for (const auto& [name, tensor] : tensors) {
      list.push_back({name, tensor.dtype, tensor.shape, tensor.bytes});
    }
    EXPECT_TRUE(formats::write_safetensors(path(), list, metadata).ok());
    const auto opened = models::open_atlas(path());
    if (!opened.ok()) {
      return opened.error().describe();
    }
    const auto examples = (*opened)->examples(0, 0);
    return examples.ok() ? "" : examples.error().describe();
  }

  // The same after one number of a tensor became another.
  template <class Number>
  std::string error_with(const std::string& name, std::size_t n, Number number) {
    return error_after([&](Tensors& tensors, auto& /*metadata*/) {
      std::memcpy(tensors.at("examples." + name).bytes.data() + n * sizeof number, &number, sizeof number);
    });
  }

  std::filesystem::path path() const { return folder_.path() / "a.safetensors"; }

  void write(bool compact = false) const {
    const Status written = write_atlas(path(), contents_, compact);
    ASSERT_TRUE(written.ok()) << written.error().describe();
  }

  std::string error() const {
    const auto opened = models::open_atlas(path());
    return opened.ok() ? "" : opened.error().describe();
  }

  test::TemporaryFolder folder_;
  Contents contents_;
};

TEST_F(AtlasFile, WhatIsWrittenIsRead) {
  write();
  const auto read = models::atlas::read_contents(path());
  ASSERT_TRUE(read.ok()) << read.error().describe();
  EXPECT_EQ(read->info, contents_.info);
  EXPECT_EQ(read->axes, contents_.axes);
  EXPECT_EQ(read->notes, contents_.notes);
  EXPECT_EQ(read->examples.windows, contents_.examples.windows);
  EXPECT_EQ(read->examples.labels, contents_.examples.labels);
  ASSERT_EQ(read->examples.layers.size(), 2U);
  EXPECT_TRUE(read->examples.layers[0].kept == contents_.examples.layers[0].kept);
  EXPECT_TRUE(read->examples.layers[1].kept == contents_.examples.layers[1].kept);
  EXPECT_EQ(read->examples.layers[0].bounds[1], 0.5);
  ASSERT_EQ(read->samples.size(), 2U);
  EXPECT_EQ(read->samples.at("windows").count, 5);
  EXPECT_EQ(read->samples.at("windows").replicates, contents_.samples.at("windows").replicates);
  ASSERT_EQ(read->tables.size(), contents_.tables.size());
  for (std::size_t n = 0; n < read->tables.size(); ++n) {
    const Table& table = read->tables[n];
    EXPECT_EQ(table.statistic, contents_.tables[n].statistic);
    EXPECT_EQ(table.layer, contents_.tables[n].layer);
    EXPECT_EQ(table.null, contents_.tables[n].null);
    EXPECT_EQ(table.shape, contents_.tables[n].shape);
    EXPECT_EQ(table.sum, contents_.tables[n].sum);
    EXPECT_EQ(table.squares, contents_.tables[n].squares);
    EXPECT_EQ(table.replicates, contents_.tables[n].replicates);
  }
}

// As older files have them.
TEST_F(AtlasFile, ReplicatesMayBeFloat64) {
  write();
  const AtlasValues before = models::open_atlas(path()).value()->values("heads.self", 0).value();
  EXPECT_EQ(error_after([](Tensors& tensors, auto& /*metadata*/) {
              for (auto& [name, tensor] : tensors) {
                if (name.ends_with(".replicates")) {
                  std::vector<float> numbers(tensor.bytes.size() / sizeof(float));
                  std::memcpy(numbers.data(), tensor.bytes.data(), tensor.bytes.size());
                  const std::vector<double> wide(numbers.begin(), numbers.end());
                  const auto bytes = std::as_bytes(std::span(wide));
                  tensor.dtype = formats::DType::kF64;
                  tensor.bytes.assign(bytes.begin(), bytes.end());
                }
              }
            }),
            "");
  const AtlasValues after = models::open_atlas(path()).value()->values("heads.self", 0).value();
  EXPECT_EQ(before.low, after.low);
  EXPECT_EQ(before.high, after.high);
  EXPECT_EQ(models::atlas::read_contents(path()).value().tables[0].replicates, contents_.tables[0].replicates);
}

// Tables are made when they are written, and no longer than until the next.
TEST_F(AtlasFile, TablesAreMadeOneAtATime) {
  std::size_t last = 0;
  const models::atlas::TableSource source{contents_.tables.size(), [&](std::size_t n) {
                                            last = n;
                                            return contents_.tables[n];
                                          }};
  ASSERT_TRUE(models::atlas::write_atlas(path(), contents_, source).ok());
  EXPECT_EQ(last, contents_.tables.size() - 1);
  EXPECT_EQ(models::atlas::read_contents(path()).value().tables[3].sum, contents_.tables[3].sum);
  const models::atlas::TableSource changing{1, [&, calls = 0](std::size_t n) mutable {
                                              Table table = contents_.tables[n];
                                              table.sum.resize(table.sum.size() + static_cast<std::size_t>(calls++));
                                              return table;
                                            }};
  const Status written = models::atlas::write_atlas(folder_.path() / "b.safetensors", contents_, changing);
  ASSERT_FALSE(written.ok());
  EXPECT_NE(written.error().describe().find("made 24 bytes of 16"), std::string::npos) << written.error().describe();
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "b.safetensors"));
}

TEST_F(AtlasFile, ValuesAreMeansWithIntervals) {
  write();
  const auto opened = models::open_atlas(path());
  ASSERT_TRUE(opened.ok()) << opened.error().describe();
  const Atlas& atlas = **opened;
  EXPECT_EQ(atlas.statistics(), (std::vector<std::string>{"heads.self", "loss", "mean-map"}));
  EXPECT_TRUE(atlas.of_model("loss"));
  EXPECT_FALSE(atlas.of_model("heads.self"));
  EXPECT_TRUE(atlas.has("heads.self", AtlasNull::kShuffled));
  EXPECT_FALSE(atlas.has("loss", AtlasNull::kShuffled));
  EXPECT_EQ(atlas.axis("profile.edges"), (std::vector<double>{0, 1, 2}));
  EXPECT_TRUE(atlas.axis("none").empty());

  const auto values = atlas.values("heads.self", 1);
  ASSERT_TRUE(values.ok()) << values.error().describe();
  EXPECT_EQ(values->shape, (std::vector<std::int64_t>{2}));
  EXPECT_EQ(values->samples, 5);
  EXPECT_DOUBLE_EQ(values->mean[0], 3);
  EXPECT_DOUBLE_EQ(values->mean[1], 4);
  EXPECT_NEAR(values->deviation[0], std::sqrt(2.5), 1e-14);  // of 1 … 5
  EXPECT_NEAR(values->deviation[1], std::sqrt(0.5), 1e-14);
  EXPECT_LE(values->low[0], values->high[0]);

  const auto null = atlas.values("heads.self", 1, AtlasNull::kShuffled);
  ASSERT_TRUE(null.ok()) << null.error().describe();
  EXPECT_DOUBLE_EQ(null->mean[1], 8);
  EXPECT_TRUE(std::isnan(null->low[1]));  // one sample says nothing of its spread
  EXPECT_TRUE(std::isnan(null->deviation[1]));

  const auto map = atlas.values("mean-map", 0);
  ASSERT_TRUE(map.ok()) << map.error().describe();
  EXPECT_NEAR(map->high[0] - map->mean[0], 1.96 * std::sqrt(2.5 / 5), 1e-3);
  EXPECT_FALSE(atlas.values("heads.self", 2).ok());
  EXPECT_FALSE(atlas.values("heads.none", 0).ok());
  EXPECT_FALSE(atlas.values("heads.self.squares", 0).ok());
  EXPECT_FALSE(atlas.values("mean-map", 1).ok());
}

TEST_F(AtlasFile, CompactFilesKeepIntervalsAlone) {
  write();
  const auto full = models::open_atlas(path());
  ASSERT_TRUE(full.ok());
  const AtlasValues before = (*full)->values("heads.self", 0).value();
  const auto bytes = std::filesystem::file_size(path());
  write(true);
  const auto compact = models::open_atlas(path());
  ASSERT_TRUE(compact.ok()) << compact.error().describe();
  const AtlasValues after = (*compact)->values("heads.self", 0).value();
  EXPECT_EQ(before.mean, after.mean);
  EXPECT_EQ(before.low, after.low);
  EXPECT_EQ(before.high, after.high);
  EXPECT_LT(std::filesystem::file_size(path()), bytes);
  EXPECT_FALSE(models::atlas::read_contents(path()).ok());
}

// A compact file keeps of a causal map the cells below the diagonal, in float32.
TEST_F(AtlasFile, CompactMapsAreTheSame) {
  const std::int64_t side = contents_.info.map_size;
  for (const bool causal : {true, false}) {
    SetUp();
    Table map;
    map.statistic = "mean-map";
    map.layer = 1;
    map.shape = {2, side, side};
    for (std::int64_t n = 0; n < 2 * side * side; ++n) {
      const std::int64_t cell = n % (side * side);
      const bool kept = !causal || cell % side <= cell / side;
      const double x = 0.001 * static_cast<double>(n + 1);
      map.sum.push_back(kept ? 5 * x : kNaN);
      map.squares.push_back(kept ? 5 * x * x + 4e-4 : kNaN);
    }
    contents_.tables.push_back(map);
    write();
    const AtlasValues before = models::open_atlas(path()).value()->values("mean-map", 1).value();
    write(true);
    const auto compact = models::open_atlas(path());
    ASSERT_TRUE(compact.ok()) << compact.error().describe();
    const AtlasValues after = (*compact)->values("mean-map", 1).value();
    ASSERT_EQ(after.shape, before.shape);
    for (std::size_t n = 0; n < before.mean.size(); ++n) {
      ASSERT_EQ(std::isnan(after.mean[n]), std::isnan(before.mean[n])) << n;
      if (!std::isnan(before.mean[n])) {
        EXPECT_NEAR(after.mean[n], before.mean[n], 1e-7 * before.mean[n]);
        EXPECT_NEAR(after.deviation[n], 0.01, 1e-6);
        EXPECT_NEAR(after.high[n] - after.low[n], before.high[n] - before.low[n], 1e-7);
      }
    }
    const auto cells = static_cast<std::uint64_t>(models::atlas::packed_cells(side, causal));
    EXPECT_EQ(formats::open_tensors(path()).value()->find("layers.1.mean-map.deviation")->shape,
              (std::vector<std::int64_t>{2, static_cast<std::int64_t>(cells)}));
    EXPECT_TRUE(models::atlas::is_compact(path()));
    EXPECT_FALSE(models::atlas::read_contents(path()).ok());
  }
}

TEST_F(AtlasFile, RefusesPackedMapsThatAreWrong) {
  const auto with = [&](std::int64_t cells, formats::DType type, const char* second) {
    return error_after([&](Tensors& tensors, auto& /*metadata*/) {
      const auto bytes = static_cast<std::size_t>(2 * cells) * (type == formats::DType::kF32 ? 4 : 8);
      for (const char* name : {"layers.1.mean-map", second}) {
        tensors[name] = {name, type, {2, cells}, std::vector<std::byte>(bytes)};
      }
    });
  };
  const std::int64_t side = contents_.info.map_size;
  const char* deviation = "layers.1.mean-map.deviation";
  EXPECT_EQ(with(models::atlas::packed_cells(side, true), formats::DType::kF32, deviation), "");
  EXPECT_NE(with(3, formats::DType::kF32, deviation).find("pixels on a side, found [2, 3]"), std::string::npos);
  EXPECT_NE(with(side * side, formats::DType::kF64, deviation).find("expected F32, found F64"), std::string::npos);
  EXPECT_NE(with(side * side, formats::DType::kF32, "layers.1.other.deviation").find("expected F64, found F32"),
            std::string::npos);
  EXPECT_NE(with(2, formats::DType::kF32, "axes.x.deviation").find("expected F64, found F32"), std::string::npos);
}

TEST_F(AtlasFile, TellsWhatIsWrong) {
  contents_.tables[0].shape = {3};
  contents_.tables[0].sum.resize(3);
  contents_.tables[0].squares.resize(3);
  contents_.tables[0].replicates.resize(12);
  write();
  EXPECT_NE(error().find("layers.0.heads.self: expected a layer below 2 and 2 heads, found [3]"), std::string::npos)
      << error();
  SetUp();
  contents_.samples.erase("windows");
  contents_.tables.erase(contents_.tables.begin() + 2);
  write();
  EXPECT_NE(error().find("expected tensor samples.windows"), std::string::npos) << error();
}

TEST_F(AtlasFile, RefusesMetadataThatIsWrong) {
  contents_.info.windows = 0;
  write();
  EXPECT_NE(error().find("metadata locus.windows: expected a whole number of 1"), std::string::npos) << error();
  SetUp();
  contents_.info.done = 9;
  write();
  EXPECT_NE(error().find("locus.done: expected a whole number of 0 to 8"), std::string::npos) << error();
  std::ofstream(path()) << "short";
  EXPECT_FALSE(models::is_atlas(path()));
  EXPECT_NE(error(), "");
}

TEST_F(AtlasFile, ExamplesOfAHead) {
  write();
  const auto atlas = models::open_atlas(path()).value();
  EXPECT_EQ(atlas->info().examples, contents_.info.examples);
  const models::HeadExamples examples = atlas->examples(0, 0).value();
  ASSERT_EQ(examples.windows.size(), 2U);
  EXPECT_EQ(examples.windows[0].window, 4);  // the largest activation first
  EXPECT_TRUE(examples.windows[0].top && examples.windows[0].sampled);
  EXPECT_TRUE(examples.windows[0].cells.empty());
  const models::Example& second = examples.windows[1];
  EXPECT_EQ(second.activation, 0.25);
  EXPECT_EQ(second.level, 2);
  EXPECT_EQ(second.ids[0], 2);
  EXPECT_EQ(second.tokens[1], "d\\x1B");  // nothing of a file moves a terminal
  EXPECT_EQ(second.cells, (std::vector<models::ExampleCell>{{1, 0, 0.9F}, {2, 1, 0.005F}}));
  EXPECT_EQ(examples.bounds, (std::vector<double>{0.25, 0.5}));
  ASSERT_EQ(examples.key_tokens.size(), 2U);
  EXPECT_EQ(examples.key_tokens[0].token, "");
  EXPECT_NEAR(examples.key_tokens[0].weight, 0.9, 1e-6);
  EXPECT_TRUE(atlas->examples(0, 1).value().windows.empty());
  EXPECT_TRUE(atlas->examples(0, 1).value().bounds.empty());
  EXPECT_EQ(atlas->examples(1, 1).value().bounds, (std::vector<double>{0.125, 0.125}));
  EXPECT_FALSE(atlas->examples(2, 0).ok());
  EXPECT_FALSE(atlas->examples(0, -1).ok());
}

// One change for each kind of field.
TEST_F(AtlasFile, RefusesExamplesThatAreWrong) {
  const auto expect = [](const std::string& found, const std::string& part) {
    EXPECT_NE(found.find(part), std::string::npos) << "expected " << part << ", found " << found;
  };
  const auto options = [&](const std::string& text) {
    return error_after([&](Tensors& /*tensors*/, auto& metadata) { metadata["locus.examples"] = text; });
  };
  EXPECT_EQ(error_after([](Tensors&, auto&) {}), "");
  expect(options(R"({"activation": "mood", "top": 1, "sample": 1, "levels": 3})"),
         "activation: expected one of largest");
  expect(options(R"({"activation": "far", "top": 0, "sample": 1, "levels": 3})"), "top: expected a whole number of 1");
  expect(options(R"({"activation": "far", "top": 1, "sample": -1, "levels": 3})"), "sample: expected");
  expect(options(R"({"activation": "far", "top": 1, "sample": 1, "levels": 101})"), "levels: expected");
  expect(options(R"({"activation": "far", "top": 1, "sample": 1, "levels": 4})"),
         "examples.layers.0.bounds: expected F64 [2, 3]");
  expect(options("[]"), "locus.examples");
  expect(options("{"), "locus.examples");
  expect(error_after([](Tensors&, auto& metadata) { metadata.erase("locus.examples"); }),
         "expected no tensor of examples");
  expect(error_after([](Tensors& tensors, auto&) { tensors.erase("examples.windows"); }),
         "examples.windows: expected I64 [any], found none");
  expect(
      error_after([](Tensors& tensors, auto&) { tensors.at("examples.layers.1.index").dtype = formats::DType::kF32; }),
      "examples.layers.1.index: expected I32");
  expect(error_after([](Tensors& tensors, auto&) {
           tensors.at("examples.ids").shape = {16, 2};
         }),
         "examples.ids: expected I64 [2, 16]");
  expect(error_after(
             [](Tensors& tensors, auto&) { tensors["examples.layers.2.head"] = tensors.at("examples.layers.1.head"); }),
         "examples.layers.2.head: expected no tensor");
  expect(error_with("windows", 0, std::int64_t{8}),
         "examples.windows: expected whole numbers of 0 to 7, ascending, found 8");
  expect(error_with("windows", 1, std::int64_t{2}), "ascending, found 2");
  expect(error_with("ids", 3, std::int64_t{7}), "examples.ids: expected numbers of examples.labels.ids, found 7");
  expect(error_with("labels.ids", 0, std::int64_t{-1}), "examples.labels.ids: expected");
  expect(error_with("labels.ends", 0, std::int64_t{100}), "examples.labels.ends: expected");
  expect(error_with("labels.ends", 4, std::int64_t{5}), "examples.labels.ends: expected");
  expect(error_with("labels.bytes", 1, std::uint8_t{0xFF}), "examples.labels.bytes: expected labels in UTF-8");
  expect(error_with("layers.0.bounds", 1, 0.125), "examples.layers.0.bounds: expected bounds of levels in order");
  expect(error_with("layers.0.bounds", 1, kNaN), "or none of a head");
  expect(error_with("layers.0.bounds", 0, std::numeric_limits<double>::infinity()), "examples.layers.0.bounds");
  expect(error_with("layers.0.head", 1, std::int32_t{2}), "examples.layers.0.head: expected whole numbers of 0 to 1");
  expect(error_with("layers.0.window", 0, std::int64_t{3}), "expected numbers of examples.windows, found 3");
  expect(error_with("layers.0.window", 1, std::int64_t{2}), "expected each window of a head once and in order");
  expect(error_with("layers.0.activation", 0, kNaN), "examples.layers.0.activation: expected finite numbers");
  expect(error_with("layers.0.level", 0, std::uint8_t{0}), "examples.layers.0.level: expected whole numbers of 1 to 3");
  expect(error_with("layers.0.kind", 0, std::uint8_t{4}), "examples.layers.0.kind: expected whole numbers of 1 to 3");
  expect(error_with("layers.0.ends", 1, std::int64_t{1}), "examples.layers.0.ends: expected");
  expect(error_with("layers.0.ends", 0, std::int64_t{3}), "examples.layers.0.ends: expected");
  expect(error_with("layers.0.index", 0, std::int32_t{256}), "examples.layers.0.index: expected cells below 256");
  expect(error_with("layers.0.index", 1, std::int32_t{3}),
         "examples.layers.0.index: expected cells below 256, ascending");
  expect(error_with("layers.0.weight", 0, std::int16_t{0}), "with weights of 1 to 10000");
  expect(error_with("layers.0.weight", 0, std::int16_t{10001}), "with weights of 1 to 10000");
  contents_.info.length = 20000;
  contents_.examples = {};
  contents_.examples.layers.resize(2);
  expect(error_after([](Tensors&, auto&) {}), "expected windows of at most 16384 tokens with examples");
}

// Bytes of header and numbers at random: an error or numbers, no crash.
TEST_F(AtlasFile, DamagedFilesDoNoHarm) {
  write();
  std::ifstream file(path(), std::ios::binary);
  const std::string whole((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::mt19937_64 random(11);
  int opened = 0;
  for (int n = 0; n < 900; ++n) {
    std::string bytes = whole;
    const std::size_t reach = n % 3 == 0 ? bytes.size() : std::min<std::size_t>(bytes.size(), 3000);
    const std::size_t first = n % 6 == 0 ? whole.rfind('}') + 1 : 0;  // numbers alone
    for (int change = 0; change < 1 + n % 4; ++change) {
      bytes[first + random() % (reach - first)] =
          n % 2 == 0 ? static_cast<char>(random()) : static_cast<char>('0' + random() % 10);
    }
    if (n % 7 == 0) {
      bytes.resize(random() % bytes.size());
    }
    std::ofstream(path(), std::ios::binary) << bytes;
    const auto atlas = models::open_atlas(path());
    static_cast<void>(models::atlas::read_contents(path()));
    if (!atlas.ok()) {
      EXPECT_NE(atlas.error().describe(), "");
      continue;
    }
    ++opened;
    for (const std::int64_t layer : {0, 1}) {
      const auto examples = (*atlas)->examples(layer, layer);
      EXPECT_TRUE(!examples.ok() || examples->windows.size() <= 2);
    }
    for (const std::string& name : (*atlas)->statistics()) {
      for (const std::int64_t layer : {kAtlasOfModel, std::int64_t{0}, std::int64_t{1}}) {
        for (const AtlasNull null : {AtlasNull::kText, AtlasNull::kShuffled}) {
          const auto values = (*atlas)->values(name, layer, null);
          EXPECT_TRUE(!values.ok() || values->mean.size() == values->low.size());
        }
      }
    }
  }
  EXPECT_GT(opened, 30);  // damage to numbers alone
}

TEST_F(AtlasFile, IsAnAtlas) {
  write();
  EXPECT_TRUE(models::is_atlas(path()));
  EXPECT_FALSE(models::is_atlas(folder_.path()));
}

// Means of 60 exponential numbers with mean 1: the true mean lies in the 95 % interval in 90 to 98 of 100 trials (the
// percentile interval of so skewed and few numbers is a little too short: 93 % of trials).
TEST_F(AtlasFile, IntervalsCoverTheTrueMean) {
  std::mt19937_64 random(3);
  std::exponential_distribution<double> draw(1);
  constexpr int kTrials = 1000;
  int covered = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    const auto weights = poisson(60, 100, random);
    std::vector<std::vector<double>> samples(60, std::vector<double>(1));
    for (auto& sample : samples) {
      sample[0] = draw(random);
    }
    const Table table = table_of("x", 0, {1}, samples, weights);
    const auto [low, high] = bootstrap_interval(table.replicates.data(), 1, 0, count_of(weights));
    covered += low <= 1 && 1 <= high ? 1 : 0;
  }
  EXPECT_GT(covered, 0.90 * kTrials);
  EXPECT_LT(covered, 0.98 * kTrials);
}

// Of 39 replicates' means 1 … 39 the 2.5 % and 97.5 % points are the first and the last: ranks 40·q.
TEST_F(AtlasFile, IntervalsAreOrderStatistics) {
  SampleCount count{10, std::vector<double>(39, 2)};
  std::vector<float> replicates(39);
  for (std::size_t b = 0; b < 39; ++b) {
    replicates[b] = 2 * static_cast<float>((b * 7) % 39 + 1);
  }
  const auto [low, high] = bootstrap_interval(replicates.data(), 1, 0, count);
  EXPECT_DOUBLE_EQ(low, 1);
  EXPECT_DOUBLE_EQ(high, 39);
  count.replicates[5] = 0;  // a replicate that drew no sample is left out
  const auto fewer = bootstrap_interval(replicates.data(), 1, 0, count);
  EXPECT_DOUBLE_EQ(fewer.high, (5 * 7) % 39 + 1 == 39 ? 38 : 39);
}

}  // namespace
}  // namespace locus

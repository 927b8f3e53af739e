// Folders of HeadVis: one written by hand after the published description opens, one that Locus writes reads back equal,
// wrong ones are refused.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/base/numbers.h"
#include "models/api/atlas_run.h"
#include "models/api/atlas_trace.h"
#include "tests/support/checkpoint_folder.h"
#include "tests/support/paths.h"

namespace locus {
namespace {

using models::Example;
using models::ExampleCell;
using models::HeadExamples;
using nlohmann::json;

class Headvis : public testing::Test {
 protected:
  // Two heads of a model of 2 × 2, as anthropics/headvis's data_pipeline.py and Neuronpedia's pipeline describe them.
  void SetUp() override {
    std::filesystem::create_directory(folder_.path() / "heads");
    folder_.write("config.json", R"({
      "model_name": "gpt2", "dataset_name": "openwebtext", "heads": [[0, 1], [1, 0]], "n_layers": 2, "n_heads": 2,
      "n_intervals": 5, "metrics": ["self_attention_score", "induction_score", "logit_std"],
      "metric_descriptions": {"logit_std": "spread of the scores"}, "head_data_pattern": "L{layer}H{head}.json",
      "has_umap": false, "umap_heads": [], "custom_plots": [{"key": "qk_distance_histogram", "label": "Q-K distance"}],
      "custom_tables": [], "statistics_display": {},
      "pipeline_config": {"n_sequences": 2000, "actual_sequences_processed": 1999, "seq_len": 512, "dtype": "bfloat16"}})");
    folder_.write("scatter_data.json", R"([
      {"layer": 0, "head": 1, "self_attention_score": 0.25, "induction_score": null, "logit_std": 1.5},
      {"layer": 1, "head": 0, "self_attention_score": 0.5, "induction_score": 0.75}])");
    folder_.write("heads/L0H1.json", R"({
      "sequences": [
        {"sequence_id": 7, "interval": 2, "tokens": ["a", " b"], "attention_indices": [0, 3], "attention_values": [1.0, 0.5],
         "seq_len": 2, "max_activation": 0.5},
        {"sequence_id": 3, "interval": 5, "tokens": ["The", " cat", "\n"], "attention_indices": [7, 0, 3],
         "attention_values": [0.625, 1, 0.9], "seq_len": 3, "max_activation": 0.625}],
      "qk_distance_histogram": {"bin_edges": [0, 1, 2], "bin_values": [2, 1.5]},
      "top_query_tokens": [{"token": " cat", "weight": 0.9}], "top_key_tokens": [{"token": "The", "weight": 1.9}],
      "histogram": {"bin_edges": [0, 0.5, 1], "bin_values": [10, 1989]},
      "statistics": {"n_samples": 2, "mean_max_activation": 0.8}})");
    folder_.write("heads/L1H0.json",
                  R"({"sequences": [], "qk_distance_histogram": {"bin_edges": [0, 1], "bin_values": [0]},
      "top_query_tokens": [], "top_key_tokens": [], "histogram": {}, "statistics": {}})");
  }

  std::filesystem::path head_file() const { return folder_.path() / "heads/L0H1.json"; }

  static json read(const std::filesystem::path& path) {
    std::ifstream file(path);
    return json::parse(file);
  }

  // What is said after a value of a file was replaced (removed, where it is "remove").
  std::string error_with(const std::string& name, const std::string& pointer, const json& value) {
    SetUp();
    json document = read(folder_.path() / name);
    const json::json_pointer place(pointer);
    if (value == "remove") {
      document[place.parent_pointer()].erase(place.back());
    } else {
      document[place] = value;
    }
    folder_.write(name, document.dump());
    const auto atlas = models::open_atlas(folder_.path());
    if (!atlas.ok()) {
      return atlas.error().describe();
    }
    const auto examples = (*atlas)->examples(0, 1);
    return examples.ok() ? "" : examples.error().describe();
  }

  test::TemporaryFolder folder_;
};

TEST_F(Headvis, PublishedFolderOpens) {
  EXPECT_TRUE(models::is_atlas(folder_.path()));
  const auto opened = models::open_atlas(folder_.path());
  ASSERT_TRUE(opened.ok()) << opened.error().describe();
  const models::AtlasInfo& info = (*opened)->info();
  EXPECT_EQ(info.checkpoint, "gpt2");
  EXPECT_EQ(info.layers, 2);
  EXPECT_EQ(info.heads, 2);
  EXPECT_EQ(info.windows, 1999);
  EXPECT_EQ(info.length, 512);
  EXPECT_EQ(info.corpus.front().name, "openwebtext");
  EXPECT_EQ(info.examples->levels, 5);
  EXPECT_EQ((*opened)->statistics(), (std::vector<std::string>{"headvis.logit_std", "heads.self", "heads.induction"}));
  EXPECT_EQ((*opened)->values("heads.self", 0, models::AtlasNull::kText)->mean[1], 0.25);
  EXPECT_TRUE(std::isnan((*opened)->values("heads.self", 0, models::AtlasNull::kText)->mean[0]));
  EXPECT_TRUE(std::isnan((*opened)->values("heads.induction", 0, models::AtlasNull::kText)->mean[1]));
  EXPECT_FALSE((*opened)->values("heads.self", 2, models::AtlasNull::kText).ok());
  EXPECT_FALSE((*opened)->has("heads.self", models::AtlasNull::kShuffled));

  const auto read = (*opened)->examples(0, 1);
  ASSERT_TRUE(read.ok()) << read.error().describe();
  ASSERT_EQ(read->windows.size(), 2U);
  const Example& first = read->windows[0];
  EXPECT_EQ(first.window, 3);
  EXPECT_EQ(first.level, 5);
  EXPECT_TRUE(first.top);
  EXPECT_FALSE(first.sampled);
  EXPECT_TRUE(first.ids.empty());
  EXPECT_EQ(first.tokens, (std::vector<std::string>{"The", " cat", "\\x0A"}));
  EXPECT_EQ(first.cells, (std::vector<ExampleCell>{{0, 0, 1.0F}, {1, 0, 0.9F}, {2, 1, 0.625F}}));
  EXPECT_TRUE(read->windows[1].sampled);
  EXPECT_EQ(read->query_tokens, (std::vector<models::TokenWeight>{{" cat", 0.9}}));
  EXPECT_EQ(read->histogram, (std::vector<double>{10, 1989}));
  EXPECT_TRUE((*opened)->examples(1, 0).value().windows.empty());
  EXPECT_FALSE((*opened)->examples(0, 0).ok());  // not among the heads

  const auto trace = models::open_atlas_trace(folder_.path());
  ASSERT_TRUE(trace.ok()) << trace.error().describe();
  EXPECT_EQ((*trace)->model().name, "gpt2");
}

TEST_F(Headvis, RefusesWhatIsWrong) {
  struct Case {
    const char* file;
    const char* pointer;
    json value;
    const char* said;
  };
  const char* const config = "config.json";
  const char* const scatter = "scatter_data.json";
  const char* const head = "heads/L0H1.json";
  const std::vector<Case> cases{
      {config, "/model_name", 3, "model_name: expected a string"},
      {config, "/n_layers", 0, "n_layers: expected a whole number of 1"},
      {config, "/n_heads", 1e9, "n_heads: expected"},
      {config, "/n_intervals", "remove", "n_intervals: expected"},
      {config, "/n_intervals", 1000, "n_intervals: expected"},
      {config, "/heads", json::array({json::array({0, 2})}), "heads: expected [layer, head]"},
      {config, "/heads", json::array({3}), "heads: expected [layer, head]"},
      {config, "/head_data_pattern", "../L{layer}H{head}.json", "head_data_pattern: expected a file name"},
      {config, "/head_data_pattern", "L{layer}.json", "head_data_pattern: expected a file name"},
      {config, "/dataset_name", json::array(), "dataset_name: expected a string"},
      {config, "/pipeline_config", 1, "pipeline_config"},
      {config, "/pipeline_config/seq_len", -1, "seq_len: expected"},
      {scatter, "/0", 5, "[0]"},
      {scatter, "/0/layer", 2, "layer: expected a whole number of 0 to 1"},
      {scatter, "/0/head", "remove", "head: expected"},
      {scatter, "/1/induction_score", "much", "induction_score: expected a number"},
      {head, "/sequences", "remove", "sequences: expected a list"},
      {head, "/sequences/0", 1, "sequences[0]"},
      {head, "/sequences/0/sequence_id", -1, "sequence_id: expected"},
      {head, "/sequences/0/sequence_id", 3, "sequence_id: expected each once"},
      {head, "/sequences/0/interval", 6, "interval: expected a whole number of 1 to 5"},
      {head, "/sequences/0/max_activation", nullptr, "max_activation: expected a number"},
      {head, "/sequences/0/tokens", json::array({"a", 5}), "tokens: expected a string"},
      {head, "/sequences/0/tokens", json::array({"a"}), "tokens: expected 2 of them, as seq_len says"},
      {head, "/sequences/0/seq_len", 100000, "seq_len: expected"},
      {head, "/sequences/0/attention_indices/1", 4, "attention_indices: expected numbers below seq_len"},
      {head, "/sequences/0/attention_indices/1", 0, "attention_indices: expected each cell once"},
      {head, "/sequences/0/attention_indices/1", 0.5, "attention_indices: expected a whole number"},
      {head, "/sequences/0/attention_values", "remove", "attention_values: expected a list"},
      {head, "/sequences/0/attention_values", json::array({1}), "attention_values: expected 2 numbers"},
      {head, "/sequences/0/attention_values/0", 1.5, "attention_values: expected weights of 0 to 1"},
      {head, "/sequences/0/ids", json::array({1}), "ids: expected 2 numbers"},
      {head, "/sequences/0/top", "yes", "top: expected true or false"},
      {head, "/top_query_tokens/0/weight", -1, "weight: expected a number"},
      {head, "/top_key_tokens/0/token", "remove", "token: expected a string"},
      {head, "/histogram/bin_edges/1", 2, "bin_edges: expected ascending numbers"},
      {head, "/histogram/bin_values", json::array({1}), "bin_values: expected"},
      {head, "/qk_distance_histogram/bin_values/0", -1, "bin_values: expected"},
      {head, "/interval_bounds", json::array({1, 2}), "interval_bounds: expected 4 ascending numbers"},
  };
  for (const Case& one : cases) {
    const std::string said = error_with(one.file, one.pointer, one.value);
    EXPECT_NE(said.find(one.said), std::string::npos) << one.pointer << ": " << said;
    EXPECT_NE(said.find(one.file), std::string::npos) << said;
  }
  SetUp();
  folder_.write("heads/L0H1.json", "{\"sequences\": [");
  EXPECT_FALSE(models::open_atlas(folder_.path()).value()->examples(0, 1).ok());
  std::filesystem::remove(head_file());
  EXPECT_FALSE(models::open_atlas(folder_.path()).value()->examples(0, 1).ok());
  std::filesystem::remove(folder_.path() / "scatter_data.json");
  EXPECT_FALSE(models::is_atlas(folder_.path()));
}

TEST_F(Headvis, WhatIsWrittenReadsBackEqual) {
  const std::filesystem::path assets = std::filesystem::path(test::source_dir()) / "assets";
  const std::filesystem::path checkpoint = assets / "checkpoints/text-rope";
  models::AtlasOptions options;
  options.corpus = {assets / "samples/alice.txt"};
  options.windows = 20;
  options.length = 48;
  options.replicates = 4;
  options.what = {"heads", "examples"};
  options.out = folder_.path() / "atlas.safetensors";
  const auto model = test::open_model(checkpoint);
  ASSERT_NE(model, nullptr);
  ASSERT_TRUE(make_atlas(*model, checkpoint, options).ok());
  const auto atlas = models::open_atlas(options.out).value();
  const std::filesystem::path folder = folder_.path() / "data";
  const Status written = write_headvis(*atlas, folder);
  ASSERT_TRUE(written.ok()) << written.error().describe();
  const auto opened = models::open_atlas(folder);
  ASSERT_TRUE(opened.ok()) << opened.error().describe();
  const models::Atlas& found = **opened;
  EXPECT_EQ(found.info().checkpoint, "text-rope");
  EXPECT_EQ(found.info().windows, 20);
  EXPECT_EQ(found.info().length, 48);
  EXPECT_EQ(found.info().examples, atlas->info().examples);
  EXPECT_EQ(found.info().encoding, "rope");
  for (const char* statistic : {"heads.self", "heads.previous", "heads.entropy", "heads.distance", "heads.induction"}) {
    for (std::int64_t layer = 0; layer < found.info().layers; ++layer) {
      EXPECT_EQ(found.values(statistic, layer, models::AtlasNull::kText)->mean,
                atlas->values(statistic, layer, models::AtlasNull::kText)->mean);
    }
  }
  for (std::int64_t layer = 0; layer < found.info().layers; ++layer) {
    for (std::int64_t head = 0; head < found.info().heads; ++head) {
      const auto examples = found.examples(layer, head);
      ASSERT_TRUE(examples.ok()) << examples.error().describe();
      EXPECT_FALSE(examples->windows.empty());
      EXPECT_TRUE(*examples == atlas->examples(layer, head).value()) << layer << "." << head;
    }
  }
  // What the published description asks of a file.
  const json document = read(folder / "heads" / "L0H0.json");
  for (const char* field :
       {"sequences", "qk_distance_histogram", "top_query_tokens", "top_key_tokens", "histogram", "statistics"}) {
    EXPECT_TRUE(document.contains(field)) << field;
  }
  const json& sequence = document["sequences"][0];
  EXPECT_EQ(sequence["tokens"].size(), 48U);
  EXPECT_EQ(sequence["attention_indices"].size(), sequence["attention_values"].size());
  EXPECT_TRUE(read(folder / "server_config.json").empty());

  const Status again = write_headvis(*atlas, folder);
  ASSERT_FALSE(again.ok());
  EXPECT_NE(again.error().describe().find("expected a new or empty folder"), std::string::npos);
}

}  // namespace
}  // namespace locus

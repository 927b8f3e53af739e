#include "models/api/train.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <stop_token>
#include <vector>

#include "models/engine/loaded_model.h"
#include "models/engine/trace/recorded_trace.h"
#include "models/experiments/rerun.h"
#include "models/formats/tensor_source.h"
#include "models/transformer/locus_config.h"
#include "tests/support/golden.h"

namespace {

using locus::ErrorCode;
using locus::training::train;
using locus::training::TrainOptions;
using locus::training::TrainProgress;
using locus::training::TrainSummary;
namespace fs = std::filesystem;

// A fresh folder with a text that a byte model can learn something of at once.
fs::path fresh_folder(const std::string& name) {
  const fs::path folder = fs::path(testing::TempDir()) / ("locus_train_" + name);
  fs::remove_all(folder);
  fs::create_directories(folder);
  std::ofstream text(folder / "corpus.txt");
  for (int n = 0; n < 200; ++n) {
    text << "the cat sat on the mat " << n % 10 << "\n";
  }
  return folder;
}

TrainOptions tiny(const fs::path& folder, const std::string& out) {
  TrainOptions options;
  options.corpus = {{folder / "corpus.txt", "Cats"}};
  options.validate = {{folder / "corpus.txt", ""}};
  options.layers = 1;
  options.heads = 2;
  options.width = 16;
  options.length = 24;
  options.batch = 8;
  options.steps = 12;
  options.warmup = 2;
  options.learning_rate = 1e-2;
  options.save_every = 5;
  options.threads = 2;
  options.out = folder / out;
  options.command = "locus train text";
  return options;
}

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

class Train : public testing::Test {
 protected:
  void SetUp() override { folder_ = fresh_folder(testing::UnitTest::GetInstance()->current_test_info()->name()); }
  void TearDown() override { fs::remove_all(folder_); }
  fs::path folder_;
};

TEST_F(Train, LossFallsAndTheFolderIsComplete) {
  TrainOptions options = tiny(folder_, "out");
  options.steps = 40;
  std::vector<double> losses;
  const auto summary = train(options, [&losses](const TrainProgress& progress) { losses.push_back(progress.loss); });
  ASSERT_TRUE(summary.ok()) << summary.error().describe();
  ASSERT_EQ(losses.size(), 40U);
  EXPECT_NEAR(losses.front(), std::log(256.0), 0.3);
  EXPECT_LT(losses.back(), losses.front() - 1);
  EXPECT_EQ(summary->metric, "bits_per_byte");
  EXPECT_NEAR(summary->splits.at("in"), losses.back() / std::log(2.0), 0.5);

  const auto config = nlohmann::json::parse(read(options.out / "config.json"));
  EXPECT_EQ(config.at("model_type"), "llama");
  EXPECT_EQ(config.at("hidden_size"), 16);
  const auto training = nlohmann::json::parse(read(options.out / "training.json"));
  EXPECT_EQ(training.at("command"), "locus train text");
  EXPECT_EQ(training.at("data").at(0).at("title"), "Cats");
  EXPECT_EQ(training.at("data").at(0).at("sha256").get<std::string>().size(), 64U);
  EXPECT_EQ(training.at("steps_done"), 40);
  EXPECT_EQ(training.dump().find(folder_.string()), std::string::npos) << "a path is recorded";
  const auto source = locus::formats::open_tensors(options.out / "model.safetensors");
  ASSERT_TRUE(source.ok());
  for (const char* const name : {"model.embed_tokens.weight", "model.layers.0.self_attn.k_proj.weight",
                                 "model.layers.0.mlp.gate_proj.weight", "model.norm.weight"}) {
    EXPECT_NE((*source)->find(name), nullptr) << name;
  }
  EXPECT_TRUE(fs::exists(options.out / "tokenizer.json"));
  EXPECT_FALSE(fs::exists(options.out / "training_state.safetensors"));
  EXPECT_EQ(read(options.out / "loss.csv").substr(0, 4), "step");
}

// Each step that is kept is a checkpoint of its own; the last is the run's.
TEST_F(Train, KeepsTheCheckpointOfEverySave) {
  TrainOptions options = tiny(folder_, "out");
  options.keep = true;
  ASSERT_TRUE(train(options).ok());
  for (const int step : {0, 5, 10, 12}) {
    const fs::path kept = options.out / ("step" + std::to_string(step));
    EXPECT_EQ(nlohmann::json::parse(read(kept / "training.json")).at("steps_done"), step);
    const auto model = locus::models::open(kept);
    ASSERT_TRUE(model.ok()) << model.error().describe();
    EXPECT_FALSE(fs::exists(kept / "training_state.safetensors"));
    const std::string curve = read(kept / "loss.csv");
    EXPECT_EQ(std::count(curve.begin(), curve.end(), '\n'), 1 + step);
  }
  EXPECT_EQ(read(options.out / "step12/model.safetensors"), read(options.out / "model.safetensors"));
  EXPECT_NE(read(options.out / "step0/model.safetensors"), read(options.out / "step5/model.safetensors"));
  // What another run would mix with is refused, and goes where it is asked to.
  fs::rename(options.out / "step5", folder_ / "step5");
  fs::remove_all(options.out / "step0");
  for (const char* const name : {"config.json", "model.safetensors", "tokenizer.json", "training.json", "loss.csv"}) {
    fs::remove(options.out / name);
  }
  const auto refused = train(options);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("step10/config.json"), std::string::npos) << refused.error().describe();
  std::ofstream(options.out / "step10/notes.txt") << "mine";
  options.overwrite = true;
  options.keep = false;
  ASSERT_TRUE(train(options).ok());
  EXPECT_FALSE(fs::exists(options.out / "step12"));
  EXPECT_FALSE(fs::exists(options.out / "step10/model.safetensors"));
  EXPECT_TRUE(fs::exists(options.out / "step10/notes.txt"));
}

// Killed after its first save, a run that goes on ends with the very weights of one that was never stopped.
TEST_F(Train, ResumedRunEqualsAnUninterruptedOne) {
  const TrainOptions whole = tiny(folder_, "whole");
  ASSERT_TRUE(train(whole).ok());

  TrainOptions cut = tiny(folder_, "cut");
  std::stop_source stop;
  const auto first = train(
      cut,
      [&stop](const TrainProgress& progress) {
        if (progress.step == 7) {
          stop.request_stop();
        }
      },
      stop.get_token());
  ASSERT_TRUE(first.ok()) << first.error().describe();
  EXPECT_TRUE(first->stopped);
  EXPECT_EQ(first->steps, 7);
  EXPECT_TRUE(fs::exists(cut.out / "training_state.safetensors"));
  cut.resume = true;
  std::int64_t resumed_at = 0;
  const auto second = train(
      cut, [&resumed_at](const TrainProgress& progress) { resumed_at = resumed_at == 0 ? progress.step : resumed_at; });
  ASSERT_TRUE(second.ok()) << second.error().describe();
  EXPECT_EQ(resumed_at, 8);
  EXPECT_EQ(read(cut.out / "model.safetensors"), read(whole.out / "model.safetensors"));
  EXPECT_FALSE(second->stopped);
}

// Splits that are asked for are columns of loss.csv, at every save and at the end, and change no number of the training;
// a resumed run keeps those before it.
TEST_F(Train, MeasuresTheSplitsThatAreAskedFor) {
  TrainOptions options;
  options.task = "flip-flop";
  options.task_options.set("symbols", std::int64_t{8});
  options.encoding = "rope";
  options.layers = 1;
  options.heads = 2;
  options.width = 16;
  options.batch = 8;
  options.steps = 12;
  options.warmup = 2;
  options.save_every = 5;
  options.threads = 1;
  options.out = folder_ / "plain";
  ASSERT_TRUE(train(options).ok());
  options.out = folder_ / "whole";
  options.splits = {"sparse", "in"};
  const auto whole = train(options);
  ASSERT_TRUE(whole.ok()) << whole.error().describe();
  EXPECT_EQ(read(folder_ / "plain/model.safetensors"), read(options.out / "model.safetensors"));
  ASSERT_EQ(whole->curve.size(), 12U);
  for (const auto& point : whole->curve) {
    EXPECT_EQ(point.splits.size(), point.step == 5 || point.step == 10 || point.step == 12 ? 2U : 0U) << point.step;
  }
  EXPECT_TRUE(read(options.out / "loss.csv").starts_with("step,loss,learning_rate,validation,sparse,in\n"));
  TrainOptions cut = options;
  cut.out = folder_ / "cut";
  std::stop_source stop;
  const auto at_seven = [&stop](const TrainProgress& progress) {
    if (progress.step == 7) {
      stop.request_stop();
    }
  };
  ASSERT_TRUE(train(cut, at_seven, stop.get_token()).ok());
  cut.resume = true;
  ASSERT_TRUE(train(cut).ok());
  EXPECT_EQ(read(cut.out / "loss.csv"), read(options.out / "loss.csv"));
  options.overwrite = true;
  for (const std::vector<std::string>& wrong : {std::vector<std::string>{"thin"}, {"in", "in"}}) {
    options.splits = wrong;
    const auto refused = train(options);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::kUsage);
  }
}

// RandPE draws T of L_max positions without repeating any. L_max = T leaves 0 … T − 1, so the run is that of the
// encoding below; any other draw of T different positions has one beyond T − 1.
TEST_F(Train, RandpeLearnsAtPositionsBeyondItsLength) {
  const auto losses = [this](const std::string& out, const std::string& encoding, const locus::Settings& settings) {
    TrainOptions options = tiny(folder_, out);
    options.steps = 4;
    options.encoding = encoding;
    options.encoding_options = settings;
    std::vector<double> all;
    const auto summary = train(options, [&all](const TrainProgress& progress) { all.push_back(progress.loss); });
    EXPECT_TRUE(summary.ok()) << (summary.ok() ? "" : summary.error().describe());
    return all;
  };
  const locus::SettingValue below = std::string("sinusoidal");
  const std::vector<double> plain = losses("plain", "sinusoidal", {});
  const std::vector<double> same = losses("same", "randpe", {{"over", below}, {"length_max", std::int64_t{24}}});
  const std::vector<double> drawn = losses("drawn", "randpe", {{"over", below}, {"length_max", std::int64_t{512}}});
  const std::vector<double> again = losses("again", "randpe", {{"over", below}, {"length_max", std::int64_t{512}}});
  ASSERT_EQ(plain.size(), 4U);
  ASSERT_EQ(drawn.size(), 4U);
  ASSERT_EQ(same.size(), 4U);
  for (std::size_t n = 0; n < 4; ++n) {
    EXPECT_NEAR(same[n], plain[n], 1e-6 * (1 + plain[n])) << n;
    EXPECT_GT(std::abs(drawn[n] - plain[n]), 1e-4) << n;
  }
  EXPECT_EQ(drawn, again);
}

// The logits of the checkpoint in `folder` for a few bytes, by the differentiable forward pass.
at::Tensor logits_of(const fs::path& folder) {
  const auto model = locus::models::open(folder, locus::models::OpenOptions());
  EXPECT_TRUE(model.ok()) << (model.ok() ? "" : model.error().describe());
  const auto transformer = dynamic_cast<const locus::models::LoadedModel&>(**model).checkpoint().ready();
  const at::NoGradGuard no_grad;
  locus::transformer::Batch batch;
  batch.ids = at::arange(97, 117).unsqueeze(0);
  batch.positions = (*transformer)->positions(20);
  return (*transformer)->forward(batch);
}

// Runs, continuations and evaluation of a checkpoint that says so stand where its encoding draws positions.
TEST_F(Train, RandpeEvaluatesAtDrawnPositions) {
  const auto trained = [this](const std::string& out, const std::string& evaluation) {
    TrainOptions options = tiny(folder_, out);
    options.steps = 4;
    options.encoding = "randpe";
    options.encoding_options = {{"over", std::string("sinusoidal")},
                                {"length_max", std::int64_t{64}},
                                {"evaluation", evaluation},
                                {"seed", std::int64_t{3}}};
    const auto summary = train(options);
    EXPECT_TRUE(summary.ok()) << (summary.ok() ? "" : summary.error().describe());
    const auto model = locus::models::open(options.out, locus::models::OpenOptions());
    EXPECT_TRUE(model.ok()) << (model.ok() ? "" : model.error().describe());
    return *model;
  };
  const auto drawn = trained("drawn", "drawn");
  const auto natural = trained("natural", "natural");
  const auto bits = [this](const std::string& name) {
    locus::training::EvaluateOptions options;
    options.task = "text";
    options.validate = {{folder_ / "corpus.txt", ""}};
    const auto evaluated = locus::training::evaluate(folder_ / name, options);
    EXPECT_TRUE(evaluated.ok()) << (evaluated.ok() ? "" : evaluated.error().describe());
    return evaluated->splits.front().second;
  };
  EXPECT_GT(std::abs(bits("drawn") - bits("natural")), 1e-4);
  const auto transformer = dynamic_cast<const locus::models::LoadedModel&>(*drawn).checkpoint().ready();
  const auto positions_of = [](const locus::models::Trace& trace) {
    std::vector<double> list;
    for (const locus::models::TokenInfo& token : trace.tokens()) {
      list.push_back(token.position);
    }
    return at::tensor(list, at::kDouble);
  };
  locus::models::Input input;
  input.ids.emplace();
  for (std::int64_t n = 0; n < 20; ++n) {
    input.ids->push_back(97 + n);
  }
  const locus::models::RunOptions all{.all_logits = true};
  const auto run = drawn->run(input, all);
  ASSERT_TRUE(run.ok()) << run.error().describe();
  const at::Tensor places = (*transformer)->positions(20).ids;
  EXPECT_TRUE((places.slice(0, 1) > places.slice(0, 0, -1)).all().item<bool>());
  EXPECT_GT(places[-1].item<double>(), 20);
  EXPECT_TRUE(positions_of(**run).equal(places));
  locus::transformer::Batch batch;
  batch.ids = at::arange(97, 117).unsqueeze(0);
  batch.positions = {places, 0};
  const auto logits = [](const locus::models::Trace& trace) {
    return locus::models::recorded_of(trace)->data().logits;
  };
  {
    const at::NoGradGuard no_grad;
    EXPECT_CLOSE(logits(**run), (*transformer)->forward(batch)[0], 1e-4);
    batch.positions = locus::position::Positions::sequence(20);
    EXPECT_GT(locus::test::deviation(logits(**run), (*transformer)->forward(batch)[0]), 1e-3);
  }
  // One sample as long as prompt and continuation, as if all were given.
  const auto generated = drawn->generate(input, {.count = 3}, all);
  ASSERT_TRUE(generated.ok()) << generated.error().describe();
  EXPECT_TRUE(positions_of(*generated->trace).equal((*transformer)->positions(23).ids));
  locus::models::Input whole = input;
  whole.ids->insert(whole.ids->end(), generated->ids.begin(), generated->ids.end());
  const auto again = drawn->run(whole, all);
  ASSERT_TRUE(again.ok());
  EXPECT_CLOSE(logits(*generated->trace), logits(**again), 1e-4);
  // What a sample begins with is no start; later ids are the sample's, moved.
  input.position_start = 5;
  const auto later = drawn->run(input, all);
  ASSERT_TRUE(later.ok());
  EXPECT_TRUE(positions_of(**later).equal(places + 5));
  EXPECT_EQ(locus::models::position_start_of(*drawn, (*later)->tokens()), 5);
  EXPECT_EQ(locus::models::position_start_of(*drawn, (*run)->tokens()), 0);
  EXPECT_EQ(locus::models::position_start_of(*natural, (*natural->run(input, all))->tokens()), 5);
  input.position_start = 0;
  input.ids->resize(65, 97);
  const auto longer = drawn->run(input, all);
  ASSERT_FALSE(longer.ok());
  EXPECT_NE(longer.error().message.find("length_max"), std::string::npos);
}

// TAPE taken from a RoPE checkpoint computes what that does until it is trained; then its own parameters alone move.
TEST_F(Train, TapeFromRopeBeginsIdenticalAndLeavesTheBaseAlone) {
  TrainOptions base = tiny(folder_, "base");
  base.layers = 2;  // the state that TAPE updates is read by the layer above
  ASSERT_TRUE(train(base).ok());
  TrainOptions tuned = tiny(folder_, "tuned");
  tuned.from = base.out;
  tuned.freeze_base = true;
  tuned.encoding = "tape";
  tuned.layers = 7;  // the checkpoint's shape counts
  std::stop_source stop;
  stop.request_stop();
  const auto begun = train(tuned, {}, stop.get_token());
  ASSERT_TRUE(begun.ok()) << begun.error().describe();
  const at::Tensor before = logits_of(base.out);
  EXPECT_CLOSE(logits_of(tuned.out), before, 1e-6);

  tuned.resume = true;
  const auto done = train(tuned);
  ASSERT_TRUE(done.ok()) << done.error().describe();
  EXPECT_GT((logits_of(tuned.out) - before).abs().max().item<double>(), 1e-4);
  const auto model = locus::models::open(tuned.out, locus::models::OpenOptions());
  const auto original = locus::models::open(base.out, locus::models::OpenOptions());
  ASSERT_TRUE(model.ok() && original.ok());
  EXPECT_EQ((*model)->info().first_encoding().name, "tape");
  EXPECT_EQ((*model)->info().layers, 2);
  const auto weights = [](const locus::models::Model& opened) {
    std::map<std::string, at::Tensor> all;
    auto* const transformer = *dynamic_cast<const locus::models::LoadedModel&>(opened).checkpoint().ready();
    for (const auto& parameter : const_cast<locus::transformer::Transformer*>(transformer)->parameters()) {
      all[parameter.name] = *parameter.value;
    }
    return all;
  };
  const auto after = weights(**model);
  for (const auto& [name, value] : weights(**original)) {
    ASSERT_EQ(after.count(name), 1U) << name;
    EXPECT_TRUE(at::equal(after.at(name), value)) << name;
  }
  EXPECT_GT(after.at("position.layers.0.pe.up_proj").abs().max().item<double>(), 0);
}

// Fine-tuning goes on from the checkpoint's weights, and may stretch its positions.
TEST_F(Train, FineTuningBeginsWhereTheCheckpointEnded) {
  TrainOptions base = tiny(folder_, "base");
  base.steps = 40;
  const auto trained = train(base);
  ASSERT_TRUE(trained.ok());
  TrainOptions tuned = tiny(folder_, "tuned");
  tuned.from = base.out;
  tuned.encoding_options = {{"scaling", std::string("linear")}, {"factor", 1.0}};
  tuned.length = 48;
  tuned.learning_rate = 1e-4;
  tuned.steps = 2;
  std::vector<double> losses;
  const auto summary = train(tuned, [&losses](const TrainProgress& progress) { losses.push_back(progress.loss); });
  ASSERT_TRUE(summary.ok()) << summary.error().describe();
  EXPECT_LT(losses.front(), trained->loss + 0.5);
  const auto config = nlohmann::json::parse(read(tuned.out / "config.json"));
  EXPECT_EQ(config.at("max_position_embeddings"), 48);
  EXPECT_EQ(nlohmann::json::parse(read(tuned.out / "training.json")).at("from"), "base");
}

// A run from the config.json that another run wrote begins as that one did.
TEST_F(Train, TakesTheShapeFromAConfigFile) {
  TrainOptions flags = tiny(folder_, "flags");
  flags.encoding = "alibi";
  flags.steps = 3;
  const auto first = train(flags);
  ASSERT_TRUE(first.ok());
  TrainOptions file = tiny(folder_, "file");
  file.config = flags.out / "config.json";
  file.steps = 3;
  file.width = 64;
  const auto second = train(file);
  ASSERT_TRUE(second.ok()) << second.error().describe();
  EXPECT_EQ(read(file.out / "model.safetensors"), read(flags.out / "model.safetensors"));
}

// A hybrid learns, and a shape without positions stays without; its checkpoint opens with its mixers.
TEST_F(Train, ALayerWithoutSoftmaxLearns) {
  locus::transformer::Spec spec;
  locus::transformer::LayerSpec layer;
  spec.width = 16;
  layer.attention.heads = layer.attention.kv_heads = 2;
  layer.attention.head_width = 8;
  layer.encoding = -1;
  layer.feed_forward.inner = 24;
  spec.encodings.clear();
  spec.repeat(layer, 2);
  spec.layers[0].attends = false;
  spec.layers[0].mixer.kind = locus::transformer::Mixing::kDelta;
  spec.layers[0].mixer.heads = spec.layers[0].mixer.key_heads = 2;
  spec.layers[0].mixer.key_width = spec.layers[0].mixer.value_width = 8;
  std::ofstream(folder_ / "shape.json") << locus::transformer::locus_config(spec).dump();
  TrainOptions options = tiny(folder_, "hybrid");
  options.config = folder_ / "shape.json";
  options.steps = 40;
  std::vector<double> losses;
  const auto summary = train(options, [&losses](const TrainProgress& progress) { losses.push_back(progress.loss); });
  ASSERT_TRUE(summary.ok()) << summary.error().describe();
  EXPECT_LT(losses.back(), losses.front() - 1);
  const auto training = nlohmann::json::parse(read(options.out / "training.json"));
  EXPECT_EQ(training.at("encoding").at("name"), "none");
  const auto model = locus::models::open(options.out);
  ASSERT_TRUE(model.ok()) << model.error().describe();
  EXPECT_EQ((*model)->info().layer_info[0].mixer, "gated delta rule");
  EXPECT_FALSE((*model)->info().layer_info[0].attends);
}

// SeqPE's own losses are part of a step, each by its weight, and its shifts move where sequences stand.
TEST_F(Train, SeqpeTrainsItsEmbeddingsToo) {
  const auto weights = [this](const std::string& out, const locus::Settings& settings) {
    TrainOptions options = tiny(folder_, out);
    options.steps = 2;
    options.encoding = "seqpe";
    options.encoding_options = {{"encoder_width", std::int64_t{16}}, {"loss_batch", std::int64_t{4}}};
    for (const auto& [name, value] : settings.values()) {
      options.encoding_options.set(name, value);
    }
    const auto summary = train(options);
    EXPECT_TRUE(summary.ok()) << (summary.ok() ? "" : summary.error().describe());
    return read(options.out / "model.safetensors");
  };
  const std::string plain = weights("plain", {{"distance_loss", 0.0}, {"transfer_loss", 0.0}, {"shift", 0.0}});
  const std::string distance = weights("distance", {{"transfer_loss", 0.0}, {"shift", 0.0}});
  const std::string transfer = weights("transfer", {{"distance_loss", 0.0}, {"shift", 0.0}});
  const std::string shift = weights("shift", {{"distance_loss", 0.0}, {"transfer_loss", 0.0}, {"shift", 1.0}});
  EXPECT_EQ(std::set<std::string>({plain, distance, transfer, shift}).size(), 4U);
  EXPECT_EQ(distance, weights("again", {{"transfer_loss", 0.0}, {"shift", 0.0}}));
}

TEST_F(Train, RefusesToResumeWithOtherOptions) {
  TrainOptions options = tiny(folder_, "out");
  std::stop_source stop;
  stop.request_stop();
  ASSERT_TRUE(train(options, {}, stop.get_token()).ok());
  options.resume = true;
  options.learning_rate *= 2;
  const auto resumed = train(options);
  ASSERT_FALSE(resumed.ok());
  EXPECT_EQ(resumed.error().code, ErrorCode::kBadInput);
  EXPECT_NE(resumed.error().message.find("learning_rate"), std::string::npos) << resumed.error().message;
}

// What a folder holds, and when each file of it was last written.
std::map<std::string, std::pair<std::string, fs::file_time_type>> contents(const fs::path& folder) {
  std::map<std::string, std::pair<std::string, fs::file_time_type>> all;
  for (const auto& entry : fs::directory_iterator(folder)) {
    all[entry.path().filename().string()] = {read(entry.path()), entry.last_write_time()};
  }
  return all;
}

void expect_refused(const TrainOptions& options, const std::string& naming) {
  const auto before = contents(options.out);
  const auto summary = train(options);
  ASSERT_FALSE(summary.ok()) << naming;
  EXPECT_EQ(summary.error().code, ErrorCode::kBadInput) << summary.error().describe();
  EXPECT_NE(summary.error().describe().find(naming), std::string::npos) << summary.error().describe();
  EXPECT_TRUE(contents(options.out) == before) << "the folder was changed: " << naming;
}

TEST_F(Train, AFinishedRunIsNotDoneAgain) {
  TrainOptions options = tiny(folder_, "out");
  ASSERT_TRUE(train(options).ok());
  const auto before = contents(options.out);
  options.resume = true;
  int steps = 0;
  const auto again = train(options, [&steps](const TrainProgress&) { ++steps; });
  ASSERT_TRUE(again.ok()) << again.error().describe();
  EXPECT_TRUE(again->was_finished);
  EXPECT_EQ(steps, 0);
  EXPECT_TRUE(contents(options.out) == before);

  TrainOptions other = options;
  other.seed = 9;
  expect_refused(other, "seed was 0, now 9");
  other = options;
  other.steps = 20;
  expect_refused(other, "steps was 12, now 20");
  std::ofstream(folder_ / "corpus.txt", std::ios::app) << "another line\n";
  expect_refused(options, "data was");
}

TEST_F(Train, WhatAFolderHoldsIsOverwrittenOnRequestAlone) {
  TrainOptions options = tiny(folder_, "out");
  ASSERT_TRUE(train(options).ok());
  const std::string first = read(options.out / "model.safetensors");
  options.seed = 5;
  expect_refused(options, "--overwrite");
  options.from = options.out;
  expect_refused(options, "--overwrite");
  options.from.clear();
  options.overwrite = options.resume = true;
  EXPECT_EQ(train(options).error().code, ErrorCode::kUsage);
  options.resume = false;
  const auto replaced = train(options);
  ASSERT_TRUE(replaced.ok()) << replaced.error().describe();
  EXPECT_NE(read(options.out / "model.safetensors"), first);
  EXPECT_EQ(nlohmann::json::parse(read(options.out / "training.json")).at("seed"), 5);

  // A checkpoint of another program is no run to go on with.
  TrainOptions foreign = tiny(folder_, "foreign");
  fs::create_directories(foreign.out);
  std::ofstream(foreign.out / "pytorch_model.bin") << "weights";
  expect_refused(foreign, "pytorch_model.bin");
  foreign.resume = true;
  expect_refused(foreign, "pytorch_model.bin");
}

TEST_F(Train, AStoppedRunIsNotBegunAgainBeside) {
  TrainOptions options = tiny(folder_, "out");
  std::stop_source stop;
  stop.request_stop();
  ASSERT_TRUE(train(options, {}, stop.get_token()).ok());
  expect_refused(options, "--resume");
  options.overwrite = true;
  options.seed = 3;
  ASSERT_TRUE(train(options).ok());
  EXPECT_FALSE(fs::exists(options.out / "training_state.safetensors"));
}

TEST_F(Train, TwoRunsNeverShareAFolder) {
  const TrainOptions options = tiny(folder_, "out");
  std::string refused;
  const auto first = train(options, [&](const TrainProgress& progress) {
    if (progress.step == 3) {
      EXPECT_NE(read(options.out / "training.lock").find("locus train text"), std::string::npos);
      TrainOptions second = options;
      second.overwrite = true;
      const auto other = train(second);
      refused = other.ok() ? "" : other.error().describe();
    }
  });
  ASSERT_TRUE(first.ok()) << first.error().describe();
  EXPECT_NE(refused.find("process " + std::to_string(getpid())), std::string::npos) << refused;
  EXPECT_FALSE(fs::exists(options.out / "training.lock"));
  const TrainOptions alone = tiny(folder_, "alone");
  ASSERT_TRUE(train(alone).ok());
  EXPECT_EQ(read(options.out / "model.safetensors"), read(alone.out / "model.safetensors"));
}

// A run that was killed before its first save has but its record; it is known as a run, and begun again.
TEST_F(Train, ARunKilledBeforeItsFirstSaveIsResumed) {
  const TrainOptions whole = tiny(folder_, "whole");
  ASSERT_TRUE(train(whole).ok());
  TrainOptions cut = tiny(folder_, "cut");
  const pid_t child = fork();
  if (child == 0) {
    cut.threads = 1;
    static_cast<void>(train(cut, [](const TrainProgress&) { kill(getpid(), SIGKILL); }));
    _exit(1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (!WIFSIGNALED(status)) {
    GTEST_SKIP() << "threads of the parent keep a forked child from training";
  }
  ASSERT_TRUE(fs::exists(cut.out / "training.json"));
  ASSERT_FALSE(fs::exists(cut.out / "model.safetensors"));
  cut.resume = true;
  const auto resumed = train(cut);
  ASSERT_TRUE(resumed.ok()) << resumed.error().describe();
  EXPECT_EQ(read(cut.out / "model.safetensors"), read(whole.out / "model.safetensors"));
}

// Killed at any moment the folder never holds old weights under the new run's name.
TEST_F(Train, WhatIsOverwrittenIsGoneBeforeTheNewRunIsNamed) {
  TrainOptions options = tiny(folder_, "out");
  ASSERT_TRUE(train(options).ok());
  const std::string first = read(options.out / "model.safetensors");
  options.seed = 7;
  options.overwrite = true;
  options.threads = 1;
  bool seen = false;
  ASSERT_TRUE(train(options, [&](const TrainProgress& progress) {
                if (progress.step == 1) {  // as a kill before the first save would leave it
                  seen = true;
                  EXPECT_FALSE(fs::exists(options.out / "model.safetensors"));
                  EXPECT_FALSE(fs::exists(options.out / "config.json"));
                  EXPECT_EQ(nlohmann::json::parse(read(options.out / "training.json")).at("seed"), 7);
                }
              }).ok());
  EXPECT_TRUE(seen);
  EXPECT_NE(read(options.out / "model.safetensors"), first);
}

TEST_F(Train, OverwritingNeverRemovesWhatTheRunReads) {
  TrainOptions options = tiny(folder_, "out");
  ASSERT_TRUE(train(options).ok());
  const auto before = contents(options.out);
  TrainOptions further = options;
  further.overwrite = true;
  further.from = options.out;
  const auto refused = train(further);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kUsage) << refused.error().describe();
  EXPECT_TRUE(contents(options.out) == before);
  further = options;
  further.overwrite = true;
  further.corpus.push_back({options.out / "loss.csv", ""});
  EXPECT_FALSE(train(further).ok());
  EXPECT_TRUE(contents(options.out) == before);
}

TEST_F(Train, AResumeWithoutAStateSaysThatItBeginsAnew) {
  TrainOptions options = tiny(folder_, "out");
  options.resume = true;
  std::vector<std::string> notes;
  const auto note = [&notes](const TrainProgress& progress) {
    if (!progress.note.empty()) {
      notes.push_back(progress.note);
    }
  };
  std::stop_source stop;
  ASSERT_TRUE(train(
                  options,
                  [&](const TrainProgress& progress) {
                    note(progress);
                    if (progress.step == 5) {
                      stop.request_stop();
                    }
                  },
                  stop.get_token())
                  .ok());
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_NE(notes[0].find("no training_state.safetensors to resume from: begins at step 0"), std::string::npos);
  notes.clear();
  ASSERT_TRUE(fs::remove(options.out / "training_state.safetensors"));
  ASSERT_TRUE(train(options, note).ok());
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_NE(notes[0].find("though step 5 is recorded: begins at step 0"), std::string::npos) << notes[0];
  // With one nothing is said.
  TrainOptions whole = tiny(folder_, "whole");
  std::stop_source later;
  ASSERT_TRUE(train(
                  whole,
                  [&](const TrainProgress& progress) {
                    if (progress.step == 5) {
                      later.request_stop();
                    }
                  },
                  later.get_token())
                  .ok());
  notes.clear();
  whole.resume = true;
  ASSERT_TRUE(train(whole, note).ok());
  EXPECT_TRUE(notes.empty());
}

TEST_F(Train, PartsOfABatchAddUpToTheBatch) {
  TrainOptions one = tiny(folder_, "one");
  one.threads = 1;
  one.steps = 1;
  TrainOptions spread = one;
  spread.threads = 3;
  spread.out = folder_ / "spread";
  double loss_one = 0;
  double loss_spread = 0;
  ASSERT_TRUE(train(one, [&](const TrainProgress& progress) { loss_one = progress.loss; }).ok());
  ASSERT_TRUE(train(spread, [&](const TrainProgress& progress) { loss_spread = progress.loss; }).ok());
  EXPECT_NEAR(loss_one, loss_spread, 1e-5 * (1 + std::abs(loss_one)));
  const auto a = locus::formats::open_tensors(one.out / "model.safetensors");
  const auto b = locus::formats::open_tensors(spread.out / "model.safetensors");
  ASSERT_TRUE(a.ok() && b.ok());
  const auto* const x = (*a)->find("model.layers.0.mlp.up_proj.weight");
  const auto* const y = (*b)->find("model.layers.0.mlp.up_proj.weight");
  ASSERT_TRUE(x != nullptr && y != nullptr);
  for (std::int64_t n = 0; n < x->elements(); ++n) {
    float left = 0;
    float right = 0;
    std::memcpy(&left, x->storage.data() + (x->offset + n) * 4, 4);
    std::memcpy(&right, y->storage.data() + (y->offset + n) * 4, 4);
    // The first step of Adam is the sign of the gradient: gradients near 0 may differ in theirs.
    ASSERT_NEAR(left, right, 2.1 * one.learning_rate) << n;
  }
}

TEST_F(Train, NamesWhatMakesNoRun) {
  const TrainOptions good = tiny(folder_, "out");
  const auto expect_error = [](const TrainOptions& options, ErrorCode code) {
    const auto summary = train(options);
    ASSERT_FALSE(summary.ok());
    EXPECT_EQ(summary.error().code, code) << summary.error().describe();
  };
  TrainOptions options = good;
  options.task = "poetry";
  expect_error(options, ErrorCode::kUsage);
  options = good;
  options.encoding = "compass";
  expect_error(options, ErrorCode::kUsage);
  options = good;
  options.freeze_base = true;
  expect_error(options, ErrorCode::kUsage);
  options = good;
  options.from = folder_ / "missing";
  expect_error(options, ErrorCode::kBadInput);
  options = good;
  options.heads = 3;
  expect_error(options, ErrorCode::kUsage);
  options = good;
  options.corpus.clear();
  expect_error(options, ErrorCode::kUsage);
  options = good;
  options.corpus = {{folder_ / "missing.txt", ""}};
  expect_error(options, ErrorCode::kBadInput);
  options = good;
  options.length = 1 << 20;
  expect_error(options, ErrorCode::kBadInput);
  options = good;
  options.encoding = "randpe";
  options.encoding_options = {{"length_max", std::int64_t{8}}};
  expect_error(options, ErrorCode::kBadInput);
  options = good;
  options.out.clear();
  expect_error(options, ErrorCode::kUsage);
}

}  // namespace

// The analyses on a trained checkpoint, and on checkpoints whose answers are known.
#include "models/api/analyses.h"
#include "models/api/logit_lens.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "models/engine/trace/recorded_trace.h"
#include "models/transformer/weights.h"
#include "tests/support/checkpoint_folder.h"
#include "tests/support/paths.h"

namespace locus {
namespace {

const std::filesystem::path kTextRope = test::source_dir() + "/assets/checkpoints/text-rope";
constexpr const char* kText =
    "The ship left the harbour before the light came. Nobody on the shore had counted the sails, and nobody "
    "asked the captain where the wind would take them. They ate bread and cold fish, and they slept on deck.";

std::shared_ptr<const models::Model> text_rope() {
  const models::OpenOptions defaults;
  return test::open_model(kTextRope, defaults);
}

models::TracePointer run(const models::Model& model, const models::Input& input) {
  const auto trace = model.run(input);
  EXPECT_TRUE(trace.ok()) << (trace.ok() ? "" : trace.error().describe());
  return trace.ok() ? *trace : nullptr;
}

models::TracePointer run_text(const models::Model& model, const std::string& text = kText) {
  models::Input input;
  input.text = text;
  return run(model, input);
}

// GPT-2 shaped: a learned table of positions.
struct LearnedFolder {
  test::TemporaryFolder place;
  LearnedFolder() {
    place.write("config.json", R"({"model_type": "gpt2", "vocab_size": 40, "n_embd": 32, "n_layer": 2, "n_head": 4,
      "n_positions": 64})");
    test::write_tensors(place.path() / "model.safetensors", test::with_prefix(test::Golden("gpt2_vanilla"), "w."));
  }
};

TEST(Analyses, TheHeadTableFindsThePreviousTokenHead) {
  const auto model = text_rope();
  const auto trace = run_text(*model);
  const auto table = models::head_table(*trace);
  ASSERT_TRUE(table.ok()) << table.error().describe();
  ASSERT_EQ(table->size(), 16U);
  const auto most = std::max_element(table->begin(), table->end(), [](const auto& a, const auto& b) {
    return a.statistics.previous_token < b.statistics.previous_token;
  });
  EXPECT_EQ(most->layer, 0);
  EXPECT_EQ(most->head, 3);
  // The share is a property of this head on this text: the mean of the map's own cells (i, i − 1).
  models::MapRequest request;
  request.layer = most->layer;
  request.head = most->head;
  const auto map = trace->map(request);
  ASSERT_TRUE(map.ok());
  double previous = 0;
  for (std::int64_t i = 1; i < trace->length(); ++i) {
    previous += static_cast<double>(map->at(i, i - 1));
  }
  previous /= static_cast<double>(trace->length() - 1);
  EXPECT_NEAR(most->statistics.previous_token, previous, 1e-5);
  EXPECT_NEAR(most->statistics.previous_token, 0.72, 0.01);
  for (const models::HeadRow& row : *table) {
    EXPECT_TRUE(std::isfinite(row.distance_bias)) << row.layer << "." << row.head;
    EXPECT_TRUE(std::isnan(row.statistics.gate_selectivity));
  }
}

TEST(Analyses, ShiftedIdsChangeNothingForRopeAndMuchForALearnedTable) {
  const auto rope = text_rope();
  models::Move later;
  later.ids = 3;
  const auto still = models::shift_stability(*rope, *run_text(*rope), later);
  ASSERT_TRUE(still.ok()) << still.error().describe();
  ASSERT_EQ(still->size(), 4U);
  for (const models::StabilityRow& row : *still) {
    EXPECT_LT(row.attention.row_l1, 1e-4);
    ASSERT_TRUE(row.dot_product_percent.has_value());
    EXPECT_LT(*row.dot_product_percent, 1e-3);
  }
  const LearnedFolder folder;
  const models::OpenOptions defaults;
  const auto learned = test::open_model(folder.place.path(), defaults);
  models::Input ids;
  ids.ids = {3, 14, 15, 9, 26, 5, 35, 8, 9, 7, 9, 32};
  const auto plain = run(*learned, ids);
  const auto moved = models::shift_stability(*learned, *plain, later);
  ASSERT_TRUE(moved.ok()) << moved.error().describe();
  EXPECT_GT(moved->front().attention.row_l1, 0.01);
  EXPECT_GT(*moved->front().dot_product_percent, 1);
}

TEST(Analyses, TokensInFrontAreComparedWithTheSameTokens) {
  const auto model = text_rope();
  const auto plain = run_text(*model);
  models::Move move;
  move.in_front = {10, 10, 10};
  const auto rows = models::shift_stability(*model, *plain, move);
  ASSERT_TRUE(rows.ok()) << rows.error().describe();
  // Layer 0 of RoPE sees the same queries and keys at the same distances: what changes is the mass that the new tokens
  // take, which is found by hand from the maps.
  models::Input input;
  input.ids = move.in_front;
  for (const models::TokenInfo& token : plain->tokens()) {
    input.ids->push_back(token.id);
  }
  const auto moved = run(*model, input);
  const std::int64_t length = plain->length();
  double sum = 0;
  for (std::int64_t head = 0; head < 4; ++head) {
    models::MapRequest request;
    request.head = head;
    const auto before = plain->map(request);
    const auto after = moved->map(request);
    for (std::int64_t i = 0; i < length; ++i) {
      for (std::int64_t j = 0; j <= i; ++j) {
        sum += std::abs(static_cast<double>(after->at(i + 3, j + 3)) - static_cast<double>(before->at(i, j)));
      }
    }
  }
  EXPECT_NEAR((*rows)[0].attention.row_l1, sum / static_cast<double>(4 * length), 1e-5);
  EXPECT_GT((*rows)[0].attention.row_l1, 0.001);
  EXPECT_EQ(models::shift_stability(*model, *plain, models::Move{}).error().code, ErrorCode::kBadInput);
}

TEST(Analyses, RolloutIsTheProductOfTheMeanMaps) {
  const auto model = text_rope();
  const auto trace = run_text(*model, "one two three one two");
  const std::int64_t length = trace->length();
  const auto shares = models::attention_rollout(*trace, length - 1);
  ASSERT_TRUE(shares.ok()) << shares.error().describe();
  ASSERT_EQ(shares->size(), static_cast<std::size_t>(length));
  EXPECT_NEAR(std::accumulate(shares->begin(), shares->end(), 0.0), 1, 1e-5);
  std::vector<double> row(static_cast<std::size_t>(length), 0);
  row.back() = 1;
  for (std::int64_t layer = 3; layer >= 0; --layer) {
    models::MapRequest request;
    request.layer = layer;
    request.head = models::kMeanHead;
    const auto map = trace->map(request);
    std::vector<double> next(row.size(), 0);
    for (std::int64_t i = 0; i < length; ++i) {
      for (std::int64_t j = 0; j < length; ++j) {
        const double a = static_cast<double>(map->at(i, j)) + (i == j ? 1 : 0);
        next[static_cast<std::size_t>(j)] += row[static_cast<std::size_t>(i)] * a / 2;
      }
    }
    row = next;
  }
  for (std::size_t j = 0; j < row.size(); ++j) {
    EXPECT_NEAR(static_cast<double>((*shares)[j]), row[j], 1e-5);
  }
}

TEST(Analyses, LengthsThatAnEncodingCannotTakeHaveNoValue) {
  const LearnedFolder folder;
  const models::OpenOptions defaults;
  const auto model = test::open_model(folder.place.path(), defaults);
  std::vector<models::TokenInfo> tokens(100);
  for (std::size_t n = 0; n < tokens.size(); ++n) {
    tokens[n].id = static_cast<std::int64_t>(n * 7 % 40);
  }
  models::LengthCurveOptions options;
  options.lengths = {32, 64, 96};
  const auto curve = models::length_curve(*model, tokens, options);
  ASSERT_TRUE(curve.ok()) << curve.error().describe();
  EXPECT_TRUE(std::isfinite((*curve)[1].perplexity));
  EXPECT_TRUE(std::isnan((*curve)[2].perplexity));
  options.lengths = {96};  // nothing to draw: why
  EXPECT_EQ(models::length_curve(*model, tokens, options).error().code, ErrorCode::kBadInput);
}

// A gap says that a length cannot be taken; what is wrong with the tokens or the edits is an error.
TEST(Analyses, WhatIsWrongWithTheInputIsNoGapOfTheLengthCurve) {
  const LearnedFolder folder;
  const auto model = test::open_model(folder.place.path(), {});
  std::vector<models::TokenInfo> tokens(60);
  for (std::size_t n = 0; n < tokens.size(); ++n) {
    tokens[n].id = static_cast<std::int64_t>(n * 7 % 40);
  }
  models::LengthCurveOptions options;
  options.lengths = {16, 32};
  const auto edited = model->edited({*models::parse_edit("edge 0.0 40:41 0:3", 0)});
  ASSERT_TRUE(edited.ok());
  const auto refused = models::length_curve(**edited, tokens, options);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().describe().find("edits[0].queries"), std::string::npos) << refused.error().describe();
  tokens[50].id = 40;  // outside the vocabulary
  const auto unknown = models::length_curve(*model, tokens, options);
  ASSERT_FALSE(unknown.ok());
  EXPECT_NE(unknown.error().describe().find("found 40"), std::string::npos) << unknown.error().describe();
}

// A program's own fault at one length is no gap either.
TEST(Analyses, ARunThatFailsIsNoGapOfTheLengthCurve) {
  class Failing : public models::Model {
   public:
    explicit Failing(std::shared_ptr<const models::Model> model) : model_(std::move(model)) {}
    const models::ModelInfo& info() const override { return model_->info(); }
    double macs(std::int64_t length) const override { return model_->macs(length); }
    Result<std::vector<models::TokenInfo>> tokenize(const models::Input& input) const override {
      return model_->tokenize(input);
    }
    Result<std::shared_ptr<const models::Trace>> run(const models::Input& input, const models::RunOptions& options,
                                                     StopToken stop, const Progress& progress) const override {
      return input.ids->size() <= 16 ? internal("out of order")
                                     : model_->run(input, options, std::move(stop), progress);
    }

   private:
    std::shared_ptr<const models::Model> model_;
  };
  const LearnedFolder folder;
  const Failing model(test::open_model(folder.place.path(), {}));
  std::vector<models::TokenInfo> tokens(60);
  models::LengthCurveOptions options;
  options.lengths = {16, 32};
  const auto curve = models::length_curve(model, tokens, options);
  ASSERT_FALSE(curve.ok());
  EXPECT_EQ(curve.error().code, ErrorCode::kInternal);
}

// A model whose weights are all 0 finds each of its 40 tokens equally likely: perplexity 40, log₂ 40 bits per token. Of
// tokens of three bytes each that is a third a byte.
TEST(Analyses, PerplexityAndBitsPerByteOfAModelThatKnowsNothing) {
  const LearnedFolder folder;
  std::map<std::string, at::Tensor> weights = test::with_prefix(test::Golden("gpt2_vanilla"), "w.");
  for (auto& [name, tensor] : weights) {
    tensor = at::zeros_like(tensor);
  }
  test::write_tensors(folder.place.path() / "model.safetensors", weights);
  const models::OpenOptions defaults;
  const auto model = test::open_model(folder.place.path(), defaults);
  std::vector<models::TokenInfo> tokens(60);
  for (std::int64_t n = 0; n < 60; ++n) {
    tokens[static_cast<std::size_t>(n)].id = n % 40;
    tokens[static_cast<std::size_t>(n)].bytes = {3 * n, 3 * n + 3};
  }
  models::LengthCurveOptions options;
  options.lengths = {16, 32};
  const auto curve = models::length_curve(*model, tokens, options);
  ASSERT_TRUE(curve.ok()) << curve.error().describe();
  for (const models::LengthPoint& point : *curve) {
    EXPECT_EQ(point.scored_bytes, 3 * point.scored);
    EXPECT_NEAR(point.perplexity, 40, 1e-3);
    EXPECT_NEAR(point.bits_per_byte, std::log2(40.0) / 3, 1e-5);
  }
}

// text-rope with the heads of every layer rolled by one: head h of the copy is head h + 1 of the original.
TEST(Analyses, MatchingFindsThePermutationOfACopysHeads) {
  const auto source = formats::open_tensors(kTextRope);
  ASSERT_TRUE(source.ok());
  test::Tensors tensors;
  for (const formats::TensorInfo& info : (*source)->tensors()) {
    at::Tensor tensor = transformer::to_tensor(info, *source).clone();
    const bool in = info.name.find("q_proj") != std::string::npos || info.name.find("k_proj") != std::string::npos ||
                    info.name.find("v_proj") != std::string::npos;
    const bool out = info.name.find("o_proj") != std::string::npos;
    tensors[info.name] = in || out ? tensor.roll({-32}, {in ? 0 : 1}) : tensor;
  }
  const test::TemporaryFolder folder;
  for (const char* const file : {"config.json", "tokenizer.json"}) {
    std::filesystem::copy(kTextRope / file, folder.path() / file);
  }
  test::write_tensors(folder.path() / "model.safetensors", tensors);
  const models::OpenOptions defaults;
  const auto copy = test::open_model(folder.path(), defaults);
  ASSERT_TRUE(copy);
  const auto model = text_rope();
  const auto first = run_text(*model);
  const auto second = run_text(*copy);
  const auto matches = models::match_heads(*first, *second);
  ASSERT_TRUE(matches.ok()) << matches.error().describe();
  ASSERT_EQ(matches->size(), 16U);
  for (std::size_t n = 0; n < 16; ++n) {
    EXPECT_EQ((*matches)[n].layer, static_cast<std::int64_t>(n / 4));
    EXPECT_EQ((*matches)[n].head, static_cast<std::int64_t>((n + 3) % 4));
    EXPECT_LT((*matches)[n].distance, 1e-3);
  }
  const auto plain = models::head_difference(*first, *second);
  ASSERT_TRUE(plain.ok());
  EXPECT_GT(finite_range(*plain).low, 0.02F);
  EXPECT_EQ(models::head_difference(*first, *run_text(*model, "other")).error().code, ErrorCode::kBadInput);
}

TEST(Analyses, InductionNeedsATextModelAndIsAShare) {
  const auto model = text_rope();
  models::InductionOptions options;
  options.repeats = 1;
  const auto map = models::induction_map(*model, options);
  ASSERT_TRUE(map.ok()) << map.error().describe();
  EXPECT_EQ(map->rows, 4);
  EXPECT_EQ(map->columns, 4);
  for (const float value : map->values) {
    EXPECT_GE(value, 0.0F);
    EXPECT_LE(value, 1.0F);
  }
  options.period = 1;
  EXPECT_EQ(models::induction_map(*model, options).error().code, ErrorCode::kBadInput);
}

// Mean logits of the head, by distance, swing around the curve: the mean error is a small part of their spread.
TEST(Analyses, TheTheoryCurveFollowsRopeLogits) {
  const auto model = text_rope();
  const auto trace = run_text(*model);
  std::vector<double> distances(60);
  std::iota(distances.begin(), distances.end(), 0.0);
  const auto llama = models::theory_curves(*trace, 2, 1, distances);
  ASSERT_TRUE(llama.ok()) << llama.error().describe();
  const auto paper = models::theory_curves(*trace, 2, 1, distances, models::TheoryAngle::kPaper);
  ASSERT_TRUE(paper.ok());
  ASSERT_EQ(llama->size(), 2U);
  EXPECT_NE(llama->front().name, paper->front().name);
  // Every pair of channels stands still at Δ = 0, so both conventions give √D·μ₀/2, the mean of q·k/√D.
  EXPECT_NEAR(llama->front().mean[0], paper->front().mean[0], 1e-9);
  EXPECT_NEAR(llama->front().mean[0], llama->back().mean[0], 1e-9);
  models::MapRequest content;
  content.layer = 2;
  content.head = 1;
  content.quantity = models::Quantity::kContent;
  const auto map = trace->map(content);
  double sum = 0;
  double count = 0;
  for (std::int64_t i = 0; i < map->rows; ++i) {
    for (std::int64_t j = 0; j <= i; ++j) {
      sum += static_cast<double>(map->at(i, j));
      count += 1;
    }
  }
  EXPECT_NEAR(llama->front().mean[0], sum / count, 0.05 * (1 + std::abs(sum / count)));  // 8192 sampled pairs
  const LearnedFolder folder;
  const models::OpenOptions defaults;
  const auto learned = test::open_model(folder.place.path(), defaults);
  models::Input ids;
  ids.ids = {1, 2, 3};
  EXPECT_EQ(models::theory_curves(*run(*learned, ids), 0, 0, distances).error().code, ErrorCode::kUnsupported);
}

TEST(Analyses, PredictionsAtATokenAreThoseOfATextThatEndsThere) {
  const auto model = text_rope();
  const auto trace = run_text(*model);
  const auto last = models::predictions_at(*model, *trace, trace->length() - 1, 5);
  ASSERT_TRUE(last.ok()) << last.error().describe();
  const auto top = trace->top(5);
  ASSERT_EQ(last->size(), 5U);
  for (std::size_t n = 0; n < top.size(); ++n) {
    EXPECT_EQ((*last)[n].id, top[n].id);
    EXPECT_EQ((*last)[n].token, top[n].token);
    EXPECT_NEAR((*last)[n].probability, top[n].probability, 1e-5);
  }
  models::Input shorter;
  shorter.ids.emplace();
  for (std::size_t n = 0; n < 20; ++n) {
    shorter.ids->push_back(trace->tokens()[n].id);
  }
  const auto ended = model->run(shorter);
  ASSERT_TRUE(ended.ok());
  const auto within = models::predictions_at(*model, *trace, 19, 3);
  ASSERT_TRUE(within.ok()) << within.error().describe();
  EXPECT_EQ(within->front().id, (*ended)->top(1).front().id);
  EXPECT_NEAR(within->front().probability, (*ended)->top(1).front().probability, 1e-4);
  EXPECT_EQ(models::predictions_at(*model, *trace, trace->length(), 3).error().code, ErrorCode::kBadInput);
}

}  // namespace
}  // namespace locus

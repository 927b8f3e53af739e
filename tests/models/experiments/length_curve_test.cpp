// length_curve(): the same tokens at every length, against runs of each window by hand and against `locus evaluate`.
#include <gtest/gtest.h>

#include <cmath>

#include "models/api/analyses.h"
#include "models/api/train.h"
#include "models/engine/trace/recorded_trace.h"
#include "tests/support/checkpoint_folder.h"
#include "tests/support/paths.h"

namespace locus {
namespace {

const std::filesystem::path kRopeFolder = test::source_dir() + "/assets/checkpoints/text-rope";
constexpr const char* kShipText =
    "The ship left the harbour before the light came. Nobody on the shore had counted the sails, and nobody "
    "asked the captain where the wind would take them. They ate bread and cold fish, and they slept on deck.";

struct Opened {
  std::shared_ptr<const models::Model> model = test::open_model(kRopeFolder, models::OpenOptions());
  std::vector<models::TokenInfo> tokens;
  Opened() {
    models::Input input;
    input.text = kShipText;
    tokens = *model->tokenize(input);
  }
};

// −ln p of token `target` in a run of the tokens [begin, target).
double nats_of(const Opened& opened, std::int64_t begin, std::int64_t target) {
  models::Input window;
  window.ids.emplace();
  for (std::int64_t n = begin; n < target; ++n) {
    window.ids->push_back(opened.tokens[static_cast<std::size_t>(n)].id);
  }
  models::RunOptions all;
  all.all_logits = true;
  const auto ran = opened.model->run(window, all);
  EXPECT_TRUE(ran.ok());
  const at::Tensor logits = test::recorded(**ran).logits.to(at::kDouble);
  return -logits[-1].log_softmax(0)[opened.tokens[static_cast<std::size_t>(target)].id].item<double>();
}

// The first window of `length` tokens, `stride` apart, that predicts token `target`.
std::int64_t begin_of(std::int64_t target, std::int64_t length, std::int64_t stride) {
  std::int64_t begin = 0;
  while (begin + length < target) {
    begin += stride;
  }
  return begin;
}

TEST(LengthCurve, ScoresEveryTokenOnceAtEveryLength) {
  const Opened opened;
  const auto total = static_cast<std::int64_t>(opened.tokens.size());
  for (const std::int64_t stride : {std::int64_t{0}, std::int64_t{24}}) {
    models::LengthCurveOptions options;
    options.lengths = {16, 50, 128};
    options.stride = stride;
    const auto curve = models::length_curve(*opened.model, opened.tokens, options);
    ASSERT_TRUE(curve.ok()) << curve.error().describe();
    ASSERT_EQ(curve->size(), 3U);
    for (const models::LengthPoint& point : *curve) {
      const std::int64_t apart = stride > 0 ? std::min(stride, point.length) : point.length;
      double nats = 0;
      for (std::int64_t target = 1; target < total; ++target) {
        nats += nats_of(opened, begin_of(target, point.length, apart), target);
      }
      const auto count = static_cast<double>(total - 1);
      EXPECT_EQ(point.scored, total - 1);
      EXPECT_EQ(point.scored_bytes, total - 1);
      EXPECT_NEAR(point.perplexity, std::exp(nats / count), 1e-4 * std::exp(nats / count));
      EXPECT_NEAR(point.bits_per_byte, nats / count / std::log(2.0), 1e-4);
      ASSERT_EQ(point.stretches.size(), static_cast<std::size_t>(total / 64));
      double sum = 0;
      double bytes = 0;
      for (const analysis::Part& stretch : point.stretches) {
        sum += stretch.sum;
        bytes += stretch.count;
      }
      EXPECT_NEAR(sum, nats, 1e-4 * nats);
      EXPECT_EQ(bytes, count);
      const std::int64_t third = total - (total * 2 + 2) / 3;
      EXPECT_EQ(point.stretches.back().count, static_cast<double>(third));  // the last one
    }
  }
}

TEST(LengthCurve, RefusesLengthsThatTheTextHasNot) {
  const Opened opened;
  models::LengthCurveOptions options;
  for (const std::int64_t length : {1, 1000}) {
    options.lengths = {8, length};
    EXPECT_EQ(models::length_curve(*opened.model, opened.tokens, options).error().code, ErrorCode::kBadInput);
  }
  options.lengths = {8};
  options.stride = -1;
  EXPECT_EQ(models::length_curve(*opened.model, opened.tokens, options).error().code, ErrorCode::kBadInput);
}

// One protocol: what a figure draws is what `locus evaluate text` measures on the same file.
TEST(LengthCurve, IsWhatEvaluateMeasures) {
  const Opened opened;
  const test::TemporaryFolder folder;
  folder.write("text.txt", kShipText);
  for (const std::int64_t stride : {0, 20}) {
    training::EvaluateOptions evaluation;
    evaluation.task = "text";
    evaluation.validate.push_back({folder.path() / "text.txt", {}});
    evaluation.task_options.set("contexts", std::vector<double>{32, 100});
    evaluation.task_options.set("stride", stride);
    const auto measured = training::evaluate(kRopeFolder, evaluation);
    ASSERT_TRUE(measured.ok()) << measured.error().describe();
    models::LengthCurveOptions options;
    options.lengths = {32, 100};
    options.stride = stride;
    const auto curve = models::length_curve(*opened.model, opened.tokens, options);
    ASSERT_TRUE(curve.ok()) << curve.error().describe();
    for (std::size_t n = 0; n < 2; ++n) {
      EXPECT_NEAR((*curve)[n].bits_per_byte, measured->splits[n + 1].second, 1e-5);
      EXPECT_NEAR((*curve)[n].perplexity, measured->perplexities[n + 1], 1e-4);
    }
  }
}

}  // namespace
}  // namespace locus

// repeated_loss(): against a run of each input by hand.
#include "models/api/repeated_text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "models/api/edits.h"
#include "models/engine/trace/recorded_trace.h"
#include "tests/support/checkpoint_folder.h"
#include "tests/support/paths.h"

namespace locus {
namespace {

struct OpenedRope {
  std::shared_ptr<const models::Model> model =
      test::open_model(test::source_dir() + "/assets/checkpoints/text-rope", models::OpenOptions());
  std::shared_ptr<const models::Trace> trace;
  OpenedRope() {
    models::Input input;
    input.text = "The ship left the harbour.";
    trace = *model->run(input);
  }
};

// −ln p of each token from 1 on.
std::vector<double> token_losses(const models::Model& model, const std::vector<std::int64_t>& ids) {
  models::RunOptions all;
  all.all_logits = true;
  const auto run = model.run({.ids = ids}, all);
  EXPECT_TRUE(run.ok());
  const at::Tensor shares = test::recorded(**run).logits.to(at::kDouble).log_softmax(-1);
  std::vector<double> losses;
  for (std::size_t n = 1; n < ids.size(); ++n) {
    losses.push_back(-shares[static_cast<std::int64_t>(n) - 1][ids[n]].item<double>());
  }
  return losses;
}

void expect_copies(const models::RepeatedLoss& loss, std::int64_t row, const models::Model& model,
                   const std::vector<std::int64_t>& copy) {
  std::vector<std::int64_t> twice = copy;
  twice.insert(twice.end(), copy.begin(), copy.end());
  const std::vector<double> losses = token_losses(model, twice);
  ASSERT_EQ(loss.first.columns, std::ssize(copy) - 1);
  for (std::int64_t n = 0; n < loss.first.columns; ++n) {
    const auto at = static_cast<std::size_t>(n);
    EXPECT_NEAR(loss.first.at(row, n), losses[at], 1e-5 * (1 + losses[at])) << n;
    const double second = losses[at + copy.size()];
    EXPECT_NEAR(loss.second.at(row, n), second, 1e-5 * (1 + second)) << n;
  }
}

TEST(RepeatedText, ScoresBothCopiesOfEveryInput) {
  const OpenedRope opened;
  const auto loss = models::repeated_loss(*opened.model, *opened.trace, {.period = 20, .inputs = 3, .seed = 7});
  ASSERT_TRUE(loss.ok()) << loss.error().describe();
  ASSERT_EQ(loss->first.rows, 3);
  std::mt19937_64 random(7);
  std::uniform_int_distribution<std::int64_t> draw(0, opened.model->info().vocabulary - 1);
  for (std::int64_t row = 0; row < 3; ++row) {
    std::vector<std::int64_t> copy(20);
    std::generate(copy.begin(), copy.end(), [&] { return draw(random); });
    expect_copies(*loss, row, *opened.model, copy);
  }
}

TEST(RepeatedText, TakesTheInputsOwnText) {
  const OpenedRope opened;
  const auto loss = models::repeated_loss(*opened.model, *opened.trace, {.period = 12, .own_text = true});
  ASSERT_TRUE(loss.ok()) << loss.error().describe();
  ASSERT_EQ(loss->first.rows, 1);
  std::vector<std::int64_t> copy;
  for (std::size_t n = 0; n < 12; ++n) {
    copy.push_back(opened.trace->tokens()[n].id);
  }
  expect_copies(*loss, 0, *opened.model, copy);
}

// The bundled model completes repetitions: without all of its heads it cannot.
TEST(RepeatedText, EditsTakeTheGainAway) {
  const OpenedRope opened;
  const auto gain = [&](const models::Model& model) {
    const auto loss = models::repeated_loss(model, *opened.trace, {.period = 24, .inputs = 4});
    EXPECT_TRUE(loss.ok()) << loss.error().describe();
    double sum = 0;
    for (std::size_t n = 0; n < loss->first.values.size(); ++n) {
      sum += static_cast<double>(loss->first.values[n] - loss->second.values[n]);
    }
    return sum / static_cast<double>(loss->first.values.size());
  };
  const auto silenced = opened.model->edited({*models::parse_edit("head all.all zero", 0)});
  ASSERT_TRUE(silenced.ok());
  EXPECT_GT(gain(*opened.model), 0.1);
  EXPECT_NEAR(gain(**silenced), 0, 1e-5);
}

TEST(RepeatedText, RefusesWhatCannotBeScored) {
  const OpenedRope opened;
  EXPECT_EQ(models::repeated_loss(*opened.model, *opened.trace, {.period = 1}).error().code, ErrorCode::kBadInput);
  EXPECT_EQ(models::repeated_loss(*opened.model, *opened.trace, {.inputs = 0}).error().code, ErrorCode::kBadInput);
  const auto image = test::open_model(test::source_dir() + "/assets/checkpoints/shapes-learned", models::OpenOptions());
  EXPECT_EQ(models::repeated_loss(*image, *opened.trace, {}).error().code, ErrorCode::kUnsupported);
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(models::repeated_loss(*opened.model, *opened.trace, {}, stop.get_token()).error().code,
            ErrorCode::kCancelled);
}

}  // namespace
}  // namespace locus

// Losses without logits against those of ATen in float64.
#include "models/experiments/outputs.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "models/api/local.h"
#include "models/experiments/fields.h"
#include "tests/support/bundled.h"

namespace locus::models {
namespace {

at::Tensor expected_losses(const at::Tensor& logits, const at::Tensor& ids) {
  const at::Tensor rows = logits.slice(0, 0, logits.size(0) - 1).to(at::kDouble);
  return rows.logsumexp(-1) - rows.gather(1, ids.slice(0, 1).unsqueeze(1)).squeeze(1);
}

// Losses of a run that keeps what the head reads, against the logits of every token of another run.
TEST(Outputs, LossesWithoutLogits) {
  for (const char* name : {"text-rope", "text-cope"}) {
    const auto model = test::bundled(name);
    ASSERT_NE(model, nullptr);
    const Input input{.text = "Alice was beginning to get very tired"};
    const auto whole = model->run(input, {.all_logits = true});
    const auto kept = model->run(input, {.keep = {}, .before_head = true});
    ASSERT_TRUE(whole.ok() && kept.ok());
    EXPECT_TRUE((*kept)->top(3).empty());
    std::vector<std::int64_t> ids;
    for (const TokenInfo& token : (*kept)->tokens()) {
      ids.push_back(token.id);
    }
    const at::Tensor expected = expected_losses(data_of(**whole).value()->logits, at::tensor(ids));
    const std::vector<std::int64_t> next(ids.begin() + 3, ids.end());
    const auto losses = next_token_losses(*model, **kept, 2, next, "test", {});
    ASSERT_TRUE(losses.ok()) << losses.error().describe();
    ASSERT_EQ(losses->size(), next.size());
    for (std::size_t n = 0; n < next.size(); ++n) {
      EXPECT_NEAR((*losses)[n], expected[static_cast<std::int64_t>(n) + 2].item<double>(), 1e-5) << name << ", " << n;
    }
    const auto none = next_token_losses(*model, **whole, 2, next, "test", {});
    ASSERT_FALSE(none.ok());
    EXPECT_EQ(none.error().code, ErrorCode::kUnsupported);
  }
}

// What a run needs beside the weights no longer grows with the vocabulary times the text.
TEST(Outputs, RunsWithoutLogitsNeedLessMemory) {
  const auto model = test::bundled("text-rope");
  const double rows = model->estimate(100000, {.all_logits = true}).memory_mb;
  const double fewer = model->estimate(100000, {.before_head = true}).memory_mb;
  const double last = model->estimate(100000, {}).memory_mb;
  EXPECT_LT(fewer, rows);
  EXPECT_NEAR(fewer - last, 100000.0 * static_cast<double>(model->info().width) * 4 / 1e6 + 16.8, 0.1);
}

}  // namespace
}  // namespace locus::models

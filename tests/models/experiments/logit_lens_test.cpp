// The logit lens against the head on whole rows of the states that enter each layer.
#include "models/api/logit_lens.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "models/engine/loaded_model.h"
#include "models/experiments/rerun.h"
#include "tests/support/bundled.h"

namespace locus::test {
namespace {

constexpr double kLensTolerance = 1e-5;

// (L + 1, T, V) logits.
at::Tensor all_logits(const models::Model& model, const models::Trace& trace) {
  const at::NoGradGuard no_grad;
  const auto run = models::rerun_of(model, trace, "test");
  EXPECT_TRUE(run.ok());
  const auto seen = run->transformer.observe(run->batch, {.hidden = true, .all_logits = true});
  EXPECT_TRUE(seen.ok());
  std::vector<at::Tensor> rows;
  for (const transformer::LayerRecord& layer : seen->layers) {
    rows.push_back(run->transformer.head()(layer.hidden)[0]);
  }
  rows.push_back(seen->logits[0]);
  return at::stack(rows).to(at::kDouble);
}

TEST(LogitLens, IsTheHeadOnWholeRows) {
  for (const char* name : {"text-rope", "text-tape", "text-cope"}) {
    for (const std::int64_t token : {-1, 0, 7}) {
      SCOPED_TRACE(std::string(name) + ", token " + std::to_string(token));
      const auto model = with_edit(bundled(name), "head 1.2 zero");
      const auto column = column_of(model, "The cat sat on the mat, and the dog sat on the cat.");
      const auto lens = models::logit_lens(*model, *column.trace, {.token = token});
      ASSERT_TRUE(lens.ok()) << lens.error().describe();
      const at::Tensor logits = all_logits(*model, *column.trace);
      ASSERT_EQ(lens->probability.rows, logits.size(0));
      ASSERT_EQ(lens->probability.columns, logits.size(1));
      for (std::int64_t row = 0; row < logits.size(0); ++row) {
        for (std::int64_t n = 0; n < logits.size(1); ++n) {
          const auto cell = static_cast<std::size_t>(row * logits.size(1) + n);
          const at::Tensor shares = logits[row][n].softmax(-1);
          const std::int64_t id = lens->ids[cell];
          EXPECT_EQ(token < 0 ? shares[id].item<double>() + 1e-7 >= shares.max().item<double>() : id == token, true);
          EXPECT_NEAR(lens->probability.values[cell], shares[id].item<double>(), kLensTolerance);
          const double own = logits[row][n][id].item<double>();
          EXPECT_GE(lens->ranks[cell], (logits[row][n] > own + 1e-4).sum().item<std::int64_t>() + 1);
          EXPECT_LE(lens->ranks[cell], (logits[row][n] > own - 1e-4).sum().item<std::int64_t>() + 1);
          EXPECT_FALSE(lens->labels[cell].empty());
        }
      }
    }
  }
}

// Rows are told from the last one upwards, as they stay: of a long text one by one, of a short one the prediction and
// then all others.
TEST(LogitLens, TellsRowsAsTheyCome) {
  const auto model = bundled("text-rope");
  for (const std::int64_t length : {20, 400, 600}) {
    SCOPED_TRACE(length);
    models::Input input;
    input.ids.emplace();
    for (std::int64_t n = 0; n < length; ++n) {
      input.ids->push_back(n * n % 11);
    }
    const auto column = column_of(model, input);
    std::vector<models::LogitLens> parts;
    models::LensOptions options;
    options.so_far = [&](const models::LogitLens& part) { parts.push_back(part); };
    const auto lens = models::logit_lens(*model, *column.trace, options);
    ASSERT_TRUE(lens.ok());
    const std::int64_t rows = lens->probability.rows;
    ASSERT_EQ(rows, 5);
    ASSERT_EQ(parts.size(), length == 20 ? 1U : length == 400 ? 2U : 4U);
    for (std::size_t n = 0; n < parts.size(); ++n) {
      const models::LogitLens& part = parts[n];
      const std::int64_t shown =
          length == 400 ? 1 + 2 * static_cast<std::int64_t>(n) : 1 + static_cast<std::int64_t>(n);
      for (std::size_t cell = 0; cell < lens->ids.size(); ++cell) {
        const bool done = static_cast<std::int64_t>(cell) / lens->probability.columns >= rows - shown;
        ASSERT_EQ(std::isnan(part.probability.values[cell]), !done);
        if (done) {
          ASSERT_EQ(part.probability.values[cell], lens->probability.values[cell]);
          ASSERT_EQ(part.ids[cell], lens->ids[cell]);
          ASSERT_EQ(part.labels[cell], lens->labels[cell]);
          ASSERT_EQ(part.ranks[cell], lens->ranks[cell]);
        }
      }
    }
  }
}

}  // namespace
}  // namespace locus::test

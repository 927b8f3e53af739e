// state_norms(): against the states and values that a run keeps.
#include "models/api/state_norms.h"

#include <gtest/gtest.h>

#include "models/engine/trace/recorded_trace.h"
#include "tests/support/checkpoint_folder.h"
#include "tests/support/paths.h"

namespace locus {
namespace {

void expect_row(const Field& field, std::int64_t row, const at::Tensor& expected) {
  ASSERT_EQ(field.columns, expected.size(0));
  for (std::int64_t n = 0; n < field.columns; ++n) {
    const auto wanted = expected[n].item<double>();
    EXPECT_NEAR(static_cast<double>(field.at(row, n)), wanted, 1e-5 * (1 + wanted)) << row << " " << n;
  }
}

TEST(StateNorms, AreThoseOfTheKeptStates) {
  const auto model = test::open_model(test::source_dir() + "/assets/checkpoints/text-rope", models::OpenOptions());
  models::Input input;
  input.text = "The ship left the harbour.";
  const auto trace = model->run(input, {.keep = {"hidden"}, .continuable = true});
  ASSERT_TRUE(trace.ok());
  const auto norms = models::state_norms(*model, **trace);
  ASSERT_TRUE(norms.ok()) << norms.error().describe();
  const models::TraceData& data = test::recorded(**trace);
  ASSERT_EQ(norms->stream.rows, model->info().layers);
  for (std::int64_t layer = 0; layer < model->info().layers; ++layer) {
    const models::TraceLayer& kept = data.layers[static_cast<std::size_t>(layer)];
    ASSERT_TRUE(kept.hidden.defined());
    const at::Tensor states = kept.hidden.reshape({-1, kept.hidden.size(-1)}).to(at::kDouble);
    expect_row(norms->stream, layer, states.norm(2, 1));
    expect_row(norms->largest, layer, std::get<0>(states.abs().max(1)));
    ASSERT_TRUE(kept.value.defined());
    expect_row(norms->value, layer, kept.value.select(0, 0).to(at::kDouble).norm(2, 2).mean(0));
  }
}

// Image models, and models without a head, have states as well.
TEST(StateNorms, NeedNoPredictionOfTokens) {
  const auto model = test::open_model(test::source_dir() + "/assets/checkpoints/shapes-learned", models::OpenOptions());
  models::Input input;
  input.image = test::source_dir() + "/assets/samples/star.png";
  const auto trace = model->run(input);
  ASSERT_TRUE(trace.ok());
  const auto norms = models::state_norms(*model, **trace);
  ASSERT_TRUE(norms.ok()) << norms.error().describe();
  EXPECT_EQ(norms->stream.columns, (*trace)->length());
}

}  // namespace
}  // namespace locus

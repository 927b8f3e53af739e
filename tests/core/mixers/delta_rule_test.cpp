// The delta rule by chunks against its recurrence: lengths, decays, a state handed over, gradients, float32.
#include "core/mixers/delta_rule.h"

#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <tuple>

#include "tests/core/mixers/recurrences.h"
#include "tests/support/golden.h"

namespace locus::test {
namespace {

using mixers::delta_rule;
using mixers::DeltaInputs;

DeltaInputs tokens(const DeltaInputs& inputs, std::int64_t begin, std::int64_t end) {
  return changed(inputs, [&](const at::Tensor& x) { return x.slice(2, begin, end); });
}

class DeltaRule : public ::testing::TestWithParam<bool> {  // decay by channel
 protected:
  void SetUp() override { at::manual_seed(7); }
};

TEST_P(DeltaRule, IsTheRecurrence) {
  for (const auto& [name, decay] : kDecays) {
    for (const std::int64_t length : kLengths) {
      const DeltaInputs inputs = delta_inputs(length, decay, GetParam());
      at::Tensor fresh;
      const Outcome from_nothing = delta_recurrence(inputs, at::zeros({2, 3, 10, 6}, at::kDouble));
      EXPECT_CLOSE(delta_rule(inputs, fresh), from_nothing.first, 1e-11) << name << " " << length;
      EXPECT_CLOSE(fresh, from_nothing.second, 1e-11) << name << " " << length;
      const at::Tensor before = some_state();
      at::Tensor state = before.clone();
      const Outcome continued = delta_recurrence(inputs, before);
      EXPECT_CLOSE(delta_rule(inputs, state), continued.first, 1e-11) << name << " " << length;
      EXPECT_CLOSE(state, continued.second, 1e-11) << name << " " << length;
    }
  }
}

TEST_P(DeltaRule, ContinuesAnywhere) {
  const DeltaInputs inputs = delta_inputs(150, {-0.3, 0}, GetParam());
  at::Tensor whole_state;
  const at::Tensor whole = delta_rule(inputs, whole_state);
  for (const std::int64_t cut : {1, 50, 64, 149}) {
    at::Tensor state;
    const at::Tensor first = delta_rule(tokens(inputs, 0, cut), state);
    const at::Tensor between = state;
    const at::Tensor kept = between.clone();
    const at::Tensor second = delta_rule(tokens(inputs, cut, 150), state);
    EXPECT_CLOSE(at::cat({first, second}, 2), whole, 1e-12) << cut;
    EXPECT_CLOSE(state, whole_state, 1e-12) << cut;
    EXPECT_TRUE(between.equal(kept)) << "the state that was given has changed";
  }
}

TEST_P(DeltaRule, Float32) {
  for (const auto& [name, decay] : kDecays) {
    const DeltaInputs inputs = delta_inputs(200, decay, GetParam());
    const auto single = changed(inputs, [](const at::Tensor& x) { return x.to(at::kFloat); });
    at::Tensor state;
    EXPECT_CLOSE(delta_rule(single, state).to(at::kDouble),
                 delta_recurrence(inputs, at::zeros({2, 3, 10, 6}, at::kDouble)).first, 5e-6)
        << name;
    EXPECT_EQ(state.scalar_type(), at::kFloat);
  }
}

TEST_P(DeltaRule, ResetsWhereTheDecayIsInfinite) {
  DeltaInputs inputs = delta_inputs(100, {-0.3, 0}, GetParam());
  inputs.log_decay.select(2, 70).fill_(-INFINITY);
  at::Tensor state;
  const at::Tensor whole = delta_rule(inputs, state);
  at::Tensor fresh;
  EXPECT_CLOSE(whole.slice(2, 70), delta_rule(tokens(inputs, 70, 100), fresh), 1e-12);
}

// Gradients of a sum of outputs and last state with random weights, against those of the recurrence.
TEST_P(DeltaRule, Trains) {
  for (const auto& [name, decay, length] :
       {std::tuple{"one token", kDecays[1].second, 1}, std::tuple{"some", kDecays[1].second, 100},
        std::tuple{"strong", kDecays[2].second, 100}, std::tuple{"bound", kDecays[3].second, 100}}) {
    const DeltaInputs inputs = changed(delta_inputs(length, decay, GetParam()),
                                       [](const at::Tensor& x) { return x.clone().requires_grad_(); });
    const at::Tensor before = some_state().requires_grad_();
    const at::Tensor weights = at::randn({2, 3, length, 6}, at::kDouble);
    const at::Tensor state_weights = at::randn({2, 3, 10, 6}, at::kDouble);
    const std::vector<at::Tensor> leaves{inputs.query, inputs.key, inputs.value, inputs.beta, inputs.log_decay, before};
    at::Tensor state = before;
    const at::Tensor output = delta_rule(inputs, state);
    const auto got = torch::autograd::grad({(output * weights).sum() + (state * state_weights).sum()}, leaves);
    const Outcome twin = delta_recurrence(inputs, before);
    const auto want =
        torch::autograd::grad({(twin.first * weights).sum() + (twin.second * state_weights).sum()}, leaves);
    for (std::size_t n = 0; n < leaves.size(); ++n) {
      EXPECT_CLOSE(got[n], want[n], 1e-9) << name << " " << n;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Decays, DeltaRule, ::testing::Bool());

}  // namespace
}  // namespace locus::test

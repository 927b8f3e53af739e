// Edits of mixers on inputs made by hand: the changed inputs are those of a twin, and output and implied map agree.
#include "models/transformer/mixers/mixer_edit.h"

#include <gtest/gtest.h>

#include "core/mixers/implied_map.h"
#include "tests/core/mixers/recurrences.h"
#include "tests/support/golden.h"

namespace locus::test {
namespace {

using mixers::ImpliedMap;
using transformer::MixerEdit;

constexpr std::int64_t kTokens = 70;  // more than a chunk
constexpr std::int64_t kAt = 9;
constexpr double kMixerTolerance = 1e-10;

at::Tensor none(at::IntArrayRef shape) {
  return at::zeros(shape, at::kBool);
}

MixerEdit no_edit(std::int64_t heads) {
  return {none(heads), none(heads), none({heads, kTokens}), none({heads, kTokens}), none(heads)};
}

at::Tensor first(const at::Tensor& x) {
  return x.slice(0, 0, 1);
}

at::Tensor whole(const ImpliedMap& map) {
  return map.tile({0, map.heads()}, {0, map.length()}, {0, map.length()});
}

// A kind of mixer: its map under an edit, and what its kernel gives for the values that the map multiplies.
struct Made {
  std::shared_ptr<const ImpliedMap> map;
  at::Tensor output;     // (H, T, P)
  at::Tensor by_map;     // the same by the map
  at::Tensor log_decay;  // (H, T, channels)
};

Made decayed(const MixerEdit* edit) {
  at::manual_seed(3);
  mixers::DecayedInputs inputs = changed(decayed_inputs(kTokens, {-0.3, 0}), first);
  if (edit != nullptr) {
    edit->change(inputs);
  }
  at::Tensor state;
  const auto map = mixers::implied_map(inputs);
  return {map, mixers::decayed_attention(inputs, state)[0], at::matmul(whole(*map), inputs.value[0]),
          inputs.log_decay[0].unsqueeze(-1)};
}

template <bool by_channel>
Made delta(const MixerEdit* edit) {
  at::manual_seed(4);
  mixers::DeltaInputs inputs = changed(delta_inputs(kTokens, {-0.3, 0}, by_channel), first);
  if (edit != nullptr) {
    edit->change(inputs);
  }
  at::Tensor state;
  const auto map = mixers::implied_map(inputs);
  return {map, mixers::delta_rule(inputs, state)[0], at::matmul(whole(*map), inputs.value[0]),
          by_channel ? inputs.log_decay[0] : inputs.log_decay[0].unsqueeze(-1)};
}

// One channel a head, without the skip, which no edit changes.
Made scan(const MixerEdit* edit) {
  at::manual_seed(5);
  mixers::ScanInputs inputs = scan_inputs(kTokens, {-0.3, -0.01});
  inputs = {first(inputs.x), first(inputs.delta), inputs.log_rate, first(inputs.input), first(inputs.output), {}};
  if (edit != nullptr) {
    edit->change(inputs);
  }
  at::Tensor state;
  const auto map = mixers::implied_map(inputs, 6);
  const at::Tensor delta = inputs.decay_delta.defined() ? inputs.decay_delta : inputs.delta;
  return {map, mixers::selective_scan(inputs, state)[0].t().unsqueeze(-1),
          at::matmul(whole(*map), inputs.x[0].t().unsqueeze(-1)),
          delta[0].t().unsqueeze(-1) * inputs.log_rate.unsqueeze(1)};
}

Made recurrence(const MixerEdit* edit) {
  at::manual_seed(6);
  const mixers::RecurrenceInputs drawn = changed(recurrence_inputs(kTokens, {-0.3, 0}), first);
  at::Tensor gate = at::rand({1, kTokens, 6}, at::kDouble);
  mixers::RecurrenceInputs inputs{drawn.input * gate, drawn.log_decay};
  if (edit != nullptr) {
    edit->change(inputs, gate);
  }
  at::Tensor state;
  const auto map = mixers::implied_map(inputs, gate, 6);
  return {map, mixers::gated_recurrence(inputs, state)[0].t().unsqueeze(-1),
          at::matmul(whole(*map), drawn.input[0].t().unsqueeze(-1)), inputs.log_decay[0].t().unsqueeze(-1)};
}

class MixerEdits : public testing::TestWithParam<Made (*)(const MixerEdit*)> {
 protected:
  Made made(const MixerEdit* edit = nullptr) const { return GetParam()(edit); }
  // An edit of the first head alone.
  MixerEdit edit_of_first(at::Tensor MixerEdit::*field) const {
    MixerEdit edit = no_edit(made().map->heads());
    at::Tensor& mask = edit.*field;
    (mask.dim() == 1 ? mask[0] : mask[0][kAt]).fill_(true);
    return edit;
  }
  // The other heads are as without an edit.
  void expect_first_alone(const Made& edited) const {
    EXPECT_CLOSE(edited.by_map, edited.output, kMixerTolerance);
    EXPECT_CLOSE(whole(*edited.map).slice(0, 1), whole(*made().map).slice(0, 1), kMixerTolerance);
  }
};

TEST_P(MixerEdits, NoneChangesNothing) {
  const MixerEdit edit = no_edit(made().map->heads());
  EXPECT_CLOSE(made(&edit).output, made().output, 0);
  EXPECT_CLOSE(whole(*made(&edit).map), whole(*made().map), 0);
}

TEST_P(MixerEdits, KeptIsTheMapWithoutDecay) {
  const MixerEdit edit = edit_of_first(&MixerEdit::keep);
  const Made edited = made(&edit);
  expect_first_alone(edited);
  const Made own = made();
  const Range all{0, kTokens};
  EXPECT_CLOSE(whole(*edited.map)[0], own.map->tile({0, 1}, all, all, mixers::Decay::kOff)[0], kMixerTolerance);
  EXPECT_TRUE(edited.map->half_life()[0].isinf().all().item<bool>());
}

TEST_P(MixerEdits, SteadyDecaysByTheMean) {
  const MixerEdit edit = edit_of_first(&MixerEdit::steady);
  const Made edited = made(&edit);
  expect_first_alone(edited);
  const at::Tensor own = made().log_decay[0];
  EXPECT_CLOSE(edited.log_decay[0], own.mean(0, true).expand_as(own), kMixerTolerance);
}

TEST_P(MixerEdits, UnwrittenIsAnEmptyColumn) {
  const MixerEdit edit = edit_of_first(&MixerEdit::unwritten);
  const Made edited = made(&edit);
  expect_first_alone(edited);
  EXPECT_EQ(whole(*edited.map)[0].select(1, kAt).abs().max().item<double>(), 0);
  // Earlier tokens do not know of it.
  EXPECT_CLOSE(whole(*edited.map)[0].slice(0, 0, kAt), whole(*made().map)[0].slice(0, 0, kAt), kMixerTolerance);
  EXPECT_CLOSE(edited.log_decay, made().log_decay, kMixerTolerance);
}

TEST_P(MixerEdits, ResetForgetsWhatWasBefore) {
  const MixerEdit edit = edit_of_first(&MixerEdit::reset);
  const Made edited = made(&edit);
  expect_first_alone(edited);
  const at::Tensor map = whole(*edited.map)[0];
  EXPECT_LT(map.slice(0, kAt).slice(1, 0, kAt).abs().max().item<double>(), 1e-40);
  const at::Tensor own = whole(*made().map)[0];
  EXPECT_CLOSE(map.slice(0, 0, kAt), own.slice(0, 0, kAt), kMixerTolerance);
  EXPECT_CLOSE(map.slice(1, kAt), own.slice(1, kAt), kMixerTolerance);
}

INSTANTIATE_TEST_SUITE_P(Kinds, MixerEdits, testing::Values(&decayed, &delta<false>, &delta<true>, &scan, &recurrence));

TEST_F(MixerEdits, SilentHeadsAreBandsOfZeros) {
  MixerEdit edit = no_edit(3);
  edit.silent[1] = true;
  const at::Tensor y = at::ones({1, 2, 6});
  EXPECT_CLOSE(edit.output(y)[0][1], at::tensor({1.0, 1.0, 0.0, 0.0, 1.0, 1.0}), 0);
}

}  // namespace
}  // namespace locus::test

// Mixers of channels against their recurrences: short convolution, selective scan, gated recurrence.
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "core/mixers/causal_convolution.h"
#include "tests/core/mixers/recurrences.h"
#include "tests/support/golden.h"

namespace locus::test {
namespace {

TEST(ChannelMixers, ConvolutionIsItsSum) {
  at::manual_seed(7);
  for (const std::int64_t kernel : {1, 2, 3, 4, 7}) {
    for (const std::int64_t length : {1, 2, 3, 5, 20}) {
      const at::Tensor x = at::randn({2, length, 5}, at::kDouble);
      const at::Tensor weight = at::randn({5, kernel}, at::kDouble);
      const at::Tensor bias = at::randn({5}, at::kDouble);
      const at::Tensor before = at::randn({2, kernel - 1, 5}, at::kDouble);
      for (const bool continued : {false, true}) {
        at::Tensor state = continued ? before : at::Tensor();
        const at::Tensor got = mixers::causal_convolution(x, weight, continued ? bias : at::Tensor(), state);
        const auto input = [&](std::int64_t t) {
          return t >= 0      ? x.select(1, t)
                 : continued ? before.select(1, t + kernel - 1)
                             : at::zeros_like(x.select(1, 0));
        };
        for (std::int64_t t = 0; t < length; ++t) {
          at::Tensor want = continued ? bias.expand({2, 5}) : at::zeros({2, 5}, at::kDouble);
          for (std::int64_t k = 0; k < kernel; ++k) {
            want = want + weight.select(1, kernel - 1 - k) * input(t - k);
          }
          EXPECT_CLOSE(got.select(1, t), want, 1e-14) << kernel << " " << length << " " << t;
        }
        ASSERT_EQ(state.size(1), kernel - 1);
        for (std::int64_t k = 0; k < kernel - 1; ++k) {
          EXPECT_TRUE(state.select(1, k).equal(input(length - kernel + 1 + k)));
        }
      }
    }
  }
}

// So many channels that few tokens, or one, are computed together.
TEST(ChannelMixers, ConvolutionOfManyChannels) {
  for (const std::int64_t channels : {100'000, 300'000}) {
    const at::Tensor x = at::randn({1, 7, channels});
    const at::Tensor weight = at::randn({channels, 4});
    at::Tensor state;
    const at::Tensor want =
        at::conv1d(x.transpose(1, 2), weight.unsqueeze(1), {}, 1, 3, 1, channels).slice(2, 0, 7).transpose(1, 2);
    EXPECT_CLOSE(mixers::causal_convolution(x, weight, {}, state), want, 1e-5);
    EXPECT_TRUE(state.equal(x.slice(1, 4)));
  }
}

TEST(ChannelMixers, ScanIsTheRecurrence) {
  for (const auto& [name, decay] : kDecays) {
    for (const std::int64_t length : kLengths) {
      const mixers::ScanInputs inputs = scan_inputs(length, decay);
      const at::Tensor before = at::randn({2, 6, 4}, at::kDouble);
      at::Tensor state = before.clone();
      const Outcome want = scan_recurrence(inputs, before);
      EXPECT_CLOSE(mixers::selective_scan(inputs, state), want.first, 1e-12) << name << " " << length;
      EXPECT_CLOSE(state, want.second, 1e-12) << name << " " << length;
    }
  }
}

// A state larger than what is computed together, so that every token is a step of its own.
TEST(ChannelMixers, ScanOfManyChannels) {
  const mixers::ScanInputs inputs{at::randn({1, 5, 20'000}), at::rand({1, 5, 20'000}), -at::rand({20'000, 16}),
                                  at::randn({1, 5, 16}),     at::randn({1, 5, 16}),    {}};
  at::Tensor state;
  EXPECT_CLOSE(mixers::selective_scan(inputs, state), scan_recurrence(inputs, at::zeros({1, 20'000, 16})).first, 1e-5);
}

TEST(ChannelMixers, RecurrenceIsTheRecurrence) {
  for (const auto& [name, decay] : kDecays) {
    for (const std::int64_t length : kLengths) {
      const mixers::RecurrenceInputs inputs = recurrence_inputs(length, decay);
      const at::Tensor before = at::randn({2, 6}, at::kDouble);
      at::Tensor state = before.clone();
      const Outcome want = gated_recurrence_twin(inputs, before);
      EXPECT_CLOSE(mixers::gated_recurrence(inputs, state), want.first, 1e-12) << name << " " << length;
      EXPECT_CLOSE(state, want.second, 1e-12) << name << " " << length;
    }
  }
}

TEST(ChannelMixers, ContinueAnywhere) {
  const mixers::ScanInputs scan = scan_inputs(100, {-0.3, 0});
  const mixers::RecurrenceInputs recurrence = recurrence_inputs(100, {-0.3, 0});
  at::Tensor scan_state, recurrence_state;
  const at::Tensor scanned = mixers::selective_scan(scan, scan_state);
  const at::Tensor recurred = mixers::gated_recurrence(recurrence, recurrence_state);
  for (const std::int64_t cut : {1, 40, 99}) {
    at::Tensor first, second;
    std::vector<at::Tensor> scan_parts, recurrence_parts;
    for (const auto& [begin, end] : {std::pair{std::int64_t{0}, cut}, std::pair{cut, std::int64_t{100}}}) {
      const auto part = [&, b = begin, e = end](const at::Tensor& x) { return x.slice(1, b, e); };
      scan_parts.push_back(mixers::selective_scan(
          {part(scan.x), part(scan.delta), scan.log_rate, part(scan.input), part(scan.output), scan.skip}, first));
      recurrence_parts.push_back(mixers::gated_recurrence(changed(recurrence, part), second));
    }
    EXPECT_CLOSE(at::cat(scan_parts, 1), scanned, 1e-12);
    EXPECT_CLOSE(first, scan_state, 1e-12);
    EXPECT_CLOSE(at::cat(recurrence_parts, 1), recurred, 1e-12);
    EXPECT_CLOSE(second, recurrence_state, 1e-12);
  }
}

TEST(ChannelMixers, RecurrenceResetsWhereTheDecayIsInfinite) {
  mixers::RecurrenceInputs inputs = recurrence_inputs(20, {-0.3, 0});
  inputs.log_decay.select(1, 9).fill_(-INFINITY);
  at::Tensor state, fresh;
  const at::Tensor whole = mixers::gated_recurrence(inputs, state);
  const auto part = [](const at::Tensor& x) { return x.slice(1, 9); };
  EXPECT_CLOSE(whole.slice(1, 9), mixers::gated_recurrence(changed(inputs, part), fresh), 1e-14);
}

TEST(ChannelMixers, Train) {
  mixers::ScanInputs scan = scan_inputs(70, {-0.3, 0});
  mixers::RecurrenceInputs recurrence = recurrence_inputs(70, {-0.3, 0});
  at::Tensor weight = at::randn({6, 4}, at::kDouble);
  std::vector<at::Tensor> leaves{scan.x,    scan.delta,       scan.log_rate,        scan.input, scan.output,
                                 scan.skip, recurrence.input, recurrence.log_decay, weight};
  for (at::Tensor& leaf : leaves) {
    leaf.requires_grad_();
  }
  const at::Tensor weights = at::randn({2, 70, 6}, at::kDouble);
  at::Tensor a, b, c;
  const auto got = torch::autograd::grad({((mixers::selective_scan(scan, a) + mixers::gated_recurrence(recurrence, b) +
                                            mixers::causal_convolution(scan.x, weight, {}, c)) *
                                           weights)
                                              .sum()},
                                         leaves);
  const at::Tensor convolved =
      at::conv1d(scan.x.transpose(1, 2), weight.unsqueeze(1), {}, 1, 3, 1, 6).slice(2, 0, 70).transpose(1, 2);
  const auto want =
      torch::autograd::grad({((scan_recurrence(scan, at::zeros({2, 6, 4}, at::kDouble)).first +
                               gated_recurrence_twin(recurrence, at::zeros({2, 6}, at::kDouble)).first + convolved) *
                              weights)
                                 .sum()},
                            leaves);
  for (std::size_t n = 0; n < leaves.size(); ++n) {
    EXPECT_CLOSE(got[n], want[n], 1e-10) << n;
  }
}

}  // namespace
}  // namespace locus::test

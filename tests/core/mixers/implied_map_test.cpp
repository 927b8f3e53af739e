// Implied maps against the recurrences fed with unit values, which give their columns; tiles, decay off, half-lives.
#include "core/mixers/implied_map.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "core/mixers/causal_convolution.h"
#include "tests/core/mixers/recurrences.h"
#include "tests/support/golden.h"

namespace locus::test {
namespace {

using mixers::Decay;
using mixers::implied_map;
using mixers::ImpliedMap;

at::Tensor whole(const ImpliedMap& map, Decay decay = Decay::kOwn) {
  const Range all{0, map.length()};
  return map.tile({0, map.heads()}, all, all, decay);
}

at::Tensor first(const at::Tensor& x) {
  return x.slice(0, 0, 1);
}

// (1, 3, T, T) values e_j of token j: the outputs are M.
at::Tensor unit_values(std::int64_t length) {
  return at::eye(length, at::kDouble).expand({1, 3, length, length}).contiguous();
}

at::Tensor no_state(std::int64_t values) {
  return at::zeros({1, 3, 10, values}, at::kDouble);
}

// (bands, T, T) means of (T of the unit, T, C) outputs.
at::Tensor banded(const at::Tensor& outputs, std::int64_t bands) {
  return outputs.unflatten(2, {bands, outputs.size(2) / bands}).mean(-1).permute({2, 1, 0});
}

at::Tensor unit_batch(std::int64_t length) {
  return at::eye(length, at::kDouble).unsqueeze(-1).expand({length, length, 6});
}

mixers::ScanInputs first_of(const mixers::ScanInputs& x) {
  return {first(x.x), first(x.delta), x.log_rate, first(x.input), first(x.output), x.skip};
}

at::Tensor scan_map(mixers::ScanInputs inputs, std::int64_t bands) {
  const std::int64_t length = inputs.x.size(1);
  for (at::Tensor* shared : {&inputs.delta, &inputs.input, &inputs.output}) {
    *shared = shared->expand({length, length, shared->size(2)});
  }
  inputs.x = unit_batch(length);
  return banded(scan_recurrence(inputs, at::zeros({length, 6, 4}, at::kDouble)).first, bands);
}

// Inputs whose first tokens the last ones still see.
mixers::DeltaInputs lasting_inputs(std::int64_t length, bool by_channel) {
  mixers::DeltaInputs inputs = changed(delta_inputs(length, {-0.004, 0}, by_channel), first);
  inputs.beta = inputs.beta * 0.02;
  return inputs;
}

struct Kind {
  std::string name;
  std::function<std::shared_ptr<const ImpliedMap>(Range tokens)> map;  // of the inputs of these tokens
};

// Every kind of map over inputs of `length` tokens in float64.
std::vector<Kind> every_kind(std::int64_t length) {
  const auto cut = [](Range tokens, std::int64_t axis) {
    return [=](const at::Tensor& x) { return x.slice(axis, tokens.begin, tokens.end); };
  };
  const auto delta = [&](bool by_channel) {
    return [=, inputs = lasting_inputs(length, by_channel)](Range tokens) {
      return implied_map(changed(inputs, cut(tokens, 2)));
    };
  };
  const auto decayed = changed(decayed_inputs(length, {-0.3, 0}), first);
  const auto scan = first_of(scan_inputs(length, {-0.3, 0}));
  const auto recurrence = changed(recurrence_inputs(length, {-0.3, 0}), first);
  const at::Tensor skip = at::randn({3}, at::kDouble);
  const at::Tensor gate = at::randn({1, length, 6}, at::kDouble);
  const at::Tensor weight = at::randn({6, 5}, at::kDouble);
  const auto scan_of = [=](Range tokens) {
    const auto part = cut(tokens, 1);
    return implied_map(mixers::ScanInputs{part(scan.x), part(scan.delta), scan.log_rate, part(scan.input),
                                          part(scan.output), scan.skip},
                       3);
  };
  const auto convolution = [=](bool gated) {
    return [=](Range tokens) {
      return mixers::implied_map_of_convolution(gated ? cut(tokens, 1)(gate) : at::Tensor(), {}, weight, 3,
                                                tokens.size());
    };
  };
  return {{"decayed", [=](Range tokens) { return implied_map(changed(decayed, cut(tokens, 2)), skip); }},
          {"delta", delta(false)},
          {"delta by channel", delta(true)},
          {"scan", scan_of},
          {"recurrence",
           [=](Range tokens) { return implied_map(changed(recurrence, cut(tokens, 1)), cut(tokens, 1)(gate), 2); }},
          {"convolution", convolution(true)},
          {"convolution without gates", convolution(false)}};
}

TEST(ImpliedMap, OfDecayedAttention) {
  at::manual_seed(7);
  for (const auto& [name, decay] : kDecays) {
    for (const std::int64_t length : kLengths) {
      mixers::DecayedInputs inputs = changed(decayed_inputs(length, decay), first);
      const at::Tensor skip = at::randn({3}, at::kDouble);
      const auto map = implied_map(inputs, skip);
      const at::Tensor diagonal = at::eye(length, at::kDouble) * skip.reshape({3, 1, 1});
      at::Tensor none;
      const at::Tensor output = mixers::decayed_attention(inputs, none) + inputs.value * skip.reshape({3, 1, 1});
      EXPECT_CLOSE(at::matmul(whole(*map), map->value()), output[0], 1e-10) << name << " " << length;
      inputs.value = unit_values(length);
      EXPECT_CLOSE(whole(*map), decayed_recurrence(inputs, no_state(length)).first[0] + diagonal, 1e-11)
          << name << " " << length;
      inputs.log_decay = at::zeros_like(inputs.log_decay);
      EXPECT_CLOSE(whole(*map, Decay::kOff), decayed_recurrence(inputs, no_state(length)).first[0] + diagonal, 1e-11)
          << name << " " << length;
    }
  }
}

TEST(ImpliedMap, OfTheDeltaRule) {
  for (const bool by_channel : {false, true}) {
    for (const auto& [name, decay] : kDecays) {
      for (const std::int64_t length : kLengths) {
        mixers::DeltaInputs inputs = changed(delta_inputs(length, decay, by_channel), first);
        const auto map = implied_map(inputs);
        at::Tensor none;
        EXPECT_CLOSE(at::matmul(whole(*map), map->value()), mixers::delta_rule(inputs, none)[0], 1e-10)
            << name << " " << length;
        inputs.value = unit_values(length);
        EXPECT_CLOSE(whole(*map), delta_recurrence(inputs, no_state(length)).first[0], 1e-11) << name << " " << length;
        inputs.log_decay = at::zeros_like(inputs.log_decay);
        EXPECT_CLOSE(whole(*map, Decay::kOff), delta_recurrence(inputs, no_state(length)).first[0], 1e-11)
            << name << " " << length;
      }
    }
  }
}

TEST(ImpliedMap, OfAScan) {
  for (const auto& [name, decay] : kDecays) {
    for (const std::int64_t length : {1, 63, 65, 130}) {
      mixers::ScanInputs inputs = first_of(scan_inputs(length, decay));
      const auto channels = implied_map(inputs, 6);
      at::Tensor none;
      const at::Tensor values = inputs.x[0].t().unsqueeze(-1);  // (C, T, 1)
      EXPECT_CLOSE(at::matmul(whole(*channels), values).squeeze(-1).t(), mixers::selective_scan(inputs, none)[0], 1e-10)
          << name << " " << length;
      EXPECT_CLOSE(whole(*implied_map(inputs, 2)), scan_map(inputs, 2), 1e-11) << name << " " << length;
      const auto map = implied_map(inputs, 2);
      inputs.log_rate = at::zeros_like(inputs.log_rate);
      EXPECT_CLOSE(whole(*map, Decay::kOff), scan_map(inputs, 2), 1e-11) << name << " " << length;
    }
  }
}

TEST(ImpliedMap, OfAGatedRecurrence) {
  for (const auto& [name, decay] : kDecays) {
    for (const std::int64_t length : {1, 63, 65, 130}) {
      mixers::RecurrenceInputs inputs = changed(recurrence_inputs(length, decay), first);
      const at::Tensor gate = at::randn({1, length, 6}, at::kDouble);
      const auto map = implied_map(inputs, gate, 3);
      const auto outputs = [&](const at::Tensor& log_decay) {
        return banded(gated_recurrence_twin({gate * unit_batch(length), log_decay.expand({length, length, 6})},
                                            at::zeros({length, 6}, at::kDouble))
                          .first,
                      3);
      };
      EXPECT_CLOSE(whole(*map), outputs(inputs.log_decay), 1e-11) << name << " " << length;
      EXPECT_CLOSE(whole(*map, Decay::kOff), outputs(at::zeros_like(inputs.log_decay)), 1e-11) << name << " " << length;
    }
  }
}

TEST(ImpliedMap, OfAConvolution) {
  const at::Tensor before = at::randn({1, 70, 6}, at::kDouble);
  const at::Tensor after = at::randn({1, 70, 6}, at::kDouble);
  const at::Tensor weight = at::randn({6, 4}, at::kDouble);
  at::Tensor state;
  const auto outputs = [&](const at::Tensor& in, const at::Tensor& out) {
    at::Tensor none;
    return banded(out * mixers::causal_convolution(in * unit_batch(70), weight, {}, none), 2);
  };
  const at::Tensor one = at::ones({1, 1, 1}, at::kDouble);
  const auto map = [&](const at::Tensor& in, const at::Tensor& out) {
    const auto made = mixers::implied_map_of_convolution(in, out, weight, 2, 70);
    EXPECT_FALSE(made->half_life().defined());
    EXPECT_FALSE(made->value().defined());
    EXPECT_TRUE(whole(*made).equal(whole(*made, Decay::kOff)));
    return whole(*made);
  };
  EXPECT_CLOSE(map(before, after), outputs(before, after), 1e-13);
  EXPECT_CLOSE(map(before, {}), outputs(before, one), 1e-13);
  EXPECT_CLOSE(map({}, after), outputs(one, after), 1e-13);
  EXPECT_CLOSE(map({}, {}), outputs(one, one), 1e-13);
}

// Far from the diagonal too, where the delta rule's tiles cross many blocks at once.
TEST(ImpliedMap, TilesAreCutFromTheWhole) {
  for (const std::int64_t length : {100, 1200}) {
    for (const Kind& kind : every_kind(length)) {
      const auto map = kind.map({0, length});
      for (const Decay decay : {Decay::kOwn, Decay::kOff}) {
        const at::Tensor cells = whole(*map, decay);
        EXPECT_TRUE(cells.equal(cells.tril())) << kind.name;
        for (const Range rows :
             {Range{0, 1}, Range{length - 1, length}, Range{30, 65}, Range{length - 70, length - 3}}) {
          for (const Range columns : {Range{0, 1}, Range{length - 1, length}, Range{3, 61}, Range{63, 99},
                                      Range{40, 40}, Range{length / 2 - 9, length / 2 + 80}}) {
            const Range shown = columns.clamped({0, length});
            const Range heads{1, map->heads()};
            const at::Tensor tile = map->tile(heads, rows, shown, decay);
            EXPECT_CLOSE(tile, cells.slice(0, 1).slice(1, rows.begin, rows.end).slice(2, shown.begin, shown.end), 1e-11)
                << kind.name << " " << rows.begin << " " << shown.begin;
          }
        }
      }
    }
  }
}

// Continued token by token, by many tokens, and from before the end, looked at between or not.
TEST(ImpliedMap, ContinuedEqualsTheMapOfAllInputs) {
  constexpr std::int64_t kLength = 1300;
  for (const Kind& kind : every_kind(kLength)) {
    for (const bool looked_at : {false, true}) {
      SCOPED_TRACE(kind.name);
      const auto check = [&](const ImpliedMap& map, Range tokens) {
        const auto twin = kind.map(tokens);
        const std::int64_t length = tokens.size();
        ASSERT_EQ(map.length(), length);
        EXPECT_EQ(map.heads(), twin->heads());
        for (const Decay decay : {Decay::kOwn, Decay::kOff}) {
          for (const Range rows : {Range{length - 90, length}, Range{length / 2 - 40, length / 2 + 30}}) {
            for (const Range columns : {Range{0, 70}, Range{length - 130, length}}) {
              const Range heads{1, map.heads()};
              EXPECT_CLOSE(map.tile(heads, rows, columns, decay), twin->tile(heads, rows, columns, decay), 1e-12);
            }
          }
        }
        if (twin->half_life().defined()) {
          EXPECT_TRUE(map.half_life().equal(twin->half_life()));
        }
        if (length < 200 && twin->state_norm().defined()) {
          EXPECT_TRUE(map.state_norm().equal(twin->state_norm()));
        }
        EXPECT_EQ(map.value().defined(), twin->value().defined());
        if (map.value().defined()) {
          EXPECT_TRUE(map.value().equal(twin->value()));
        }
      };
      auto map = kind.map({0, 1100});
      for (std::int64_t end = 1100; end < 1107; ++end) {
        if (looked_at) {
          check(*map, {0, end});
        }
        map = map->continued(end, *kind.map({end, end + 1}));
      }
      check(*map, {0, 1107});
      const auto branch = map;
      map = map->continued(1102, *kind.map({1102, kLength}));
      check(*map, {0, kLength});
      map = branch->continued(1030, *kind.map({1030, 1031}));
      check(*map, {0, 1031});
      map = map->continued(150, *kind.map({150, 152}));
      check(*map, {0, 152});
      map = map->continued(0, *kind.map({0, 140}));
      check(*map, {0, 140});
      check(*branch, {0, 1107});
    }
  }
}

TEST(ImpliedMap, OfSomeHeadsAfterOthers) {
  const mixers::DeltaInputs inputs = lasting_inputs(1200, true);
  const auto map = implied_map(inputs);
  const Range rows{1100, 1150};
  const Range columns{20, 60};
  const at::Tensor two = map->tile({1, 3}, rows, columns);
  const at::Tensor all = map->tile({0, 3}, rows, columns);
  EXPECT_GT(two.abs().max().item<double>(), 1e-4);
  EXPECT_CLOSE(all.slice(0, 1), two, 1e-13);
  EXPECT_CLOSE(all, implied_map(inputs)->tile({0, 3}, rows, columns), 1e-13);
}

TEST(ImpliedMap, Float32MultipliesValuesAsTheMixerDoes) {
  const auto single = [](const at::Tensor& x) { return first(x).to(at::kFloat); };
  for (const auto& [name, decay] : kDecays) {
    const auto delta = changed(delta_inputs(700, decay, true), single);
    const auto decayed = changed(decayed_inputs(700, decay), single);
    at::Tensor a, b;
    const at::Tensor delta_output = mixers::delta_rule(delta, a)[0];
    const at::Tensor decayed_output = mixers::decayed_attention(decayed, b)[0];
    const at::Tensor scale = decayed_output.abs().max();
    const auto delta_map = implied_map(delta);
    const auto decayed_map = implied_map(decayed);
    EXPECT_EQ(whole(*delta_map).scalar_type(), at::kFloat);
    EXPECT_CLOSE(at::matmul(whole(*delta_map), delta_map->value()), delta_output, 1e-5) << name;
    EXPECT_CLOSE(at::matmul(whole(*decayed_map), decayed_map->value()) / scale, decayed_output / scale, 1e-5) << name;
  }
}

// Behind each token, of the twins' recurrences; a band's is that of all its channels.
TEST(ImpliedMap, NormsOfTheState) {
  constexpr std::int64_t kLength = 150;
  const auto check = [](const ImpliedMap& map, at::Tensor state, const auto& advance) {
    const at::Tensor norms = map.state_norm();
    ASSERT_EQ(norms.sizes(), (std::vector<std::int64_t>{map.heads(), kLength}));
    for (std::int64_t t = 0; t < kLength; ++t) {
      state = advance(t, state).second;
      EXPECT_CLOSE(norms.select(1, t), state.reshape({map.heads(), -1}).norm(2, -1), 1e-12) << t;
    }
  };
  const auto token = [](std::int64_t axis, std::int64_t t) {
    return [=](const at::Tensor& x) { return x.narrow(axis, t, 1); };
  };
  at::manual_seed(9);
  const mixers::DecayedInputs decayed = changed(decayed_inputs(kLength, {-0.3, 0}), first);
  check(*implied_map(decayed, at::ones({3}, at::kDouble)), no_state(6),
        [&](std::int64_t t, const at::Tensor& s) { return decayed_recurrence(changed(decayed, token(2, t)), s); });
  for (const bool by_channel : {false, true}) {
    const mixers::DeltaInputs delta = changed(delta_inputs(kLength, {-0.3, 0}, by_channel), first);
    check(*implied_map(delta), no_state(6),
          [&](std::int64_t t, const at::Tensor& s) { return delta_recurrence(changed(delta, token(2, t)), s); });
  }
  const mixers::ScanInputs scan = first_of(scan_inputs(kLength, {-0.3, -0.01}));
  check(*implied_map(scan, 2), at::zeros({1, 6, 4}, at::kDouble), [&](std::int64_t t, const at::Tensor& s) {
    const auto at_token = token(1, t);
    return scan_recurrence(
        {at_token(scan.x), at_token(scan.delta), scan.log_rate, at_token(scan.input), at_token(scan.output), scan.skip},
        s);
  });
  const mixers::RecurrenceInputs gated = changed(recurrence_inputs(kLength, {-0.3, 0}), first);
  check(*implied_map(gated, at::ones({1, kLength, 6}, at::kDouble), 3), at::zeros({1, 6}, at::kDouble),
        [&](std::int64_t t, const at::Tensor& s) { return gated_recurrence_twin(changed(gated, token(1, t)), s); });
  EXPECT_FALSE(mixers::implied_map_of_convolution({}, {}, at::ones({6, 3}), 2, kLength)->state_norm().defined());
  std::stop_source stop;
  stop.request_stop();
  EXPECT_FALSE(implied_map(decayed)->state_norm(stop.get_token()).defined());
}

TEST(ImpliedMap, HalfLives) {
  const double half = std::log(0.5);
  const double infinity = std::numeric_limits<double>::infinity();
  mixers::DecayedInputs decayed = changed(decayed_inputs(3, {0, 0}), first);
  decayed.log_decay = at::tensor({0.0, half, half / 8}, at::kDouble).expand({1, 3, 3});
  EXPECT_CLOSE(implied_map(decayed)->half_life(), at::tensor({infinity, 1.0, 8.0}, at::kDouble).expand({3, 3}), 1e-14);

  mixers::DeltaInputs delta = changed(delta_inputs(2, {0, 0}, true), first);
  delta.log_decay = (half / (at::arange(10, at::kDouble) + 1)).expand({1, 3, 2, 10});
  EXPECT_CLOSE(implied_map(delta)->half_life(), at::full({3, 2}, 5.0, at::kDouble), 1e-14);

  mixers::ScanInputs scan = first_of(scan_inputs(5, {0, 0}));
  scan.delta = at::full({1, 5, 6}, 0.5, at::kDouble);
  scan.log_rate = 2 * half / (at::arange(1, 7, at::kDouble).unsqueeze(1) * at::tensor({3, 1, 40, 2}, at::kDouble));
  EXPECT_CLOSE(implied_map(scan, 2)->half_life(), at::tensor({4.0, 10.0}, at::kDouble).unsqueeze(1).expand({2, 5}),
               1e-14);

  const at::Tensor gate = at::ones({1, 4, 6}, at::kDouble);
  const at::Tensor rates = half / at::tensor({1, 2, 3, 4, 5, 6}, at::kDouble).expand({1, 4, 6});
  EXPECT_CLOSE(implied_map({gate, rates}, gate, 2)->half_life(),
               at::tensor({2.0, 5.0}, at::kDouble).unsqueeze(1).expand({2, 4}), 1e-14);
}

}  // namespace
}  // namespace locus::test

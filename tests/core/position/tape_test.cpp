// What TAPE promises (Zhu et al. 2025, Propositions 3.1 and 4.2, §3.3), on random models whose weights are all
// non-zero.
#include "core/position/tape/tape.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <cmath>

#include "core/position/list.h"
#include "tests/support/golden.h"
#include "tests/support/llama.h"

namespace locus {
namespace {

using position::Positions;

constexpr std::int64_t kTapeLength = 12;

position::ModelShape tape_shape(bool causal = true) {
  position::ModelShape shape;
  shape.layers = 3;
  shape.heads = shape.kv_heads = 4;
  shape.head_width = 8;
  shape.width = 32;
  shape.trained_length = 64;
  shape.causal = causal;
  return shape;
}

Settings with(std::initializer_list<std::pair<const std::string, std::string>> texts, Settings settings = {}) {
  for (const auto& [name, value] : texts) {
    settings.set(name, value);
  }
  return settings;
}

// A model and its TAPE, every weight random. Exact properties are checked in float64: a random model amplifies
// float32's rounding through three soft-maxes.
struct Subject {
  test::Weights weights;
  std::unique_ptr<position::PositionEncoding> encoding;
  at::Tensor ids;

  explicit Subject(const Settings& options, std::uint64_t seed = 1, bool causal = true,
                   at::ScalarType type = at::kDouble)
      : weights(test::random_llama(tape_shape(causal), seed)),
        encoding(*position::make_encoding("tape", options, tape_shape(causal))),
        ids(at::randint(50, {2, kTapeLength}, at::detail::createCPUGenerator(seed), at::kLong)) {
    test::randomise(*encoding, 0.2, seed + 100);
    for (auto& [name, values] : weights) {
      values = values.to(type);
    }
    for (const position::Parameter& parameter : encoding->parameters()) {
      *parameter.value = parameter.value->to(type);
    }
  }

  test::LlamaRun run(double start = 0) const {
    return test::run_llama(weights, *encoding, ids, Positions::sequence(kTapeLength, start));
  }
  test::LlamaRun run_from(const position::State& state, const at::Tensor& hidden = {}) const {
    return test::run_llama(weights, *encoding, ids, state, hidden);
  }
  double change_by_shift() const { return (run(37).logits - run().logits).abs().max().item<double>(); }
};

std::vector<Settings> equivariant() {
  return {{},
          with({{"softmax", "block"}}),
          with({{"start", "fourier"}}),
          with({{"start", "fourier"}}, {{"rows", std::int64_t{4}}, {"columns", std::int64_t{6}}}),
          with({}, {{"rows", std::int64_t{1}}, {"columns", std::int64_t{4}}}),
          with({{"updates", "attention"}}),
          with({{"updates", "feed-forward"}}),
          with({{"form", "paper"}}),
          with({{"form", "paper"}, {"softmax", "head"}}),
          with({{"form", "paper"}, {"updates", "feed-forward"}}),
          with({{"form", "paper"}, {"start", "fourier"}}, {{"rows", std::int64_t{4}}, {"columns", std::int64_t{2}}})};
}

TEST(Tape, SharedMixingIsInvariantUnderShiftedIds) {
  for (const Settings& options : equivariant()) {
    EXPECT_LT(Subject(options, 1, true, at::kFloat).change_by_shift(), 1e-4);
    const Subject subject(options);
    EXPECT_LT(subject.change_by_shift(), 1e-9);
    EXPECT_GT(test::deviation(subject.run().layers[2].leaving.table, subject.run().layers[0].entering.table), 1e-2);
  }
}

TEST(Tape, OtherMixingsAreNot) {
  for (const Settings& options :
       {with({{"mixing", "full"}}), with({{"mixing", "whole"}}), with({{"mixing", "vector"}}),
        with({{"mixing", "non-equivariant"}}), with({{"mixing", "whole"}, {"form", "paper"}}),
        with({{"mixing", "full"}, {"form", "paper"}}), with({{"mixing", "non-equivariant"}, {"form", "paper"}}),
        with({}, {{"rows", std::int64_t{4}}, {"columns", std::int64_t{1}}})}) {
    EXPECT_GT(Subject(options).change_by_shift(), 1e-2);
  }
}

// Any orthogonal matrix, reflections included.
at::Tensor orthogonal(std::int64_t size, std::uint64_t seed) {
  const at::Tensor random = at::randn({size, size}, at::detail::createCPUGenerator(seed), at::kDouble);
  return std::get<0>(at::linalg_qr(random));
}

// The largest changes of features and of the state, the latter against the turned original.
std::pair<double, double> change_by_turn(const Subject& subject, std::uint64_t seed) {
  position::State state = subject.encoding->begin(Positions::sequence(kTapeLength), 2);
  const test::LlamaRun plain = subject.run_from(state);
  const at::Tensor turn = orthogonal(state.table.size(-1), seed);
  state.table = at::matmul(state.table, turn);
  const test::LlamaRun turned = subject.run_from(state);
  return {test::deviation(turned.logits, plain.logits),
          test::deviation(turned.layers[2].leaving.table, at::matmul(plain.layers[2].leaving.table, turn))};
}

TEST(Tape, OrthogonalEquivarianceOfEquationFive) {
  std::vector<Settings> all = equivariant();
  all.push_back(with({{"mixing", "full"}}));
  all.push_back(with({{"mixing", "full"}, {"form", "paper"}}));
  all.push_back(with({{"mixing", "whole"}}));
  all.push_back(with({{"mixing", "whole"}, {"form", "paper"}}));
  std::uint64_t seed = 1;
  for (const Settings& options : all) {
    ++seed;
    const auto [features, state] = change_by_turn(Subject(options, seed), seed);
    EXPECT_LT(features, 1e-9);
    EXPECT_LT(state, 1e-9);
  }
}

TEST(Tape, MixingTheRAxisBreaksEquationFive) {
  for (const Settings& options :
       {with({{"mixing", "non-equivariant"}}), with({{"mixing", "non-equivariant"}, {"form", "paper"}})}) {
    EXPECT_GT(change_by_turn(Subject(options), 3).first, 1e-2);
  }
}

// Eq. 4: tokens, states and mask permuted together permute every output, and nothing else.
TEST(Tape, PermutationEquivarianceOfEquationFour) {
  const at::Tensor order = at::randperm(kTapeLength, at::detail::createCPUGenerator(5), at::TensorOptions(at::kLong));
  for (const Settings& options : equivariant()) {
    // Block averages know only the causal and the full mask.
    const bool blocks =
        options.text("softmax", options.text("form", "").value() == "paper" ? "block" : "").value() == "block";
    Subject subject(options, 2, !blocks);
    const at::Tensor all = at::ones({kTapeLength, kTapeLength}, at::kBool);
    const at::Tensor hidden = blocks ? all.logical_not() : all.triu(1);
    const position::State state = subject.encoding->begin(Positions::sequence(kTapeLength), 2);
    const test::LlamaRun plain = subject.run_from(state, hidden);
    subject.ids = subject.ids.index_select(1, order);
    const test::LlamaRun permuted = subject.run_from({state.positions, state.table.index_select(2, order)},
                                                     hidden.index_select(0, order).index_select(1, order));
    EXPECT_CLOSE(permuted.logits, plain.logits.index_select(1, order), 1e-9);
    EXPECT_CLOSE(permuted.layers[2].leaving.table, plain.layers[2].leaving.table.index_select(2, order), 1e-9);
  }
}

TEST(Tape, ANewTapeIsRopeUntilOneWeightMoves) {
  const auto rope = *position::make_encoding("rope", {}, tape_shape());
  for (const Settings& options :
       {Settings{}, with({{"mixing", "full"}}), with({{"mixing", "vector"}}), with({{"mixing", "non-equivariant"}}),
        with({{"form", "paper"}}), with({{"form", "paper"}, {"mixing", "full"}}), with({{"mixing", "whole"}}),
        with({{"form", "paper"}, {"mixing", "whole"}})}) {
    Subject subject(options, 1, true, at::kFloat);
    const at::Tensor wanted =
        test::run_llama(subject.weights, *rope, subject.ids, Positions::sequence(kTapeLength)).logits;
    subject.encoding = *position::make_encoding("tape", options, tape_shape());
    EXPECT_CLOSE(subject.run().logits, wanted, 1e-5);
    std::size_t moved = 0;
    for (const position::Parameter& parameter : subject.encoding->parameters()) {
      // The layer before the last: what the last one learns, no score sees.
      if (parameter.name.find("layers.1.") == 0 && parameter.value->count_nonzero().item<std::int64_t>() == 0) {
        parameter.value->view(-1)[0] = 1.0;
        EXPECT_GT(test::deviation(subject.run().logits, wanted), 1e-4) << parameter.name;
        parameter.value->zero_();
        ++moved;
      }
    }
    EXPECT_GT(moved, 0U);
  }
}

TEST(Tape, APrefixHasTheSameRows) {
  for (const Settings& options : equivariant()) {
    Subject subject(options);
    const test::LlamaRun whole = subject.run();
    subject.ids = subject.ids.slice(1, 0, 7);
    const test::LlamaRun prefix =
        test::run_llama(subject.weights, *subject.encoding, subject.ids, Positions::sequence(7));
    EXPECT_CLOSE(prefix.logits, whole.logits.slice(1, 0, 7), 1e-9);
    EXPECT_CLOSE(prefix.layers[2].leaving.table, whole.layers[2].leaving.table.slice(2, 0, 7), 1e-9);
  }
}

TEST(Tape, EveryWeightThatALaterLayerSeesHasAGradient) {
  for (const Settings& options : {Settings{}, with({{"form", "paper"}}), with({{"mixing", "whole"}}),
                                  with({{"form", "paper"}, {"mixing", "whole"}})}) {
    Subject subject(options);
    for (const position::Parameter& parameter : subject.encoding->parameters()) {
      parameter.value->requires_grad_();
    }
    subject.run().logits.pow(2).sum().backward();
    for (const position::Parameter& parameter : subject.encoding->parameters()) {
      const bool seen = parameter.name.find("layers.2.") != 0;
      const at::Tensor gradient = parameter.value->grad();
      EXPECT_EQ(gradient.defined() && gradient.abs().max().item<double>() > 0, seen) << parameter.name;
    }
  }
}

TEST(Tape, SharedKeyHeadsAreRepeatedAndTilesAreSlices) {
  position::ModelShape shape = tape_shape();
  shape.kv_heads = 2;
  const auto encoding = *position::make_encoding("tape", {}, shape);
  const position::State state = encoding->begin(Positions::sequence(kTapeLength), 1);
  const position::Projections projections{at::randn({1, 4, kTapeLength, 8}), at::randn({1, 2, kTapeLength, 8}), {}, {}};
  const position::Prepared prepared = encoding->prepare(state, 0, projections);
  const auto rope = *position::make_encoding("rope", {}, shape);
  const position::Prepared wanted = rope->prepare(rope->begin(Positions::sequence(kTapeLength), 1), 0, projections);
  const position::Tile whole{0, {0, 4}, {0, kTapeLength}, {0, kTapeLength}};
  position::Wanted content;
  content.content = true;
  const position::TileScores map = encoding->score(prepared, whole, content);
  EXPECT_CLOSE(map.logits, rope->score(wanted, whole).logits, 1e-5);
  EXPECT_CLOSE(map.content, rope->score(wanted, whole, content).content, 1e-5);
  const position::Tile tile{0, {1, 3}, {4, 9}, {2, 11}};
  const auto slice = [](const at::Tensor& x) { return x.slice(1, 1, 3).slice(2, 4, 9).slice(3, 2, 11); };
  EXPECT_CLOSE(encoding->score(prepared, tile, content).logits, slice(map.logits), 1e-6);
  EXPECT_CLOSE(encoding->score(prepared, tile, content).content, slice(map.content), 1e-6);
}

// Eq. 8 with W1 and W2 of H·M·L × I, as sums over numbers; with one head, full mixing is the same.
TEST(Tape, WholeMixingIsEquationEightOverAllHeads) {
  constexpr std::int64_t heads = 3;
  constexpr std::int64_t entries = 2 * 4;  // M·L
  constexpr std::int64_t inner = 5;
  const position::TapeBlocks blocks{2, 4, 3, 4, position::PairLayout::kHalf};
  const position::TapeMix mix{position::TapeMixing::kWhole, false, at::randn({inner, heads * entries}, at::kDouble),
                              at::randn({heads * entries, inner}, at::kDouble)};
  const at::Tensor e = at::randn({2, heads, 6, 2, 4, 3}, at::kDouble);  // (B, H, T, M, L, R)
  const at::Tensor gate = at::randn({2, 6, inner}, at::kDouble);
  const at::Tensor mixed = mix(e, gate, blocks);
  ASSERT_EQ(mixed.sizes(), e.sizes());
  const auto flat = [](const at::Tensor& state, std::int64_t entry, std::int64_t r) {  // state (H, M, L, R)
    return state[entry / entries][entry / 4 % 2][entry % 4][r].item<double>();
  };
  for (const auto& [b, t] : {std::pair{0, 0}, std::pair{0, 5}, std::pair{1, 3}}) {
    const at::Tensor own = e.select(0, b).select(1, t);
    const at::Tensor got = mixed.select(0, b).select(1, t);
    for (std::int64_t r = 0; r < 3; ++r) {
      for (std::int64_t to = 0; to < heads * entries; ++to) {
        double wanted = 0;
        for (std::int64_t i = 0; i < inner; ++i) {
          double projected = 0;
          for (std::int64_t from = 0; from < heads * entries; ++from) {
            projected += mix.up[i][from].item<double>() * flat(own, from, r);
          }
          wanted += mix.down[to][i].item<double>() * gate[b][t][i].item<double>() * projected;
        }
        EXPECT_NEAR(flat(got, to, r), wanted, 1e-12 * (1 + std::abs(wanted)));
      }
    }
  }
  const at::Tensor up = mix.up.slice(1, 0, entries);
  const at::Tensor down = mix.down.slice(0, 0, entries);
  const position::TapeMix one{position::TapeMixing::kWhole, false, up, down};
  const position::TapeMix full{position::TapeMixing::kFull, false, up.unsqueeze(0), down.unsqueeze(0)};
  EXPECT_CLOSE(one(e.slice(1, 0, 1), gate, blocks), full(e.slice(1, 0, 1), gate, blocks), 1e-12);
}

// Central differences along random directions, through three layers of either form.
TEST(Tape, WholeMixingHasTheGradientOfItsValues) {
  for (const Settings& options : {with({{"mixing", "whole"}}), with({{"mixing", "whole"}, {"form", "paper"}})}) {
    Subject subject(options);
    const auto value = [&] { return subject.run().logits.tanh().sum(); };
    for (const position::Parameter& parameter : subject.encoding->parameters()) {
      parameter.value->requires_grad_();
    }
    value().backward();
    for (const position::Parameter& parameter : subject.encoding->parameters()) {
      if (!parameter.value->grad().defined()) {
        continue;  // of the last layer
      }
      const at::Tensor direction = at::randn_like(parameter.value->detach());
      const double wanted = (parameter.value->grad() * direction).sum().item<double>();
      const at::NoGradGuard no_gradients;
      constexpr double step = 1e-6;
      parameter.value->add_(direction, step);
      const double above = value().item<double>();
      parameter.value->add_(direction, -2 * step);
      const double below = value().item<double>();
      parameter.value->add_(direction, step);
      EXPECT_NEAR((above - below) / (2 * step), wanted, 1e-5 * (1 + std::abs(wanted))) << parameter.name;
    }
  }
}

// Every head's blocks and rows meet I columns twice, for each of R.
TEST(Tape, WholeMixingCostsItsProducts) {
  const auto cost = [](const std::string& mixing) {
    return (*position::make_encoding("tape", with({{"mixing", mixing}}), tape_shape()))->macs(0, 24);
  };
  const double inner = 4 * 4;               // I
  const double entries = 4 * 4 * 2;         // H·M·L
  const double products = 2 * entries * 2;  // to I and back, for each column of R
  const double gates = inner * 32;
  EXPECT_EQ(cost("whole"), cost("full"));
  const auto still = *position::make_encoding("tape", with({{"updates", "attention"}}), tape_shape());
  EXPECT_EQ(cost("whole"), still->macs(0, 24) + 24 * (gates + inner * products));
}

TEST(Tape, LongTextsGoThroughInBlocks) {
  const at::NoGradGuard no_gradients;
  position::TapeBlocks blocks{16, 2, 2, 2, position::PairLayout::kHalf};
  position::TapeMix mix{position::TapeMixing::kShared, false, at::randn({128, 32}), at::randn({32, 128})};
  const at::Tensor many = at::randn({1, 32, 4200, 16, 2, 2});  // 2,048 tokens are a block of them
  const at::Tensor gate = at::randn({1, 4200, 128});
  const at::Tensor mixed = mix(many, gate, blocks);
  for (const std::int64_t row : {0, 2047, 2048, 4199}) {
    const at::Tensor one = mix(many.slice(2, row, row + 1), gate.slice(1, row, row + 1), blocks);
    EXPECT_CLOSE(mixed.slice(2, row, row + 1), one, 1e-4) << row;
  }

  const std::int64_t length = 1200;
  position::Prepared prepared;
  prepared.query = at::randn({1, 1, length, 32});
  prepared.key = at::randn({1, 1, length, 32});
  const at::Tensor state = many.slice(1, 0, 1).slice(2, 0, length);
  const at::Tensor whole = position::tape_contextualise(prepared, state, {0, length}, blocks, 0.3, true);
  for (const std::int64_t row : {0, 217, 600, 1199}) {
    const at::Tensor one = position::tape_contextualise(prepared, state, {row, row + 1}, blocks, 0.3, true);
    EXPECT_CLOSE(whole.slice(2, row, row + 1), one, 1e-5);
  }
}

TEST(Tape, TheStartIsExactAtPosition131072) {
  const auto encoding = *position::make_encoding("tape", {}, tape_shape());
  const at::Tensor e = encoding->begin(Positions::sequence(2, 131071), 1).table;
  const at::Tensor angles =
      at::outer(at::arange(131071, 131073, at::kDouble), position::inverse_frequencies(8, 10000.0));
  EXPECT_LE((e[0][0].select(-1, 0).select(-1, 0) - angles.cos()).abs().max().item<double>(), 1e-6);
  EXPECT_LE((e[0][0].select(-1, 1).select(-1, 0) - angles.sin()).abs().max().item<double>(), 1e-6);
}

TEST(Tape, OptionsThatDoNotFitAreErrors) {
  const auto message = [](const Settings& options, std::int64_t head_width = 8) {
    position::ModelShape shape = tape_shape();
    shape.head_width = head_width;
    const auto made = position::make_encoding("tape", options, shape);
    return made ? std::string("made") : made.error().describe();
  };
  EXPECT_NE(message({}, 7).find("divisible by 2"), std::string::npos);
  EXPECT_NE(message({{"rows", std::int64_t{3}}}).find("rows"), std::string::npos);
  EXPECT_NE(message({{"columns", std::int64_t{-1}}}).find("columns"), std::string::npos);
  EXPECT_NE(message({{"position_size", std::int64_t{-4}}}).find("position_size"), std::string::npos);
  EXPECT_NE(message(with({{"mixing", "some"}})).find("shared, full, whole, vector"), std::string::npos);
  EXPECT_NE(message(with({{"form", "paper"}, {"mixing", "vector"}})).find("vector"), std::string::npos);
  EXPECT_NE(message({{"base", 0.5}}).find("base"), std::string::npos);
  EXPECT_NE(message(with({{"start", "fourier"}}, {{"columns", std::int64_t{3}}})), "made");
  // 65,536 gates for 65,536 channels: a config.json that asks for 16 GB a layer.
  EXPECT_NE(message({{"position_size", std::int64_t{65536}}}, 16384).find("too large"), std::string::npos);
  EXPECT_EQ(message({}), "made");
}

TEST(Tape, SettingsMakeTheSameEncodingAgain) {
  const Settings options = with({{"form", "paper"}, {"mixing", "full"}, {"scaling", "yarn"}}, {{"factor", 4.0}});
  const auto first = *position::make_encoding("tape", options, tape_shape());
  const auto again = position::make_encoding("tape", first->settings(), tape_shape());
  ASSERT_TRUE(again) << again.error().describe();
  EXPECT_EQ((*again)->settings(), first->settings());
}

TEST(Tape, YarnStartIsRopesYarn) {
  const Settings yarn = with({{"scaling", "yarn"}}, {{"factor", 4.0}});
  const auto rope = *position::make_encoding("rope", yarn, tape_shape());
  const auto tape = *position::make_encoding("tape", yarn, tape_shape());
  const position::Projections projections{at::randn({1, 4, 9, 8}), at::randn({1, 4, 9, 8}), {}, {}};
  const Positions positions = Positions::sequence(9, 100);
  EXPECT_CLOSE(tape->prepare(tape->begin(positions, 1), 0, projections).query,
               rope->prepare(rope->begin(positions, 1), 0, projections).query, 1e-5);
}

// Eq. 7 by hand: one soft-max a block over scaled products, and the mean of e under it.
TEST(Tape, ContextualisingIsAnAttentionABlock) {
  const at::NoGradGuard no_gradients;
  const position::TapeBlocks blocks{2, 2, 2, 2, position::PairLayout::kInterleaved};
  constexpr std::int64_t kRows = 5;
  position::Prepared prepared;
  prepared.query = at::randn({1, 1, kRows, 8}, at::kDouble);  // (m, r) of two blocks, four numbers each
  prepared.key = at::randn({1, 1, kRows, 8}, at::kDouble);
  const at::Tensor e = at::randn({1, 1, kRows, 2, 2, 2}, at::kDouble);
  const at::Tensor got = position::tape_contextualise(prepared, e, {0, kRows}, blocks, 0.3, true);
  for (std::int64_t row = 0; row < kRows; ++row) {
    for (std::int64_t m = 0; m < 2; ++m) {
      std::vector<double> weights;
      double total = 0;
      for (std::int64_t key = 0; key <= row; ++key) {
        const at::Tensor q = prepared.query[0][0][row].slice(0, 4 * m, 4 * m + 4);
        const at::Tensor k = prepared.key[0][0][key].slice(0, 4 * m, 4 * m + 4);
        weights.push_back(std::exp(0.3 * (q * k).sum().item<double>()));
        total += weights.back();
      }
      at::Tensor wanted = at::zeros({2, 2}, at::kDouble);
      for (std::int64_t key = 0; key <= row; ++key) {
        wanted += e[0][0][key][m] * (weights[static_cast<std::size_t>(key)] / total);
      }
      EXPECT_CLOSE(got[0][0][row][m], wanted, 1e-12) << row << ", " << m;
    }
  }
}

}  // namespace
}  // namespace locus

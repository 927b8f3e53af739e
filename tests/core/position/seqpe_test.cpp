// SeqPE's integrations against their formulas, its digits, its kept tables, and its errors.
#include "core/position/seqpe/seqpe.h"

#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <thread>

#include "core/position/list.h"
#include "tests/support/golden.h"
#include "tests/support/llama.h"

namespace locus {
namespace {

using position::Positions;

constexpr std::int64_t kLength = 11;

position::ModelShape shape_of(std::int64_t kv_heads = 4) {
  position::ModelShape shape;
  shape.layers = 2;
  shape.heads = 4;
  shape.kv_heads = kv_heads;
  shape.head_width = 8;
  shape.width = 32;
  return shape;
}

std::unique_ptr<position::PositionEncoding> made(const Settings& options, std::int64_t kv_heads = 4) {
  auto encoding = *position::make_encoding("seqpe", options, shape_of(kv_heads));
  test::randomise(*encoding, 0.2, 5);
  return encoding;
}

at::Tensor weight(position::PositionEncoding& encoding, const std::string& name) {
  for (const position::Parameter& parameter : encoding.parameters()) {
    if (parameter.name == name) {
      return *parameter.value;
    }
  }
  ADD_FAILURE() << "no parameter " << name;
  return {};
}

struct Maps {
  position::TileScores scores;
  at::Tensor query, key, query_part, key_part;  // (B, H, T, D), e^q and e^k by the formula of pe_qk
};

// The whole map of layer 1 of random q and k, and e^q, e^k by the definition.
Maps maps(const Settings& options, const std::string& projection, std::int64_t kv_heads = 4) {
  const auto encoding = made(options, kv_heads);
  const position::State state = encoding->begin(Positions::sequence(kLength, 95), 2);
  Maps maps;
  const position::Projections projections{at::randn({2, 4, kLength, 8}), at::randn({2, kv_heads, kLength, 8}), {}, {}};
  maps.query = projections.query;
  maps.key = projections.key.repeat_interleave(4 / kv_heads, 1);
  at::Tensor pair = at::cat({state.table, state.table}, -1);
  if (projection != "none") {
    pair = at::linear(state.table, weight(*encoding, projection + "weight"), weight(*encoding, projection + "bias"));
  }
  const at::Tensor by_head = pair.view({kLength, 2, -1, 8}).permute({1, 2, 0, 3}).expand({2, 4, kLength, 8});
  maps.query_part = by_head[0].expand_as(maps.query);
  maps.key_part = by_head[1].expand_as(maps.key);
  position::Wanted wanted;
  wanted.content = wanted.terms = true;
  const position::Prepared prepared = encoding->prepare(state, 1, projections);
  const position::Tile whole{1, {0, 4}, {0, kLength}, {0, kLength}};
  maps.scores = encoding->score(prepared, whole, wanted);
  const position::Tile tile{1, {1, 3}, {2, 7}, {4, 10}};
  EXPECT_CLOSE(encoding->score(prepared, tile).logits, maps.scores.logits.slice(1, 1, 3).slice(2, 2, 7).slice(3, 4, 10),
               1e-6);
  return maps;
}

at::Tensor scaled_product(const at::Tensor& a, const at::Tensor& b) {
  return at::matmul(a, b.transpose(-1, -2)) / std::sqrt(8.0);
}

Settings integration(const std::string& name, const std::string& projection) {
  return {{"integration", name}, {"projection", projection}};
}

TEST(Seqpe, SumIsItsFourTerms) {
  for (const std::int64_t kv_heads : {4, 2}) {
    const Maps m = maps(integration("sum", "single"), "pe_qk.", kv_heads);
    EXPECT_CLOSE(m.scores.logits, scaled_product(m.query + m.query_part, m.key + m.key_part), 1e-5);
    EXPECT_CLOSE(m.scores.content, scaled_product(m.query, m.key), 1e-5);
    ASSERT_EQ(m.scores.terms.size(), 4U);
    const std::vector<std::pair<std::string, at::Tensor>> wanted{{"qk", scaled_product(m.query, m.key)},
                                                                 {"qe", scaled_product(m.query, m.key_part)},
                                                                 {"ek", scaled_product(m.query_part, m.key)},
                                                                 {"ee", scaled_product(m.query_part, m.key_part)}};
    at::Tensor sum = at::zeros_like(m.scores.logits);
    for (std::size_t index = 0; index < 4; ++index) {
      EXPECT_EQ(m.scores.terms[index].first, wanted[index].first);
      EXPECT_CLOSE(m.scores.terms[index].second, wanted[index].second, 1e-4);
      sum = sum + m.scores.terms[index].second;
    }
    EXPECT_CLOSE(sum, m.scores.logits, 1e-4);
  }
}

TEST(Seqpe, MulWeighsBothSides) {
  const Maps m = maps(integration("mul", "multi"), "layers.1.pe_qk.", 2);
  EXPECT_CLOSE(m.scores.logits, scaled_product(m.query * m.query_part, m.key * m.key_part), 1e-5);
  EXPECT_CLOSE(m.scores.content, scaled_product(m.query, m.key), 1e-5);
  EXPECT_TRUE(m.scores.terms.empty());
}

TEST(Seqpe, BiasAddsTheEmbeddingsProduct) {
  Settings options = integration("bias", "none");
  options.set("bias_scale", 0.7);
  const Maps m = maps(options, "none");
  EXPECT_CLOSE(m.scores.logits, scaled_product(m.query, m.key) + 0.7 * scaled_product(m.query_part, m.key_part), 1e-5);
  options = integration("bias", "single");
  options.set("single_head", true);
  const Maps one = maps(options, "pe_qk.", 2);
  EXPECT_CLOSE(one.scores.logits, scaled_product(one.query, one.key) + scaled_product(one.query_part, one.key_part),
               1e-5);
}

TEST(Seqpe, InputAddsToTheEmbeddingsAndHasNoContent) {
  const auto encoding = made({{"integration", std::string("input")}});
  const position::State state = encoding->begin(Positions::sequence(kLength), 1);
  EXPECT_EQ(encoding->embed(state).sizes(), at::IntArrayRef({kLength, 32}));
  const position::Projections projections{at::randn({1, 4, kLength, 8}), at::randn({1, 4, kLength, 8}), {}, {}};
  position::Wanted wanted;
  wanted.content = true;
  const position::Tile whole{0, {0, 4}, {0, kLength}, {0, kLength}};
  const position::TileScores scores = encoding->score(encoding->prepare(state, 0, projections), whole, wanted);
  EXPECT_CLOSE(scores.logits, scaled_product(projections.query, projections.key), 1e-6);
  EXPECT_FALSE(scores.content.defined());
}

TEST(Seqpe, DigitsInEveryBase) {
  for (const std::int64_t base : {2, 7, 10, 36}) {
    const auto encoding = made({{"base", base}, {"digits", std::int64_t{4}}});
    const auto& encoder = static_cast<const position::Seqpe&>(*encoding).encoder();
    const std::int64_t limit = encoder.options().limit();
    const at::Tensor positions = at::cat({at::arange(3, at::kLong), at::full({1}, limit - 1, at::kLong)});
    const at::Tensor digits = encoder.digits(positions);
    const at::Tensor places = at::pow(base, at::arange(3, -1, -1, at::kLong));
    EXPECT_TRUE((digits * places).sum(-1).equal(positions));
    EXPECT_TRUE(digits.lt(base).all().item<bool>());
    EXPECT_EQ(encoding->begin({positions.to(at::kDouble), 0}, 1).table.size(0), 4);
    EXPECT_FALSE(encoding->accepts({at::full({1}, static_cast<double>(limit), at::kDouble), 0}));
  }
}

// Unseen positions have an embedding of their own, and none of a text's positions share one.
TEST(Seqpe, EveryPositionHasItsOwnEmbedding) {
  const auto encoding = made({});
  const at::Tensor seen = encoding->begin(Positions::sequence(512), 1).table;
  const at::Tensor unseen = encoding->begin(Positions::sequence(512, 99488), 1).table;
  const at::Tensor distances =
      at::cdist(at::cat({seen, unseen}).to(at::kDouble), at::cat({seen, unseen}).to(at::kDouble));
  EXPECT_GT((distances + at::eye(1024, at::kDouble) * 100).min().item<double>(), 1e-4);
}

TEST(Seqpe, PositionsThatCannotBeWrittenAreErrors) {
  const auto encoding = made({});
  const auto message = [&](double position) {
    const Status status = encoding->accepts({at::full({2}, position, at::kDouble), 0});
    return status ? std::string() : status.error().describe();
  };
  EXPECT_EQ(message(99999), "");
  EXPECT_NE(message(100000).find("more than 5 digits"), std::string::npos);
  EXPECT_NE(message(-1).find("whole positions from 0 on"), std::string::npos);
  EXPECT_NE(message(1.5).find("whole positions"), std::string::npos);
  EXPECT_NE(message(std::nan("")).find("whole positions"), std::string::npos);
  EXPECT_FALSE(encoding->accepts(Positions::grid(3, 3, 0)));
  const auto image = made({{"dimensions", std::int64_t{2}}});
  EXPECT_TRUE(image->accepts(Positions::grid(100, 100, 1)));
  EXPECT_FALSE(image->accepts(Positions::grid(101, 2, 1)));
  EXPECT_FALSE(image->accepts(Positions::sequence(3)));
  EXPECT_FALSE(made({{"dimensions", std::int64_t{2}}, {"class_token", false}})->accepts(Positions::grid(3, 3, 1)));
}

TEST(Seqpe, OptionsThatDoNotFitAreErrors) {
  const auto fails = [](const Settings& options, const std::string& expected) {
    const auto result = position::make_encoding("seqpe", options, shape_of());
    EXPECT_TRUE(!result && result.error().describe().find(expected) != std::string::npos) << expected;
  };
  fails({{"base", std::int64_t{1}}}, "base");
  fails({{"base", std::int64_t{37}}}, "base");
  fails({{"digits", std::int64_t{0}}}, "digits");
  fails({{"digits", std::int64_t{40}}}, "digits");
  fails({{"dimensions", std::int64_t{3}}}, "dimensions");
  fails({{"temperature", 0.0}}, "temperature");
  fails({{"encoder_heads", std::int64_t{5}}}, "encoder_width");
  fails({{"encoder_width", std::int64_t{32768}}}, "too large");
  fails({{"integration", std::string("concat")}}, "sum, mul, bias or input");
  fails({{"places", std::string("none")}}, "places");
}

TEST(Seqpe, SettingsMakeTheSameEncodingAgain) {
  const auto first =
      made({{"dimensions", std::int64_t{2}}, {"places", std::string("per-dimension")}, {"base", std::int64_t{16}}});
  const auto again = position::make_encoding("seqpe", first->settings(), shape_of());
  ASSERT_TRUE(again) << again.error().describe();
  EXPECT_EQ((*again)->settings(), first->settings());
}

// Where places restart, (2, 3) and (3, 2) differ by the dimension's embedding alone.
TEST(Seqpe, PlacesThatRestartPerDimension) {
  const Settings options{{"dimensions", std::int64_t{2}}, {"places", std::string("per-dimension")}};
  const auto encoding = made(options);
  EXPECT_EQ(weight(*encoding, "encoder.pos_of_seqpe_embed.weight").size(0), 2);
  EXPECT_EQ(weight(*made({{"dimensions", std::int64_t{2}}}), "encoder.pos_of_seqpe_embed.weight").size(0), 4);
  const Positions pair{at::tensor({2.0, 3.0, 3.0, 2.0}).view({2, 2}).to(at::kDouble), 0};
  const at::Tensor table = encoding->begin(pair, 1).table;
  EXPECT_GT(test::deviation(table[0], table[1]), 1e-4);
}

TEST(Seqpe, TablesAreKeptButNeverStale) {
  const at::NoGradGuard no_gradients;
  const auto encoding = made({});
  const Positions positions = Positions::sequence(kLength);
  const at::Tensor first = encoding->begin(positions, 1).table;
  EXPECT_TRUE(encoding->begin(positions, 2).table.is_same(first));
  EXPECT_FALSE(encoding->begin(Positions::sequence(kLength, 1), 1).table.is_same(first));
  weight(*encoding, "encoder.out_proj.bias").add_(1.0);  // as an optimiser does
  EXPECT_CLOSE(encoding->begin(positions, 1).table, first + 1.0, 1e-5);
  for (const position::Parameter& parameter : encoding->parameters()) {
    *parameter.value = parameter.value->clone() * 0.0;  // as a loader does
  }
  EXPECT_EQ(encoding->begin(positions, 1).table.abs().max().item<double>(), 0.0);
}

TEST(Seqpe, GradientsPassTheKeptTables) {
  const auto encoding = made({});
  {
    const at::NoGradGuard no_gradients;
    encoding->begin(Positions::sequence(kLength), 1);
  }
  for (const position::Parameter& parameter : encoding->parameters()) {
    parameter.value->requires_grad_();
  }
  encoding->begin(Positions::sequence(kLength), 1).table.pow(2).sum().backward();
  EXPECT_GT(weight(*encoding, "encoder.token_of_seqpe_embed.weight").grad().abs().max().item<double>(), 0.0);
}

TEST(Seqpe, SeveralThreadsShareTheTables) {
  const auto encoding = made({});
  std::vector<at::Tensor> wanted;
  for (int start = 0; start < 6; ++start) {
    wanted.push_back(made({})->begin(Positions::sequence(kLength, start), 1).table);
  }
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      const at::NoGradGuard no_gradients;
      for (int step = 0; step < 60; ++step) {
        const int start = (step + thread) % 6;
        const at::Tensor table = encoding->begin(Positions::sequence(kLength, start), 1).table;
        wrong += test::deviation(table, wanted[static_cast<std::size_t>(start)]) < 1e-5 ? 0 : 1;
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(wrong.load(), 0);
}

TEST(Seqpe, LongTablesGoThroughInBlocks) {
  const at::NoGradGuard no_gradients;
  const auto encoding = made({});
  const at::Tensor whole = encoding->begin(Positions::sequence(4100), 1).table;
  EXPECT_CLOSE(whole.slice(0, 4090), encoding->begin(Positions::sequence(10, 4090), 1).table, 1e-5);
}

// What all keys share is no part of a soft-max: without it the weights are the same.
TEST(Seqpe, WhatNoSoftmaxSeesCanBeDropped) {
  for (const char* integration : {"bias", "sum"}) {
    SCOPED_TRACE(integration);
    const Positions positions = Positions::sequence(kLength);
    const auto encoding = made({{"integration", std::string(integration)}});
    weight(*encoding, "pe_qk.bias").slice(0, 32).add_(50);  // of e^k
    for (const position::Parameter& parameter : encoding->parameters()) {
      *parameter.value = parameter.value->to(at::kDouble);
    }
    const position::Projections projections{
        at::randn({1, 4, kLength, 8}, at::kDouble), at::randn({1, 4, kLength, 8}, at::kDouble), {}, {}};
    const auto prepared = [&] { return encoding->prepare(encoding->begin(positions, 1), 0, projections); };
    const auto logits = [&] { return encoding->score(prepared(), {0, {0, 4}, {0, kLength}, {0, kLength}}).logits; };
    const auto shared = [&] {
      const at::Tensor key = prepared().key;
      const at::Tensor own = key.size(-1) > 8 ? key.slice(-1, 8) : key - projections.key;
      return own.mean(-2).abs().max().item<double>();
    };
    const at::Tensor before = logits();
    EXPECT_GT(shared(), 40);
    encoding->drop_unseen(positions);
    EXPECT_LE(shared(), 1e-12);
    EXPECT_LE((at::softmax(before, -1) - at::softmax(logits(), -1)).abs().max().item<double>(), 1e-12);
  }
}

}  // namespace
}  // namespace locus

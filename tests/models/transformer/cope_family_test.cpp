// Checkpoints under the names of CoPE's authors, from folder to logits, against a forward pass written from the paper.
#include <algorithm>

#include "tests/models/transformer/plain_layers.h"

namespace locus::test {
namespace {

constexpr std::int64_t kLength = 11;
constexpr std::int64_t kVocabulary = 19;
constexpr std::int64_t kLayers = 2;
constexpr std::int64_t kHeads = 2;
constexpr std::int64_t kWidth = 12;
constexpr std::int64_t kPositions = 5;  // 0 … 4: later ones are clamped
constexpr double kEps = 1e-5;

struct Kind {
  bool own_keys = false;
  bool bias = false;
  bool values = false;
  bool scaled = true;
};

PlainWeights weights_of(const Kind& kind) {
  PlainWeights weights;
  weights.add("embed_toks.weight", {kVocabulary, kWidth}, 1.0);
  for (std::int64_t n = 0; n < kLayers; ++n) {
    const std::string layer = "core.layers." + std::to_string(n) + ".";
    for (const char* name : {"proj_query", "proj_key", "proj_val", "proj_out"}) {
      weights.linear(layer + "attn." + name, kWidth, kWidth, true);
    }
    if (kind.own_keys) {
      weights.linear(layer + "attn.proj_key_cope", kWidth, kWidth, kind.bias);
    }
    weights.add(layer + "attn.attn.pos_emb", {1, kWidth / kHeads, kPositions}, 1.0);
    weights.norm(layer + "attn_norm", kWidth);
    weights.linear(layer + "ff.fc1", 2 * kWidth, kWidth, true);
    weights.linear(layer + "ff.fc2", kWidth, 2 * kWidth, true);
    weights.norm(layer + "ff_norm", kWidth);
  }
  weights.norm("out_norm", kWidth);
  weights.linear("out_mod", kVocabulary, kWidth, false);
  return weights;
}

// (H, T, T) q_i·k_j/√D + z_i(p_ij), cell by cell: gates are added from key j up to the query itself.
at::Tensor scores(const at::Tensor& query, const at::Tensor& key, const at::Tensor& gate_key, const at::Tensor& table,
                  bool scaled) {
  at::Tensor logits = plain_dot(query, key);
  const at::Tensor gates = at::sigmoid(plain_dot(query, gate_key));
  const double factor = scaled ? 1 / std::sqrt(static_cast<double>(query.size(-1))) : 1.0;
  const at::Tensor asked = at::matmul(query, table) * factor;  // (H, T, positions)
  for (std::int64_t h = 0; h < kHeads; ++h) {
    for (std::int64_t i = 0; i < kLength; ++i) {
      double counted = 0;
      for (std::int64_t j = i; j >= 0; --j) {
        counted += gates[h][i][j].item<double>();
        const double position = std::min(counted, static_cast<double>(kPositions - 1));
        const auto below = static_cast<std::int64_t>(std::floor(position));
        const std::int64_t above = std::min(below + 1, kPositions - 1);
        const double part = position - static_cast<double>(below);
        logits[h][i][j] += asked[h][i][below] * (1 - part) + asked[h][i][above] * part;
      }
    }
  }
  return logits;
}

at::Tensor logits_by_hand(const PlainWeights& weights, const Kind& kind, const at::Tensor& ids) {
  at::Tensor x = weights["embed_toks.weight"].index_select(0, ids);
  for (std::int64_t n = 0; n < kLayers; ++n) {
    const std::string layer = "core.layers." + std::to_string(n) + ".";
    const at::Tensor y = weights.layer_norm(layer + "attn_norm", x, kEps);
    const auto heads = [&](const char* name) { return plain_heads(weights.apply(layer + "attn." + name, y), kHeads); };
    const at::Tensor gate_key = heads(kind.values ? "proj_val" : kind.own_keys ? "proj_key_cope" : "proj_key");
    const at::Tensor logits =
        scores(heads("proj_query"), heads("proj_key"), gate_key, weights[layer + "attn.attn.pos_emb"][0], kind.scaled);
    x = x + weights.apply(layer + "attn.proj_out", plain_attend(logits, heads("proj_val"), causal));
    const at::Tensor z = weights.layer_norm(layer + "ff_norm", x, kEps);
    x = x + weights.apply(layer + "ff.fc2", weights.apply(layer + "ff.fc1", z).clamp_min(0));
  }
  return weights.apply("out_mod", weights.layer_norm("out_norm", x, kEps));
}

void expect_family(const Kind& kind, const std::string& fields) {
  const PlainWeights weights = weights_of(kind);
  const PlainFolder folder(weights, R"({"pos_emb": "cope", "nlayers": 2, "nheads": 2, "nvocab": 19, "hid_sz": 12,
    "ff_sz": 24, "block_size": 32)" + fields +
                                        "}");
  const auto model = folder.open("cope");
  ASSERT_TRUE(model);
  EXPECT_TRUE(model->info().has_gates());
  const at::Tensor ids = at::arange(kLength, at::kLong) * 7 % kVocabulary;
  EXPECT_CLOSE(logits_of(*model, ids), logits_by_hand(weights, kind, ids), 1e-4) << fields;
}

TEST(CopeFamily, GatesFromKeysAndValues) {
  expect_family({}, "");
  expect_family({.scaled = false}, R"(, "cope_nodiv": true)");
  expect_family({.values = true}, R"(, "cope_val_gates": true)");
}

TEST(CopeFamily, GatesFromSeparateKeysWithAndWithoutBias) {
  expect_family({.own_keys = true}, R"(, "cope_sep_key": true)");
  expect_family({.own_keys = true, .bias = true}, R"(, "cope_sep_key": true)");
}

}  // namespace
}  // namespace locus::test

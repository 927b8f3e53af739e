// Decoder families from checkpoint folder to logits, against forward passes written from the families' definitions.
#include "tests/models/transformer/plain_layers.h"

namespace locus::test {
namespace {

constexpr double kTolerance = 1e-4;
constexpr std::int64_t kDecoderLength = 13;
constexpr std::int64_t kDecoderVocabulary = 29;
constexpr std::int64_t kDecoderLayers = 2;
constexpr std::int64_t kDecoderWidth = 24;
constexpr std::int64_t kDecoderInner = 40;

at::Tensor some_ids() {
  at::manual_seed(5);
  return at::randint(kDecoderVocabulary, {kDecoderLength}, at::kLong);
}

// ---- Mistral and Qwen2

constexpr std::int64_t kDecoderHeads = 4;
constexpr std::int64_t kKvHeads = 2;
constexpr std::int64_t kHeadWidth = 6;

struct LlamaKind {
  bool qkv_bias = false;
  bool tied = false;
  double base = 10000;
  std::int64_t window = 0;
  std::int64_t window_from_layer = 0;
};

PlainWeights llama_weights(const LlamaKind& kind) {
  PlainWeights weights;
  weights.add("model.embed_tokens.weight", {kDecoderVocabulary, kDecoderWidth}, 1.0);
  for (std::int64_t n = 0; n < kDecoderLayers; ++n) {
    const std::string layer = "model.layers." + std::to_string(n) + ".";
    weights.norm(layer + "input_layernorm", kDecoderWidth, ".weight", "");
    weights.linear(layer + "self_attn.q_proj", kDecoderHeads * kHeadWidth, kDecoderWidth, kind.qkv_bias);
    weights.linear(layer + "self_attn.k_proj", kKvHeads * kHeadWidth, kDecoderWidth, kind.qkv_bias);
    weights.linear(layer + "self_attn.v_proj", kKvHeads * kHeadWidth, kDecoderWidth, kind.qkv_bias);
    weights.linear(layer + "self_attn.o_proj", kDecoderWidth, kDecoderHeads * kHeadWidth, false);
    weights.norm(layer + "post_attention_layernorm", kDecoderWidth, ".weight", "");
    weights.linear(layer + "mlp.gate_proj", kDecoderInner, kDecoderWidth, false);
    weights.linear(layer + "mlp.up_proj", kDecoderInner, kDecoderWidth, false);
    weights.linear(layer + "mlp.down_proj", kDecoderWidth, kDecoderInner, false);
  }
  weights.norm("model.norm", kDecoderWidth, ".weight", "");
  if (!kind.tied) {
    weights.linear("lm_head", kDecoderVocabulary, kDecoderWidth, false);
  }
  return weights;
}

// Channels d and d + D/2 turn together by i·base^(−2d/D).
at::Tensor half_rotated(const at::Tensor& x, double base) {
  at::Tensor turned = x.clone();
  const std::int64_t half = x.size(-1) / 2;
  for (std::int64_t i = 0; i < x.size(1); ++i) {
    for (std::int64_t d = 0; d < half; ++d) {
      const double angle = static_cast<double>(i) * std::pow(base, -static_cast<double>(d) / static_cast<double>(half));
      const at::Tensor a = x.select(1, i).select(1, d);
      const at::Tensor b = x.select(1, i).select(1, d + half);
      turned.select(1, i).select(1, d).copy_(a * std::cos(angle) - b * std::sin(angle));
      turned.select(1, i).select(1, d + half).copy_(b * std::cos(angle) + a * std::sin(angle));
    }
  }
  return turned;
}

at::Tensor llama_logits(const PlainWeights& weights, const LlamaKind& kind, const at::Tensor& ids) {
  constexpr double kDecoderEps = 1e-5;
  at::Tensor x = weights["model.embed_tokens.weight"].index_select(0, ids);
  for (std::int64_t n = 0; n < kDecoderLayers; ++n) {
    const std::string layer = "model.layers." + std::to_string(n) + ".";
    const at::Tensor y = weights.rms_norm(layer + "input_layernorm", x, kDecoderEps);
    const auto heads = [&](const char* name, std::int64_t count) {
      return plain_heads(weights.apply(layer + "self_attn." + name, y), count);
    };
    const at::Tensor query = half_rotated(heads("q_proj", kDecoderHeads), kind.base);
    const at::Tensor key = half_rotated(heads("k_proj", kKvHeads), kind.base);
    const at::Tensor shared = at::tensor({0, 0, 1, 1}, at::kLong);  // the key head of each query head
    const std::int64_t window = n >= kind.window_from_layer ? kind.window : 0;
    const at::Tensor mixed =
        plain_attend(plain_dot(query, key.index_select(0, shared)), heads("v_proj", kKvHeads).index_select(0, shared),
                     [&](std::int64_t i, std::int64_t j) { return j <= i && (window == 0 || i - j < window); });
    x = x + weights.apply(layer + "self_attn.o_proj", mixed);
    const at::Tensor z = weights.rms_norm(layer + "post_attention_layernorm", x, kDecoderEps);
    const at::Tensor gate = weights.apply(layer + "mlp.gate_proj", z);
    const at::Tensor inner = gate * at::sigmoid(gate) * weights.apply(layer + "mlp.up_proj", z);
    x = x + weights.apply(layer + "mlp.down_proj", inner);
  }
  x = weights.rms_norm("model.norm", x, kDecoderEps);
  return at::matmul(x, weights[kind.tied ? "model.embed_tokens.weight" : "lm_head.weight"].t());
}

void expect_llama_kind(const std::string& family, const LlamaKind& kind, const std::string& fields) {
  const PlainWeights weights = llama_weights(kind);
  const PlainFolder folder(weights, R"({"model_type": ")" + family + R"(", "vocab_size": 29, "hidden_size": 24,
    "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 40,
    "rms_norm_eps": 1e-5, "hidden_act": "silu", "max_position_embeddings": 64)" +
                                        fields + "}");
  const auto model = folder.open(family);
  ASSERT_TRUE(model);
  const at::Tensor ids = some_ids();
  EXPECT_CLOSE(logits_of(*model, ids), llama_logits(weights, kind, ids), kTolerance);
}

TEST(DecoderFamilies, MistralSeesItsWindow) {
  expect_llama_kind("mistral", {.window = 4}, R"(, "sliding_window": 4, "rope_theta": 10000.0)");
  expect_llama_kind("mistral", {}, R"(, "sliding_window": null)");
}

TEST(DecoderFamilies, Qwen2HasBiasesATiedHeadAndAWindowInItsLaterLayers) {
  const LlamaKind kind{.qkv_bias = true, .tied = true, .base = 1e6, .window = 3, .window_from_layer = 1};
  expect_llama_kind("qwen2", kind, R"(, "rope_theta": 1000000.0, "tie_word_embeddings": true,
    "use_sliding_window": true, "sliding_window": 3, "max_window_layers": 1)");
  expect_llama_kind("qwen2", {.qkv_bias = true}, R"(, "rope_theta": 10000.0, "use_sliding_window": false,
    "sliding_window": 3, "max_window_layers": 1)");
}

// ---- BLOOM

constexpr std::int64_t kBloomHeads = 3;  // no power of two: slopes 2⁻⁴, 2⁻⁸, then 2⁻² of the series for four

at::Tensor bloom_logits(const PlainWeights& weights, const at::Tensor& ids, bool residual_from_norm) {
  constexpr double kDecoderEps = 1e-5;
  const at::Tensor slopes = at::tensor({1.0 / 16, 1.0 / 256, 1.0 / 4}, at::kDouble).reshape({kBloomHeads, 1, 1});
  const at::Tensor position = at::arange(kDecoderLength, at::kDouble);
  const at::Tensor embedding = weights["transformer.word_embeddings.weight"];
  at::Tensor x =
      weights.layer_norm("transformer.word_embeddings_layernorm", embedding.index_select(0, ids), kDecoderEps);
  for (std::int64_t n = 0; n < kDecoderLayers; ++n) {
    const std::string layer = "transformer.h." + std::to_string(n) + ".";
    const at::Tensor y = weights.layer_norm(layer + "input_layernorm", x, kDecoderEps);
    // Rows of the fused projection: head 0's q, k, v, head 1's q, k, v, …
    const at::Tensor all = plain_heads(weights.apply(layer + "self_attention.query_key_value", y), 3 * kBloomHeads);
    const auto part = [&](std::int64_t which) { return all.slice(0, which, {}, 3); };
    const at::Tensor mixed = plain_attend(plain_dot(part(0), part(1)) + slopes * position, part(2), causal);
    x = (residual_from_norm ? y : x) + weights.apply(layer + "self_attention.dense", mixed);
    const at::Tensor z = weights.layer_norm(layer + "post_attention_layernorm", x, kDecoderEps);
    const at::Tensor inner = plain_gelu_tanh(weights.apply(layer + "mlp.dense_h_to_4h", z));
    x = (residual_from_norm ? z : x) + weights.apply(layer + "mlp.dense_4h_to_h", inner);
  }
  return at::matmul(weights.layer_norm("transformer.ln_f", x, kDecoderEps), embedding.t());
}

TEST(DecoderFamilies, BloomInterleavesHeadsAndNormsItsEmbedding) {
  PlainWeights weights;
  weights.add("transformer.word_embeddings.weight", {kDecoderVocabulary, kDecoderWidth}, 1.0);
  weights.norm("transformer.word_embeddings_layernorm", kDecoderWidth);
  for (std::int64_t n = 0; n < kDecoderLayers; ++n) {
    const std::string layer = "transformer.h." + std::to_string(n) + ".";
    weights.norm(layer + "input_layernorm", kDecoderWidth);
    weights.linear(layer + "self_attention.query_key_value", 3 * kDecoderWidth, kDecoderWidth, true);
    weights.linear(layer + "self_attention.dense", kDecoderWidth, kDecoderWidth, true);
    weights.norm(layer + "post_attention_layernorm", kDecoderWidth);
    weights.linear(layer + "mlp.dense_h_to_4h", 4 * kDecoderWidth, kDecoderWidth, true);
    weights.linear(layer + "mlp.dense_4h_to_h", kDecoderWidth, 4 * kDecoderWidth, true);
  }
  weights.norm("transformer.ln_f", kDecoderWidth);
  const at::Tensor ids = some_ids();
  for (const bool residual_from_norm : {false, true}) {
    const PlainFolder folder(weights, std::string(R"({"model_type": "bloom", "vocab_size": 29, "hidden_size": 24,
      "n_layer": 2, "n_head": 3, "apply_residual_connection_post_layernorm": )") +
                                          (residual_from_norm ? "true}" : "false}"));
    const auto model = folder.open("bloom");
    ASSERT_TRUE(model);
    EXPECT_CLOSE(logits_of(*model, ids), bloom_logits(weights, ids, residual_from_norm), kTolerance);
  }
}

}  // namespace
}  // namespace locus::test

// Encoder families from checkpoint folder to logits, against forward passes written from the families' definitions.
#include "tests/models/transformer/plain_layers.h"

namespace locus::test {
namespace {

constexpr double kEncoderFamiliesTolerance = 1e-4;
constexpr std::int64_t kEncoderLayers = 2;
constexpr std::int64_t kEncoderHeads = 3;
constexpr std::int64_t kEncoderWidth = 24;
constexpr std::int64_t kEncoderInner = 40;
constexpr double kEncoderEps = 1e-6;

bool everywhere(std::int64_t /*i*/, std::int64_t /*j*/) {
  return true;
}

// Self-attention of both: query, key, value below `name`, no mask.
at::Tensor attended(const PlainWeights& weights, const std::string& name, const at::Tensor& x) {
  const auto heads = [&](const char* part) { return plain_heads(weights.apply(name + part, x), kEncoderHeads); };
  return plain_attend(plain_dot(heads("query"), heads("key")), heads("value"), everywhere);
}

// ---- BERT

// The names of its norms' parameters.
struct NormNames {
  std::string weight;
  std::string bias;
};

constexpr std::int64_t kEncoderVocabulary = 31;
constexpr std::int64_t kLongest = 20;

PlainWeights bert_weights(const NormNames& names) {
  PlainWeights weights;
  const auto norm = [&](const std::string& name) { weights.norm(name, kEncoderWidth, names.weight, names.bias); };
  weights.add("bert.embeddings.word_embeddings.weight", {kEncoderVocabulary, kEncoderWidth}, 1.0);
  weights.add("bert.embeddings.position_embeddings.weight", {kLongest, kEncoderWidth}, 1.0);
  weights.add("bert.embeddings.token_type_embeddings.weight", {2, kEncoderWidth}, 1.0);
  norm("bert.embeddings.LayerNorm");
  for (std::int64_t n = 0; n < kEncoderLayers; ++n) {
    const std::string layer = "bert.encoder.layer." + std::to_string(n) + ".";
    for (const char* part : {"query", "key", "value"}) {
      weights.linear(layer + "attention.self." + part, kEncoderWidth, kEncoderWidth, true);
    }
    weights.linear(layer + "attention.output.dense", kEncoderWidth, kEncoderWidth, true);
    norm(layer + "attention.output.LayerNorm");
    weights.linear(layer + "intermediate.dense", kEncoderInner, kEncoderWidth, true);
    weights.linear(layer + "output.dense", kEncoderWidth, kEncoderInner, true);
    norm(layer + "output.LayerNorm");
  }
  weights.linear("cls.predictions.transform.dense", kEncoderWidth, kEncoderWidth, true);
  norm("cls.predictions.transform.LayerNorm");
  weights.add("cls.predictions.bias", {kEncoderVocabulary});
  return weights;
}

at::Tensor bert_logits(const PlainWeights& weights, const NormNames& names, const at::Tensor& ids) {
  const auto norm = [&](const std::string& name, const at::Tensor& x) {
    return weights.layer_norm(name, x, kEncoderEps, names.weight, names.bias);
  };
  const at::Tensor words = weights["bert.embeddings.word_embeddings.weight"];
  at::Tensor x = words.index_select(0, ids) +
                 weights["bert.embeddings.position_embeddings.weight"].slice(0, 0, ids.size(0)) +
                 weights["bert.embeddings.token_type_embeddings.weight"][0];
  x = norm("bert.embeddings.LayerNorm", x);
  for (std::int64_t n = 0; n < kEncoderLayers; ++n) {
    const std::string layer = "bert.encoder.layer." + std::to_string(n) + ".";
    const at::Tensor mixed = attended(weights, layer + "attention.self.", x);
    x = norm(layer + "attention.output.LayerNorm", x + weights.apply(layer + "attention.output.dense", mixed));
    const at::Tensor inner = plain_gelu(weights.apply(layer + "intermediate.dense", x));
    x = norm(layer + "output.LayerNorm", x + weights.apply(layer + "output.dense", inner));
  }
  x = plain_gelu(weights.apply("cls.predictions.transform.dense", x));
  return at::matmul(norm("cls.predictions.transform.LayerNorm", x), words.t()) + weights["cls.predictions.bias"];
}

TEST(EncoderFamilies, BertUnderNewAndOldNormNames) {
  at::manual_seed(5);
  const at::Tensor ids = at::randint(kEncoderVocabulary, {12}, at::kLong);
  for (const NormNames& names : {NormNames{".weight", ".bias"}, NormNames{".gamma", ".beta"}}) {
    const PlainWeights weights = bert_weights(names);
    const PlainFolder folder(weights, R"({"model_type": "bert", "vocab_size": 31, "hidden_size": 24,
      "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 40, "hidden_act": "gelu",
      "layer_norm_eps": 1e-6, "max_position_embeddings": 20, "type_vocab_size": 2})");
    const auto model = folder.open("bert");
    ASSERT_TRUE(model);
    EXPECT_FALSE(model->info().causal);
    EXPECT_CLOSE(logits_of(*model, ids), bert_logits(weights, names, ids), kEncoderFamiliesTolerance) << names.weight;
  }
}

// ---- ViT

constexpr std::int64_t kClasses = 7;
constexpr std::int64_t kPatch = 4;
constexpr std::int64_t kSide = 3;  // patches

// (3, 12, 12) -> (9, 3·4·4): patches row by row, each channel by channel.
at::Tensor patches_of(const at::Tensor& pixels) {
  std::vector<at::Tensor> patches;
  for (std::int64_t row = 0; row < kSide; ++row) {
    for (std::int64_t column = 0; column < kSide; ++column) {
      patches.push_back(
          pixels.narrow(1, row * kPatch, kPatch).narrow(2, column * kPatch, kPatch).to(at::kDouble).flatten());
    }
  }
  return at::stack(patches);
}

at::Tensor vit_logits(const PlainWeights& weights, const at::Tensor& pixels) {
  const at::Tensor patches =
      at::matmul(patches_of(pixels), weights["vit.embeddings.patch_embeddings.projection.weight"].flatten(1).t()) +
      weights["vit.embeddings.patch_embeddings.projection.bias"];
  at::Tensor x =
      at::cat({weights["vit.embeddings.cls_token"][0], patches}) + weights["vit.embeddings.position_embeddings"][0];
  for (std::int64_t n = 0; n < kEncoderLayers; ++n) {
    const std::string layer = "vit.encoder.layer." + std::to_string(n) + ".";
    const at::Tensor y = weights.layer_norm(layer + "layernorm_before", x, kEncoderEps);
    const at::Tensor mixed = attended(weights, layer + "attention.attention.", y);
    x = x + weights.apply(layer + "attention.output.dense", mixed);
    const at::Tensor z = weights.layer_norm(layer + "layernorm_after", x, kEncoderEps);
    x = x + weights.apply(layer + "output.dense", plain_gelu(weights.apply(layer + "intermediate.dense", z)));
  }
  return weights.apply("classifier", weights.layer_norm("vit.layernorm", x, kEncoderEps)[0]);
}

TEST(EncoderFamilies, VitClassifiesByItsClassToken) {
  PlainWeights weights;
  weights.add("vit.embeddings.patch_embeddings.projection.weight", {kEncoderWidth, 3, kPatch, kPatch});
  weights.add("vit.embeddings.patch_embeddings.projection.bias", {kEncoderWidth});
  weights.add("vit.embeddings.cls_token", {1, 1, kEncoderWidth}, 1.0);
  weights.add("vit.embeddings.position_embeddings", {1, 1 + kSide * kSide, kEncoderWidth}, 1.0);
  for (std::int64_t n = 0; n < kEncoderLayers; ++n) {
    const std::string layer = "vit.encoder.layer." + std::to_string(n) + ".";
    weights.norm(layer + "layernorm_before", kEncoderWidth);
    for (const char* part : {"query", "key", "value"}) {
      weights.linear(layer + "attention.attention." + part, kEncoderWidth, kEncoderWidth, true);
    }
    weights.linear(layer + "attention.output.dense", kEncoderWidth, kEncoderWidth, true);
    weights.norm(layer + "layernorm_after", kEncoderWidth);
    weights.linear(layer + "intermediate.dense", kEncoderInner, kEncoderWidth, true);
    weights.linear(layer + "output.dense", kEncoderWidth, kEncoderInner, true);
  }
  weights.norm("vit.layernorm", kEncoderWidth);
  weights.linear("classifier", kClasses, kEncoderWidth, true);
  const PlainFolder folder(weights, R"({"model_type": "vit", "hidden_size": 24, "num_hidden_layers": 2,
    "num_attention_heads": 3, "intermediate_size": 40, "hidden_act": "gelu", "layer_norm_eps": 1e-6,
    "image_size": 12, "patch_size": 4, "num_channels": 3, "qkv_bias": true,
    "id2label": {"0": "a", "1": "b", "2": "c", "3": "d", "4": "e", "5": "f", "6": "g"}})");
  const auto model = folder.open("vit");
  ASSERT_TRUE(model);
  EXPECT_TRUE(model->info().image);
  const at::Tensor pixels = at::randn({3, kSide * kPatch, kSide * kPatch});
  EXPECT_CLOSE(logits_of_pixels(*model, pixels), vit_logits(weights, pixels), kEncoderFamiliesTolerance);
}

}  // namespace
}  // namespace locus::test

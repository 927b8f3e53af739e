#include "tests/support/layout_parts.h"

#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "tests/support/pickle_writer.h"

namespace locus::test {

namespace {

namespace fs = std::filesystem;
using Writer = formats::PickleWriter;

constexpr std::int64_t kLayers = 2;

// Query, key and value below `self`, the rest of an encoder's layer below `layer`.
void encoder_layer(Weights& weights, const std::string& layer, const std::string& self) {
  for (const char* part : {"query", "key", "value"}) {
    weights.linear(layer + self + part, kWidth, kWidth);
  }
  weights.linear(layer + "attention.output.dense", kWidth, kWidth);
  weights.linear(layer + "intermediate.dense", kInner, kWidth);
  weights.linear(layer + "output.dense", kWidth, kInner);
}

}  // namespace

void write_text(const fs::path& file, const std::string& text) {
  std::ofstream stream(file, std::ios::binary);
  stream << text;
  if (!stream) {
    throw std::runtime_error("cannot write " + file.string());
  }
}

Tensors bloom_weights() {
  Weights weights;
  weights.add("transformer.word_embeddings.weight", {29, kWidth}, 1.0);
  weights.norm("transformer.word_embeddings_layernorm", kWidth);
  for (std::int64_t n = 0; n < kLayers; ++n) {
    const std::string layer = "transformer.h." + std::to_string(n) + ".";
    weights.norm(layer + "input_layernorm", kWidth);
    weights.linear(layer + "self_attention.query_key_value", 3 * kWidth, kWidth);
    weights.linear(layer + "self_attention.dense", kWidth, kWidth);
    weights.norm(layer + "post_attention_layernorm", kWidth);
    weights.linear(layer + "mlp.dense_h_to_4h", 4 * kWidth, kWidth);
    weights.linear(layer + "mlp.dense_4h_to_h", kWidth, 4 * kWidth);
  }
  weights.norm("transformer.ln_f", kWidth);
  return weights.tensors();
}

Tensors bert_weights() {
  Weights weights;
  weights.add("bert.embeddings.word_embeddings.weight", {31, kWidth}, 1.0);
  weights.add("bert.embeddings.position_embeddings.weight", {20, kWidth}, 1.0);
  weights.add("bert.embeddings.token_type_embeddings.weight", {2, kWidth}, 1.0);
  weights.norm("bert.embeddings.LayerNorm", kWidth);
  for (std::int64_t n = 0; n < kLayers; ++n) {
    const std::string layer = "bert.encoder.layer." + std::to_string(n) + ".";
    encoder_layer(weights, layer, "attention.self.");
    weights.norm(layer + "attention.output.LayerNorm", kWidth);
    weights.norm(layer + "output.LayerNorm", kWidth);
  }
  weights.linear("cls.predictions.transform.dense", kWidth, kWidth);
  weights.norm("cls.predictions.transform.LayerNorm", kWidth);
  weights.add("cls.predictions.bias", {31});
  return weights.tensors();
}

Tensors vit_weights() {
  Weights weights;
  weights.add("vit.embeddings.patch_embeddings.projection.weight", {kWidth, 3, 8, 8}, 0.05);
  weights.add("vit.embeddings.patch_embeddings.projection.bias", {kWidth});
  weights.add("vit.embeddings.cls_token", {1, 1, kWidth}, 1.0);
  weights.add("vit.embeddings.position_embeddings", {1, 1 + 4 * 4, kWidth}, 1.0);
  for (std::int64_t n = 0; n < kLayers; ++n) {
    const std::string layer = "vit.encoder.layer." + std::to_string(n) + ".";
    encoder_layer(weights, layer, "attention.attention.");
    weights.norm(layer + "layernorm_before", kWidth);
    weights.norm(layer + "layernorm_after", kWidth);
  }
  weights.norm("vit.layernorm", kWidth);
  weights.linear("classifier", 7, kWidth);
  return weights.tensors();
}

Tensors cope_weights() {
  Weights weights;
  weights.add("embed_toks.weight", {19, kWidth}, 1.0);
  for (std::int64_t n = 0; n < kLayers; ++n) {
    const std::string layer = "core.layers." + std::to_string(n) + ".";
    for (const char* part : {"proj_query", "proj_key", "proj_val", "proj_out"}) {
      weights.linear(layer + "attn." + part, kWidth, kWidth);
    }
    weights.linear(layer + "attn.proj_key_cope", kWidth, kWidth);
    weights.add(layer + "attn.attn.pos_emb", {1, kWidth / 2, 6}, 1.0);
    weights.norm(layer + "attn_norm", kWidth);
    weights.linear(layer + "ff.fc1", kInner, kWidth);
    weights.linear(layer + "ff.fc2", kWidth, kInner);
    weights.norm(layer + "ff_norm", kWidth);
  }
  weights.norm("out_norm", kWidth);
  weights.linear("out_mod", 19, kWidth, false);
  return weights.tensors();
}

void write_torch(const fs::path& file, const std::string& before, const std::map<std::string, Tensors>& groups,
                 const std::string& after) {
  Writer pickle;
  std::vector<formats::ZipRecord> records{{"archive/data.pkl", ""}};
  pickle.begin_dict().raw(before);
  for (const auto& [group, tensors] : groups) {
    pickle.text(group).begin_dict();
    for (const auto& [name, value] : tensors) {
      const at::Tensor tensor = value.contiguous();
      const std::string key = std::to_string(records.size() - 1);
      pickle.text(name).tensor({"FloatStorage", key, tensor.numel(), 0, tensor.sizes().vec(), tensor.strides().vec()});
      records.push_back({"archive/data/" + key, {static_cast<const char*>(tensor.data_ptr()), tensor.nbytes()}});
    }
    pickle.end_dict();
  }
  records.front().data = pickle.raw(after).end_dict().done();
  write_text(file, formats::zip_of(records));
}

void write_sharded(const fs::path& folder, const Tensors& tensors) {
  nlohmann::json index = {{"metadata", nlohmann::json::object()}, {"weight_map", nlohmann::json::object()}};
  Tensors parts[2];
  for (const auto& [name, tensor] : tensors) {
    const std::size_t part = index["weight_map"].size() % 2;
    parts[part][name] = tensor;
    index["weight_map"][name] = "model-0000" + std::to_string(part + 1) + "-of-00002.safetensors";
  }
  write_tensors(folder / "model-00001-of-00002.safetensors", parts[0]);
  write_tensors(folder / "model-00002-of-00002.safetensors", parts[1]);
  write_text(folder / "model.safetensors.index.json", index.dump());
}

}  // namespace locus::test

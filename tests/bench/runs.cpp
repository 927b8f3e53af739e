#include "tests/bench/runs.h"

#include <span>
#include <utility>
#include <vector>

#include "core/base/temporary_folder.h"
#include "core/position/list.h"
#include "models/formats/tensor_source.h"

namespace locus::bench {

transformer::Spec gpt2_small(std::int64_t length, bool quick) {
  transformer::Spec spec;
  spec.vocabulary = quick ? 5000 : 50257;
  spec.width = 768;
  spec.norm = transformer::Norm::kLayer;
  spec.encodings = {{"learned", {}}};
  transformer::LayerSpec layer;
  layer.attention.heads = layer.attention.kv_heads = 12;
  layer.attention.head_width = 64;
  layer.attention.set_qkv_bias(true);
  layer.attention.output_bias = true;
  layer.feed_forward = {4 * spec.width, transformer::Activation::kGeluTanh, false, true};
  spec.repeat(layer, quick ? 2 : 12);
  spec.trained_length = length;
  return spec;
}

transformer::Spec billion_llama(bool quick, transformer::QkvLayout qkv) {
  transformer::Spec spec;
  spec.vocabulary = quick ? 1024 : 128256;
  spec.width = quick ? 256 : 2048;
  spec.tied_head = true;
  spec.encodings = {{"rope", {}}};
  transformer::LayerSpec layer;
  layer.attention.heads = quick ? 4 : 32;
  layer.attention.kv_heads = quick ? 2 : 8;
  layer.attention.head_width = 64;
  layer.attention.qkv = qkv;
  layer.feed_forward = {4 * spec.width, transformer::Activation::kSilu, true, false};
  spec.repeat(layer, quick ? 2 : 16);
  spec.trained_length = 2048;
  return spec;
}

at::Tensor random_ids(const transformer::Transformer& model, std::int64_t length) {
  return at::randint(model.spec().vocabulary, {1, length}, at::kLong);
}

Status observe_random(const transformer::Transformer& model, std::int64_t length) {
  LOCUS_TRY(const transformer::Observation seen,
            model.observe({random_ids(model, length), {}, model.positions(length)}));
  return seen.logits.defined() ? Status() : internal("a forward pass without logits");
}

Result<transformer::ReusedTokens> begin_run(const transformer::Transformer& model, std::int64_t length) {
  LOCUS_TRY(transformer::Observation whole,
            model.observe({random_ids(model, length), {}, model.positions(length)}, {.values = true}));
  return transformer::ReusedTokens{std::move(whole.layers), length, whole.rows};
}

Status append_token(const transformer::Transformer& model, transformer::ReusedTokens& reused) {
  const std::int64_t length = reused.tokens + 1;
  LOCUS_TRY(transformer::Observation longer, model.observe({random_ids(model, length), {}, model.positions(length)},
                                                           {.values = true, .reused_tokens = &reused}));
  if (longer.reused != reused.tokens) {
    return internal("an appended token that ran everything again");
  }
  reused = {std::move(longer.layers), length, longer.rows};
  return {};
}

Result<std::shared_ptr<const attention::ScoreField>> random_heads(const std::string& encoding, std::int64_t heads,
                                                                  std::int64_t length) {
  const at::NoGradGuard no_grad;
  position::ModelShape shape;
  shape.heads = shape.kv_heads = heads;
  shape.head_width = kBenchWidth;
  shape.width = heads * kBenchWidth;
  shape.trained_length = length;
  LOCUS_TRY(auto made, position::make_encoding(encoding, {}, shape));
  for (const position::Parameter& parameter : made->parameters()) {
    parameter.value->normal_(0, 0.3);
  }
  const std::shared_ptr<const position::PositionEncoding> shared = std::move(made);
  const at::Tensor query = at::randn({1, heads, length, kBenchWidth});
  const at::Tensor key = at::randn({1, heads, length, kBenchWidth});
  const at::Tensor hidden = key.transpose(1, 2).flatten(2);
  const attention::Mask mask{true, 0};
  auto scores = attention::ComputedScores::unsummed(
      shared, 0, shared->prepare(shared->begin(position::Positions::sequence(length), 1), 0, {query, key, key, hidden}),
      mask);
  if (scores == nullptr) {
    return internal("encoding " + encoding + " has no fused scores");
  }
  return std::make_shared<const attention::ScoreField>(std::move(scores), mask);
}

Status with_trace_file(const std::string& encoding, std::int64_t length,
                       const std::function<Status(const std::filesystem::path&)>& measure) {
  LOCUS_TRY(const TemporaryFolder folder, TemporaryFolder::make());
  const std::filesystem::path path = folder.path() / "trace.safetensors";
  std::vector<formats::OutputTensor> tensors;
  std::vector<at::Tensor> kept;
  for (const char* name : {"layers.0.q", "layers.0.k"}) {
    kept.push_back(at::randn({1, length, kBenchWidth}));
    tensors.push_back(
        {name, formats::DType::kF32, kept.back().sizes().vec(),
         std::as_bytes(std::span(kept.back().data_ptr<float>(), static_cast<std::size_t>(kept.back().numel())))});
  }
  LOCUS_CHECK(formats::write_safetensors(
      path, tensors,
      {{"locus.format", "trace/1"}, {"encoding", R"({"name": ")" + encoding + R"("})"}, {"causal", "true"}}));
  return measure(path);
}

}  // namespace locus::bench

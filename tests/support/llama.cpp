#include "tests/support/llama.h"

#include <ATen/CPUGeneratorImpl.h>

#include <limits>

namespace locus::test {
namespace {

at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight) {
  return x * at::rsqrt(x.pow(2).mean(-1, true) + 1e-5) * weight;
}

at::Tensor by_head(const at::Tensor& x, std::int64_t heads) {
  return x.unflatten(-1, {heads, -1}).transpose(1, 2);
}

}  // namespace

LlamaRun run_llama(const Weights& weights, const position::PositionEncoding& encoding, const at::Tensor& ids,
                   const position::Positions& positions) {
  return run_llama(weights, encoding, ids, encoding.begin(positions, ids.size(0)));
}

LlamaRun run_llama(const Weights& weights, const position::PositionEncoding& encoding, const at::Tensor& ids,
                   position::State state, const at::Tensor& hidden) {
  const position::ModelShape& shape = encoding.shape();
  const std::int64_t length = ids.size(1);
  const at::Tensor all = at::ones({length, length}, at::kBool);
  const at::Tensor mask = hidden.defined() ? hidden : (shape.causal ? all.triu(1) : all.logical_not());
  LlamaRun run;
  at::Tensor x = at::embedding(weights.at("model.embed_tokens.weight"), ids);
  for (std::int64_t index = 0; index < shape.layers; ++index) {
    const std::string prefix = "model.layers." + std::to_string(index) + ".";
    const auto weight = [&](const std::string& name) { return weights.at(prefix + name + ".weight"); };
    LlamaLayer layer;
    layer.entering = state;
    position::Projections projections;
    projections.hidden = rms_norm(x, weight("input_layernorm"));
    projections.query = by_head(at::linear(projections.hidden, weight("self_attn.q_proj")), shape.heads);
    projections.key = by_head(at::linear(projections.hidden, weight("self_attn.k_proj")), shape.heads);
    projections.value = by_head(at::linear(projections.hidden, weight("self_attn.v_proj")), shape.heads);
    const position::Prepared prepared = encoding.prepare(state, index, projections);
    const position::Tile whole{index, {0, shape.heads}, {0, length}, {0, length}};
    const at::Tensor logits = encoding.score(prepared, whole).logits;
    layer.attention = at::softmax(logits.masked_fill(mask, -std::numeric_limits<double>::infinity()), -1);
    const at::Tensor mean = at::matmul(layer.attention, projections.value).transpose(1, 2).flatten(2);
    layer.attention_output = at::linear(mean, weight("self_attn.o_proj"));
    x = x + layer.attention_output;
    const at::Tensor values = encoding.state_values(state, index);
    if (values.defined()) {
      layer.mean_state = at::matmul(layer.attention, values);
      encoding.after_attention(state, index, {layer.mean_state, values, &prepared, {0, length}, x});
    }
    const at::Tensor y = rms_norm(x, weight("post_attention_layernorm"));
    const at::Tensor inner = at::silu(at::linear(y, weight("mlp.gate_proj"))) * at::linear(y, weight("mlp.up_proj"));
    layer.feed_forward = at::linear(inner, weight("mlp.down_proj"));
    encoding.after_feed_forward(state, index, layer.feed_forward);
    x = x + layer.feed_forward;
    layer.hidden = x;
    layer.leaving = state;
    run.layers.push_back(std::move(layer));
  }
  run.logits = at::linear(rms_norm(x, weights.at("model.norm.weight")), weights.at("lm_head.weight"));
  return run;
}

Weights random_llama(const position::ModelShape& shape, std::uint64_t seed) {
  at::Generator generator = at::detail::createCPUGenerator(seed);
  const auto normal = [&](std::int64_t rows, std::int64_t columns) {
    return at::randn({rows, columns}, generator) * (1.5 / std::sqrt(static_cast<double>(columns)));
  };
  const std::int64_t width = shape.width;
  const std::int64_t inner = width * 3 / 2;
  Weights weights{{"model.embed_tokens.weight", at::randn({50, width}, generator)},
                  {"model.norm.weight", at::ones({width})},
                  {"lm_head.weight", normal(50, width)}};
  for (std::int64_t index = 0; index < shape.layers; ++index) {
    const std::string prefix = "model.layers." + std::to_string(index) + ".";
    for (const char* name : {"q_proj", "k_proj", "v_proj", "o_proj"}) {
      weights[prefix + "self_attn." + name + ".weight"] = normal(width, width);
    }
    weights[prefix + "mlp.gate_proj.weight"] = normal(inner, width);
    weights[prefix + "mlp.up_proj.weight"] = normal(inner, width);
    weights[prefix + "mlp.down_proj.weight"] = normal(width, inner);
    weights[prefix + "input_layernorm.weight"] = at::ones({width});
    weights[prefix + "post_attention_layernorm.weight"] = at::ones({width});
  }
  return weights;
}

void randomise(position::PositionEncoding& encoding, double deviation, std::uint64_t seed) {
  at::Generator generator = at::detail::createCPUGenerator(seed);
  for (const position::Parameter& parameter : encoding.parameters()) {
    *parameter.value = at::randn(parameter.value->sizes(), generator) * deviation;
  }
}

}  // namespace locus::test

#include "models/transformer/parameter_list.h"

namespace locus::transformer {

void ParameterList::tensor(const std::string& name, Shape shape, at::Tensor& value) {
  list_.push_back({name, std::move(shape), &value});
}

void ParameterList::matrix(const std::string& name, Shape shape, at::Tensor& value) {
  list_.push_back({name, std::move(shape), &value, true});
}

void ParameterList::linear(const std::string& name, std::int64_t out, std::int64_t in, bool bias, Linear& weights) {
  matrix(name + ".weight", {out, in}, weights.weight);
  if (bias) {
    tensor(name + ".bias", {out}, weights.bias);
  }
}

void ParameterList::norm(const std::string& name, std::int64_t width, NormWeights& weights) {
  norm(name, width, spec_.norm_weight, spec_.norm == Norm::kLayer && spec_.norm_bias, weights);
}

void ParameterList::norm(const std::string& name, std::int64_t width, bool weight, bool bias, NormWeights& weights) {
  if (weight) {
    tensor(name + ".weight", {width}, weights.weight);
  }
  if (bias) {
    tensor(name + ".bias", {width}, weights.bias);
  }
}

void ParameterList::norms(const std::string& name, NormPlace place, NormWeights& own, NormWeights& after) {
  if (place == NormPlace::kPre || place == NormPlace::kPost || place == NormPlace::kBoth) {
    norm(name + "_norm", spec_.width, own);
  }
  if (place == NormPlace::kAfter || place == NormPlace::kBoth) {
    norm(name + "_after_norm", spec_.width, after);
  }
}

void ParameterList::query_norm(const std::string& name, const AttentionSpec& attention, std::int64_t heads,
                               std::vector<NormWeights>& weights) {
  const QueryNorm& form = attention.norm;
  const bool own = form.form == QueryNormForm::kOwn;
  const std::int64_t width =
      form.form == QueryNormForm::kWhole ? heads * attention.projected_width() : attention.projected_width();
  weights.resize(own ? static_cast<std::size_t>(heads) : 1);
  for (std::size_t n = 0; n < weights.size(); ++n) {
    norm(own ? name + "." + std::to_string(n) : name, width, form.weight, form.bias, weights[n]);
  }
}

void ParameterList::attention(const std::string& prefix, const AttentionSpec& spec, LayerWeights& layer) {
  const std::int64_t query = spec.heads * spec.projected_width();
  const std::int64_t key = spec.kv_heads * spec.projected_width();
  const std::int64_t value = spec.kv_heads * spec.projected_values();
  const Latent& latent = spec.latent;
  if (latent.rank > 0) {
    if (latent.query_rank > 0) {
      linear(prefix + "query_down", latent.query_rank, spec_.width, spec.query_bias, layer.query_down);
      norm(prefix + "query_latent_norm", latent.query_rank, true, false, layer.query_latent_norm);
      linear(prefix + "query_up", query, latent.query_rank, false, layer.query_up);
    } else {
      linear(prefix + "query", query, spec_.width, false, layer.query);
    }
    linear(prefix + "latent_down", latent.rank + latent.rotated, spec_.width, spec.key_bias, layer.latent_down);
    norm(prefix + "latent_norm", latent.rank, true, false, layer.latent_norm);
    linear(prefix + "latent_up", spec.heads * (spec.head_width - latent.rotated + spec.values()), latent.rank, false,
           layer.latent_up);
  } else if (spec.qkv == QkvLayout::kSeparate) {
    linear(prefix + "query", query, spec_.width, spec.query_bias, layer.query);
    if (spec.source < 0) {
      linear(prefix + "key", key, spec_.width, spec.key_bias, layer.key);
      if (!spec.key_as_value) {
        linear(prefix + "value", value, spec_.width, spec.value_bias, layer.value);
      }
    }
  } else {
    linear(prefix + "qkv", query + key + value, spec_.width, spec.query_bias, layer.qkv);
  }
  if (spec.norm.norms_query()) {
    query_norm(prefix + "query_norm", spec, spec.heads, layer.query_norm);
  }
  if (spec.source < 0 && spec.norm.norms_key()) {
    query_norm(prefix + "key_norm", spec, spec.kv_heads, layer.key_norm);
  }
  if (spec.sinks) {
    tensor(prefix + "sinks", {spec.heads}, layer.sinks);
  }
  if (spec.difference != 0) {
    tensor(prefix + "difference_a", {spec.head_width}, layer.difference_a);
    tensor(prefix + "difference_b", {spec.head_width}, layer.difference_b);
    tensor(prefix + "difference_c", {spec.head_width}, layer.difference_c);
    tensor(prefix + "difference_d", {spec.head_width}, layer.difference_d);
  }
  if (spec.key_bonus) {
    linear(prefix + "bonus", spec.kv_heads, value, spec.key_bias, layer.bonus);
    tensor(prefix + "bonus_rate", {spec.kv_heads}, layer.bonus_rate);
  }
  if (spec.key_shift) {
    linear(prefix + "key_shift", spec.kv_heads, spec_.width, false, layer.key_shift);
  }
  if (spec.value_shift) {
    linear(prefix + "value_shift", spec.kv_heads, spec_.width, false, layer.value_shift);
  }
  if (spec.output_norm) {
    norm(prefix + "output_norm", spec.heads * spec.values(), layer.output_norm);
  }
  if (const GateForm form = spec.gate.form; form != GateForm::kNone) {
    const std::int64_t rows = spec.heads * (form == GateForm::kHead ? 1 : spec.values());
    linear(prefix + "gate", rows, spec_.width, false, layer.gate);
    if (spec.gate.bias) {
      tensor(prefix + "gate.bias", {spec.heads}, layer.gate.bias);
    }
  }
  linear(prefix + "output", spec_.width, spec.outputs(), spec.output_bias, layer.output);
}

void ParameterList::cross(const std::string& prefix, const AttentionSpec& spec, LayerWeights& layer) {
  const std::int64_t key = spec.kv_heads * spec.head_width;
  const std::int64_t value = spec.kv_heads * spec.values();
  linear(prefix + "query", spec.heads * spec.head_width, spec_.width, spec.query_bias, layer.cross_query);
  linear(prefix + "key", key, spec_.width, spec.key_bias, layer.cross_key);
  linear(prefix + "value", value, spec_.width, spec.value_bias, layer.cross_value);
  linear(prefix + "output", spec_.width, spec.heads * spec.values(), spec.output_bias, layer.cross_output);
}

void ParameterList::feed_forward(const std::string& prefix, const FeedForwardSpec& spec, std::int64_t inner,
                                 FeedForwardWeights& weights) {
  const bool inner_bias = spec.bias && spec.inner_bias;
  if (spec.gated) {
    linear(prefix + "gate", inner, spec_.width, inner_bias, weights.gate);
  }
  linear(prefix + "up", inner, spec_.width, inner_bias, weights.up);
  if (spec.activation == Activation::kXielu) {
    tensor(prefix + "alpha_p", {1}, weights.alpha_p);
    tensor(prefix + "alpha_n", {1}, weights.alpha_n);
    tensor(prefix + "beta", {}, weights.beta);
    tensor(prefix + "eps", {}, weights.eps);
  }
  if (spec.inner_norm) {
    norm(prefix + "inner_norm", inner, weights.inner_norm);
  }
  linear(prefix + "down", spec_.width, inner, spec.bias, weights.down);
}

void ParameterList::experts(const std::string& prefix, const FeedForwardSpec& spec, ExpertWeights& weights) {
  const Experts& experts = spec.experts;
  linear(prefix + "router", experts.count + experts.always, spec_.width, experts.router_bias, weights.router);
  if (experts.correction) {
    tensor(prefix + "correction", {experts.count}, weights.correction);
  }
  weights.experts.resize(static_cast<std::size_t>(experts.count));
  for (std::size_t n = 0; n < weights.experts.size(); ++n) {
    feed_forward(prefix + "experts." + std::to_string(n) + ".", spec, spec.inner, weights.experts[n]);
  }
  weights.always.resize(static_cast<std::size_t>(experts.always));
  for (std::size_t n = 0; n < weights.always.size(); ++n) {
    feed_forward(prefix + "always." + std::to_string(n) + ".", spec, spec.inner, weights.always[n]);
  }
  if (experts.shared > 0) {
    feed_forward(prefix + "shared.", spec, experts.shared, weights.shared);
    if (experts.shared_gate) {
      linear(prefix + "shared_gate", 1, spec_.width, false, weights.shared_gate);
    }
  }
}

void ParameterList::layer(const std::string& prefix, Block& block) {
  const LayerSpec& spec = block.spec();
  LayerWeights& layer = block.weights();
  if (spec.mixes()) {
    norms(prefix + "attention", spec.attention_norm, layer.attention_norm, layer.attention_after_norm);
  }
  if (spec.attends) {
    attention(prefix + "attention.", spec.attention, layer);
  }
  if (block.mixer() != nullptr) {
    block.mixer()->collect(*this, prefix + "mixer.");
  }
  if (spec.cross) {
    norm(prefix + "cross_norm", spec_.width, layer.cross_norm);
    cross(prefix + "cross.", *spec.cross, layer);
  }
  if (spec.feeds && !(spec.parallel && spec.shared_norm)) {
    norms(prefix + "feed_forward", spec.feed_forward_norm, layer.feed_forward_norm, layer.feed_forward_after_norm);
  }
  if (spec.feeds && spec.feed_forward.experts.count > 0) {
    experts(prefix + "feed_forward.", spec.feed_forward, layer.experts);
  } else if (spec.feeds) {
    feed_forward(prefix + "feed_forward.", spec.feed_forward, spec.feed_forward.inner, layer.feed_forward);
  }
  if (spec.feeds && spec.feed_forward.output_scale) {
    at::Tensor& scale =
        spec.feed_forward.experts.count > 0 ? layer.experts.output_scale : layer.feed_forward.output_scale;
    tensor(prefix + "feed_forward.output_scale", {1}, scale);
  }
  if (const std::int64_t tokens = spec.convolution; tokens > 0) {
    const AttentionSpec& own = spec.attention;
    tensor(prefix + "attention.key_convolution.weight", {own.kv_heads * own.head_width, tokens}, layer.key_convolution);
    tensor(prefix + "attention.value_convolution.weight", {own.kv_heads * own.values(), tokens},
           layer.value_convolution);
    tensor(prefix + "attention_convolution.weight", {spec_.width, tokens}, layer.attention_convolution);
    tensor(prefix + "feed_forward_convolution.weight", {spec_.width, tokens}, layer.feed_forward_convolution);
  }
  if (spec.layer_scale && spec.mixes()) {
    tensor(prefix + "attention_scale", {spec_.width}, layer.attention_scale);
  }
  if (spec.layer_scale && spec.feeds) {
    tensor(prefix + "feed_forward_scale", {spec_.width}, layer.feed_forward_scale);
  }
  if (spec.attention_sum.learned && spec.mixes()) {
    tensor(prefix + "attention_stream", {spec_.width}, layer.attention_stream);
  }
  if (spec.feed_forward_sum.learned && spec.feeds) {
    tensor(prefix + "feed_forward_stream", {spec_.width}, layer.feed_forward_stream);
  }
  if (const std::int64_t inputs = spec_.layer_inputs.width; inputs > 0) {
    linear(prefix + "input.gate", inputs, spec_.width, false, layer.input_gate);
    linear(prefix + "input.down", spec_.width, inputs, false, layer.input_down);
    norm(prefix + "input.after_norm", spec_.width, layer.input_after_norm);
  }
  if (spec.bounded) {
    FeedForwardWeights& inner = layer.feed_forward;
    for (const auto& [name, weights] :
         {std::pair{"attention.query", &layer.query}, std::pair{"attention.key", &layer.key},
          std::pair{"attention.value", &layer.value}, std::pair{"attention.output", &layer.output},
          std::pair{"feed_forward.gate", &inner.gate}, std::pair{"feed_forward.up", &inner.up},
          std::pair{"feed_forward.down", &inner.down}}) {
      tensor(prefix + name + ".bounds", {4}, weights->bounds);
    }
  }
  if (spec.output_scale) {
    tensor(prefix + "output_scale", {1}, layer.output_scale);
  }
}

}  // namespace locus::transformer

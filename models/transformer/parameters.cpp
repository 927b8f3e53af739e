// Transformer's parameters: which ones a spec has, their shapes, their initial values.
#include <ATen/ATen.h>

#include <cmath>
#include <utility>

#include "core/position/list.h"
#include "models/transformer/transformer.h"

namespace locus::transformer {

namespace {

using Shape = std::vector<std::int64_t>;

// Collects parameters in order.
class Collector {
 public:
  explicit Collector(const Spec& spec) : spec_(spec) {}

  void tensor(const std::string& name, Shape shape, at::Tensor& value) {
    list_.push_back({name, std::move(shape), &value});
  }
  void linear(const std::string& name, std::int64_t out, std::int64_t in, bool bias, Linear& weights) {
    tensor(name + ".weight", {out, in}, weights.weight);
    if (bias) {
      tensor(name + ".bias", {out}, weights.bias);
    }
  }
  void norm(const std::string& name, NormWeights& weights) {
    tensor(name + ".weight", {spec_.width}, weights.weight);
    if (spec_.norm == Norm::kLayer) {
      tensor(name + ".bias", {spec_.width}, weights.bias);
    }
  }
  void layer(const std::string& prefix, Layer& layer) {
    const std::int64_t query_width = spec_.heads * spec_.head_width;
    const std::int64_t key_width = spec_.kv_heads * spec_.head_width;
    norm(prefix + "attention_norm", layer.attention_norm);
    if (spec_.qkv == QkvLayout::kSeparate) {
      linear(prefix + "attention.query", query_width, spec_.width, spec_.qkv_bias, layer.query);
      linear(prefix + "attention.key", key_width, spec_.width, spec_.qkv_bias, layer.key);
      linear(prefix + "attention.value", key_width, spec_.width, spec_.qkv_bias, layer.value);
    } else {
      linear(prefix + "attention.qkv", query_width + 2 * key_width, spec_.width, spec_.qkv_bias, layer.qkv);
    }
    linear(prefix + "attention.output", spec_.width, query_width, spec_.output_bias, layer.output);
    norm(prefix + "feed_forward_norm", layer.feed_forward_norm);
    if (spec_.gated) {
      linear(prefix + "feed_forward.gate", spec_.inner, spec_.width, spec_.feed_forward_bias, layer.gate);
    }
    linear(prefix + "feed_forward.up", spec_.inner, spec_.width, spec_.feed_forward_bias, layer.up);
    linear(prefix + "feed_forward.down", spec_.width, spec_.inner, spec_.feed_forward_bias, layer.down);
    if (spec_.layer_scale) {
      tensor(prefix + "attention_scale", {spec_.width}, layer.attention_scale);
      tensor(prefix + "feed_forward_scale", {spec_.width}, layer.feed_forward_scale);
    }
  }
  std::vector<Parameter> take() { return std::move(list_); }

 private:
  const Spec& spec_;
  std::vector<Parameter> list_;
};

bool ends_with(const std::string& text, const std::string& tail) {
  return text.size() >= tail.size() && text.compare(text.size() - tail.size(), tail.size(), tail) == 0;
}

position::ModelShape shape_of(const Spec& spec) {
  position::ModelShape shape;
  shape.layers = spec.layers;
  shape.heads = spec.heads;
  shape.kv_heads = spec.kv_heads;
  shape.head_width = spec.head_width;
  shape.width = spec.width;
  shape.trained_length = spec.trained_length;
  shape.causal = spec.causal;
  return shape;
}

}  // namespace

std::vector<Parameter> Transformer::parameters() {
  Collector collector(spec_);
  if (spec_.is_image()) {
    const ImageStem& image = spec_.image;
    collector.tensor("patch.weight", {spec_.width, image.channels, image.patch, image.patch}, patch_.weight);
    collector.tensor("patch.bias", {spec_.width}, patch_.bias);
    collector.tensor("class_token", {spec_.width}, class_token_);
    if (image.position_embedding) {
      collector.tensor("patch_position", {image.rows * image.columns, spec_.width}, patch_position_);
    }
    if (image.registers > 0) {
      collector.tensor("register_tokens", {image.registers, spec_.width}, register_tokens_);
    }
  } else {
    collector.tensor("embedding.weight", {spec_.vocabulary, spec_.width}, embedding_);
    if (spec_.token_types > 0) {
      collector.tensor("token_type.weight", {spec_.token_types, spec_.width}, token_type_);
    }
  }
  if (spec_.embedding_norm) {
    collector.norm("embedding_norm", embedding_norm_);
  }
  for (std::size_t n = 0; n < layers_.size(); ++n) {
    collector.layer("layers." + std::to_string(n) + ".", layers_[n]);
  }
  if (spec_.final_norm) {
    collector.norm("final_norm", final_norm_);
  }
  if (spec_.head_transform) {
    collector.linear("head_transform", spec_.width, spec_.width, true, head_transform_);
    collector.norm("head_norm", head_norm_);
  }
  if (spec_.is_image() || !spec_.tied_head) {
    collector.tensor("head.weight", {spec_.vocabulary, spec_.width}, head_.weight);
  }
  if (spec_.head_bias) {
    collector.tensor("head.bias", {spec_.vocabulary}, head_.bias);
  }
  for (const position::Parameter& parameter : encoding_->parameters()) {
    collector.tensor("position." + parameter.name, parameter.value->sizes().vec(), *parameter.value);
  }
  return collector.take();
}

Result<std::unique_ptr<Transformer>> Transformer::create(const Spec& spec, bool fresh, std::uint64_t seed) {
  LOCUS_CHECK(validate(spec));
  auto model = std::unique_ptr<Transformer>(new Transformer(spec));
  if (fresh) {
    at::manual_seed(seed);
  }
  LOCUS_TRY(std::unique_ptr<position::PositionEncoding> encoding,
            position::make_encoding(spec.encoding, spec.encoding_options, shape_of(spec)));
  model->encoding_ = std::move(encoding);
  model->layers_.resize(static_cast<std::size_t>(spec.layers));
  if (fresh) {
    model->initialise();
  }
  return model;
}

void Transformer::initialise() {
  const at::NoGradGuard no_grad;
  const double residual = 1.0 / std::sqrt(2.0 * static_cast<double>(spec_.layers));
  for (const Parameter& parameter : parameters()) {
    if (parameter.name.rfind("position.", 0) == 0) {
      continue;  // the encoding has initialised its own
    }
    at::Tensor& value = *parameter.value;
    const bool norm = parameter.name.find("norm.") != std::string::npos;
    if (ends_with(parameter.name, "bias")) {
      value = at::zeros(parameter.shape);
    } else if (norm || ends_with(parameter.name, "_scale")) {
      value = at::ones(parameter.shape);
    } else {
      const bool into_residual = ends_with(parameter.name, "output.weight") || ends_with(parameter.name, "down.weight");
      value = at::randn(parameter.shape).mul_(into_residual ? 0.02 * residual : 0.02);
    }
  }
}

void Transformer::to(at::Device device) {
  for (const Parameter& parameter : parameters()) {
    if (parameter.value->defined()) {
      *parameter.value = parameter.value->to(device);
    }
  }
}

}  // namespace locus::transformer

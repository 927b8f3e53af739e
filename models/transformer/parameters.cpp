// Transformer's parameters: which ones a spec has, their shapes, their initial values.
#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "core/position/list.h"
#include "core/position/shared/initial.h"
#include "core/products/packed.h"
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
  void matrix(const std::string& name, Shape shape, at::Tensor& value) {
    list_.push_back({name, std::move(shape), &value, true});
  }
  void linear(const std::string& name, std::int64_t out, std::int64_t in, bool bias, Linear& weights) {
    matrix(name + ".weight", {out, in}, weights.weight);
    if (bias) {
      tensor(name + ".bias", {out}, weights.bias);
    }
  }
  void norm(const std::string& name, NormWeights& weights) { norm(name, spec_.width, weights); }
  void norm(const std::string& name, std::int64_t width, NormWeights& weights) {
    norm(name, width, true, spec_.norm == Norm::kLayer && spec_.norm_bias, weights);
  }
  void norm(const std::string& name, std::int64_t width, bool weight, bool bias, NormWeights& weights) {
    if (weight) {
      tensor(name + ".weight", {width}, weights.weight);
    }
    if (bias) {
      tensor(name + ".bias", {width}, weights.bias);
    }
  }
  // Norms that stand before and after a branch; one that stands on the sum is called as the one before.
  void norms(const std::string& name, NormPlace place, NormWeights& own, NormWeights& after) {
    if (place == NormPlace::kPre || place == NormPlace::kPost || place == NormPlace::kBoth) {
      norm(name + "_norm", own);
    }
    if (place == NormPlace::kAfter || place == NormPlace::kBoth) {
      norm(name + "_after_norm", after);
    }
  }
  void query_norm(const std::string& name, const AttentionSpec& attention, std::int64_t heads,
                  std::vector<NormWeights>& weights) {
    const QueryNorm& form = attention.norm;
    if (form.form == QueryNormForm::kNone) {
      return;
    }
    const bool own = form.form == QueryNormForm::kOwn;
    const std::int64_t width = form.form == QueryNormForm::kWhole ? heads * attention.head_width : attention.head_width;
    weights.resize(own ? static_cast<std::size_t>(heads) : 1);
    for (std::size_t n = 0; n < weights.size(); ++n) {
      norm(own ? name + "." + std::to_string(n) : name, width, form.weight, form.bias, weights[n]);
    }
  }
  void attention(const std::string& prefix, const AttentionSpec& spec, LayerWeights& layer) {
    const std::int64_t query = spec.heads * spec.head_width;
    const std::int64_t key = spec.kv_heads * spec.head_width;
    const std::int64_t value = spec.kv_heads * spec.values();
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
      linear(prefix + "key", key, spec_.width, spec.key_bias, layer.key);
      linear(prefix + "value", value, spec_.width, spec.value_bias, layer.value);
    } else {
      linear(prefix + "qkv", query + key + value, spec_.width, spec.query_bias, layer.qkv);
    }
    query_norm(prefix + "query_norm", spec, spec.heads, layer.query_norm);
    query_norm(prefix + "key_norm", spec, spec.kv_heads, layer.key_norm);
    if (spec.sinks) {
      tensor(prefix + "sinks", {spec.heads}, layer.sinks);
    }
    linear(prefix + "output", spec_.width, spec.heads * spec.values(), spec.output_bias, layer.output);
  }
  void cross(const std::string& prefix, const AttentionSpec& spec, LayerWeights& layer) {
    const std::int64_t key = spec.kv_heads * spec.head_width;
    const std::int64_t value = spec.kv_heads * spec.values();
    linear(prefix + "query", spec.heads * spec.head_width, spec_.width, spec.query_bias, layer.cross_query);
    linear(prefix + "key", key, spec_.width, spec.key_bias, layer.cross_key);
    linear(prefix + "value", value, spec_.width, spec.value_bias, layer.cross_value);
    linear(prefix + "output", spec_.width, spec.heads * spec.values(), spec.output_bias, layer.cross_output);
  }
  void feed_forward(const std::string& prefix, const FeedForwardSpec& spec, std::int64_t inner,
                    FeedForwardWeights& weights) {
    if (spec.gated) {
      linear(prefix + "gate", inner, spec_.width, spec.bias, weights.gate);
    }
    linear(prefix + "up", inner, spec_.width, spec.bias, weights.up);
    linear(prefix + "down", spec_.width, inner, spec.bias, weights.down);
  }
  void experts(const std::string& prefix, const FeedForwardSpec& spec, ExpertWeights& weights) {
    const Experts& experts = spec.experts;
    linear(prefix + "router", experts.count, spec_.width, experts.router_bias, weights.router);
    if (experts.correction) {
      tensor(prefix + "correction", {experts.count}, weights.correction);
    }
    weights.experts.resize(static_cast<std::size_t>(experts.count));
    for (std::size_t n = 0; n < weights.experts.size(); ++n) {
      feed_forward(prefix + "experts." + std::to_string(n) + ".", spec, spec.inner, weights.experts[n]);
    }
    if (experts.shared > 0) {
      feed_forward(prefix + "shared.", spec, experts.shared, weights.shared);
      if (experts.shared_gate) {
        linear(prefix + "shared_gate", 1, spec_.width, false, weights.shared_gate);
      }
    }
  }
  void layer(const std::string& prefix, Block& block) {
    const LayerSpec& spec = block.spec();
    LayerWeights& layer = block.weights();
    norms(prefix + "attention", spec.attention_norm, layer.attention_norm, layer.attention_after_norm);
    attention(prefix + "attention.", spec.attention, layer);
    if (spec.cross) {
      norm(prefix + "cross_norm", layer.cross_norm);
      cross(prefix + "cross.", *spec.cross, layer);
    }
    if (!(spec.parallel && spec.shared_norm)) {
      norms(prefix + "feed_forward", spec.feed_forward_norm, layer.feed_forward_norm, layer.feed_forward_after_norm);
    }
    if (spec.feed_forward.experts.count > 0) {
      experts(prefix + "feed_forward.", spec.feed_forward, layer.experts);
    } else {
      feed_forward(prefix + "feed_forward.", spec.feed_forward, spec.feed_forward.inner, layer.feed_forward);
    }
    if (spec.layer_scale) {
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

// What an encoding of these layers is built for.
position::ModelShape shape_of(const Spec& spec, const std::vector<std::int64_t>& layers) {
  const AttentionSpec& attention =
      layers.empty() ? spec.first().attention : spec.layers[static_cast<std::size_t>(layers.front())].attention;
  position::ModelShape shape;
  shape.layers = std::max<std::int64_t>(static_cast<std::int64_t>(layers.size()), 1);
  shape.heads = attention.heads;
  shape.kv_heads = attention.kv_heads;
  shape.head_width = attention.head_width;
  shape.width = spec.token_width();
  shape.trained_length = spec.trained_length;
  shape.causal = spec.causal;
  return shape;
}

// "layers.1.up_proj" of an encoding's second layer -> "layers.7.up_proj" of the model's.
std::string model_name(const std::string& name, const std::vector<std::int64_t>& layers) {
  constexpr std::string_view kLayers = "layers.";
  const std::size_t dot = name.rfind(kLayers, 0) == 0 ? name.find('.', kLayers.size()) : std::string::npos;
  if (dot == std::string::npos) {
    return name;
  }
  const auto number = static_cast<std::size_t>(std::stoll(name.substr(kLayers.size(), dot - kLayers.size())));
  return number < layers.size() ? std::string(kLayers) + std::to_string(layers[number]) + name.substr(dot) : name;
}

}  // namespace

std::vector<Parameter> Transformer::parameters() {
  Collector collector(spec_);
  if (spec_.is_image()) {
    const ImageStem& image = spec_.image;
    std::vector<std::int64_t> patch{spec_.width, image.channels, image.patch, image.patch};
    if (image.frames > 0) {
      patch.insert(patch.begin() + 2, image.frames);
    }
    collector.tensor("patch.weight", patch, patch_.weight);
    if (image.patch_bias) {
      collector.tensor("patch.bias", {spec_.width}, patch_.bias);
    }
    if (image.patch_norm) {
      collector.norm("patch_norm", patch_norm_);
    }
    if (image.class_tokens > 0) {
      collector.tensor("class_token", {spec_.width}, class_token_);
    }
    if (image.class_tokens > 1) {
      collector.tensor("distillation_token", {spec_.width}, distillation_token_);
    }
    if (image.position_embedding) {
      collector.tensor("patch_position", {image.rows * image.columns, spec_.width}, patch_position_);
    }
    if (image.registers > 0) {
      collector.tensor("register_tokens", {image.registers, spec_.width}, register_tokens_);
    }
  } else {
    collector.matrix("embedding.weight", {spec_.vocabulary, spec_.token_width()}, embedding_);
    if (spec_.token_types > 0) {
      collector.tensor("token_type.weight", {spec_.token_types, spec_.token_width()}, token_type_);
    }
  }
  if (spec_.embedding_norm) {
    collector.norm("embedding_norm", spec_.token_width(), embedding_norm_);
  }
  if (spec_.embedding_width > 0) {
    collector.linear("embedding_projection", spec_.width, spec_.embedding_width, true, embedding_projection_);
  }
  for (Block& block : blocks_) {
    collector.layer("layers." + std::to_string(block.index()) + ".", block);
  }
  if (const Convolution& form = spec_.convolution; form.kernel > 0) {
    collector.tensor("convolution.weight", {spec_.width, spec_.width / form.groups, form.kernel}, convolution_.weight);
    collector.tensor("convolution.bias", {spec_.width}, convolution_.bias);
    collector.norm("convolution_norm", convolution_norm_);
  }
  if (spec_.final_norm) {
    collector.norm("final_norm", final_norm_);
  }
  if (spec_.head && spec_.head_transform) {
    collector.linear("head_transform", spec_.head_width(), spec_.width, spec_.head_transform_bias, head_transform_);
    if (spec_.head_transform_norm) {
      collector.norm("head_norm", spec_.head_width(), head_norm_);
    }
  }
  if (spec_.head && (spec_.is_image() || !spec_.tied_head)) {
    const std::int64_t read = (spec_.pool == Pool::kClassAndPatches ? 2 : 1) * spec_.head_width();
    collector.matrix("head.weight", {spec_.outputs(), read}, head_.weight);
  }
  if (spec_.head && spec_.head_bias) {
    collector.tensor("head.bias", {spec_.outputs()}, head_.bias);
  }
  if (spec_.head && spec_.pool == Pool::kTwoHeads) {
    collector.linear("distillation_head", spec_.vocabulary, spec_.width, spec_.head_bias, distillation_head_);
  }
  for (std::size_t n = 0; n < encodings_.size(); ++n) {
    const std::string prefix = n == 0 ? "position." : "position." + std::to_string(n) + ".";
    for (const position::Parameter& parameter : encodings_[n].encoding->parameters()) {
      collector.tensor(prefix + model_name(parameter.name, encodings_[n].layers), parameter.value->sizes().vec(),
                       *parameter.value);
    }
  }
  return collector.take();
}

Result<std::unique_ptr<Transformer>> Transformer::create(const Spec& spec, bool fresh, std::uint64_t seed) {
  LOCUS_CHECK(validate(spec));
  auto model = std::unique_ptr<Transformer>(new Transformer(spec));
  if (fresh) {
    at::manual_seed(seed);
    LOCUS_CHECK(model->make_encodings());
  } else {
    const position::OutlineScope shapes_alone;
    LOCUS_CHECK(model->make_encodings());
  }
  for (std::int64_t n = 0; n < spec.depth(); ++n) {
    model->blocks_.emplace_back(spec, n);
  }
  if (fresh) {
    model->initialise();
  }
  return model;
}

Status Transformer::make_encodings() {
  std::vector<std::vector<std::int64_t>> layers(spec_.encodings.size() + 1);
  for (std::int64_t n = 0; n < spec_.depth(); ++n) {
    const std::int64_t own = spec_.layers[static_cast<std::size_t>(n)].encoding;
    const std::size_t slot = own < 0 ? spec_.encodings.size() : static_cast<std::size_t>(own);
    places_.push_back({static_cast<std::int64_t>(slot), static_cast<std::int64_t>(layers[slot].size())});
    layers[slot].push_back(n);
  }
  std::vector<EncodingSpec> wanted = spec_.encodings;
  if (!layers.back().empty() || wanted.empty()) {
    wanted.push_back({"none", {}});
  }
  for (std::size_t n = 0; n < wanted.size(); ++n) {
    LOCUS_TRY(std::unique_ptr<position::PositionEncoding> made,
              position::make_encoding(wanted[n].name, wanted[n].options, shape_of(spec_, layers[n])));
    encodings_.push_back({std::move(made), layers[n]});
  }
  if (spec_.crosses()) {
    position::ModelShape shape = shape_of(spec_, {});
    shape.layers = spec_.depth();
    shape.heads = spec_.first().cross->heads;
    shape.kv_heads = spec_.first().cross->kv_heads;
    shape.head_width = spec_.first().cross->head_width;
    shape.causal = false;
    LOCUS_TRY(cross_encoding_, position::make_encoding("none", {}, shape));
  }
  return {};
}

void Transformer::initialise() {
  const at::NoGradGuard no_grad;
  const double residual = 1.0 / std::sqrt(2.0 * static_cast<double>(spec_.depth()));
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

Spec full_spec(const Transformer& model) {
  Spec spec = model.spec();
  for (std::size_t n = 0; n < spec.encodings.size(); ++n) {
    spec.encodings[n].options = model.encodings()[n].encoding->settings();
  }
  return spec;
}

void Transformer::to(at::Device device) {
  for (const Parameter& parameter : parameters()) {
    if (parameter.value->defined()) {
      const at::Tensor& value = *parameter.value;
      *parameter.value = device.is_cpu() && products::packed_of(value) ? value : products::dense(value).to(device);
    }
  }
}

}  // namespace locus::transformer

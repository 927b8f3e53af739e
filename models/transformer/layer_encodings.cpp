#include "models/transformer/layer_encodings.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "core/position/list.h"

namespace locus::transformer {

namespace {

// The shape that an encoding of these layers is made for.
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

Result<LayerEncodings> LayerEncodings::create(const Spec& spec) {
  LayerEncodings made;
  std::vector<std::vector<std::int64_t>> layers(spec.encodings.size() + 1);
  for (std::int64_t n = 0; n < spec.depth(); ++n) {
    const std::int64_t own = spec.layers[static_cast<std::size_t>(n)].encoding;
    const std::size_t slot = own < 0 ? spec.encodings.size() : static_cast<std::size_t>(own);
    made.places_.push_back({static_cast<std::int64_t>(slot), static_cast<std::int64_t>(layers[slot].size())});
    layers[slot].push_back(n);
  }
  std::vector<EncodingSpec> wanted = spec.encodings;
  if (!layers.back().empty() || wanted.empty()) {
    wanted.push_back({"none", {}});
  }
  for (std::size_t n = 0; n < wanted.size(); ++n) {
    LOCUS_TRY(std::unique_ptr<position::PositionEncoding> encoding,
              position::make_encoding(wanted[n].name, wanted[n].options, shape_of(spec, layers[n])));
    made.encodings_.push_back({std::move(encoding), layers[n]});
  }
  for (std::int64_t n = 0; spec.image.positions_after_layers && n + 1 < spec.depth(); ++n) {
    LOCUS_TRY(std::unique_ptr<position::PositionEncoding> encoding,
              position::make_encoding(wanted.front().name, wanted.front().options, shape_of(spec, {n})));
    made.after_.push_back(std::move(encoding));
  }
  if (spec.crosses()) {
    position::ModelShape shape = shape_of(spec, {});
    shape.layers = spec.depth();
    shape.heads = spec.first().cross->heads;
    shape.kv_heads = spec.first().cross->kv_heads;
    shape.head_width = spec.first().cross->head_width;
    shape.causal = false;
    LOCUS_TRY(made.cross_, position::make_encoding("none", {}, shape));
  }
  return made;
}

Status LayerEncodings::accepts(const position::Positions& positions) const {
  for (const LayerEncoding& used : encodings_) {
    LOCUS_CHECK(used.encoding->accepts(positions));
  }
  return {};
}

void LayerEncodings::drop_unseen(const position::Positions& positions) const {
  for (const LayerEncoding& used : encodings_) {
    used.encoding->drop_unseen(positions);
  }
}

std::vector<position::State> LayerEncodings::states(const position::Positions& positions, std::int64_t batch) const {
  std::vector<position::State> states;
  for (const LayerEncoding& used : encodings_) {
    states.push_back(used.encoding->begin(positions, batch));
  }
  return states;
}

at::Tensor LayerEncodings::added(at::Tensor x, const std::vector<position::State>& states) const {
  for (std::size_t n = 0; n < states.size(); ++n) {
    if (const at::Tensor own = encodings_[n].encoding->embed(states[n]); own.defined()) {
      x = x + own.to(x.device());
    }
  }
  return x;
}

at::Tensor LayerEncodings::embedding(const position::Positions& positions) const {
  at::Tensor sum;
  for (const LayerEncoding& used : encodings_) {
    if (const at::Tensor own = used.encoding->embed(used.encoding->begin(positions, 1)); own.defined()) {
      sum = sum.defined() ? sum + own : own;
    }
  }
  return sum;
}

at::Tensor LayerEncodings::after_layer(std::int64_t layer, const position::Positions& positions) const {
  const auto n = static_cast<std::size_t>(layer);
  return n < after_.size() ? after_[n]->embed(after_[n]->begin(positions, 1)) : at::Tensor();
}

void LayerEncodings::collect(ParameterList& list) const {
  for (std::size_t n = 0; n < encodings_.size(); ++n) {
    const std::string prefix = n == 0 ? "position." : "position." + std::to_string(n) + ".";
    for (const position::Parameter& parameter : encodings_[n].encoding->parameters()) {
      list.tensor(prefix + model_name(parameter.name, encodings_[n].layers), parameter.value->sizes().vec(),
                  *parameter.value);
    }
  }
  for (std::size_t n = 0; n < after_.size(); ++n) {
    for (const position::Parameter& parameter : after_[n]->parameters()) {
      list.tensor("position.after_layers." + std::to_string(n) + "." + parameter.name, parameter.value->sizes().vec(),
                  *parameter.value);
    }
  }
}

}  // namespace locus::transformer

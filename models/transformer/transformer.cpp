#include "models/transformer/transformer.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <utility>

#include "core/attention/lane_kernels.h"
#include "models/transformer/continued.h"

namespace locus::transformer {

namespace {

// (B, T, H·D) -> (B, H, T, D), each head's rows together: what products and kept traces read.
at::Tensor split_heads(const at::Tensor& x, std::int64_t heads, std::int64_t width) {
  const at::Tensor split = x.view({x.size(0), x.size(1), heads, width}).transpose(1, 2);
  return at::GradMode::is_enabled() ? split : split.contiguous();
}

at::Tensor merge_heads(const at::Tensor& x) {
  return x.transpose(1, 2).reshape({x.size(0), x.size(2), x.size(1) * x.size(3)});
}

// x + branch · scale. Without gradients the branch, which nobody else holds, is overwritten.
at::Tensor add_branch(const at::Tensor& x, at::Tensor branch, const at::Tensor& scale) {
  if (at::GradMode::is_enabled()) {
    return x + (scale.defined() ? branch * scale : branch);
  }
  if (scale.defined()) {
    branch.mul_(scale);
  }
  return branch.add_(x);
}

// GELU with tanh of x + bias, in place: ATen's takes as long as the product before it.
void gelu_tanh(at::Tensor& x, const at::Tensor& bias) {
  constexpr std::int64_t kLanes = attention::kLanes;
  constexpr std::int64_t kRowsPerTask = 16;
  const auto gelu = attention::lane_kernels().gelu_tanh;
  const std::int64_t width = x.size(-1);
  const at::Tensor added = bias.defined() ? bias.contiguous() : at::zeros({width}, x.options());
  const float* const row = added.data_ptr<float>();
  float* const data = x.data_ptr<float>();
  at::parallel_for(0, x.numel() / width, kRowsPerTask, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t n = begin; n < end; ++n) {
      for (std::int64_t c = 0; c < width; c += kLanes) {
        gelu(data + n * width + c, 1, row + c);
      }
    }
  });
}

at::Tensor activate(Activation activation, at::Tensor x) {
  const bool in_place = !at::GradMode::is_enabled();
  switch (activation) {
    case Activation::kGelu:
      return in_place ? at::gelu_(x, "none") : at::gelu(x, "none");
    case Activation::kGeluTanh:
      return in_place ? at::gelu_(x, "tanh") : at::gelu(x, "tanh");
    case Activation::kSilu:
      return in_place ? at::silu_(x) : at::silu(x);
    case Activation::kRelu:
      return in_place ? at::relu_(x) : at::relu(x);
  }
  return x;
}

// Whether the product of x may be worked on by the loops of lane_kernels.h.
bool runs_kernels(const at::Tensor& x, const Linear& weights) {
  return !at::GradMode::is_enabled() && x.device().is_cpu() && x.scalar_type() == at::kFloat &&
         weights.weight.scalar_type() == at::kFloat && weights.weight.size(0) % attention::kLanes == 0;
}

}  // namespace

at::Tensor linear(const at::Tensor& x, const Linear& weights) {
  return at::linear(x, weights.weight, weights.bias);
}

position::Positions Transformer::positions(std::int64_t length, double start) const {
  return position::Positions::sequence(length, start);
}

position::Positions Transformer::grid_positions(std::int64_t rows, std::int64_t columns) const {
  return position::Positions::grid(rows, columns, prefix_tokens());
}

attention::Mask Transformer::mask(std::int64_t layer) const {
  return {spec_.causal, layer >= spec_.window_from_layer ? spec_.window : 0};
}

at::Tensor Transformer::normalise(const at::Tensor& x, const NormWeights& norm) const {
  if (spec_.norm == Norm::kLayer) {
    return at::layer_norm(x, {spec_.width}, norm.weight, norm.bias, spec_.norm_eps);
  }
  const at::Tensor inverse = at::rsqrt(x.square().mean(-1, true) + spec_.norm_eps);
  return x * inverse * norm.weight;
}

at::Tensor Transformer::embed_image(const at::Tensor& pixels) const {
  const ImageStem& image = spec_.image;
  at::Tensor patches = at::conv2d(pixels, patch_.weight, patch_.bias, image.patch);
  if (image.position_embedding) {
    at::Tensor grid = patch_position_.t().reshape({1, spec_.width, image.rows, image.columns});
    if (patches.size(2) != image.rows || patches.size(3) != image.columns) {
      grid = at::upsample_bicubic2d(grid, patches.sizes().slice(2), false);
    }
    patches = patches + grid;
  }
  std::vector<at::Tensor> parts{class_token_.expand({patches.size(0), 1, spec_.width})};
  if (register_tokens_.defined()) {
    parts.push_back(register_tokens_.unsqueeze(0).expand({patches.size(0), -1, -1}));
  }
  parts.push_back(patches.flatten(2).transpose(1, 2));
  return at::cat(parts, 1);
}

at::Tensor Transformer::embed(const Batch& batch, const position::State& state) const {
  at::Tensor x = spec_.is_image() ? embed_image(batch.pixels) : at::embedding(embedding_, batch.ids);
  if (token_type_.defined()) {
    x = x + token_type_.select(0, 0);
  }
  if (const at::Tensor position = encoding_->embed(state); position.defined()) {
    x = x + position;
  }
  return spec_.embedding_norm ? normalise(x, embedding_norm_) : x;
}

position::Projections Transformer::project(const Layer& layer, const at::Tensor& x) const {
  const std::int64_t heads = spec_.heads;
  const std::int64_t kv_heads = spec_.kv_heads;
  const std::int64_t width = spec_.head_width;
  position::Projections projections;
  projections.hidden = x;
  at::Tensor query;
  at::Tensor key;
  at::Tensor value;
  if (spec_.qkv == QkvLayout::kSeparate) {
    query = linear(x, layer.query);
    key = linear(x, layer.key);
    value = linear(x, layer.value);
  } else if (spec_.qkv == QkvLayout::kPerHead) {
    const at::Tensor all = linear(x, layer.qkv).view({x.size(0), x.size(1), heads, 3, width});
    query = all.select(3, 0).flatten(2);
    key = all.select(3, 1).flatten(2);
    value = all.select(3, 2).flatten(2);
  } else {
    const std::vector<at::Tensor> parts =
        linear(x, layer.qkv).split_with_sizes({heads * width, kv_heads * width, kv_heads * width}, -1);
    query = parts[0];
    key = parts[1];
    value = parts[2];
  }
  projections.query = split_heads(query, heads, width);
  projections.key = split_heads(key, kv_heads, width);
  projections.value = split_heads(value, kv_heads, width);
  return projections;
}

at::Tensor Transformer::feed_forward(const Layer& layer, const at::Tensor& x) const {
  if (!spec_.gated) {
    if (spec_.activation == Activation::kGeluTanh && runs_kernels(x, layer.up)) {
      at::Tensor inner = at::linear(x, layer.up.weight);
      gelu_tanh(inner, layer.up.bias);
      return linear(inner, layer.down);
    }
    return linear(activate(spec_.activation, linear(x, layer.up)), layer.down);
  }
  at::Tensor gate = activate(spec_.activation, linear(x, layer.gate));
  const at::Tensor up = linear(x, layer.up);
  return linear(at::GradMode::is_enabled() ? gate * up : gate.mul_(up), layer.down);
}

Result<at::Tensor> Transformer::run_layer(std::int64_t index, const at::Tensor& x, position::State& state,
                                          const Attend& attend, LayerRecord* record, Range output_rows,
                                          Continued* continued) const {
  const Layer& layer = layers_[static_cast<std::size_t>(index)];
  const bool pre = spec_.norm_place == NormPlace::kPre;
  const at::Tensor normed = pre ? normalise(x, layer.attention_norm) : x;
  const position::Projections projections = project(layer, normed);
  LayerRecord seen;  // of all tokens
  seen.prepared = encoding_->prepare(state, index, projections);
  seen.value = projections.value;
  seen.state = state;
  if (continued != nullptr) {
    continued->take_over(index, seen);
  }
  const at::Tensor state_values = encoding_->state_values(seen.state, index);
  LOCUS_TRY(attention::Attended attended, attend(index, seen.prepared, seen.value, state_values));
  seen.log_sum_exp = attended.log_sum_exp;
  seen.chosen = attended.chosen;
  if (record != nullptr) {
    if (continued != nullptr) {
      continued->take_over_rows(index, seen);
    }
    record->prepared = seen.prepared;
    record->state = seen.state;
    record->log_sum_exp = seen.log_sum_exp;
    record->chosen = seen.chosen;
  }
  at::Tensor residual = spec_.residual_from_norm ? normed : x;
  const bool last = !output_rows.empty();  // nobody reads the state after it
  if (last) {
    attended.output = attended.output.slice(2, output_rows.begin, output_rows.end);
    residual = residual.slice(1, output_rows.begin, output_rows.end);
  }
  at::Tensor middle = add_branch(residual, linear(merge_heads(attended.output), layer.output), layer.attention_scale);
  if (!last) {
    const std::int64_t length = seen.prepared.query.size(2);
    encoding_->after_attention(
        state, index, {attended.state_values, state_values, &seen.prepared, {length - x.size(1), length}, middle});
  }

  if (spec_.parallel_residual) {
    const at::Tensor own = last ? x.slice(1, output_rows.begin, output_rows.end) : x;
    const at::Tensor branch = feed_forward(layer, normalise(own, layer.feed_forward_norm));
    if (!last) {
      encoding_->after_feed_forward(state, index, branch);
    }
    return add_branch(middle, branch, layer.feed_forward_scale);
  }
  if (!pre) {
    middle = normalise(middle, layer.attention_norm);
  }
  const at::Tensor inner = pre ? normalise(middle, layer.feed_forward_norm) : middle;
  const at::Tensor branch = feed_forward(layer, inner);
  if (!last) {
    encoding_->after_feed_forward(state, index, branch);
  }
  const at::Tensor sum = add_branch(spec_.residual_from_norm ? inner : middle, branch, layer.feed_forward_scale);
  return pre ? sum : normalise(sum, layer.feed_forward_norm);
}

at::Tensor Transformer::head(const at::Tensor& x) const {
  at::Tensor y = spec_.final_norm ? normalise(x, final_norm_) : x;
  if (spec_.head_transform) {
    y = normalise(activate(spec_.activation, linear(y, head_transform_)), head_norm_);
  }
  return at::linear(y, head_.weight.defined() ? head_.weight : embedding_, head_.bias);
}

Result<at::Tensor> Transformer::run_whole(const Batch& batch, const Attend& attend) const {
  const std::int64_t size = spec_.is_image() ? batch.pixels.size(0) : batch.ids.size(0);
  position::State state = encoding_->begin(batch.positions, size);
  at::Tensor x = embed(batch, state);
  for (std::int64_t n = 0; n < spec_.layers; ++n) {
    LOCUS_TRY(x, run_layer(n, x, state, attend, nullptr, {}));
  }
  return head(spec_.is_image() ? x.narrow(1, 0, 1) : x);
}

at::Tensor Transformer::forward(const Batch& batch) const {
  return *run_whole(
      batch,
      [&](std::int64_t layer, const position::Prepared& prepared, const at::Tensor& value,
          const at::Tensor& state_values) -> Result<attention::Attended> {
        return attention::attend_whole_map({*encoding_, prepared, layer, value, state_values, mask(layer)});
      });
}

Result<at::Tensor> Transformer::replay(const Batch& batch,
                                       const std::function<Result<at::Tensor>(std::int64_t)>& weights) const {
  return run_whole(
      batch,
      [&](std::int64_t layer, const position::Prepared& prepared, const at::Tensor& value,
          const at::Tensor& state_values) -> Result<attention::Attended> {
        LOCUS_TRY(const at::Tensor map, weights(layer));
        return attention::attend_with({*encoding_, prepared, layer, value, state_values, mask(layer)}, map);
      });
}

Result<Observation> Transformer::observe(const Batch& batch, const ObserveOptions& options) const {
  const at::NoGradGuard no_grad;
  LOCUS_CHECK(encoding_->accepts(batch.positions));
  const std::int64_t size = spec_.is_image() ? batch.pixels.size(0) : batch.ids.size(0);
  Observation observation;
  observation.layers.resize(layers_.size());
  std::optional<Continued> continued;
  if (options.past != nullptr) {
    continued = Continued::begin(spec_, *encoding_, *options.past, batch, options);
  }
  observation.reused = continued ? continued->tokens() : 0;
  const Range rows{observation.reused, batch.positions.size()};
  position::State state = continued ? continued->state() : encoding_->begin(batch.positions, size);
  const Attend attend = [&](std::int64_t layer, const position::Prepared& prepared, const at::Tensor& value,
                            const at::Tensor& state_values) {
    if (options.values) {
      observation.layers[static_cast<std::size_t>(layer)].value = value;
    }
    return attention::attend_streaming({*encoding_, prepared, layer, value, state_values, mask(layer)},
                                       {rows, 0, 0, options.stop});
  };
  const bool all = observation.reused == 0;
  at::Tensor x = embed(all ? batch : Batch{batch.ids.slice(1, rows.begin), {}, state.positions}, state);
  for (std::int64_t n = 0; n < spec_.layers; ++n) {
    report(options.progress, static_cast<double>(n) / static_cast<double>(spec_.layers),
           "layer " + std::to_string(n + 1) + " of " + std::to_string(spec_.layers));
    if (options.stop.stop_requested()) {
      return cancelled();
    }
    LayerRecord& record = observation.layers[static_cast<std::size_t>(n)];
    if (options.hidden) {
      record.hidden = all ? x : continued->hidden(n, x);
    }
    // Of the last layer's output only the rows that the head reads.
    const std::int64_t length = x.size(1);
    const Range read = spec_.is_image() ? Range{0, 1} : options.all_logits ? Range{} : Range{length - 1, length};
    LOCUS_TRY(x, run_layer(n, x, state, attend, &record, n + 1 == spec_.layers ? read : Range{},
                           continued ? &*continued : nullptr));
  }
  observation.logits = head(x);
  observation.rows = continued ? continued->finish() : nullptr;
  return observation;
}

}  // namespace locus::transformer

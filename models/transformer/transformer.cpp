#include "models/transformer/transformer.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <utility>

#include "core/products/linear.h"
#include "models/transformer/check_numbers.h"
#include "models/transformer/continued.h"

namespace locus::transformer {

Status Transformer::accepts(const position::Positions& positions) const {
  for (const LayerEncoding& used : encodings_) {
    LOCUS_CHECK(used.encoding->accepts(positions));
  }
  return {};
}

position::Positions Transformer::positions(std::int64_t length, double start) const {
  return position::Positions::sequence(length, start);
}

position::Positions Transformer::grid_positions(std::int64_t rows, std::int64_t columns) const {
  position::Positions grid = position::Positions::grid(rows, columns, prefix_tokens());
  if (const std::int64_t cell = spec_.image.cell; cell > 1) {
    grid.ids = grid.ids.view({rows / cell, cell, columns / cell, cell, 2}).transpose(1, 2).reshape({-1, 2});
  }
  return grid;
}

std::shared_ptr<const attention::Blocks> Transformer::tiles(const position::Positions& grid) const {
  std::int64_t side = 0;
  for (const LayerSpec& layer : spec_.layers) {
    side = std::max(side, layer.attention.tile);
  }
  if (side == 0) {
    return nullptr;
  }
  const at::Tensor tile = (grid.ids / static_cast<double>(side)).floor().to(at::kLong);  // (T, 2)
  const std::int64_t across = tile.select(1, 1).max().item<std::int64_t>() + 1;
  const at::Tensor of = (tile.select(1, 0) * across + tile.select(1, 1)).contiguous();
  const auto* first = of.data_ptr<std::int64_t>();
  return attention::Blocks::make({first, first + of.numel()}, true);
}

attention::Mask Transformer::mask(const Batch& batch, std::int64_t layer) const {
  attention::Mask mask = block(layer).mask();
  mask.blocks = block(layer).spec().attention.tile > 0 ? batch.tiles : batch.blocks;
  return mask;
}

at::Tensor Transformer::norm(const at::Tensor& x, const NormWeights& weights) const {
  return normalise(x, weights, spec_.norm, spec_.norm_eps);
}

at::Tensor Transformer::patch_places(const Batch& batch, std::int64_t rows, std::int64_t columns) const {
  const ImageStem& image = spec_.image;
  if (!image.position_embedding) {
    return {};
  }
  at::Tensor grid = patch_position_.t().reshape({1, spec_.width, image.rows, image.columns});
  if (rows != image.rows || columns != image.columns) {
    grid = at::upsample_bicubic2d(grid, {rows, columns}, false);
  }
  // Patches that were moved have the embedding of where they stand.
  const at::Tensor ids = batch.positions.ids.slice(0, batch.positions.prefix);
  const at::Tensor places = (ids.select(1, 0) * static_cast<double>(columns) + ids.select(1, 1)).to(at::kLong);
  if (!at::equal(places, at::arange(places.size(0), at::kLong))) {
    grid = grid.flatten(2).index_select(2, places.to(grid.device())).view(grid.sizes());
  }
  return grid;
}

at::Tensor Transformer::embed_patches(const Batch& batch) const {
  const at::Tensor patches = linear(batch.pixels, {patch_.weight.flatten(1), patch_.bias});
  return spec_.image.patch_norm ? norm(patches, patch_norm_) : patches;
}

namespace {

// (1 or B, N, C).
at::Tensor of_batch(const at::Tensor& vectors) {
  return vectors.dim() == 2 ? vectors.unsqueeze(0) : vectors;
}

}  // namespace

at::Tensor Transformer::with_images(const Batch& batch, std::int64_t first, at::Tensor x) {
  if (batch.images == nullptr) {
    return x;
  }
  const ImageRows& images = *batch.images;
  const at::Tensor own = images.tokens.ge(first).logical_and(images.tokens.lt(first + x.size(1))).nonzero().flatten();
  return x.index_copy(1, images.tokens.index_select(0, own) - first, of_batch(images.vectors).index_select(1, own));
}

at::Tensor Transformer::with_images_after(const Batch& batch, std::int64_t layer, std::int64_t first, at::Tensor x) {
  if (batch.images == nullptr || layer >= static_cast<std::int64_t>(batch.images->added.size())) {
    return x;
  }
  const ImageRows& images = *batch.images;
  const at::Tensor own = images.tokens.ge(first).logical_and(images.tokens.lt(first + x.size(1))).nonzero().flatten();
  return x.index_add(1, images.tokens.index_select(0, own) - first,
                     of_batch(images.added[static_cast<std::size_t>(layer)]).index_select(1, own));
}

at::Tensor Transformer::convolved(const at::Tensor& entered, std::int64_t layer, Range rows, at::Tensor x) const {
  const Convolution& form = spec_.convolution;
  if (form.kernel == 0 || layer != 0) {
    return x;
  }
  const at::Tensor found =
      at::conv1d(entered.transpose(1, 2), convolution_.weight, convolution_.bias, 1, form.kernel / 2, 1, form.groups)
          .transpose(1, 2);
  const at::Tensor read = rows.empty() ? found : found.slice(1, rows.begin, rows.end);
  return norm(x + activate(form.activation, read), convolution_norm_);
}

at::Tensor Transformer::embed_image(const Batch& batch) const {
  const ImageStem& image = spec_.image;
  if (image.frames > 0) {
    return embed_patches(batch);
  }
  at::Tensor patches = at::conv2d(batch.pixels, patch_.weight, patch_.bias, image.patch);
  if (const at::Tensor grid = patch_places(batch, patches.size(2), patches.size(3)); grid.defined()) {
    patches = patches + grid;
  }
  std::vector<at::Tensor> parts;
  for (const at::Tensor* token : {&class_token_, &distillation_token_}) {
    if (token->defined()) {
      parts.push_back(token->expand({patches.size(0), 1, spec_.width}));
    }
  }
  if (register_tokens_.defined()) {
    parts.push_back(register_tokens_.unsqueeze(0).expand({patches.size(0), -1, -1}));
  }
  parts.push_back(patches.flatten(2).transpose(1, 2));
  return at::cat(parts, 1);
}

std::vector<position::State> Transformer::begin(const position::Positions& positions, std::int64_t batch) const {
  std::vector<position::State> states;
  for (const LayerEncoding& used : encodings_) {
    states.push_back(used.encoding->begin(positions, batch));
  }
  return states;
}

at::Tensor Transformer::embed(const Batch& batch, const std::vector<position::State>& states,
                              std::int64_t first) const {
  // What stands for a picture may have an id behind the vocabulary.
  const at::Tensor ids = batch.images ? batch.ids.clamp_max(spec_.vocabulary - 1) : batch.ids;
  at::Tensor x = spec_.is_image() ? embed_image(batch) : products::rows(embedding_, ids);
  if (spec_.embedding_scale != 1) {
    x = x * spec_.embedding_scale;
  }
  x = with_images(batch, first, std::move(x));
  if (token_type_.defined()) {
    x = x + token_type_.select(0, 0);
  }
  for (std::size_t n = 0; n < states.size(); ++n) {
    if (const at::Tensor position = encodings_[n].encoding->embed(states[n]); position.defined()) {
      x = x + position;
    }
  }
  return enter(x);
}

at::Tensor Transformer::embedded(const at::Tensor& ids) const {
  at::Tensor x = products::rows(embedding_, ids);
  if (spec_.embedding_scale != 1) {
    x = x * spec_.embedding_scale;
  }
  return token_type_.defined() ? x + token_type_.select(0, 0) : x;
}

at::Tensor Transformer::placed(const position::Positions& positions) const {
  at::Tensor sum;
  for (const LayerEncoding& used : encodings_) {
    if (const at::Tensor own = used.encoding->embed(used.encoding->begin(positions, 1)); own.defined()) {
      sum = sum.defined() ? sum + own : own;
    }
  }
  return sum;
}

at::Tensor Transformer::widened(const at::Tensor& x) const {
  return spec_.embedding_width > 0 ? linear(x, embedding_projection_) : x;
}

at::Tensor Transformer::enter(const at::Tensor& x) const {
  return widened(spec_.embedding_norm ? norm(x, embedding_norm_) : x);
}

std::shared_ptr<const position::PositionEncoding> Transformer::encoding_of(const Batch& batch,
                                                                           std::int64_t layer) const {
  const auto own = batch.edits ? (*batch.edits)[static_cast<std::size_t>(layer)].encoding : nullptr;
  return own ? own : layer_encoding(layer);
}

at::Tensor Transformer::sinks_of(const Batch& batch, std::int64_t layer) const {
  const at::Tensor& own = block(layer).weights().sinks;
  return batch.edits ? (*batch.edits)[static_cast<std::size_t>(layer)].sinks(own) : own;
}

double Transformer::soft_cap_of(const Batch& batch, std::int64_t layer) const {
  const bool edited = batch.edits && (*batch.edits)[static_cast<std::size_t>(layer)].encoding;
  return edited ? 0 : block(layer).spec().attention.soft_cap;
}

attention::Attention Transformer::attention(const Batch& batch, std::int64_t layer, const position::Prepared& prepared,
                                            const at::Tensor& value, const at::Tensor& state_values) const {
  const bool edited = batch.edits && (*batch.edits)[static_cast<std::size_t>(layer)].encoding;
  const position::PositionEncoding& encoding =
      edited ? *(*batch.edits)[static_cast<std::size_t>(layer)].encoding : *layer_encoding(layer);
  return {encoding,     prepared,           encoding_layer(layer),     value,
          state_values, mask(batch, layer), soft_cap_of(batch, layer), sinks_of(batch, layer)};
}

attention::Attended Transformer::edited(const Batch& batch, std::int64_t layer, attention::Attended attended) {
  if (batch.edits) {
    (*batch.edits)[static_cast<std::size_t>(layer)].change_output(attended);
  }
  return attended;
}

attention::Attention Transformer::cross_attention(std::int64_t layer, const position::Prepared& prepared,
                                                  const at::Tensor& value) const {
  static const at::Tensor nothing;
  return {*cross_encoding_, prepared, layer, value, nothing, attention::Mask{false}};
}

Range Transformer::read_tokens(std::int64_t length, const ObserveOptions& options) const {
  if (spec_.is_image()) {
    return spec_.head && spec_.pool == Pool::kClass ? Range{0, 1} : Range{};
  }
  if (!options.read.empty()) {
    return options.read;
  }
  return options.all_logits || !spec_.head || spec_.token_score ? Range{} : Range{length - 1, length};
}

at::Tensor Transformer::pooled(const at::Tensor& x) const {
  const at::Tensor patches = x.slice(1, prefix_tokens());
  switch (spec_.pool) {
    case Pool::kClass:
      return x.narrow(1, 0, 1);
    case Pool::kPatches:
      return patches.mean(1, true);
    case Pool::kAll:
      return x.mean(1, true);
    case Pool::kClassAndPatches:
      return at::cat({x.narrow(1, 0, 1), patches.mean(1, true)}, -1);
    case Pool::kTwoHeads:
      break;
  }
  return x.narrow(1, 0, 2);
}

at::Tensor Transformer::head(const at::Tensor& x) const {
  at::Tensor y = spec_.final_norm && !spec_.norm_after_pool ? norm(x, final_norm_) : x;
  if (!spec_.head) {
    return y;
  }
  if (spec_.is_image()) {
    y = pooled(y);
    y = spec_.final_norm && spec_.norm_after_pool ? norm(y, final_norm_) : y;
    if (spec_.pool == Pool::kTwoHeads) {
      return (linear(y.narrow(1, 0, 1), head_) + linear(y.narrow(1, 1, 1), distillation_head_)) / 2;
    }
  }
  if (spec_.head_transform) {
    const Activation own = spec_.head_transform_gelu ? Activation::kGelu : spec_.first().feed_forward.activation;
    y = activate(own, linear(y, head_transform_));
    y = spec_.head_transform_norm ? norm(y, head_norm_) : y;
  }
  at::Tensor logits = linear(y, {head_.weight.defined() ? head_.weight : embedding_, head_.bias});
  if (spec_.logit_scale != 1) {
    logits = logits * spec_.logit_scale;
  }
  return spec_.logit_cap > 0 ? at::tanh(logits / spec_.logit_cap) * spec_.logit_cap : logits;
}

Result<at::Tensor> Transformer::run_whole(const Batch& batch, const Attend& attend, const Attend& cross,
                                          std::vector<at::Tensor>* entering) const {
  const std::int64_t size = spec_.is_image() ? batch.pixels.size(0) : batch.ids.size(0);
  std::vector<position::State> states = begin(batch.positions, size);
  at::Tensor x = embed(batch, states);
  const at::Tensor entered = spec_.convolution.kernel > 0 ? x : at::Tensor();
  for (const Block& layer : blocks_) {
    const std::int64_t n = layer.index();
    if (entering != nullptr) {
      entering->push_back(x);
    }
    const auto encoding = encoding_of(batch, n);
    LayerRun run{*encoding, encoding_layer(n), states[static_cast<std::size_t>(slot(n))], attend};
    std::optional<CrossRun> looked;
    if (cross_encoding_) {
      run.cross = &looked.emplace(CrossRun{*cross_encoding_, batch.memory, cross});
    }
    LOCUS_TRY(x, layer(x, run));
    x = convolved(entered, n, {}, std::move(x));
    x = with_images_after(batch, n, 0, std::move(x));
  }
  return head(x);
}

at::Tensor Transformer::forward(const Batch& batch) const {
  const Attend own = [&](std::int64_t layer, const position::Prepared& prepared, const at::Tensor& value,
                         const at::Tensor& state_values) -> Result<attention::Attended> {
    return edited(batch, layer, attention::attend_whole_map(attention(batch, layer, prepared, value, state_values)));
  };
  const Attend cross = [&](std::int64_t layer, const position::Prepared& prepared, const at::Tensor& value,
                           const at::Tensor& /*state_values*/) -> Result<attention::Attended> {
    return attention::attend_whole_map(cross_attention(layer, prepared, value));
  };
  return *run_whole(batch, own, cross);
}

Result<at::Tensor> Transformer::replay(const Batch& batch, const GivenWeights& weights,
                                       const GivenWeights& cross_weights) const {
  const Attend own = [&](std::int64_t layer, const position::Prepared& prepared, const at::Tensor& value,
                         const at::Tensor& state_values) -> Result<attention::Attended> {
    LOCUS_TRY(const at::Tensor map, weights(layer));
    return edited(batch, layer, attention::attend_with(attention(batch, layer, prepared, value, state_values), map));
  };
  const Attend cross = [&](std::int64_t layer, const position::Prepared& prepared, const at::Tensor& value,
                           const at::Tensor& /*state_values*/) -> Result<attention::Attended> {
    LOCUS_TRY(const at::Tensor map, cross_weights(layer));
    return attention::attend_with(cross_attention(layer, prepared, value), map);
  };
  return run_whole(batch, own, cross);
}

Result<at::Tensor> Transformer::replay_states(const Batch& batch, const GivenWeights& weights,
                                              std::vector<at::Tensor>& states) const {
  const Attend own = [&](std::int64_t layer, const position::Prepared& prepared, const at::Tensor& value,
                         const at::Tensor& state_values) -> Result<attention::Attended> {
    const attention::Attention all = attention(batch, layer, prepared, value, state_values);
    if (!weights) {
      return attention::attend_whole_map(all);
    }
    LOCUS_TRY(const at::Tensor map, weights(layer));
    return attention::attend_with(all, map);
  };
  return run_whole(batch, own, {}, &states);
}

at::Tensor Transformer::reuse_layers(const ReusedLayers& reused, std::vector<position::State>& states,
                                     Observation& observation) const {
  const auto first = static_cast<std::int64_t>(reused.layers.size());
  std::copy(reused.layers.begin(), reused.layers.end(), observation.layers.begin());
  observation.kept_layers = first;
  // Each encoding's state is what enters the next layer that has it.
  for (std::int64_t n = spec_.depth() - 1; n >= first; --n) {
    states[static_cast<std::size_t>(slot(n))] = reused.after[static_cast<std::size_t>(n - first)];
  }
  return reused.hidden;
}

namespace {

// Says how far a run is: layers by their number, and within each how much of its work is done.
class LayerClock {
 public:
  LayerClock(const Spec& spec, std::int64_t length, const ObserveOptions& options)
      : depth_(spec.depth()), options_(options) {
    const double tokens = static_cast<double>(length) * multiply_accumulates(spec, 1);
    const double cells = std::max(multiply_accumulates(spec, length) - tokens, 0.0);
    share_ = cells / std::max(cells + tokens, 1.0);
  }

  void begin(std::int64_t layer) const { say(layer, 0); }
  Progress within(std::int64_t layer) const {
    if (!options_.progress && !options_.pause) {
      return {};
    }
    return [this, layer](const ProgressReport& news) {
      say(layer, (1 - share_) * kBeforeAttention + share_ * news.fraction);
    };
  }

 private:
  static constexpr double kBeforeAttention = 0.25;  // of a layer's products: 3C² of some 12C² make q, k and v

  void say(std::int64_t layer, double part) const {
    report(options_.progress, (static_cast<double>(layer) + part) / static_cast<double>(depth_),
           "layer " + std::to_string(layer + 1) + " of " + std::to_string(depth_));
    if (options_.pause) {
      options_.pause();
    }
  }

  std::int64_t depth_;
  const ObserveOptions& options_;
  double share_ = 0;  // of attention
};

}  // namespace

namespace {

// The tokens of a batch from `first` on, at these positions.
Batch later_tokens(const Batch& batch, std::int64_t first, const position::Positions& positions) {
  Batch later;
  later.ids = batch.ids.slice(1, first);
  later.positions = positions;
  later.images = batch.images;
  return later;
}

}  // namespace

Result<Observation> Transformer::observe(const Batch& batch, const ObserveOptions& options) const {
  const at::NoGradGuard no_grad;
  LOCUS_CHECK(accepts(batch.positions));
  const std::int64_t size = spec_.is_image() ? batch.pixels.size(0) : batch.ids.size(0);
  Observation observation;
  observation.layers.resize(blocks_.size());
  observation.cross.resize(cross_encoding_ ? blocks_.size() : 0);
  std::optional<Continued> continued;
  if (options.reused_tokens != nullptr && !batch.edits && options.reused_layers == nullptr) {
    continued = Continued::begin(*this, *options.reused_tokens, batch, options);
  }
  observation.reused = continued ? continued->tokens() : 0;
  const Range rows{observation.reused, batch.positions.size()};
  std::vector<position::State> states = continued ? continued->states() : begin(batch.positions, size);
  const LayerClock clock(spec_, batch.positions.size(), options);
  const Attend attend = [&](std::int64_t layer, const position::Prepared& prepared, const at::Tensor& value,
                            const at::Tensor& state_values) -> Result<attention::Attended> {
    if (options.values) {
      observation.layers[static_cast<std::size_t>(layer)].value = value;
    }
    LOCUS_TRY(attention::Attended attended,
              attention::attend_streaming(attention(batch, layer, prepared, value, state_values),
                                          {rows, 0, 0, options.stop, clock.within(layer)}));
    return edited(batch, layer, std::move(attended));
  };
  const Attend look = [&](std::int64_t layer, const position::Prepared& prepared, const at::Tensor& value,
                          const at::Tensor& /*state_values*/) {
    return attention::attend_streaming(cross_attention(layer, prepared, value), {{}, 0, 0, options.stop});
  };
  const bool all = observation.reused == 0;
  at::Tensor x =
      options.reused_layers != nullptr
          ? reuse_layers(*options.reused_layers, states, observation)
          : embed(all ? batch : later_tokens(batch, rows.begin, states.front().positions), states, rows.begin);
  const at::Tensor entered = spec_.convolution.kernel > 0 ? x : at::Tensor();
  const std::int64_t depth = spec_.depth();
  LOCUS_CHECK(check_numbers("embedding", x, rows.begin));
  const Range read = read_tokens(x.size(1), options);
  observation.writes.resize(options.writes ? blocks_.size() : 0);
  const auto written = [&](std::int64_t n) -> LayerWrites* {
    if (!options.writes) {
      return nullptr;
    }
    LayerWrites& own = observation.writes[static_cast<std::size_t>(n)];
    own.rows = read;
    return &own;
  };
  for (const Block& layer : blocks_) {
    const std::int64_t n = layer.index();
    if (n < observation.kept_layers) {
      continue;
    }
    clock.begin(n);
    if (options.stop.stop_requested()) {
      return cancelled();
    }
    LayerRecord& record = observation.layers[static_cast<std::size_t>(n)];
    if (options.hidden) {
      record.hidden = all ? x : continued->hidden(n, x);
    }
    // The last layer computes only the rows that the head reads, unless all tokens' experts are asked for, or where
    // they look at an encoder.
    const bool all_rows = options.routing || cross_encoding_ != nullptr;
    const Range left = n + 1 == depth ? read : Range{};
    std::optional<CrossRun> looked;
    if (cross_encoding_) {
      looked.emplace(CrossRun{*cross_encoding_, batch.memory, look, &observation.cross[static_cast<std::size_t>(n)]});
    }
    const auto encoding = encoding_of(batch, n);
    LOCUS_TRY(x, layer(x, {*encoding, encoding_layer(n), states[static_cast<std::size_t>(slot(n))], attend, &record,
                           all_rows ? Range{} : left, continued ? &*continued : nullptr,
                           options.routing ? &record.routing : nullptr, looked ? &*looked : nullptr, written(n)}));
    x = all_rows && !left.empty() ? x.slice(1, left.begin, left.end) : x;
    x = convolved(entered, n, left, std::move(x));
    x = with_images_after(batch, n, rows.begin + (n + 1 == depth ? left.begin : 0), std::move(x));
    const std::string name = "layer " + std::to_string(n);
    LOCUS_CHECK(check_sums(name, record.log_sum_exp));
    LOCUS_CHECK(check_numbers(name, x, rows.begin + (n + 1 == depth ? left.begin : 0)));
    if (options.layer_done && !continued) {
      options.layer_done(observation, n);
    }
  }
  observation.stream = options.writes ? x : at::Tensor();
  observation.logits = head(x);
  LOCUS_CHECK(check_logits(observation.logits));
  observation.rows = continued ? continued->finish() : nullptr;
  return observation;
}

}  // namespace locus::transformer

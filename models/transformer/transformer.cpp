#include "models/transformer/transformer.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "core/position/shared/initial.h"
#include "core/products/packed.h"
#include "models/transformer/check_numbers.h"
#include "models/transformer/continued.h"
#include "models/transformer/windows.h"

namespace locus::transformer {

Result<std::unique_ptr<Transformer>> Transformer::create(const Spec& spec, bool fresh, std::uint64_t seed) {
  LOCUS_CHECK(validate(spec));
  auto model = std::unique_ptr<Transformer>(new Transformer(spec));
  if (fresh) {
    at::manual_seed(seed);
    LOCUS_TRY(model->encodings_, LayerEncodings::create(spec));
    LOCUS_CHECK(model->stem_.make_stages());
  } else {
    const position::OutlineScope shapes_only;
    LOCUS_TRY(model->encodings_, LayerEncodings::create(spec));
    LOCUS_CHECK(model->stem_.make_stages());
  }
  for (std::int64_t n = 0; n < spec.depth(); ++n) {
    model->blocks_.emplace_back(spec, n);
  }
  if (fresh) {
    model->initialise();
  }
  return model;
}

std::vector<Parameter> Transformer::parameters() {
  ParameterList list(*spec_);
  stem_.collect(list);
  for (Block& block : blocks_) {
    list.layer("layers." + std::to_string(block.index()) + ".", block);
  }
  if (const Convolution& form = spec_->convolution; form.kernel > 0) {
    list.tensor("convolution.weight", {spec_->width, spec_->width / form.groups, form.kernel}, convolution_.weight);
    list.tensor("convolution.bias", {spec_->width}, convolution_.bias);
    list.norm("convolution_norm", spec_->width, convolution_norm_);
  }
  if (spec_->has_rounds()) {
    list.tensor("low_state", {spec_->width}, low_state_);
  }
  head_.collect(list);
  encodings_.collect(list);
  return list.take();
}

void Transformer::initialise() {
  const at::NoGradGuard no_grad;
  const double residual = 1.0 / std::sqrt(2.0 * static_cast<double>(spec_->depth()));
  for (const Parameter& parameter : parameters()) {
    if (parameter.name.rfind("position.", 0) == 0) {
      continue;  // the encoding has initialised its own
    }
    at::Tensor& value = *parameter.value;
    const bool norm = parameter.name.find("norm.") != std::string::npos;
    if (parameter.name.ends_with("bias")) {
      value = at::zeros(parameter.shape);
    } else if (norm || parameter.name.ends_with("_scale") || parameter.name.ends_with("_stream")) {
      value = at::ones(parameter.shape);
    } else {
      const bool into_residual = parameter.name.ends_with("output.weight") || parameter.name.ends_with("down.weight");
      value = at::randn(parameter.shape).mul_(into_residual ? 0.02 * residual : 0.02);
    }
  }
  for (Block& block : blocks_) {
    if (block.mixer() != nullptr) {
      block.mixer()->initialise();
    }
  }
}

void Transformer::to(at::Device device) {
  for (const Parameter& parameter : parameters()) {
    if (parameter.value->defined()) {
      const at::Tensor& value = *parameter.value;
      *parameter.value = device.is_cpu() && products::packed_of(value) ? value : products::dense(value).to(device);
    }
  }
}

void Transformer::use_fast_products() {
  for (const Parameter& parameter : parameters()) {
    *parameter.value = products::with_fast_products(*parameter.value);
  }
}

Spec full_spec(const Transformer& model) {
  Spec spec = model.spec();
  for (std::size_t n = 0; n < spec.encodings.size(); ++n) {
    spec.encodings[n].options = model.encodings()[n].encoding->settings();
  }
  return spec;
}

position::Positions Transformer::positions(std::int64_t length, double start) const {
  return encoding().evaluation_positions(position::Positions::sequence(length, start));
}

position::Positions Transformer::grid_positions(std::int64_t rows, std::int64_t columns) const {
  position::Positions grid = position::Positions::grid(rows, columns, prefix_tokens(), suffix_tokens());
  if (const std::int64_t cell = spec_->image.cell; cell > 1) {
    grid.ids = grid.ids.view({rows / cell, cell, columns / cell, cell, 2}).transpose(1, 2).reshape({-1, 2});
  }
  return grid;
}

std::shared_ptr<const attention::Blocks> Transformer::tiles(const position::Positions& grid) const {
  std::int64_t side = 0;
  for (const LayerSpec& layer : spec_->layers) {
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
  if (const ImageStem& image = spec_->image; image.stages != Stages::kNone && block(layer).spec().attention.tile > 0) {
    // Windows are of the patches as they stand in the picture, wherever an edit says that they are.
    const bool given = batch.pixels.defined();
    const std::int64_t rows = given ? batch.pixels.size(2) / image.patch : image.rows;
    const std::int64_t columns = given ? batch.pixels.size(3) / image.patch : image.columns;
    return block(layer).mask().with(
        attention::Blocks::make(windows_of(block(layer).spec().attention, image.stages, rows, columns), true));
  }
  return block(layer).mask().with(block(layer).spec().attention.tile > 0 ? batch.tiles : batch.blocks);
}

at::Tensor Transformer::convolved(const at::Tensor& entered, std::int64_t layer, Range rows, at::Tensor x) const {
  const Convolution& form = spec_->convolution;
  if (form.kernel == 0 || layer != 0) {
    return x;
  }
  const at::Tensor found =
      at::conv1d(entered.transpose(1, 2), convolution_.weight, convolution_.bias, 1, form.kernel / 2, 1, form.groups)
          .transpose(1, 2);
  const at::Tensor read = rows.empty() ? found : found.slice(1, rows.begin, rows.end);
  return normalise(x + activate(form.activation, read), convolution_norm_, spec_->norm, spec_->norm_eps);
}

at::Tensor Transformer::positioned(const Batch& batch, std::int64_t layer, at::Tensor x) const {
  const at::Tensor own = encodings_.after_layer(layer, batch.positions);
  return own.defined() ? x + own.to(x.device()) : x;
}

at::Tensor Transformer::layer_input(std::int64_t layer, const at::Tensor& ids, const at::Tensor& entered) const {
  return spec_->layer_inputs.width > 0 ? stem_.layer_input(layer, ids, entered) : at::Tensor();
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

namespace {

// The outcome of an attention with the batch's edits of that layer applied.
attention::Attended edited(const Batch& batch, std::int64_t layer, attention::Attended attended) {
  if (batch.edits) {
    (*batch.edits)[static_cast<std::size_t>(layer)].change_output(attended);
  }
  return attended;
}

const MixerEdit* mixer_edit(const Batch& batch, std::int64_t layer) {
  return batch.edits ? (*batch.edits)[static_cast<std::size_t>(layer)].mixer.get() : nullptr;
}

}  // namespace

attention::Attention Transformer::cross_attention(std::int64_t layer, const position::Prepared& prepared,
                                                  const at::Tensor& value) const {
  static const at::Tensor nothing;
  return {*encodings_.cross(), prepared, layer, value, nothing, attention::Mask{false}};
}

Status Transformer::accepts(const position::Positions& positions) const {
  if (spec_->all_seen > 0 && positions.size() > spec_->all_seen) {
    return unsupported("expected at most " + std::to_string(spec_->all_seen) + " tokens, found " +
                       std::to_string(positions.size()) +
                       ": in longer texts this model chooses the keys of each query, which Locus does not compute");
  }
  return encodings_.accepts(positions);
}

namespace {

// The states of a model whose layers run in rounds (spec.h); of others, what enters and leaves a layer.
class Rounds {
 public:
  Rounds(const Spec& spec, const at::Tensor& low, const at::Tensor& embedded) : eps_(spec.norm_eps) {
    if (spec.has_rounds()) {
      low_ = low.expand_as(embedded);
      high_ = embedded;
    }
  }

  at::Tensor entering(const LayerSpec& layer, at::Tensor x) const {
    return layer.begins_round() ? low_ + high_ : std::move(x);
  }
  at::Tensor leaving(const LayerSpec& layer, at::Tensor x) {
    if (!layer.ends_low() && !layer.ends_high()) {
      return x;
    }
    at::Tensor& state = layer.ends_low() ? low_ : high_;
    return state = normalise(x, {}, Norm::kRms, eps_);
  }

 private:
  double eps_;
  at::Tensor low_, high_;
};

}  // namespace

Range Transformer::read_tokens(std::int64_t length, const ObserveOptions& options) const {
  if (spec_->is_image()) {
    return spec_->head && spec_->pool == Pool::kClass ? Range{0, 1} : Range{};
  }
  if (!options.read.empty()) {
    return options.read;
  }
  return options.all_logits || !spec_->head || spec_->token_score ? Range{} : Range{length - 1, length};
}

Result<at::Tensor> Transformer::run_whole(const Batch& batch, const Attend& attend, const Attend& cross,
                                          std::vector<at::Tensor>* entering) const {
  std::vector<position::State> states = encodings_.states(batch.positions, batch.size());
  at::Tensor x = stem_.embed(batch, encodings_, states);
  const at::Tensor entered = x;
  SharedKeys shared(blocks_.size());
  Rounds rounds(*spec_, low_state_, x);
  for (const Block& layer : blocks_) {
    const std::int64_t n = layer.index();
    x = rounds.entering(layer.spec(), std::move(x));
    if (entering != nullptr) {
      entering->push_back(x);
    }
    const auto encoding = encoding_of(batch, n);
    LayerRun run{*encoding, encoding_layer(n), states[static_cast<std::size_t>(encodings_.slot(n))], attend};
    std::optional<CrossRun> looked;
    if (encodings_.cross()) {
      run.cross = &looked.emplace(CrossRun{*encodings_.cross(), batch.memory, cross});
    }
    run.shared = &shared;
    run.input = layer_input(n, batch.ids, entered);
    run.mixer_edit = mixer_edit(batch, n);
    LOCUS_TRY(x, layer(x, run));
    x = convolved(entered, n, {}, std::move(x));
    x = positioned(batch, n, std::move(x));
    x = batch.with_images_after(n, 0, std::move(x));
    x = rounds.leaving(layer.spec(), std::move(x));
  }
  return head_(x);
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
                                     SharedKeys& shared, Observation& observation) const {
  const auto first = static_cast<std::int64_t>(reused.layers.size());
  std::copy(reused.layers.begin(), reused.layers.end(), observation.layers.begin());
  observation.kept_layers = first;
  for (std::int64_t n = 0; n < first; ++n) {
    if (spec_->is_source(n)) {
      const LayerRecord& record = reused.layers[static_cast<std::size_t>(n)];
      const position::Prepared& prepared = record.prepared;
      position::Projections& own = shared[static_cast<std::size_t>(n)];
      own.key = prepared.content_key.defined() ? prepared.content_key : prepared.key;
      own.value = record.value;
    }
  }
  // Each encoding's state is the input of the next layer that attends with it.
  for (std::int64_t n = spec_->depth() - 1; n >= first; --n) {
    if (!block(n).spec().attends) {
      continue;
    }
    states[static_cast<std::size_t>(encodings_.slot(n))] = reused.after[static_cast<std::size_t>(n - first)];
  }
  return reused.hidden;
}

namespace {

// Reports the progress of a run: the layer, and within it the fraction of its work.
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
  static constexpr double kBeforeAttention = 0.25;  // share of q, k and v in a layer's products: 3C² of about 12C²

  void say(std::int64_t layer, double part) const {
    report(options_.progress, (static_cast<double>(layer) + part) / static_cast<double>(depth_),
           "layer " + std::to_string(layer + 1) + " of " + std::to_string(depth_));
    if (options_.pause) {
      options_.pause();
    }
  }

  std::int64_t depth_;
  const ObserveOptions& options_;
  double share_ = 0;  // attention's share of a layer
};

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
  const at::AutoDispatchBelowADInplaceOrView no_graph;  // skips the dispatch of gradients
  LOCUS_CHECK(accepts(batch.positions));
  Observation observation;
  observation.layers.resize(blocks_.size());
  observation.cross.resize(encodings_.cross() ? blocks_.size() : 0);
  std::optional<Continued> continued;
  if (options.reused_tokens != nullptr && !batch.edits && options.reused_layers == nullptr) {
    continued = Continued::begin(*this, *options.reused_tokens, batch, options);
  }
  observation.reused = continued ? continued->tokens() : 0;
  const Range rows{observation.reused, batch.positions.size()};
  std::vector<position::State> states =
      continued ? continued->states() : encodings_.states(batch.positions, batch.size());
  const LayerClock clock(*spec_, batch.positions.size(), options);
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
  SharedKeys shared(blocks_.size());
  const Batch given = all ? batch : later_tokens(batch, rows.begin, states.front().positions);
  at::Tensor x;
  // A later round reads the states that earlier layers left, which are not kept.
  const ReusedLayers* const reused = spec_->has_rounds() ? nullptr : options.reused_layers;
  if (reused != nullptr) {
    x = reuse_layers(*reused, states, shared, observation);
  } else {
    x = stem_.embed(given, encodings_, states, rows.begin);
  }
  // The embeddings are read again by a convolution and by the inputs of layers. Without gradients a layer overwrites
  // only what it has made itself.
  const bool read_again = spec_->convolution.kernel > 0 || spec_->layer_inputs.width > 0;
  const at::Tensor entered = !read_again         ? at::Tensor()
                             : reused == nullptr ? x
                                                 : stem_.embed(given, encodings_, states, rows.begin);
  const std::int64_t depth = spec_->depth();
  LOCUS_CHECK(check_numbers("embedding", x, rows.begin));
  const Range read = read_tokens(x.size(1), options);
  observation.writes.resize(options.writes ? blocks_.size() : 0);
  const auto written = [&](std::int64_t n) -> LayerWrites* {
    if (!options.writes) {
      return nullptr;
    }
    LayerWrites& own = observation.writes[static_cast<std::size_t>(n)];
    own.rows = spec_->is_image() && !options.read.empty() ? options.read : read;
    return &own;
  };
  Rounds rounds(*spec_, low_state_, x);
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
    x = rounds.entering(layer.spec(), std::move(x));
    if (options.hidden || (options.values && spec_->shifts())) {
      record.hidden = all ? x : continued->hidden(n, x);
    }
    // The last layer computes only the rows that the head reads, except with routing of all tokens, cross-attention,
    // experts that take some tokens alone, or convolutions, which read the tokens before.
    const bool all_rows = options.routing || encodings_.cross() != nullptr ||
                          layer.spec().feed_forward.experts.capacity > 0 || layer.spec().convolution > 0;
    const Range left = n + 1 == depth ? read : Range{};
    std::optional<CrossRun> looked;
    if (encodings_.cross()) {
      looked.emplace(
          CrossRun{*encodings_.cross(), batch.memory, look, &observation.cross[static_cast<std::size_t>(n)]});
    }
    const auto encoding = encoding_of(batch, n);
    LOCUS_TRY(x, layer(x, {*encoding, encoding_layer(n), states[static_cast<std::size_t>(encodings_.slot(n))], attend,
                           &record, all_rows ? Range{} : left, continued ? &*continued : nullptr,
                           options.routing ? &record.routing : nullptr, looked ? &*looked : nullptr, written(n),
                           &shared, layer_input(n, given.ids, entered), options.values, mixer_edit(batch, n)}));
    x = all_rows && !left.empty() ? x.slice(1, left.begin, left.end) : x;
    x = convolved(entered, n, left, std::move(x));
    x = positioned(given, n, std::move(x));
    x = batch.with_images_after(n, rows.begin + (n + 1 == depth ? left.begin : 0), std::move(x));
    x = rounds.leaving(layer.spec(), std::move(x));
    const std::string name = "layer " + std::to_string(n);
    LOCUS_CHECK(check_sums(name, record.log_sum_exp, rows.begin));
    LOCUS_CHECK(check_numbers(name, x, rows.begin + (n + 1 == depth ? left.begin : 0)));
    if (options.layer_done && !continued) {
      LOCUS_CHECK(options.layer_done(observation, n));
    }
    if (!options.keep_layers) {
      std::shared_ptr<const mixers::ImpliedMap> implied = std::move(record.implied);
      record = {};
      record.implied = std::move(implied);
    }
  }
  observation.stream = options.writes || options.before_head ? x : at::Tensor();
  if (!options.before_head) {
    observation.logits = head_(x);
    LOCUS_CHECK(check_logits(observation.logits));
  }
  observation.rows = continued ? continued->finish() : nullptr;
  return observation;
}

}  // namespace locus::transformer

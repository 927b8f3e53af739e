#include "core/position/tape/tape.h"

#include <cmath>
#include <string>
#include <utility>

#include "core/position/shared/fresh_weights.h"

namespace locus::position {
namespace {

// A new linear layer's weights as PyTorch draws them: uniform in ±1/√inputs.
at::Tensor linear_weights(const std::vector<std::int64_t>& sizes, std::int64_t inputs) {
  const double bound = 1.0 / std::sqrt(static_cast<double>(inputs));
  return initial(sizes, [&] { return (at::rand(sizes) * 2 - 1) * bound; });
}

}  // namespace

const Description& Tape::about() {
  static const Description description{
      .name = "tape",
      .title = "Contextualised equivariant position encoding (TAPE)",
      .paper = "Zhu et al. 2025, arXiv:2501.00712",
      .equation = "Σ_m q_imᵀ e_im e_jmᵀ k_jm/√D; every layer e += ẽ·s + W2 ψ(x) W1ᵀ e, ẽ_i = Σ_j A_ij e_j",
      .content = "unrotated q·k/√D, as if Δ = 0",
      .parameters = {{"layers.N.post_attention_linear", "(H, H)", "model: s_h is the sum of row h; zero at first"},
                     {"layers.N.pe.up_proj", "(I, F)", "model: e to I gated numbers; zero at first. F = H when shared"},
                     {"layers.N.pe.x_proj", "(I, C)", "model: the gates from the feed-forward's output"},
                     {"layers.N.pe.down_proj", "(F, I)", "model: back to e"},
                     {"layers.N.pe.w1", "(F, I)", "paper: W1 of Eq. 8; F = H, or (H, M·L, I) in full"},
                     {"layers.N.pe.w2", "(F, I)", "paper: W2 of Eq. 8; zero at first"},
                     {"layers.N.pe.psi.w1", "(P, C)", "paper: first layer of ψ"},
                     {"layers.N.pe.psi.b1", "(P)", "paper: its bias"},
                     {"layers.N.pe.psi.w2", "(I, P)", "paper: second layer of ψ"},
                     {"layers.N.pe.psi.b2", "(I)", "paper: its bias"}},
      .options = TapeOptions::described(),
      .rotates = true,
      .updates = true,
      .has_dot_product = true,
      .has_waves = true,
      .waves_where = {"start", "rope"},
      .begins_as = "rope",
      .taken_over = {"base", "layout"},
  };
  return description;
}

Result<std::unique_ptr<PositionEncoding>> Tape::make(const Settings& options, const ModelShape& shape) {
  LOCUS_TRY(TapeOptions typed, TapeOptions::from(options));
  LOCUS_TRY(const TapeBlocks blocks, typed.blocks(shape));
  FourierFeatures fourier;
  if (typed.start == TapeStart::kFourier) {
    const FourierShape sizes{blocks.blocks, blocks.rows, blocks.columns};
    LOCUS_TRY(fourier, FourierFeatures::sample(sizes, typed.bandwidth, typed.reweighted,
                                               static_cast<std::uint64_t>(typed.seed)));
  }
  return std::unique_ptr<PositionEncoding>(std::make_unique<Tape>(shape, std::move(typed), blocks, std::move(fourier)));
}

Tape::Tape(const ModelShape& shape, TapeOptions options, const TapeBlocks& blocks, FourierFeatures fourier)
    : WithOptions(shape, std::move(options)), blocks_(blocks), fourier_(std::move(fourier)) {
  if (options_.position_size == 0) {
    options_.position_size = 4 * shape_.heads;
  }
  if (options_.gate_width == 0) {
    options_.gate_width = shape_.width;
  }
  initialise();
}

void Tape::initialise() {
  const bool paper = options_.form == TapeForm::kPaper;
  const bool vector = options_.mixing == TapeMixing::kVector;
  const std::int64_t heads = shape_.heads;
  const std::int64_t size = options_.position_size;
  std::int64_t mixed = heads;
  std::vector<std::int64_t> per_head;
  switch (options_.mixing) {
    case TapeMixing::kShared:
      break;
    case TapeMixing::kFull:
      mixed = blocks_.blocks * blocks_.rows;
      per_head = {heads};
      break;
    case TapeMixing::kVector:
      mixed = shape_.head_width;
      break;
    case TapeMixing::kNonEquivariant:
      mixed = heads * (paper ? blocks_.columns : shape_.head_width);
      break;
  }
  const auto sized = [&](std::int64_t first, std::int64_t second) {
    std::vector<std::int64_t> sizes = per_head;
    sizes.insert(sizes.end(), {first, second});
    return sizes;
  };
  layers_.resize(static_cast<std::size_t>(shape_.layers));
  for (Layer& layer : layers_) {
    if (!paper && attends()) {
      const std::int64_t scales = vector ? shape_.head_width : heads;
      layer.post_attention = zeros({scales, scales});
    }
    if (!paper && mixes()) {
      layer.up = zeros(sized(size, mixed));
      layer.x_proj = linear_weights({size, shape_.width}, shape_.width);
      layer.down = linear_weights(sized(mixed, size), size);
    }
    if (paper && mixes()) {
      layer.w1 = linear_weights(sized(mixed, size), mixed);
      layer.w2 = zeros(sized(mixed, size));
      layer.psi_w1 = linear_weights({options_.gate_width, shape_.width}, shape_.width);
      layer.psi_b1 = linear_weights({options_.gate_width}, shape_.width);
      layer.psi_w2 = linear_weights({size, options_.gate_width}, options_.gate_width);
      layer.psi_b2 = linear_weights({size}, options_.gate_width);
    }
  }
}

std::vector<Parameter> Tape::parameters() {
  std::vector<Parameter> list;
  for (std::size_t index = 0; index < layers_.size(); ++index) {
    Layer& layer = layers_[index];
    const std::string prefix = "layers." + std::to_string(index) + ".";
    const std::vector<Parameter> all{{prefix + "post_attention_linear", &layer.post_attention},
                                     {prefix + "pe.up_proj", &layer.up},
                                     {prefix + "pe.x_proj", &layer.x_proj},
                                     {prefix + "pe.down_proj", &layer.down},
                                     {prefix + "pe.w1", &layer.w1},
                                     {prefix + "pe.w2", &layer.w2},
                                     {prefix + "pe.psi.w1", &layer.psi_w1},
                                     {prefix + "pe.psi.b1", &layer.psi_b1},
                                     {prefix + "pe.psi.w2", &layer.psi_w2},
                                     {prefix + "pe.psi.b2", &layer.psi_b2}};
    for (const Parameter& parameter : all) {
      if (parameter.value->defined()) {
        list.push_back(parameter);
      }
    }
  }
  return list;
}

State Tape::begin(const Positions& positions, std::int64_t batch) const {
  at::Tensor start;  // (T, M, L, R) float64
  if (options_.start == TapeStart::kFourier) {
    start = fourier_.at_positions(positions.ids);
  } else {
    const RotaryFrequencies frequencies = options_.scaling.frequencies(
        2 * blocks_.blocks, options_.base, options_.scaling.length_of(positions.ids), shape_.trained_length);
    start = tape_rope_start(rotation(positions.ids, frequencies.inverse, frequencies.magnitude), blocks_);
  }
  at::TensorOptions like = at::TensorOptions().dtype(at::kFloat);
  if (!layers_.empty()) {
    const Layer& first = layers_.front();
    for (const at::Tensor& weights : {first.down, first.post_attention, first.w1}) {
      if (weights.defined()) {
        like = weights.options();
        break;
      }
    }
  }
  start = start.to(like.device(), at::typeMetaToScalarType(like.dtype()));
  std::vector<std::int64_t> sizes = start.sizes().vec();
  sizes.insert(sizes.begin(), {batch, shape_.heads});
  return {positions, start.expand(sizes)};
}

Prepared Tape::prepare(const State& state, std::int64_t /*layer*/, const Projections& projections) const {
  // Every query head has its own state, so a key shared by a group of heads becomes one key per head.
  const std::int64_t group = shape_.heads / projections.key.size(1);
  const at::Tensor key = group == 1 ? projections.key : projections.key.repeat_interleave(group, 1);
  Prepared prepared;
  prepared.query = blocks_.apply(projections.query, state.table);
  prepared.key = blocks_.apply(key, state.table);
  prepared.content_query = projections.query;
  prepared.content_key = projections.key;
  prepared.positions = state.positions;
  return prepared;
}

double Tape::macs(std::int64_t layer, std::int64_t length) const {
  const auto tokens = static_cast<double>(length);
  const auto heads = static_cast<double>(shape_.heads);
  const auto state = static_cast<double>(blocks_.blocks * blocks_.rows * blocks_.columns);  // X, of a head
  // q̂ and k̂, M·W·R numbers of L·R products each where W = L, and the score over what is wider than D.
  const std::int64_t wide = blocks_.blocks * blocks_.columns * (blocks_.rows == 1 ? blocks_.width : 1);
  double sum = 2 * tokens * heads * static_cast<double>(wide * (blocks_.rows == 1 ? 1 : blocks_.rows)) +
               tokens * tokens * heads * static_cast<double>(wide - shape_.head_width);
  if (attends()) {
    sum += tokens * tokens * heads * state;
  }
  if (mixes()) {
    const Layer& weights = layers_[static_cast<std::size_t>(layer)];
    const bool paper = options_.form == TapeForm::kPaper;
    const double gates =
        static_cast<double>(paper ? weights.psi_w1.numel() + weights.psi_w2.numel() : weights.x_proj.numel());
    const double inner = static_cast<double>(paper ? weights.w1.size(-1) : weights.up.size(-2));  // I
    sum += tokens * (gates + 2 * inner * heads * state);
  }
  return sum;
}

double Tape::scale() const {
  return options_.scaled ? PositionEncoding::scale() : 1.0;
}

at::Tensor Tape::state_values(const State& state, std::int64_t /*layer*/) const {
  return state.table.flatten(-3);
}

Result<PairForm> Tape::pair_form(const Prepared& prepared, std::int64_t /*layer*/) const {
  const auto channels = [this](std::int64_t wide) {
    std::vector<std::vector<std::int64_t>> list(static_cast<std::size_t>(blocks_.blocks));
    for (std::int64_t m = 0; m < blocks_.blocks; ++m) {
      for (std::int64_t x = 0; x < wide; ++x) {
        list[static_cast<std::size_t>(m)].push_back(blocks_.layout == PairLayout::kHalf ? x * blocks_.blocks + m
                                                                                        : m * wide + x);
      }
    }
    return list;
  };
  PairForm form;
  form.state = true;
  form.channels = channels(prepared.query.size(-1) / blocks_.blocks);
  if (options_.start == TapeStart::kRope) {
    const RotaryFrequencies start = options_.scaling.frequencies(
        2 * blocks_.blocks, options_.base, options_.scaling.length_of(prepared.positions.ids), shape_.trained_length);
    form.frequencies = start.inverse.view({1, -1, 1});
    form.magnitude = start.magnitude;
    if (blocks_.width == 2 && blocks_.rows == 2 && blocks_.columns == 2) {
      form.planes = channels(blocks_.width);
    }
  }
  return form;
}

at::Tensor Tape::vectors(const State& state, std::int64_t /*layer*/) const {
  return state.table.select(0, 0).flatten(-3);
}

at::Tensor Tape::contextualised(const Attended& attended) const {
  const std::vector<std::int64_t> axes{blocks_.blocks, blocks_.rows, blocks_.columns};
  if (options_.softmax == TapeSoftmax::kHead) {
    return attended.values.unflatten(-1, axes);
  }
  return tape_contextualise(*attended.prepared, attended.key_values.unflatten(-1, axes), attended.rows, blocks_,
                            scale(), shape_.causal);
}

at::Tensor Tape::mixed(std::int64_t layer, const at::Tensor& e, const at::Tensor& gate) const {
  const Layer& weights = layers_[static_cast<std::size_t>(layer)];
  const bool paper = options_.form == TapeForm::kPaper;
  TapeMix mix;
  mix.mixing = options_.mixing;
  mix.on_channels = !paper && (mix.mixing == TapeMixing::kVector || mix.mixing == TapeMixing::kNonEquivariant);
  mix.up = paper ? weights.w1.transpose(-1, -2) : weights.up;
  mix.down = paper ? weights.w2 : weights.down;
  return mix(e, gate, blocks_);
}

at::Tensor Tape::gates(std::int64_t layer, const at::Tensor& features) const {
  const Layer& weights = layers_[static_cast<std::size_t>(layer)];
  if (options_.form == TapeForm::kModel) {
    return at::silu(at::linear(features, weights.x_proj));
  }
  return at::linear(at::silu(at::linear(features, weights.psi_w1, weights.psi_b1)), weights.psi_w2, weights.psi_b2);
}

void Tape::after_attention(State& state, std::int64_t layer, const Attended& attended) const {
  if (options_.form == TapeForm::kPaper) {
    const at::Tensor seen = attends() ? contextualised(attended) : state.table;
    state.table = state.table + (mixes() ? mixed(layer, seen, gates(layer, attended.features)) : seen);
    return;
  }
  if (!attends()) {
    return;
  }
  // The authors' einsum sums the matrix over its second index: one factor a head (or channel), not a matrix product.
  const at::Tensor factor = layers_[static_cast<std::size_t>(layer)].post_attention.sum(1);
  const at::Tensor by_entry =
      options_.mixing == TapeMixing::kVector ? blocks_.split(factor).unsqueeze(-2) : factor.view({-1, 1, 1, 1, 1});
  state.table = state.table + contextualised(attended) * by_entry;
}

void Tape::after_feed_forward(State& state, std::int64_t layer, const at::Tensor& output) const {
  if (options_.form == TapeForm::kModel && mixes()) {
    state.table = state.table + mixed(layer, state.table, gates(layer, output));
  }
}

}  // namespace locus::position

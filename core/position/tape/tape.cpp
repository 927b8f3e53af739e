#include "core/position/tape/tape.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "core/position/list.h"
#include "core/position/shared/fresh_weights.h"

namespace locus::position {
namespace {

constexpr double kDistanceSteps = 8;                         // a token, of the distances that are tried
constexpr std::int64_t kMaxReach = std::int64_t{1} << 17;    // of ids whose distance is found
constexpr std::int64_t kMaxMatches = std::int64_t{1} << 24;  // of keys and distances at once

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
                     {"layers.N.pe.w1", "(F, I)", "paper: W1 of Eq. 8; F = H, H·M·L in whole, or (H, M·L, I) in full"},
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
      .distance = "distance whose RoPE is nearest to e_i e_jᵀ",
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
    case TapeMixing::kWhole:
      mixed = heads * blocks_.blocks * blocks_.rows;
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

Result<at::Tensor> Tape::distances(const State& state, const Prepared& prepared, const Tile& tile) const {
  if (options_.start != TapeStart::kRope || blocks_.rows != 2 || blocks_.columns != 2) {
    return unsupported("encoding tape: only blocks of 2 × 2 that began as RoPE's have a distance");
  }
  if (!state.table.defined()) {
    return unsupported("encoding tape: its state is not kept");
  }
  const at::Tensor e = state.table.select(0, 0).select(0, tile.heads.begin).to(at::kCPU, at::kDouble);  // (T, M, 2, 2)
  const at::Tensor keys = e.slice(0, tile.columns.begin, tile.columns.end);
  const at::Tensor between = at::matmul(e[tile.rows.begin], keys.transpose(-1, -2));  // (K, M, 2, 2)
  const auto entry = [&](std::int64_t a, std::int64_t b) { return between.select(2, a).select(2, b); };
  const at::Tensor waves = at::cat({entry(0, 0) + entry(1, 1), entry(0, 1) - entry(1, 0)}, 1);  // (K, 2M)
  LOCUS_TRY(const at::Tensor apart, PositionEncoding::distances(state, prepared, tile));
  const double reach = apart.numel() > 0 ? apart.abs().max().item<double>() : 0;
  if (reach > kMaxReach) {
    return too_large("encoding tape: a distance is found up to " + std::to_string(kMaxReach) + ", found ids " +
                     std::to_string(static_cast<std::int64_t>(reach)) + " apart");
  }
  const RotaryFrequencies start = options_.scaling.frequencies(
      2 * blocks_.blocks, options_.base, options_.scaling.length_of(prepared.positions.ids), shape_.trained_length);
  const double steps = std::ceil(reach) * kDistanceSteps;
  const at::Tensor tried = at::arange(-steps, steps + 1, at::kDouble) / kDistanceSteps;  // (G)
  const at::Tensor angles = at::outer(start.inverse.to(at::kCPU, at::kDouble), tried);   // (M, G)
  const at::Tensor rotations = at::cat({angles.cos(), angles.sin()}, 0);                 // (2M, G)
  const std::int64_t block = std::max<std::int64_t>(1, kMaxMatches / tried.numel());
  std::vector<at::Tensor> found;
  for (std::int64_t first = 0; first < waves.size(0); first += block) {
    found.push_back(at::matmul(waves.slice(0, first, first + block), rotations).argmax(1));
  }
  return found.empty() ? at::empty({0}, at::kDouble) : tried.index_select(0, at::cat(found));
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

namespace {

constexpr Words kForms{WordTable<TapeForm, 2>{{{"model", TapeForm::kModel}, {"paper", TapeForm::kPaper}}}};
constexpr Words kSoftmaxes{WordTable<TapeSoftmax, 2>{{{"head", TapeSoftmax::kHead}, {"block", TapeSoftmax::kBlock}}}};
constexpr Words kMixings{WordTable<TapeMixing, 5>{{{"shared", TapeMixing::kShared},
                                                   {"full", TapeMixing::kFull},
                                                   {"whole", TapeMixing::kWhole},
                                                   {"vector", TapeMixing::kVector},
                                                   {"non-equivariant", TapeMixing::kNonEquivariant}}}};
constexpr Words kStarts{WordTable<TapeStart, 2>{{{"rope", TapeStart::kRope}, {"fourier", TapeStart::kFourier}}}};
constexpr Words kUpdates{WordTable<TapeUpdates, 3>{{{"both", TapeUpdates::kBoth},
                                                    {"attention", TapeUpdates::kAttention},
                                                    {"feed-forward", TapeUpdates::kFeedForward}}}};

const OptionTable<TapeOptions> kTapeOptions{
    {"form", &TapeOptions::form, "model: the authors' code; paper: Eq. 6–8", kForms},
    {"softmax", &TapeOptions::softmax,
     "ẽ averages with one soft-max a head, or a block (Eq. 7; the default of the paper's form)", kSoftmaxes},
    {"mixing", &TapeOptions::mixing,
     "what the weights mix: shared (heads; survives id shifts), full (blocks and rows of a head), whole (those of all "
     "heads, ML × I of Eq. 8), vector (channels), non-equivariant (heads with R, or with channels)",
     kMixings},
    {"updates", &TapeOptions::updates, "both, or only the update after the attention or the feed-forward (Table 6)",
     kUpdates},
    {"start", &TapeOptions::start, "the first layer's state: rope, or random fourier features", kStarts},
    {"position_size", &TapeOptions::position_size, "I, the number of gates", Whole{0, 65536}, "4H"},
    {"gate_width", &TapeOptions::gate_width, "hidden units of ψ in the paper's form", Whole{0, 65536}, "C"},
    {"scaled", &TapeOptions::scaled, "logits ÷ √D; Eq. 6 as printed is not divided"},
    {"layout", &TapeOptions::layout, "half: channel m pairs with m + D/2; interleaved: 2m with 2m+1", kLayoutWords},
    {"base", &TapeOptions::base, "θ_m = base^(−2m/D) of the rope start", Above{1}},
    {"rows", &TapeOptions::rows, "L, vectors a block; 1 is the vector embedding", Whole{1, 1024}},
    {"columns", &TapeOptions::columns, "R, the dimension that the orthogonal group acts on", Whole{1, 1024}},
    {"bandwidth", &TapeOptions::bandwidth, "fourier: standard deviation of the frequencies"},
    {"reweighted", &TapeOptions::reweighted, "fourier: Gaussian coefficients instead of 1"},
    {"seed", &TapeOptions::seed, "fourier: of the random draw"},
};

Error misfit(const std::string& expected, const TapeOptions& options, std::int64_t head_width) {
  return bad_input("encoding tape: expected " + expected + ", found rows " + std::to_string(options.rows) +
                   ", columns " + std::to_string(options.columns) + " and a head of " + std::to_string(head_width));
}

}  // namespace

Result<TapeOptions> TapeOptions::from(const Settings& settings) {
  TapeOptions options;
  LOCUS_TRY(options.form, kForms.read(settings, "form", options.form));
  options.softmax = options.form == TapeForm::kPaper ? TapeSoftmax::kBlock : TapeSoftmax::kHead;
  LOCUS_TRY(options.scaling, RopeScaling::from(settings));
  return kTapeOptions.read(settings, options);
}

Settings TapeOptions::settings() const {
  return scaling.written(kTapeOptions.written(*this));
}

std::vector<OptionDescription> TapeOptions::described() {
  return kTapeOptions.described(RopeScaling::described());
}

Result<TapeBlocks> TapeOptions::blocks(const ModelShape& shape) const {
  TapeBlocks blocks;
  blocks.rows = rows;
  blocks.columns = columns;
  blocks.layout = layout;
  blocks.width = rows == 1 ? 2 : rows;
  if (shape.head_width < 1 || shape.head_width % blocks.width != 0) {
    return misfit("a head width divisible by " + std::to_string(blocks.width), *this, shape.head_width);
  }
  blocks.blocks = shape.head_width / blocks.width;
  if (start == TapeStart::kRope && rows * columns != 4) {
    return misfit("rows × columns = 2 × 2, 1 × 4 or 4 × 1 for the rope start", *this, shape.head_width);
  }
  const bool pairs = rows == 2 && columns == 2;
  const bool channels =
      mixing == TapeMixing::kVector || (mixing == TapeMixing::kNonEquivariant && form == TapeForm::kModel);
  if (channels && !pairs) {
    return misfit("rows and columns 2 for a mixing of (cos, sin) channels", *this, shape.head_width);
  }
  if (mixing == TapeMixing::kVector && form == TapeForm::kPaper) {
    return bad_input("option mixing: vector is the model form's; the paper's vector embedding is rows 1, columns 4");
  }
  // A config.json must not make us allocate what no model has.
  const std::int64_t gates = position_size == 0 ? 4 * shape.heads : position_size;
  const double weights = static_cast<double>(gates) * static_cast<double>(shape.heads * shape.head_width);
  if (weights > 0x1p28) {
    return bad_input("option position_size: " + std::to_string(gates) + " is too large for " +
                     std::to_string(shape.heads) + " heads of " + std::to_string(shape.head_width));
  }
  LOCUS_CHECK(scaling.check(2 * blocks.blocks, shape.trained_length));
  return blocks;
}

Entry tape_encoding() {
  return {Tape::about(), Tape::make};
}

}  // namespace locus::position

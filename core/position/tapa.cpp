#include "core/position/tapa.h"

#include <ATen/Parallel.h>

#include <cmath>
#include <numbers>
#include <string>

#include "core/position/list.h"
#include "core/position/shared/additive_bias.h"
#include "core/position/shared/tile_kernels.h"

namespace locus::position {

namespace {

constexpr std::int64_t kTapaRows = 32;

// amplitude · cos(2π · distance · phase) where no gradient is needed, written over `amplitude` if allowed.
at::Tensor modulated(const at::Tensor& amplitude, const at::Tensor& phase, const at::Tensor& by_diagonal,
                     bool overwrite) {
  const at::Tensor out = overwrite ? amplitude : at::empty_like(amplitude);
  const std::int64_t rows = out.size(2);
  const std::int64_t columns = out.size(3);
  float* const logits = out.data_ptr<float>();
  const float* const a = amplitude.data_ptr<float>();
  const float* const p = phase.data_ptr<float>();
  const float* const d = by_diagonal.data_ptr<float>();
  at::parallel_for(0, out.size(0) * out.size(1) * rows, kTapaRows, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const std::int64_t at = row * columns;
      kernel::modulate({logits + at, static_cast<std::size_t>(columns)}, a + at, p + at, d + (rows - 1 - row % rows));
    }
  });
  return out;
}

// Eq. 13: the unit matrix of the channels [begin, end), over the root of how many they are.
at::Tensor part_of_unit(const ModelShape& shape, std::int64_t begin, std::int64_t end) {
  at::Tensor diagonal = at::zeros({shape.head_width});
  diagonal.slice(0, begin, end).fill_(1.0 / std::sqrt(static_cast<double>(end - begin)));
  return at::diag(diagonal).expand({shape.heads, -1, -1}).clone();
}

// qᵀXk of a tile's rows and columns.
at::Tensor form(const at::Tensor& rows, const at::Tensor& columns, const at::Tensor& matrix, const Range& heads) {
  const at::Tensor own = matrix.slice(0, heads.begin, heads.end).to(rows.scalar_type());
  return at::matmul(at::matmul(rows, own), columns.transpose(-1, -2));
}

}  // namespace

const OptionTable<TapaOptions> TapaOptions::kTable{
    {"alpha", &TapaOptions::alpha, "the angle grows with |i − j|^α", Above{0}},
    {"theta", &TapaOptions::theta, "part of the channels that make the amplitude; θ·D must be whole"},
    {"phase", &TapaOptions::phase,
     "quadratic: q_P·k_P; linear: Σ(q_P + k_P); general: qᵀ𝒩k, and the amplitude qᵀℳk, both trained",
     Words{WordTable<TapaOptions::Phase, 3>{{{"quadratic", TapaOptions::Phase::kQuadratic},
                                             {"linear", TapaOptions::Phase::kLinear},
                                             {"general", TapaOptions::Phase::kGeneral}}}}},
};

Status TapaOptions::check() const {
  if (!(theta > 0 && theta < 1)) {
    return wrong_option("theta", "a number between 0 and 1", theta);
  }
  return {};
}

at::Tensor tapa_distance(const at::Tensor& distances, double alpha) {
  const at::Tensor absolute = distances.to(at::kDouble).abs();
  return at::where(absolute > 0, absolute.pow(alpha), at::zeros_like(absolute));
}

const Description& Tapa::about() {
  static const Description description{
      .name = "tapa",
      .title = "Token-aware phase attention (TAPA)",
      .paper = "Wang et al. 2025, arXiv:2509.12635",
      .equation = "(q_A·k_A)/√(θD) · cos(2π·|i − j|^α·(q_P·k_P)/√((1−θ)D))",
      .content = "the amplitude (q_A·k_A)/√(θD)",
      .parameters = {{"layers.N.amplitude", "(H, D, D)", "ℳ of Eq. 9, with phase=general"},
                     {"layers.N.phase", "(H, D, D)", "𝒩 of Eq. 10, with phase=general"}},
      .options = TapaOptions::kTable.described(),
      .scores = true,
      .distance = "turns |i − j|^α·φ_ij",
  };
  return description;
}

Result<std::unique_ptr<PositionEncoding>> Tapa::make(const Settings& options, const ModelShape& shape) {
  LOCUS_TRY(const TapaOptions typed, TapaOptions::from(options));
  const double width = typed.theta * static_cast<double>(shape.head_width);
  const auto amplitude = static_cast<std::int64_t>(std::llround(width));
  if (std::abs(width - static_cast<double>(amplitude)) > 1e-6 || amplitude < 1 || amplitude >= shape.head_width) {
    return wrong_option("theta", "θ·D whole and between 0 and D = " + std::to_string(shape.head_width), width);
  }
  return std::unique_ptr<PositionEncoding>(std::make_unique<Tapa>(shape, typed, amplitude));
}

Tapa::Tapa(const ModelShape& shape, const TapaOptions& options, std::int64_t amplitude_width)
    : WithOptions(shape, options), amplitude_width_(amplitude_width) {
  if (options.phase == TapaOptions::Phase::kGeneral) {
    const std::vector<std::int64_t> sizes{shape.heads, shape.head_width, shape.head_width};
    amplitude_matrix_ =
        LayerParameter("amplitude", shape.layers, true, sizes, [&] { return part_of_unit(shape, 0, amplitude_width); });
    phase_matrix_ = LayerParameter("phase", shape.layers, true, sizes,
                                   [&] { return part_of_unit(shape, amplitude_width, shape.head_width); });
  }
}

at::Tensor Tapa::amplitude(const at::Tensor& rows, const at::Tensor& columns, const Tile& tile) const {
  if (!amplitude_matrix_.empty()) {
    return form(rows, columns, amplitude_matrix_.of(tile.layer), tile.heads);
  }
  const double scale = 1.0 / std::sqrt(static_cast<double>(amplitude_width_));
  return at::matmul(rows.slice(-1, 0, amplitude_width_) * scale,
                    columns.slice(-1, 0, amplitude_width_).transpose(-1, -2));
}

Result<PairForm> Tapa::pair_form(const Prepared& /*prepared*/, std::int64_t /*layer*/) const {
  if (options_.phase == TapaOptions::Phase::kGeneral) {
    return unsupported("encoding tapa with phase=general has no channels of amplitude and phase: its matrices mix all");
  }
  const std::int64_t phase_width = shape_.head_width - amplitude_width_;
  PairForm made;
  made.channels = {channels_from(0, amplitude_width_), channels_from(amplitude_width_, shape_.head_width)};
  made.names = {"amplitude", "phase"};
  made.modulation = Modulation{options_.alpha, options_.phase == TapaOptions::Phase::kLinear,
                               1.0 / std::sqrt(static_cast<double>(amplitude_width_)),
                               1.0 / std::sqrt(static_cast<double>(phase_width))};
  return made;
}

at::Tensor Tapa::phase(const at::Tensor& rows, const at::Tensor& columns, const Tile& tile) const {
  if (!phase_matrix_.empty()) {
    return form(rows, columns, phase_matrix_.of(tile.layer), tile.heads);
  }
  const double scale = 1.0 / std::sqrt(static_cast<double>(shape_.head_width - amplitude_width_));
  const at::Tensor query = rows.slice(-1, amplitude_width_) * scale;
  const at::Tensor key = columns.slice(-1, amplitude_width_);
  if (options_.phase == TapaOptions::Phase::kLinear) {
    return query.sum(-1, true) + (key.sum(-1) * scale).unsqueeze(-2);
  }
  return at::matmul(query, key.transpose(-1, -2));
}

Result<at::Tensor> Tapa::distances(const State& /*state*/, const Prepared& prepared, const Tile& tile) const {
  const at::Tensor rows = tile_rows(prepared.query, tile);
  const at::Tensor columns = tile_columns(prepared.key, tile, prepared.query.size(1));
  const at::Tensor phase = this->phase(rows, columns, tile).select(0, 0).select(0, 0).select(0, 0);  // (K)
  return phase.to(at::kCPU, at::kDouble) *
         tapa_distance(tile_distances(prepared.positions, tile), options_.alpha).select(0, 0).to(at::kCPU);
}

TileScores Tapa::score(const Prepared& prepared, const Tile& tile, const Wanted& wanted,
                       const at::Tensor& /*carry*/) const {
  const at::Tensor rows = tile_rows(prepared.query, tile);
  const at::Tensor columns = tile_columns(prepared.key, tile, prepared.query.size(1));
  const at::Tensor amplitude = this->amplitude(rows, columns, tile);
  const at::Tensor phase = this->phase(rows, columns, tile);
  TileScores scores;
  if (wanted.content) {
    scores.content = amplitude;
  }
  const at::Tensor distances = diagonal_distances(prepared.positions, tile);
  if (kernels_apply(amplitude) && distances.defined()) {
    const at::Tensor by_diagonal = tapa_distance(distances, options_.alpha).to(at::kFloat);
    scores.logits = modulated(amplitude.contiguous(), phase.contiguous(), by_diagonal, !wanted.content);
    return scores;
  }
  const at::Tensor turning = tapa_distance(tile_distances(prepared.positions, tile), options_.alpha);
  scores.logits = amplitude * at::cos(phase * (turning * (2 * std::numbers::pi)).to(phase.options()));
  return scores;
}

Entry tapa_encoding() {
  return {Tapa::about(), Tapa::make};
}

}  // namespace locus::position

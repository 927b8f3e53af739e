#include "core/position/tapa.h"

#include <ATen/Parallel.h>

#include <cmath>
#include <numbers>
#include <string>

#include "core/position/distance_bias.h"
#include "core/position/tile_kernels.h"

namespace locus::position {

namespace {

constexpr std::int64_t kRowsPerTask = 32;

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
  at::parallel_for(0, out.size(0) * out.size(1) * rows, kRowsPerTask, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const std::int64_t at = row * columns;
      kernel::modulate({logits + at, static_cast<std::size_t>(columns)}, a + at, p + at, d + (rows - 1 - row % rows));
    }
  });
  return out;
}

}  // namespace

Result<TapaOptions> TapaOptions::from(const Settings& settings) {
  TapaOptions options;
  LOCUS_TRY(options.alpha, settings.number("alpha", options.alpha));
  LOCUS_TRY(options.theta, settings.number("theta", options.theta));
  LOCUS_TRY(const std::string phase, settings.text("phase", "quadratic"));
  if (phase != "quadratic" && phase != "linear") {
    return bad_input("option phase: expected quadratic or linear, found " + phase);
  }
  options.linear = phase == "linear";
  if (!(options.alpha > 0) || !std::isfinite(options.alpha)) {
    return bad_input("option alpha: expected a number above 0, found " + to_text(SettingValue(options.alpha)));
  }
  if (!(options.theta > 0 && options.theta < 1)) {
    return bad_input("option theta: expected a number between 0 and 1, found " + to_text(SettingValue(options.theta)));
  }
  return options;
}

Settings TapaOptions::settings() const {
  return {{"alpha", alpha}, {"theta", theta}, {"phase", std::string(linear ? "linear" : "quadratic")}};
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
      .look_for = "Scores of both signs at every distance whose mean vanishes while their spread stays.",
      .options = {{"alpha", "0.1", "the angle grows with |i − j|^α"},
                  {"theta", "0.5", "part of the channels that make the amplitude; θ·D must be whole"},
                  {"phase", "quadratic", "quadratic: q_P·k_P; linear: Σ(q_P + k_P)"}},
      .scores = true,
  };
  return description;
}

Result<std::unique_ptr<PositionEncoding>> Tapa::make(const Settings& options, const ModelShape& shape) {
  LOCUS_TRY(const TapaOptions typed, TapaOptions::from(options));
  const double width = typed.theta * static_cast<double>(shape.head_width);
  const auto amplitude = static_cast<std::int64_t>(std::llround(width));
  if (std::abs(width - static_cast<double>(amplitude)) > 1e-6 || amplitude < 1 || amplitude >= shape.head_width) {
    return bad_input("option theta: expected θ·D whole and between 0 and D = " + std::to_string(shape.head_width) +
                     ", found " + to_text(SettingValue(width)));
  }
  return std::unique_ptr<PositionEncoding>(std::make_unique<Tapa>(shape, typed, amplitude));
}

at::Tensor Tapa::phase(const at::Tensor& rows, const at::Tensor& columns) const {
  const double scale = 1.0 / std::sqrt(static_cast<double>(shape_.head_width - amplitude_width_));
  const at::Tensor query = rows.slice(-1, amplitude_width_) * scale;
  const at::Tensor key = columns.slice(-1, amplitude_width_);
  if (options_.linear) {
    return query.sum(-1, true) + (key.sum(-1) * scale).unsqueeze(-2);
  }
  return at::matmul(query, key.transpose(-1, -2));
}

TileScores Tapa::score(const Prepared& prepared, const Tile& tile, const Wanted& wanted,
                       const at::Tensor& /*carry*/) const {
  const at::Tensor rows = tile_rows(prepared.query, tile);
  const at::Tensor columns = tile_columns(prepared.key, tile, prepared.query.size(1));
  const double scale = 1.0 / std::sqrt(static_cast<double>(amplitude_width_));
  const at::Tensor amplitude =
      at::matmul(rows.slice(-1, 0, amplitude_width_) * scale, columns.slice(-1, 0, amplitude_width_).transpose(-1, -2));
  const at::Tensor phase = this->phase(rows, columns);
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

}  // namespace locus::position

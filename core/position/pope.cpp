#include "core/position/pope.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <utility>

#include "core/position/list.h"
#include "core/position/shared/rotation.h"

namespace locus::position {

namespace {

constexpr double kTurn = 2 * std::numbers::pi;
// Beyond this ln(1 + eˣ) is x to the last digit of float64, and eˣ is far from infinite in float32.
constexpr double kLinearFrom = 38;

constexpr Words kStartWords{
    WordTable<PopeOptions::Start, 2>{{{"zero", PopeOptions::Start::kZero}, {"uniform", PopeOptions::Start::kUniform}}}};

// μ of the polar channels of x (…, D).
at::Tensor sizes_of(const at::Tensor& x, std::int64_t polar) {
  return at::softplus(x.slice(-1, 0, polar), 1, kLinearFrom);
}

// (…, T, 2M + D − M): μ turned by an angle of which cos and sin are given, and the plain channels of x.
at::Tensor polar_vector(const at::Tensor& size, const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin) {
  const std::int64_t polar = size.size(-1);
  return at::cat({size * cos.to(size.options()), size * sin.to(size.options()), x.slice(-1, polar)}, -1);
}

at::Tensor content_vector(const at::Tensor& size, const at::Tensor& x) {
  return at::cat({size, at::zeros_like(size), x.slice(-1, size.size(-1))}, -1);
}

}  // namespace

const OptionTable<PopeOptions> PopeOptions::kTable{
    {"base", &PopeOptions::base, "θ_c = base^(−c/M); a larger base turns slower", Above{1}},
    {"fraction", &PopeOptions::fraction,
     "part of each head's channels that are polar, the first ones; the others give plain q·k"},
    {"per_layer", &PopeOptions::per_layer, "δ of its own for each layer: layers.N.phase"},
    {"start", &PopeOptions::start,
     "zero or uniform: what δ starts at; uniform: between −2π and 0; used by training alone", kStartWords},
};

Status PopeOptions::check() const {
  if (!(fraction > 0 && fraction <= 1)) {
    return wrong_option("fraction", "a number in (0, 1]", fraction);
  }
  return {};
}

const Description& Pope::about() {
  static const Description description{
      .name = "pope",
      .title = "Polar coordinates (PoPE)",
      .paper = "Gopalakrishnan et al. 2025, arXiv:2509.10534",
      .equation = "Σ_c μ^q_ic μ^k_jc cos((i − j)·base^(−c/M) − δ_c)/√D, μ = ln(1 + e^x)",
      .content = "Σ_c μ^q_ic μ^k_jc/√D, all phases 0",
      .parameters = {{"phase", "(H, M)", "δ, used within −2π to 0"}},
      .options = PopeOptions::kTable.described(),
      .rotates = true,
      .has_dot_product = true,
      .has_waves = true,
      .distance = kIndexDistance,
  };
  return description;
}

Result<std::unique_ptr<PositionEncoding>> Pope::make(const Settings& options, const ModelShape& shape) {
  LOCUS_TRY(const PopeOptions typed, PopeOptions::from(options));
  const double width = typed.fraction * static_cast<double>(shape.head_width);
  const auto polar = static_cast<std::int64_t>(std::llround(width));
  if (std::abs(width - static_cast<double>(polar)) > 1e-6 || polar < 1) {
    return wrong_option("fraction", "fraction·D whole and at least 1, D = " + std::to_string(shape.head_width), width);
  }
  return std::unique_ptr<PositionEncoding>(std::make_unique<Pope>(shape, typed, polar));
}

Pope::Pope(const ModelShape& shape, const PopeOptions& options, std::int64_t polar)
    : WithOptions(shape, options),
      polar_(polar),
      phase_("phase", shape.layers, options.per_layer, {shape.heads, polar}, [&] {
        const std::vector<std::int64_t> sizes{shape.heads, polar};
        return options.start == PopeOptions::Start::kZero ? at::zeros(sizes) : at::rand(sizes) * -kTurn;
      }) {}

at::Tensor Pope::phases(std::int64_t layer) const {
  return phase_.of(layer).to(at::kDouble).clamp(-kTurn, 0);
}

State Pope::begin(const Positions& positions, std::int64_t /*batch*/) const {
  // θ_c of M channels are those of a rotation of 2M.
  return {positions, rotation(positions.ids, inverse_frequencies(2 * polar_, options_.base)).packed()};
}

Prepared Pope::prepare(const State& state, std::int64_t layer, const Projections& projections) const {
  const Rotation turn = Rotation::unpacked(state.table);  // (T, M)
  const at::Tensor phase = phases(layer).unsqueeze(1).to(turn.cos.device());
  const at::Tensor cos = phase.cos();
  const at::Tensor sin = phase.sin();
  Prepared prepared;
  const at::Tensor query = sizes_of(projections.query, polar_);
  const at::Tensor key = sizes_of(projections.key, polar_);
  prepared.query = polar_vector(query, projections.query, turn.cos * cos + turn.sin * sin,
                                turn.sin * cos - turn.cos * sin);  // (H, T, M) of iθ − δ
  prepared.key = polar_vector(key, projections.key, turn.cos, turn.sin);
  prepared.content_query = content_vector(query, projections.query);
  prepared.content_key = content_vector(key, projections.key);
  prepared.positions = state.positions;
  return prepared;
}

at::Tensor Pope::vectors(const State& state, std::int64_t /*layer*/) const {
  return rotation_vectors(Rotation::unpacked(state.table)).unsqueeze(0);
}

Result<PairForm> Pope::pair_form(const Prepared& /*prepared*/, std::int64_t layer) const {
  PairForm form;
  form.channels = pair_channels(polar_, PairLayout::kHalf);
  form.planes = form.channels;
  form.rest = channels_from(2 * polar_, polar_ + shape_.head_width);
  form.frequencies = inverse_frequencies(2 * polar_, options_.base).view({1, -1, 1});
  form.query_phases = phases(layer).detach();
  return form;
}

Entry pope_encoding() {
  return {Pope::about(), Pope::make};
}

}  // namespace locus::position

#include "core/position/kerple.h"

#include "core/position/list.h"
#include "core/position/shared/additive_bias.h"

namespace locus::position {

namespace {

constexpr double kSmallest = 1e-2;

Description described_kerple(const char* name, const char* title, const char* equation) {
  return {
      .name = name,
      .title = title,
      .paper = "Chi et al. 2022, arXiv:2205.09921",
      .equation = equation,
      .content = "q·k/√D",
      .parameters = {{"p", "(H)", "at least 0.01"}, {"a", "(H)", "at least 0.01"}},
      .options = KerpleOptions::kTable.described(),
      .scores = true,
      .distance = kIndexDistance,
  };
}

}  // namespace

const OptionTable<KerpleOptions> KerpleOptions::kTable{
    {"per_layer", &KerpleOptions::per_layer, "every layer has its own: layers.N.p, layers.N.a"},
};

const Description& Kerple::about() {
  static const Description description =
      described_kerple("kerple-log", "Kerple, logarithmic", "q_i·k_j/√D − p·ln(1 + a·(i − j))");
  return description;
}

const Description& Kerple::about_power() {
  static const Description description = described_kerple("kerple-power", "Kerple, power", "q_i·k_j/√D − a·(i − j)^p");
  return description;
}

Result<std::unique_ptr<PositionEncoding>> Kerple::make(const Settings& options, const ModelShape& shape) {
  LOCUS_TRY(const KerpleOptions typed, KerpleOptions::from(options));
  return std::unique_ptr<PositionEncoding>(std::make_unique<Kerple>(shape, typed, Kernel::kLog));
}

Result<std::unique_ptr<PositionEncoding>> Kerple::make_power(const Settings& options, const ModelShape& shape) {
  LOCUS_TRY(const KerpleOptions typed, KerpleOptions::from(options));
  return std::unique_ptr<PositionEncoding>(std::make_unique<Kerple>(shape, typed, Kernel::kPower));
}

Kerple::Kerple(const ModelShape& shape, const KerpleOptions& options, Kernel kernel)
    : WithOptions(shape, options),
      kernel_(kernel),
      p_("p", shape.layers, options.per_layer, {shape.heads}, [&] { return at::rand({shape.heads}) * 2.0; }),
      a_("a", shape.layers, options.per_layer, {shape.heads}, [&] { return at::rand({shape.heads}); }) {}

TileScores Kerple::score(const Prepared& prepared, const Tile& tile, const Wanted& wanted,
                         const at::Tensor& /*carry*/) const {
  const auto of_heads = [&](const LayerParameter& parameter) {
    return parameter.of(tile.layer).slice(0, tile.heads.begin, tile.heads.end).clamp_min(kSmallest).unsqueeze(1);
  };
  const at::Tensor p = of_heads(p_);
  const at::Tensor a = of_heads(a_);
  return score_with_bias(*this, prepared, tile, wanted, [&](const at::Tensor& distances) {
    const at::Tensor distance = (shape_.causal ? distances.clamp_min(0) : distances.abs()).to(p.options());
    if (kernel_ == Kernel::kLog) {
      return -p * at::log1p(a * distance);
    }
    // The gradient of 0^p with respect to p is 0·ln 0: taken as 0, its limit.
    const at::Tensor power = at::pow(distance.clamp_min(1e-30), p);
    return -a * at::where(distance > 0, power, at::zeros_like(power));
  });
}

Entry kerple_log_encoding() {
  return {Kerple::about(), Kerple::make};
}

Entry kerple_power_encoding() {
  return {Kerple::about_power(), Kerple::make_power};
}

}  // namespace locus::position

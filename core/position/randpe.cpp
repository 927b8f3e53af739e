#include "core/position/randpe.h"

#include <ATen/CPUGeneratorImpl.h>

#include <string>
#include <utility>

#include "core/position/list.h"
#include "core/position/rope.h"
#include "core/position/sinusoidal.h"

namespace locus::position {

namespace {

constexpr Words kEvaluations{
    WordTable<RandpeEvaluation, 2>{{{"natural", RandpeEvaluation::kNatural}, {"drawn", RandpeEvaluation::kDrawn}}}};

// (count) float64: sorted different numbers of 0 … `below` − 1.
at::Tensor sorted_sample(std::int64_t below, std::int64_t count, std::uint64_t seed) {
  const at::Generator generator = at::detail::createCPUGenerator(seed);
  const at::Tensor drawn = at::randperm(below, generator, at::kLong).slice(0, 0, count);
  return std::get<0>(drawn.sort()).to(at::kDouble);
}

}  // namespace

const OptionTable<RandpeOptions> kRandpeOptions{
    {"over", &RandpeOptions::over, "the encoding of the sampled positions: rope or sinusoidal",
     OneOf{{"rope", "sinusoidal"}}},
    {"length_max", &RandpeOptions::length_max, "L_max, the longest sequence prepared for",
     Whole{1, std::int64_t{1} << 31}},
    {"layout", &RandpeOptions::layout, "of the encoding below (sinusoidal: interleaved)", kLayoutWords},
    {"base", &RandpeOptions::base, "of the encoding below"},
    {"evaluation", &RandpeOptions::evaluation,
     "positions outside training: natural, 0 … T − 1; drawn, a sorted sample of 0 … L_max − 1 for each length",
     kEvaluations},
    {"seed", &RandpeOptions::seed, "drawn: of the sample", Whole{0, std::int64_t{1} << 53}},
};

Result<RandpeOptions> RandpeOptions::from(const Settings& settings) {
  RandpeOptions options;
  LOCUS_TRY(options.over, settings.text("over", options.over));
  options.layout = options.over == "rope" ? PairLayout::kHalf : PairLayout::kInterleaved;
  return kRandpeOptions.read(settings, options);
}

Settings RandpeOptions::settings() const {
  return kRandpeOptions.written(*this);
}

const Description& Randpe::about() {
  static const Description description{
      .name = "randpe",
      .title = "Randomised positions (RandPE)",
      .paper = "Ruoss et al. 2023, arXiv:2305.16843",
      .equation = "positions in training: T sorted draws without replacement from 0 … L_max − 1",
      .content = "unrotated q·k/√D, as if Δ = 0 (not over sinusoids)",
      .options = kRandpeOptions.described(),
      .embeds = true,
      .rotates = true,
      .has_dot_product = true,
      .has_waves = true,
      .distance = kIndexDistance,
  };
  return description;
}

Result<std::unique_ptr<PositionEncoding>> Randpe::make(const Settings& options, const ModelShape& shape) {
  LOCUS_TRY(RandpeOptions typed, RandpeOptions::from(options));
  const Settings below{{"layout", kLayoutWords.written(typed.layout)}, {"base", typed.base}};
  LOCUS_TRY(std::unique_ptr<PositionEncoding> inner,
            typed.over == "rope" ? Rope::make(below, shape) : Sinusoidal::make(below, shape));
  return std::unique_ptr<PositionEncoding>(std::make_unique<Randpe>(shape, std::move(typed), std::move(inner)));
}

Randpe::Randpe(const ModelShape& shape, RandpeOptions options, std::unique_ptr<PositionEncoding> inner)
    : WithOptions(shape, std::move(options)), inner_(std::move(inner)), description_(about()) {
  description_.embeds = inner_->description().embeds;
  description_.rotates = inner_->description().rotates;
  description_.content = inner_->description().content;
  description_.distance = inner_->description().distance;
}

Status Randpe::accepts(const Positions& positions) const {
  LOCUS_CHECK(inner_->accepts(positions));
  if (options_.evaluation == RandpeEvaluation::kDrawn && positions.size() > options_.length_max) {
    return bad_input("encoding randpe: expected at most " + std::to_string(options_.length_max) +
                     " tokens, length_max, of which positions are drawn, found " + std::to_string(positions.size()));
  }
  return {};
}

Result<std::vector<TrainingPositions>> Randpe::training_positions(const Positions& natural, Range sequences,
                                                                  std::uint64_t seed) const {
  LOCUS_CHECK(accepts(natural));
  const std::int64_t length = natural.size();
  if (length > options_.length_max) {
    return bad_input("encoding randpe: expected a training length of 0 … " + std::to_string(options_.length_max) +
                     ", found " + std::to_string(length));
  }
  const at::Tensor drawn = sorted_sample(options_.length_max, length, seed);
  return std::vector<TrainingPositions>{{{drawn, 0}, sequences.size()}};
}

Positions Randpe::evaluation_positions(const Positions& natural) const {
  const std::int64_t length = natural.size();
  if (options_.evaluation == RandpeEvaluation::kNatural || length == 0 || !accepts(natural).ok()) {
    return natural;
  }
  const at::Tensor drawn = sorted_sample(options_.length_max, length, static_cast<std::uint64_t>(options_.seed));
  return {drawn + natural.ids[0], natural.prefix};
}

Entry randpe_encoding() {
  return {Randpe::about(), Randpe::make};
}

}  // namespace locus::position

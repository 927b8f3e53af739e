#include "core/position/randpe.h"

#include <ATen/CPUGeneratorImpl.h>

#include <string>
#include <utility>

#include "core/position/list.h"
#include "core/position/rope.h"
#include "core/position/sinusoidal.h"

namespace locus::position {

const OptionTable<RandpeOptions> kRandpeOptions{
    {"over", &RandpeOptions::over, "the encoding of the sampled positions: rope or sinusoidal",
     OneOf{{"rope", "sinusoidal"}}},
    {"length_max", &RandpeOptions::length_max, "L_max, the longest sequence prepared for",
     Whole{1, std::int64_t{1} << 31}},
    {"layout", &RandpeOptions::layout, "of the encoding below (sinusoidal: interleaved)", kLayoutWords},
    {"base", &RandpeOptions::base, "of the encoding below"},
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
}

Result<std::vector<TrainingPositions>> Randpe::training_positions(const Positions& natural, Range sequences,
                                                                  std::uint64_t seed) const {
  LOCUS_CHECK(accepts(natural));
  const std::int64_t length = natural.size();
  if (length > options_.length_max) {
    return bad_input("encoding randpe: expected a training length of 0 … " + std::to_string(options_.length_max) +
                     ", found " + std::to_string(length));
  }
  const at::Generator generator = at::detail::createCPUGenerator(seed);
  const at::Tensor drawn = at::randperm(options_.length_max, generator, at::kLong).slice(0, 0, length);
  return std::vector<TrainingPositions>{{{std::get<0>(drawn.sort()).to(at::kDouble), 0}, sequences.size()}};
}

Entry randpe_encoding() {
  return {Randpe::about(), Randpe::make};
}

}  // namespace locus::position

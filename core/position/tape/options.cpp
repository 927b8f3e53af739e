#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "core/position/shared/option_values.h"
#include "core/position/tape/tape.h"

namespace locus::position {
namespace {

constexpr Choices<TapeForm, 2> kForms{{{"model", TapeForm::kModel}, {"paper", TapeForm::kPaper}}};
constexpr Choices<TapeSoftmax, 2> kSoftmaxes{{{"head", TapeSoftmax::kHead}, {"block", TapeSoftmax::kBlock}}};
constexpr Choices<TapeMixing, 4> kMixings{{{"shared", TapeMixing::kShared},
                                           {"full", TapeMixing::kFull},
                                           {"vector", TapeMixing::kVector},
                                           {"non-equivariant", TapeMixing::kNonEquivariant}}};
constexpr Choices<TapeStart, 2> kStarts{{{"rope", TapeStart::kRope}, {"fourier", TapeStart::kFourier}}};
constexpr Choices<TapeUpdates, 3> kUpdates{{{"both", TapeUpdates::kBoth},
                                            {"attention", TapeUpdates::kAttention},
                                            {"feed-forward", TapeUpdates::kFeedForward}}};

Error misfit(const std::string& expected, const TapeOptions& options, std::int64_t head_width) {
  return bad_input("encoding tape: expected " + expected + ", found rows " + std::to_string(options.rows) +
                   ", columns " + std::to_string(options.columns) + " and a head of " + std::to_string(head_width));
}

}  // namespace

Result<TapeOptions> TapeOptions::from(const Settings& settings) {
  TapeOptions options;
  LOCUS_TRY(options.form, choice_option(settings, "form", kForms, options.form));
  const bool paper = options.form == TapeForm::kPaper;
  LOCUS_TRY(options.softmax,
            choice_option(settings, "softmax", kSoftmaxes, paper ? TapeSoftmax::kBlock : TapeSoftmax::kHead));
  LOCUS_TRY(options.mixing, choice_option(settings, "mixing", kMixings, options.mixing));
  LOCUS_TRY(options.updates, choice_option(settings, "updates", kUpdates, options.updates));
  LOCUS_TRY(options.start, choice_option(settings, "start", kStarts, options.start));
  LOCUS_TRY(options.position_size, whole_option(settings, "position_size", 0, 65536, options.position_size));
  LOCUS_TRY(options.gate_width, whole_option(settings, "gate_width", 0, 65536, options.gate_width));
  LOCUS_TRY(options.scaled, settings.boolean("scaled", options.scaled));
  LOCUS_TRY(options.layout, layout_option(settings, options.layout));
  LOCUS_TRY(options.base, settings.number("base", options.base));
  LOCUS_TRY(options.scaling, RopeScaling::from(settings));
  LOCUS_TRY(options.rows, whole_option(settings, "rows", 1, 1024, options.rows));
  LOCUS_TRY(options.columns, whole_option(settings, "columns", 1, 1024, options.columns));
  LOCUS_TRY(options.bandwidth, settings.number("bandwidth", options.bandwidth));
  LOCUS_TRY(options.reweighted, settings.boolean("reweighted", options.reweighted));
  LOCUS_TRY(options.seed, settings.integer("seed", options.seed));
  LOCUS_CHECK(check_base(options.base));
  return options;
}

Settings TapeOptions::settings() const {
  Settings settings{{"form", name_of(kForms, form)},
                    {"softmax", name_of(kSoftmaxes, softmax)},
                    {"mixing", name_of(kMixings, mixing)},
                    {"updates", name_of(kUpdates, updates)},
                    {"start", name_of(kStarts, start)},
                    {"position_size", position_size},
                    {"gate_width", gate_width},
                    {"scaled", scaled},
                    {"layout", layout_name(layout)},
                    {"base", base},
                    {"rows", rows},
                    {"columns", columns},
                    {"bandwidth", bandwidth},
                    {"reweighted", reweighted},
                    {"seed", seed}};
  scaling.write(settings);
  return settings;
}

std::vector<OptionDescription> TapeOptions::described() {
  std::vector<OptionDescription> options{
      {"form", "model", "model: the authors' code; paper: Eq. 6–8"},
      {"softmax", "head", "ẽ averages with one soft-max a head, or a block (Eq. 7; the default of the paper's form)"},
      {"mixing", "shared",
       "what the weights mix: shared (heads; survives id shifts), full (blocks and rows of a head), vector (channels), "
       "non-equivariant (heads with R, or with channels)"},
      {"updates", "both", "both, or only the update after the attention or the feed-forward (Table 6)"},
      {"start", "rope", "the first layer's state: rope, or random fourier features"},
      {"position_size", "4H", "I, the number of gates"},
      {"gate_width", "C", "hidden units of ψ in the paper's form"},
      {"scaled", "true", "logits ÷ √D; Eq. 6 as printed is not divided"},
      {"layout", "half", "half: channel m pairs with m + D/2; interleaved: 2m with 2m+1"},
      {"base", "10000", "θ_m = base^(−2m/D) of the rope start"},
      {"rows", "2", "L, vectors a block; 1 is the vector embedding"},
      {"columns", "2", "R, the dimension that the orthogonal group acts on"},
      {"bandwidth", "1", "fourier: standard deviation of the frequencies"},
      {"reweighted", "true", "fourier: Gaussian coefficients instead of 1"},
      {"seed", "0", "fourier: of the random draw"},
  };
  std::ranges::move(RopeScaling::described(), std::back_inserter(options));
  return options;
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

}  // namespace locus::position

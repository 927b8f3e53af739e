#include "core/position/tape/tape.h"

namespace locus::position {
namespace {

constexpr Words kForms{WordTable<TapeForm, 2>{{{"model", TapeForm::kModel}, {"paper", TapeForm::kPaper}}}};
constexpr Words kSoftmaxes{WordTable<TapeSoftmax, 2>{{{"head", TapeSoftmax::kHead}, {"block", TapeSoftmax::kBlock}}}};
constexpr Words kMixings{WordTable<TapeMixing, 4>{{{"shared", TapeMixing::kShared},
                                                   {"full", TapeMixing::kFull},
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
     "what the weights mix: shared (heads; survives id shifts), full (blocks and rows of a head), vector (channels), "
     "non-equivariant (heads with R, or with channels)",
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

}  // namespace locus::position

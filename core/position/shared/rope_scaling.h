// Changed frequencies of RoPE: linear (PI), NTK-aware, dynamic NTK, YaRN, Llama 3 and LongRoPE scaling beyond the
// trained length, the YaRN of TAPE's authors, and proportional RoPE, whose slow pairs do not turn, and clipped RoPE
// (arXiv:2602.05258), whose slow pairs turn slower still or not at all. RoPE, RandPE, CoPE + RoPE and TAPE take their frequencies from
// here.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/base/settings.h"
#include "core/position/shared/description.h"

namespace locus::position {

// (M) float64 θ_m, and what cos and sin are multiplied with.
struct RotaryFrequencies {
  at::Tensor inverse;
  double magnitude = 1.0;
};

// Options under the names of Hugging Face's rope_scaling. L0 is the length the model was trained for before scaling.
struct RopeScaling {
  std::string kind = "none";      // none linear ntk dynamic yarn yarn-turns llama3 longrope proportional clipped
  double factor = 1.0;            // s
  double attention_factor = 0.0;  // multiplies cos and sin; 0: yarn: 0.1·ln s + 1,
                                  // longrope: √(1 + ln s / ln L0)
  double beta_fast = 32.0;        // yarn: pairs with more turns over L0 keep θ
  double beta_slow = 1.0;         // yarn: pairs with fewer turns over L0 get θ/s
  bool truncate = true;           // yarn: the ramp's ends are rounded to whole pairs
  double low_freq_factor = 1.0;   // llama3
  double high_freq_factor = 4.0;  // llama3
  std::int64_t original_max_position_embeddings = 0;  // L0; 0: max_position_embeddings, else the trained length
  std::int64_t max_position_embeddings = 0;           // L0 where the one above is 0; yarn-turns: this/L0 is s of the
                                                      // magnitude up to L0
  std::vector<double> short_factor;                   // longrope: (M) each pair's stretch up to L0 tokens
  std::vector<double> long_factor;                    // and beyond
  double proportion = 1.0;  // proportional: the first ⌊proportion·M⌋ pairs turn, by θ_m/s
  // clipped: of the n = min(clip_pairs, M) slowest pairs, the u-th (u = 0 … n−1, fastest first) turns by
  // θ·½(1 + cos(πu/(n−1))), and none of them with clip_hard.
  std::int64_t clip_pairs = 20;
  bool clip_hard = false;

  // Reads the options above ("scaling" is `kind`). Errors: kBadInput naming the option.
  static Result<RopeScaling> from(const Settings& settings);
  // The options beside those of `settings`.
  Settings written(Settings settings) const;
  // Their rows for a Description.
  static std::vector<OptionDescription> described();

  // kBadInput when L0 is needed but nowhere given, or when `width` has too few channels (NTK needs 4).
  Status check(std::int64_t width, std::int64_t trained_length) const;
  // The length that `frequencies` takes for these positions (T): the last one + 1, for yarn-turns the tokens they span, so that
  // shifting all of them changes nothing.
  double length_of(const at::Tensor& ids) const;
  // Pairs of a rotation of `width` channels that turn, the first ones: all M but for proportional and clipped, whose
  // others have θ = 0.
  std::int64_t turning_pairs(std::int64_t width) const;
  // θ of a rotation of `width` channels over this length (only dynamic NTK, yarn-turns and longrope depend on it).
  RotaryFrequencies frequencies(std::int64_t width, double base, double length, std::int64_t trained_length) const;

 private:
  double original_length(std::int64_t trained_length) const;
  RotaryFrequencies yarn(std::int64_t width, double base, double original) const;
  RotaryFrequencies yarn_turns(std::int64_t width, double base, double length, double original) const;
  RotaryFrequencies longrope(std::int64_t width, double base, double length, double original) const;
  at::Tensor clipped(const at::Tensor& inverse) const;
  at::Tensor llama3(const at::Tensor& inverse, double original) const;
};

}  // namespace locus::position

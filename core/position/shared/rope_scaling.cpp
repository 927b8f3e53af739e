#include "core/position/shared/rope_scaling.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/position/shared/option_table.h"

namespace locus::position {

namespace {

constexpr Words kClipWords{WordTable<bool, 2>{{{"soft", false}, {"hard", true}}}};

const OptionTable<RopeScaling> kScalingOptions{
    {"scaling", &RopeScaling::kind,
     "none; linear (PI: positions/s); ntk (base·s^(D/(D−2))); dynamic (NTK growing with the length beyond L0); yarn; "
     "yarn-turns (TAPE's authors: s = T/L0 beyond L0, a ramp linear in the turns of a pair); llama3; longrope (a "
     "stretch a pair, one list up to L0 tokens and one beyond); proportional (only the first pairs turn); clipped (the "
     "last "
     "pairs turn slower or not at all)",
     OneOf{
         {"none", "linear", "ntk", "dynamic", "yarn", "yarn-turns", "llama3", "longrope", "proportional", "clipped"}}},
    {"factor", &RopeScaling::factor, "s of the scaling", Above{0}},
    {"attention_factor", &RopeScaling::attention_factor, "yarn: multiplies cos and sin; 0: 0.1·ln s + 1",
     Above{0, true}},
    {"beta_fast", &RopeScaling::beta_fast, "yarn: pairs with more turns over L0 keep their frequency", Above{0}},
    {"beta_slow", &RopeScaling::beta_slow, "yarn: pairs with fewer turns over L0 are slowed by s", Above{0}},
    {"truncate", &RopeScaling::truncate, "yarn: the ramp's ends are rounded to whole pairs"},
    {"short_factor", &RopeScaling::short_factor, "longrope: what each pair's frequency is divided by up to L0 tokens",
     AnyValue{}, ""},
    {"long_factor", &RopeScaling::long_factor, "longrope: and beyond", AnyValue{}, ""},
    {"proportion", &RopeScaling::proportion, "proportional: the share of pairs that turn, the fastest ones", Above{0},
     ""},
    {"clip_pairs", &RopeScaling::clip_pairs, "clipped: how many of the slowest pairs", AnyValue{}, ""},
    {"clip", &RopeScaling::clip_hard,
     "clipped: soft: their rates fall to 0 along half a cosine; hard: none of them turns", kClipWords, ""},
    {"low_freq_factor", &RopeScaling::low_freq_factor, "llama3: wavelengths above L0/this are stretched by s",
     Above{0}},
    {"high_freq_factor", &RopeScaling::high_freq_factor, "llama3: wavelengths below L0/this are kept", Above{0}},
    {"original_max_position_embeddings", &RopeScaling::original_max_position_embeddings,
     "L0; 0: max_position_embeddings, else the trained length"},
    {"max_position_embeddings", &RopeScaling::max_position_embeddings,
     "L0 where the option above is 0; yarn-turns: this/L0 gives the magnitude up to L0"},
};

Status check_values(const RopeScaling& scaling) {
  for (const auto& [name, factors] :
       {std::pair{"short_factor", &scaling.short_factor}, std::pair{"long_factor", &scaling.long_factor}}) {
    for (const double each : *factors) {
      if (!(each > 0) || !std::isfinite(each)) {
        return wrong_option(name, "numbers above 0", each);
      }
    }
  }
  if (!(scaling.proportion > 0 && scaling.proportion <= 1)) {
    return wrong_option("proportion", "a number in (0, 1]", scaling.proportion);
  }
  if (scaling.kind == "clipped" && scaling.clip_pairs < (scaling.clip_hard ? 1 : 2)) {
    return wrong_option("clip_pairs", scaling.clip_hard ? "at least 1" : "at least 2 for a soft clip",
                        static_cast<double>(scaling.clip_pairs));
  }
  if (scaling.kind == "yarn-turns" && scaling.beta_fast <= scaling.beta_slow) {
    return wrong_option("beta_fast", "more than beta_slow", scaling.beta_fast);
  }
  if (scaling.kind == "llama3" && scaling.high_freq_factor <= scaling.low_freq_factor) {
    return wrong_option("high_freq_factor", "more than low_freq_factor", scaling.high_freq_factor);
  }
  if (scaling.original_max_position_embeddings < 0 || scaling.max_position_embeddings < 0) {
    return bad_input(
        "options original_max_position_embeddings and max_position_embeddings: expected lengths of at "
        "least 0, found " +
        std::to_string(scaling.original_max_position_embeddings) + " and " +
        std::to_string(scaling.max_position_embeddings));
  }
  return {};
}

// YaRN's default factor of cos and sin.
double yarn_magnitude(double s) {
  return s > 1 ? 0.1 * std::log(s) + 1 : 1.0;
}

// The (fractional) pair that makes `turns` turns over the original length.
double pair_of_turns(double turns, double width, double base, double original) {
  return width * std::log(original / (turns * 2 * std::numbers::pi)) / (2 * std::log(base));
}

}  // namespace

Result<RopeScaling> RopeScaling::from(const Settings& settings) {
  LOCUS_TRY(RopeScaling scaling, kScalingOptions.read(settings));
  LOCUS_CHECK(check_values(scaling));
  return scaling;
}

Settings RopeScaling::written(Settings settings) const {
  settings = kScalingOptions.written(*this, std::move(settings));
  if (kind != "longrope") {
    settings.erase("short_factor");
    settings.erase("long_factor");
  }
  if (kind != "proportional") {
    settings.erase("proportion");
  }
  if (kind != "clipped") {
    settings.erase("clip_pairs");
    settings.erase("clip");
  }
  return settings;
}

std::vector<OptionDescription> RopeScaling::described() {
  return kScalingOptions.described();
}

double RopeScaling::original_length(std::int64_t trained_length) const {
  if (original_max_position_embeddings > 0) {
    return static_cast<double>(original_max_position_embeddings);
  }
  return static_cast<double>(max_position_embeddings > 0 ? max_position_embeddings : trained_length);
}

Status RopeScaling::check(std::int64_t width, std::int64_t trained_length) const {
  const bool needs_length =
      kind == "dynamic" || kind == "yarn" || kind == "yarn-turns" || kind == "llama3" || kind == "longrope";
  if (needs_length && original_length(trained_length) <= 0) {
    return bad_input("option original_max_position_embeddings: scaling " + kind +
                     " needs the original length, found none");
  }
  const auto pairs = static_cast<std::size_t>(width / 2);
  if (kind == "longrope" && (short_factor.size() != pairs || long_factor.size() != pairs)) {
    return bad_input("options short_factor and long_factor: expected " + std::to_string(pairs) +
                     " numbers each, one a pair, found " + std::to_string(short_factor.size()) + " and " +
                     std::to_string(long_factor.size()));
  }
  if (kind == "proportional" && turning_pairs(width) < 1) {
    return bad_input("option proportion: expected at least one of " + std::to_string(pairs) + " pairs, found none");
  }
  if ((kind == "ntk" || kind == "dynamic") && width < 4) {
    return bad_input("option scaling: " + kind + " needs at least 4 rotated channels, found " + std::to_string(width));
  }
  return {};
}

std::int64_t RopeScaling::turning_pairs(std::int64_t width) const {
  const std::int64_t pairs = width / 2;
  if (kind == "proportional") {
    return static_cast<std::int64_t>(std::floor(proportion * static_cast<double>(pairs) + 1e-6));
  }
  if (kind == "clipped") {
    return clip_hard ? std::max(pairs - clip_pairs, std::int64_t{0}) : pairs - 1;
  }
  return pairs;
}

double RopeScaling::length_of(const at::Tensor& ids) const {
  if (ids.numel() == 0) {
    return 0.0;
  }
  const double last = std::ceil(ids.max().item<double>());
  return kind == "yarn-turns" ? last - std::floor(ids.min().item<double>()) + 1 : last + 1;
}

RotaryFrequencies RopeScaling::frequencies(std::int64_t width, double base, double length,
                                           std::int64_t trained_length) const {
  const double channels = static_cast<double>(width);
  const double original = original_length(trained_length);
  if (kind == "linear") {
    return {inverse_frequencies(width, base) / factor};
  }
  if (kind == "ntk") {
    return {inverse_frequencies(width, base * std::pow(factor, channels / (channels - 2)))};
  }
  if (kind == "dynamic") {
    const double stretch = length > original ? factor * length / original - (factor - 1) : 1.0;
    return {inverse_frequencies(width, base * std::pow(stretch, channels / (channels - 2)))};
  }
  if (kind == "yarn") {
    return yarn(width, base, original);
  }
  if (kind == "yarn-turns") {
    return yarn_turns(width, base, length, original);
  }
  if (kind == "longrope") {
    return longrope(width, base, length, original);
  }
  const at::Tensor inverse = inverse_frequencies(width, base);
  if (kind == "proportional") {
    inverse.slice(0, turning_pairs(width)).zero_();
    return {inverse / factor};
  }
  if (kind == "clipped") {
    return {clipped(inverse)};
  }
  return {kind == "llama3" ? llama3(inverse, original) : inverse};
}

RotaryFrequencies RopeScaling::yarn(std::int64_t width, double base, double original) const {
  const double channels = static_cast<double>(width);
  const double first = pair_of_turns(beta_fast, channels, base, original);
  const double last = pair_of_turns(beta_slow, channels, base, original);
  const double low = std::max(truncate ? std::floor(first) : first, 0.0);
  double high = std::min(truncate ? std::ceil(last) : last, channels - 1);
  if (high == low) {
    high += 0.001;
  }
  const at::Tensor ramp = ((at::arange(width / 2, at::kDouble) - low) / (high - low)).clamp(0, 1);
  const at::Tensor inverse = inverse_frequencies(width, base);
  return {inverse * (1 - ramp) + inverse / factor * ramp,
          attention_factor > 0 ? attention_factor : yarn_magnitude(factor)};
}

RotaryFrequencies RopeScaling::yarn_turns(std::int64_t width, double base, double length, double original) const {
  const at::Tensor inverse = inverse_frequencies(width, base);
  if (length <= original) {
    // Up to L0 the frequencies stay as trained, the magnitude is that of the longest length.
    const double longest = static_cast<double>(max_position_embeddings) / original;
    return {inverse, attention_factor > 0 ? attention_factor : yarn_magnitude(longest)};
  }
  const double s = length / original;
  const at::Tensor turns = inverse * (original / (2 * std::numbers::pi));
  const at::Tensor keep = ((turns - beta_slow) / (beta_fast - beta_slow)).clamp(0, 1);
  return {inverse * (keep + (1 - keep) / s), attention_factor > 0 ? attention_factor : yarn_magnitude(s)};
}

RotaryFrequencies RopeScaling::longrope(std::int64_t width, double base, double length, double original) const {
  const std::vector<double>& factors = length > original ? long_factor : short_factor;
  const double usual = factor > 1 ? std::sqrt(1 + std::log(factor) / std::log(original)) : 1.0;
  return {inverse_frequencies(width, base) / at::tensor(factors, at::kDouble),
          attention_factor > 0 ? attention_factor : usual};
}

at::Tensor RopeScaling::clipped(const at::Tensor& inverse) const {
  const std::int64_t pairs = inverse.size(0);
  const std::int64_t clipped = std::min(clip_pairs, pairs);
  at::Tensor slow = inverse.slice(0, pairs - clipped);
  if (!clip_hard && clipped > 1) {
    slow.mul_(0.5 *
              (1 + at::cos(std::numbers::pi / static_cast<double>(clipped - 1) * at::arange(clipped, at::kDouble))));
  }
  inverse.slice(0, turning_pairs(2 * pairs)).zero_();  // the last one's rate is 0 but for rounding
  return inverse;
}

at::Tensor RopeScaling::llama3(const at::Tensor& inverse, double original) const {
  const at::Tensor turns = inverse * (original / (2 * std::numbers::pi));  // over the original length
  const at::Tensor smooth = ((turns - low_freq_factor) / (high_freq_factor - low_freq_factor)).clamp(0, 1);
  return inverse / factor * (1 - smooth) + inverse * smooth;
}

}  // namespace locus::position

#include "models/families/gguf.h"

#include <algorithm>
#include <cmath>

#include "core/base/shown.h"

namespace locus::families {

namespace {

using formats::GgufOutput;
using formats::GgufValues;
using transformer::Spec;

constexpr std::int64_t kGemma3Pattern = 6;

std::uint32_t whole(std::int64_t number) {
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(number, 0, 0xFFFFFFFFLL));
}

GgufOutput vector_output(const std::string& name, const std::vector<double>& numbers) {
  std::vector<float> values(numbers.size());
  std::transform(numbers.begin(), numbers.end(), values.begin(), [](double x) { return static_cast<float>(x); });
  return {name, {static_cast<std::int64_t>(numbers.size())}, blocks::format_of("F32"), [values] { return values; }};
}

// Divisors of the frequencies in Llama 3's scaling.
std::vector<double> llama3_divisors(double base, std::int64_t width, double factor, double low, double high,
                                    double original) {
  std::vector<double> divisors;
  for (std::int64_t pair = 0; pair < width / 2; ++pair) {
    const double turns =
        original * std::pow(base, -2 * static_cast<double>(pair) / static_cast<double>(width)) / (2 * M_PI);
    const double smooth = (turns - low) / (high - low);
    divisors.push_back(turns > high ? 1 : turns < low ? factor : 1 / ((1 - smooth) / factor + smooth));
  }
  return divisors;
}

// Adds RoPE's scaling as values, or as tensors of divisors.
class ScalingWriter {
 public:
  ScalingWriter(std::string prefix, const Spec& spec, GgufValues& values, std::vector<GgufOutput>& tables)
      : prefix_(std::move(prefix)),
        spec_(spec),
        options_(spec.encodings.front().options),
        values_(values),
        tables_(tables) {}

  Status write() {
    LOCUS_TRY(const std::string kind, options_.text("scaling", "none"));
    LOCUS_TRY(const double factor, options_.number("factor", 1.0));
    LOCUS_TRY(const double attention, options_.number("attention_factor", 0.0));
    LOCUS_TRY(std::int64_t original, options_.integer("original_max_position_embeddings", 0));
    if (kind == "none") {
      return {};
    }
    if (kind == "llama3") {
      return write_llama3(factor, static_cast<double>(original));
    }
    if (kind == "longrope") {
      LOCUS_TRY(const auto long_factor, options_.numbers("long_factor"));
      LOCUS_TRY(const auto short_factor, options_.numbers("short_factor"));
      tables_.push_back(vector_output("rope_factors_long.weight", long_factor));
      tables_.push_back(vector_output("rope_factors_short.weight", short_factor));
    } else if (kind == "linear" || kind == "yarn") {
      values_.text(prefix_ + "rope.scaling.type", kind);
      values_.number(prefix_ + "rope.scaling.factor", static_cast<float>(factor));
    } else {
      return unsupported("rope scaling " + shown(kind) +
                         ": a GGUF file supports none, linear, yarn, llama3 or longrope");
    }
    if (original > 0) {
      values_.integer(prefix_ + "rope.scaling.original_context_length", whole(original));
    }
    if (attention > 0) {
      const double own = kind == "yarn" ? 0.1 * std::log(factor) + 1 : 1;
      values_.number(prefix_ + "rope.scaling.attn_factor", static_cast<float>(attention / own));
    }
    return {};
  }

 private:
  Status write_llama3(double factor, double original) {
    LOCUS_TRY(const double base, options_.number("base", 10000.0));
    LOCUS_TRY(const double low, options_.number("low_freq_factor", 1.0));
    LOCUS_TRY(const double high, options_.number("high_freq_factor", 4.0));
    if (!(original > 0) || !(high > low)) {
      return unsupported("rope scaling llama3: expected original_max_position_embeddings above 0");
    }
    tables_.push_back(vector_output(
        "rope_freqs.weight", llama3_divisors(base, spec_.first().attention.head_width, factor, low, high, original)));
    return {};
  }

  std::string prefix_;
  const Spec& spec_;
  const Settings& options_;
  GgufValues& values_;
  std::vector<GgufOutput>& tables_;
};

// True if a reader of the values below derives the same windows.
bool can_write_windows(const GgufArchitecture& architecture, const Spec& spec, std::int64_t pattern) {
  for (std::size_t n = 0; n < spec.layers.size(); ++n) {
    const bool windowed = spec.layers[n].attention.window > 0;
    const auto place = static_cast<std::int64_t>(n);
    const bool said = architecture.name == "gemma2"   ? place % 2 == 0
                      : architecture.name == "gemma3" ? (place + 1) % pattern != 0
                                                      : spec.first().attention.window > 0;
    if (windowed != said) {
      return false;
    }
  }
  return true;
}

Status add_gemma(const std::string& prefix, const GgufArchitecture& architecture, const Spec& spec,
                 GgufValues& values) {
  values.number(prefix + "attention.scale", static_cast<float>(spec.first().attention.scale));
  if (architecture.name != "gemma3") {
    return {};
  }
  if (spec.encodings.size() != 2) {
    return unsupported("expected two encodings, found " + std::to_string(spec.encodings.size()));
  }
  LOCUS_TRY(const double local_base, spec.encodings.back().options.number("base", 10000.0));
  values.number(prefix + "rope.freq_base_swa", static_cast<float>(local_base));
  return {};
}

// The period of layers without a window.
std::int64_t pattern_of(const Spec& spec) {
  for (std::size_t n = 0; n < spec.layers.size(); ++n) {
    if (spec.layers[n].attention.window == 0) {
      return static_cast<std::int64_t>(n) + 1;
    }
  }
  return std::max<std::int64_t>(kGemma3Pattern, spec.depth() + 1);
}

}  // namespace

const GgufArchitecture* gguf_architecture_of(std::string_view family) {
  const std::string_view name = family == "mistral" ? "llama" : family;
  for (const GgufArchitecture& each : gguf_architectures()) {
    if (each.model_type == name) {
      return &each;
    }
  }
  return nullptr;
}

Status add_gguf_values(const GgufArchitecture& architecture, const Spec& spec, GgufValues& values,
                       std::vector<GgufOutput>& tables) {
  const std::string prefix = std::string(architecture.name) + ".";
  const transformer::AttentionSpec& attention = spec.first().attention;
  const std::int64_t pattern = pattern_of(spec);
  if (!can_write_windows(architecture, spec, pattern)) {
    return unsupported("windows in other layers than in a GGUF file of " + std::string(architecture.name));
  }
  if (spec.encodings.empty() || spec.encodings.front().name != "rope") {
    return unsupported("expected rope, the encoding of a GGUF file of " + std::string(architecture.name));
  }
  LOCUS_TRY(const double base, spec.encodings.front().options.number("base", 10000.0));
  LOCUS_TRY(const double fraction, spec.encodings.front().options.number("fraction", 1.0));
  values.text("general.architecture", architecture.name);
  values.integer(prefix + "block_count", whole(spec.depth()));
  values.integer(prefix + "context_length", whole(spec.trained_length));
  values.integer(prefix + "embedding_length", whole(spec.width));
  values.integer(prefix + "feed_forward_length", whole(spec.first().feed_forward.inner));
  values.integer(prefix + "attention.head_count", whole(attention.heads));
  values.integer(prefix + "attention.head_count_kv", whole(attention.kv_heads));
  values.integer(prefix + "attention.key_length", whole(attention.head_width));
  values.integer(prefix + "attention.value_length", whole(attention.head_width));
  values.number(prefix + "attention.layer_norm_rms_epsilon", static_cast<float>(spec.norm_eps));
  values.number(prefix + "rope.freq_base", static_cast<float>(base));
  values.integer(prefix + "rope.dimension_count",
                 whole(std::llround(fraction * static_cast<double>(attention.head_width))));
  values.integer(prefix + "vocab_size", whole(spec.vocabulary));
  const auto windowed = std::find_if(spec.layers.begin(), spec.layers.end(),
                                     [](const transformer::LayerSpec& layer) { return layer.attention.window > 0; });
  if (windowed != spec.layers.end()) {
    values.integer(prefix + "attention.sliding_window", whole(windowed->attention.window));
  }
  if (architecture.name == "gemma3" && pattern != kGemma3Pattern) {
    values.integer(prefix + "attention.sliding_window_pattern", whole(pattern));
  }
  if (attention.soft_cap > 0) {
    values.number(prefix + "attn_logit_softcapping", static_cast<float>(attention.soft_cap));
  }
  if (spec.logit_cap > 0) {
    values.number(prefix + "final_logit_softcapping", static_cast<float>(spec.logit_cap));
  }
  if (architecture.one_added) {
    LOCUS_CHECK(add_gemma(prefix, architecture, spec, values));
  }
  return ScalingWriter(prefix, spec, values, tables).write();
}

}  // namespace locus::families

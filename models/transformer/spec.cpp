#include "models/transformer/spec.h"

#include <array>
#include <string_view>
#include <utility>

namespace locus::transformer {

namespace {

// Sizes beyond these are a corrupt config, not a model.
constexpr std::int64_t kLargestSize = std::int64_t{1} << 24;
constexpr std::int64_t kMostLayers = 4096;

constexpr std::array<std::pair<std::string_view, Activation>, 9> kActivations{{
    {"gelu", Activation::kGelu},
    {"gelu_tanh", Activation::kGeluTanh},
    {"silu", Activation::kSilu},
    {"relu", Activation::kRelu},
    {"gelu_new", Activation::kGeluTanh},
    {"gelu_pytorch_tanh", Activation::kGeluTanh},
    {"gelu_fast", Activation::kGeluTanh},
    {"bloom_gelu", Activation::kGeluTanh},
    {"swish", Activation::kSilu},
}};
constexpr std::size_t kOwnNames = 4;

Status check_size(std::string_view field, std::int64_t value, std::int64_t most) {
  if (value < 1 || value > most) {
    return bad_input(std::string(field) + ": expected 1 to " + std::to_string(most) + ", found " +
                     std::to_string(value));
  }
  return {};
}

}  // namespace

Status validate(const Spec& spec) {
  LOCUS_CHECK(check_size("layers", spec.layers, kMostLayers));
  LOCUS_CHECK(check_size("heads", spec.heads, kLargestSize));
  LOCUS_CHECK(check_size("kv_heads", spec.kv_heads, spec.heads));
  LOCUS_CHECK(check_size("head_width", spec.head_width, kLargestSize));
  LOCUS_CHECK(check_size("width", spec.width, kLargestSize));
  LOCUS_CHECK(check_size("inner", spec.inner, kLargestSize));
  LOCUS_CHECK(check_size("vocabulary", spec.vocabulary, kLargestSize));
  if (spec.heads % spec.kv_heads != 0) {
    return bad_input("kv_heads: expected a divisor of heads " + std::to_string(spec.heads) + ", found " +
                     std::to_string(spec.kv_heads));
  }
  if (spec.window < 0 || (spec.window > 0 && !spec.causal)) {
    return bad_input("window: expected none or a causal one, found " + std::to_string(spec.window));
  }
  if (spec.is_image()) {
    LOCUS_CHECK(check_size("patch", spec.image.patch, 4096));
    LOCUS_CHECK(check_size("channels", spec.image.channels, 16));
    LOCUS_CHECK(check_size("patch rows", spec.image.rows, 16384));
    LOCUS_CHECK(check_size("patch columns", spec.image.columns, 16384));
  }
  return {};
}

double multiply_accumulates(const Spec& spec, std::int64_t length) {
  const auto tokens = static_cast<double>(length);
  const auto width = static_cast<double>(spec.width);
  const auto inner = static_cast<double>(spec.inner);
  const auto query_width = static_cast<double>(spec.heads * spec.head_width);
  const auto key_width = static_cast<double>(spec.kv_heads * spec.head_width);
  const double projections = width * (query_width + 2 * key_width) + query_width * width;
  const double feed_forward = (spec.gated ? 3 : 2) * width * inner;
  const double keys = spec.window > 0 && length > spec.window ? static_cast<double>(spec.window) : tokens;
  const double attention = 2 * query_width * keys;
  double total = static_cast<double>(spec.layers) * tokens * (projections + feed_forward + attention);
  if (spec.is_image()) {
    const auto patch = static_cast<double>(spec.image.patch);
    total += tokens * static_cast<double>(spec.image.channels) * patch * patch * width;
    return total + width * static_cast<double>(spec.vocabulary);
  }
  return total + tokens * width * (static_cast<double>(spec.vocabulary) + (spec.head_transform ? width : 0));
}

double run_macs(const Spec& spec, std::int64_t length, bool all_logits) {
  double total = multiply_accumulates(spec, length);
  const auto tokens = static_cast<double>(length);
  const bool whole = spec.window <= 0 || length <= spec.window;
  if (spec.causal && whole) {
    total -= static_cast<double>(spec.layers * spec.heads * spec.head_width) * tokens * tokens;
  }
  if (!spec.is_image() && !all_logits) {
    total -= (tokens - 1) * static_cast<double>(spec.width) * static_cast<double>(spec.vocabulary);
  }
  return total;
}

std::string to_text(Activation activation) {
  for (const auto& [name, value] : kActivations) {
    if (value == activation) {
      return std::string(name);
    }
  }
  return {};
}

Result<Activation> parse_activation(const std::string& name) {
  std::string known;
  for (std::size_t n = 0; n < kActivations.size(); ++n) {
    if (kActivations[n].first == name) {
      return kActivations[n].second;
    }
    if (n < kOwnNames) {
      known += (known.empty() ? "" : ", ") + std::string(kActivations[n].first);
    }
  }
  return unsupported("activation " + name + " is not supported; known: " + known);
}

}  // namespace locus::transformer

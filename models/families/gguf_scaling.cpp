#include "models/families/gguf_scaling.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "core/base/shown.h"
#include "models/formats/gguf/gguf_metadata.h"

namespace locus::families {

namespace {

using formats::TensorInfo;
using Fields = nlohmann::ordered_json;

// The numbers of a float32 vector; none where the file has no such tensor. Errors: kBadInput.
Result<std::vector<double>> vector_of(const formats::TensorSource& file, std::string_view name) {
  std::vector<double> numbers;
  const TensorInfo* tensor = file.find(name);
  if (tensor == nullptr) {
    return numbers;
  }
  constexpr std::int64_t kLongest = 4096;
  if (tensor->dtype != formats::DType::kF32 || tensor->shape.size() != 1 || tensor->elements() > kLongest) {
    return bad_input(
        "expected at most " + std::to_string(kLongest) + " float32 numbers, found " + std::string(tensor->type_name()),
        tensor->file.string() + ": tensor " + tensor->name);
  }
  for (std::int64_t n = 0; n < tensor->elements(); ++n) {
    float number = 0;
    std::memcpy(&number, tensor->storage.data() + n * 4, sizeof number);
    if (!(number > 0) || !std::isfinite(number)) {
      return bad_input("expected numbers above 0", tensor->file.string() + ": tensor " + tensor->name);
    }
    numbers.push_back(static_cast<double>(number));
  }
  return numbers;
}

// What Llama 3.1 and its successors divide frequency m by, with the three numbers that all of them share.
double llama3_divisor(double base, double width, double pair, double factor) {
  constexpr double kLow = 1;
  constexpr double kHigh = 4;
  constexpr double kOriginal = 8192;
  const double turns = kOriginal * std::pow(base, -2 * pair / width) / (2 * M_PI);
  if (turns > kHigh) {
    return 1;
  }
  if (turns < kLow) {
    return factor;
  }
  const double smooth = (turns - kLow) / (kHigh - kLow);
  return 1 / ((1 - smooth) / factor + smooth);
}

// Divisors of the frequencies: Llama 3's by their name, others as they are.
Fields divisors_as_scaling(const std::vector<double>& divisors, double base) {
  const double factor = *std::max_element(divisors.begin(), divisors.end());
  const auto width = 2 * static_cast<double>(divisors.size());
  bool llama3 = factor > 1;
  for (std::size_t n = 0; llama3 && n < divisors.size(); ++n) {
    const double expected = llama3_divisor(base, width, static_cast<double>(n), factor);
    llama3 = std::abs(divisors[n] - expected) <= 1e-4 * expected;
  }
  if (llama3) {
    return {{"rope_type", "llama3"},
            {"factor", factor},
            {"low_freq_factor", 1.0},
            {"high_freq_factor", 4.0},
            {"original_max_position_embeddings", 8192}};
  }
  return {{"rope_type", "longrope"}, {"short_factor", divisors}, {"long_factor", divisors}, {"attention_factor", 1.0}};
}

}  // namespace

Status add_gguf_scaling(const formats::TensorSource& file, const std::string& prefix, Fields& fields) {
  const formats::GgufMetadata& metadata = *file.gguf();
  LOCUS_TRY(const std::vector<double> divisors, vector_of(file, "rope_freqs.weight"));
  LOCUS_TRY(const std::vector<double> long_factors, vector_of(file, "rope_factors_long.weight"));
  LOCUS_TRY(const std::vector<double> short_factors, vector_of(file, "rope_factors_short.weight"));
  LOCUS_TRY(const auto original, metadata.integer(prefix + "rope.scaling.original_context_length"));
  LOCUS_TRY(const auto attention, metadata.number(prefix + "rope.scaling.attn_factor"));
  if (!long_factors.empty() || !short_factors.empty()) {
    fields["rope_scaling"] = {
        {"rope_type", "longrope"}, {"long_factor", long_factors}, {"short_factor", short_factors}};
    if (attention) {
      fields["rope_scaling"]["attention_factor"] = *attention;
    }
    if (original) {
      fields["original_max_position_embeddings"] = *original;
    }
    return {};
  }
  if (!divisors.empty()) {
    fields["rope_scaling"] = divisors_as_scaling(divisors, fields.value("rope_theta", 10000.0));
    return {};
  }
  LOCUS_TRY(const auto kind, metadata.text(prefix + "rope.scaling.type"));
  LOCUS_TRY(const auto old_factor, metadata.number(prefix + "rope.scale_linear"));
  const std::string type(kind.value_or(old_factor.value_or(1) != 1 ? "linear" : "none"));
  if (type == "none") {
    return {};
  }
  if (type != "linear" && type != "yarn") {
    return unsupported("expected none, linear, yarn or tensors of factors, found " + shown(type),
                       metadata.context(prefix + "rope.scaling.type"));
  }
  LOCUS_TRY(const auto factor, metadata.number(prefix + "rope.scaling.factor"));
  fields["rope_scaling"] = {{"rope_type", type}, {"factor", factor.value_or(old_factor.value_or(1))}};
  if (original) {
    fields["rope_scaling"]["original_max_position_embeddings"] = *original;
  }
  if (type == "yarn" && attention.value_or(1) != 1) {
    fields["rope_scaling"]["attention_factor"] = *attention * (0.1 * std::log(factor.value_or(1)) + 1);
  }
  return {};
}

}  // namespace locus::families

#include "models/families/gguf.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "core/base/shown.h"
#include "models/families/gguf_hybrids.h"
#include "models/formats/gguf/gguf_metadata.h"
#include "models/formats/tensor_table.h"

namespace locus::families {

namespace {

using formats::GgufMetadata;
using formats::TensorInfo;
using Fields = nlohmann::ordered_json;

// Tensors that repeat the configuration.
bool is_table(std::string_view name) {
  return name == "rope_freqs.weight" || name == "rope_factors_long.weight" || name == "rope_factors_short.weight" ||
         name.ends_with(".rope_freqs.weight") || name.ends_with(".attn_rot_embd.weight");
}

GgufTensor family_tensor(const TensorInfo& tensor, const GgufArchitecture& architecture, std::int64_t head_width) {
  GgufTensor own{tensor, family_name(architecture, tensor.name)};
  const auto ends_with = [&](std::string_view ending) { return tensor.name.ends_with(ending); };
  const bool turned = ends_with(".attn_q.weight") || ends_with(".attn_k.weight") || ends_with(".attn_q.bias") ||
                      ends_with(".attn_k.bias");
  own.info.interleaved = architecture.interleaved && turned ? head_width : 0;
  own.info.one_added = architecture.one_added && ends_with("norm.weight");
  return own;
}

// The tensors of a GGUF file, under the family's names as well as their own.
class GgufTensors final : public formats::TensorSource {
 public:
  GgufTensors(formats::Source file, std::vector<GgufTensor> tensors) : file_(std::move(file)) {
    std::transform(tensors.begin(), tensors.end(), std::back_inserter(tensors_),
                   [](GgufTensor& tensor) { return std::move(tensor.info); });
    for (std::size_t n = 0; n < tensors.size(); ++n) {
      names_.emplace(tensors_[n].name, &tensors_[n]);
      if (!tensors[n].name.empty()) {
        names_.emplace(tensors[n].name, &tensors_[n]);
      }
    }
  }

  const std::vector<TensorInfo>& tensors() const override { return tensors_; }
  const TensorInfo* find(std::string_view name) const override {
    const auto found = names_.find(name);
    return found == names_.end() ? nullptr : found->second;
  }
  const std::map<std::string, std::string>& metadata() const override { return file_->metadata(); }
  const std::vector<std::filesystem::path>& files() const override { return file_->files(); }
  const std::vector<std::string>& warnings() const override { return file_->warnings(); }
  const std::string& extra_json() const override { return file_->extra_json(); }
  std::shared_ptr<const GgufMetadata> gguf() const override { return file_->gguf(); }

 private:
  formats::Source file_;
  std::vector<TensorInfo> tensors_;
  std::map<std::string, const TensorInfo*, std::less<>> names_;
};

// Divisor of frequency m in Llama 3.1 and its successors, with the three numbers that all of them share.
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

// Divisors of the frequencies as a scaling: llama3 where they match, otherwise the numbers themselves.
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

// Adds what a file says of YaRN beside its factor to `block`. The multiplier of the logarithm is mscale_all_dim, a tenth
// of it in files of DeepSeek, which mean mscale by it too; in other files mscale is 1. Errors: kUnsupported for another
// extrapolation factor than 1.
Status add_yarn(const GgufMetadata& metadata, const std::string& prefix, Fields& block) {
  const std::string scaling = prefix + "rope.scaling.";
  for (const auto& [value, field] :
       {std::pair{"yarn_attn_factor", "attention_factor"}, std::pair{"yarn_beta_fast", "beta_fast"},
        std::pair{"yarn_beta_slow", "beta_slow"}}) {
    LOCUS_TRY(const auto number, metadata.number(scaling + value));
    if (number) {
      block[field] = *number;
    }
  }
  LOCUS_TRY(const auto beyond, metadata.number(scaling + "yarn_ext_factor"));
  if (beyond.value_or(1) != 1) {
    return unsupported("expected 1, found " + std::to_string(*beyond), metadata.context(scaling + "yarn_ext_factor"));
  }
  LOCUS_TRY(const auto multiplier, metadata.number(scaling + "yarn_log_multiplier"));
  if (multiplier.value_or(0) != 0) {
    const bool tenth = prefix == "deepseek2." || prefix == "deepseek32." || prefix == "glm-dsa.";
    block["mscale_all_dim"] = tenth ? *multiplier / 0.1 : *multiplier;
    block["mscale"] = tenth ? block["mscale_all_dim"] : Fields(1.0);
  }
  return {};
}

// Adds config.json's rope_scaling to `fields`, which holds rope_theta already, from the tensor rope_freqs, from Phi's
// two lists of factors, or from rope.scaling.*; nothing where there is none. `prefix` is the architecture's ("llama.").
// Errors: kBadInput for a tensor of factors that is none; kUnsupported for another kind of scaling.
Status add_gguf_scaling(const formats::TensorSource& file, const std::string& prefix, Fields& fields) {
  const formats::GgufMetadata& metadata = *file.gguf();
  LOCUS_TRY(const std::vector<double> divisors, gguf_vector(file, "rope_freqs.weight"));
  LOCUS_TRY(const std::vector<double> long_factors, gguf_vector(file, "rope_factors_long.weight"));
  LOCUS_TRY(const std::vector<double> short_factors, gguf_vector(file, "rope_factors_short.weight"));
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
  if (type != "yarn") {
    return {};
  }
  if (attention.value_or(1) != 1) {
    fields["rope_scaling"]["attention_factor"] = *attention * (0.1 * std::log(factor.value_or(1)) + 1);
  }
  return add_yarn(metadata, prefix, fields["rope_scaling"]);
}

Status add_gguf_vocabulary(const formats::TensorSource& file, Fields& fields) {
  const TensorInfo* embedding = file.find("token_embd.weight");
  if (embedding == nullptr || embedding->shape.size() != 2) {
    return bad_input(
        "expected two dimensions, found " + std::string(embedding == nullptr ? "no such tensor" : "others"),
        file.gguf()->file() + ": tensor token_embd.weight");
  }
  fields["vocab_size"] = embedding->shape.front();
  fields["tie_word_embeddings"] = file.find("output.weight") == nullptr;
  return {};
}

class GgufConfig {
 public:
  GgufConfig(const CheckpointFiles& checkpoint, const GgufArchitecture& architecture)
      : file_(*checkpoint.tensors),
        metadata_(*file_.gguf()),
        architecture_(architecture),
        prefix_(std::string(architecture.name) + ".") {}

  Result<Config> read() {
    fields_["model_type"] = architecture_.model_type;
    for (const GgufField& field : gguf_fields()) {
      LOCUS_CHECK(add(field));
    }
    LOCUS_CHECK(refuse_experts());
    LOCUS_CHECK(add_vocabulary());
    LOCUS_CHECK(add_widths());
    LOCUS_CHECK(add_gguf_scaling(file_, prefix_, fields_));
    if (architecture_.one_added) {
      LOCUS_CHECK(add_gemma());
    }
    if (architecture_.name == "llama" && fields_.value("sliding_window", 0) > 0) {
      fields_["model_type"] = "mistral";
    }
    return Config::parse_json(fields_.dump(), metadata_.file());
  }

  // Head width, once read.
  std::int64_t head_width() const { return head_width_; }

 private:
  Error missing(std::string_view value) const {
    return bad_input("expected a value, found none", metadata_.context(prefix_ + std::string(value)));
  }

  Status add(const GgufField& field) {
    const std::string name = prefix_ + std::string(field.value);
    if (!metadata_.has(name)) {
      return field.required ? Status(missing(field.value)) : Status();
    }
    if (field.kind == GgufField::Kind::kInteger) {
      LOCUS_TRY(const auto integer, metadata_.integer(name));
      fields_[std::string(field.field)] = *integer;
    } else {
      LOCUS_TRY(const auto number, metadata_.number(name));
      fields_[std::string(field.field)] = *number;
    }
    return {};
  }

  Status refuse_experts() {
    LOCUS_TRY(const auto experts, metadata_.integer(prefix_ + "expert_count"));
    return experts.value_or(0) > 0
               ? Status(unsupported("expected a model without experts, found " + std::to_string(*experts),
                                    metadata_.context(prefix_ + "expert_count")))
               : Status();
  }

  Status add_vocabulary() {
    LOCUS_CHECK(add_gguf_vocabulary(file_, fields_));
    const bool biases = file_.find("blk.0.attn_output.bias") != nullptr;
    if (architecture_.model_type == "llama" && biases) {
      fields_["attention_bias"] = true;
    }
    return {};
  }

  // Adds the width of a head and its rotated fraction.
  Status add_widths() {
    const auto heads = fields_["num_attention_heads"].get<std::int64_t>();
    const auto width = fields_["hidden_size"].get<std::int64_t>();
    if (heads < 1 || width < 1 || (!fields_.contains("head_dim") && width % heads != 0)) {
      return bad_input(
          "expected heads that divide the width " + std::to_string(width) + ", found " + std::to_string(heads),
          metadata_.context(prefix_ + "attention.head_count"));
    }
    head_width_ = fields_.value("head_dim", width / heads);
    if (head_width_ < 2 || head_width_ % 2 != 0) {
      return bad_input("expected an even width of heads, found " + std::to_string(head_width_),
                       metadata_.context(prefix_ + "attention.key_length"));
    }
    fields_["head_dim"] = head_width_;
    LOCUS_TRY(const auto values, metadata_.integer(prefix_ + "attention.value_length"));
    if (values.value_or(head_width_) != head_width_) {
      return unsupported(
          "expected values as wide as keys, " + std::to_string(head_width_) + ", found " + std::to_string(*values),
          metadata_.context(prefix_ + "attention.value_length"));
    }
    LOCUS_TRY(const auto turned, metadata_.integer(prefix_ + "rope.dimension_count"));
    if (turned.value_or(head_width_) != head_width_) {
      fields_["partial_rotary_factor"] = static_cast<double>(*turned) / static_cast<double>(head_width_);
    }
    return {};
  }

  // query_pre_attn_scalar: from the file's scale, else the head width, except for the largest models (46 and 62
  // layers), where it is width / heads.
  Status add_gemma() {
    LOCUS_TRY(const auto scale, metadata_.number(prefix_ + "attention.scale"));
    const auto layers = fields_["num_hidden_layers"].get<std::int64_t>();
    const bool largest = layers == (architecture_.name == "gemma2" ? 46 : 62);
    const std::int64_t divided =
        fields_["hidden_size"].get<std::int64_t>() / fields_["num_attention_heads"].get<std::int64_t>();
    const auto scalar = static_cast<double>(largest ? divided : head_width_);
    fields_["query_pre_attn_scalar"] = scale.value_or(0) > 0 ? 1 / (*scale * *scale) : scalar;
    LOCUS_TRY(const auto local_base, metadata_.number(prefix_ + "rope.freq_base_swa"));
    if (local_base) {
      fields_["rope_local_base_freq"] = *local_base;
    }
    LOCUS_TRY(const auto pattern, metadata_.integer(prefix_ + "attention.sliding_window_pattern"));
    if (pattern) {
      fields_["sliding_window_pattern"] = *pattern;
    }
    return {};
  }

  const formats::TensorSource& file_;
  const GgufMetadata& metadata_;
  const GgufArchitecture& architecture_;
  std::string prefix_;
  Fields fields_ = Fields::object();
  std::int64_t head_width_ = 0;
};

// Makes RoPE's base and scaling those of the layers without a window, beside the block of the others.
void divide_rope(Fields& fields) {
  Fields block = fields.value("rope_scaling", Fields{{"rope_type", "default"}});
  block["rope_theta"] = fields["rope_theta"];
  fields["rope_parameters"]["full_attention"] = std::move(block);
  fields.erase("rope_scaling");
  fields.erase("rope_theta");
}

// Makes a hybrid's file a checkpoint of its family.
Result<CheckpointFiles> adapt_hybrid(CheckpointFiles checkpoint, const GgufHybrid& hybrid, const GgufReading& reading) {
  const formats::TensorSource& file = *checkpoint.tensors;
  Fields fields = Fields::object();
  LOCUS_CHECK(add_gguf_vocabulary(file, fields));
  LOCUS_CHECK(add_hybrid_fields(hybrid, reading, fields));
  const std::int64_t head_width = fields.value("head_dim", std::int64_t{0});
  if (fields.contains("rope_theta")) {
    LOCUS_CHECK(add_gguf_scaling(file, std::string(hybrid.shared.name) + ".", fields));
  }
  if (fields.contains("rope_theta") && fields.contains("rope_parameters") &&
      fields["rope_parameters"].contains("sliding_attention")) {
    divide_rope(fields);
  }
  if (fields.contains("llama_4_scaling_beta")) {
    fields["rope_scaling"]["llama_4_scaling_beta"] = fields["llama_4_scaling_beta"];
    fields.erase("llama_4_scaling_beta");
  }
  if (hybrid.shared.name == "gpt-oss" && fields.contains("rope_scaling")) {
    fields["rope_scaling"]["truncate"] = false;  // which files do not say
  }
  if (hybrid.shared.name == "falcon-h1" && fields["tie_word_embeddings"]) {
    checkpoint.notes.push_back(file.gguf()->file() +
                               ": tensor output.weight: expected one, found none: logits are those of the embedding, "
                               "whose factor the file contains, not the head's");
  }
  std::vector<GgufTensor> tensors;
  for (const TensorInfo& tensor : file.tensors()) {
    if (!is_table(tensor.name)) {
      LOCUS_TRY(std::vector<GgufTensor> own, hybrid_tensors(hybrid, reading, head_width, tensor));
      std::move(own.begin(), own.end(), std::back_inserter(tensors));
      if (tensors.size() > formats::kTensorLimit) {
        return too_large("more than " + std::to_string(formats::kTensorLimit) + " tensors, each expert's counted",
                         file.gguf()->file());
      }
    }
  }
  LOCUS_TRY(checkpoint.config, Config::parse_json(fields.dump(), file.gguf()->file()));
  checkpoint.tensors = std::make_shared<const GgufTensors>(checkpoint.tensors, std::move(tensors));
  return checkpoint;
}

// The row of a hybrid's file; null for another architecture.
const GgufHybrid* hybrid_of(std::string_view name, const GgufReading& reading) {
  const std::vector<GgufHybrid>& hybrids = gguf_hybrids();
  const auto found = std::find_if(hybrids.begin(), hybrids.end(), [&](const GgufHybrid& each) {
    return each.shared.name == name && (each.applies == nullptr || each.applies(reading));
  });
  return found == hybrids.end() ? nullptr : &*found;
}

}  // namespace

Result<std::vector<double>> gguf_vector(const formats::TensorSource& file, std::string_view name) {
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

Result<CheckpointFiles> adapt_gguf(CheckpointFiles checkpoint) {
  const std::shared_ptr<const GgufMetadata> metadata =
      checkpoint.tensors == nullptr ? nullptr : checkpoint.tensors->gguf();
  if (metadata == nullptr) {
    return checkpoint;
  }
  LOCUS_TRY(const auto named, metadata->text("general.architecture"));
  const auto architectures = gguf_architectures();
  LOCUS_TRY(const auto experts, metadata->integer(std::string(named.value_or("")) + ".expert_count"));
  const auto found = std::find_if(architectures.begin(), architectures.end(),
                                  [&](const GgufArchitecture& each) { return each.name == named.value_or(""); });
  if (found == architectures.end() || (found->name == "llama" && experts.value_or(0) > 0)) {
    std::vector<std::string_view> names;
    for (const GgufArchitecture& each : architectures) {
      names.push_back(each.name);
    }
    for (const GgufHybrid& each : gguf_hybrids()) {
      if (std::find(names.begin(), names.end(), each.shared.name) == names.end()) {
        names.push_back(each.shared.name);
      }
    }
    if (named && std::find(names.begin(), names.end(), *named) != names.end()) {
      LOCUS_TRY(const GgufReading reading, GgufReading::of(*checkpoint.tensors, *named));
      return adapt_hybrid(std::move(checkpoint), *hybrid_of(*named, reading), reading);
    }
    std::string known;
    for (const std::string_view each : names) {
      known += (known.empty() ? "" : ", ") + std::string(each);
    }
    return unsupported("expected one of " + known + ", found " + (named ? shown(*named) : "none"),
                       metadata->context("general.architecture"));
  }
  GgufConfig config(checkpoint, *found);
  LOCUS_TRY(checkpoint.config, config.read());
  std::vector<GgufTensor> tensors;
  for (const TensorInfo& tensor : checkpoint.tensors->tensors()) {
    if (!is_table(tensor.name)) {
      tensors.push_back(family_tensor(tensor, *found, config.head_width()));
    }
  }
  checkpoint.tensors = std::make_shared<const GgufTensors>(checkpoint.tensors, std::move(tensors));
  return checkpoint;
}

}  // namespace locus::families

#include "models/families/gguf.h"

#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/base/shown.h"
#include "models/families/gguf_scaling.h"
#include "models/formats/gguf/gguf_metadata.h"

namespace locus::families {

namespace {

using formats::GgufMetadata;
using formats::TensorInfo;
using Fields = nlohmann::ordered_json;

// The tensors of a GGUF file, found under the family's names as well as their own.
class GgufTensors final : public formats::TensorSource {
 public:
  GgufTensors(formats::Source file, const GgufArchitecture& architecture, std::int64_t head_width)
      : file_(std::move(file)) {
    const auto ends_with = [](const std::string& name, std::string_view ending) { return name.ends_with(ending); };
    for (const TensorInfo& tensor : file_->tensors()) {
      if (is_table(tensor.name)) {
        continue;
      }
      TensorInfo& own = tensors_.emplace_back(tensor);
      const bool turned = ends_with(own.name, ".attn_q.weight") || ends_with(own.name, ".attn_k.weight") ||
                          ends_with(own.name, ".attn_q.bias") || ends_with(own.name, ".attn_k.bias");
      own.interleaved = architecture.interleaved && turned ? head_width : 0;
      own.one_added = architecture.one_added && ends_with(own.name, "norm.weight");
    }
    for (const TensorInfo& tensor : tensors_) {
      names_.emplace(tensor.name, &tensor);
      if (const std::string name = family_name(architecture, tensor.name); !name.empty()) {
        names_.emplace(name, &tensor);
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
  // What the configuration says already, as tensors.
  static bool is_table(std::string_view name) {
    return name == "rope_freqs.weight" || name == "rope_factors_long.weight" || name == "rope_factors_short.weight" ||
           name.ends_with(".rope_freqs.weight") || name.ends_with(".attn_rot_embd.weight");
  }

  formats::Source file_;
  std::vector<TensorInfo> tensors_;
  std::map<std::string, const TensorInfo*, std::less<>> names_;
};

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

  // Of a head, once read.
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
    const TensorInfo* embedding = file_.find("token_embd.weight");
    if (embedding == nullptr || embedding->shape.size() != 2) {
      return bad_input(
          "expected two dimensions, found " + std::string(embedding == nullptr ? "no such tensor" : "others"),
          metadata_.file() + ": tensor token_embd.weight");
    }
    fields_["vocab_size"] = embedding->shape.front();
    fields_["tie_word_embeddings"] = file_.find("output.weight") == nullptr;
    const bool biases = file_.find("blk.0.attn_output.bias") != nullptr;
    if (architecture_.model_type == "llama" && biases) {
      fields_["attention_bias"] = true;
    }
    return {};
  }

  // A head's, and of it the part that turns.
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

  // 1/√ of which scores are scaled: the value where it is there, else a head's width, but for the largest models of
  // both, of 46 and 62 layers, the width divided by the heads.
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

}  // namespace

Result<CheckpointFiles> adapt_gguf(CheckpointFiles checkpoint) {
  const std::shared_ptr<const GgufMetadata> metadata =
      checkpoint.tensors == nullptr ? nullptr : checkpoint.tensors->gguf();
  if (metadata == nullptr) {
    return checkpoint;
  }
  LOCUS_TRY(const auto named, metadata->text("general.architecture"));
  const auto architectures = gguf_architectures();
  const auto found = std::find_if(architectures.begin(), architectures.end(),
                                  [&](const GgufArchitecture& each) { return each.name == named.value_or(""); });
  if (found == architectures.end()) {
    std::string known;
    for (const GgufArchitecture& each : architectures) {
      known += (known.empty() ? "" : ", ") + std::string(each.name);
    }
    return unsupported("expected one of " + known + ", found " + (named ? shown(*named) : "none"),
                       metadata->context("general.architecture"));
  }
  GgufConfig config(checkpoint, *found);
  LOCUS_TRY(checkpoint.config, config.read());
  checkpoint.tensors = std::make_shared<const GgufTensors>(checkpoint.tensors, *found, config.head_width());
  return checkpoint;
}

}  // namespace locus::families

#include "models/engine/adapter.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <utility>

#include "core/base/atomic_file.h"
#include "core/base/shown.h"
#include "core/base/system_files.h"
#include "models/api/adapter.h"
#include "models/formats/files_read.h"
#include "models/formats/hub_cache.h"
#include "models/formats/json/tree.h"
#include "models/formats/tensor_table.h"
#include "models/transformer/weights.h"

namespace locus::models {

namespace {

namespace fs = std::filesystem;
using formats::Config;
using formats::Source;
using formats::TensorInfo;

constexpr std::array<const char*, 2> kAdapterWeights{"adapter_model.safetensors", "adapter_model.bin"};
constexpr std::string_view kPeftPrefix = "base_model.model.";

fs::path adapter_weights(const fs::path& folder) {
  std::error_code failure;
  for (const char* const name : kAdapterWeights) {
    if (fs::exists(folder / name, failure)) {
      return folder / name;
    }
  }
  return {};
}

constexpr std::size_t kConfigFileLimit = 1 << 20;
// Fields without effect on a trained adapter; its tensors say which modules it changes.
constexpr std::array<std::string_view, 27> kWithoutEffect{"auto_mapping",
                                                          "base_model_name_or_path",
                                                          "bias",
                                                          "corda_config",
                                                          "ensure_weight_tying",
                                                          "eva_config",
                                                          "exclude_modules",
                                                          "fan_in_fan_out",
                                                          "inference_mode",
                                                          "init_ia3_weights",
                                                          "init_lora_weights",
                                                          "layers_pattern",
                                                          "layers_to_transform",
                                                          "loftq_config",
                                                          "lora_dropout",
                                                          "megatron_core",
                                                          "modules_to_save",
                                                          "peft_version",
                                                          "qalora_group_size",
                                                          "revision",
                                                          "runtime_config",
                                                          "target_modules",
                                                          "task_type",
                                                          "feedforward_modules",
                                                          "lora_ga_config",
                                                          "peft_type",
                                                          "use_rslora"};

// What an adapter stores for one module: its tensors by kind.
using Parts = std::map<std::string_view, const TensorInfo*>;

struct Kind {
  std::string_view ending;
  std::string_view kind;
};
constexpr std::array<Kind, 8> kKinds{{{".lora_A.weight", "A"},
                                      {".lora_B.weight", "B"},
                                      {".lora_embedding_A", "embedding A"},
                                      {".lora_embedding_B", "embedding B"},
                                      {".lora_magnitude_vector.weight", "length"},
                                      {".lora_magnitude_vector", "length"},
                                      {".ia3_l", "factors"},
                                      {".lora_B.bias", "bias"}}};

class Adapter {
 public:
  static Result<Adapter> read(const fs::path& folder) {
    Adapter adapter;
    LOCUS_TRY(adapter.config_, Config::load(folder / kAdapterConfig));
    LOCUS_TRY(const std::string text, read_file(folder / kAdapterConfig, kConfigFileLimit));
    LOCUS_TRY(adapter.tree_, formats::Tree::parse(text, adapter.config_.file()));
    LOCUS_TRY(adapter.tensors_, formats::open_tensors(adapter_weights(folder)));
    LOCUS_CHECK(adapter.read_config());
    LOCUS_CHECK(adapter.sort_tensors());
    return adapter;
  }

  // "LoRA, rank 8, 64 modules".
  std::string text() const {
    return std::string(ia3_    ? "IA3"
                       : dora_ ? "DoRA"
                               : "LoRA") +
           (ia3_ ? "" : ", rank " + std::to_string(rank_)) + ", " + std::to_string(modules_.size()) +
           (modules_.size() == 1 ? " module" : " modules");
  }

  // The warning of fields that nothing reads; empty: none.
  std::string unused() const {
    std::vector<std::string> fields = config_.unread();
    std::erase_if(fields, [](const std::string& field) {
      const std::string first = field.substr(0, field.find('.'));
      return std::find(kWithoutEffect.begin(), kWithoutEffect.end(), first) != kWithoutEffect.end();
    });
    return fields.empty() ? "" : families::unused_fields_warning(fields, config_.file());
  }

  Result<Source> merged(const families::CheckpointFiles& base) const {
    formats::TensorTable table;
    table.tensors = base.tensors->tensors();
    table.metadata = base.tensors->metadata();
    table.files = base.tensors->files();
    table.files.insert(table.files.end(), tensors_->files().begin(), tensors_->files().end());
    table.warnings = base.tensors->warnings();
    table.extra_json = base.tensors->extra_json();
    table.owners = {base.tensors, tensors_};
    LOCUS_CHECK(check_memory(table));
    // GRAPE's models say gpt2 too, and have plain matrices.
    const bool columns =
        families::model_type(base) == "gpt2" && base.find("transformer.h.0.attn.c_q.weight") == nullptr;
    for (const auto& [module, parts] : modules_) {
      LOCUS_TRY(TensorInfo* const weight, tensor_of(module + ".weight", table));
      const std::string_view last = std::string_view(module).substr(module.rfind('.') + 1);
      // Modules of the class Conv1D store (in, out), whatever fan_in_fan_out says, as PEFT settles it.
      const bool transposed = columns && last.starts_with("c_");
      LOCUS_TRY(const at::Tensor value, changed(module, parts, to_float(*weight, base.tensors), transposed));
      if (parts.contains("factors")) {
        LOCUS_CHECK(scale_bias(module, parts, base.tensors, table));
      }
      store(value, *weight, table);
    }
    for (const TensorInfo* const whole : whole_) {
      LOCUS_CHECK(replace(*whole, table));
    }
    return formats::make_source(std::move(table));
  }

 private:
  Status read_config() {
    LOCUS_TRY(const std::string type, config_.text("peft_type", ""));
    ia3_ = type == "IA3";
    if (!ia3_ && type != "LORA") {
      return unsupported("expected LORA or IA3, found " + (type.empty() ? "none" : shown(type)),
                         config_.context("peft_type"));
    }
    // What would change more than the weights of modules, or start from other weights than the base's.
    for (const char* const field : {"layer_replication", "megatron_config", "alora_invocation_tokens",
                                    "trainable_token_indices", "target_parameters", "arrow_config", "kasa_config"}) {
      if (config_.has(field) && !is_empty(field)) {
        return unsupported("expected none, found a " + config_.kind(field), config_.context(field));
      }
    }
    for (const char* const flag : {"lora_bias", "use_qalora", "use_bdlora"}) {
      LOCUS_TRY(const bool set, config_.boolean(flag, false));
      if (set) {
        return unsupported("expected false, found true", config_.context(flag));
      }
    }
    if (config_.kind("init_lora_weights") == "text") {
      LOCUS_TRY(const std::string start, config_.text("init_lora_weights"));
      for (const std::string_view other : {"pissa", "olora", "loftq", "corda"}) {
        if (start.starts_with(other)) {
          return unsupported(
              "expected an adapter of the base's own weights, found " + shown(start) +
                  ", which changes them (PEFT converts it with path_initial_model_for_weight_conversion)",
              config_.context("init_lora_weights"));
        }
      }
    }
    if (ia3_) {
      return {};
    }
    LOCUS_TRY(rank_, config_.integer_in("r", 1, std::int64_t{1} << 20));
    LOCUS_TRY(alpha_, config_.number("lora_alpha", 8));
    LOCUS_TRY(root_, config_.boolean("use_rslora", false));
    LOCUS_TRY(dora_, config_.boolean("use_dora", false));
    LOCUS_TRY(ranks_, pattern("rank_pattern"));
    LOCUS_TRY(alphas_, pattern("alpha_pattern"));
    return {};
  }

  bool is_empty(const char* field) const {
    const Result<Config> object = config_.object(field);
    const Result<std::vector<std::string>> list = config_.texts(field);
    return (object.ok() && object->names().empty()) || (list.ok() && list->empty());
  }

  // Numbers by the endings of modules' names. Errors: kUnsupported for regular expressions.
  Result<std::map<std::string, double>> pattern(const char* field) const {
    std::map<std::string, double> numbers;
    config_.has(field);
    const formats::Tree* const object = tree_.find(field);
    for (const auto& [name, value] : object == nullptr ? formats::Tree::Fields() : object->fields()) {
      const bool plain = std::all_of(name.begin(), name.end(), [](char letter) {
        return (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'z') ||
               (letter >= 'A' && letter <= 'Z') || letter == '_' || letter == '.' || letter == '-';
      });
      if (!plain) {
        return unsupported("expected names of modules, found " + shown(name), config_.context(field));
      }
      const std::optional<double> number = value.as<double>();
      if (!number || !(*number > 0)) {
        return bad_input("expected a number above 0, found " + value.shown(), config_.context(field) + "." + name);
      }
      numbers[name] = *number;
    }
    return numbers;
  }

  static double number_for(const std::map<std::string, double>& numbers, const std::string& module, double usual) {
    for (const auto& [name, value] : numbers) {
      if (module == name || module.ends_with("." + name)) {
        return value;
      }
    }
    return usual;
  }

  Status sort_tensors() {
    for (const TensorInfo& tensor : tensors_->tensors()) {
      const std::string where = tensor.file.string() + ": tensor " + shown(tensor.name);
      const std::string_view dtype = tensor.type_name();
      if (dtype != "F32" && dtype != "F16" && dtype != "BF16" && dtype != "F64") {
        return unsupported("expected floating-point weights, found " + std::string(dtype), where);
      }
      const std::string name = plain_name(tensor.name);
      const auto* const kind =
          std::find_if(kKinds.begin(), kKinds.end(), [&](const Kind& each) { return name.ends_with(each.ending); });
      if (kind != kKinds.end()) {
        modules_[name.substr(0, name.size() - kind->ending.size())][kind->kind] = &tensor;
      } else if (name.find("lora_") != name.npos || name.find(".ia3_") != name.npos ||
                 name.find("token_adapter") != name.npos) {
        return unsupported("expected tensors of LoRA, DoRA or IA3, found another", where);
      } else {
        whole_.push_back(&tensor);
      }
    }
    if (modules_.empty()) {
      return bad_input("expected tensors of LoRA, DoRA or IA3, found none", tensors_->files().front().string());
    }
    return {};
  }

  // Without PEFT's prefix and its wrapper of modules that are stored whole.
  static std::string plain_name(std::string name) {
    if (name.starts_with(kPeftPrefix)) {
      name.erase(0, kPeftPrefix.size());
    }
    for (const std::string_view wrapper : {".modules_to_save", ".base_layer"}) {
      if (const std::size_t at = name.find(wrapper); at != name.npos) {
        name.erase(at, wrapper.size());
      }
    }
    return name;
  }

  // The base's tensor of this name; files may have more or fewer components in front ("model.", "transformer.").
  Result<TensorInfo*> tensor_of(const std::string& name, formats::TensorTable& table) const {
    TensorInfo* found = nullptr;
    for (TensorInfo& tensor : table.tensors) {
      if (tensor.name == name) {
        return &tensor;
      }
      if (name.ends_with("." + tensor.name) || tensor.name.ends_with("." + name)) {
        if (found != nullptr) {
          return bad_input(
              "expected one tensor of the base for it, found " + shown(found->name) + " and " + shown(tensor.name),
              tensors_->files().front().string() + ": module " + shown(name));
        }
        found = &tensor;
      }
    }
    if (found == nullptr) {
      return bad_input("expected a tensor of this name in the base, found none",
                       tensors_->files().front().string() + ": tensor " + shown(name));
    }
    return found;
  }

  Status check_memory(formats::TensorTable& table) const {
    double needed = 0;
    for (const auto& [module, parts] : modules_) {
      const Result<TensorInfo*> weight = tensor_of(module + ".weight", table);
      needed += weight.ok() ? 4.0 * static_cast<double>((*weight)->elements()) : 0;
    }
    const double available = available_bytes();
    if (available > 0 && needed > available) {
      return too_large("the changed weights need " + std::to_string(static_cast<std::int64_t>(needed / 1e6)) +
                           " MB as float32, " + std::to_string(static_cast<std::int64_t>(available / 1e6)) +
                           " MB are there",
                       tensors_->files().front().string());
    }
    return {};
  }

  static at::Tensor to_float(const TensorInfo& tensor, const Source& source) {
    return transformer::to_tensor(tensor, source).to(at::kDouble);
  }

  Error misfit(const TensorInfo& tensor, const std::vector<std::int64_t>& expected) const {
    return bad_input("expected shape " + formats::shape_text(expected) + ", found " + formats::shape_text(tensor.shape),
                     tensor.file.string() + ": tensor " + shown(tensor.name));
  }

  // The weight (out, in) with the adapter's change; `transposed`: it is stored as (in, out). In float64, of which the
  // nearest float32 numbers are kept.
  Result<at::Tensor> changed(const std::string& module, const Parts& parts, at::Tensor weight, bool transposed) const {
    const bool embedding = parts.contains("embedding A");
    if (weight.dim() != 2) {
      return unsupported("expected a module with one matrix, found " + std::to_string(weight.dim()) + " dimensions",
                         tensors_->files().front().string() + ": module " + shown(module));
    }
    weight = transposed || embedding ? weight.t() : weight;  // an embedding is (V, C): its outputs are the columns
    if (parts.contains("factors")) {
      const TensorInfo& factors = *parts.at("factors");
      const std::vector<std::int64_t> rows{weight.size(0), 1};
      const std::vector<std::int64_t> inputs{1, weight.size(1)};
      if (!ia3_ || parts.size() > 1 || (factors.shape != rows && factors.shape != inputs)) {
        return misfit(factors, rows);
      }
      weight = weight * to_float(factors, tensors_);
      return transposed ? weight.t() : weight;
    }
    const char* const first = embedding ? "embedding A" : "A";
    const char* const second = embedding ? "embedding B" : "B";
    if (ia3_ || !parts.contains(first) || !parts.contains(second) || parts.contains("bias") ||
        parts.size() != (parts.contains("length") ? 3U : 2U) || (embedding && parts.contains("length"))) {
      return bad_input("expected lora_A and lora_B (and lora_magnitude_vector of DoRA), found other tensors",
                       tensors_->files().front().string() + ": module " + shown(module));
    }
    if (dora_ != parts.contains("length")) {
      return bad_input(dora_ ? "expected lora_magnitude_vector beside use_dora, found none"
                             : "expected no lora_magnitude_vector without use_dora, found one",
                       tensors_->files().front().string() + ": module " + shown(module));
    }
    const auto rank = static_cast<std::int64_t>(number_for(ranks_, module, static_cast<double>(rank_)));
    const TensorInfo& down = *parts.at(first);
    const TensorInfo& up = *parts.at(second);
    if (down.shape != std::vector<std::int64_t>{rank, weight.size(1)}) {
      return misfit(down, {rank, weight.size(1)});
    }
    if (up.shape != std::vector<std::int64_t>{weight.size(0), rank}) {
      return misfit(up, {weight.size(0), rank});
    }
    const double alpha = number_for(alphas_, module, alpha_);
    const double scale = alpha / (root_ ? std::sqrt(static_cast<double>(rank)) : static_cast<double>(rank));
    weight = weight + scale * at::matmul(to_float(up, tensors_), to_float(down, tensors_));
    if (parts.contains("length")) {
      const TensorInfo& length = *parts.at("length");
      if (length.elements() != weight.size(0)) {
        return misfit(length, {weight.size(0)});
      }
      weight = to_float(length, tensors_).reshape({-1, 1}) / weight.norm(2, {1}, true) * weight;
    }
    return transposed || embedding ? weight.t() : weight;
  }

  // IA3 scales outputs behind the bias.
  Status scale_bias(const std::string& module, const Parts& parts, const Source& base,
                    formats::TensorTable& table) const {
    const TensorInfo& factors = *parts.at("factors");
    const Result<TensorInfo*> bias = tensor_of(module + ".bias", table);
    if (!bias.ok() || factors.shape.back() != 1) {
      return {};
    }
    if ((*bias)->shape != std::vector<std::int64_t>{factors.shape.front()}) {
      return misfit(**bias, {factors.shape.front()});
    }
    const at::Tensor value = to_float(**bias, base) * to_float(factors, tensors_).flatten();
    store(value, **bias, table);
    return {};
  }

  // A tensor that the adapter stores whole: of the base, or a head of its own.
  Status replace(const TensorInfo& whole, formats::TensorTable& table) const {
    const std::string name = plain_name(whole.name);
    const Result<TensorInfo*> own = tensor_of(name, table);
    if (own.ok() && (*own)->shape != whole.shape) {
      return misfit(whole, (*own)->shape);
    }
    TensorInfo& place = own.ok() ? **own : table.tensors.emplace_back();
    const std::string kept = own.ok() ? place.name : name;
    place = whole;
    place.name = kept;
    return {};
  }

  static void store(const at::Tensor& value, TensorInfo& place, formats::TensorTable& table) {
    const auto kept = std::make_shared<at::Tensor>(value.to(at::kFloat).contiguous());
    place.dtype = formats::DType::kF32;
    place.blocks = nullptr;
    place.assembled = nullptr;
    place.columns = false;
    place.shape = kept->sizes().vec();
    place.strides = kept->strides().vec();
    place.offset = 0;
    place.storage = {static_cast<const std::byte*>(kept->data_ptr()), kept->nbytes()};
    table.owners.push_back(kept);
  }

  Config config_;
  formats::Tree tree_;  // the same file: names of modules contain dots
  Source tensors_;
  std::map<std::string, Parts> modules_;
  std::vector<const TensorInfo*> whole_;
  bool ia3_ = false;
  bool dora_ = false;
  bool root_ = false;
  std::int64_t rank_ = 0;
  double alpha_ = 0;
  std::map<std::string, double> ranks_;
  std::map<std::string, double> alphas_;
};

}  // namespace

bool is_adapter(const fs::path& folder) {
  std::error_code failure;
  return fs::is_directory(folder, failure) && fs::exists(folder / kAdapterConfig, failure) &&
         !adapter_weights(folder).empty() &&
         std::none_of(formats::kUsualWeights.begin(), formats::kUsualWeights.end(),
                      [&](std::string_view name) { return fs::exists(folder / name, failure); });
}

Result<fs::path> adapter_base(const fs::path& folder, const fs::path& named) {
  LOCUS_TRY(const Config config, Config::load(folder / kAdapterConfig));
  LOCUS_TRY(const std::string name, config.text(kAdapterBase, ""));
  const std::string where = config.context(kAdapterBase);
  std::error_code failure;
  if (!named.empty()) {
    LOCUS_TRY(const fs::path base, formats::find_checkpoint(named.string()));
    return fs::exists(base, failure)
               ? Result<fs::path>(base)
               : bad_input("expected the base model of the adapter at " + shown(base.string(), 200) + ", found none",
                           where);
  }
  if (name.empty()) {
    return bad_input("expected the base model of the adapter, found none: name it (--base PATH)", where);
  }
  if (fs::exists(folder / name, failure)) {
    return (folder / name).lexically_normal();
  }
  const Result<fs::path> found = formats::find_checkpoint(name);
  if (!found.ok() || !fs::exists(*found, failure)) {
    return bad_input("expected the base model of the adapter at " + shown((folder / name).string(), 200) +
                         ", at that path or in the hub's cache, found none: name it (--base PATH)",
                     where);
  }
  return *found;
}

Result<families::CheckpointFiles> add_adapter(const fs::path& folder, families::CheckpointFiles base) {
  const bool pairs = std::any_of(base.tensors->tensors().begin(), base.tensors->tensors().end(),
                                 [](const TensorInfo& tensor) { return tensor.interleaved > 0; });
  if (base.tensors->gguf() != nullptr || pairs) {
    return unsupported(
        "expected a base in the form of transformers, found " + std::string(pairs ? "rows of pairs" : "GGUF"),
        base.path.string());
  }
  const at::NoGradGuard no_grad;
  LOCUS_TRY(const Adapter adapter, Adapter::read(folder));
  LOCUS_TRY(base.tensors, adapter.merged(base));
  std::error_code failure;
  // The adapter's tokenizer where it has one: tokens may have been added.
  if (fs::exists(folder / "tokenizer.json", failure) || fs::exists(folder / "tokenizer.model", failure)) {
    base.folder = folder;
  }
  base.notes.push_back(folder.string() + ": " + adapter.text() + ", on " + base.path.string());
  if (const std::string unused = adapter.unused(); !unused.empty()) {
    base.notes.push_back(unused);
  }
  base.path = folder;
  return base;
}

}  // namespace locus::models

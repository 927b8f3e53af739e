#include "models/formats/quantised/quantised.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "core/base/shown.h"
#include "models/formats/quantised/parts.h"

namespace locus::formats {

namespace {

constexpr std::string_view kInstead = ": download the model's own weights, or a GGUF file of it";

// quantization_config, wherever it is.
class Description {
 public:
  Description(const Config& config, std::string field) : config_(config), field_(std::move(field)) {}

  std::string path(std::string_view name) const { return field_ + "." + std::string(name); }
  std::string context(std::string_view name) const { return config_.context(path(name)); }
  std::string context() const { return config_.context(field_); }

  bool has(std::string_view name) const { return config_.has(path(name)); }
  Result<std::string> text(std::string_view name, std::string_view fallback) const {
    return config_.text(path(name), fallback);
  }
  Result<std::int64_t> integer(std::string_view name, std::int64_t fallback) const {
    return config_.integer(path(name), fallback);
  }
  Result<bool> boolean(std::string_view name, bool fallback) const { return config_.boolean(path(name), fallback); }
  // Names of an object's fields; none where there is no object.
  Result<std::vector<std::string>> names(std::string_view name) const {
    if (!has(name)) {
      return std::vector<std::string>();
    }
    LOCUS_TRY(const Config object, config_.object(path(name)));
    return object.names();
  }

  // Rows and columns of a block; none where the field is absent.
  Result<std::vector<Quantisation::Block>> block(std::string_view name) const {
    std::vector<Quantisation::Block> blocks;
    if (!has(name)) {
      return blocks;
    }
    LOCUS_TRY(const std::vector<std::int64_t> sizes, config_.integers(path(name)));
    if (sizes.size() != 2 || sizes[0] < 1 || sizes[1] < 1) {
      return bad_input("expected two numbers of at least 1", context(name));
    }
    blocks.push_back({sizes[0], sizes[1]});
    return blocks;
  }

  // Marks fields as read that say nothing of the stored numbers: which modules have them, and what programs do with
  // activations.
  void pass_over(std::initializer_list<std::string_view> names) const {
    for (const std::string_view name : names) {
      static_cast<void>(has(name));
    }
  }

  Error refused(const std::string& what) const {
    return unsupported(
        "expected plain weights, FP8, MXFP4, or GPTQ or AWQ in 4 bits, found " + what + std::string(kInstead),
        context());
  }
  // The value that a field must have, and is where it is absent.
  Status only(std::string_view name, std::string_view value) const {
    LOCUS_TRY(const std::string found, text(name, value));
    return found == value ? Status() : Status(refused(std::string(name) + " " + shown(found)));
  }

 private:
  const Config& config_;
  std::string field_;
};

Quantisation described_as(Quantisation::Method method, const Description& said) {
  Quantisation quantisation;
  quantisation.method = method;
  quantisation.context = said.context();
  return quantisation;
}

Result<Quantisation> describe_float8(const Description& said) {
  Quantisation quantisation = described_as(Quantisation::Method::kFloat8, said);
  LOCUS_CHECK(said.only("fmt", "e4m3"));
  LOCUS_CHECK(said.only("expert_dtype", "fp8"));
  LOCUS_TRY(quantisation.blocks, said.block("weight_block_size"));
  if (quantisation.blocks.empty()) {
    quantisation.blocks.push_back({128, 128});  // where the field is absent
  }
  said.pass_over({"activation_scheme", "modules_to_not_convert", "modules_to_convert", "ignored_layers", "dequantize",
                  "scale_fmt", "activation_scale_ub", "kv_cache_quant_algo", "ignore", "producer", "kv_cache_scheme"});
  return quantisation;
}

// One group of compressed-tensors; `field` is its "weights".
Status add_group(const Description& said, const std::string& field, Quantisation& quantisation) {
  LOCUS_TRY(const std::int64_t bits, said.integer(field + ".num_bits", 8));
  LOCUS_TRY(const std::string type, said.text(field + ".type", "int"));
  LOCUS_TRY(const bool symmetric, said.boolean(field + ".symmetric", true));
  if (bits != 8 || type != "float" || !symmetric) {
    return said.refused("compressed-tensors with " + std::string(symmetric ? "" : "asymmetric ") + shown(type) +
                        " of " + std::to_string(bits) + " bits");
  }
  LOCUS_TRY(const std::string strategy, said.text(field + ".strategy", "tensor"));
  LOCUS_TRY(std::vector<Quantisation::Block> blocks, said.block(field + ".block_structure"));
  LOCUS_TRY(const std::int64_t group, said.integer(field + ".group_size", 0));
  if (strategy == "group" && group > 0) {
    blocks.push_back({1, group});
  } else if (strategy != "tensor" && strategy != "channel" && (strategy != "block" || blocks.empty())) {
    return said.refused("compressed-tensors with the strategy " + shown(strategy));
  }
  quantisation.blocks.insert(quantisation.blocks.end(), blocks.begin(), blocks.end());
  said.pass_over({field + ".dynamic", field + ".observer", field + ".observer_kwargs", field + ".actorder",
                  field + ".scale_dtype", field + ".zp_dtype"});
  return {};
}

Result<Quantisation> describe_compressed_tensors(const Description& said) {
  Quantisation quantisation = described_as(Quantisation::Method::kFloat8, said);
  const auto check_format = [&](const std::string& field) -> Status {
    LOCUS_TRY(const std::string format, said.text(field, "float-quantized"));
    const bool known = format == "float-quantized" || format == "naive-quantized" || format == "mixed-precision";
    return known ? Status() : Status(said.refused("compressed-tensors in the format " + shown(format)));
  };
  LOCUS_CHECK(check_format("format"));
  LOCUS_TRY(const std::vector<std::string> groups, said.names("config_groups"));
  for (const std::string& name : groups) {
    const std::string group = "config_groups." + name;
    LOCUS_CHECK(check_format(group + ".format"));
    if (said.has(group + ".weights")) {
      LOCUS_CHECK(add_group(said, group + ".weights", quantisation));
    }
    said.pass_over({group + ".targets", group + ".input_activations", group + ".output_activations"});
  }
  LOCUS_TRY(const std::vector<std::string> transforms, said.names("transform_config"));
  LOCUS_TRY(const std::vector<std::string> sparsity, said.names("sparsity_config"));
  if (!transforms.empty()) {
    return said.refused("compressed-tensors with a transform_config");
  }
  if (!sparsity.empty()) {
    LOCUS_CHECK(said.only("sparsity_config.format", "dense"));
  }
  said.pass_over({"ignore", "kv_cache_scheme", "global_compression_ratio", "quantization_status", "version"});
  return quantisation;
}

Result<Quantisation> describe_mxfp4(const Description& said) {
  said.pass_over({"modules_to_not_convert", "dequantize"});
  return described_as(Quantisation::Method::kMxfp4, said);
}

// GPTQ and AWQ.
Result<Quantisation> describe_int4(const Description& said, const std::string& model_type, bool awq) {
  Quantisation quantisation = described_as(awq ? Quantisation::Method::kAwq : Quantisation::Method::kGptq, said);
  const std::string method = awq ? "AWQ" : "GPTQ";
  LOCUS_TRY(const std::int64_t bits, said.integer(said.has("w_bit") ? "w_bit" : "bits", 4));
  LOCUS_TRY(quantisation.group, said.integer(said.has("q_group_size") ? "q_group_size" : "group_size", 128));
  LOCUS_TRY(const bool any_order, said.boolean("desc_act", false));
  LOCUS_TRY(const bool zeros, said.boolean("zero_point", true));
  LOCUS_TRY(const std::string older, said.text("checkpoint_format", ""));
  LOCUS_TRY(const std::string format, said.text("format", older.empty() ? (awq ? "gemm" : "gptq") : older));
  LOCUS_TRY(const std::string pack, said.text("pack_dtype", "int32"));
  LOCUS_TRY(const std::string version, said.text("version", "gemm"));
  LOCUS_TRY(const bool marlin, said.boolean("is_marlin_format", false));
  LOCUS_TRY(const std::vector<std::string> dynamic, said.names("dynamic"));
  if (bits != 4) {
    return said.refused(method + " in " + std::to_string(bits) + " bits");
  }
  const bool known = awq ? (format == "gemm" || format == "awq") && (version == "gemm" || version == "GEMM") && zeros
                         : (format == "gptq" || format == "gptq_v2") && !marlin;
  if (!known || pack != "int32" || !dynamic.empty() || (!older.empty() && older != format)) {
    return said.refused(method + " in another form than " + (awq ? "version gemm" : "gptq and gptq_v2"));
  }
  if (model_type == "gpt2") {  // whose own matrices are stored with inputs and outputs exchanged
    return said.refused(method + " of gpt2");
  }
  if (quantisation.group < 1 && quantisation.group != -1) {
    return bad_input("expected at least 1, or -1, found " + std::to_string(quantisation.group),
                     said.context("group_size"));
  }
  quantisation.less_one = !awq && format == "gptq";
  quantisation.any_order = any_order;
  // Values of a search for the numbers, and of programs that run them.
  said.pass_over({"sym",
                  "damp_percent",
                  "damp_auto_increment",
                  "true_sequential",
                  "static_groups",
                  "model_name_or_path",
                  "model_file_base_name",
                  "modules_to_not_convert",
                  "modules_in_block_to_quantize",
                  "backend",
                  "use_exllama",
                  "disable_exllama",
                  "exllama_config",
                  "use_cuda_fp16",
                  "max_input_length",
                  "cache_block_outputs",
                  "batch_size",
                  "dataset",
                  "tokenizer",
                  "block_name_to_quantize",
                  "module_name_preceding_first_block",
                  "pad_token_id",
                  "model_seqlen",
                  "meta",
                  "lm_head",
                  "do_fuse",
                  "fuse_max_seq_len",
                  "modules_to_fuse"});
  return quantisation;
}

// The name of a method that is not read.
std::string method_name(const Description& said, const Config& config, const std::string& method) {
  if (method == "bitsandbytes" || said.has("load_in_4bit") || said.has("load_in_8bit")) {
    const Result<bool> four = said.boolean("load_in_4bit", false);
    return four.ok() && *four ? "bitsandbytes in 4 bits" : "bitsandbytes in 8 bits";
  }
  if (method.empty() && config.has("quantization")) {
    return "the packed weights of MLX";
  }
  return method.empty() ? "no quant_method" : "quant_method " + shown(method);
}

// Whether text_config has a quantization_config; does not count as reading text_config.
bool text_says(const Config& config) {
  const std::string outline = config.outline([](const std::string& name) { return name != "text_config"; });
  return outline.find("quantization_config:{") != std::string::npos;
}

}  // namespace

Result<Quantisation> quantisation_of(const Config& config) {
  for (const char* const field : {"quantization_config", "compression_config", "text_config.quantization_config"}) {
    const bool nested = std::string_view(field).find('.') != std::string_view::npos;
    if (nested ? !text_says(config) : !config.has(field)) {
      continue;
    }
    LOCUS_CHECK(config.object(field));
    const Description said(config, field);
    LOCUS_TRY(const std::string method, said.text("quant_method", ""));
    LOCUS_TRY(const std::string algorithm, said.text("quant_algo", ""));
    if (method == "fp8" || method == "fbgemm_fp8" || (method == "modelopt" && algorithm == "FP8")) {
      return describe_float8(said);
    }
    if (method == "compressed-tensors") {
      return describe_compressed_tensors(said);
    }
    if (method == "mxfp4") {
      return describe_mxfp4(said);
    }
    if (method == "gptq" || method == "awq") {
      LOCUS_TRY(const std::string type, config.text("model_type", ""));
      return describe_int4(said, type, method == "awq");
    }
    return said.refused(method_name(said, config, method));
  }
  if (config.has("quantization.bits") && config.has("quantization.group_size")) {
    return Description(config, "quantization").refused("the packed weights of MLX");
  }
  return Quantisation();
}

Error misfit(const TensorInfo& tensor, const std::string& expected) {
  return bad_input("expected " + expected + ", found " + described(tensor), tensor_context(tensor.file, tensor.name));
}

std::string described(const TensorInfo& tensor) {
  return std::string(tensor.type_name()) + " " + shape_text(tensor.shape);
}

bool is_of_floats(const TensorInfo& tensor) {
  return (tensor.dtype == DType::kF32 || tensor.dtype == DType::kF16 || tensor.dtype == DType::kBF16) &&
         tensor.contiguous();
}

float float_at(const TensorInfo& tensor, std::int64_t n) {
  static const blocks::Format* const kF32 = blocks::format_of("F32");
  static const blocks::Format* const kF16 = blocks::format_of("F16");
  static const blocks::Format* const kBF16 = blocks::format_of("BF16");
  const blocks::Format& format = tensor.dtype == DType::kF32 ? *kF32 : tensor.dtype == DType::kF16 ? *kF16 : *kBF16;
  float value = 0;
  format.expand(tensor.storage.data() + (tensor.offset + n) * format.bytes, &value);
  return value;
}

Result<const TensorInfo*> part_of_weight(const Taken& taken, const TensorInfo& numbers, const std::string& name) {
  const TensorInfo* const part = taken.source->find(name);
  if (part == nullptr) {
    return bad_input("expected a tensor beside " + numbers.name + ", found none", tensor_context(numbers.file, name));
  }
  return part;
}

TensorInfo assembled_tensor(const TensorInfo& like, std::string name, std::vector<std::int64_t> shape,
                            const blocks::Format& format, std::shared_ptr<const AssembledRows> rows) {
  TensorInfo tensor;
  tensor.name = std::move(name);
  tensor.dtype = DType::kBlocks;
  tensor.shape = std::move(shape);
  std::int64_t count = 0;
  row_major(tensor.shape, tensor.strides, count);
  tensor.file = like.file;
  tensor.blocks = &format;
  tensor.assembled = std::move(rows);
  return tensor;
}

namespace {

Status take_weights(Taken& taken) {
  switch (taken.quantisation.method) {
    case Quantisation::Method::kFloat8:
      return take_float8(taken);
    case Quantisation::Method::kMxfp4:
      return take_mxfp4(taken);
    case Quantisation::Method::kGptq:
    case Quantisation::Method::kAwq:
      return take_int4(taken);
    case Quantisation::Method::kNone:
      break;
  }
  return {};
}

bool is_scale(std::string_view name) {
  return name.ends_with(".weight_scale") || name.ends_with(".weight_scale_inv");
}

// Scales of what a layer reads and keeps, which is not rounded here.
bool is_of_activations(std::string_view name) {
  constexpr std::array<std::string_view, 10> kNames{
      "input_scale", "input_scale_ub", "activation_scale", "output_scale",      "k_scale",
      "v_scale",     "q_scale",        "kv_scale",         "prob_output_scale", "input_zero_point"};
  const std::string_view last = name.substr(name.rfind('.') + 1);
  return std::find(kNames.begin(), kNames.end(), last) != kNames.end();
}

// The weight "x.weight" of a scale "x.weight_scale_inv".
std::string scaled_by(const std::string& scale) {
  return scale.substr(0, scale.rfind("_scale"));
}

// Weights of which the configuration says nothing.
Result<Source> without_description(const Source& source) {
  for (const TensorInfo& tensor : source->tensors()) {
    const TensorInfo* const weight = is_scale(tensor.name) ? source->find(scaled_by(tensor.name)) : nullptr;
    if (weight != nullptr || tensor.name.ends_with(".qweight") || tensor.name.ends_with(".weight.absmax")) {
      return unsupported(
          "expected a quantization_config in config.json, found quantised weights without one" + std::string(kInstead),
          tensor_context(tensor.file, tensor.name));
    }
  }
  return source;
}

}  // namespace

Result<Source> with_whole_weights(const Source& source, const Quantisation& quantisation) {
  if (quantisation.method == Quantisation::Method::kNone) {
    return source->gguf() != nullptr ? Result<Source>(source) : without_description(source);
  }
  Taken taken{source, quantisation};
  LOCUS_CHECK(take_weights(taken));
  if (taken.used.empty()) {
    return bad_input("expected weights as quantization_config describes them, found none", quantisation.context);
  }
  TensorTable table;
  for (const TensorInfo& tensor : source->tensors()) {
    if (const auto weight = taken.weights.find(tensor.name); weight != taken.weights.end()) {
      table.tensors.push_back(weight->second);
      continue;
    }
    if (taken.used.count(tensor.name) > 0 || is_of_activations(tensor.name)) {
      continue;
    }
    if (const TensorInfo* const weight = is_scale(tensor.name) ? source->find(scaled_by(tensor.name)) : nullptr) {
      return misfit(*weight, "F8_E4M3 numbers beside " + tensor.name);
    }
    table.tensors.push_back(tensor);
  }
  table.metadata = source->metadata();
  table.files = source->files();
  table.warnings = source->warnings();
  table.extra_json = source->extra_json();
  table.owners.push_back(source);
  return make_source(std::move(table));
}

}  // namespace locus::formats

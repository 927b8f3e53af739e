// What a configuration says of quantised weights.
#include <utility>

#include "core/base/shown.h"
#include "models/formats/quantised/parts.h"

namespace locus::formats {

namespace {

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
  Result<Config> object() const { return config_.object(field_); }
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
    return unsupported("expected plain weights, or those of another method (locus help checkpoints), found " + what +
                           std::string(kInstead),
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
  const bool whole = type == "int" && (bits == 4 || bits == 8);
  if (!whole && (bits != 8 || type != "float" || !symmetric)) {
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
  if (whole && strategy == "block") {
    return said.refused("compressed-tensors with whole numbers in blocks");
  }
  if (whole) {
    quantisation.packings.push_back({bits, strategy == "group" ? group : 0, false});
  } else {
    quantisation.blocks.insert(quantisation.blocks.end(), blocks.begin(), blocks.end());
  }
  said.pass_over({field + ".dynamic", field + ".observer", field + ".observer_kwargs", field + ".actorder",
                  field + ".scale_dtype", field + ".zp_dtype"});
  return {};
}

Result<Quantisation> describe_compressed_tensors(const Description& said) {
  Quantisation quantisation = described_as(Quantisation::Method::kCompressed, said);
  const auto check_format = [&](const std::string& field) -> Status {
    LOCUS_TRY(const std::string format, said.text(field, "float-quantized"));
    const bool known = format == "float-quantized" || format == "naive-quantized" || format == "int-quantized" ||
                       format == "pack-quantized" || format == "mixed-precision";
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

// MLX: one packing for all modules, and others under their names; a module that is false is not packed.
Result<Quantisation::Packing> packing_of(const Description& said, const Config& object,
                                         const Quantisation::Packing& otherwise) {
  Quantisation::Packing packing;
  LOCUS_TRY(packing.bits, object.integer("bits", otherwise.bits));
  LOCUS_TRY(packing.group, object.integer("group_size", otherwise.group));
  LOCUS_TRY(const std::string mode, object.text("mode", otherwise.float4 ? "mxfp4" : "affine"));
  packing.float4 = mode == "mxfp4";
  if (mode != "affine" && mode != "mxfp4") {
    return said.refused("MLX in the mode " + shown(mode));
  }
  const bool fits = packing.float4 ? packing.bits == 4 && packing.group == 32
                                   : packing.bits > 1 && packing.bits <= 8 && packing.bits != 7;
  if (!fits) {
    return said.refused("MLX in " + std::to_string(packing.bits) + " bits, groups of " + std::to_string(packing.group));
  }
  if (packing.group < 1) {
    return bad_input("expected at least 1, found " + std::to_string(packing.group), object.context("group_size"));
  }
  return packing;
}

Result<Quantisation> describe_mlx(const Description& said) {
  Quantisation quantisation = described_as(Quantisation::Method::kMlx, said);
  LOCUS_TRY(const Config object, said.object());
  LOCUS_TRY(const Quantisation::Packing all, packing_of(said, object, {4, 64, false}));
  quantisation.packings.push_back(all);
  for (const std::string& name : object.names()) {
    if (object.kind(name) == "object") {
      LOCUS_TRY(const Config module, object.object(name));  // whose name has dots
      LOCUS_TRY(const Quantisation::Packing own, packing_of(said, module, all));
      quantisation.modules.emplace(name, own);
    } else {
      static_cast<void>(object.has(name));
    }
  }
  return quantisation;
}

Result<Quantisation> describe_bitsandbytes(const Description& said, const std::string& model_type) {
  LOCUS_CHECK(said.only("bnb_4bit_quant_storage", "uint8"));
  // Their own matrices have inputs and outputs exchanged.
  if (model_type == "gpt2" || model_type == "openai-gpt" || model_type == "imagegpt") {
    return said.refused("bitsandbytes of " + model_type);
  }
  // The files say which weights have which form; the rest is of the arithmetic.
  said.pass_over({"load_in_4bit", "load_in_8bit", "_load_in_4bit", "_load_in_8bit", "bnb_4bit_compute_dtype",
                  "bnb_4bit_quant_type", "bnb_4bit_use_double_quant", "llm_int8_enable_fp32_cpu_offload",
                  "llm_int8_has_fp16_weight", "llm_int8_skip_modules", "llm_int8_threshold"});
  return described_as(Quantisation::Method::kBitsAndBytes, said);
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
    if (method == "bitsandbytes" || (method.empty() && (said.has("load_in_4bit") || said.has("load_in_8bit")))) {
      LOCUS_TRY(const std::string type, config.text("model_type", ""));
      return describe_bitsandbytes(said, type);
    }
    if (method.empty() && said.has("group_size") && said.has("bits")) {
      static_cast<void>(config.has("quantization"));  // the same again
      return describe_mlx(said);
    }
    return said.refused(method.empty() ? "no quant_method" : "quant_method " + shown(method));
  }
  if (config.has("quantization.bits") && config.has("quantization.group_size")) {
    return describe_mlx(Description(config, "quantization"));
  }
  return Quantisation();
}

}  // namespace locus::formats

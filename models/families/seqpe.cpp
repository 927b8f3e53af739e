// SeqPE: a GPT-2 or a timm ViT in model.safetensors, the position encoder in model_1.safetensors, and pe_config.json.
// Image training writes one torch file of {model, pe_model, …} instead of the two.
#include <utility>

#include "core/base/shown.h"
#include "models/families/list.h"
#include "models/transformer/transformer.h"

namespace locus::families {

namespace {

// Prefix of the encoder's tensors in a torch file with model and encoder.
constexpr const char* kTogether = "pe_model.";

// A missing pe_config.json beside the encoder's tensors has its own error.
bool has_encoder(const CheckpointFiles& checkpoint) {
  std::error_code failure;
  return std::filesystem::exists(checkpoint.folder / "pe_config.json", failure) ||
         checkpoint.find(std::string(kTogether) + "token_of_seqpe_embed.weight") != nullptr;
}

Result<std::string> integration(const Config& config) {
  LOCUS_TRY(const std::string method, config.text("PE_APPLY_METHOD", "attn_scalar"));
  for (const auto& [theirs, ours] : {std::pair{"attn_scalar", "bias"}, std::pair{"attn_mul", "mul"},
                                     std::pair{"attn_add", "sum"}, std::pair{"input_add", "input"}}) {
    if (method == theirs) {
      return std::string(ours);
    }
  }
  return bad_input("expected attn_scalar, attn_mul, attn_add or input_add, found " + shown(method),
                   config.context("PE_APPLY_METHOD"));
}

// Newer files use single, multi or none; older ones a flag for one per layer.
Result<std::string> projection(const Config& config, bool has_projection) {
  constexpr const char* kField = "USE_PE_QK_PER_LAYER";
  const std::string shared = has_projection ? "single" : "none";
  if (!config.has(kField)) {
    return shared;
  }
  if (config.kind(kField) == "true or false") {
    LOCUS_TRY(const bool per_layer, config.boolean(kField));
    return per_layer ? std::string("multi") : shared;
  }
  LOCUS_TRY(const std::string value, config.text(kField));
  if (value != "single" && value != "multi" && value != "none") {
    return bad_input("expected single, multi, none, true or false, found " + shown(value), config.context(kField));
  }
  return value;
}

Result<Settings> read_options(const Config& config, bool has_projection) {
  LOCUS_TRY(const std::string type, config.text("PE_TYPE", "seq_pe"));
  LOCUS_TRY(const bool scaled, config.boolean("SEQPE_SCALE_ATTN_WEIGHTS", true));
  LOCUS_TRY(const std::string activation, config.text("SEQPE_ACTIVATION_FUNCTION", "gelu_new"));
  if (type != "seq_pe" || !scaled || activation != "gelu_new") {
    return unsupported("expected PE_TYPE seq_pe with scaled attention and gelu_new, found " + shown(type) + " with " +
                           shown(activation),
                       config.file());
  }
  Settings options;
  LOCUS_TRY(const std::string how, integration(config));
  LOCUS_TRY(const std::string which, projection(config, has_projection));
  options.set("integration", how);
  options.set("projection", how == "input" ? std::string("none") : which);
  LOCUS_TRY(const bool multi_head, config.boolean("USE_PE_MULTI_HEAD", true));
  options.set("single_head", !multi_head);
  for (const auto& [theirs, ours] :
       {std::pair{"PE_EMBED_DIM", "encoder_width"}, std::pair{"NUM_ATTENTION_HEADS", "encoder_heads"},
        std::pair{"PE_DATA_DIM", "dimensions"}, std::pair{"SEQPE_MAX_DIGITS", "digits"},
        std::pair{"SEQPE_LAYER_NUM", "encoder_layers"}}) {
    if (config.has(theirs)) {
      LOCUS_TRY(const std::int64_t value, config.integer(theirs));
      options.set(ours, value);
    }
  }
  LOCUS_TRY(const bool last_norm, config.boolean("SEQPE_LAST_LAYERNORM", true));
  LOCUS_TRY(const bool masked, config.boolean("SEQPE_MASK_PADDING", false));
  LOCUS_TRY(const std::string direction, config.text("SEQPE_ATTN_DIRECTION", "causal"));
  LOCUS_TRY(const double temperature, config.number("SEQPE_TEMPERATURE", 1.0));
  LOCUS_TRY(const double scale, config.number("SEQPE_SCALAR_SCALE", 1.0));
  options.set("last_layernorm", last_norm);
  options.set("mask_padding", masked);
  options.set("encoder_causal", direction == "causal");
  options.set("temperature", temperature);
  options.set("bias_scale", scale);
  return options;
}

// Adds the encoder's file and every tensor of the encoding. `layers`: the prefix of a layer's number.
Status name_encoding(const CheckpointFiles& checkpoint, const std::string& prefix, const std::string& layers,
                     Plan& plan) {
  std::error_code failure;
  const std::filesystem::path file = checkpoint.folder / "model_1.safetensors";
  if (std::filesystem::exists(file, failure)) {
    LOCUS_TRY(formats::Source encoder, formats::open_tensors(file));
    plan.further.push_back(std::move(encoder));
  }
  LOCUS_TRY(const auto empty, within(transformer::Transformer::create(plan.spec, false),
                                     (checkpoint.folder / "pe_config.json").string()));
  const std::string encoder = "position.encoder.";
  const std::string before = checkpoint.prefix_of({"", kTogether}, "token_of_seqpe_embed.weight");
  plan.name("position.layers.N.pe_qk", layers + "N.attn.pe_qk");
  for (const transformer::Parameter& parameter : empty->parameters()) {
    if (parameter.name.rfind(encoder, 0) == 0) {
      plan.name(named_by_pattern(parameter.name), before + named_by_pattern(parameter.name.substr(encoder.size())));
    } else if (parameter.name.rfind("position.", 0) == 0 && parameter.name.rfind("position.layers.", 0) != 0) {
      plan.name(parameter.name, prefix + parameter.name.substr(9));
    }
  }
  return {};
}

// The table of GPT-2, and the encoder.
Result<Plan> read_gpt2_seqpe(const CheckpointFiles& checkpoint) {
  LOCUS_TRY(Plan plan, read_table(gpt2("seqpe-gpt2"), checkpoint, checkpoint.config));
  LOCUS_TRY(const Config config, Config::load(checkpoint.folder / "pe_config.json"));
  const std::string prefix = checkpoint.prefix_of({"transformer.", "", "module.transformer."}, "wte.weight");
  const bool shared = checkpoint.find(prefix + "pe_qk.weight") != nullptr;
  LOCUS_TRY(Settings options, read_options(config, shared));
  plan.spec.encodings = {{"seqpe", std::move(options)}};
  LOCUS_CHECK(name_encoding(checkpoint, prefix, prefix + "h.", plan));
  return plan;
}

Result<Plan> read_vit_seqpe(const CheckpointFiles& checkpoint) {
  LOCUS_TRY(Plan plan, read_timm(checkpoint));
  LOCUS_TRY(const Config config, Config::load(checkpoint.folder / "pe_config.json"));
  LOCUS_TRY(Settings options, read_options(config, checkpoint.find("pe_qk.weight") != nullptr));
  options.set("dimensions", std::int64_t{2});
  options.set("class_token", true);
  plan.spec.encodings = {{"seqpe", std::move(options)}};
  LOCUS_CHECK(name_encoding(checkpoint, "", "blocks.", plan));
  return plan;
}

}  // namespace

const Family kSeqpeGpt2{
    .name = "seqpe-gpt2",
    .recognises =
        [](const CheckpointFiles& checkpoint) { return has_encoder(checkpoint) && model_type(checkpoint) == "gpt2"; },
    .read = read_gpt2_seqpe};

const Family kSeqpeVit{.name = "seqpe-vit",
                       .recognises =
                           [](const CheckpointFiles& checkpoint) {
                             return has_encoder(checkpoint) && checkpoint.find("patch_embed.proj.weight") != nullptr;
                           },
                       .read = read_vit_seqpe};

}  // namespace locus::families

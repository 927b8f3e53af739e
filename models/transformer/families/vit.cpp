// ViT under Hugging Face's names: learned positions of class token and patches, a classifier on the class token.
#include "models/transformer/families/vit.h"

#include "models/transformer/families/list.h"

namespace locus::families {

namespace {

void bind(const Checkpoint& checkpoint, Plan& plan) {
  const std::string prefix = checkpoint.prefix_of({"vit.", "", "module.vit."}, "embeddings.cls_token");
  plan.linear("patch", prefix + "embeddings.patch_embeddings.projection", true);
  plan.bind("class_token", prefix + "embeddings.cls_token", Layout::kReshaped);
  plan.bind("position.position_embedding", prefix + "embeddings.position_embeddings", Layout::kReshaped);
  for (std::int64_t n = 0; n < plan.spec.layers; ++n) {
    const std::string to = layer_prefix("layers.", n);
    const std::string from = layer_prefix(prefix + "encoder.layer.", n);
    plan.norm(to + "attention_norm", from + "layernorm_before");
    plan.linear(to + "attention.query", from + "attention.attention.query", plan.spec.qkv_bias);
    plan.linear(to + "attention.key", from + "attention.attention.key", plan.spec.qkv_bias);
    plan.linear(to + "attention.value", from + "attention.attention.value", plan.spec.qkv_bias);
    plan.linear(to + "attention.output", from + "attention.output.dense", true);
    plan.norm(to + "feed_forward_norm", from + "layernorm_after");
    plan.linear(to + "feed_forward.up", from + "intermediate.dense", true);
    plan.linear(to + "feed_forward.down", from + "output.dense", true);
  }
  plan.norm("final_norm", prefix + "layernorm");
  plan.linear("head", "classifier", true);
  plan.skipped = {"pooler.dense.weight", "pooler.dense.bias"};
}

Result<Plan> read(const Checkpoint& checkpoint) {
  const Config& config = checkpoint.config;
  Plan plan;
  transformer::Spec& spec = plan.spec;
  LOCUS_CHECK(read_sizes(spec, config, "layer_norm_eps", 1e-12, "gelu"));
  LOCUS_TRY(spec.qkv_bias, config.boolean("qkv_bias", true));
  LOCUS_TRY(spec.image.channels, config.integer("num_channels", 3));
  LOCUS_TRY(spec.image.patch, config.integer("patch_size", 16));
  LOCUS_TRY(const std::int64_t size, config.integer("image_size", 224));
  LOCUS_TRY(const Config labels, group(config, "id2label"));
  const auto named = static_cast<std::int64_t>(labels.names().size());
  LOCUS_TRY(spec.vocabulary, config.integer("num_labels", named > 0 ? named : 2));
  LOCUS_CHECK(divide_heads(spec, config));
  LOCUS_CHECK(shape_vit(spec, size, config));
  plan.spec.qkv = transformer::QkvLayout::kSeparate;
  learned_grid(spec);
  LOCUS_CHECK(check_spec(spec, config));
  bind(checkpoint, plan);
  return plan;
}

}  // namespace

const Family kVit{"vit", [](const Checkpoint& checkpoint) { return model_type(checkpoint) == "vit"; }, read};

Status shape_vit(transformer::Spec& spec, std::int64_t image_size, const Config& config) {
  if (spec.image.patch < 1 || image_size < spec.image.patch) {
    return bad_input("expected an image of at least one patch, found image size " + std::to_string(image_size) +
                         " and patch size " + std::to_string(spec.image.patch),
                     config.file());
  }
  spec.kv_heads = spec.heads;
  spec.image.rows = spec.image.columns = image_size / spec.image.patch;
  spec.trained_length = 1 + spec.image.rows * spec.image.columns;
  spec.norm = transformer::Norm::kLayer;
  spec.gated = false;
  spec.causal = false;
  spec.tied_head = false;
  spec.head_bias = true;
  spec.output_bias = spec.feed_forward_bias = true;
  return {};
}

void learned_grid(transformer::Spec& spec) {
  spec.encoding = "learned";
  spec.encoding_options = {{"class_rows", std::int64_t{1}},
                           {"grid_rows", spec.image.rows},
                           {"grid_columns", spec.image.columns},
                           {"beyond", std::string("interpolate")}};
}

}  // namespace locus::families

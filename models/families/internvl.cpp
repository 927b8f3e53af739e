// InternVL under the library's names: a ViT with scaled branches, alone or with patches joined four by four and a Qwen2
// or Llama text.
#include <cmath>

#include "core/base/shown.h"
#include "models/families/engine/slots.h"
#include "models/families/engine/vision.h"
#include "models/families/list.h"

namespace locus::families {

namespace {

// Reads a number, or two equal ones.
Result<std::int64_t> square(const Config& config, std::string_view field, std::int64_t fallback) {
  if (!config.has(field) || config.kind(field) == "number") {
    return integer_or(config, field, fallback);
  }
  LOCUS_TRY(const std::vector<std::int64_t> sides, config.integers(field));
  if (sides.size() != 2 || sides[0] != sides[1] || sides[0] < 1 || sides[0] > 65536) {
    return unsupported("expected two equal sides from 1 to 65536, found others", config.context(field));
  }
  return sides[0];
}

Status finish_internvl_tower(const CheckpointFiles& checkpoint, Plan& plan) {
  const Config& config = checkpoint.config;
  LOCUS_TRY(plan.spec.image.patch, square(config, "patch_size", 14));
  LOCUS_TRY(const std::int64_t size, square(config, "image_size", 448));
  LOCUS_CHECK(shape_grid(plan.spec, size, config));
  LOCUS_TRY(const std::string norm, config.text("norm_type", "layer_norm"));
  if (norm != "layer_norm" && norm != "rms_norm") {
    return unsupported("expected layer_norm or rms_norm, found " + shown(norm), config.context("norm_type"));
  }
  plan.spec.norm = norm == "rms_norm" ? transformer::Norm::kRms : transformer::Norm::kLayer;
  LOCUS_TRY(const bool mean, config.boolean("use_mean_pooling", true));
  plan.spec.final_norm = !mean;
  if (norm == "rms_norm" && !mean) {  // the last norm is a LayerNorm whatever the others are
    return unsupported("expected true with rms_norm, found false", config.context("use_mean_pooling"));
  }
  LOCUS_TRY(const bool normed, config.boolean("use_qk_norm", false));
  LOCUS_CHECK(check_fixed_fields(config, {{"use_absolute_position_embeddings", {true}}}));
  plan.spec.each([&](std::int64_t, transformer::LayerSpec& layer) {
    layer.attention.norm.form = normed ? transformer::QueryNormForm::kWhole : transformer::QueryNormForm::kNone;
    layer.attention.norm.eps = 1e-6;
  });
  plan.spec.head = false;
  learned_grid(plan.spec);
  return {};
}

Family internvl_tower() {
  using namespace slot;
  return {
      .name = "internvl_vision",
      .fixed =
          [](Draft& draft) {
            fix_vit(draft);
            draft.layer.layer_scale = true;
          },
      .fields = {{{"hidden_size"}, width, std::int64_t{1024}},
                 {{"num_hidden_layers"}, layers, std::int64_t{24}},
                 {{"num_attention_heads"}, heads, std::int64_t{16}},
                 {{"intermediate_size"}, inner, std::int64_t{4096}},
                 {{"layer_norm_eps"}, norm_eps, 1e-6},
                 {{"hidden_act"}, activation, "gelu"},
                 {{"attention_bias"}, qkv_bias, false},
                 {{"num_channels"}, channels, std::int64_t{3}}},
      .finish = finish_internvl_tower,
      .prefixes = {""},
      .anchor = "embeddings.cls_token",
      .names = {{"patch", "embeddings.patch_embeddings.projection"},
                {"class_token", "embeddings.cls_token", Layout::kReshaped},
                {"position.position_embedding", "embeddings.position_embeddings", Layout::kReshaped},
                {"layers.N.attention_norm", "encoder.layer.N.layernorm_before"},
                {"layers.N.attention.{query,key,value}", "encoder.layer.N.attention.{q,k,v}_proj"},
                {"layers.N.attention.{query,key}_norm", "encoder.layer.N.attention.{q,k}_norm"},
                {"layers.N.attention.output", "encoder.layer.N.attention.projection_layer"},
                {"layers.N.attention_scale", "encoder.layer.N.lambda_1"},
                {"layers.N.feed_forward_norm", "encoder.layer.N.layernorm_after"},
                {"layers.N.feed_forward.{up,down}", "encoder.layer.N.mlp.fc{1,2}"},
                {"layers.N.feed_forward_scale", "encoder.layer.N.lambda_2"},
                {"final_norm", "layernorm"}},
      .skipped = {"embeddings.mask_token"},
  };
}

Status finish_internvl(const CheckpointFiles& checkpoint, const Config& /*vision*/, Plan& text, VisionPlan& plan) {
  const Config& config = checkpoint.config;
  keep_table(plan.tower.spec);
  LOCUS_TRY(plan.connector.states, feature_layers(config, "vision_feature_layer", -1, plan.tower.spec.depth()));
  LOCUS_TRY(const double ratio, config.number("downsample_ratio", 0.5));
  LOCUS_TRY(const std::string strategy, config.text("vision_feature_select_strategy", "default"));
  if (!(ratio > 0.01 && ratio <= 1) || strategy != "default") {
    return unsupported("expected a downsample_ratio up to 1 and the select strategy default", config.file());
  }
  LOCUS_TRY(const std::string named, config.text("projector_hidden_act", "gelu"));
  LOCUS_TRY(const transformer::Activation activation,
            within(transformer::parse_activation(named), config.context("projector_hidden_act")));
  plan.connector.steps = {join_step(std::lround(1 / ratio)), norm_step("norm", transformer::Norm::kLayer, 1e-5),
                          linear_step("linear_1", text.spec.width, true), activation_step(activation),
                          linear_step("linear_2", text.spec.width, true)};
  plan.names = {
      {"connector.norm", "layer_norm"}, {"connector.linear_1", "linear_1"}, {"connector.linear_2", "linear_2"}};
  plan.placeholders.before_word = "<img>";
  plan.placeholders.after_word = "</img>";
  return {};
}

const VisionTable kInternvlTable =
    llava_names("linear_1.weight",
                {.tower = [](const Config&) { return Result<Family>(internvl_tower()); }, .finish = finish_internvl});

}  // namespace

const Family kInternvlVision = [] {
  Family family = internvl_tower();
  family.prefixes = {"", "vision_tower.", "model.vision_tower."};
  return family;
}();

const Family kInternvl{
    .name = "internvl",
    .read = [](const CheckpointFiles& checkpoint) { return read_vision(checkpoint, kInternvlTable); },
    .harmless = {"image_seq_length"}};

}  // namespace locus::families

// AIMv2's image tower, alone or as the vision_model part of a file with both towers: RMSNorms, also of the patches before
// positions are added, gated feed-forwards, no class token.
#include "models/families/engine/slots.h"
#include "models/families/list.h"

namespace locus::families {

namespace {

Status finish_aimv2(const CheckpointFiles& checkpoint, Plan& plan) {
  const Config& config = checkpoint.config;
  LOCUS_CHECK(shape_grid(plan.spec, config));
  plan.spec.trained_length -= 1;
  plan.spec.head = false;
  LOCUS_TRY(const bool native, config.boolean("is_native", false));
  if (native) {
    plan.spec.encodings = {{"sinusoidal", {{"layout", std::string("half")}, {"grid", std::string("columns")}}}};
    plan.skipped.emplace_back("embeddings.position_embedding.weight");
    return {};
  }
  learned_grid(plan.spec);
  keep_table(plan.spec);
  return {};
}

}  // namespace

const Family kAimv2Vision = [] {
  using namespace slot;
  return Family{
      .name = "aimv2_vision_model",
      .fixed =
          [](Draft& draft) {
            fix_vit(draft);
            draft.spec.norm = transformer::Norm::kRms;
            draft.spec.image.class_tokens = 0;
            draft.spec.image.patch_norm = true;
            draft.spec.pool = transformer::Pool::kAll;
            draft.layer.feed_forward.gated = true;
            draft.layer.attention.output_bias = false;
          },
      .fields = {{{"hidden_size"}, width, std::int64_t{1024}},
                 {{"num_hidden_layers"}, layers, std::int64_t{24}},
                 {{"num_attention_heads"}, heads, std::int64_t{8}},
                 {{"intermediate_size"}, inner, std::int64_t{2816}},
                 {{"rms_norm_eps"}, norm_eps, 1e-5},
                 {{"hidden_act"}, activation, "silu"},
                 {{"qkv_bias"}, attention_bias, false},
                 {{"mlp_bias"}, feed_forward_bias, false},
                 {{"num_channels"}, channels, std::int64_t{3}},
                 {{"patch_size"}, patch, std::int64_t{14}}},
      .finish = finish_aimv2,
      .prefixes = {"", "vision_model."},
      .anchor = "embeddings.patch_embed.weight",
      .names = {{"patch", "embeddings.patch_embed"},
                {"patch_norm", "embeddings.rms_norm"},
                {"position.position_embedding", "embeddings.position_embedding.weight"},
                {"layers.N.attention_norm", "encoder.layers.N.rms_norm1"},
                {"layers.N.attention.{query,key,value,output}", "encoder.layers.N.attention.{q,k,v,out}_proj"},
                {"layers.N.feed_forward_norm", "encoder.layers.N.rms_norm2"},
                {"layers.N.feed_forward.{gate,up,down}", "encoder.layers.N.ffn.{gate,up,down}_proj"},
                {"final_norm", "rms_norm"}},
      .skipped = {"logit_scale", "visual_projection.weight", "text_projection.weight", "text_model.*",
                  "vision_model.head.*", "head.*"},
      .harmless = {"use_head"},
  };
}();

const Family kAimv2{
    .name = "aimv2",
    .read = [](const CheckpointFiles& checkpoint) { return read_picture_half(kAimv2Vision, checkpoint); },
    .harmless = {"text_config", "vision_config.use_head", "max_logit_scale"}};

}  // namespace locus::families

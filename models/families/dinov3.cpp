// DINOv3's ViT: rotary patch positions; class and register tokens have no position.
#include "models/families/engine/slots.h"
#include "models/families/list.h"

namespace locus::families {

namespace {

Status finish_dinov3(const CheckpointFiles& checkpoint, Plan& plan) {
  const Config& config = checkpoint.config;
  LOCUS_TRY(const double base, config.number("rope_theta", 100.0));
  LOCUS_CHECK(shape_grid(plan.spec, config));
  plan.spec.trained_length += plan.spec.image.registers;
  plan.spec.head = false;
  plan.spec.encodings = {{"rope-axial",
                          {{"base", base},
                           {"coordinates", std::string("normalised")},
                           {"first", std::string("rows")},
                           {"layout", std::string("half")}}}};
  return {};
}

}  // namespace

const Family kDinov3 = [] {
  using namespace slot;
  return Family{
      .name = "dinov3_vit",
      .fixed =
          [](Draft& draft) {
            fix_vit(draft);
            draft.layer.layer_scale = true;
          },
      .fields = {{{"hidden_size"}, width},
                 {{"num_hidden_layers"}, layers},
                 {{"num_attention_heads"}, heads},
                 {{"intermediate_size"}, inner},
                 {{"layer_norm_eps"}, norm_eps, 1e-5},
                 {{"hidden_act"}, activation, "gelu"},
                 {{"query_bias"}, query_bias, true},
                 {{"key_bias"}, key_bias, false},
                 {{"value_bias"}, value_bias, true},
                 {{"proj_bias"}, output_bias, true},
                 {{"mlp_bias"}, feed_forward_bias, true},
                 {{"use_gated_mlp"}, gated, false},
                 {{"num_register_tokens"}, registers, std::int64_t{0}},
                 {{"num_channels"}, channels, std::int64_t{3}},
                 {{"patch_size"}, patch, std::int64_t{16}}},
      .finish = finish_dinov3,
      .prefixes = {"", "module."},
      .anchor = "embeddings.cls_token",
      .names = {{"patch", "embeddings.patch_embeddings"},
                {"class_token", "embeddings.cls_token", Layout::kReshaped},
                {"register_tokens", "embeddings.register_tokens", Layout::kReshaped},
                {"layers.N.attention_norm", "layer.N.norm1"},
                {"layers.N.attention.{query,key,value,output}", "layer.N.attention.{q,k,v,o}_proj"},
                {"layers.N.attention_scale", "layer.N.layer_scale1.lambda1"},
                {"layers.N.feed_forward_norm", "layer.N.norm2"},
                {"layers.N.feed_forward.{gate,up,down}", "layer.N.mlp.{gate,up,down}_proj"},
                {"layers.N.feed_forward_scale", "layer.N.layer_scale2.lambda1"},
                {"final_norm", "norm"}},
      .skipped = {"embeddings.mask_token"},
      .harmless = {"pos_embed_rescale", "pos_embed_shift", "pos_embed_jitter"},
  };
}();

}  // namespace locus::families

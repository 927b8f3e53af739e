// DINOv2, with and without registers: ViT with LayerScale; the head reads the class token and the mean of the patches.
#include <cmath>

#include "models/families/engine/slots.h"
#include "models/families/list.h"

namespace locus::families {

namespace {

Status finish_dinov2(const CheckpointFiles& checkpoint, Plan& plan) {
  const Config& config = checkpoint.config;
  transformer::Spec& spec = plan.spec;
  LOCUS_TRY(const bool gated, config.boolean("use_swiglu_ffn", false));
  LOCUS_TRY(const std::int64_t plain, inner_of_ratio(spec, config));
  spec.each([&](std::int64_t, transformer::LayerSpec& layer) {
    layer.feed_forward.inner = gated ? (plain * 2 / 3 + 7) / 8 * 8 : plain;
    layer.feed_forward.gated = gated;
    layer.feed_forward.activation = gated ? transformer::Activation::kSilu : layer.feed_forward.activation;
  });
  LOCUS_CHECK(shape_grid(spec, config));
  LOCUS_CHECK(read_classes(checkpoint, "classifier.weight", spec));
  spec.pool = transformer::Pool::kClassAndPatches;
  learned_grid(spec);
  if (spec.image.registers > 0) {
    spec.encodings.front().options.set("resample", std::string("bicubic-antialias"));
  }
  return {};
}

Family dinov2(std::string_view name) {
  using namespace slot;
  return {
      .name = name,
      .fixed =
          [](Draft& draft) {
            fix_vit(draft);
            draft.layer.layer_scale = true;
          },
      .fields = {{{"hidden_size"}, width},
                 {{"num_hidden_layers"}, layers},
                 {{"num_attention_heads"}, heads},
                 {{"layer_norm_eps"}, norm_eps, 1e-6},
                 {{"hidden_act"}, activation, "gelu"},
                 {{"qkv_bias"}, qkv_bias, true},
                 {{"num_channels"}, channels, std::int64_t{3}},
                 {{"patch_size"}, patch, std::int64_t{14}}},
      .finish = finish_dinov2,
      .prefixes = {"dinov2.", "dinov2_with_registers.", ""},
      .anchor = "embeddings.cls_token",
      .names = {{"patch", "embeddings.patch_embeddings.projection"},
                {"class_token", "embeddings.cls_token", Layout::kReshaped},
                {"register_tokens", "embeddings.register_tokens", Layout::kReshaped},
                {"position.position_embedding", "embeddings.position_embeddings", Layout::kReshaped},
                {"layers.N.attention_norm", "encoder.layer.N.norm1"},
                {"layers.N.attention.{query,key,value}", "encoder.layer.N.attention.attention.{query,key,value}"},
                {"layers.N.attention.output", "encoder.layer.N.attention.output.dense"},
                {"layers.N.attention_scale", "encoder.layer.N.layer_scale1.lambda1"},
                {"layers.N.feed_forward_norm", "encoder.layer.N.norm2"},
                {"layers.N.feed_forward.gate", "encoder.layer.N.mlp.weights_in", Layout::kAsIs, {0, 2}},
                {"layers.N.feed_forward.up", "encoder.layer.N.mlp.fc1"},
                {"layers.N.feed_forward.up", "encoder.layer.N.mlp.weights_in", Layout::kAsIs, {1, 2}},
                {"layers.N.feed_forward.down", "encoder.layer.N.mlp.fc2"},
                {"layers.N.feed_forward.down", "encoder.layer.N.mlp.weights_out"},
                {"layers.N.feed_forward_scale", "encoder.layer.N.layer_scale2.lambda1"},
                {"final_norm", "layernorm"}},
      .outside = {{"head", "classifier"}},
      .skipped = {"embeddings.mask_token"},
  };
}

}  // namespace

Result<std::int64_t> inner_of_ratio(const transformer::Spec& spec, const Config& config) {
  LOCUS_TRY(const double ratio, config.number("mlp_ratio", 4.0));
  const double inner = std::floor(static_cast<double>(spec.width) * ratio);
  if (!(inner >= 1) || inner > 1e7) {
    return bad_input("expected an inner width of at least 1", config.context("mlp_ratio"));
  }
  return static_cast<std::int64_t>(inner);
}

const Family kDinov2 = dinov2("dinov2");

const Family kDinov2WithRegisters = [] {
  Family family = dinov2("dinov2_with_registers");
  family.set({{"patch_size"}, slot::patch, std::int64_t{16}});
  family.set({{"num_register_tokens"}, slot::registers, std::int64_t{4}});
  return family;
}();

}  // namespace locus::families

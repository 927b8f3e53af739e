// HunYuan V1, dense and with experts: Llama whose q and k are normed behind the rotation, and whose base may be
// stretched by alpha.
#include <cmath>

#include "models/families/engine/slots.h"
#include "models/families/list.h"

namespace locus::families {

namespace {

// RoPE as the config says it; "dynamic" with an alpha is NTK-aware scaling by alpha, whatever the length.
Status set_hunyuan_rope(const Config& config, Plan& plan) {
  LOCUS_TRY(const Config block, rope_block(config));
  LOCUS_TRY(const std::string old_type, block.text("type", "default"));
  LOCUS_TRY(const std::string type, block.text("rope_type", old_type));
  LOCUS_TRY(const double alpha, block.number("alpha", 0));
  if (type != "dynamic" || alpha == 0) {
    return set_rope(config, plan);
  }
  LOCUS_TRY(const double written, config.number("rope_theta", 10000));
  LOCUS_TRY(const double base, block.number("rope_theta", written));
  plan.spec.encodings = {{"rope", {{"base", base}, {"scaling", std::string("ntk")}, {"factor", alpha}}}};
  return {};
}

Status finish_hunyuan(const CheckpointFiles& checkpoint, Plan& plan) {
  LOCUS_CHECK(set_hunyuan_rope(checkpoint.config, plan));
  for (transformer::EncodingSpec& encoding : plan.spec.encodings) {
    encoding.options.set("norm", true);
    encoding.options.set("norm_eps", plan.spec.norm_eps);
  }
  return {};
}

// The number of experts of a token is one for all layers, or a list.
Status finish_hunyuan_moe(const CheckpointFiles& checkpoint, Plan& plan) {
  const Config& config = checkpoint.config;
  LOCUS_CHECK(finish_hunyuan(checkpoint, plan));
  std::vector<std::int64_t> chosen(static_cast<std::size_t>(plan.spec.depth()), 1);
  if (config.kind("moe_topk") == "list") {
    LOCUS_TRY(chosen, layer_list(config, "moe_topk", plan.spec.depth()));
  } else {
    LOCUS_TRY(const std::int64_t all, integer_or(config, "moe_topk", 1));
    chosen.assign(chosen.size(), all);
  }
  plan.spec.each([&](std::int64_t n, transformer::LayerSpec& layer) {
    layer.feed_forward.experts.chosen = chosen[static_cast<std::size_t>(n)];
    layer.feed_forward.experts.shared = layer.feed_forward.inner;
  });
  return {};
}

Family hunyuan(std::string_view name) {
  Family family = llama(name);
  family.set({{"rms_norm_eps"}, slot::norm_eps, 1e-5});
  family.fixed_fields = {{"use_qk_norm", {true}}, {"use_cla", {false}}};
  family.finish = finish_hunyuan;
  family.names.push_back({"position.layers.N.query_norm", "layers.N.self_attn.query_layernorm.weight"});
  family.names.push_back({"position.layers.N.key_norm", "layers.N.self_attn.key_layernorm.weight"});
  for (const std::string_view field : {"rope_scaling.beta_fast",
                                       "rope_scaling.beta_slow",
                                       "rope_scaling.mscale",
                                       "rope_scaling.mscale_all_dim",
                                       "rope_scaling.factor",
                                       "rope_parameters.beta_fast",
                                       "rope_parameters.beta_slow",
                                       "rope_parameters.mscale",
                                       "rope_parameters.mscale_all_dim",
                                       "rope_parameters.factor",
                                       "cla_share_factor",
                                       "eod_token_id",
                                       "im_end_id",
                                       "im_newline_id",
                                       "im_start_id",
                                       "text_start_id",
                                       "text_end_id",
                                       "image_token_id",
                                       "mask_init_id",
                                       "org_vocab_size"}) {
    family.harmless.push_back(field);
  }
  return family;
}

}  // namespace

const Family kHunyuan = hunyuan("hunyuan_v1_dense");

const Family kHunyuanMoe = [] {
  Family family = hunyuan("hunyuan_v1_moe");
  family.fixed = [](Draft& draft) { draft.layer.feed_forward.experts.normalised = true; };
  family.set({{"num_experts", "num_local_experts"}, slot::experts, std::int64_t{1}});
  family.names.push_back({"layers.N.feed_forward.router", "layers.N.mlp.gate.wg"});
  family.names.push_back(
      {"layers.N.feed_forward.experts.J.{gate,up,down}", "layers.N.mlp.experts.J.{gate,up,down}_proj"});
  family.names.push_back(
      {"layers.N.feed_forward.shared.{gate,up,down}", "layers.N.mlp.shared_mlp.{gate,up,down}_proj"});
  family.finish = finish_hunyuan_moe;
  return family;
}();

}  // namespace locus::families

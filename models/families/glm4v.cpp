// GLM-4.1V and GLM-4.6V Flash: Qwen2-VL's patches and rotation with a learned position table, a convolution over each cell, and a text with
// norms on both sides of its branches and rotary pairs of neighbouring channels. GLM-4.5V: another text, with Llama's
// norms and pairs and with the experts of GLM-4.5.
#include "models/families/engine/layer_kinds.h"
#include "models/families/engine/slots.h"
#include "models/families/list.h"

namespace locus::families {

namespace {

Status finish_glm_tower(const CheckpointFiles& checkpoint, Plan& plan) {
  LOCUS_CHECK(shape_grid(plan.spec, checkpoint.config));
  learned_grid(plan.spec);
  LOCUS_TRY(transformer::EncodingSpec rotation, qwen_rotation(checkpoint.config));
  plan.spec.encodings.push_back(std::move(rotation));
  plan.spec.each([](std::int64_t, transformer::LayerSpec& layer) { layer.encoding = 1; });
  return {};
}

Family glm_tower() {
  using namespace slot;
  Family family = qwen_tower("glm4v");
  family.fixed = [](Draft& draft) {
    qwen_tower({}).fixed(draft);
    draft.spec.norm = transformer::Norm::kRms;
    draft.spec.image.patch_bias = draft.spec.image.patch_norm = true;
    draft.spec.final_norm = true;
    draft.layer.attention.set_qkv_bias(false);
    draft.layer.attention.output_bias = false;
    draft.layer.feed_forward.gated = true;
    draft.layer.feed_forward.bias = false;
  };
  family.set({{"hidden_size"}, width, std::int64_t{1536}});
  family.set({{"depth"}, layers, std::int64_t{24}});
  family.set({{"num_heads"}, heads, std::int64_t{12}});
  family.set({{"out_hidden_size"}, inner, std::int64_t{4096}});
  family.set({{"rms_norm_eps"}, norm_eps, 1e-5});
  family.set({{"attention_bias"}, qkv_bias, false});
  family.set({{"hidden_act"}, activation, "silu"});
  family.rename({"layers.N.feed_forward.{gate,up,down}", "blocks.N.mlp.{gate,up,down}_proj"});
  family.names.insert(family.names.end(), {{"patch_norm", "post_conv_layernorm"},
                                           {"position.position_embedding", "embeddings.position_embedding.weight"},
                                           {"final_norm", "post_layernorm"}});
  family.finish = finish_glm_tower;
  return family;
}

Status finish_glm_text(const CheckpointFiles& checkpoint, Plan& plan) {
  LOCUS_TRY(const double fraction, rotated_fraction(checkpoint.config, 1.0));
  return set_rope(checkpoint.config, plan, 10000.0, "interleaved", fraction);
}

Family glm_text() {
  Family family = llama("glm4v_text");
  family.fixed = [](Draft& draft) {
    draft.layer.attention_norm = draft.layer.feed_forward_norm = transformer::NormPlace::kBoth;
  };
  std::erase_if(family.fields, [](const Field& field) { return field.names.front() == "attention_bias"; });
  family.set({{"attention_bias"}, slot::qkv_bias, true});
  family.set({{"rms_norm_eps"}, slot::norm_eps, 1e-5});
  family.rename({"layers.N.{attention,feed_forward}_norm", "layers.N.{input,post_attention}_layernorm"});
  family.names.push_back(
      {"layers.N.{attention,feed_forward}_after_norm", "layers.N.{post_self_attn,post_mlp}_layernorm"});
  family.rename({"layers.N.feed_forward.gate", "layers.N.mlp.gate_up_proj", Layout::kAsIs, {0, 2}});
  family.rename({"layers.N.feed_forward.up", "layers.N.mlp.gate_up_proj", Layout::kAsIs, {1, 2}});
  family.finish = finish_glm_text;
  return family;
}

Status finish_glm_experts(const CheckpointFiles& checkpoint, Plan& plan) {
  LOCUS_CHECK(check_fixed_fields(checkpoint.config, {{"use_qk_norm", {false}}}));
  LOCUS_TRY(const double fraction, rotated_fraction(checkpoint.config, 0.5));
  LOCUS_CHECK(set_rope(checkpoint.config, plan, 10000.0, "half", fraction));
  return set_dense_layers(checkpoint.config, plan, 1, "n_shared_experts");
}

Family glm_moe_text() {
  Family family = llama("glm4v_moe_text");
  family.fixed = [](Draft& draft) {
    draft.layer.feed_forward.experts.router = transformer::Router::kSigmoid;
    draft.layer.feed_forward.experts.correction = true;
  };
  std::erase_if(family.fields, [](const Field& field) { return field.names.front() == "attention_bias"; });
  family.set({{"attention_bias"}, slot::qkv_bias, true});
  family.set({{"rms_norm_eps"}, slot::norm_eps, 1e-5});
  family.set({{"moe_intermediate_size"}, slot::inner, std::int64_t{1408}});
  family.set({{"n_routed_experts", "num_local_experts"}, slot::experts, std::int64_t{128}});
  family.set({{"num_experts_per_tok"}, slot::chosen_experts, std::int64_t{8}});
  family.set({{"n_group"}, slot::expert_groups, std::int64_t{1}});
  family.set({{"topk_group"}, slot::chosen_groups, std::int64_t{1}});
  family.set({{"routed_scaling_factor"}, slot::expert_factor, 1.0});
  family.set({{"norm_topk_prob"}, slot::normalised_experts, true});
  family.names.insert(
      family.names.end(),
      {{"layers.N.feed_forward.experts.J.{gate,up,down}", "layers.N.mlp.experts.J.{gate,up,down}_proj"},
       {"layers.N.feed_forward.shared.{gate,up,down}", "layers.N.mlp.shared_experts.{gate,up,down}_proj"},
       {"layers.N.feed_forward.router", "layers.N.mlp.gate"},
       {"layers.N.feed_forward.correction", "layers.N.mlp.gate.e_score_correction_bias"}});
  name_stacked_experts(family);
  family.finish = finish_glm_experts;
  return family;
}

Status finish_glm4v(const CheckpointFiles& checkpoint, const Config& vision, Plan& text, VisionPlan& plan) {
  LOCUS_CHECK(check_sections(checkpoint, text));
  LOCUS_TRY(const std::int64_t inner, integer_or(vision, "intermediate_size", 13696));
  const std::int64_t width = text.spec.width;
  plan.connector.states = {plan.tower.spec.depth()};
  plan.connector.steps = {join_step(plan.tower.spec.image.cell, true),
                          linear_step("downsample", width, true),
                          linear_step("project", width, false),
                          norm_step("norm", transformer::Norm::kLayer, 1e-5),
                          activation_step(transformer::Activation::kGelu),
                          gated_step("merge", inner, transformer::Activation::kSilu)};
  plan.names = {{"connector.downsample", "downsample", Layout::kReshaped},
                {"connector.project", "merger.proj"},
                {"connector.norm", "merger.post_projection_norm"},
                {"connector.merge.{gate,up,down}", "merger.{gate,up,down}_proj"}};
  return {};
}

const VisionTable kGlm4vTable{
    .tower = [](const Config&) { return Result<Family>(glm_tower()); },
    .tower_tensors = {{"model.visual."}, {}},
    .text_tensors = {{"model.language_model."}, "embed_tokens.weight"},
    .text =
        [](const CheckpointFiles& files, const Config&) {
          return Result<Family>(model_type(files) == "glm4v_moe" ? glm_moe_text() : glm_text());
        },
    .connector_tensors = {{"model.visual."}, "downsample.weight"},
    .finish = finish_glm4v,
};

}  // namespace

const Family kGlm4v{.name = "glm4v",
                    .read = [](const CheckpointFiles& checkpoint) { return read_vision(checkpoint, kGlm4vTable); }};
const Family kGlm4vMoe{.name = "glm4v_moe",
                       .read = [](const CheckpointFiles& checkpoint) { return read_vision(checkpoint, kGlm4vTable); }};
const Family kGlm46v{.name = "glm46v",
                     .read = [](const CheckpointFiles& checkpoint) { return read_vision(checkpoint, kGlm4vTable); }};

}  // namespace locus::families

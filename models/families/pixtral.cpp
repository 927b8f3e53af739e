// Pixtral's tower, alone and in Mistral 3, where patches are normalised and joined four by four before they are
// projected.
#include "models/families/engine/rope.h"
#include "models/families/engine/slots.h"
#include "models/families/engine/vision.h"
#include "models/families/list.h"

namespace locus::families {

namespace {

Status finish_pixtral_tower(const CheckpointFiles& checkpoint, Plan& plan) {
  LOCUS_TRY(const double base, axial_base(checkpoint.config, 10000.0, plan.spec.first().attention.head_width));
  plan.spec.encodings = {{"rope-axial",
                          {{"base", base},
                           {"first", std::string("rows")},
                           {"layout", std::string("half")},
                           {"frequencies", std::string("alternating")}}}};
  return {};
}

Status finish_mistral3(const CheckpointFiles& checkpoint, const Config& /*vision*/, Plan& text, VisionPlan& plan) {
  const Config& config = checkpoint.config;
  LOCUS_TRY(plan.connector.states, feature_layers(config, "vision_feature_layer", -1, plan.tower.spec.depth()));
  LOCUS_TRY(const std::int64_t cell, integer_or(config, "spatial_merge_size", 2));
  LOCUS_TRY(const bool bias, config.boolean("multimodal_projector_bias", false));
  LOCUS_TRY(const std::string named, config.text("projector_hidden_act", "gelu"));
  LOCUS_TRY(const transformer::Activation activation,
            within(transformer::parse_activation(named), config.context("projector_hidden_act")));
  const std::int64_t width = plan.tower.spec.width * static_cast<std::int64_t>(plan.connector.states.size());
  plan.connector.steps = {norm_step("norm", transformer::Norm::kRms, text.spec.norm_eps),
                          join_step(cell, true),
                          linear_step("merge", width, false),
                          linear_step("linear_1", text.spec.width, bias),
                          activation_step(activation),
                          linear_step("linear_2", text.spec.width, bias)};
  plan.names = {{"connector.norm", "norm"},
                {"connector.merge", "patch_merger.merging_layer"},
                {"connector.linear_1", "linear_1"},
                {"connector.linear_2", "linear_2"}};
  end_rows(plan.placeholders);
  return {};
}

const VisionTable kMistral3Table =
    llava_names("linear_1.weight",
                {.tower = [](const Config&) { return Result<Family>(pixtral_tower()); }, .finish = finish_mistral3});

}  // namespace

// [IMG_BREAK] after each row but the last, [IMG_END] after the last; no file contains their ids.
void end_rows(Placeholders& placeholders) {
  placeholders.row_end = 12;
  placeholders.last_row_end = 13;
}

Family pixtral_tower() {
  using namespace slot;
  return {
      .name = "pixtral",
      .fixed =
          [](Draft& draft) {
            fix_vit(draft);
            draft.spec.norm = transformer::Norm::kRms;
            draft.spec.image.class_tokens = 0;
            draft.spec.image.patch_bias = false;
            draft.spec.pool = transformer::Pool::kAll;
            draft.spec.embedding_norm = true;
            draft.spec.final_norm = false;
            draft.layer.feed_forward.gated = true;
            draft.layer.feed_forward.bias = draft.layer.attention.output_bias = false;
          },
      .fields = {{{"hidden_size"}, width, std::int64_t{1024}},
                 {{"num_hidden_layers"}, layers, std::int64_t{24}},
                 {{"num_attention_heads"}, heads, std::int64_t{16}},
                 {{"intermediate_size"}, inner, std::int64_t{4096}},
                 {{"hidden_act"}, activation, "gelu"},
                 {{"num_channels"}, channels, std::int64_t{3}},
                 {{"patch_size"}, patch, std::int64_t{16}}},
      .finish = finish_pixtral_tower,
      .prefixes = {""},
      .anchor = "patch_conv.weight",
      .names = {{"patch", "patch_conv"},
                {"embedding_norm", "ln_pre"},
                {"layers.N.attention_norm", "transformer.layers.N.attention_norm"},
                {"layers.N.attention.{query,key,value,output}", "transformer.layers.N.attention.{q,k,v,o}_proj"},
                {"layers.N.feed_forward_norm", "transformer.layers.N.ffn_norm"},
                {"layers.N.feed_forward.{gate,up,down}", "transformer.layers.N.feed_forward.{gate,up,down}_proj"}},
  };
}

const Family kPixtral = [] {
  Family family = pixtral_tower();
  family.finish = [](const CheckpointFiles& checkpoint, Plan& plan) -> Status {
    LOCUS_CHECK(finish_pixtral_tower(checkpoint, plan));
    LOCUS_TRY(const std::int64_t largest, checkpoint.config.integer("image_size", 1024));
    LOCUS_CHECK(shape_grid(plan.spec, largest, checkpoint.config));
    plan.spec.trained_length -= 1;
    plan.spec.head = false;
    return {};
  };
  family.prefixes = {"", "vision_tower.", "model.vision_tower."};
  return family;
}();

const Family kMistral3{
    .name = "mistral3",
    .read = [](const CheckpointFiles& checkpoint) { return read_vision(checkpoint, kMistral3Table); },
    .harmless = {"vision_config.image_size", "vision_config.head_dim"}};

}  // namespace locus::families

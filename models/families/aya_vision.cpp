// Aya Vision and Command A Vision: SigLIP's tower, cells of patches that are joined, two projections between which one
// half of the channels gates the other, and Cohere 2's text. Their logits are the head's, without the text's logit_scale.
#include "models/families/engine/vision.h"
#include "models/families/list.h"

namespace locus::families {

namespace {

// Patches along a side of a cell. Errors: kBadInput where the tower's rows are no whole cells.
Result<std::int64_t> cell_of_aya(const Config& config, const transformer::Spec& tower) {
  LOCUS_TRY(const std::int64_t cell, integer_or(config, "downsample_factor", 2));
  return tower.image.rows % cell == 0
             ? Result<std::int64_t>(cell)
             : Result<std::int64_t>(bad_input("expected a number that divides " + std::to_string(tower.image.rows) +
                                                  " patches, found " + std::to_string(cell),
                                              config.context("downsample_factor")));
}

// Channels before the gate, one half of them gates.
Result<std::int64_t> width_of_aya(const Config& config, std::int64_t usual) {
  constexpr const char* kField = "alignment_intermediate_size";
  LOCUS_TRY(const std::int64_t width, integer_or(config, kField, usual));
  return width % 2 == 0 ? Result<std::int64_t>(width)
                        : Result<std::int64_t>(bad_input("expected an even number, found " + std::to_string(width),
                                                         config.context(kField)));
}

// The states behind the last layer, without its norm.
Status finish_aya(const CheckpointFiles& checkpoint, const Config& /*vision*/, Plan& text, VisionPlan& plan) {
  const Config& config = checkpoint.config;
  LOCUS_CHECK(check_fixed_fields(config, {{"vision_feature_select_strategy", {"full"}}}));
  LOCUS_TRY(const std::int64_t cell, cell_of_aya(config, plan.tower.spec));
  LOCUS_TRY(const std::int64_t width, width_of_aya(config, text.spec.width));
  LOCUS_TRY(const double eps, config.number("adapter_layer_norm_eps", 1e-6));
  LOCUS_TRY(plan.connector.states, feature_layers(config, "vision_feature_layer", -1, plan.tower.spec.depth()));
  plan.tower.spec.final_norm = false;
  plan.tower.skipped.insert(plan.tower.skipped.end(), {"post_layernorm.weight", "post_layernorm.bias"});
  keep_table(plan.tower.spec);
  plan.connector.steps = {join_step(cell), norm_step("norm", transformer::Norm::kLayer, eps),
                          linear_step("linear_1", width, true), halve_step(transformer::Activation::kSilu),
                          linear_step("linear_2", text.spec.width, true)};
  plan.names = {
      {"connector.norm", "layernorm"}, {"connector.linear_1", "linear_1"}, {"connector.linear_2", "linear_2"}};
  plan.placeholders.before_word = "<|START_OF_IMG|>";
  plan.placeholders.after_word = "<|END_OF_IMG|>";
  plan.placeholders.tile_word = "TILE_{tile}";
  plan.placeholders.whole_word = "TILE_GLOBAL";
  text.spec.logit_scale = 1;
  return {};
}

// The tower's output behind its last norm.
Status finish_cohere2_vision(const CheckpointFiles& checkpoint, const Config& /*vision*/, Plan& text,
                             VisionPlan& plan) {
  const Config& config = checkpoint.config;
  LOCUS_TRY(const std::int64_t cell, cell_of_aya(config, plan.tower.spec));
  LOCUS_TRY(const std::int64_t width, width_of_aya(config, 36864));
  plan.connector.states = {plan.tower.spec.depth()};
  keep_table(plan.tower.spec);
  plan.connector.steps = {join_step(cell), linear_step("linear_1", width, true),
                          halve_step(transformer::Activation::kSilu), linear_step("linear_2", text.spec.width, true)};
  plan.names = {{"connector.linear_1", "linear_1"}, {"connector.linear_2", "linear_2"}};
  plan.placeholders.before_word = "<|START_OF_IMG|>";
  plan.placeholders.after_word = "<|END_OF_IMG|>";
  plan.placeholders.part_end_word = "<|IMG_LINE_BREAK|>";
  text.spec.logit_scale = 1;
  return {};
}

VisionTable table_of_aya(decltype(VisionTable::finish) finish) {
  return llava_names("linear_1.weight", {.tower = siglip_tower_of, .finish = finish});
}

}  // namespace

const Family kAyaVision{.name = "aya_vision", .read = [](const CheckpointFiles& checkpoint) {
                          return read_vision(checkpoint, table_of_aya(finish_aya));
                        }};
const Family kCohere2Vision{.name = "cohere2_vision", .read = [](const CheckpointFiles& checkpoint) {
                              return read_vision(checkpoint, table_of_aya(finish_cohere2_vision));
                            }};

}  // namespace locus::families

// PaliGemma and Gemma 3 with pictures: SigLIP's tower with its last norm, Gemma's text with scaled token embeddings. In
// PaliGemma the prefix attends to all of itself; in Gemma 3 the tokens of a picture attend to each other, but for
// what a window hides before them.
#include <cmath>

#include "models/families/engine/vision.h"
#include "models/families/list.h"

namespace locus::families {

namespace {

Result<Family> siglip_of(const Config& /*vision*/) {
  return siglip_tower();
}

Result<Family> paligemma_text(const CheckpointFiles& /*checkpoint*/, const Config& text) {
  const std::string type = text_or_nothing(text, "model_type");
  return type == "gemma" ? Result<Family>(gemma_text()) : family_named(type, text);
}

// transformers 5 sets the text's direction, by which the prefix attends to all of itself, and writes the activation as
// hidden_act, in which "gelu" is the old word for its approximation.
Status finish_paligemma(const CheckpointFiles& checkpoint, const Config& /*vision*/, Plan& text, VisionPlan& plan) {
  LOCUS_CHECK(check_fixed_fields(checkpoint.config, {{"text_config.use_bidirectional_attention", {true}},
                                                     {"text_config.hidden_act", {"gelu", "gelu_pytorch_tanh"}}}));
  keep_table(plan.tower.spec);
  plan.connector.states = {plan.tower.spec.depth()};
  plan.connector.steps = {linear_step("linear", text.spec.width, true)};
  plan.names = {{"connector.linear", "linear"}};
  plan.placeholders.blocks = ImageBlocks::kPrefix;
  plan.placeholders.first = true;
  plan.placeholders.first_position = 1;
  return {};
}

// Refuses two fields that the library's class with pictures reads otherwise than its text alone: with the first it stays
// causal in half of the window, with the second it has no windows. No published model has either.
Status finish_gemma3_vision(const CheckpointFiles& checkpoint, const Config& /*vision*/, Plan& text, VisionPlan& plan) {
  const Config& config = checkpoint.config;
  LOCUS_CHECK(check_fixed_fields(
      config, {{"text_config.use_bidirectional_attention", {false}}, {"text_config.is_causal", {true}}}));
  LOCUS_TRY(const std::int64_t tokens, integer_or(config, "mm_tokens_per_image", 256));
  const auto side = static_cast<std::int64_t>(std::lround(std::sqrt(static_cast<double>(tokens))));
  const std::int64_t rows = plan.tower.spec.image.rows;
  if (side * side != tokens || rows % side != 0) {
    return bad_input("expected a square number with a side that divides " + std::to_string(rows) + " patches, found " +
                         std::to_string(tokens),
                     config.context("mm_tokens_per_image"));
  }
  keep_table(plan.tower.spec);
  plan.connector.states = {plan.tower.spec.depth()};
  plan.connector.steps = {pool_step(rows / side), norm_step("norm", transformer::Norm::kRms, plan.tower.spec.norm_eps),
                          linear_step("project", text.spec.width, false)};
  plan.names = {{"connector.norm.weight", "mm_soft_emb_norm.weight", Layout::kPlusOne},
                {"connector.project.weight", "mm_input_projection_weight", Layout::kTransposed}};
  plan.placeholders.blocks = ImageBlocks::kImages;
  return {};
}

const VisionTable kPaligemmaTable =
    llava_names("linear.weight", {.tower = siglip_of, .text = paligemma_text, .finish = finish_paligemma});

const VisionTable kGemma3Table =
    llava_names("mm_soft_emb_norm.weight", {.tower = siglip_of, .finish = finish_gemma3_vision});

}  // namespace

const Family kPaligemma{
    .name = "paligemma",
    .read = [](const CheckpointFiles& checkpoint) { return read_vision(checkpoint, kPaligemmaTable); },
    .harmless = {"hidden_size", "vocab_size", "text_config.num_image_tokens", "vision_config.num_image_tokens",
                 "vision_config.projector_hidden_act"}};
const Family kGemma3Vision{
    .name = "gemma3", .read = [](const CheckpointFiles& checkpoint) { return read_vision(checkpoint, kGemma3Table); }};

}  // namespace locus::families

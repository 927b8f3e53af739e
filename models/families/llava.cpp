// LLaVA: CLIP's tower, the states before its last layer, two projections with a GELU between them. Pixtral in this form
// has its own tower. LLaVA-NeXT cuts pictures into tiles; LLaVA-OneVision too, with SigLIP's tower and states behind its
// last layer, and with fewer cells of large pictures. ViP-LLaVA normalises and projects the states of several layers.
#include "models/families/engine/vision.h"
#include "models/families/list.h"

#include <optional>
#include <string_view>

#include "core/base/numbers.h"
#include "core/base/shown.h"

namespace locus::families {

namespace {

Result<Family> llava_tower(const Config& vision) {
  const std::string type = text_or_nothing(vision, "model_type");
  if (type != "clip_vision_model" && type != "pixtral") {
    return unsupported("expected clip_vision_model or pixtral, found " + shown(type), vision.context("model_type"));
  }
  return type == "pixtral" ? pixtral_tower() : clip_tower();
}

Status finish_llava(const CheckpointFiles& checkpoint, const Config& /*vision*/, Plan& text, VisionPlan& plan) {
  const Config& config = checkpoint.config;
  plan.tower.spec.final_norm = false;
  if (plan.tower.spec.encodings.front().name == "learned") {
    keep_table(plan.tower.spec);
  } else {
    end_rows(plan.placeholders);
  }
  plan.tower.skipped.insert(plan.tower.skipped.end(), {"post_layernorm.weight", "post_layernorm.bias"});
  LOCUS_TRY(plan.connector.states, feature_layers(config, "vision_feature_layer", -2, plan.tower.spec.depth()));
  LOCUS_TRY(const std::string strategy, config.text("vision_feature_select_strategy", "default"));
  if (strategy != "default" && strategy != "full") {
    return unsupported("expected default or full, found " + shown(strategy),
                       config.context("vision_feature_select_strategy"));
  }
  plan.connector.class_tokens = strategy == "full";
  LOCUS_TRY(const bool bias, config.boolean("multimodal_projector_bias", true));
  LOCUS_TRY(const std::string named, config.text("projector_hidden_act", "gelu"));
  LOCUS_TRY(const transformer::Activation activation,
            within(transformer::parse_activation(named), config.context("projector_hidden_act")));
  plan.connector.steps = {linear_step("linear_1", text.spec.width, bias), activation_step(activation),
                          linear_step("linear_2", text.spec.width, bias)};
  plan.names = {{"connector.linear_1", "linear_1"}, {"connector.linear_2", "linear_2"}};
  return {};
}

// Pictures of any size: tiles beside the whole picture, and a vector that ends each row of cells.
Status finish_llava_next(const CheckpointFiles& checkpoint, const Config& vision, Plan& text, VisionPlan& plan) {
  LOCUS_CHECK(finish_llava(checkpoint, vision, text, plan));
  if (plan.connector.class_tokens) {
    return unsupported("expected default, found full", checkpoint.config.context("vision_feature_select_strategy"));
  }
  return check_fixed_fields(checkpoint.config, {{"use_image_newline_parameter", {true}}});
}

// "anyres_max_9": 9.
Result<std::int64_t> most_tiles(const Config& config) {
  constexpr std::string_view kStart = "anyres_max_";
  constexpr std::int64_t kMaxOfTiles = 256;
  LOCUS_TRY(const std::string ratio, config.text("vision_aspect_ratio", "anyres_max_9"));
  const auto number = ratio.starts_with(kStart)
                          ? parse_number<std::int64_t>(std::string_view(ratio).substr(kStart.size()))
                          : std::nullopt;
  return number && *number >= 1 && *number <= kMaxOfTiles
             ? Result<std::int64_t>(*number)
             : Result<std::int64_t>(unsupported("expected anyres_max_1 to anyres_max_256, found " + shown(ratio),
                                                config.context("vision_aspect_ratio")));
}

// States behind the last layer, without its norm; all patches, as SigLIP has no class token.
Status finish_onevision(const CheckpointFiles& checkpoint, const Config& vision, Plan& text, VisionPlan& plan) {
  const Config& config = checkpoint.config;
  LOCUS_CHECK(finish_llava(checkpoint, vision, text, plan));
  plan.connector.class_tokens = false;
  LOCUS_TRY(plan.connector.states, feature_layers(config, "vision_feature_layer", -1, plan.tower.spec.depth()));
  LOCUS_TRY(plan.most_tiles, most_tiles(config));
  return check_fixed_fields(config, {{"vision_feature_select_strategy", {"full"}}});
}

// The states of several layers beside each other, normalised together.
Status finish_vipllava(const CheckpointFiles& checkpoint, const Config& vision, Plan& text, VisionPlan& plan) {
  const Config& config = checkpoint.config;
  LOCUS_CHECK(finish_llava(checkpoint, vision, text, plan));
  if (!config.has("vision_feature_layer")) {
    constexpr std::int64_t kLeastLayers = 10;  // for the states −2, −5, −8, −11 and 6
    if (plan.tower.spec.depth() < kLeastLayers) {
      return bad_input(
          "expected states of a tower of " + std::to_string(plan.tower.spec.depth()) + " layers, found none",
          config.context("vision_feature_layer"));
    }
    for (const std::int64_t layer : {-5, -8, -11}) {
      plan.connector.states.push_back(plan.tower.spec.depth() + 1 + layer);
    }
    plan.connector.states.push_back(6);
  }
  LOCUS_TRY(const double eps, config.number("projector_layernorm_eps", 1e-5));
  plan.connector.steps.insert(plan.connector.steps.begin(), norm_step("norm", transformer::Norm::kLayer, eps));
  plan.names.push_back({"connector.norm", "projector_layernorm"});
  return check_fixed_fields(config,
                            {{"vision_feature_select_strategy", {"default"}}, {"multimodal_projector_bias", {true}}});
}

Result<Family> onevision_tower(const Config& vision) {
  return tower_of_type(vision, "siglip_vision_model", plain_siglip_tower);
}

Result<Family> llava_next_tower(const Config& vision) {
  return tower_of_type(vision, "clip_vision_model", clip_tower);
}

const VisionTable kLlavaTable = llava_names("linear_1.weight", {.tower = llava_tower, .finish = finish_llava});

const VisionTable kVipLlavaTable =
    llava_names("linear_1.weight", {.tower = llava_next_tower, .finish = finish_vipllava});

const VisionTable kLlavaNextTable = llava_names(
    "linear_1.weight",
    {.tower = llava_next_tower, .newline_tensors = {{"", "model."}, "image_newline"}, .finish = finish_llava_next});

// transformers 5 writes the tower without vision_model.
const VisionTable kOnevisionTable =
    llava_names("linear_1.weight", {.tower = onevision_tower,
                                    .tower_tensors = {{"vision_tower.vision_model.", "model.vision_tower.vision_model.",
                                                       "vision_tower.", "model.vision_tower."},
                                                      {}},
                                    .newline_tensors = {{"", "model."}, "image_newline"},
                                    .finish = finish_onevision});

}  // namespace

const Family kLlavaOnevision{
    .name = "llava_onevision",
    .read = [](const CheckpointFiles& checkpoint) { return read_vision(checkpoint, kOnevisionTable); },
    .harmless = {"image_seq_length", "vocab_size", "image_grid_pinpoints", "video_token_index",
                 "use_image_newline_parameter", "vision_config.vocab_size", "vision_config.image_size",
                 "vision_config.head_dim"}};
const Family kLlavaNext{
    .name = "llava_next",
    .read = [](const CheckpointFiles& checkpoint) { return read_vision(checkpoint, kLlavaNextTable); },
    .harmless = {"image_seq_length", "vocab_size", "image_grid_pinpoints", "vision_config.vocab_size",
                 "vision_config.image_size", "vision_config.head_dim"}};
const Family kVipLlava{
    .name = "vipllava",
    .read = [](const CheckpointFiles& checkpoint) { return read_vision(checkpoint, kVipLlavaTable); },
    .harmless = {"image_seq_length", "vocab_size", "vision_config.vocab_size", "vision_config.image_size",
                 "vision_config.head_dim"}};
const Family kLlava{.name = "llava",
                    .read = [](const CheckpointFiles& checkpoint) { return read_vision(checkpoint, kLlavaTable); },
                    .harmless = {"image_seq_length", "vocab_size", "vision_config.vocab_size",
                                 "vision_config.image_size", "vision_config.head_dim"}};

}  // namespace locus::families

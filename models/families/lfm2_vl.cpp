// LFM2-VL: SigLIP 2's tower for pictures of any size, cells of patches that are joined, a norm and two projections, and
// LFM2's text. Its processor cuts large pictures into tiles and names their rows and columns.
#include "core/base/shown.h"
#include "models/families/engine/vision.h"
#include "models/families/list.h"

namespace locus::families {

namespace {

constexpr double kProjectorEps = 1e-5;

std::vector<std::string_view> prefixes_of_lfm2() {
  return {"model.vision_tower.", "model.vision_tower.vision_model.", "vision_tower.", "vision_tower.vision_model."};
}

Result<Family> tower_of_lfm2(const Config& vision) {
  LOCUS_TRY(const std::string type, vision.text("model_type", "siglip2_vision_model"));
  return type == "siglip2_vision_model"
             ? Result<Family>(siglip2_tower(prefixes_of_lfm2()))
             : Result<Family>(
                   unsupported("expected siglip2_vision_model, found " + shown(type), vision.context("model_type")));
}

Result<Family> text_of_lfm2(const CheckpointFiles& /*checkpoint*/, const Config& text) {
  LOCUS_TRY(const std::string type, text.text("model_type", "lfm2"));
  return family_named(type, text);
}

// Patches along a side of a cell. Errors: kBadInput.
Result<std::int64_t> cell_of_lfm2(const Config& config) {
  constexpr const char* kField = "downsample_factor";
  constexpr std::int64_t kLargestCell = 64;
  LOCUS_TRY(const std::int64_t cell, integer_or(config, kField, 2));
  return cell <= kLargestCell ? Result<std::int64_t>(cell)
                              : Result<std::int64_t>(bad_input("expected 1 to " + std::to_string(kLargestCell) +
                                                                   " patches, found " + std::to_string(cell),
                                                               config.context(kField)));
}

// The tower's output behind its last norm.
Status finish_lfm2_vl(const CheckpointFiles& checkpoint, const Config& /*vision*/, Plan& text, VisionPlan& plan) {
  const Config& config = checkpoint.config;
  LOCUS_CHECK(check_fixed_fields(config, {{"vision_feature_layer", {-1.0}}, {"use_image_special_tokens", {true}}}));
  LOCUS_TRY(const std::int64_t cell, cell_of_lfm2(config));
  LOCUS_TRY(const std::int64_t width, integer_or(config, "projector_hidden_size", 2560));
  LOCUS_TRY(const bool norm, config.boolean("projector_use_layernorm", true));
  LOCUS_TRY(const bool bias, config.boolean("projector_bias", true));
  LOCUS_TRY(const std::string named, config.text("projector_hidden_act", "gelu"));
  LOCUS_TRY(const transformer::Activation activation,
            within(transformer::parse_activation(named), config.context("projector_hidden_act")));
  plan.connector.states = {plan.tower.spec.depth()};
  plan.connector.steps = {join_step(cell)};
  if (norm) {
    plan.connector.steps.push_back(norm_step("norm", transformer::Norm::kLayer, kProjectorEps));
    plan.names.push_back({"connector.norm", "layer_norm"});
  }
  plan.connector.steps.push_back(linear_step("linear_1", width, bias));
  plan.connector.steps.push_back(activation_step(activation));
  plan.connector.steps.push_back(linear_step("linear_2", text.spec.width, bias));
  plan.names.push_back({"connector.linear_1", "linear_1"});
  plan.names.push_back({"connector.linear_2", "linear_2"});
  plan.placeholders.before_word = "<|image_start|>";
  plan.placeholders.after_word = "<|image_end|>";
  plan.placeholders.tile_word = "<|img_row_{row}_col_{column}|>";
  plan.placeholders.whole_word = "<|img_thumbnail|>";
  plan.placeholders.whole_behind_tiles = true;
  return {};
}

Result<Plan> read_lfm2_vl(const CheckpointFiles& checkpoint) {
  return read_vision(
      checkpoint,
      {
          .tower = tower_of_lfm2,
          .tower_tensors = {prefixes_of_lfm2(), {}},
          .text_tensors = {{"model.language_model.", "language_model.model.", "language_model."},
                           "embed_tokens.weight"},
          .head_prefixes = {"", "language_model."},
          .text = text_of_lfm2,
          .connector_tensors = {{"model.multi_modal_projector.", "multi_modal_projector."}, "linear_1.weight"},
          .finish = finish_lfm2_vl,
      });
}

}  // namespace

// Fields of the image processor, which config.json repeats, and another name of what the file's tensors decide.
const Family kLfm2Vl{.name = "lfm2_vl",
                     .read = read_lfm2_vl,
                     .harmless = {"do_image_splitting", "encoder_patch_size", "max_image_tokens", "max_num_patches",
                                  "max_pixels_tolerance", "max_tiles", "min_image_tokens", "min_tiles", "tile_size",
                                  "use_thumbnail", "tie_embedding"}};

}  // namespace locus::families

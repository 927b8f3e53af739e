// Idefics 3 and SmolVLM: tiles of a picture and the whole picture, each through SigLIP's tower; cells of patches are
// joined and projected by one matrix. Their towers alone, and that of Idefics 2, take pictures of any size: a patch has
// the position of its share of the rows and columns (arXiv:2307.06304).
#include "models/families/engine/slots.h"
#include "models/families/engine/vision.h"
#include "models/families/list.h"

namespace locus::families {

namespace {

Result<Family> idefics_tower(const Config& /*vision*/) {
  Family family = plain_siglip_tower();
  family.set({{"hidden_size"}, slot::width, std::int64_t{1152}});
  family.set({{"num_attention_heads"}, slot::heads, std::int64_t{16}});
  family.set({{"patch_size"}, slot::patch, std::int64_t{32}});
  return family;
}

// Positions by shares instead of resampled rows.
void share_grid(transformer::Spec& spec) {
  spec.encodings.front().options.set("resample", std::string("buckets"));
}

Family idefics_tower_alone(std::string_view name) {
  Family family = plain_siglip_tower();
  family.name = name;
  if (name != "idefics2_vision") {
    family.set({{"hidden_size"}, slot::width, std::int64_t{1152}});
    family.set({{"num_attention_heads"}, slot::heads, std::int64_t{16}});
  }
  family.set({{"patch_size"}, slot::patch, std::int64_t{32}});
  family.prefixes = {"", "vision_model.", "model.vision_model."};
  family.finish = [siglip = family.finish](const CheckpointFiles& checkpoint, Plan& plan) -> Status {
    LOCUS_CHECK(siglip(checkpoint, plan));
    plan.spec.head = false;
    share_grid(plan.spec);
    return {};
  };
  return family;
}

Status finish_idefics3(const CheckpointFiles& checkpoint, const Config& /*vision*/, Plan& text, VisionPlan& plan) {
  LOCUS_TRY(const std::int64_t cell, integer_or(checkpoint.config, "scale_factor", 2));
  keep_table(plan.tower.spec);
  share_grid(plan.tower.spec);
  plan.placeholders.tiles = true;
  plan.connector.states = {plan.tower.spec.depth()};
  plan.connector.steps = {join_step(cell), linear_step("project", text.spec.width, false)};
  plan.names = {{"connector.project", "modality_projection.proj"}};
  return {};
}

// Fields that repeat those of the parts, or belong to the image processor.
const std::vector<std::string_view> kRepeated{"vocab_size", "vision_config.max_image_size", "vision_config.size"};

const VisionTable kIdefics3Table{
    .tower = idefics_tower,
    .tower_tensors = {{"model.vision_model."}, {}},
    .text_tensors = {{"model.text_model."}, "embed_tokens.weight"},
    .connector_tensors = {{"model.connector."}, "modality_projection.proj.weight"},
    .finish = finish_idefics3,
};

Result<Plan> read_idefics3(const CheckpointFiles& checkpoint) {
  return read_vision(checkpoint, kIdefics3Table);
}

}  // namespace

const Family kIdefics2Vision = idefics_tower_alone("idefics2_vision");
const Family kIdefics3Vision = idefics_tower_alone("idefics3_vision");
const Family kSmolVlmVision = idefics_tower_alone("smolvlm_vision");
const Family kIdefics3{.name = "idefics3", .read = read_idefics3, .harmless = kRepeated};
const Family kSmolVlm{.name = "smolvlm", .read = read_idefics3, .harmless = kRepeated};

}  // namespace locus::families

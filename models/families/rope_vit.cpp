// RoPE-ViT: timm's names with LayerScale, axial or mixed RoPE, and with `use_ape` also learned positions of the
// patches.
#include "models/families/list.h"

namespace locus::families {

namespace {

bool recognises_rope_vit(const CheckpointFiles& checkpoint) {
  const std::string name = architecture(checkpoint);
  return model_type(checkpoint).empty() && (name.rfind("rope_", 0) == 0 || checkpoint.find("freqs_t_x") != nullptr) &&
         checkpoint.find("patch_embed.proj.weight") != nullptr;
}

Result<Plan> read_rope_vit(const CheckpointFiles& checkpoint) {
  LOCUS_TRY(Plan plan, read_timm(checkpoint));
  LOCUS_TRY(const Config arguments, group(checkpoint.config, "model_args"));
  const bool named_mixed = architecture(checkpoint).rfind("rope_mixed", 0) == 0 || checkpoint.find("freqs") != nullptr;
  LOCUS_TRY(const bool mixed, arguments.boolean("rope_mixed", named_mixed));
  LOCUS_TRY(const bool ape, arguments.boolean("use_ape", checkpoint.find("pos_embed") != nullptr));
  LOCUS_TRY(const double base, arguments.number("rope_theta", mixed ? 10.0 : 100.0));
  plan.spec.encodings = {{mixed ? "rope-mixed" : "rope-axial", {{"base", base}}}};
  plan.spec.image.position_embedding = ape;
  plan.name("position.freqs", "freqs");
  plan.name("patch_position", "pos_embed", Layout::kReshaped);
  plan.skipped = {"freqs_t_x", "freqs_t_y"};
  return plan;
}

}  // namespace

const Family kRopeVit{.name = "rope-vit", .recognises = recognises_rope_vit, .read = read_rope_vit};

}  // namespace locus::families

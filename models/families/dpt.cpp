// DPT's own backbone: a ViT whose positions are resampled bilinearly. The neck and the heads of depth and segments are
// not read; a convolutional stem (DPT-Hybrid) and backbones of other families are refused.
#include "models/families/engine/heads.h"
#include "models/families/list.h"

namespace locus::families {

namespace {

Status finish_dpt(const CheckpointFiles& checkpoint, Plan& plan) {
  plan.spec.head = false;
  leave_out_parts(checkpoint, {"neck", "head", "auxiliary_head"}, plan);
  LOCUS_CHECK(shape_grid(plan.spec, checkpoint.config));
  learned_grid(plan.spec);
  plan.spec.encodings.front().options.set("resample", std::string("bilinear"));
  return {};
}

}  // namespace

const Family kDpt = [] {
  Family family = vit("dpt");
  // Checked before the fields: a configuration with another backbone has no sizes of its own.
  family.steps = {{"backbone", [](const Config& config, Draft& /*draft*/) {
                     return check_fixed_fields(config, {{"is_hybrid", {false}}, {"backbone_config"}, {"backbone"}});
                   }}};
  family.finish = finish_dpt;
  family.prefixes = {"dpt.", "", "module.dpt."};
  family.outside = {};
  family.harmless = {"add_projection",
                     "auxiliary_loss_weight",
                     "backbone_featmap_shape",
                     "backbone_kwargs",
                     "backbone_out_indices",
                     "fusion_hidden_size",
                     "head_in_index",
                     "neck_hidden_sizes",
                     "neck_ignore_stages",
                     "readout_type",
                     "reassemble_factors",
                     "semantic_loss_ignore_index",
                     "use_auxiliary_head",
                     "use_batch_norm_in_fusion_residual",
                     "use_bias_in_fusion_residual",
                     "use_pretrained_backbone",
                     "use_timm_backbone"};
  return family;
}();

}  // namespace locus::families

// Masked autoencoders (MAE): the encoder is a ViT whose positions are stored sines. The library leaves out a random part
// of the patches (mask_ratio) and shuffles the others; here all are read in their order. The decoder is not read.
#include "core/base/numbers.h"
#include "models/families/engine/heads.h"
#include "models/families/list.h"

namespace locus::families {

namespace {

Status finish_mae(const CheckpointFiles& checkpoint, Plan& plan) {
  const Config& config = checkpoint.config;
  LOCUS_TRY(const double masked, config.number("mask_ratio", 0.75));
  if (masked != 0) {
    plan.warnings.push_back(config.context("mask_ratio") + ": " + general_text(masked, 6) +
                            ": all patches are read, in their order, where the library leaves out this share of them "
                            "at random");
  }
  plan.spec.head = false;
  leave_out_parts(checkpoint, {"decoder"}, plan);
  LOCUS_CHECK(shape_grid(plan.spec, config));
  learned_grid(plan.spec);
  return {};
}

}  // namespace

const Family kVitMae = [] {
  Family family = vit("vit_mae");
  family.finish = finish_mae;
  family.outside = {};
  family.skipped = {"embeddings.mask_token"};
  family.harmless = {"decoder_hidden_size", "decoder_intermediate_size", "decoder_num_attention_heads",
                     "decoder_num_hidden_layers", "norm_pix_loss"};
  return family;
}();

}  // namespace locus::families

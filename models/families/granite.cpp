// Granite: Llama with four multipliers.
#include "models/families/engine/slots.h"
#include "models/families/list.h"

namespace locus::families {

namespace {

Status finish_granite(const CheckpointFiles& checkpoint, Plan& plan) {
  LOCUS_TRY(const double divisor, checkpoint.config.number("logits_scaling", 1.0));
  if (!(divisor > 0)) {
    return bad_input("expected a number above 0", checkpoint.config.context("logits_scaling"));
  }
  plan.spec.logit_scale = 1 / divisor;
  return set_rope(checkpoint.config, plan);
}

}  // namespace

const Family kGranite = [] {
  Family family = llama("granite");
  family.set({{"embedding_multiplier"}, slot::embedding_scale, 1.0});
  family.set({{"residual_multiplier"}, slot::residual_scale, 1.0});
  family.set({{"attention_multiplier"}, slot::attention_scale, 1.0});
  family.finish = finish_granite;
  return family;
}();

}  // namespace locus::families

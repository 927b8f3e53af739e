// I-JEPA's encoder: ViT without a class token; the classifier reads the mean of the patches.
#include "models/families/list.h"

namespace locus::families {

namespace {

Status finish_ijepa(const CheckpointFiles& checkpoint, Plan& plan) {
  LOCUS_CHECK(read_classes(checkpoint, "", plan.spec));
  LOCUS_CHECK(shape_grid(plan.spec, checkpoint.config));
  plan.spec.trained_length -= 1;  // no class token
  learned_grid(plan.spec);
  return {};
}

}  // namespace

const Family kIjepa = [] {
  Family family = vit("ijepa");
  family.fixed = [](Draft& draft) {
    fix_vit(draft);
    draft.spec.image.class_tokens = 0;
    draft.spec.pool = transformer::Pool::kAll;
  };
  family.finish = finish_ijepa;
  family.prefixes = {"ijepa.", "", "module.ijepa."};
  family.anchor = "embeddings.position_embeddings";
  std::erase_if(family.names, [](const Name& row) { return row.parameter == "class_token"; });
  family.skipped.push_back("embeddings.mask_token");
  return family;
}();

}  // namespace locus::families

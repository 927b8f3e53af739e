// DeiT under Hugging Face's names: ViT with a distillation token, with or without a second head for it.
#include "models/families/list.h"

namespace locus::families {

namespace {

Status finish_deit(const CheckpointFiles& checkpoint, Plan& plan) {
  const Config& config = checkpoint.config;
  transformer::Spec& spec = plan.spec;
  const bool two = checkpoint.find("distillation_classifier.weight") != nullptr;
  LOCUS_CHECK(shape_grid(spec, config));
  LOCUS_CHECK(read_classes(checkpoint, two ? "cls_classifier.weight" : "classifier.weight", spec));
  spec.pool = two ? transformer::Pool::kTwoHeads : transformer::Pool::kClass;
  spec.trained_length += 1;
  learned_grid(spec);
  return {};
}

}  // namespace

const Family kDeit = [] {
  Family family = vit("deit");
  family.fixed = [](Draft& draft) {
    fix_vit(draft);
    draft.spec.image.class_tokens = 2;
  };
  family.finish = finish_deit;
  family.prefixes = {"deit.", "", "module.deit."};
  family.names.push_back({"distillation_token", "embeddings.distillation_token", Layout::kReshaped});
  family.outside = {
      {"head", "cls_classifier"}, {"head", "classifier"}, {"distillation_head", "distillation_classifier"}};
  family.skipped.push_back("embeddings.mask_token");
  return family;
}();

}  // namespace locus::families

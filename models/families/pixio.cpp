// Pixio: ViT with several class tokens, each with a position of its own.
#include "models/families/engine/slots.h"
#include "models/families/list.h"

namespace locus::families {

namespace {

Status finish_pixio(const CheckpointFiles& checkpoint, Plan& plan) {
  transformer::Spec& spec = plan.spec;
  LOCUS_TRY(const std::int64_t inner, inner_of_ratio(spec, checkpoint.config));
  spec.each([&](std::int64_t, transformer::LayerSpec& layer) { layer.feed_forward.inner = inner; });
  LOCUS_CHECK(shape_grid(spec, checkpoint.config));
  spec.trained_length += spec.image.class_tokens - 1;
  spec.head = false;
  learned_grid(spec);
  return {};
}

}  // namespace

const Family kPixio = [] {
  Family family = vit("pixio");
  std::erase_if(family.fields, [](const Field& field) { return field.names.front() == "intermediate_size"; });
  family.set({{"layer_norm_eps"}, slot::norm_eps, 1e-6});
  family.set({{"n_cls_tokens"}, slot::class_tokens, std::int64_t{8}});
  family.finish = finish_pixio;
  family.prefixes = {"pixio.", "", "module.pixio."};
  family.outside = {};
  family.rename({"layers.N.attention_norm", "encoder.layer.N.norm1"});
  family.rename({"layers.N.feed_forward_norm", "encoder.layer.N.norm2"});
  // transformers 5 writes ViT's names of these two; the authors' files have those of the code.
  family.names.push_back({"layers.N.feed_forward.{up,down}", "encoder.layer.N.mlp.fc{1,2}"});
  family.skipped = {"embeddings.mask_token"};
  return family;
}();

}  // namespace locus::families

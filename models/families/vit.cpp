// ViT under Hugging Face's names: learned positions of class token and patches, a classifier on the class token. Masked
// Siamese networks (MSN) are trained otherwise, and have the same layers.
#include "models/families/list.h"

#include "models/families/engine/slots.h"

namespace locus::families {

namespace {

Status finish_vit(const CheckpointFiles& checkpoint, Plan& plan) {
  LOCUS_CHECK(read_classes(checkpoint, "", plan.spec));
  LOCUS_CHECK(shape_grid(plan.spec, checkpoint.config));
  learned_grid(plan.spec);
  return {};
}

}  // namespace

Family vit(std::string_view name) {
  using namespace slot;
  return {
      .name = name,
      .fixed = fix_vit,
      .fields = {{{"hidden_size"}, width},
                 {{"num_hidden_layers"}, layers},
                 {{"num_attention_heads"}, heads},
                 {{"intermediate_size"}, inner},
                 {{"layer_norm_eps"}, norm_eps, 1e-12},
                 {{"hidden_act"}, activation, "gelu"},
                 {{"qkv_bias"}, qkv_bias, true},
                 {{"num_channels"}, channels, std::int64_t{3}},
                 {{"patch_size"}, patch, std::int64_t{16}}},
      .finish = finish_vit,
      .prefixes = {"vit.", "", "module.vit."},
      .anchor = "embeddings.cls_token",
      .names = {{"patch", "embeddings.patch_embeddings.projection"},
                {"class_token", "embeddings.cls_token", Layout::kReshaped},
                {"position.position_embedding", "embeddings.position_embeddings", Layout::kReshaped},
                {"layers.N.attention_norm", "encoder.layer.N.layernorm_before"},
                {"layers.N.attention.{query,key,value}", "encoder.layer.N.attention.attention.{query,key,value}"},
                {"layers.N.attention.output", "encoder.layer.N.attention.output.dense"},
                {"layers.N.feed_forward_norm", "encoder.layer.N.layernorm_after"},
                {"layers.N.feed_forward.{up,down}", "encoder.layer.N.{intermediate,output}.dense"},
                {"final_norm", "layernorm"}},
      .outside = {{"head", "classifier"}},
      .skipped = {"pooler.dense.weight", "pooler.dense.bias"},
  };
}

const Family kVit = vit("vit");

const Family kVitMsn = [] {
  Family family = vit("vit_msn");
  family.set({{"layer_norm_eps"}, slot::norm_eps, 1e-6});
  family.skipped = {"embeddings.mask_token"};
  return family;
}();

Status read_classes(const CheckpointFiles& checkpoint, const std::string& head, transformer::Spec& spec) {
  LOCUS_TRY(const Config labels, group(checkpoint.config, "id2label"));
  const auto named = static_cast<std::int64_t>(labels.names().size());
  const formats::TensorInfo* const tensor = head.empty() ? nullptr : checkpoint.find(head);
  spec.head = head.empty() || tensor != nullptr;
  const bool shaped = tensor != nullptr && tensor->shape.size() == 2;
  LOCUS_TRY(spec.vocabulary, checkpoint.config.integer("num_labels", shaped      ? tensor->shape[0]
                                                                     : named > 0 ? named
                                                                                 : 2));
  return {};
}

void fix_vit(Draft& draft) {
  draft.spec.image.patch = 1;
  draft.spec.image.rows = draft.spec.image.columns = 1;
  draft.spec.norm = transformer::Norm::kLayer;
  draft.spec.causal = draft.spec.tied_head = false;
  draft.spec.head_bias = true;
  draft.layer.feed_forward.gated = false;
  draft.layer.feed_forward.bias = draft.layer.attention.output_bias = true;
}

Status shape_grid(transformer::Spec& spec, const Config& config) {
  LOCUS_TRY(const std::int64_t size, config.integer("image_size", 224));
  return shape_grid(spec, size, config);
}

Status shape_grid(transformer::Spec& spec, std::int64_t image_size, const Config& config) {
  if (spec.image.patch < 1 || image_size < spec.image.patch) {
    return bad_input("expected an image of at least one patch, found image size " + std::to_string(image_size) +
                         " and patch size " + std::to_string(spec.image.patch),
                     config.file());
  }
  constexpr std::int64_t kLargest = std::int64_t{1} << 24;
  if (image_size > kLargest) {
    return bad_input("expected an image of at most " + std::to_string(kLargest) + " pixels a side, found image size " +
                         std::to_string(image_size),
                     config.file());
  }
  spec.image.rows = spec.image.columns = image_size / spec.image.patch;
  spec.trained_length = 1 + spec.image.rows * spec.image.columns;
  return {};
}

void keep_table(transformer::Spec& spec) {
  spec.encodings.front().options.set("beyond", std::string("error"));
}

void learned_grid(transformer::Spec& spec) {
  spec.encodings = {{"learned",
                     {{"class_rows", spec.image.class_tokens},
                      {"grid_rows", spec.image.rows},
                      {"grid_columns", spec.image.columns},
                      {"beyond", std::string("interpolate")}}}};
}

}  // namespace locus::families

// The image towers of CLIP and SigLIP, and of Chinese-CLIP and MetaCLIP 2, which are CLIP's: alone, or as the
// vision_model part of a file with both towers. The output is every token's state after the last norm, except for
// SigLIP's classifiers; of Chinese-CLIP and MetaCLIP 2 it is the state before that norm, as in transformers 5.
#include <cmath>

#include "core/base/shown.h"
#include "models/families/engine/computed.h"
#include "models/families/engine/slots.h"
#include "models/families/list.h"

namespace locus::families {

namespace {

Family tower(std::string_view name) {
  using namespace slot;
  return {
      .name = name,
      .fields = {{{"hidden_size"}, width, std::int64_t{768}},
                 {{"num_hidden_layers"}, layers, std::int64_t{12}},
                 {{"num_attention_heads"}, heads, std::int64_t{12}},
                 {{"intermediate_size"}, inner, std::int64_t{3072}},
                 {{"num_channels"}, channels, std::int64_t{3}}},
      .prefixes = {"vision_model.", "module.vision_model.", ""},  // transformers 5 writes a tower without one
      .anchor = "embeddings.patch_embedding.weight",
      .names = {{"patch", "embeddings.patch_embedding"},
                {"class_token", "embeddings.class_embedding"},
                {"position.position_embedding", "embeddings.position_embedding.weight"},
                {"embedding_norm", "pre_layrnorm"},
                {"layers.N.attention_norm", "encoder.layers.N.layer_norm1"},
                {"layers.N.attention.{query,key,value,output}", "encoder.layers.N.self_attn.{q,k,v,out}_proj"},
                {"layers.N.feed_forward_norm", "encoder.layers.N.layer_norm2"},
                {"layers.N.feed_forward.{up,down}", "encoder.layers.N.mlp.fc{1,2}"},
                {"final_norm", "post_layernorm"}},
      .outside = {{"head", "classifier"}},
      .skipped = {"position_ids", "logit_scale", "logit_bias", "visual_projection.weight", "text_projection.weight",
                  "text_model.*", "vision_model.head.*", "head.*"},
  };
}

void fix_tower(Draft& draft) {
  fix_vit(draft);
  draft.layer.attention.set_qkv_bias(true);
}

Status finish_clip(const CheckpointFiles& checkpoint, Plan& plan) {
  LOCUS_CHECK(shape_grid(plan.spec, checkpoint.config));
  plan.spec.head = false;
  // transformers 5 writes a single tower without a prefix; its class normalises only the pooled class token and returns
  // the states before that norm.
  if (checkpoint.find("embeddings.patch_embedding.weight") != nullptr) {
    leave_out_last_norm(plan);
  }
  learned_grid(plan.spec);
  return {};
}

Status finish_successor(const CheckpointFiles& checkpoint, Plan& plan) {
  LOCUS_CHECK(finish_clip(checkpoint, plan));
  leave_out_last_norm(plan);
  return {};
}

Status finish_siglip(const CheckpointFiles& checkpoint, Plan& plan) {
  LOCUS_CHECK(shape_grid(plan.spec, checkpoint.config));
  plan.spec.trained_length -= 1;
  plan.spec.pool = transformer::Pool::kAll;
  LOCUS_CHECK(read_classes(checkpoint, "classifier.weight", plan.spec));
  learned_grid(plan.spec);
  return {};
}

Family clip(std::string_view name = "clip_vision_model") {
  Family family = tower(name);
  family.fixed = [](Draft& draft) {
    fix_tower(draft);
    draft.spec.image.patch_bias = false;
    draft.spec.embedding_norm = true;
  };
  family.set({{"layer_norm_eps"}, slot::norm_eps, 1e-5});
  family.set({{"hidden_act"}, slot::activation, "quick_gelu"});
  family.set({{"patch_size"}, slot::patch, std::int64_t{32}});
  family.finish = finish_clip;
  return family;
}

// A tower of the same fields and names (Chinese-CLIP, MetaCLIP 2).
Family clip_successor(std::string_view name) {
  Family family = clip(name);
  family.finish = finish_successor;
  return family;
}

Family siglip() {
  Family family = tower("siglip_vision_model");
  family.fixed = [](Draft& draft) {
    fix_tower(draft);
    draft.spec.image.class_tokens = 0;
    draft.spec.pool = transformer::Pool::kAll;
  };
  family.set({{"layer_norm_eps"}, slot::norm_eps, 1e-6});
  family.set({{"hidden_act"}, slot::activation, "gelu_pytorch_tanh"});
  family.set({{"patch_size"}, slot::patch, std::int64_t{16}});
  family.finish = finish_siglip;
  return family;
}

// SigLIP 2 of any size (NaFlex): the file has a matrix of patches instead of a convolution.
Status finish_siglip2(const CheckpointFiles& checkpoint, const std::vector<std::string_view>& prefixes, Plan& plan) {
  const Config& config = checkpoint.config;
  transformer::ImageStem& image = plan.spec.image;
  LOCUS_TRY(const std::int64_t patches, integer_or(config, "num_patches", 256));
  image.rows = image.columns = std::llround(std::sqrt(static_cast<double>(patches)));
  if (image.rows * image.rows != patches) {
    return unsupported("expected the patches of a square, found " + std::to_string(patches),
                       config.context("num_patches"));
  }
  plan.spec.trained_length = patches;
  LOCUS_CHECK(read_classes(checkpoint, "classifier.weight", plan.spec));
  learned_grid(plan.spec);
  plan.spec.encodings.front().options.set("resample", std::string("bilinear-antialias"));
  if (checkpoint.tensors == nullptr) {
    return {};
  }
  const std::string own = checkpoint.prefix_of(prefixes, std::string(tower("").anchor)) + "embeddings.patch_embedding.";
  return compute_kernel(checkpoint, {own + "kernel", own + "weight", image.patch, image.channels}, plan);
}

Family siglip2(std::string_view name, const std::vector<std::string_view>& prefixes) {
  Family family = siglip();
  family.name = name;
  family.prefixes = prefixes;
  std::erase_if(family.names, [](const Name& row) { return row.parameter == "patch"; });
  family.names.push_back({"patch.weight", "embeddings.patch_embedding.kernel"});
  family.names.push_back({"patch.bias", "embeddings.patch_embedding.bias"});
  family.skipped.emplace_back("embeddings.patch_embedding.weight");
  family.finish = [prefixes](const CheckpointFiles& checkpoint, Plan& plan) {
    return finish_siglip2(checkpoint, prefixes, plan);
  };
  return family;
}

Result<Plan> read_both(const CheckpointFiles& checkpoint) {
  return read_picture_half(model_type(checkpoint) == "clip" ? clip() : siglip(), checkpoint);
}

Result<Plan> read_siglip2(const CheckpointFiles& checkpoint) {
  return read_picture_half(kSiglip2Vision, checkpoint);
}

// transformers lets vision_config_dict, where it is an object, replace vision_config.
Result<Plan> read_successor(const CheckpointFiles& checkpoint) {
  LOCUS_CHECK(check_fixed_fields(checkpoint.config, {{"vision_config_dict"}}));
  return read_picture_half(model_type(checkpoint) == "chinese_clip" ? kChineseClipVision : kMetaClip2Vision,
                           checkpoint);
}

// The same with a prefix of another file.
Family nested(Family family) {
  family.anchor = "vision_model.embeddings.patch_embedding.weight";
  for (Name& row : family.names) {
    row.tensor = "vision_model." + row.tensor;
  }
  family.outside = {};
  return family;
}

}  // namespace

Result<Plan> read_picture_half(const Family& tower, const CheckpointFiles& checkpoint) {
  CheckpointFiles inner = checkpoint;
  LOCUS_TRY(inner.config, group(checkpoint.config, "vision_config"));
  return read_table(tower, inner, inner.config);
}

Family clip_vision(std::string_view name) {
  return clip(name);
}
void leave_out_last_norm(Plan& plan) {
  plan.spec.final_norm = false;
  plan.skipped.insert(plan.skipped.end(), {"post_layernorm.weight", "post_layernorm.bias"});
}
Family clip_tower() {
  return nested(clip());
}
Family siglip_tower() {
  return nested(siglip());
}
Family plain_siglip_tower() {
  Family family = siglip();
  family.outside = {};
  return family;
}

Result<Family> tower_of_type(const Config& vision, std::string_view type, Family (*tower)()) {
  const std::string found = text_or_nothing(vision, "model_type");
  return found == type
             ? Result<Family>(tower())
             : unsupported("expected " + std::string(type) + ", found " + shown(found), vision.context("model_type"));
}

Result<Family> siglip_tower_of(const Config& vision) {
  return tower_of_type(vision, "siglip_vision_model", siglip_tower);
}
Family siglip2_tower(const std::vector<std::string_view>& prefixes) {
  Family family = siglip2("siglip2_vision_model", prefixes);
  family.outside = {};
  return family;
}

const Family kClipVision = clip();
const Family kSiglipVision = siglip();
const Family kChineseClipVision = clip_successor("chinese_clip_vision_model");
const Family kMetaClip2Vision = clip_successor("metaclip_2_vision_model");
const Family kClip{.name = "clip", .read = read_both, .harmless = {"text_config"}};
const Family kChineseClip{
    .name = "chinese_clip", .read = read_successor, .harmless = {"text_config", "text_config_dict"}};
const Family kMetaClip2{.name = "metaclip_2", .read = read_successor, .harmless = {"text_config", "text_config_dict"}};
const Family kSiglip2Vision = siglip2("siglip2_vision_model", tower("").prefixes);
const Family kSiglip2{.name = "siglip2", .read = read_siglip2, .harmless = {"text_config"}};
const Family kSiglip{.name = "siglip", .read = read_both, .harmless = {"text_config"}};

}  // namespace locus::families

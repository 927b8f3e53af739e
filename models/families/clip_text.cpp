// The text towers of CLIP (causal) and SigLIP (bidirectional), alone in a file: pre-norm, learned positions, no output
// head; the outcome is every token's state after the last norm. The same as the text half of a folder with both towers,
// of Chinese-CLIP (BERT without a head) and MetaCLIP 2 too.
#include "core/base/shown.h"
#include "models/families/engine/heads.h"
#include "models/families/engine/slots.h"
#include "models/families/list.h"

namespace locus::families {

namespace {

Status finish_text_tower(const CheckpointFiles& /*checkpoint*/, Plan& plan) {
  plan.spec.encodings = {{"learned", {{"length", plan.spec.trained_length}}}};
  plan.spec.head = false;
  return {};
}

void fix_text_tower(Draft& draft) {
  draft.spec.norm = transformer::Norm::kLayer;
  draft.layer.feed_forward.gated = false;
  draft.attention_bias = draft.layer.feed_forward.bias = true;
}

Family clip_text() {
  using namespace slot;
  return {
      .name = "clip_text_model",
      .fixed = fix_text_tower,
      .fields = {{{"vocab_size"}, vocabulary, std::int64_t{49408}},
                 {{"hidden_size"}, width, std::int64_t{512}},
                 {{"num_hidden_layers"}, layers, std::int64_t{12}},
                 {{"num_attention_heads"}, heads, std::int64_t{8}},
                 {{"intermediate_size"}, inner, std::int64_t{2048}},
                 {{"layer_norm_eps"}, norm_eps, 1e-5},
                 {{"hidden_act"}, activation, "quick_gelu"},
                 {{"max_position_embeddings"}, trained_length, std::int64_t{77}}},
      .finish = finish_text_tower,
      .prefixes = {"text_model.", "", "module.text_model."},
      .anchor = "embeddings.token_embedding.weight",
      .names = {{"embedding.weight", "embeddings.token_embedding.weight"},
                {"position.position_embedding", "embeddings.position_embedding.weight"},
                {"layers.N.attention_norm", "encoder.layers.N.layer_norm1"},
                {"layers.N.attention.{query,key,value,output}", "encoder.layers.N.self_attn.{q,k,v,out}_proj"},
                {"layers.N.feed_forward_norm", "encoder.layers.N.layer_norm2"},
                {"layers.N.feed_forward.{up,down}", "encoder.layers.N.mlp.fc{1,2}"},
                {"final_norm", "final_layer_norm"}},
      .skipped = {"position_ids", "text_projection.weight"},
  };
}

}  // namespace

const Family kClipText = clip_text();

const Family kSiglipText = [] {
  using namespace slot;
  Family family = clip_text();
  family.name = "siglip_text_model";
  family.fixed = [](Draft& draft) {
    fix_text_tower(draft);
    draft.spec.causal = false;
  };
  family.set({{"vocab_size"}, vocabulary, std::int64_t{32000}});
  family.set({{"hidden_size"}, width, std::int64_t{768}});
  family.set({{"num_attention_heads"}, heads, std::int64_t{12}});
  family.set({{"intermediate_size"}, inner, std::int64_t{3072}});
  family.set({{"layer_norm_eps"}, norm_eps, 1e-6});
  family.set({{"hidden_act"}, activation, "gelu_pytorch_tanh"});
  family.set({{"max_position_embeddings"}, trained_length, std::int64_t{64}});
  // The projection of the last token, which no other state takes part in.
  family.skipped = {"position_ids", "text_model.head.*", "head.*"};
  family.harmless = {"projection_size"};
  return family;
}();

namespace {

// Tensors of a file with both halves that its text does not read; the last steps to a vector are read apart.
const std::vector<std::string> kBesideText{"position_ids",        "vision_model.*",           "logit_scale",
                                           "logit_bias",          "visual_projection.weight", "text_projection.weight",
                                           "text_model.pooler.*", "text_model.head.*"};

Result<Plan> read_text(Family tower, const CheckpointFiles& checkpoint) {
  CheckpointFiles inner = checkpoint;
  LOCUS_TRY(inner.config, group(checkpoint.config, "text_config"));
  tower.prefixes = {"text_model."};
  tower.skipped = kBesideText;
  LOCUS_TRY(Plan plan, read_table(tower, inner, inner.config));
  leave_out_head(checkpoint, plan);
  return plan;
}

Result<Plan> read_clip_text(const CheckpointFiles& checkpoint) {
  return read_text(kClipText, checkpoint);
}

// transformers lets text_config_dict, where it is an object, replace text_config.
Result<Plan> read_metaclip_text(const CheckpointFiles& checkpoint) {
  LOCUS_CHECK(check_fixed_fields(checkpoint.config, {{"text_config_dict"}}));
  return read_text(kClipText, checkpoint);
}

Result<Plan> read_siglip_text(const CheckpointFiles& checkpoint) {
  Family tower = kSiglipText;
  tower.harmless = {};
  return read_text(tower, checkpoint);
}

Result<Plan> read_chinese_text(const CheckpointFiles& checkpoint) {
  LOCUS_CHECK(check_fixed_fields(checkpoint.config, {{"text_config_dict"}}));
  Family tower = bert("chinese_clip_text_model");
  tower.outside = {};
  return read_text(tower, checkpoint);
}

const std::vector<Family>& text_halves() {
  const auto half = [](std::string_view name, Result<Plan> (*read)(const CheckpointFiles&)) {
    return Family{
        .name = name, .read = read, .harmless = {"vision_config", "vision_config_dict", "text_config.projection_size"}};
  };
  static const std::vector<Family> kHalves{half("clip", read_clip_text), half("metaclip_2", read_metaclip_text),
                                           half("siglip", read_siglip_text), half("siglip2", read_siglip_text),
                                           half("chinese_clip", read_chinese_text)};
  return kHalves;
}

}  // namespace

bool has_two_halves(const CheckpointFiles& checkpoint) {
  return text_half_of(checkpoint).ok();
}

Result<const Family*> text_half_of(const CheckpointFiles& checkpoint) {
  for (const Family& half : text_halves()) {
    if (model_type(checkpoint) == half.name) {
      return &half;
    }
  }
  return unsupported(
      "text half: expected clip, metaclip_2, siglip, siglip2 or chinese_clip, found " + shown(model_type(checkpoint)),
      checkpoint.config.file().empty() ? checkpoint.path.string() : checkpoint.config.context("model_type"));
}

}  // namespace locus::families

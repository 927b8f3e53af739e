// The text of Molmo 2: Llama with norms of queries and keys, before or behind its branches, and further words in a
// tensor of their own.
#include <algorithm>

#include "core/base/shown.h"
#include "models/families/engine/computed.h"
#include "models/families/engine/slots.h"
#include "models/families/list.h"

namespace locus::families {

namespace {

const std::vector<std::string_view> kMolmoPrefixes{"", "model.", "model.transformer."};

// rope_scaling_layers names the layers whose rotation is scaled; in the others it has the base alone.
Status set_rotations(const Config& config, Plan& plan) {
  LOCUS_CHECK(set_rope(config, plan));
  if (!config.has("rope_scaling_layers")) {
    return {};
  }
  LOCUS_TRY(const std::vector<std::int64_t> scaled, config.integers("rope_scaling_layers"));
  LOCUS_TRY(const Config block, rope_block(config));
  LOCUS_TRY(const double outer, config.number("rope_theta", 10000.0));
  LOCUS_TRY(const double base, block.number("rope_theta", outer));
  plan.spec.encodings.push_back({"rope", {{"base", base}}});
  const auto plain = static_cast<std::int64_t>(plan.spec.encodings.size()) - 1;
  plan.spec.each([&](std::int64_t n, transformer::LayerSpec& layer) {
    layer.encoding = std::count(scaled.begin(), scaled.end(), n) > 0 ? layer.encoding : plain;
  });
  return {};
}

Status finish_molmo2(const CheckpointFiles& checkpoint, Plan& plan) {
  using transformer::NormPlace;
  using transformer::QueryNormForm;
  const Config& config = checkpoint.config;
  LOCUS_CHECK(set_rotations(config, plan));
  LOCUS_TRY(const std::int64_t further, integer_or(config, "additional_vocab_size", 128, 0));
  plan.spec.vocabulary += further;
  LOCUS_TRY(const std::string kind, config.text("qk_norm_type", "qwen3"));
  if (kind != "qwen3" && kind != "olmo") {
    return unsupported("expected qwen3 or olmo, found " + shown(kind), config.context("qk_norm_type"));
  }
  LOCUS_TRY(const bool behind, config.boolean("norm_after", false));
  plan.spec.each([&](std::int64_t, transformer::LayerSpec& layer) {
    layer.attention.norm.form = kind == "olmo" ? QueryNormForm::kWhole : QueryNormForm::kHead;
    layer.attention_norm = layer.feed_forward_norm = behind ? NormPlace::kAfter : NormPlace::kPre;
    layer.attention.output_bias = false;
  });
  if (checkpoint.tensors == nullptr) {
    return {};
  }
  const std::string words = checkpoint.prefix_of(kMolmoPrefixes, "wte.embedding") + "wte.";
  return compute_rows(checkpoint, {{words + "all", {{words + "embedding"}, {words + "new_embedding"}}}}, plan);
}

}  // namespace

const Family kMolmo2 = [] {
  Family family = llama("molmo2_text");
  family.fixed = [](Draft& draft) {
    draft.layer.attention.qkv = transformer::QkvLayout::kFused;
    draft.spec.head = false;
  };
  family.finish = finish_molmo2;
  family.prefixes = kMolmoPrefixes;
  family.anchor = "wte.embedding";
  family.names = {{"embedding.weight", "wte.all"},
                  {"layers.N.attention.qkv", "layers.N.self_attn.att_proj"},
                  {"layers.N.attention.{query,key}_norm", "layers.N.self_attn.{q,k}_norm"},
                  {"layers.N.attention.output", "layers.N.self_attn.attn_out"},
                  {"layers.N.feed_forward.up.weight", "layers.N.mlp.ff_proj.weight", {}, {.index = 0, .of = 2}},
                  {"layers.N.feed_forward.gate.weight", "layers.N.mlp.ff_proj.weight", {}, {.index = 1, .of = 2}},
                  {"layers.N.feed_forward.down", "layers.N.mlp.ff_out"},
                  {"layers.N.{attention,feed_forward}_norm", "layers.N.{attn,ff}_norm"},
                  {"layers.N.{attention,feed_forward}_after_norm", "layers.N.{attn,ff}_norm"},
                  {"final_norm", "norm"}};
  family.skipped.insert(family.skipped.end(), {"wte.embedding", "wte.new_embedding"});
  return family;
}();

}  // namespace locus::families

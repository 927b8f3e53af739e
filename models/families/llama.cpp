// Llama: `model.layers.N.self_attn.…`, RMSNorm, SwiGLU, half-rotate RoPE, grouped key heads.
#include "models/families/list.h"

#include "core/base/numbers.h"

#include "core/base/shown.h"
#include "models/families/engine/slots.h"

namespace locus::families {

namespace {

bool write_rope(const transformer::Spec& spec, Settings& fields) {
  const Result<double> base = spec.encodings.front().options.number("base", 10000.0);
  if (spec.encodings.size() != 1 || spec.encodings.front().name != "rope" || !base.ok()) {
    return false;
  }
  fields.set("rope_theta", *base);
  return true;
}

// RoPE whose slowest pairs are clipped (arXiv:2602.05258, which calls itself CoPE): the published code says so by two
// flags, and how many pairs in itself.
Status clip(const Config& config, Plan& plan) {
  constexpr std::int64_t kClippedPairs = 20;
  LOCUS_TRY(const bool soft, config.boolean("use_cope", false));
  LOCUS_TRY(const bool hard, config.boolean("use_hardclip", false));
  if (!soft && !hard) {
    return {};
  }
  if (soft && hard) {
    return unsupported("expected use_cope or use_hardclip, found both", config.file());
  }
  Settings& options = plan.spec.encodings.front().options;
  LOCUS_TRY(const std::string scaling, options.text("scaling", "none"));
  if (scaling != "none") {
    return unsupported("expected no scaling of RoPE beside clipped pairs, found " + shown(scaling),
                       config.context(soft ? "use_cope" : "use_hardclip"));
  }
  options.set("scaling", std::string("clipped"));
  options.set("clip_pairs", kClippedPairs);
  options.set("clip", std::string(soft ? "soft" : "hard"));
  return {};
}

}  // namespace

Status finish_llama(const CheckpointFiles& checkpoint, Plan& plan) {
  // Llamas of TAPE's authors have this field for other encodings too; plain ones have rope.
  const std::string encoding = text_or_nothing(checkpoint.config, "rpe_type");
  if (!encoding.empty() && encoding != "rope") {
    return unsupported("field rpe_type: expected rope or one of TAPE's, found " + shown(encoding),
                       checkpoint.config.file());
  }
  LOCUS_CHECK(set_rope(checkpoint.config, plan));
  return clip(checkpoint.config, plan);
}

Family llama(std::string_view name) {
  using namespace slot;
  return {
      .name = name,
      .fields = {{{"vocab_size"}, vocabulary},
                 {{"hidden_size"}, width},
                 {{"num_hidden_layers"}, layers},
                 {{"num_attention_heads"}, heads},
                 {{"intermediate_size"}, inner},
                 {{"rms_norm_eps"}, norm_eps, 1e-6},
                 {{"hidden_act"}, activation, "silu"},
                 {{"num_key_value_heads"}, kv_heads, kFollows},
                 {{"tie_word_embeddings"}, tied, false},
                 {{"max_position_embeddings"}, trained_length, std::int64_t{0}},
                 {{"attention_bias"}, attention_bias, false},
                 {{"mlp_bias"}, feed_forward_bias, false},
                 {{"head_dim"}, head_width, kFollows}},
      .finish = finish_llama,
      .prefixes = {"model.", "", "module.model."},
      .anchor = "embed_tokens.weight",
      .names = {{"embedding.weight", "embed_tokens.weight"},
                {"layers.N.attention_norm", "layers.N.input_layernorm"},
                {"layers.N.attention.{query,key,value,output}", "layers.N.self_attn.{q,k,v,o}_proj"},
                {"layers.N.feed_forward_norm", "layers.N.post_attention_layernorm"},
                {"layers.N.feed_forward.{gate,up,down}", "layers.N.mlp.{gate,up,down}_proj"},
                {"final_norm", "norm"}},
      .outside = {{"head", "lm_head"}},
      .skipped = {"rotary_emb.inv_freq", "lm_head.weight"},
  };
}

const Family kLlama = [] {
  Family family = llama("llama");
  family.write_encoding = write_rope;
  family.architecture = "LlamaForCausalLM";
  return family;
}();

}  // namespace locus::families

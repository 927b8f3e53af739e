// ModernBERT: bidirectional, symmetric windows with another rotary base in two of three layers, GeGLU, few biases.
// NomicBERT: BERT's norms with RoPE and a gated feed-forward.
#include <utility>
#include "core/base/shown.h"

#include "models/families/engine/rope.h"
#include "models/families/engine/slots.h"
#include "models/families/list.h"

namespace locus::families {

namespace {

using transformer::NormPlace;

// Global layers have one rotary base, local ones another.
Result<std::vector<transformer::EncodingSpec>> modernbert_encodings(const Config& config) {
  LOCUS_TRY(const Config scaling, group(config, "rope_scaling"));
  LOCUS_TRY(const Config full, group(config, "rope_parameters.full_attention"));
  LOCUS_TRY(const Config sliding, group(config, "rope_parameters.sliding_attention"));
  LOCUS_TRY(const double global, config.number("global_rope_theta", 160000.0));
  LOCUS_TRY(const double everywhere, config.number("rope_parameters.full_attention.rope_theta", global));
  const double usual = config.has_null("local_rope_theta") ? everywhere : 10000.0;
  LOCUS_TRY(const double local, config.number("local_rope_theta", usual));
  LOCUS_TRY(const double near, config.number("rope_parameters.sliding_attention.rope_theta", local));
  const bool scaled = !scaling.names().empty();  // applies to both and takes precedence
  LOCUS_TRY(Settings far_options, rope_options(config, scaled ? scaling : full, everywhere));
  LOCUS_TRY(Settings near_options, rope_options(config, scaled ? scaling : sliding, near));
  return std::vector<transformer::EncodingSpec>{{"rope", std::move(far_options)}, {"rope", std::move(near_options)}};
}

Status finish_modernbert(const CheckpointFiles& checkpoint, Plan& plan) {
  const Config& config = checkpoint.config;
  LOCUS_TRY(const std::int64_t every, integer_or(config, "global_attn_every_n_layers", 3));
  LOCUS_TRY(const std::int64_t wide, integer_or(config, "local_attention", 128));
  LOCUS_TRY(const std::int64_t half, integer_or(config, "sliding_window", wide / 2));
  LOCUS_TRY(plan.spec.norm_bias, config.boolean("norm_bias", false));
  LOCUS_TRY(plan.spec.head_transform_bias, config.boolean("classifier_bias", false));
  LOCUS_TRY(plan.spec.head_bias, config.boolean("decoder_bias", true));
  LOCUS_TRY(plan.spec.encodings, modernbert_encodings(config));
  LOCUS_TRY(const std::string activation, config.text("hidden_activation", "gelu"));
  LOCUS_CHECK(check_fixed_fields(
      config, {{"classifier_activation", {activation.c_str()}}}));  // the activation of the head's transform
  // i − j| ≤ half of the window: half of it to each side, plus the token itself.
  LOCUS_CHECK(set_windows(config, plan.spec, half + 1, [&](std::int64_t n) { return n % every != 0; }));
  plan.spec.each([](std::int64_t n, transformer::LayerSpec& layer) {
    layer.encoding = layer.attention.window > 0 ? 1 : 0;
    layer.attention_norm = n == 0 ? NormPlace::kNone : NormPlace::kPre;  // the norm of the embedding takes its place
  });
  return {};
}

// Checks the fields that transformers 5 writes: a gated feed-forward, RoPE of whole heads, biases only in the head.
Status finish_nomic_v5(const CheckpointFiles& checkpoint, Plan& plan) {
  const Config& config = checkpoint.config;
  LOCUS_TRY(const std::string named, config.text("hidden_act", "silu"));
  LOCUS_TRY(const transformer::Activation activation,
            within(transformer::parse_activation(named), config.context("hidden_act")));
  LOCUS_CHECK(set_rope(config, plan, 1000.0));
  plan.spec.head_transform_bias = plan.spec.head_bias = true;
  plan.spec.each([&](std::int64_t, transformer::LayerSpec& layer) {
    layer.attention.set_qkv_bias(false);
    layer.attention.output_bias = layer.feed_forward.bias = false;
    layer.feed_forward.activation = activation;
  });
  return {};
}

Status finish_nomic(const CheckpointFiles& checkpoint, Plan& plan) {
  const Config& config = checkpoint.config;
  if (!config.has("n_embd")) {
    return finish_nomic_v5(checkpoint, plan);
  }
  LOCUS_CHECK(check_fixed_fields(config, {{"rope_scaling"}}));
  LOCUS_TRY(const bool prenorm, config.boolean("prenorm", false));
  LOCUS_TRY(const double fraction, config.number("rotary_emb_fraction", 0.0));
  LOCUS_TRY(const bool interleaved, config.boolean("rotary_emb_interleaved", false));
  LOCUS_TRY(const double base, config.number("rotary_emb_base", 10000.0));
  LOCUS_TRY(const std::string activation, config.text("activation_function", "gelu_new"));
  LOCUS_TRY(const bool bias, config.boolean("mlp_fc1_bias", true));
  LOCUS_TRY(const bool down_bias, config.boolean("mlp_fc2_bias", true));
  if (prenorm || !(fraction > 0) || activation != "swiglu" || bias != down_bias) {
    return unsupported(
        "expected post-norm, a rotary_emb_fraction above 0, swiglu, and biases in both or none of fc1 and "
        "fc2, found " +
            shown(activation),
        config.file());
  }
  plan.spec.encodings = {
      {"rope",
       {{"base", base}, {"fraction", fraction}, {"layout", std::string(interleaved ? "interleaved" : "half")}}}};
  plan.spec.head_transform_bias = plan.spec.head_bias = bias;
  plan.spec.each([&](std::int64_t, transformer::LayerSpec& layer) { layer.feed_forward.bias = bias; });
  return {};
}

}  // namespace

const Family kModernbert = [] {
  using namespace slot;
  return Family{
      .name = "modernbert",
      .fixed =
          [](Draft& draft) {
            draft.spec.norm = transformer::Norm::kLayer;
            draft.spec.causal = false;
            draft.spec.embedding_norm = draft.spec.head_transform = true;
            draft.layer.attention.qkv = transformer::QkvLayout::kFused;
          },
      .fields = {{{"vocab_size"}, vocabulary},
                 {{"hidden_size"}, width},
                 {{"num_hidden_layers"}, layers},
                 {{"num_attention_heads"}, heads},
                 {{"intermediate_size"}, inner},
                 {{"norm_eps"}, norm_eps, 1e-5},
                 {{"hidden_activation"}, activation, "gelu"},
                 {{"attention_bias"}, attention_bias, false},
                 {{"mlp_bias"}, feed_forward_bias, false},
                 {{"max_position_embeddings"}, trained_length, std::int64_t{8192}},
                 {{"tie_word_embeddings"}, tied, true}},
      .finish = finish_modernbert,
      .prefixes = {"model.", "", "module.model."},
      .anchor = "embeddings.tok_embeddings.weight",
      .names = {{"embedding.weight", "embeddings.tok_embeddings.weight"},
                {"embedding_norm", "embeddings.norm"},
                {"layers.N.attention_norm", "layers.N.attn_norm"},
                {"layers.N.attention.qkv", "layers.N.attn.Wqkv"},
                {"layers.N.attention.output", "layers.N.attn.Wo"},
                {"layers.N.feed_forward_norm", "layers.N.mlp_norm"},
                {"layers.N.feed_forward.gate", "layers.N.mlp.Wi", Layout::kAsIs, {0, 2}},
                {"layers.N.feed_forward.up", "layers.N.mlp.Wi", Layout::kAsIs, {1, 2}},
                {"layers.N.feed_forward.down", "layers.N.mlp.Wo"},
                {"final_norm", "final_norm"}},
      .outside = {{"head_transform", "head.dense"}, {"head_norm", "head.norm"}, {"head", "decoder"}},
      .skipped = {"decoder.weight"},
      .harmless = {"position_embedding_type", "repad_logits_with_grad"},
  };
}();

const Family kNomicBert = [] {
  using namespace slot;
  Family family = bert("nomic_bert");
  family.fixed = [](Draft& draft) {
    draft.spec.norm = transformer::Norm::kLayer;
    draft.spec.causal = draft.spec.final_norm = false;
    draft.spec.embedding_norm = draft.spec.head_transform = true;
    draft.layer.attention_norm = draft.layer.feed_forward_norm = NormPlace::kPost;
    draft.layer.attention.qkv = transformer::QkvLayout::kFused;
  };
  family.fields = {{{"vocab_size"}, vocabulary},
                   {{"n_embd", "hidden_size"}, width},
                   {{"n_layer", "num_hidden_layers"}, layers},
                   {{"n_head", "num_attention_heads"}, heads},
                   {{"n_inner", "intermediate_size"}, inner, kFollows},
                   {{"layer_norm_epsilon", "layer_norm_eps"}, norm_eps, 1e-5},
                   {{"head_dim"}, head_width, kFollows},
                   {{"qkv_proj_bias"}, attention_bias, true},
                   {{"type_vocab_size"}, token_types, std::int64_t{2}},
                   {{"n_positions", "max_position_embeddings"}, trained_length, std::int64_t{0}},
                   {{"tie_word_embeddings"}, tied, true}};
  family.finish = finish_nomic;
  family.prefixes = {"bert.", "nomic_bert.", "", "module.bert."};
  family.harmless = {"dense_seq_output", "max_trained_positions", "use_xentropy"};
  family.refused = {"causal",
                    "use_rms_norm",
                    "parallel_block",
                    "parallel_block_tied_norm",
                    "is_decoder",
                    "add_cross_attention",
                    "scale_attn_by_inverse_layer_idx"};
  family.fixed_fields = {{"scale_attn_weights", {true}},
                         {"rotary_emb_scale_base"},
                         {"rotary_scaling_factor"},
                         {"moe_every_n_layers", {0.0}}};
  family.names = {{"embedding.weight", "embeddings.word_embeddings.weight"},
                  {"token_type.weight", "embeddings.token_type_embeddings.weight"},
                  {"embedding_norm", "emb_ln"},
                  {"layers.N.attention.qkv", "encoder.layers.N.attn.Wqkv"},
                  {"layers.N.attention.output", "encoder.layers.N.attn.out_proj"},
                  {"layers.N.attention_norm", "encoder.layers.N.norm1"},
                  {"layers.N.feed_forward.up", "encoder.layers.N.mlp.fc11"},
                  {"layers.N.feed_forward.gate", "encoder.layers.N.mlp.fc12"},
                  {"layers.N.feed_forward.down", "encoder.layers.N.mlp.fc2"},
                  {"layers.N.feed_forward_norm", "encoder.layers.N.norm2"}};
  family.outside = {{"head_transform", "cls.predictions.transform.dense"},
                    {"head_norm", "cls.predictions.transform.layer_norm"},
                    {"head", "cls.predictions.decoder"},
                    {"head.bias", "cls.predictions.bias"}};
  family.skipped = {"cls.predictions.decoder.bias", "cls.predictions.decoder.weight"};
  return family;
}();

}  // namespace locus::families

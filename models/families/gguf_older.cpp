// GGUF architectures that are read, not written: encoders, and decoders whose names are not Llama's.
#include "models/families/gguf_hybrids.h"

namespace locus::families {

namespace {

using OlderStems = GgufStems;

const OlderStems kGpt2Stems{{"attn_norm", "ln_1"}, {"attn_qkv", "attn.c_attn"}, {"attn_output", "attn.c_proj"},
                            {"ffn_norm", "ln_2"},  {"ffn_up", "mlp.c_fc"},      {"ffn_down", "mlp.c_proj"}};
// Matrices are the other way round than in a checkpoint, where their names end otherwise.
const OlderStems kGpt2RowStems{
    {"attn_norm", "ln_1"}, {"attn_qkv", "attn.c_attn_rows"}, {"attn_output", "attn.c_proj_rows"},
    {"ffn_norm", "ln_2"},  {"ffn_up", "mlp.c_fc_rows"},      {"ffn_down", "mlp.c_proj_rows"}};
const OlderStems kNeoxStems{{"attn_norm", "input_layernorm"},   {"attn_qkv", "attention.query_key_value"},
                            {"attn_output", "attention.dense"}, {"ffn_norm", "post_attention_layernorm"},
                            {"ffn_up", "mlp.dense_h_to_4h"},    {"ffn_down", "mlp.dense_4h_to_h"}};
const OlderStems kBloomStems{{"attn_norm", "input_layernorm"},        {"attn_qkv", "self_attention.query_key_value"},
                             {"attn_output", "self_attention.dense"}, {"ffn_norm", "post_attention_layernorm"},
                             {"ffn_up", "mlp.dense_h_to_4h"},         {"ffn_down", "mlp.dense_4h_to_h"}};
// Falcon with one norm in a layer, and with two, of which the second is that of attention.
const OlderStems kFalconStems{{"attn_norm", "input_layernorm"},
                              {"attn_qkv", "self_attention.query_key_value"},
                              {"attn_output", "self_attention.dense"},
                              {"ffn_up", "mlp.dense_h_to_4h"},
                              {"ffn_down", "mlp.dense_4h_to_h"}};
const OlderStems kFalconTwoStems{{"attn_norm", "ln_mlp"},
                                 {"attn_norm_2", "ln_attn"},
                                 {"attn_qkv", "self_attention.query_key_value"},
                                 {"attn_output", "self_attention.dense"},
                                 {"ffn_up", "mlp.dense_h_to_4h"},
                                 {"ffn_down", "mlp.dense_4h_to_h"}};
const OlderStems kModernbertStems{{"attn_norm", "attn_norm"}, {"attn_qkv", "attn.Wqkv"}, {"attn_output", "attn.Wo"},
                                  {"ffn_norm", "mlp_norm"},   {"ffn_up", "mlp.Wi"},      {"ffn_down", "mlp.Wo"}};
const OlderStems kNomicStems{{"attn_qkv", "attn.Wqkv"},     {"attn_output", "attn.out_proj"},
                             {"attn_output_norm", "norm1"}, {"ffn_gate", "mlp.fc12"},
                             {"ffn_up", "mlp.fc11"},        {"ffn_down", "mlp.fc2"},
                             {"layer_output_norm", "norm2"}};
const OlderStems kEmbeddingGemmaStems{{"ffn_norm", "pre_feedforward_layernorm"},
                                      {"post_attention_norm", "post_attention_layernorm"},
                                      {"post_ffw_norm", "post_feedforward_layernorm"}};
const OlderStems kMptStems{{"attn_norm", "norm_1"}, {"attn_qkv", "attn.Wqkv"}, {"attn_output", "attn.out_proj"},
                           {"ffn_norm", "norm_2"},  {"ffn_up", "ffn.up_proj"}, {"ffn_down", "ffn.down_proj"}};
const OlderStems kBertStems{{"attn_q", "attention.self.query"},
                            {"attn_k", "attention.self.key"},
                            {"attn_v", "attention.self.value"},
                            {"attn_output", "attention.output.dense"},
                            {"attn_output_norm", "attention.output.LayerNorm"},
                            {"ffn_up", "intermediate.dense"},
                            {"ffn_down", "output.dense"},
                            {"layer_output_norm", "output.LayerNorm"}};

// Takes fields of Llama away that the family has under another name or not at all.
void move_field(GgufFields& fields, const char* from, const char* to) {
  if (fields.contains(from)) {
    fields[to] = fields[from];
    fields.erase(from);
  }
}
void drop_fields(GgufFields& fields, std::initializer_list<const char*> names) {
  for (const char* const name : names) {
    fields.erase(name);
  }
}

// The families compute the width of feed-forwards.
Status expect_fourfold(const GgufReading& reading, const GgufFields& fields) {
  LOCUS_TRY(const std::int64_t inner, reading.integer("feed_forward_length"));
  if (inner % 4 != 0 || inner / 4 != fields["hidden_size"].get<std::int64_t>()) {
    return unsupported("expected four times the width, found " + std::to_string(inner),
                       reading.context("feed_forward_length"));
  }
  return {};
}

void add_token_types(const GgufReading& reading, GgufFields& fields) {
  const formats::TensorInfo* const types = reading.outside("token_types.weight");
  fields["type_vocab_size"] = types == nullptr || types->shape.empty() ? 0 : types->shape.front();
}

Status refuse_causal(const GgufReading& reading) {
  LOCUS_TRY(const bool causal, reading.boolean("attention.causal", true));
  return causal ? Status(unsupported("expected false, found true", reading.context("attention.causal"))) : Status();
}

Status add_starcoder(const GgufReading& reading, GgufFields& fields) {
  LOCUS_TRY(const std::int64_t key_heads, reading.integer("attention.head_count_kv", 1));
  if (key_heads != 1) {
    return unsupported("expected one key head, found " + std::to_string(key_heads),
                       reading.context("attention.head_count_kv"));
  }
  move_field(fields, "rms_norm_eps", "layer_norm_epsilon");
  move_field(fields, "intermediate_size", "n_inner");
  drop_fields(fields, {"num_key_value_heads", "head_dim"});
  return {};
}

Status add_gpt2(const GgufReading&, GgufFields& fields) {
  move_field(fields, "rms_norm_eps", "layer_norm_epsilon");
  move_field(fields, "intermediate_size", "n_inner");
  drop_fields(fields, {"num_key_value_heads", "head_dim"});
  return {};
}

// Rows are q, k and v, not head by head as in checkpoints.
Status add_neox(const GgufReading& reading, GgufFields& fields) {
  move_field(fields, "rms_norm_eps", "layer_norm_eps");
  LOCUS_TRY(const std::int64_t rotated, reading.integer("rope.dimension_count"));
  fields["rotary_pct"] = static_cast<double>(rotated) / fields["head_dim"].get<double>();
  LOCUS_TRY(fields["rotary_emb_base"], reading.number("rope.freq_base", 10000.0));
  LOCUS_TRY(fields["use_parallel_residual"], reading.boolean("use_parallel_residual", true));
  if (reading.has("rope.scaling.type")) {
    return unsupported("expected RoPE without a scaling, found one", reading.context("rope.scaling.type"));
  }
  fields["fused_qkv"] = true;
  drop_fields(fields, {"num_key_value_heads", "head_dim", "partial_rotary_factor", "rope_theta"});
  return {};
}

Status add_bloom(const GgufReading& reading, GgufFields& fields) {
  LOCUS_CHECK(expect_fourfold(reading, fields));
  move_field(fields, "rms_norm_eps", "layer_norm_epsilon");
  move_field(fields, "max_position_embeddings", "seq_length");
  fields["fused_qkv"] = true;
  drop_fields(fields, {"num_key_value_heads", "head_dim", "intermediate_size"});
  return {};
}

bool has_two_norms(const GgufReading& reading) {
  return reading.first("attn_norm_2.weight") != nullptr;
}

Status add_falcon_decoder(const GgufReading& reading, GgufFields& fields) {
  LOCUS_CHECK(add_gguf_inner_width(reading, fields, "ffn_hidden_size"));
  const bool two = has_two_norms(reading);
  const bool grouped = two || fields["num_key_value_heads"] != 1;
  fields["new_decoder_architecture"] = grouped;
  fields["num_ln_in_parallel_attn"] = two ? 2 : 1;
  fields["multi_query"] = !grouped;
  fields["parallel_attn"] = true;
  fields["bias"] = false;
  fields["fused_qkv"] = true;
  move_field(fields, "num_key_value_heads", "num_kv_heads");
  move_field(fields, "rms_norm_eps", "layer_norm_epsilon");
  LOCUS_TRY(fields["rope_theta"], reading.number("rope.freq_base", 10000.0));
  drop_fields(fields, {"head_dim", "intermediate_size"});
  return {};
}

// The window is that of both sides together; layers without one are every third, the first among them.
Status add_modernbert(const GgufReading& reading, GgufFields& fields) {
  LOCUS_CHECK(refuse_causal(reading));
  move_field(fields, "rms_norm_eps", "norm_eps");
  LOCUS_TRY(fields["hidden_activation"], reading.text("hidden_activation", "gelu"));
  LOCUS_TRY(fields["local_attention"], reading.integer("attention.sliding_window"));
  LOCUS_TRY(fields["global_attn_every_n_layers"], reading.integer("attention.sliding_window_pattern", 3));
  LOCUS_TRY(fields["global_rope_theta"], reading.number("rope.freq_base"));
  LOCUS_TRY(fields["local_rope_theta"], reading.number("rope.freq_base_swa"));
  LOCUS_TRY(const std::string scaling, reading.text("rope.scaling.type", "none"));
  if (scaling != "none") {
    return unsupported("expected none, found another", reading.context("rope.scaling.type"));
  }
  drop_fields(fields, {"num_key_value_heads", "head_dim", "rope_theta"});
  return {};
}

Status add_mpt(const GgufReading& reading, GgufFields& fields) {
  LOCUS_TRY(const double bias, reading.number("attention.max_alibi_bias", 0.0));
  LOCUS_TRY(const double clip, reading.number("attention.clamp_kqv", 0.0));
  constexpr double kPublishedBias = 8;
  if (bias != kPublishedBias) {
    return unsupported("expected 8, found " + std::to_string(bias), reading.context("attention.max_alibi_bias"));
  }
  if (clip != 0) {
    return unsupported("expected queries, keys and values that are not clipped, found " + std::to_string(clip),
                       reading.context("attention.clamp_kqv"));
  }
  LOCUS_CHECK(expect_fourfold(reading, fields));
  move_field(fields, "hidden_size", "d_model");
  move_field(fields, "num_hidden_layers", "n_layers");
  move_field(fields, "num_attention_heads", "n_heads");
  move_field(fields, "rms_norm_eps", "layer_norm_epsilon");
  move_field(fields, "max_position_embeddings", "max_seq_len");
  drop_fields(fields, {"num_key_value_heads", "head_dim", "intermediate_size"});
  return {};
}

// Pooling, and heads of other tasks, are no part of the model here.
Status add_bert(const GgufReading& reading, GgufFields& fields) {
  LOCUS_CHECK(refuse_causal(reading));
  add_token_types(reading, fields);
  move_field(fields, "rms_norm_eps", "layer_norm_eps");
  drop_fields(fields, {"num_key_value_heads", "head_dim", "rope_theta"});
  return {};
}

Status add_nomic_bert(const GgufReading& reading, GgufFields& fields) {
  LOCUS_CHECK(refuse_causal(reading));
  add_token_types(reading, fields);
  fields["hidden_act"] = "silu";
  LOCUS_TRY(fields["rope_theta"], reading.number("rope.freq_base"));
  move_field(fields, "rms_norm_eps", "layer_norm_eps");
  drop_fields(fields, {"num_key_value_heads"});
  return {};
}

// Half of the window is seen to each side; every sixth layer has none.
Status add_embedding_gemma(const GgufReading& reading, GgufFields& fields) {
  fields["use_bidirectional_attention"] = true;
  fields["tie_word_embeddings"] = false;  // files have no head
  fields["query_pre_attn_scalar"] = fields["head_dim"];
  LOCUS_TRY(fields["sliding_window"], reading.integer("attention.sliding_window"));
  LOCUS_TRY(fields["sliding_window_pattern"], reading.integer("attention.sliding_window_pattern", 6));
  LOCUS_TRY(fields["rope_theta"], reading.number("rope.freq_base"));
  LOCUS_TRY(fields["rope_local_base_freq"], reading.number("rope.freq_base_swa", 10000.0));
  return {};
}

Status add_eurobert(const GgufReading& reading, GgufFields& fields) {
  LOCUS_CHECK(refuse_causal(reading));
  LOCUS_TRY(fields["rope_theta"], reading.number("rope.freq_base", 10000.0));
  fields["tie_word_embeddings"] = false;  // files have no head
  return {};
}

}  // namespace

std::vector<GgufHybrid> gguf_older_models() {
  const OlderStems gpt2{
      {"token_embd", "transformer.wte"}, {"position_embd", "transformer.wpe"}, {"output_norm", "transformer.ln_f"}};
  const OlderStems falcon{{"token_embd", "transformer.word_embeddings"}, {"output_norm", "transformer.ln_f"}};
  const OlderStems bert{{"token_embd", "embeddings.word_embeddings"},
                        {"token_types", "embeddings.token_type_embeddings"},
                        {"position_embd", "embeddings.position_embeddings"},
                        {"token_embd_norm", "embeddings.LayerNorm"}};
  return {{{"starcoder", "gpt_bigcode", false, false, kGpt2Stems}, add_starcoder, gpt2, nullptr, "transformer.h."},
          {{"mpt", "mpt", false, false, kMptStems},
           add_mpt,
           {{"token_embd", "transformer.wte"}, {"output_norm", "transformer.norm_f"}},
           nullptr,
           "transformer.blocks."},
          {{"gpt2", "gpt2", false, false, kGpt2RowStems}, add_gpt2, gpt2, nullptr, "transformer.h."},
          {{"gptneox", "gpt_neox", false, false, kNeoxStems},
           add_neox,
           {{"token_embd", "gpt_neox.embed_in"}, {"output_norm", "gpt_neox.final_layer_norm"}, {"output", "embed_out"}},
           nullptr,
           "gpt_neox.layers."},
          {{"bloom", "bloom", false, false, kBloomStems},
           add_bloom,
           {{"token_embd", "transformer.word_embeddings"},
            {"token_embd_norm", "transformer.word_embeddings_layernorm"},
            {"output_norm", "transformer.ln_f"}},
           nullptr,
           "transformer.h."},
          {{"falcon", "falcon", false, false, kFalconTwoStems},
           add_falcon_decoder,
           falcon,
           has_two_norms,
           "transformer.h."},
          {{"falcon", "falcon", false, false, kFalconStems}, add_falcon_decoder, falcon, nullptr, "transformer.h."},
          {{"modern-bert", "modernbert", false, false, kModernbertStems},
           add_modernbert,
           {{"token_embd", "model.embeddings.tok_embeddings"},
            {"token_embd_norm", "model.embeddings.norm"},
            {"output_norm", "model.final_norm"}}},
          {{"bert", "bert", false, false, kBertStems}, add_bert, bert, nullptr, "encoder.layer."},
          {{"nomic-bert", "nomic_bert", false, false, kNomicStems},
           add_nomic_bert,
           {{"token_embd", "embeddings.word_embeddings"},
            {"token_types", "embeddings.token_type_embeddings"},
            {"token_embd_norm", "emb_ln"}},
           nullptr,
           "encoder.layers."},
          {{"gemma-embedding", "gemma3_text", false, true, kEmbeddingGemmaStems}, add_embedding_gemma},
          {{"eurobert", "eurobert", false, false}, add_eurobert}};
}

}  // namespace locus::families

// RoBERTa and XLM-RoBERTa: BERT with positions that start after the padding id's row, with or without a head. ELECTRA:
// BERT with embeddings narrower than its layers; generators have a head, discriminators one score per token, bare
// models no head. DistilBERT: BERT without token types. RoFormer: BERT with rotations instead of a table of positions.
#include "models/families/engine/sines.h"
#include "models/families/engine/slots.h"
#include "models/families/list.h"

namespace locus::families {

Status count_from_padding(const Config& config, std::int64_t usual, Plan& plan) {
  LOCUS_TRY(plan.spec.padding, config.integer("pad_token_id", usual));
  const std::int64_t rows = plan.spec.trained_length;
  if (plan.spec.padding < 0 || plan.spec.padding + 1 >= rows) {
    return bad_input("expected 0 to " + std::to_string(rows - 2) + ", found " + std::to_string(plan.spec.padding),
                     config.context("pad_token_id"));
  }
  plan.spec.trained_length = rows - plan.spec.padding - 1;
  plan.spec.encodings = {{"learned", {{"length", plan.spec.trained_length}, {"class_rows", plan.spec.padding + 1}}}};
  return {};
}

namespace {

Status finish_roberta(const CheckpointFiles& checkpoint, Plan& plan) {
  plan.spec.head_transform_gelu = true;
  return count_from_padding(checkpoint.config, 1, plan);
}

Family roberta(std::string_view name) {
  Family family = bert(name);
  family.finish = finish_roberta;
  family.prefixes = {"roberta.", "", "module.roberta."};
  family.outside = {{"head_transform", "lm_head.dense"},
                    {"head_norm", "lm_head.layer_norm"},
                    {"head.bias", "lm_head.bias"},
                    {"head.weight", "lm_head.decoder.weight"}};
  family.skipped = {"position_ids", "lm_head.decoder.weight", "lm_head.decoder.bias"};
  return family;
}

// The head of a discriminator: no norm, one score instead of words.
void score_tokens(const std::string& prefix, Plan& plan) {
  plan.spec.token_score = true;
  plan.spec.tied_head = plan.spec.head_transform_norm = plan.spec.head_transform_gelu = false;
  std::erase_if(plan.names, [](const Name& row) { return row.parameter.starts_with("head"); });
  plan.name("head_transform", prefix + "dense");
  plan.name("head", prefix + "dense_prediction");
}

Status finish_electra(const CheckpointFiles& checkpoint, Plan& plan) {
  const Config& config = checkpoint.config;
  LOCUS_TRY(const std::int64_t tokens, integer_or(config, "embedding_size", 128));
  plan.spec.embedding_width = tokens == plan.spec.width ? 0 : tokens;
  plan.spec.encodings = {{"learned", {{"length", plan.spec.trained_length}}}};
  plan.spec.head_transform_gelu = true;
  for (const char* const prefix : {"discriminator_predictions.", "module.discriminator_predictions."}) {
    if (checkpoint.find(std::string(prefix) + "dense.weight") != nullptr) {
      score_tokens(prefix, plan);
      return {};
    }
  }
  return {};
}

Status finish_distilbert(const CheckpointFiles& /*checkpoint*/, Plan& plan) {
  plan.spec.norm_eps = 1e-12;  // not in any config
  plan.spec.encodings = {{"learned", {{"length", plan.spec.trained_length}}}};
  return {};
}

// Files store the sines and cosines of the angles.
Status finish_roformer(const CheckpointFiles& checkpoint, Plan& plan) {
  LOCUS_TRY(const std::int64_t tokens, integer_or(checkpoint.config, "embedding_size", plan.spec.width));
  plan.spec.embedding_width = tokens == plan.spec.width ? 0 : tokens;
  plan.spec.encodings = {{"rope", {{"layout", std::string("interleaved")}}}};
  for (const char* const prefix : {"roformer.", ""}) {
    const std::string table = std::string(prefix) + "encoder.embed_positions.weight";
    if (!holds_sines(checkpoint, table)) {
      return unsupported("expected sines and cosines of p·10000^(−2m/D), found other numbers",
                         checkpoint.find(table)->file.string() + ": tensor " + table);
    }
    plan.skipped.push_back(table);
  }
  return {};
}

}  // namespace

const Family kRoberta = roberta("roberta");
const Family kXlmRoberta = roberta("xlm-roberta");

const Family kElectra = [] {
  Family family = bert("electra");
  family.finish = finish_electra;
  family.prefixes = {"electra.", "", "module.electra."};
  family.names.push_back({"embedding_projection", "embeddings_project"});
  family.outside = {{"head_transform", "generator_predictions.dense"},
                    {"head_norm", "generator_predictions.LayerNorm"},
                    {"head.bias", "generator_lm_head.bias"},
                    {"head.weight", "generator_lm_head.weight"}};
  family.skipped = {"position_ids", "generator_lm_head.weight"};
  return family;
}();

const Family kRoformer = [] {
  Family family = bert("roformer");
  family.finish = finish_roformer;
  family.fixed_fields = {{"rotary_value", {false}}};
  family.prefixes = {"roformer.", "", "module.roformer."};
  std::erase_if(family.names, [](const Name& row) { return row.parameter.starts_with("position."); });
  family.names.push_back({"embedding_projection", "embeddings_project"});
  return family;
}();

const Family kDistilbert = [] {
  using namespace slot;
  Family family = bert("distilbert");
  family.finish = finish_distilbert;
  family.harmless = {"sinusoidal_pos_embds"};  // prefixes of earlier versions
  family.fields = {{{"vocab_size"}, vocabulary},
                   {{"dim"}, width},
                   {{"n_layers"}, layers},
                   {{"n_heads"}, heads},
                   {{"hidden_dim"}, inner},
                   {{"activation"}, activation, "gelu"},
                   {{"max_position_embeddings"}, trained_length, std::int64_t{512}},
                   {{"tie_word_embeddings"}, tied, true}};
  family.prefixes = {"distilbert.", "", "module.distilbert."};
  family.names = {{"embedding.weight", "embeddings.word_embeddings.weight"},
                  {"position.position_embedding", "embeddings.position_embeddings.weight"},
                  {"embedding_norm", "embeddings.LayerNorm"},
                  {"layers.N.attention.{query,key,value,output}", "transformer.layer.N.attention.{q,k,v,out}_lin"},
                  {"layers.N.attention_norm", "transformer.layer.N.sa_layer_norm"},
                  {"layers.N.feed_forward.{up,down}", "transformer.layer.N.ffn.lin{1,2}"},
                  {"layers.N.feed_forward_norm", "transformer.layer.N.output_layer_norm"}};
  family.outside = {
      {"head_transform", "vocab_transform"}, {"head_norm", "vocab_layer_norm"}, {"head", "vocab_projector"}};
  family.skipped = {"position_ids", "vocab_projector.weight"};
  return family;
}();

}  // namespace locus::families

// DeBERTa: BERT with logits content-to-content, content-to-position and position-to-content. v1 has one matrix for q, k
// and v, head by head, without a bias for k; the largest models of v2 have a convolution after the first layer.
#include <algorithm>
#include <cmath>

#include "core/base/shown.h"
#include "models/families/engine/slots.h"
#include "models/families/list.h"

namespace locus::families {

namespace {

const std::vector<std::string_view> kDebertaPrefixes{"deberta.", "", "module.deberta."};

// pos_att_type: a list, or "p2c|c2p".
Result<std::vector<std::string>> position_parts(const Config& config) {
  constexpr const char* kField = "pos_att_type";
  std::vector<std::string> parts;
  if (const Result<std::string> text = config.text(kField, ""); text.ok()) {
    for (std::size_t begin = 0; begin < text->size();) {
      const std::size_t end = std::min(text->find('|', begin), text->size());
      parts.push_back(text->substr(begin, end - begin));
      begin = end + 1;
    }
  } else {
    LOCUS_TRY(parts, config.texts(kField));
  }
  for (const std::string& part : parts) {
    if (part != "c2p" && part != "p2c") {
      return unsupported("expected c2p and p2c, found " + shown(part), config.context(kField));
    }
  }
  return parts;
}

Result<Settings> disentangled(const Config& config, const transformer::Spec& spec) {
  LOCUS_TRY(const std::vector<std::string> parts, position_parts(config));
  LOCUS_TRY(const std::int64_t buckets, config.integer("position_buckets", -1));
  LOCUS_TRY(const std::int64_t longest, config.integer("max_relative_positions", -1));
  LOCUS_TRY(const std::string norm, config.text("norm_rel_ebd", "none"));
  const auto has = [&](const char* part) { return std::find(parts.begin(), parts.end(), part) != parts.end(); };
  return Settings{{"buckets", std::max<std::int64_t>(buckets, 0)},
                  {"max_distance", longest < 1 ? spec.trained_length : longest},
                  {"c2p", has("c2p")},
                  {"p2c", has("p2c")},
                  {"norm", norm.find("layer_norm") != std::string::npos},
                  {"norm_eps", spec.norm_eps}};
}

// Fields of checkpoints by other authors that this table does not support.
Status refuse_others(const Config& config, const transformer::Spec& spec) {
  LOCUS_TRY(const bool biased, config.boolean("position_biased_input", true));
  LOCUS_TRY(const bool relative, config.boolean("relative_attention", false));
  LOCUS_TRY(const std::int64_t embedding, config.integer("embedding_size", spec.width));
  const std::int64_t head = spec.first().attention.head_width;
  LOCUS_TRY(const std::int64_t heads_width, config.integer("attention_head_size", head));
  if (heads_width != head) {
    return unsupported(
        "expected hidden_size / num_attention_heads " + std::to_string(head) + ", found " + std::to_string(heads_width),
        config.context("attention_head_size"));
  }
  if (biased == relative) {
    return unsupported("fields relative_attention and position_biased_input: expected one of them true, found both " +
                           std::string(relative ? "true" : "false"),
                       config.file());
  }
  if (embedding != spec.width) {
    return unsupported("field embedding_size: expected hidden_size " + std::to_string(spec.width) + ", found " +
                           std::to_string(embedding),
                       config.file());
  }
  return {};
}

// The convolution of v2's largest models, over the embeddings, after the first layer.
Status read_convolution(const Config& config, transformer::Spec& spec) {
  transformer::Convolution& convolution = spec.convolution;
  LOCUS_TRY(convolution.kernel, config.integer("conv_kernel_size", 0));
  if (convolution.kernel == 0) {
    return {};
  }
  LOCUS_TRY(convolution.groups, config.integer("conv_groups", 1));
  LOCUS_TRY(const std::string activation, config.text("conv_act", "tanh"));
  LOCUS_TRY(convolution.activation, within(transformer::parse_activation(activation), config.context("conv_act")));
  return check_spec(spec, config);
}

// Positions that are added to the embeddings, as in BERT; pos_att_type still divides the scores.
Status add_learned_positions(const Config& config, Plan& plan) {
  std::vector<std::string> parts;
  if (config.has("pos_att_type")) {
    LOCUS_TRY(parts, position_parts(config));
  }
  config.has("max_relative_positions");  // relative positions only
  plan.spec.encodings = {{"learned", {{"length", plan.spec.trained_length}}}};
  plan.spec.each([&](std::int64_t, transformer::LayerSpec& layer) {
    const auto width = static_cast<double>(layer.attention.head_width);
    layer.attention.scale = parts.empty() ? 0 : 1 / std::sqrt(width * static_cast<double>(1 + parts.size()));
  });
  return {};
}

// The file's prediction head is used, whichever of the two it holds. The library builds the one that `legacy` names and
// fills it at random where the file holds the other.
Status compare_head(const CheckpointFiles& checkpoint, Plan& plan) {
  const Config& config = checkpoint.config;
  if (!config.has("legacy")) {
    return {};
  }
  LOCUS_TRY(const bool legacy, config.boolean("legacy"));
  const std::string other = legacy ? "lm_predictions.lm_head.dense.weight" : "cls.predictions.transform.dense.weight";
  if (checkpoint.find(other) != nullptr) {
    plan.warnings.push_back(config.context("legacy") + ": expected " + (legacy ? "false" : "true") +
                            " for the prediction head of the file (" + other + "), found " +
                            (legacy ? "true" : "false") + "; the head of the file is used");
  }
  return {};
}

Status finish_deberta(const CheckpointFiles& checkpoint, Plan& plan) {
  const Config& config = checkpoint.config;
  LOCUS_CHECK(refuse_others(config, plan.spec));
  LOCUS_CHECK(compare_head(checkpoint, plan));
  LOCUS_CHECK(read_convolution(config, plan.spec));
  LOCUS_TRY(const bool relative, config.boolean("relative_attention", false));
  if (!relative) {
    LOCUS_CHECK(add_learned_positions(config, plan));
    return {};
  }
  LOCUS_TRY(const Settings options, disentangled(config, plan.spec));
  LOCUS_TRY(const bool shared, config.boolean("share_att_key", false));
  plan.spec.encodings = {{"disentangled", options}};
  const std::string self =
      checkpoint.prefix_of(kDebertaPrefixes, "embeddings.word_embeddings.weight") + "encoder.layer.N.attention.self.";
  plan.name("position.layers.N.position_key", self + (shared ? "key_proj" : "pos_key_proj"));
  plan.name("position.layers.N.position_query", self + (shared ? "query_proj" : "pos_query_proj"));
  return {};
}

// v1: a row for every distance up to the longest, and no bias of the positions' keys.
Status finish_deberta_v1(const CheckpointFiles& checkpoint, Plan& plan) {
  const Config& config = checkpoint.config;
  LOCUS_CHECK(refuse_others(config, plan.spec));
  LOCUS_CHECK(compare_head(checkpoint, plan));
  const std::string self =
      checkpoint.prefix_of(kDebertaPrefixes, "embeddings.word_embeddings.weight") + "encoder.layer.N.attention.self.";
  plan.spec.each([](std::int64_t, transformer::LayerSpec& layer) { layer.attention.key_bias = false; });
  const std::int64_t heads = plan.spec.first().attention.heads;
  for (std::int64_t n = 0; const char* const part : {"query", "key", "value"}) {
    const Piece piece{.index = n++, .of = 3, .blocks = heads};
    plan.name("layers.N.attention." + std::string(part) + ".weight", self + "in_proj.weight", Layout::kAsIs, piece);
  }
  plan.name("layers.N.attention.{query,value}.bias", self + "{q_bias,v_bias}");
  LOCUS_TRY(const bool relative, config.boolean("relative_attention", false));
  if (!relative) {
    return add_learned_positions(config, plan);
  }
  LOCUS_TRY(const std::vector<std::string> parts, position_parts(config));
  LOCUS_TRY(const std::int64_t longest, config.integer("max_relative_positions", -1));
  const auto has = [&](const char* part) { return std::find(parts.begin(), parts.end(), part) != parts.end(); };
  plan.spec.encodings = {{"disentangled",
                          {{"buckets", std::int64_t{0}},
                           {"max_distance", longest < 1 ? plan.spec.trained_length : longest},
                           {"c2p", has("c2p")},
                           {"p2c", has("p2c")},
                           {"norm", false},
                           {"key_bias", false}}}};
  plan.name("position.layers.N.position_key", self + "pos_proj");
  plan.name("position.layers.N.position_query", self + "pos_q_proj");
  return {};
}

Family deberta(std::string_view name) {
  using namespace slot;
  Family family = bert(name);
  family.set({{"layer_norm_eps"}, norm_eps, 1e-7});
  family.set({{"type_vocab_size"}, token_types, std::int64_t{0}});
  family.prefixes = kDebertaPrefixes;
  family.names.push_back({"position.relative_embedding", "encoder.rel_embeddings.weight"});
  family.outside = {
      {"head_transform", "lm_predictions.lm_head.dense"}, {"head_transform", "cls.predictions.transform.dense"},
      {"head_norm", "lm_predictions.lm_head.LayerNorm"},  {"head_norm", "cls.predictions.transform.LayerNorm"},
      {"head.bias", "lm_predictions.lm_head.bias"},       {"head.bias", "cls.predictions.bias"}};
  family.skipped = {"position_ids",
                    "mask_predictions.*",
                    "position_embeddings.weight",
                    "lm_predictions.lm_head.decoder.weight",
                    "cls.predictions.decoder.weight",
                    "cls.predictions.decoder.bias"};
  return family;
}

}  // namespace

const Family kDeberta = [] {
  Family family = deberta("deberta");
  family.finish = finish_deberta_v1;
  family.fixed_fields = {{"talking_head", {false}}};
  std::erase_if(family.names,
                [](const Name& row) { return row.parameter.find("{query,key,value}") != row.parameter.npos; });
  return family;
}();

const Family kDebertaV2 = [] {
  Family family = deberta("deberta-v2");
  family.finish = finish_deberta;
  family.rename({"layers.N.attention.{query,key,value}", "encoder.layer.N.attention.self.{query,key,value}_proj"});
  family.names.push_back({"position.norm", "encoder.LayerNorm"});
  family.names.push_back({"convolution", "encoder.conv.conv"});
  family.names.push_back({"convolution_norm", "encoder.conv.LayerNorm"});
  return family;
}();

}  // namespace locus::families

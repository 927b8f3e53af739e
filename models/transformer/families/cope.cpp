// CoPE, the authors' repository: a `.pt` of {cfg, model}; `core.layers.N.attn.proj_query`, ReLU, LayerNorm.
#include "models/transformer/families/list.h"

namespace locus::families {

namespace {

constexpr const char* kProbe = "core.layers.0.attn.proj_query.weight";

std::string prefix_of(const Checkpoint& checkpoint) {
  return checkpoint.prefix_of({"", "model.", "module.", "model.module."}, kProbe);
}

bool recognises(const Checkpoint& checkpoint) {
  return model_type(checkpoint).empty() && checkpoint.find(prefix_of(checkpoint) + kProbe) != nullptr;
}

// `cfg` beside the tensors, or config.json.
Result<Config> read_config(const Checkpoint& checkpoint) {
  if (checkpoint.tensors->extra_json().empty()) {
    return checkpoint.config;
  }
  const std::string file = checkpoint.path.string();
  LOCUS_TRY(const Config all, Config::parse_json(checkpoint.tensors->extra_json(), file));
  return all.has("cfg") ? all.object("cfg") : Result<Config>(all);
}

Status read_encoding(const Checkpoint& checkpoint, const Config& config, Plan& plan) {
  transformer::Spec& spec = plan.spec;
  LOCUS_TRY(const std::string kind, config.text("pos_emb", "cope"));
  const std::string prefix = prefix_of(checkpoint);
  if (kind == "none") {
    spec.encoding = "none";
    return {};
  }
  if (kind == "abs") {
    spec.encoding = "learned";
    spec.encoding_options = {{"length", spec.trained_length}};
    plan.bind("position.position_embedding", prefix + "abs_pos_emb", Layout::kReshaped);
    return {};
  }
  LOCUS_TRY(const std::int64_t every, config.integer("cope_layers", 1));
  if (kind != "cope" || every != 1) {
    return unsupported("pos_emb " + kind + " with CoPE in every " + std::to_string(every) +
                           ". layer; Locus reads none, abs, and cope in every layer",
                       config.file());
  }
  const checkpoint::TensorInfo* first = checkpoint.find(prefix + "core.layers.0.attn.attn.pos_emb");
  if (first == nullptr || first->shape.size() != 3 || first->shape[2] < 1) {
    return bad_input("expected shape [1, D, positions], found none",
                     config.file() + ": tensor core.layers.0.attn.attn.pos_emb");
  }
  LOCUS_TRY(const bool separate, config.boolean("cope_sep_key", false));
  LOCUS_TRY(const bool values, config.boolean("cope_val_gates", false));
  LOCUS_TRY(const bool plain, config.boolean("cope_nodiv", false));
  LOCUS_TRY(const bool shared, config.boolean("cope_shared", false));
  const bool bias = separate && !values && checkpoint.find(prefix + "core.layers.0.attn.proj_key_cope.bias") != nullptr;
  spec.encoding = "cope";
  spec.encoding_options = {{"gates", std::string(values     ? "value"
                                                 : separate ? "sep-key"
                                                            : "key")},
                           {"gate_bias", bias},
                           {"p_max", first->shape[2] - 1},
                           {"scale_positions", !plain},
                           {"per_layer", !shared}};
  plan.bind("position.position_embedding", first->name, Layout::kReshaped);
  for (std::int64_t n = 0; n < spec.layers; ++n) {
    const std::string to = layer_prefix("position.layers.", n);
    const std::string from = layer_prefix(prefix + "core.layers.", n);
    plan.bind(to + "position_embedding", from + "attn.attn.pos_emb", Layout::kReshaped);
    plan.linear(to + "gate_key", from + "attn.proj_key_cope", true);
  }
  if (shared) {
    plan.skipped.emplace_back("attn.attn.pos_emb");  // the same tensor once more in every layer
  }
  return {};
}

void bind(const Checkpoint& checkpoint, Plan& plan) {
  const std::string prefix = prefix_of(checkpoint);
  plan.bind("embedding.weight", prefix + "embed_toks.weight");
  for (std::int64_t n = 0; n < plan.spec.layers; ++n) {
    const std::string to = layer_prefix("layers.", n);
    const std::string from = layer_prefix(prefix + "core.layers.", n);
    plan.linear(to + "attention.query", from + "attn.proj_query", true);
    plan.linear(to + "attention.key", from + "attn.proj_key", true);
    plan.linear(to + "attention.value", from + "attn.proj_val", true);
    plan.linear(to + "attention.output", from + "attn.proj_out", true);
    plan.norm(to + "attention_norm", from + "attn_norm");
    plan.linear(to + "feed_forward.up", from + "ff.fc1", true);
    plan.linear(to + "feed_forward.down", from + "ff.fc2", true);
    plan.norm(to + "feed_forward_norm", from + "ff_norm");
  }
  if (plan.spec.final_norm) {
    plan.norm("final_norm", prefix + "out_norm");
  }
  plan.bind("head.weight", prefix + "out_mod.weight");
}

Result<Plan> read(const Checkpoint& checkpoint) {
  LOCUS_TRY(const Config config, read_config(checkpoint));
  Plan plan;
  transformer::Spec& spec = plan.spec;
  const checkpoint::TensorInfo* embedding = checkpoint.find(prefix_of(checkpoint) + "embed_toks.weight");
  const checkpoint::TensorInfo* up = checkpoint.find(prefix_of(checkpoint) + "core.layers.0.ff.fc1.weight");
  if (embedding == nullptr || embedding->shape.size() != 2 || up == nullptr || up->shape.size() != 2) {
    return bad_input("expected embed_toks.weight and core.layers.0.ff.fc1.weight with two dimensions, found none",
                     checkpoint.path.string());
  }
  LOCUS_TRY(spec.vocabulary, config.integer("nvocab", embedding->shape[0]));
  LOCUS_TRY(spec.width, config.integer("hid_sz", embedding->shape[1]));
  LOCUS_TRY(spec.inner, config.integer("ff_sz", up->shape[0]));
  LOCUS_TRY(spec.layers, config.integer("nlayers"));
  LOCUS_TRY(spec.heads, config.integer("nheads"));
  LOCUS_TRY(spec.trained_length, config.integer("block_size", 0));
  LOCUS_TRY(const bool post, config.boolean("post_norm", false));
  LOCUS_CHECK(divide_heads(spec, config));
  spec.kv_heads = spec.heads;
  spec.norm = transformer::Norm::kLayer;
  spec.norm_place = post ? transformer::NormPlace::kPost : transformer::NormPlace::kPre;
  spec.final_norm = !post;
  spec.activation = transformer::Activation::kRelu;
  spec.gated = false;
  spec.tied_head = false;
  spec.qkv = transformer::QkvLayout::kSeparate;
  spec.qkv_bias = spec.output_bias = spec.feed_forward_bias = true;
  LOCUS_CHECK(check_spec(spec, config));
  bind(checkpoint, plan);
  LOCUS_CHECK(read_encoding(checkpoint, config, plan));
  return plan;
}

}  // namespace

const Family kCope{"cope", recognises, read};

}  // namespace locus::families

// CoPE, the authors' repository: a `.pt` of {cfg, model}; `core.layers.N.attn.proj_query`, ReLU, LayerNorm.
#include "core/base/shown.h"
#include "models/families/list.h"

namespace locus::families {

namespace {

constexpr const char* kProbe = "core.layers.0.attn.proj_query.weight";

std::string prefix_of(const CheckpointFiles& checkpoint) {
  return checkpoint.prefix_of({"", "model.", "module.", "model.module."}, kProbe);
}

bool recognises_cope(const CheckpointFiles& checkpoint) {
  return model_type(checkpoint).empty() && checkpoint.find(prefix_of(checkpoint) + kProbe) != nullptr;
}

// Reads `cfg` beside the tensors, or config.json.
Result<Config> read_config(const CheckpointFiles& checkpoint) {
  if (checkpoint.tensors->extra_json().empty()) {
    return checkpoint.config;
  }
  const std::string file = checkpoint.path.string();
  LOCUS_TRY(const Config all, Config::parse_json(checkpoint.tensors->extra_json(), file));
  return all.has("cfg") ? all.object("cfg") : Result<Config>(all);
}

Status read_encoding(const CheckpointFiles& checkpoint, const Config& config, Plan& plan) {
  transformer::Spec& spec = plan.spec;
  LOCUS_TRY(const std::string kind, config.text("pos_emb", "cope"));
  const std::string prefix = prefix_of(checkpoint);
  if (kind == "none") {
    spec.encodings = {{"none", {}}};
    return {};
  }
  if (kind == "abs") {
    spec.encodings = {{"learned", {{"length", spec.trained_length}}}};
    plan.name("position.position_embedding", prefix + "abs_pos_emb", Layout::kReshaped);
    return {};
  }
  LOCUS_TRY(const std::int64_t every, config.integer("cope_layers", 1));
  if (kind != "cope" || every != 1) {
    return unsupported("pos_emb " + shown(kind) + " with CoPE in every " + std::to_string(every) +
                           ". layer; Locus reads none, abs, and cope in every layer",
                       config.file());
  }
  const formats::TensorInfo* first = checkpoint.find(prefix + "core.layers.0.attn.attn.pos_emb");
  if (first == nullptr || first->shape.size() != 3 || first->shape[2] < 1) {
    return bad_input("expected shape [1, D, positions], found none",
                     config.file() + ": tensor core.layers.0.attn.attn.pos_emb");
  }
  LOCUS_TRY(const bool separate, config.boolean("cope_sep_key", false));
  LOCUS_TRY(const bool values, config.boolean("cope_val_gates", false));
  LOCUS_TRY(const bool plain, config.boolean("cope_nodiv", false));
  LOCUS_TRY(const bool shared, config.boolean("cope_shared", false));
  const bool bias = separate && !values && checkpoint.find(prefix + "core.layers.0.attn.proj_key_cope.bias") != nullptr;
  const std::string gates = values ? "value" : separate ? "sep-key" : "key";
  spec.encodings = {{"cope",
                     {{"gates", gates},
                      {"gate_bias", bias},
                      {"p_max", first->shape[2] - 1},
                      {"scale_positions", !plain},
                      {"per_layer", !shared}}}};
  plan.name("position.position_embedding", first->name, Layout::kReshaped);
  plan.name("position.layers.N.position_embedding", prefix + "core.layers.N.attn.attn.pos_emb", Layout::kReshaped);
  plan.name("position.layers.N.gate_key", prefix + "core.layers.N.attn.proj_key_cope");
  if (shared) {
    plan.skipped.emplace_back("attn.attn.pos_emb");  // a copy of the same tensor in every layer
  }
  return {};
}

const std::vector<Name> kNames{
    {"embedding.weight", "embed_toks.weight"},
    {"layers.N.attention.{query,key,value,output}", "core.layers.N.attn.proj_{query,key,val,out}"},
    {"layers.N.attention_norm", "core.layers.N.attn_norm"},
    {"layers.N.feed_forward.{up,down}", "core.layers.N.ff.fc{1,2}"},
    {"layers.N.feed_forward_norm", "core.layers.N.ff_norm"},
    {"final_norm", "out_norm"},
    {"head.weight", "out_mod.weight"}};

Result<Plan> read_cope(const CheckpointFiles& checkpoint) {
  LOCUS_TRY(const Config config, read_config(checkpoint));
  Draft draft;
  transformer::Spec& spec = draft.spec;
  transformer::LayerSpec& layer = draft.layer;
  const formats::TensorInfo* embedding = checkpoint.find(prefix_of(checkpoint) + "embed_toks.weight");
  const formats::TensorInfo* up = checkpoint.find(prefix_of(checkpoint) + "core.layers.0.ff.fc1.weight");
  if (embedding == nullptr || embedding->shape.size() != 2 || up == nullptr || up->shape.size() != 2) {
    return bad_input("expected embed_toks.weight and core.layers.0.ff.fc1.weight with two dimensions, found none",
                     checkpoint.path.string());
  }
  LOCUS_TRY(spec.vocabulary, config.integer("nvocab", embedding->shape[0]));
  LOCUS_TRY(spec.width, config.integer("hid_sz", embedding->shape[1]));
  LOCUS_TRY(layer.feed_forward.inner, config.integer("ff_sz", up->shape[0]));
  LOCUS_TRY(draft.count, config.integer("nlayers"));
  LOCUS_TRY(layer.attention.heads, config.integer("nheads"));
  LOCUS_TRY(spec.trained_length, config.integer("block_size", 0));
  LOCUS_TRY(const bool post, config.boolean("post_norm", false));
  LOCUS_TRY(layer.attention.head_width, divided_heads(spec.width, layer.attention.heads, config));
  layer.attention.kv_heads = kFollows;
  layer.attention.qkv = transformer::QkvLayout::kSeparate;
  layer.attention_norm = layer.feed_forward_norm = post ? transformer::NormPlace::kPost : transformer::NormPlace::kPre;
  layer.feed_forward.activation = transformer::Activation::kRelu;
  layer.feed_forward.gated = false;
  layer.feed_forward.bias = draft.attention_bias = true;
  spec.norm = transformer::Norm::kLayer;
  spec.final_norm = !post;
  spec.tied_head = false;
  Plan plan;
  LOCUS_TRY(plan.spec, spec_of(std::move(draft), config));
  for (const Name& each : kNames) {
    plan.name(each.parameter, prefix_of(checkpoint) + each.tensor);
  }
  LOCUS_CHECK(read_encoding(checkpoint, config, plan));
  return plan;
}

}  // namespace

const Family kCope{.name = "cope", .recognises = recognises_cope, .read = read_cope};

}  // namespace locus::families

// T5 (T5, v1.1, FLAN and mT5 files): pre-norm with RMSNorm, no biases, unscaled scores, and one table of distance
// buckets shared by all layers of a side; umT5 has one in each layer. LongT5's encoder sees a window to both sides;
// Switch has experts in some layers. A file may hold the encoder only.
#include <cmath>

#include "core/base/shown.h"
#include "models/families/engine/slots.h"
#include "models/families/list.h"

namespace locus::families {

namespace {

const std::vector<std::string_view> kT5Prefixes{"", "module."};
constexpr const char* kT5Anchor = "shared.weight";
constexpr std::string_view kUmt5 = "umt5";
constexpr std::string_view kLongT5 = "longt5";
constexpr std::string_view kSwitch = "switch_transformers";

bool recognises_t5(const CheckpointFiles& checkpoint) {
  const std::string type = model_type(checkpoint);
  return type == "t5" || type == "mt5" || type == kUmt5 || type == kLongT5 || type == kSwitch;
}

// Names shared by both sides: a block's attention is layer 0, its feed-forward the last one.
std::vector<Name> side_names(const std::string& side, const std::string& last) {
  const std::string block = side + ".block.N.layer.";
  std::vector<Name> names{{"embedding.weight", "shared.weight"},
                          {"embedding.weight", side + ".embed_tokens.weight"},
                          {"layers.N.attention_norm", block + "0.layer_norm"},
                          {"layers.N.feed_forward_norm", block + last + ".layer_norm"},
                          {"layers.N.feed_forward.gate", block + last + ".DenseReluDense.wi_0"},
                          {"layers.N.feed_forward.up", block + last + ".DenseReluDense.wi_1"},
                          {"layers.N.feed_forward.router", block + last + ".mlp.router.classifier"},
                          {"layers.N.feed_forward.experts.J.{up,down}", block + last + ".mlp.experts.expert_J.{wi,wo}"},
                          {"final_norm", side + ".final_layer_norm"}};
  for (const std::string attention : {"0.SelfAttention.", "0.LocalSelfAttention."}) {
    const std::string table = "layer." + attention + "relative_attention_bias.weight";
    names.insert(names.end(), {{"position.relative_attention_bias", side + ".block.0." + table},
                               {"position.layers.N.relative_attention_bias", side + ".block.N." + table},
                               {"layers.N.attention.{query,key,value,output}", block + attention + "{q,k,v,o}"}});
  }
  for (const std::string dense : {".DenseReluDense.", ".mlp."}) {
    names.push_back({"layers.N.feed_forward.{up,down}", block + last + dense + "{wi,wo}"});
  }
  return names;
}

std::vector<Name> decoder_names() {
  const std::string block = "decoder.block.N.layer.1.";
  std::vector<Name> names = side_names("decoder", "2");
  names.insert(names.end(), {{"layers.N.cross_norm", block + "layer_norm"},
                             {"layers.N.cross.{query,key,value,output}", block + "EncDecAttention.{q,k,v,o}"},
                             {"head.weight", "lm_head.weight"}});
  return names;
}

// feed_forward_proj: "relu", "gated-gelu", …
Status read_feed_forward(const Config& config, const char* usual, Plan& plan) {
  LOCUS_TRY(const std::string named, config.text("feed_forward_proj", usual));
  const bool gated = named.starts_with("gated-");
  const std::string plain = gated ? named.substr(std::string("gated-").size()) : named;
  // The gated GELU is the tanh form, whatever its name.
  LOCUS_TRY(const transformer::Activation activation,
            within(transformer::parse_activation(gated && plain == "gelu" ? "gelu_new" : plain),
                   config.context("feed_forward_proj")));
  // Written files repeat the activation that the class derived; it must agree.
  LOCUS_TRY(const std::string repeated, config.text("dense_act_fn", to_text(activation)));
  const auto same = transformer::parse_activation(repeated);
  if (!same.ok() || *same != activation) {
    return unsupported("expected " + to_text(activation) + " as in feed_forward_proj, found " + shown(repeated),
                       config.context("dense_act_fn"));
  }
  LOCUS_CHECK(check_fixed_fields(config, {{"is_gated_act", {gated}}}));
  plan.spec.each([&](std::int64_t, transformer::LayerSpec& layer) {
    layer.feed_forward.gated = gated;
    layer.feed_forward.activation = activation;
  });
  return {};
}

// Experts in every layer whose number is 1 modulo the step, or in all where the step is 1; a token beyond an expert's
// capacity passes the layer by.
Status read_experts(const Config& config, const char* sparse, transformer::Spec& spec) {
  transformer::Experts experts;
  LOCUS_TRY(experts.count, integer_or(config, "num_experts", 8));
  LOCUS_TRY(experts.capacity, integer_or(config, "expert_capacity", 64));
  LOCUS_TRY(experts.router_bias, config.boolean("router_bias", false));
  LOCUS_TRY(const std::int64_t count, integer_or(config, sparse, 3, 0));
  LOCUS_CHECK(check_fixed_fields(config, {{"router_dtype", {"float32"}}}));
  const std::int64_t step = count > 0 ? spec.depth() / count : spec.depth();
  spec.each([&](std::int64_t n, transformer::LayerSpec& layer) {
    if (step > 0 && (step == 1 || n % step == 1)) {
      layer.feed_forward.experts = experts;
    }
  });
  return {};
}

// Name of the matrix after the activation.
void keep_feed_forward_names(Plan& plan) {
  const bool gated = plan.spec.first().feed_forward.gated;
  std::erase_if(plan.names, [&](const Name& row) { return row.tensor.ends_with(gated ? ".wi" : ".wi_1"); });
}

// The decoder: causal self-attention, and cross-attention to all encoder states.
Status add_decoder(const CheckpointFiles& checkpoint, const std::string& prefix, Plan& plan) {
  const Config& config = checkpoint.config;
  Plan encoder = std::move(plan);
  plan = {};
  plan.spec = encoder.spec;
  plan.spec.causal = plan.spec.head = true;
  LOCUS_TRY(const std::int64_t layers, integer_or(config, "num_decoder_layers", encoder.spec.depth()));
  if (layers > transformer::kMaxLayers) {
    return bad_input("expected 1 to " + std::to_string(transformer::kMaxLayers) + ", found " + std::to_string(layers),
                     config.context("num_decoder_layers"));
  }
  transformer::LayerSpec layer = encoder.spec.first();
  layer.cross = layer.attention;
  layer.cross->scale = 1;
  plan.spec.repeat(layer, layers);
  // Whether the states are scaled before the head: older files use tie_word_embeddings for it; mT5 never scales. The
  // head is the embedding unless another one is stored.
  LOCUS_TRY(const bool tied, config.boolean("tie_word_embeddings", true));
  LOCUS_TRY(const bool scaled, config.boolean("scale_decoder_outputs", tied));
  const bool scales = text_or_nothing(config, "model_type") != "mt5" && scaled;
  if (model_type(checkpoint) == kSwitch) {
    plan.spec.each([&](std::int64_t, transformer::LayerSpec& own) { own.feed_forward.experts = {}; });
    LOCUS_CHECK(read_experts(config, "num_sparse_decoder_layers", plan.spec));
  }
  plan.spec.tied_head = tied || checkpoint.find(prefix + "lm_head.weight") == nullptr;
  plan.spec.logit_scale = scales ? 1 / std::sqrt(static_cast<double>(plan.spec.width)) : 1;
  LOCUS_TRY(plan.start_token, integer_or(config, "decoder_start_token_id", 0, 0));
  for (const Name& each : decoder_names()) {
    plan.name(each.parameter, prefix + each.tensor);
  }
  plan.skipped = {"embed_tokens.weight", "EncDecAttention.relative_attention_bias.weight", "lm_head.weight"};
  plan.encoder.push_back(std::move(encoder));
  return {};
}

Status finish_t5(const CheckpointFiles& checkpoint, Plan& plan) {
  const Config& config = checkpoint.config;
  const std::string type = model_type(checkpoint);
  const bool per_layer = type == kUmt5;
  if (type == kSwitch) {
    LOCUS_TRY(const std::string named, config.text("dense_act_fn", "relu"));
    LOCUS_TRY(const transformer::Activation activation,
              within(transformer::parse_activation(named), config.context("dense_act_fn")));
    plan.spec.each([&](std::int64_t, transformer::LayerSpec& layer) {
      layer.feed_forward.gated = false;
      layer.feed_forward.activation = activation;
    });
  } else {
    LOCUS_CHECK(read_feed_forward(config, per_layer ? "gated-gelu" : "relu", plan));
  }
  LOCUS_TRY(const std::int64_t buckets, config.integer("relative_attention_num_buckets", 32));
  LOCUS_TRY(const std::int64_t longest, config.integer("relative_attention_max_distance", 128));
  plan.spec.encodings = {{"t5", {{"buckets", buckets}, {"max_distance", longest}, {"per_layer", per_layer}}}};
  const std::string prefix = checkpoint.prefix_of(kT5Prefixes, kT5Anchor);
  const bool two_sides = checkpoint.find(prefix + "decoder.final_layer_norm.weight") != nullptr;
  if (two_sides) {
    LOCUS_CHECK(add_decoder(checkpoint, prefix, plan));
    keep_feed_forward_names(plan.encoder.front());
  }
  transformer::Spec& encoder = two_sides ? plan.encoder.front().spec : plan.spec;
  if (type == kLongT5) {
    LOCUS_CHECK(check_fixed_fields(config, {{"encoder_attention_type", {"local"}}}));
    LOCUS_TRY(const std::int64_t radius, integer_or(config, "local_radius", 127));
    encoder.each([&](std::int64_t, transformer::LayerSpec& layer) { layer.attention.window = radius + 1; });
  }
  if (type == kSwitch) {
    LOCUS_CHECK(read_experts(config, "num_sparse_encoder_layers", encoder));
  }
  keep_feed_forward_names(plan);
  return {};
}

}  // namespace

const Family kT5 = [] {
  using namespace slot;
  return Family{
      .name = "t5",
      .recognises = recognises_t5,
      .fixed = [](Draft& draft) { draft.spec.causal = draft.spec.head = false; },
      .fields = {{{"vocab_size"}, vocabulary},
                 {{"d_model"}, width},
                 {{"num_layers"}, layers},
                 {{"num_heads"}, heads},
                 {{"d_kv"}, head_width, std::int64_t{64}},
                 {{"d_ff"}, inner},
                 {{"layer_norm_epsilon"}, norm_eps, 1e-6}},
      .fixed_fields = {{"scalable_attention", {true}}},  // a field of umT5; no published class reads it
      .finish = finish_t5,
      .prefixes = kT5Prefixes,
      .anchor = kT5Anchor,
      .names = side_names("encoder", "1"),
      .skipped = {"embed_tokens.weight", "lm_head.weight"},
      .harmless = {"num_decoder_layers", "tie_word_embeddings", "scale_decoder_outputs",  // an encoder only
                   "encoder_sparse_step", "decoder_sparse_step", "num_sparse_decoder_layers", "add_router_probs",
                   "router_aux_loss_coef", "router_z_loss_coef", "router_jitter_noise", "router_ignore_padding_tokens",
                   "global_block_size"},
  };
}();

}  // namespace locus::families

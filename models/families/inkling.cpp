// Inkling's text: nothing turns; every token mixes profiles over the distance into a bias of its own. Short convolutions
// of keys, values and both branches, windowed layers with key heads and widths of their own, and experts weighed
// together with those of every token.
#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>

#include "core/base/numbers.h"
#include "models/families/engine/computed.h"
#include "models/families/engine/layer_kinds.h"
#include "models/families/engine/slots.h"
#include "models/families/list.h"

namespace locus::families {

namespace {

using transformer::LayerSpec;

// Spellings of one field, which the library reads whichever a file has.
constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kSpellings{
    {{"conv_kernel_size", "sconv_kernel_size"},
     {"logits_mup_width_multiplier", "embedding_multiplier"},
     {"max_position_embeddings", "model_max_length"},
     {"n_routed_experts", "num_local_experts"},
     {"sliding_window_size", "sliding_window"}}};

Status check_spellings(const Config& config) {
  for (const auto& [own, other] : kSpellings) {
    if (config.has(own) && !config.repeats(own, other)) {
      return unsupported("expected the value of " + std::string(own) + ", found another", config.context(other));
    }
  }
  return {};
}

Status set_windows_and_encodings(const Config& config, Plan& plan) {
  const std::int64_t heads = plan.spec.first().attention.heads;
  LOCUS_TRY(const std::int64_t near_heads, integer_or(config, "swa_num_attention_heads", 64));
  LOCUS_TRY(const std::int64_t near_keys, integer_or(config, "swa_num_key_value_heads", 16));
  LOCUS_TRY(const std::int64_t near_width, integer_or(config, "swa_head_dim", 128));
  LOCUS_TRY(const std::int64_t window,
            integer_or(config, spelled(config, {"sliding_window_size", "sliding_window"}), 512));
  std::vector<std::int64_t> local;
  const bool listed = config.has("local_layer_ids");
  if (listed) {
    LOCUS_TRY(local, config.integers("local_layer_ids"));
  }
  LOCUS_TRY(const std::vector<bool> windowed,
            layers_of_type(config, "layer_types", plan.spec.depth(), "hybrid_sliding", "hybrid", [&](std::int64_t n) {
              return listed ? std::find(local.begin(), local.end(), n) != local.end() : (n + 1) % 6 != 0;
            }));
  const bool any = std::find(windowed.begin(), windowed.end(), true) != windowed.end();
  if (any && near_heads != heads) {
    return unsupported(
        "expected " + std::to_string(heads) + " heads, as in the other layers, found " + std::to_string(near_heads),
        config.context("swa_num_attention_heads"));
  }
  LOCUS_TRY(const std::int64_t states, integer_or(config, "d_rel", 16));
  LOCUS_TRY(const std::int64_t extent, integer_or(config, "rel_extent", 1024));
  LOCUS_TRY(const std::int64_t floor, integer_or(config, "log_scaling_n_floor", 0));
  LOCUS_TRY(const double growth, config.number("log_scaling_alpha", 0.1));
  if (growth < 0) {
    return unsupported("expected at least 0, found " + general_text(growth, 6), config.context("log_scaling_alpha"));
  }
  Settings whole{{"extent", extent}, {"states", states}};
  if (floor > 0) {
    whole.set("growth", growth);
    whole.set("growth_from", static_cast<double>(floor));
  }
  // Only the encodings that some layer has: an encoding without layers would want parameters.
  plan.spec.encodings.clear();
  std::array<std::int64_t, 2> of_kind{-1, -1};
  plan.spec.each([&](std::int64_t n, LayerSpec& layer) {
    const bool near = windowed[static_cast<std::size_t>(n)];
    if (near) {
      layer.attention.kv_heads = near_keys;
      layer.attention.head_width = near_width;
      layer.attention.window = window;
    }
    layer.attention.scale = 1 / static_cast<double>(layer.attention.head_width);
    std::int64_t& own = of_kind[near ? 1 : 0];
    if (own < 0) {
      own = static_cast<std::int64_t>(plan.spec.encodings.size());
      plan.spec.encodings.push_back(
          {"relative-state", near ? Settings{{"extent", window}, {"states", states}} : whole});
    }
    layer.encoding = own;
  });
  return {};
}

Status set_feed_forwards(const Config& config, Plan& plan) {
  // Published files have the experts' width as intermediate_size, beside that of the dense layers.
  const bool published = config.has("dense_intermediate_size");
  LOCUS_TRY(const std::int64_t dense_inner,
            integer_or(config, published ? "dense_intermediate_size" : "intermediate_size", 24576));
  LOCUS_TRY(const std::int64_t inner, published ? integer_or(config, "intermediate_size", 24576)
                                                : integer_or(config, "moe_intermediate_size", 3072));
  LOCUS_TRY(const std::int64_t dense, integer_or(config, "dense_mlp_idx", 0, 0));
  LOCUS_TRY(const std::int64_t always, integer_or(config, "n_shared_experts", 2));
  LOCUS_TRY(const std::vector<bool> sparse, layers_of_type(config, "mlp_layer_types", plan.spec.depth(), "sparse",
                                                           "dense", [&](std::int64_t n) { return n >= dense; }));
  plan.spec.each([&](std::int64_t n, LayerSpec& layer) {
    if (sparse[static_cast<std::size_t>(n)]) {
      layer.feed_forward.inner = inner;
      layer.feed_forward.experts.always = always;
    } else {
      layer.feed_forward.inner = dense_inner;
      layer.feed_forward.experts = {};
    }
  });
  return {};
}

// The names of published files, in which the rows of gates and those of what they gate take turns.
void add_published_names(const CheckpointFiles& checkpoint, Plan& plan) {
  if (checkpoint.find("model.llm.embed.weight") == nullptr) {
    return;
  }
  const std::string layer = "model.llm.layers.N.";
  plan.name("embedding.weight", "model.llm.embed.weight");
  plan.name("embedding_norm", "model.llm.embed_norm");
  plan.name("final_norm", "model.llm.norm");
  plan.name("head.weight", "model.llm.unembed.weight");
  plan.name("layers.N.attention_norm", layer + "attn_norm");
  plan.name("layers.N.feed_forward_norm", layer + "mlp_norm");
  plan.name("layers.N.attention.{query,key,value,output}", layer + "attn.{wq_du,wk_dv,wv_dv,wo_ud}");
  plan.name("layers.N.attention.{query,key}_norm", layer + "attn.{q,k}_norm");
  plan.name("layers.N.attention.{key,value}_convolution.weight", layer + "attn.{k,v}_sconv.weight", Layout::kReshaped);
  plan.name("layers.N.{attention,feed_forward}_convolution.weight", layer + "{attn,mlp}_sconv.weight",
            Layout::kReshaped);
  plan.name("position.layers.N.{mixing,profiles}", layer + "attn.{wr_du.weight,rel_logits_proj.proj}");
  plan.name("position.N.layers.J.{mixing,profiles}", "model.llm.layers.J.attn.{wr_du.weight,rel_logits_proj.proj}");
  const std::string to = "layers.N.feed_forward.";
  const std::string from = layer + "mlp.";
  plan.name(to + "output_scale", from + "global_scale");
  plan.name(to + "output_scale", from + "gate.global_scale");
  plan.name(to + "router.weight", from + "gate.weight");
  plan.name(to + "correction", from + "gate.bias");
  plan.name(to + "down.weight", from + "w2_md.weight");
  plan.name(to + "experts.J.down.weight", from + "experts.w2_weight", {}, {.stacked = true});
  plan.name(to + "always.J.down.weight", from + "shared_experts.shared_w2_weight", {}, {.stacked = true});
  for (const std::int64_t part : {0, 1}) {
    const std::string name = part == 0 ? "gate.weight" : "up.weight";
    const Piece of_one{.index = part, .of = 2, .interleaved = true};
    const Piece of_stack{.index = part, .of = 2, .interleaved = true, .stacked = true};
    plan.name(to + name, from + "w13_dn.weight", {}, of_one);
    plan.name(to + "experts.J." + name, from + "experts.w13_weight", {}, of_stack);
    plan.name(to + "always.J." + name, from + "shared_experts.shared_w13_weight", {}, of_stack);
  }
}

// Leaves out the last rows of embedding and head, which fill the vocabulary up: no token has them, and the library gives
// no logits of them.
Status leave_out_padding(const CheckpointFiles& checkpoint, Plan& plan) {
  const std::int64_t all = plan.spec.vocabulary;
  LOCUS_TRY(const std::int64_t tokens, integer_or(checkpoint.config, "unpadded_vocab_size", all));
  if (tokens >= all) {
    return {};
  }
  plan.spec.vocabulary = tokens;
  if (checkpoint.tensors == nullptr) {
    return {};
  }
  for (const char* const parameter : {"embedding.weight", "head.weight"}) {
    for (const Binding& row : plan.bindings(parameter)) {
      if (checkpoint.find(row.tensor) != nullptr) {
        const std::string cut = "unpadded " + row.tensor;
        LOCUS_CHECK(compute_rows(checkpoint, {{cut, {{row.tensor, 0, tokens}}}}, plan));
        plan.names.insert(plan.names.begin(), {parameter, cut});
        plan.skipped.push_back(row.tensor);
        break;
      }
    }
  }
  return {};
}

Status finish_inkling(const CheckpointFiles& checkpoint, Plan& plan) {
  const Config& config = checkpoint.config;
  LOCUS_CHECK(check_spellings(config));
  LOCUS_CHECK(set_windows_and_encodings(config, plan));
  LOCUS_CHECK(set_feed_forwards(config, plan));
  LOCUS_TRY(const std::int64_t tokens,
            integer_or(config, spelled(config, {"conv_kernel_size", "sconv_kernel_size"}), 4));
  plan.spec.each([&](std::int64_t, LayerSpec& layer) { layer.convolution = tokens; });
  const std::string_view field = spelled(config, {"logits_mup_width_multiplier", "embedding_multiplier"});
  LOCUS_TRY(const double divisor, config.number(field, 24.0));
  if (divisor == 0 || !std::isfinite(1 / divisor)) {
    return bad_input("expected a number with a finite inverse, found " + general_text(divisor, 6),
                     config.context(field));
  }
  plan.spec.logit_scale = 1 / divisor;
  add_published_names(checkpoint, plan);
  return leave_out_padding(checkpoint, plan);
}

}  // namespace

const Family kInkling = [] {
  Family family = llama("inkling_text");
  family.fixed = [](Draft& draft) {
    draft.spec.embedding_norm = true;
    draft.layer.attention.norm.form = transformer::QueryNormForm::kHead;
    draft.layer.feed_forward.inner = 1;  // set_feed_forwards()
    draft.layer.feed_forward.output_scale = true;
    transformer::Experts& experts = draft.layer.feed_forward.experts;
    experts.router = transformer::Router::kSigmoid;
    experts.normalised = experts.correction = true;
  };
  std::erase_if(family.fields, [](const Field& field) {
    const std::string_view name = field.names.front();
    return name == "intermediate_size" || name == "attention_bias" || name == "mlp_bias";
  });
  family.set({{"max_position_embeddings", "model_max_length"}, slot::trained_length, std::int64_t{131072}});
  family.set({{"num_key_value_heads"}, slot::kv_heads, std::int64_t{8}});
  family.set({{"head_dim"}, slot::head_width, std::int64_t{128}});
  family.set({{"n_routed_experts", "num_local_experts"}, slot::experts, std::int64_t{256}});
  family.set({{"num_experts_per_tok"}, slot::chosen_experts, std::int64_t{6}});
  family.set({{"route_scale"}, slot::expert_factor, 8.0});
  family.fixed_fields = {{"shared_expert_sink", {true}}};
  family.finish = finish_inkling;
  family.names.insert(
      family.names.end(),
      {{"embedding_norm", "embed_tokens.embed_norm"},
       {"layers.N.attention.{query,key}_norm", "layers.N.self_attn.{q,k}_norm"},
       {"layers.N.attention.{key,value}_convolution.weight", "layers.N.self_attn.{k,v}_sconv.conv1d.weight",
        Layout::kReshaped},
       {"layers.N.{attention,feed_forward}_convolution.weight", "layers.N.{attn,mlp}_sconv.conv1d.weight",
        Layout::kReshaped},
       {"position.layers.N.{mixing,profiles}", "layers.N.self_attn.{r_proj.weight,rel_logits_proj.proj}"},
       {"position.N.layers.J.{mixing,profiles}", "layers.J.self_attn.{r_proj.weight,rel_logits_proj.proj}"},
       {"layers.N.feed_forward.output_scale", "layers.N.mlp.global_scale"},
       {"layers.N.feed_forward.output_scale", "layers.N.mlp.gate.global_scale"},
       {"layers.N.feed_forward.router", "layers.N.mlp.gate"},
       {"layers.N.feed_forward.correction", "layers.N.mlp.gate.e_score_correction_bias"},
       {"layers.N.feed_forward.always.J.{gate,up,down}.weight",
        "layers.N.mlp.shared_experts.{gate,up,down}_proj",
        {},
        {.stacked = true}}});
  name_stacked_experts(family);
  family.skipped.insert(family.skipped.end(), "model.mtp.*");
  // Layers that predict further tokens, and what the library's class has without reading it.
  family.harmless = {"num_mtp_layers",         "mtp_local_layer_ids",   "mtp_hidden_states_first",
                     "chain_hidden_post_norm", "number_of_conv_states", "rms_norm_eps_moe_gate"};
  return family;
}();

}  // namespace locus::families

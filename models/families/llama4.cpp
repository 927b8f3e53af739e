// Llama 4 (text): three of four layers are rotary, with chunks and normalised q and k; the fourth attends to all keys
// without positions, with q scaled by its position. Some layers are mixtures of experts.
#include <algorithm>

#include "models/families/engine/slots.h"
#include "models/families/list.h"

namespace locus::families {

namespace {

using transformer::LayerSpec;

// Rotary layers attend within their chunk. q and k are normalised after the rotation: the same as before it, without
// the magnitude of YaRN and LongRoPE, which the norm takes out (but for its ε, a few millionths).
Status finish_attention(const Config& config, transformer::Spec& spec) {
  LOCUS_TRY(const std::vector<std::int64_t> turns, layer_list(config, "no_rope_layers", spec.depth()));
  LOCUS_TRY(const std::int64_t interval, integer_or(config, "no_rope_layer_interval", 4));
  LOCUS_TRY(const std::int64_t chunk, config.integer("attention_chunk_size", 8192));
  LOCUS_TRY(const bool normed, config.boolean("use_qk_norm", true));
  LOCUS_TRY(const std::vector<std::string> types, layer_types(config, spec.depth()));
  LOCUS_TRY(const bool tuned, config.boolean("attn_temperature_tuning", true));
  LOCUS_TRY(const double tuning, config.number("attn_scale", 0.1));
  LOCUS_TRY(const double floor, config.number("floor_scale", 8192.0));
  if (chunk < 1 || !(floor > 0)) {
    return bad_input("expected an attention_chunk_size and a floor_scale above 0", config.file());
  }
  if (std::count(types.begin(), types.end(), "sliding_attention") > 0) {
    return unsupported("expected full_attention and chunked_attention, found sliding_attention",
                       config.context("layer_types"));
  }
  for (transformer::EncodingSpec& encoding : spec.encodings) {
    LOCUS_TRY(const std::string scaling, encoding.options.text("scaling", "none"));
    if (normed && (scaling == "yarn" || scaling == "longrope")) {
      encoding.options.set("attention_factor", 1.0);
    }
  }
  spec.each([&](std::int64_t n, LayerSpec& layer) {
    const bool own = turns.empty() ? (n + 1) % interval != 0 : turns[static_cast<std::size_t>(n)] != 0;
    layer.encoding = own ? 0 : -1;
    const bool chunked = types.empty() ? own : types[static_cast<std::size_t>(n)] == "chunked_attention";
    layer.attention.chunk = chunked ? chunk : 0;
    layer.attention.tuning.gain = own || !tuned ? 0 : tuning;
    layer.attention.tuning.length = floor;
    if (own && normed) {
      layer.attention.norm = {transformer::QueryNormForm::kHead, transformer::Norm::kRms, false, false, spec.norm_eps};
    }
  });
  return {};
}

Status finish_llama4(const CheckpointFiles& checkpoint, Plan& plan) {
  const Config& config = checkpoint.config;
  LOCUS_CHECK(set_rope(config, plan, 500000.0, "interleaved"));
  LOCUS_CHECK(finish_attention(config, plan.spec));
  LOCUS_TRY(const std::int64_t step, integer_or(config, "interleave_moe_layer_step", 1));
  LOCUS_TRY(const std::int64_t dense, config.integer("intermediate_size_mlp", plan.spec.first().feed_forward.inner));
  std::vector<std::int64_t> mixed;
  if (config.has("moe_layers")) {
    LOCUS_TRY(mixed, config.integers("moe_layers"));
  }
  plan.spec.each([&](std::int64_t n, LayerSpec& layer) {
    const bool own = config.has("moe_layers") ? std::count(mixed.begin(), mixed.end(), n) > 0 : (n + 1) % step == 0;
    layer.feed_forward.experts.shared = layer.feed_forward.inner;
    if (!own) {
      layer.feed_forward.experts = {};
      layer.feed_forward.inner = dense;
    }
  });
  return {};
}

}  // namespace

const Family kLlama4 = [] {
  Family family = llama("llama4_text");
  family.fixed = [](Draft& draft) { draft.layer.feed_forward.experts.router = transformer::Router::kInputSigmoid; };
  family.set({{"rms_norm_eps"}, slot::norm_eps, 1e-5});
  family.set({{"head_dim"}, slot::head_width, std::int64_t{128}});
  family.set({{"num_local_experts", "num_experts"}, slot::experts, std::int64_t{16}});
  family.set({{"num_experts_per_tok"}, slot::chosen_experts, std::int64_t{1}});
  family.finish = finish_llama4;
  const Piece gate{.index = 0, .of = 2, .stacked = true};
  const Piece up{.index = 1, .of = 2, .stacked = true};
  const std::string from = "layers.N.feed_forward.experts.";
  family.names.push_back({from + "J.gate.weight", from + "gate_up_proj", Layout::kTransposed, gate});
  family.names.push_back({from + "J.up.weight", from + "gate_up_proj", Layout::kTransposed, up});
  family.names.push_back({from + "J.down.weight", from + "down_proj", Layout::kTransposed, {.stacked = true}});
  family.names.push_back({from + "J.{gate,up,down}", from + "J.{gate,up,down}_proj"});  // of GGUF files
  family.names.push_back({"layers.N.feed_forward.router", "layers.N.feed_forward.router"});
  family.names.push_back(
      {"layers.N.feed_forward.shared.{gate,up,down}", "layers.N.feed_forward.shared_expert.{gate,up,down}_proj"});
  family.rename({"layers.N.feed_forward.{gate,up,down}", "layers.N.feed_forward.{gate,up,down}_proj"});
  return family;
}();

}  // namespace locus::families

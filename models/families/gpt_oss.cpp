// gpt-oss: windows in every second layer, one attention sink per head, experts with clamped gates, YaRN with an
// unrounded ramp.
#include "models/families/engine/slots.h"
#include "models/families/list.h"

namespace locus::families {

namespace {

Status finish_gpt_oss(const CheckpointFiles& checkpoint, Plan& plan) {
  const Config& config = checkpoint.config;
  LOCUS_TRY(Config block, rope_block(config));
  if (block.names().empty()) {  // value of the reference class
    LOCUS_TRY(block, Config::parse_json(R"({"rope_type": "yarn", "factor": 32, "beta_fast": 32, "beta_slow": 1,
                                            "truncate": false, "original_max_position_embeddings": 4096})",
                                        config.file()));
  }
  LOCUS_CHECK(set_rope(config, block, plan, 150000.0));
  LOCUS_TRY(const double limit, config.number("swiglu_limit", 7.0));
  LOCUS_TRY(const double alpha, config.number("swiglu_alpha", 1.702));
  plan.spec.each([&](std::int64_t, transformer::LayerSpec& layer) {
    layer.feed_forward.clamp = limit;
    layer.feed_forward.alpha = alpha;
  });
  LOCUS_TRY(const std::int64_t window, config.integer("sliding_window", 128));
  return set_windows(config, plan.spec, window, [](std::int64_t n) { return n % 2 == 0; });
}

}  // namespace

const Family kGptOss = [] {
  Family family = llama("gpt_oss");
  family.fixed = [](Draft& draft) {
    draft.layer.attention.sinks = true;
    draft.layer.feed_forward.bias = draft.layer.feed_forward.experts.router_bias = true;
    draft.layer.feed_forward.experts.router = transformer::Router::kTopSoftmax;
  };
  family.set({{"rms_norm_eps"}, slot::norm_eps, 1e-5});
  family.set({{"attention_bias"}, slot::attention_bias, true});
  family.set({{"mlp_bias"}, slot::feed_forward_bias, true});
  family.set({{"num_local_experts", "num_experts"}, slot::experts, std::int64_t{128}});
  family.set({{"num_experts_per_tok", "experts_per_token"}, slot::chosen_experts, std::int64_t{4}});
  family.harmless = {"experts_per_token", "initial_context_length"};  // also given by other fields
  family.finish = finish_gpt_oss;
  // Each matrix of all experts is one tensor [in, out]; gate has the even columns, up the odd ones.
  const std::string to = "layers.N.feed_forward.experts.J.";
  const std::string from = "layers.N.mlp.experts.";
  const Piece gate{.index = 0, .of = 2, .interleaved = true, .stacked = true};
  const Piece up{.index = 1, .of = 2, .interleaved = true, .stacked = true};
  const Piece whole{.stacked = true};
  family.names.push_back({"layers.N.attention.sinks", "layers.N.self_attn.sinks"});
  family.names.push_back({"layers.N.feed_forward.router", "layers.N.mlp.router"});
  family.names.push_back({to + "gate.weight", from + "gate_up_proj", Layout::kTransposed, gate});
  family.names.push_back({to + "gate.bias", from + "gate_up_proj_bias", Layout::kAsIs, gate});
  family.names.push_back({to + "up.weight", from + "gate_up_proj", Layout::kTransposed, up});
  family.names.push_back({to + "up.bias", from + "gate_up_proj_bias", Layout::kAsIs, up});
  family.names.push_back({to + "down.weight", from + "down_proj", Layout::kTransposed, whole});
  family.names.push_back({to + "down.bias", from + "down_proj_bias", Layout::kAsIs, whole});
  // In GGUF files, expert by expert.
  family.names.push_back({to + "{gate,up,down}", from + "J.{gate,up,down}_proj"});
  return family;
}();

}  // namespace locus::families

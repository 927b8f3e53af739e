// Mixtral: Llama with mixtures of experts. Phi 3.5 MoE: the same with LayerNorms and a sparse mixer.
#include "core/base/numbers.h"
#include "models/families/engine/slots.h"
#include "models/families/list.h"

namespace locus::families {

namespace {

// LongRoPE has factors of cos and sin of its own, for short and for long texts.
Status finish_phimoe(const CheckpointFiles& checkpoint, Plan& plan) {
  const Config& config = checkpoint.config;
  LOCUS_CHECK(set_rope(config, plan, 1e6));
  Settings& options = plan.spec.encodings.front().options;
  LOCUS_TRY(const std::string scaling, options.text("scaling", "none"));
  if (scaling == "none") {
    return {};
  }
  LOCUS_TRY(const Config block, rope_block(config));
  if (scaling != "longrope") {
    return unsupported("expected default or longrope, found " + scaling,
                       block.context(spelled(block, {"rope_type", "type"})));
  }
  LOCUS_TRY(const double brief, block.number("short_mscale"));
  LOCUS_TRY(const double extended, block.number("long_mscale"));
  if (brief != extended) {
    return unsupported("expected short_mscale " + general_text(brief, 12) + ", found " + general_text(extended, 12),
                       block.context("long_mscale"));
  }
  options.set("attention_factor", brief);
  plan.warnings.push_back(
      config.file() +
      ": longrope: long texts have the long factors, as in the authors' code; the transformers library gives them the "
      "short ones");
  return {};
}

}  // namespace

const Family kMixtral = [] {
  Family family = llama("mixtral");
  family.fixed = [](Draft& draft) { draft.layer.feed_forward.experts.normalised = true; };
  family.set({{"rms_norm_eps"}, slot::norm_eps, 1e-5});
  family.set({{"num_local_experts", "num_experts"}, slot::experts, std::int64_t{8}});
  family.set({{"num_experts_per_tok"}, slot::chosen_experts, std::int64_t{2}});
  family.set({{"sliding_window"}, slot::window, std::int64_t{0}});
  family.finish = [](const CheckpointFiles& checkpoint, Plan& plan) { return set_rope(checkpoint.config, plan, 1e6); };
  family.names.push_back({"layers.N.feed_forward.router", "layers.N.block_sparse_moe.gate"});
  family.names.push_back(
      {"layers.N.feed_forward.experts.J.{gate,up,down}", "layers.N.block_sparse_moe.experts.J.{w1,w3,w2}"});
  return family;
}();

const Family kPhimoe = [] {
  Family family = kMixtral;
  family.name = "phimoe";
  family.fixed = [](Draft& draft) {
    draft.spec.norm = transformer::Norm::kLayer;
    draft.layer.feed_forward.experts.router = transformer::Router::kSparseMixer;
    draft.layer.feed_forward.experts.chosen = 2;
  };
  std::erase_if(family.fields, [](const Field& field) { return field.names.front() == "num_experts_per_tok"; });
  family.set({{"num_local_experts", "num_experts"}, slot::experts, std::int64_t{16}});
  family.set({{"router_jitter_noise"},
              +[](Draft& draft) -> double& { return draft.layer.feed_forward.experts.margin; },
              0.01});
  family.set({{"lm_head_bias"}, +[](Draft& draft) -> bool& { return draft.spec.head_bias; }, false});
  family.fixed_fields = {{"num_experts_per_tok", {2.0}}};
  family.harmless = {"input_jitter_noise"};  // in training
  family.finish = finish_phimoe;
  return family;
}();

}  // namespace locus::families

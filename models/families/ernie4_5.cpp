// ERNIE 4.5: Llama with interleaved RoPE, and one flag for the biases of every projection. Some models have experts in
// their later layers, chosen with a correction of their probabilities.
#include "models/families/engine/slots.h"
#include "models/families/list.h"

namespace locus::families {

namespace {

Status finish_ernie(const CheckpointFiles& checkpoint, Plan& plan) {
  return set_rope(checkpoint.config, plan, 500000.0, "interleaved");
}

Status finish_ernie_moe(const CheckpointFiles& checkpoint, Plan& plan) {
  const Config& config = checkpoint.config;
  LOCUS_CHECK(finish_ernie(checkpoint, plan));
  LOCUS_TRY(const std::int64_t start, config.integer("moe_layer_start_index", 1));
  LOCUS_TRY(const std::int64_t end, config.integer("moe_layer_end_index", -1));  // −1: the last layer
  LOCUS_TRY(const std::int64_t interval, integer_or(config, "moe_layer_interval", 1));
  LOCUS_TRY(const std::int64_t dense, config.integer("intermediate_size", 12288));
  LOCUS_TRY(const std::int64_t shared, integer_or(config, "moe_num_shared_experts", 2, 0));
  plan.spec.each([&](std::int64_t n, transformer::LayerSpec& layer) {
    layer.feed_forward.experts.shared = shared * layer.feed_forward.inner;
    if (n < start || (end != -1 && n > end) || (n + 1) % interval != 0) {
      layer.feed_forward.experts = {};
      layer.feed_forward.inner = dense;
    }
  });
  return {};
}

}  // namespace

const Family kErnie45 = [] {
  Family family = llama("ernie4_5");
  family.set({{"rms_norm_eps"}, slot::norm_eps, 1e-5});
  family.set({{"tie_word_embeddings"}, slot::tied, true});
  family.set({{"head_dim"}, slot::head_width, std::int64_t{128}});
  family.set({{"use_bias"}, slot::attention_bias, false});
  family.set({{"use_bias"}, slot::feed_forward_bias, false});
  family.fixed_fields = {{"compression_ratio", {1.0}}};  // compression of positions, in the authors' own code
  family.finish = finish_ernie;
  return family;
}();

const Family kErnie45Moe = [] {
  Family family = llama("ernie4_5_moe");
  family.fixed = [](Draft& draft) {
    draft.layer.feed_forward.experts.correction = draft.layer.feed_forward.experts.normalised = true;
  };
  family.set({{"rms_norm_eps"}, slot::norm_eps, 1e-5});
  family.set({{"tie_word_embeddings"}, slot::tied, true});
  family.set({{"moe_intermediate_size"}, slot::inner, std::int64_t{1536}});
  family.set({{"moe_num_experts", "num_experts", "num_local_experts"}, slot::experts, std::int64_t{64}});
  family.set({{"moe_k", "num_experts_per_tok"}, slot::chosen_experts, std::int64_t{6}});
  family.set(
      {{"moe_norm_min"}, +[](Draft& draft) -> double& { return draft.layer.feed_forward.experts.least_sum; }, 1e-12});
  family.fixed_fields = {{"compression_ratio", {1.0}}, {"use_bias", {false}}};
  family.finish = finish_ernie_moe;
  family.names.push_back(
      {"layers.N.feed_forward.experts.J.{gate,up,down}", "layers.N.mlp.experts.J.{gate,up,down}_proj"});
  family.names.push_back(
      {"layers.N.feed_forward.shared.{gate,up,down}", "layers.N.mlp.shared_experts.{gate,up,down}_proj"});
  family.names.push_back({"layers.N.feed_forward.router", "layers.N.mlp.gate"});
  family.names.push_back({"layers.N.feed_forward.correction", "layers.N.mlp.moe_statics.e_score_correction_bias",
                          Layout::kReshaped});  // [1, E]
  // What predicts further tokens is not run.
  family.skipped.insert(family.skipped.end(), {"model.mtp_*", "mtp_*"});
  return family;
}();

}  // namespace locus::families

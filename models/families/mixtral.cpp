// Mixtral: Llama with mixtures of experts.
#include "models/families/engine/slots.h"
#include "models/families/list.h"

namespace locus::families {

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

}  // namespace locus::families

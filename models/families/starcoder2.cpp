// StarCoder2: Llama's attention with biases, a plain feed-forward, LayerNorms, the same window in all layers.
#include "models/families/engine/slots.h"
#include "models/families/list.h"

namespace locus::families {

const Family kStarcoder2 = [] {
  Family family = llama("starcoder2");
  family.fixed = [](Draft& draft) {
    draft.spec.norm = transformer::Norm::kLayer;
    draft.layer.feed_forward.gated = false;
  };
  family.set({{"norm_epsilon"}, slot::norm_eps, 1e-5});
  family.set({{"hidden_act"}, slot::activation, "gelu_pytorch_tanh"});
  family.set({{"use_bias"}, slot::attention_bias, true});
  family.set({{"use_bias"}, slot::feed_forward_bias, true});
  family.set({{"sliding_window"}, slot::window, std::int64_t{0}});
  family.set({{"tie_word_embeddings"}, slot::tied, true});
  family.fixed_fields = {{"mlp_type", {"default"}}, {"norm_type", {"layer_norm"}}, {"scale_attn_weights", {true}}};
  family.rename({"layers.N.feed_forward.{up,down}", "layers.N.mlp.c_{fc,proj}"});
  return family;
}();

}  // namespace locus::families

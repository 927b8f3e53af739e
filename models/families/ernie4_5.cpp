// ERNIE 4.5, dense models: Llama with interleaved RoPE, and one flag for the biases of every projection.
#include "models/families/engine/slots.h"
#include "models/families/list.h"

namespace locus::families {

namespace {

Status finish_ernie(const CheckpointFiles& checkpoint, Plan& plan) {
  return set_rope(checkpoint.config, plan, 500000.0, "interleaved");
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

}  // namespace locus::families

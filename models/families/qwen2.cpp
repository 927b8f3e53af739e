// Qwen2: Llama with biases on q, k and v, and with `use_sliding_window` a window from some layer on.
#include "models/families/list.h"

namespace locus::families {

namespace {

Status finish_qwen2(const CheckpointFiles& checkpoint, Plan& plan) {
  LOCUS_CHECK(finish_llama(checkpoint, plan));
  return set_late_windows(checkpoint.config, 4096, plan.spec);
}

}  // namespace

const Family kQwen2 = [] {
  Family family = llama("qwen2");
  family.fixed = [](Draft& draft) { draft.qkv_bias = true; };
  family.refused = {"use_mrope"};
  family.finish = finish_qwen2;
  return family;
}();

}  // namespace locus::families

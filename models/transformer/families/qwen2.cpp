// Qwen2: Llama with biases on q, k and v, and a window from some layer on when `use_sliding_window` says so.
#include "models/transformer/families/list.h"
#include "models/transformer/families/llama.h"

namespace locus::families {

namespace {

Status finish_qwen2(const Checkpoint& checkpoint, Plan& plan) {
  LOCUS_CHECK(finish_llama(checkpoint, plan));
  LOCUS_TRY(const bool windowed, checkpoint.config.boolean("use_sliding_window", false));
  if (windowed) {
    LOCUS_TRY(const std::int64_t window, checkpoint.config.integer("sliding_window", 4096));
    LOCUS_TRY(const std::int64_t first, checkpoint.config.integer("max_window_layers", 28));
    plan.spec.each(
        [&](std::int64_t n, transformer::LayerSpec& layer) { layer.attention.window = n >= first ? window : 0; });
  }
  return {};
}

}  // namespace

const Family kQwen2 = [] {
  Family family = llama("qwen2");
  family.fixed = [](Draft& draft) { draft.qkv_bias = true; };
  family.finish = finish_qwen2;
  return family;
}();

}  // namespace locus::families

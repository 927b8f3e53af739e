// Qwen2: Llama with biases on q, k and v, and a window from some layer on when `use_sliding_window` says so.
#include "models/transformer/families/list.h"
#include "models/transformer/families/llama.h"

namespace locus::families {

namespace {

Result<Plan> read(const Checkpoint& checkpoint) {
  LOCUS_TRY(Plan plan, read_llama_rope(checkpoint));
  LOCUS_TRY(const bool windowed, checkpoint.config.boolean("use_sliding_window", false));
  if (windowed) {
    LOCUS_TRY(plan.spec.window, checkpoint.config.integer("sliding_window", 4096));
    LOCUS_TRY(plan.spec.window_from_layer, checkpoint.config.integer("max_window_layers", 28));
  }
  return plan;
}

}  // namespace

const Family kQwen2{"qwen2", [](const Checkpoint& checkpoint) { return model_type(checkpoint) == "qwen2"; }, read};

}  // namespace locus::families

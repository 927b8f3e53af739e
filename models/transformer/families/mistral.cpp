// Mistral: Llama with a window; query i sees keys i−w+1 … i.
#include "models/transformer/families/list.h"
#include "models/transformer/families/llama.h"

namespace locus::families {

namespace {

Result<Plan> read(const Checkpoint& checkpoint) {
  LOCUS_TRY(Plan plan, read_llama_rope(checkpoint));
  LOCUS_TRY(plan.spec.window, checkpoint.config.integer("sliding_window", 0));
  return plan;
}

}  // namespace

const Family kMistral{"mistral", [](const Checkpoint& checkpoint) { return model_type(checkpoint) == "mistral"; },
                      read};

}  // namespace locus::families

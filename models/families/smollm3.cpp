// SmolLM3: Llama without positions in every fourth layer.
#include "models/families/engine/slots.h"
#include "models/families/list.h"

namespace locus::families {

namespace {

Status finish_smollm3(const CheckpointFiles& checkpoint, Plan& plan) {
  const Config& config = checkpoint.config;
  LOCUS_CHECK(set_rope(config, plan, 2e6));
  LOCUS_CHECK(set_late_windows(config, 0, plan.spec));
  // Despite its name, 1 marks a rotary layer.
  LOCUS_TRY(const std::vector<std::int64_t> turns, layer_list(config, "no_rope_layers", plan.spec.depth()));
  LOCUS_TRY(const std::int64_t interval, integer_or(config, "no_rope_layer_interval", 4));
  plan.spec.each([&](std::int64_t n, transformer::LayerSpec& layer) {
    const bool own = turns.empty() ? (n + 1) % interval != 0 : turns[static_cast<std::size_t>(n)] != 0;
    layer.encoding = own ? 0 : -1;
  });
  return {};
}

}  // namespace

const Family kSmolLm3 = [] {
  Family family = llama("smollm3");
  family.set({{"tie_word_embeddings"}, slot::tied, true});
  family.refused = {"use_sliding_window"};
  family.finish = finish_smollm3;
  return family;
}();

}  // namespace locus::families

// HRM-Text: two stacks of layers that run again and again, L some times for each run of H, each from the sum of its state
// and the other's. Every run of a layer is a layer of the plan; runs of one layer share its tensors.
#include "models/families/engine/slots.h"
#include "models/families/list.h"

namespace locus::families {

namespace {

using transformer::Round;

void name_layer(const std::string& from, std::int64_t layer, Plan& plan) {
  const std::string to = layer_prefix("layers.", layer);
  for (const auto& [part, index] :
       {std::pair{"gate", 0}, std::pair{"query", 1}, std::pair{"key", 2}, std::pair{"value", 3}}) {
    plan.name(to + "attention." + part + ".weight", from + "attn.gqkv_proj.weight", {}, {.index = index, .of = 4});
  }
  for (const auto& [part, index] : {std::pair{"gate", 0}, std::pair{"up", 1}}) {
    plan.name(to + "feed_forward." + part + ".weight", from + "mlp.gate_up_proj.weight", {}, {.index = index, .of = 2});
  }
  plan.name(to + "attention.output", from + "attn.o_proj");
  plan.name(to + "feed_forward.down", from + "mlp.down_proj");
}

Status finish_hrm(const CheckpointFiles& checkpoint, Plan& plan) {
  const Config& config = checkpoint.config;
  LOCUS_CHECK(finish_llama(checkpoint, plan));
  const auto count = [&](const char* field, std::int64_t usual) {
    return config.has(field) ? config.integer_in(field, 1, 256) : Result<std::int64_t>(usual);
  };
  LOCUS_TRY(const std::int64_t high, count("H_cycles", 2));
  LOCUS_TRY(const std::int64_t low, count("L_cycles", 3));
  // A configuration with this field counts all runs in num_hidden_layers.
  LOCUS_TRY(const std::int64_t stack, config.has("num_layers_per_stack") ? config.integer("num_layers_per_stack")
                                                                         : Result<std::int64_t>(plan.spec.depth()));
  if (stack < 1 || stack > transformer::kMaxLayers / (high * (low + 1))) {
    return bad_input("expected at most " + std::to_string(transformer::kMaxLayers) + " runs of layers, found " +
                         std::to_string(high) + " × (" + std::to_string(low) + " + 1) × " + std::to_string(stack),
                     config.file());
  }
  plan.spec.repeat(plan.spec.first(), high * (low + 1) * stack);
  const std::string prefix = checkpoint.prefix_of({"model.", ""}, "embed_tokens.weight");
  plan.spec.each([&](std::int64_t n, transformer::LayerSpec& layer) {
    const std::int64_t own = n % stack;
    const bool upper = n / stack % (low + 1) == low;
    const bool last = own + 1 == stack;
    layer.round = !last      ? (own == 0 ? Round::kBegins : Round::kWithin)
                  : own == 0 ? (upper ? Round::kWholeHigh : Round::kWholeLow)
                             : (upper ? Round::kEndsHigh : Round::kEndsLow);
    name_layer(layer_prefix(prefix + (upper ? "H_module.layers." : "L_module.layers."), own), n, plan);
  });
  return {};
}

}  // namespace

const Family kHrmText = [] {
  Family family = llama("hrm_text");
  family.fixed = [](Draft& draft) {
    draft.layer.attention.gate.form = transformer::GateForm::kChannel;
    draft.spec.norm_weight = draft.spec.final_norm = false;
  };
  std::erase_if(family.fields, [](const Field& field) {
    return field.names.front() == "num_key_value_heads" || field.names.front() == "attention_bias";
  });
  family.set({{"head_dim"}, slot::head_width, std::int64_t{128}});
  family.set({{"embedding_scale"}, slot::embedding_scale, 50.0});
  family.refused = {"attention_bias"};
  family.finish = finish_hrm;
  family.names = {{"embedding.weight", "embed_tokens.weight"}, {"low_state", "z_L_init"}};
  // A prompt is read both ways where a caller marks it.
  family.harmless = {"prefix_lm", "L_bp_cycles"};
  return family;
}();

}  // namespace locus::families

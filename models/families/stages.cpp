// What the families of towers in stages share: Swin, Swin v2 and Hiera.
#include <cmath>

#include "models/families/list.h"

namespace locus::families {

Result<std::vector<std::int64_t>> integers_within(const Config& config, const char* field, std::size_t count,
                                                  std::int64_t least, std::int64_t most, const std::string& what) {
  LOCUS_TRY(std::vector<std::int64_t> list, config.integers(field));
  if (count > 0 && list.size() != count) {
    return bad_input("expected " + std::to_string(count) + " entries" + what + ", found " + std::to_string(list.size()),
                     config.context(field));
  }
  for (const std::int64_t entry : list) {
    if (entry < least || entry > most) {
      return bad_input(
          "expected " + std::to_string(least) + " to " + std::to_string(most) + ", found " + std::to_string(entry),
          config.context(field));
    }
  }
  return list;
}

std::string StageFields::named(const Config& config) const {
  return config.file() + ": stage " + std::to_string(stage + 1) + " of " + std::to_string(all) + ": ";
}

Result<StageFields> read_stage_fields(const CheckpointFiles& checkpoint) {
  constexpr std::int64_t kMaxWidth = std::int64_t{1} << 16;
  constexpr std::int64_t kMaxRatio = 64;
  const Config& config = checkpoint.config;
  StageFields stages;
  LOCUS_TRY(stages.depths, integers_within(config, "depths", 0, 1, transformer::kMaxLayers));
  stages.all = stages.depths.size();
  if (stages.all < 1 || stages.all > transformer::kMaxStages) {
    return bad_input(
        "expected 1 to " + std::to_string(transformer::kMaxStages) + " stages, found " + std::to_string(stages.all),
        config.context("depths"));
  }
  const std::int64_t wanted = checkpoint.stage;
  if (wanted < 0 || wanted > static_cast<std::int64_t>(stages.all)) {
    return usage("stage: expected 1 to " + std::to_string(stages.all) + ", found " + std::to_string(wanted));
  }
  stages.stage = wanted > 0 ? static_cast<std::size_t>(wanted) - 1 : stages.all - 1;
  LOCUS_TRY(stages.width, config.integer_in("embed_dim", 1, kMaxWidth >> (stages.all - 1)));
  LOCUS_TRY(stages.ratio, config.number("mlp_ratio", 4));
  if (!(stages.ratio > 0 && stages.ratio <= kMaxRatio)) {
    return bad_input("expected a number above 0, at most " + std::to_string(kMaxRatio), config.context("mlp_ratio"));
  }
  LOCUS_TRY(const std::string activation, config.text("hidden_act", "gelu"));
  LOCUS_TRY(stages.activation, transformer::parse_activation(activation));
  return stages;
}

Result<transformer::LayerSpec> stage_layer(const StageFields& stages, std::size_t n, const Config& config) {
  transformer::LayerSpec layer;
  transformer::AttentionSpec& attention = layer.attention;
  attention.heads = attention.kv_heads = stages.heads[n];
  LOCUS_TRY(attention.head_width, divided_heads(stages.width_of(n), attention.heads, config));
  layer.feed_forward.gated = false;
  layer.feed_forward.bias = true;
  layer.feed_forward.activation = stages.activation;
  layer.feed_forward.inner =
      static_cast<std::int64_t>(std::floor(stages.ratio * static_cast<double>(stages.width_of(n))));
  return layer;
}

Result<std::string> begin_stages(const StageFields& stages, const CheckpointFiles& checkpoint,
                                 transformer::Spec& spec) {
  std::string head = checkpoint.prefix_of({"", "module."}, "classifier.weight");
  LOCUS_CHECK(read_classes(checkpoint, head + "classifier.weight", spec));
  spec.head = spec.head && stages.last();
  spec.final_norm = stages.last();
  spec.width = stages.width_of(stages.stage);
  spec.norm = transformer::Norm::kLayer;
  spec.causal = spec.tied_head = false;
  spec.head_bias = true;
  spec.pool = transformer::Pool::kPatches;
  LOCUS_TRY(spec.image.channels, integer_or(checkpoint.config, "num_channels", 3));
  spec.image.class_tokens = 0;
  return head;
}

void end_at_stage(const StageFields& stages, const Config& config, const std::string& numbered,
                  const std::vector<std::string>& tensors, Plan& plan) {
  if (stages.last()) {
    return;
  }
  plan.skipped.insert(plan.skipped.end(), tensors.begin(), tensors.end());
  for (std::size_t n = stages.stage + 1; n < stages.all; ++n) {
    plan.skipped.push_back(numbered + std::to_string(n) + ".*");
  }
  plan.warnings.push_back(stages.named(config) +
                          "the outcome is its patches' states; class logits are of the last stage alone");
}

}  // namespace locus::families

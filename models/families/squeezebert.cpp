// SqueezeBERT: BERT whose matrices are convolutions over one token in groups of channels, so that a group's outputs read
// the inputs of that group alone. They are read as matrices with zeros elsewhere.
#include <array>

#include "models/families/engine/computed.h"
#include "models/families/list.h"

namespace locus::families {

namespace {

struct Grouped {
  const char* parameter;
  const char* tensor;
  const char* field;
  std::int64_t usual;
};

constexpr std::array<Grouped, 6> kGrouped{{{"attention.query", "attention.query", "q_groups", 4},
                                           {"attention.key", "attention.key", "k_groups", 4},
                                           {"attention.value", "attention.value", "v_groups", 4},
                                           {"attention.output", "post_attention.conv1d", "post_attention_groups", 1},
                                           {"feed_forward.up", "intermediate.conv1d", "intermediate_groups", 4},
                                           {"feed_forward.down", "output.conv1d", "output_groups", 4}}};

const std::vector<std::string_view> kSqueezePrefixes{"transformer.", "", "squeezebert."};

Status finish_squeezebert(const CheckpointFiles& checkpoint, Plan& plan) {
  const Config& config = checkpoint.config;
  // The layers' norms have this epsilon whatever the field says.
  LOCUS_CHECK(check_fixed_fields(config, {{"layer_norm_eps", {1e-12}}}));
  LOCUS_TRY(const std::int64_t tokens, integer_or(config, "embedding_size", plan.spec.width));
  if (tokens != plan.spec.width) {
    return unsupported("expected " + std::to_string(plan.spec.width) + ", the width, found " + std::to_string(tokens),
                       config.context("embedding_size"));
  }
  plan.spec.encodings = {{"learned", {{"length", plan.spec.trained_length}}}};
  const std::string prefix = checkpoint.prefix_of(kSqueezePrefixes, "embeddings.word_embeddings.weight");
  std::vector<OfBlocks> matrices;
  for (const Grouped& each : kGrouped) {
    LOCUS_TRY(const std::int64_t groups, integer_or(config, each.field, each.usual));
    for (std::int64_t n = 0; n < plan.spec.depth(); ++n) {
      const std::string tensor = layer_prefix(prefix + "encoder.layers.", n) + each.tensor;
      matrices.push_back({tensor + ".matrix", tensor + ".weight", groups});
    }
    plan.skipped.push_back(std::string(each.tensor) + ".weight");
  }
  return checkpoint.tensors == nullptr ? Status() : compute_blocks(checkpoint, matrices, plan);
}

// Puts the matrices and biases of a layer in place of BERT's.
void name_matrices(Family& family) {
  for (const Grouped& each : kGrouped) {
    const std::string parameter = std::string("layers.N.") + each.parameter;
    const std::string tensor = std::string("encoder.layers.N.") + each.tensor;
    family.rename({parameter, tensor});
    family.names.pop_back();
    family.names.push_back({parameter + ".weight", tensor + ".matrix"});
    family.names.push_back({parameter + ".bias", tensor + ".bias"});
  }
}

}  // namespace

const Family kSqueezebert = [] {
  Family family = bert("squeezebert");
  family.finish = finish_squeezebert;
  family.prefixes = kSqueezePrefixes;
  name_matrices(family);
  family.rename({"layers.N.attention_norm", "encoder.layers.N.post_attention.layernorm"});
  family.rename({"layers.N.feed_forward_norm", "encoder.layers.N.output.layernorm"});
  return family;
}();

}  // namespace locus::families

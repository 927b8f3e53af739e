// TAPE: Llama with `rpe_type: adape` and its ablations; every layer updates a state of positions.
#include "core/base/shown.h"
#include "models/families/list.h"

namespace locus::families {

namespace {

// The authors' names of the variants, and the corresponding options of the encoding.
Status set_variant(const std::string& type, const Config& config, Settings& options) {
  if (type == "adawoeq") {
    options.set("mixing", std::string("non-equivariant"));
  } else if (type == "adavector") {
    options.set("mixing", std::string("vector"));
  } else if (type == "adattention") {
    options.set("updates", std::string("attention"));
  } else if (type == "adamlp") {
    options.set("updates", std::string("feed-forward"));
  } else if (type != "adape" && type != "adayarn") {
    return unsupported(
        "field rpe_type: expected adape, adawoeq, adavector, adattention, adamlp or adayarn, found " + shown(type),
        config.file());
  }
  return {};
}

// RoPE with YaRN as the authors run it: s is the input's length divided by the original one; the written factor is
// ignored.
Result<Settings> authors_yarn(const Config& config) {
  LOCUS_TRY(const double base, config.number("rope_theta", 10000.0));
  LOCUS_TRY(const std::int64_t longest, config.integer("max_position_embeddings", 2048));
  LOCUS_TRY(const Config scaling, group(config, "rope_scaling"));
  LOCUS_TRY(const std::int64_t inner, scaling.integer("original_max_position_embeddings", longest));
  LOCUS_TRY(const std::int64_t original, config.integer("original_max_position_embeddings", inner));
  if (original < 1) {
    return bad_input("expected a length of at least 1, found " + std::to_string(original),
                     config.context("original_max_position_embeddings"));
  }
  return Settings{{"base", base},
                  {"scaling", std::string("yarn-turns")},
                  {"max_position_embeddings", longest},
                  {"original_max_position_embeddings", original}};
}

std::string rpe_type(const CheckpointFiles& checkpoint) {
  return text_or_nothing(checkpoint.config, "rpe_type");
}

bool recognises_tape(const CheckpointFiles& checkpoint) {
  return model_type(checkpoint) == "llama" &&
         (rpe_type(checkpoint).rfind("ada", 0) == 0 || checkpoint.find("model.layers.0.pe.up_proj.weight") != nullptr);
}

Status finish_tape(const CheckpointFiles& checkpoint, Plan& plan) {
  const std::string type = rpe_type(checkpoint).empty() ? "adape" : rpe_type(checkpoint);
  LOCUS_TRY(Settings options, type == "adayarn" ? authors_yarn(checkpoint.config) : rope_options(checkpoint.config));
  LOCUS_CHECK(set_variant(type, checkpoint.config, options));
  LOCUS_TRY(const std::int64_t size, checkpoint.config.integer("position_size", 4 * plan.spec.first().attention.heads));
  options.set("position_size", size);
  plan.spec.encodings = {{"tape", std::move(options)}};
  return {};
}

}  // namespace

const Family kTape = [] {
  Family family = llama("tape");
  family.recognises = recognises_tape;
  family.finish = finish_tape;
  for (const char* name : {"pe.up_proj", "pe.x_proj", "pe.down_proj", "post_attention_linear"}) {
    family.names.push_back({std::string("position.layers.N.") + name, std::string("layers.N.") + name + ".weight"});
  }
  return family;
}();

}  // namespace locus::families

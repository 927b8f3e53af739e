// TAPE: Llama with `rpe_type: adape` and its ablations; a state of positions that every layer renews.
#include "models/transformer/families/list.h"
#include "models/transformer/families/llama.h"

namespace locus::families {

namespace {

// The authors' names of the variants, as options of the encoding.
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
        "field rpe_type: expected adape, adawoeq, adavector, adattention, adamlp or adayarn, found " + type,
        config.file());
  }
  return {};
}

std::string rpe_type(const Checkpoint& checkpoint) {
  return text_or_nothing(checkpoint.config, "rpe_type");
}

bool recognises(const Checkpoint& checkpoint) {
  return model_type(checkpoint) == "llama" &&
         (rpe_type(checkpoint).rfind("ada", 0) == 0 || checkpoint.find("model.layers.0.pe.up_proj.weight") != nullptr);
}

Result<Plan> read(const Checkpoint& checkpoint) {
  LOCUS_TRY(Plan plan, read_llama(checkpoint));
  const std::string type = rpe_type(checkpoint).empty() ? "adape" : rpe_type(checkpoint);
  LOCUS_TRY(Settings options, rope_options(checkpoint.config));
  LOCUS_CHECK(set_variant(type, checkpoint.config, options));
  LOCUS_TRY(const std::int64_t size, checkpoint.config.integer("position_size", 4 * plan.spec.heads));
  options.set("position_size", size);
  plan.spec.encoding = "tape";
  plan.spec.encoding_options = options;
  const std::string prefix = checkpoint.prefix_of({"model.", "", "module.model."}, "embed_tokens.weight");
  for (std::int64_t n = 0; n < plan.spec.layers; ++n) {
    const std::string to = layer_prefix("position.layers.", n);
    const std::string from = layer_prefix(prefix + "layers.", n);
    for (const char* name : {"pe.up_proj", "pe.x_proj", "pe.down_proj", "post_attention_linear"}) {
      plan.bind(to + name, from + name + ".weight");
    }
  }
  return plan;
}

}  // namespace

const Family kTape{"tape", recognises, read};

}  // namespace locus::families

#include "models/families/engine/vision.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "core/base/shown.h"
#include "models/families/engine/slots.h"

namespace locus::families {

namespace {

using transformer::ConnectorKind;
using transformer::ConnectorStep;

// Defaults of fields that a text_config may omit, per model.
struct TextDefaults {
  std::string_view name;
  std::int64_t vocabulary, width, layers, heads, kv_heads, inner;
};
constexpr std::array<TextDefaults, 6> kTextDefaults{{{"llama", 32000, 4096, 32, 32, 32, 11008},
                                                     {"mistral", 32000, 4096, 32, 32, 8, 14336},
                                                     {"qwen2", 151936, 4096, 32, 32, 32, 22016},
                                                     {"gemma", 256000, 3072, 28, 16, 16, 24576},
                                                     {"gemma2", 256000, 2304, 26, 8, 4, 9216},
                                                     {"gemma3_text", 262208, 2304, 26, 8, 4, 9216}}};

void set_defaults(const Config& config, Family& text) {
  const auto own = std::find_if(kTextDefaults.begin(), kTextDefaults.end(),
                                [&](const TextDefaults& each) { return each.name == text.name; });
  if (own == kTextDefaults.end()) {
    return;
  }
  text.set({{"vocab_size"}, slot::vocabulary, own->vocabulary});
  text.set({{"hidden_size"}, slot::width, own->width});
  text.set({{"num_hidden_layers"}, slot::layers, own->layers});
  text.set({{"intermediate_size"}, slot::inner, own->inner});
  // Adds the key heads that follow from given heads: as many.
  if (!config.has("num_attention_heads")) {
    text.set({{"num_key_value_heads"}, slot::kv_heads, own->kv_heads});
  }
  text.set({{"num_attention_heads"}, slot::heads, own->heads});
}

// The table with these tensor names, read from the fields of this config.
Result<Plan> read_part(Family table, const CheckpointFiles& checkpoint, const Config& config,
                       const Spelling& spelling) {
  CheckpointFiles part = checkpoint;
  part.config = config;
  table.prefixes = spelling.prefixes;
  table.anchor = spelling.anchor.empty() ? table.anchor : spelling.anchor;
  table.recognises = nullptr;
  return table.read != nullptr ? table.read(part) : read_table(table, part, config);
}

Result<Plan> read_text(const CheckpointFiles& checkpoint, const VisionTable& table) {
  LOCUS_TRY(const Config own, group(checkpoint.config, "text_config"));
  const Config& config = table.flat && !checkpoint.config.has("text_config") ? checkpoint.config : own;
  LOCUS_TRY(Family text, table.text != nullptr ? table.text(checkpoint, config)
                                               : family_named(text_or_nothing(config, "model_type"), config));
  set_defaults(config, text);
  text.outside_prefixes = table.head_prefixes;
  LOCUS_TRY(Plan plan, read_part(std::move(text), checkpoint, config, table.text_tensors));
  // The file's tensors decide whether the head is tied, whichever of the two configs has the field.
  checkpoint.config.has("tie_word_embeddings");
  const std::vector<Binding> head = plan.bindings("head.weight");
  plan.spec.tied_head = std::none_of(head.begin(), head.end(),
                                     [&](const Binding& each) { return checkpoint.find(each.tensor) != nullptr; });
  return plan;
}

// Skips tensors whose first components none of the text's have: "vision_tower.", "model.audio_tower.".
void without_other_parts(const CheckpointFiles& checkpoint, Plan& text) {
  if (checkpoint.tensors == nullptr) {
    return;
  }
  std::set<std::string> starts;
  for (const Name& row : text.names) {
    const std::size_t layer = row.tensor.find(".N.");
    starts.insert(layer == row.tensor.npos ? row.tensor : row.tensor.substr(0, layer + 1));
  }
  for (const formats::TensorInfo& tensor : checkpoint.tensors->tensors()) {
    const bool own = std::any_of(starts.begin(), starts.end(),
                                 [&](const std::string& start) { return tensor.name.starts_with(start); });
    if (!own) {
      text.skipped.push_back(tensor.name + "*");
    }
  }
}

// The towers of CLIP and SigLIP: transformers 5 leaves the component vision_model out of their names. SigLIP's pooling
// head is no part of what a text reads.
void settle_tower_names(const CheckpointFiles& checkpoint, const Spelling& spelling, Family& tower) {
  constexpr std::string_view kComponent = "vision_model.";
  constexpr std::string_view kEmbeddings = "embeddings.";
  const auto exists = [&](std::string_view name) {
    return std::any_of(spelling.prefixes.begin(), spelling.prefixes.end(), [&](std::string_view prefix) {
      return checkpoint.find(std::string(prefix) + std::string(name)) != nullptr;
    });
  };
  if (tower.anchor.starts_with(kComponent) && !exists(tower.anchor) && exists(tower.anchor.substr(kComponent.size()))) {
    tower.anchor.remove_prefix(kComponent.size());
    for (Name& row : tower.names) {
      row.tensor.erase(0, row.tensor.starts_with(kComponent) ? kComponent.size() : 0);
    }
  }
  const std::string anchor(tower.anchor);
  if (const std::size_t at = anchor.find(kEmbeddings); tower.name.starts_with("siglip") && at != anchor.npos) {
    tower.skipped.push_back(checkpoint.prefix_of(spelling.prefixes, anchor) + anchor.substr(0, at) + "head.*");
  }
}

}  // namespace

Result<Plan> read_text_half(const CheckpointFiles& checkpoint, const std::string& why) {
  static const VisionTable kTable{
      .tower_tensors = {},
      .text_tensors = {{"model.language_model.", "language_model.model.", "model.language_model.model.",
                        "language_model.", "model.text_model.", "text_model.", "thinker.model.", "model."},
                       {}},
      .head_prefixes = {"", "language_model.", "model.", "thinker."},
      .connector_tensors = {},
  };
  LOCUS_TRY(Plan text, read_text(checkpoint, kTable));
  without_other_parts(checkpoint, text);
  text.warnings.push_back(checkpoint.config.file() + ": " + why + ": its text is read alone, pictures are off");
  return text;
}

VisionTable llava_names(std::string_view connector, VisionTable table) {
  if (table.tower_tensors.prefixes.empty()) {
    table.tower_tensors = {{"vision_tower.", "model.vision_tower."}, {}};
  }
  table.text_tensors = {{"language_model.model.", "model.language_model."}, "embed_tokens.weight"};
  table.head_prefixes = {"language_model.", ""};
  table.connector_tensors = {{"multi_modal_projector.", "model.multi_modal_projector."}, connector};
  return table;
}

Result<Plan> read_vision(const CheckpointFiles& checkpoint, const VisionTable& table) {
  LOCUS_TRY(const Config vision, group(checkpoint.config, "vision_config"));
  LOCUS_TRY(Plan text, read_text(checkpoint, table));
  auto plan = std::make_shared<VisionPlan>();
  Result<Family> known = table.tower(vision);
  if (!known.ok() && known.error().code == ErrorCode::kUnsupported) {
    without_other_parts(checkpoint, text);
    text.warnings.push_back(known.error().describe() + ": the text is read alone, pictures are off");
    return text;
  }
  LOCUS_TRY(Family tower, std::move(known));
  settle_tower_names(checkpoint, table.tower_tensors, tower);
  LOCUS_TRY(plan->tower, read_part(std::move(tower), checkpoint, vision, table.tower_tensors));
  plan->tower.spec.head = false;
  LOCUS_TRY(plan->placeholders.id, token_id(checkpoint.config, {"image_token_id", "image_token_index"}));
  LOCUS_TRY(plan->placeholders.before,
            token_id_or_none(checkpoint.config,
                             {"vision_start_token_id", "image_start_token_id", "boi_token_index", "boi_token_id"}));
  LOCUS_TRY(plan->placeholders.after, token_id_or_none(checkpoint.config, {"vision_end_token_id", "image_end_token_id",
                                                                           "eoi_token_index", "eoi_token_id"}));
  LOCUS_CHECK(table.finish(checkpoint, vision, text, *plan));
  Placeholders& kind = plan->placeholders;
  if (kind.video_id < 0) {
    const auto unread = token_id_or_none(checkpoint.config, {"video_token_id", "video_token_index"});
    kind.unread_video_id = unread.ok() && *unread != kind.id ? *unread : -1;
  }
  const std::string prefix =
      checkpoint.prefix_of(table.connector_tensors.prefixes, std::string(table.connector_tensors.anchor));
  for (Name& row : plan->names) {
    row.tensor = prefix + row.tensor;
  }
  if (!table.newline_tensors.prefixes.empty()) {
    const std::string name(table.newline_tensors.anchor);
    plan->newline = true;
    plan->names.push_back({"newline", checkpoint.prefix_of(table.newline_tensors.prefixes, name) + name});
  }
  LOCUS_CHECK(within(transformer::validate(plan->tower.spec), checkpoint.config.file()));
  text.vision = std::move(plan);
  return text;
}

Result<Family> family_named(const std::string& name, const Config& config) {
  for (const Family& family : families()) {
    if (family.name == name && family.read == nullptr) {
      return family;
    }
  }
  LOCUS_TRY(const Family* const in_file, family_in_files(name, false));
  if (in_file != nullptr) {
    return *in_file;
  }
  return unsupported("expected the text model of a family that Locus reads, found " + shown(name),
                     config.context("model_type"));
}

Result<std::int64_t> token_id(const Config& config, const std::vector<std::string_view>& names) {
  return config.integer_in(spelled(config, names), 0, std::int64_t{1} << 31);
}

Result<std::int64_t> token_id_or_none(const Config& config, const std::vector<std::string_view>& names) {
  const bool has = std::any_of(names.begin(), names.end(), [&](std::string_view name) { return config.has(name); });
  return has ? token_id(config, names) : Result<std::int64_t>(-1);
}

Result<std::vector<std::int64_t>> feature_layers(const Config& config, std::string_view field, std::int64_t fallback,
                                                 std::int64_t depth) {
  std::vector<std::int64_t> layers{fallback};
  if (config.has(field)) {
    if (config.kind(field) == "number") {
      LOCUS_TRY(layers.front(), config.integer(field));
    } else {
      LOCUS_TRY(layers, config.integers(field));
    }
  }
  for (std::int64_t& layer : layers) {
    const std::int64_t counted = layer < 0 ? depth + 1 + layer : layer;
    if (counted < 0 || counted > depth) {
      return bad_input("expected states from " + std::to_string(-depth - 1) + " to " + std::to_string(depth) +
                           ", found " + std::to_string(layer),
                       config.context(field));
    }
    layer = counted;
  }
  return layers;
}

ConnectorStep join_step(std::int64_t side, bool apart) {
  return {.kind = apart ? ConnectorKind::kJoinApart : ConnectorKind::kJoin, .size = side};
}
ConnectorStep pool_step(std::int64_t side) {
  return {.kind = ConnectorKind::kPool, .size = side};
}
ConnectorStep norm_step(std::string name, transformer::Norm norm, double eps, bool weight) {
  return {.kind = ConnectorKind::kNorm, .name = std::move(name), .weight = weight, .norm = norm, .eps = eps};
}
ConnectorStep linear_step(std::string name, std::int64_t outputs, bool bias) {
  return {.kind = ConnectorKind::kLinear, .name = std::move(name), .size = outputs, .bias = bias};
}
ConnectorStep activation_step(transformer::Activation activation) {
  return {.kind = ConnectorKind::kActivation, .activation = activation};
}
ConnectorStep halve_step(transformer::Activation activation) {
  return {.kind = ConnectorKind::kHalve, .activation = activation};
}
ConnectorStep scale_step(std::string name) {
  return {.kind = ConnectorKind::kScale, .name = std::move(name)};
}
ConnectorStep gated_step(std::string name, std::int64_t inner, transformer::Activation activation) {
  return {
      .kind = ConnectorKind::kGated, .name = std::move(name), .size = inner, .bias = false, .activation = activation};
}

}  // namespace locus::families

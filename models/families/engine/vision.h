// A vision-language family: the table of its image tower, a connector, and the table of its text model. The text model
// is a family of its own, whose fields are in text_config and whose tensors have other prefixes.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "models/families/engine/family.h"
#include "models/transformer/connector.h"

namespace locus::families {

// What tokens around pictures see beside what the text model's order says.
enum class ImageBlocks {
  kNone,    // image tokens are like any other
  kImages,  // those of a picture see each other
  kPrefix   // all tokens before those of type 1 see each other
};

// How a text holds pictures: the ids that the family's processor writes for one picture are `before`, then for each row
// of its vectors that many `id` and, where a family ends rows, `row_end` (behind the last row `last_row_end`), then
// `after`. −1: none.
struct Placeholders {
  std::int64_t id = -1;  // of each vector of a picture
  std::int64_t before = -1;
  std::int64_t after = -1;
  std::string_view before_word = {};  // of those two, where the tokenizer alone knows their ids
  std::string_view after_word = {};
  std::int64_t row_end = -1;
  std::int64_t last_row_end = -1;
  bool first = false;  // pictures stand before all other tokens, the text's own first one too
  bool tiles = false;  // a picture may be cut into tiles that are named in the text, which only its processor writes
  ImageBlocks blocks = ImageBlocks::kNone;
  std::int64_t first_position = 0;
};

// What a family makes of the part of a checkpoint that sees.
struct VisionPlan {
  Plan tower;
  transformer::ConnectorSpec connector;
  // Added to the picture's tokens after text layer 0, 1, …
  std::vector<transformer::ConnectorSpec> deepstack;
  std::vector<Name> names;  // "connector.…", and "deepstack.N.…"
  Placeholders placeholders;
};

// The files' spellings of a part, and a tensor that tells which one it is.
struct Spelling {
  std::vector<std::string_view> prefixes;
  std::string_view anchor;
};

struct VisionTable {
  // The tower's table for this vision_config, without prefixes. Errors: kUnsupported for a tower that is not known.
  Result<Family> (*tower)(const Config& vision) = nullptr;
  Spelling tower_tensors;
  Spelling text_tensors = {};
  std::vector<std::string_view> head_prefixes = {""};
  // The text's table where text_config does not say one by its model_type; what it says otherwise.
  Result<Family> (*text)(const CheckpointFiles& checkpoint, const Config& text) = nullptr;
  bool flat = false;  // without text_config, its fields lie at the top
  Spelling connector_tensors;
  // Connector, its names without prefix, deepstack and placeholders. The plan's tower and `text` are there.
  Status (*finish)(const CheckpointFiles& checkpoint, const Config& vision, Plan& text, VisionPlan& plan) = nullptr;
};

// The plan of the text, with that of the tower beside it. Errors: those of both tables.
Result<Plan> read_vision(const CheckpointFiles& checkpoint, const VisionTable& table);

// The family of that name. Errors: kUnsupported.
Result<Family> family_named(const std::string& name, const Config& config);

// An id of config.json under one of these spellings, from 0 on. Errors: kBadInput.
Result<std::int64_t> token_id(const Config& config, const std::vector<std::string_view>& names);

// The same, −1 where config.json has none of them.
Result<std::int64_t> token_id_or_none(const Config& config, const std::vector<std::string_view>& names);

// A list of states of a tower of `depth` layers, or one: −1 is the outcome of its last layer. Errors: kBadInput.
Result<std::vector<std::int64_t>> feature_layers(const Config& config, std::string_view field, std::int64_t fallback,
                                                 std::int64_t depth);

// Steps of a connector.
transformer::ConnectorStep join_step(std::int64_t side, bool apart = false);
transformer::ConnectorStep pool_step(std::int64_t side);
transformer::ConnectorStep norm_step(std::string name, transformer::Norm norm, double eps);
transformer::ConnectorStep linear_step(std::string name, std::int64_t outputs, bool bias);
transformer::ConnectorStep activation_step(transformer::Activation activation);
transformer::ConnectorStep gated_step(std::string name, std::int64_t inner, transformer::Activation activation);

}  // namespace locus::families

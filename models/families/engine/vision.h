// Vision-language families: the table of the image tower, a connector, and the table of the text model. The text model
// is a family of its own, with its fields in text_config and with other tensor prefixes.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "models/families/engine/family.h"
#include "models/image/video.h"
#include "models/transformer/connector.h"

namespace locus::families {

// Attention among the tokens around pictures, in addition to the text model's causal order.
enum class ImageBlocks {
  kNone,    // image tokens are like any other token
  kImages,  // tokens of one picture attend to each other; a window hides what is before it of the picture too
  kWithin,  // the same in the layers with a window alone
  kPrefix   // all tokens before the first token of type 1 attend to each other
};

// Placeholders of a picture in a text, as the family's processor writes them: `before`, then for each row of vectors as
// many `id` and, in families that end rows, `row_end` (`last_row_end` after the last row), then `after`. −1: none.
struct Placeholders {
  std::int64_t id = -1;               // id of each vector's placeholder
  std::int64_t video_id = -1;         // that of a video's
  std::int64_t unread_video_id = -1;  // the same of a family whose videos are not read: such a token is refused
  std::int64_t unread_sound_id = -1;  // that of a piece of sound, which is refused too
  std::int64_t before = -1;
  std::int64_t after = -1;
  std::string_view before_word = {};  // words of those two, where only the tokenizer knows their ids
  std::string_view after_word = {};
  // Words before each tile of a picture, in which {tile}, {row} and {column} are its number, row and column from 1 on,
  // before the whole picture, and behind each of these parts; the tokenizer alone knows their ids.
  std::string_view tile_word = {};
  std::string_view whole_word = {};
  bool whole_behind_tiles = false;  // a picture in one part has no whole_word
  std::string_view part_end_word = {};
  std::int64_t row_end = -1;
  std::int64_t last_row_end = -1;
  bool first = false;  // pictures come before all other tokens, including the text's first special token
  bool tiles = false;  // a picture may be cut into tiles, whose markers only the family's processor writes
  bool marks_parts() const { return !tile_word.empty() || !whole_word.empty() || !part_end_word.empty(); }
  ImageBlocks blocks = ImageBlocks::kNone;
  std::int64_t first_position = 0;
};

// The vision part of a checkpoint.
struct VisionPlan {
  Plan tower;
  transformer::ConnectorSpec connector;
  // Vectors added to the picture's tokens after text layer 0, 1, …
  std::vector<transformer::ConnectorSpec> deepstack;
  std::vector<Name> names;  // "connector.…", and "deepstack.N.…"
  // A picture is its whole and then the cells of its tiles, without those that it does not cover, with the vector
  // `newline` behind each row.
  bool newline = false;
  std::int64_t most_tiles = 0;  // of newline: more cells than of so many tiles are reduced, bilinearly; 0: none are
  Placeholders placeholders;
  image::VideoRule videos = image::VideoRule::kNone;
  double tokens_per_second = 1;  // steps of a position's time (kSeconds)
};

// Prefixes that files use for a part, and a tensor that identifies the prefix.
struct Spelling {
  std::vector<std::string_view> prefixes;
  std::string_view anchor;
};

struct VisionTable {
  // The tower's table for this vision_config, without prefixes. Errors: kUnsupported for an unknown tower.
  Result<Family> (*tower)(const Config& vision) = nullptr;
  Spelling tower_tensors = {};
  Spelling text_tensors = {};
  std::vector<std::string_view> head_prefixes = {""};
  // The text's table where the model_type of text_config does not determine it.
  Result<Family> (*text)(const CheckpointFiles& checkpoint, const Config& text) = nullptr;
  bool flat = false;  // fields of the text are at the top level, without text_config
  Spelling connector_tensors = {};
  Spelling newline_tensors = {};  // of the vector behind each row of cells; no prefixes: families without one
  // Sets connector, its names without prefix, deepstack and placeholders; the plan's tower and `text` are complete.
  Status (*finish)(const CheckpointFiles& checkpoint, const Config& vision, Plan& text, VisionPlan& plan) = nullptr;
};

// The table with the names of tensors that LLaVA's files and those of newer releases have, a connector with the tensor
// `connector` among them; a tower that has names of its own keeps those.
VisionTable llava_names(std::string_view connector, VisionTable table);

// The plan of the text, with the plan of the tower in Plan::vision; of the text alone, with a warning, where the tower is
// of an unknown kind. Errors: those of both tables.
Result<Plan> read_vision(const CheckpointFiles& checkpoint, const VisionTable& table);

// The plan of the text in text_config alone; tensors of other parts are skipped, and a warning says that pictures are off
// and why. Errors: those of the text's table.
Result<Plan> read_text_half(const CheckpointFiles& checkpoint, const std::string& why);

// The family with this name. Errors: kUnsupported.
Result<Family> family_named(const std::string& name, const Config& config);

// A token id, at least 0, under one of these spellings in config.json. Errors: kBadInput.
Result<std::int64_t> token_id(const Config& config, const std::vector<std::string_view>& names);

// The same; −1 where config.json has none of them.
Result<std::int64_t> token_id_or_none(const Config& config, const std::vector<std::string_view>& names);

// Indices of the states read of a tower with `depth` layers, from a list or a number; −1 is the output of its last
// layer. Errors: kBadInput.
Result<std::vector<std::int64_t>> feature_layers(const Config& config, std::string_view field, std::int64_t fallback,
                                                 std::int64_t depth);

// Steps of a connector.
transformer::ConnectorStep join_step(std::int64_t side, bool apart = false);
transformer::ConnectorStep pool_step(std::int64_t side);
transformer::ConnectorStep norm_step(std::string name, transformer::Norm norm, double eps, bool weight = true);
transformer::ConnectorStep linear_step(std::string name, std::int64_t outputs, bool bias);
transformer::ConnectorStep activation_step(transformer::Activation activation);
transformer::ConnectorStep halve_step(transformer::Activation activation);
transformer::ConnectorStep scale_step(std::string name);
transformer::ConnectorStep gated_step(std::string name, std::int64_t inner, transformer::Activation activation);

}  // namespace locus::families

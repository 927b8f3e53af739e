// A family: how one kind of checkpoint names its fields and tensors. It is a table — fields of config.json -> spec,
// what is fixed, tensor names <-> parameters — and a small function where a formula needs one. The same table reads a
// checkpoint and writes one. Each is one file here and one line in list.cpp.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/result.h"
#include "models/formats/config.h"
#include "models/formats/tensor_source.h"
#include "models/image/image.h"
#include "models/transformer/plan.h"
#include "models/transformer/spec.h"

namespace locus::families {

using formats::Config;
using transformer::Binding;
using transformer::CheckpointFiles;
using transformer::Layout;
using transformer::Name;
using transformer::named_by_pattern;
using transformer::Piece;
using transformer::Plan;
using transformer::spelled_out;

// What a config's fields fill: the spec, the layer that all layers start as, and how many there are.
struct Draft {
  transformer::Spec spec;
  transformer::LayerSpec layer;
  std::int64_t count = 0;
  std::int64_t plain_width = 0;  // latent attention: channels of a head that do not turn
  bool attention_bias = false;   // of q, k, v and the output
  bool qkv_bias = false;         // of q, k and v
};

// An integer that follows from others where the config does not say it: as many key heads as heads, a head of width /
// heads, an inner width of 4 · width.
inline constexpr std::int64_t kFollows = std::numeric_limits<std::int64_t>::min();

// Where a field goes (slots.h names them), and what it is when the config has none; without fallback it must be there.
using Slot = std::variant<std::int64_t& (*)(Draft&), double& (*)(Draft&), bool& (*)(Draft&),
                          transformer::Activation& (*)(Draft&)>;
using Fallback = std::variant<std::monostate, std::int64_t, double, bool, const char*>;

struct Field {
  std::vector<std::string_view> names;  // its spellings; the first is written
  Slot slot;
  Fallback fallback = {};
};

// A field with a meaning that is not read, since every checkpoint of the family that is says the same: absent, or one
// of these values. Without values it must be absent, or null. A dot leads into an object.
using FixedValue = std::variant<bool, double, const char*>;
struct FixedField {
  std::string_view name;
  std::vector<FixedValue> values = {};
};

struct Family {
  std::string_view name;
  // Whether this checkpoint is one of this family; null: its model_type is the name.
  bool (*recognises)(const CheckpointFiles& checkpoint) = nullptr;
  // Instead of everything below. Errors: kBadInput naming file, field or tensor; kUnsupported.
  Result<Plan> (*read)(const CheckpointFiles& checkpoint) = nullptr;

  void (*fixed)(Draft& draft) = nullptr;  // what the config does not say
  std::vector<Field> fields = {};
  std::vector<std::string_view> refused = {};  // flags that must not be set
  std::vector<FixedField> fixed_fields = {};
  // Encodings, layers that differ, names that depend on the file. The plan's spec has its layers.
  Status (*finish)(const CheckpointFiles& checkpoint, Plan& plan) = nullptr;
  // The fields of config.json that say what finish() read; false where the family has no such encoding.
  bool (*write_encoding)(const transformer::Spec& spec, Settings& fields) = nullptr;
  std::string_view architecture = {};  // of a written config.json

  std::vector<std::string_view> prefixes = {};  // of all names but `outside`: the first with which `anchor` is there
  std::string_view anchor = {};
  std::vector<Name> names = {};
  std::vector<Name> outside = {};  // names that only these may precede
  std::vector<std::string_view> outside_prefixes = {"", "module."};
  std::vector<std::string> skipped = {};
  // Fields of config.json that change nothing in a forward pass of this family, beside those that change nothing in any
  // (unused_fields.cpp).
  std::vector<std::string_view> harmless = {};

  // This table with other fields: each instead of the one of its slot, or behind the others.
  void set(Field field);
  // This row instead of those of its parameter, or behind the others.
  void rename(const Name& row);
};

// In the order they are asked: the special ones before those they extend.
const std::vector<Family>& families();

// The family of a checkpoint. Errors: kUnsupported naming model_type, or what was looked for.
Result<const Family*> family_of(const CheckpointFiles& checkpoint);

// Errors: kBadInput naming file, field or tensor; kUnsupported.
Result<Plan> read_plan(const Family& family, const CheckpointFiles& checkpoint);
// By the table alone, from this config.
Result<Plan> read_table(const Family& family, const CheckpointFiles& checkpoint, const Config& config);

// A checkpoint of a family as it is written: fields of config.json in the table's order, and what tensors are called.
struct Written {
  std::vector<std::pair<std::string, SettingValue>> fields;
  Plan plan;
};

// Empty where the family cannot say this spec: read back the fields must give the same one, but for how q, k and v lie.
std::optional<Written> written(const Family& family, const transformer::Spec& spec);

// Fields of config.json that nothing read, and that are not known to change nothing in a forward pass, so that no field
// is ignored in silence. Paths in the file's order. To be called when the model, its tokenizer and its pictures have
// been set up.
std::vector<std::string> unused_fields(const Family& family, const transformer::CheckpointFiles& checkpoint);

// "FILE: not used: a, b"; at most twelve are named.
std::string unused_fields_warning(const std::vector<std::string>& fields, const std::string& file);

// Errors: kUnsupported for a field that says something else, naming it, what is expected and what was found; kBadInput
// for one that is no such kind of value.
Status check_fixed_fields(const Config& config, const std::vector<FixedField>& fixed_fields);

// A text field, or "" when it is absent or something else.
std::string text_or_nothing(const Config& config, std::string_view field);

// The first of a field's spellings that is there; the first one when none is, so that errors name that one.
std::string_view spelled(const Config& config, const std::vector<std::string_view>& names);

// An object field, without fields when it is absent.
Result<Config> group(const Config& config, std::string_view field);

// config.json's model_type, or "".
std::string model_type(const CheckpointFiles& checkpoint);

// "layers.N." and the like.
std::string layer_prefix(std::string_view before, std::int64_t layer, std::string_view after = ".");

// validate(), with the file named.
Status check_spec(const transformer::Spec& spec, const Config& config);

// The draft's layers, once its fields are filled; what follows from others is worked out. Errors: kBadInput.
Result<transformer::Spec> spec_of(Draft draft, const Config& config);

// head_width = width / heads. Errors: kBadInput when the heads do not divide the width.
Result<std::int64_t> divided_heads(std::int64_t width, std::int64_t heads, const Config& config);

// An optional whole number from `least` to 2^24. Errors: kBadInput.
Result<std::int64_t> integer_or(const Config& config, std::string_view field, std::int64_t fallback,
                                std::int64_t least = 1);

// Errors: kBadInput for a list of another length than there are layers.
Status check_entries(std::size_t found, std::int64_t layers, const std::string& context);
// config.json's layer_types, one per layer; none where the field is absent. Errors: kBadInput for another length or
// kind.
Result<std::vector<std::string>> layer_types(const Config& config, std::int64_t layers);
// A list of numbers with an entry per layer; none where the field is absent.
Result<std::vector<std::int64_t>> layer_list(const Config& config, std::string_view field, std::int64_t layers);
// The window of those layers for which `windowed` says so; by layer_types where the config has them. Errors: kBadInput.
Status set_windows(const Config& config, transformer::Spec& spec, std::int64_t window,
                   const std::function<bool(std::int64_t layer)>& windowed);
// Qwen's: windows only where use_sliding_window says so, in the layers from max_window_layers on. Errors: kBadInput,
// also for layer_types that name a window without it.
Status set_late_windows(const Config& config, std::int64_t usual_window, transformer::Spec& spec);

}  // namespace locus::families

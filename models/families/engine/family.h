// Family: the field and tensor names of one kind of checkpoint. It is a table (fields of config.json -> spec, fixed
// values, tensor names <-> parameters) and a small function where a formula is needed. The same table reads and writes
// checkpoints. A family is one file in models/families and its line in list.h and list.cpp.
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

// Values filled by the fields of a config: the spec, the layer from which all layers are made, and their number.
struct Draft {
  transformer::Spec spec;
  transformer::LayerSpec layer;
  std::int64_t count = 0;
  std::int64_t plain_width = 0;  // latent attention: channels of a head without rotation
  bool attention_bias = false;   // biases of q, k, v and the output
  bool qkv_bias = false;         // biases of q, k and v
  double query_norm_eps = 0;     // epsilon of the norm of q and k; 0: that of the other norms
  std::int64_t token_width = 0;  // width of the embeddings, which may be the model's; 0: the model's
};

// Default of an integer that is derived from others: as many key heads as heads, head width = width / heads, inner
// width = 4 · width.
inline constexpr std::int64_t kFollows = std::numeric_limits<std::int64_t>::min();

// The value that a field sets (slots.h), and its value when the field is absent; without a fallback the field is
// required.
using Slot = std::variant<std::int64_t& (*)(Draft&), double& (*)(Draft&), bool& (*)(Draft&),
                          transformer::Activation& (*)(Draft&)>;
using Fallback = std::variant<std::monostate, std::int64_t, double, bool, const char*>;

struct Field {
  std::vector<std::string_view> names;  // its spellings; the first is used for writing
  Slot slot;
  Fallback fallback = {};
};

// A field that affects the result but has one supported value in all published checkpoints of the family: it must be
// absent or have one of these values. Without values it must be absent or null. A dot selects a field of an object.
using FixedValue = std::variant<bool, double, const char*>;
struct FixedField {
  std::string_view name;
  std::vector<FixedValue> values = {};
};

struct Family {
  std::string_view name;
  // Whether a checkpoint belongs to this family; null: its model_type equals the name.
  bool (*recognises)(const CheckpointFiles& checkpoint) = nullptr;
  // Replaces everything below. Errors: kBadInput naming file, field or tensor; kUnsupported.
  Result<Plan> (*read)(const CheckpointFiles& checkpoint) = nullptr;

  std::function<void(Draft& draft)> fixed = nullptr;  // sets values that config.json does not contain
  // Values of a family file, each for one of its properties: set after `fixed`, before the fields are read.
  struct Step {
    std::string_view property;
    std::function<Status(const Config& config, Draft& draft)> set;
  };
  std::vector<Step> steps = {};
  std::vector<Field> fields = {};
  std::vector<std::string_view> refused = {};  // flags that must not be set
  std::vector<FixedField> fixed_fields = {};
  // Sets encodings, layers that differ, and names that depend on the file. The plan's spec already has its layers.
  std::function<Status(const CheckpointFiles& checkpoint, Plan& plan)> finish = nullptr;
  // Writes the fields of config.json that finish() reads; false where the family has no such encoding.
  bool (*write_encoding)(const transformer::Spec& spec, Settings& fields) = nullptr;
  std::string_view architecture = {};  // `architectures` of a written config.json

  std::vector<std::string_view> prefixes =
      {};  // prefixes of all names but `outside`: the first with which `anchor` exists
  std::string_view anchor = {};
  std::vector<Name> names = {};
  std::vector<Name> outside = {};  // names without those prefixes
  std::vector<std::string_view> outside_prefixes = {"", "module."};
  std::vector<std::string> skipped = {};
  // Fields of config.json that do not affect a forward pass of this family, in addition to those of unused_fields.cpp.
  std::vector<std::string_view> harmless = {};

  // A family that a file describes (models/families/files): the file, the model types that it reads, and whether it may
  // replace a built-in family. A checkpoint with a field that nothing reads is refused.
  std::string_view file = {};
  std::vector<std::string_view> types = {};
  bool replaces = false;
  std::size_t levels = 0;   // files that inherit each other, this one included
  std::string digest = {};  // SHA-256 of a user's file and of those of the user that it inherits; empty: none is

  // Replaces the field with the same slot, or appends the field.
  void set(Field field);
  // Replaces the rows with the same parameter, or appends the row.
  void rename(const Name& row);
};

// All families in the order of recognition: a family that extends another comes before it.
const std::vector<Family>& families();

// The family of a file (models/families/files) that reads this model type; null where there is none. `replacing` looks
// for one that replaces a family of the program alone. Errors: kUnsupported naming the file that is wrong.
Result<const Family*> family_in_files(const std::string& model_type, bool replacing);

// Names what a user's family and this config say without their sizes, until a comparison with reference values has
// passed (remember_verified(), models/families/files); empty: verified, or no family of a user.
std::string unverified_by(const Family& family, const Config& config);

// The family of a checkpoint. Errors: kUnsupported naming its model_type, or its first tensors.
Result<const Family*> family_of(const CheckpointFiles& checkpoint);

// The plan of a checkpoint of this family. Errors: kBadInput naming file, field or tensor; kUnsupported.
Result<Plan> read_plan(const Family& family, const CheckpointFiles& checkpoint);
// The same by the table only, from this config.
Result<Plan> read_table(const Family& family, const CheckpointFiles& checkpoint, const Config& config);

// A checkpoint to be written: fields of config.json in the table's order, and the plan with the tensor names.
struct Written {
  std::vector<std::pair<std::string, SettingValue>> fields;
  Plan plan;
};

// Empty where the family cannot express this spec: reading the fields back must give the same spec, except for the
// layout of q, k and v.
std::optional<Written> written(const Family& family, const transformer::Spec& spec);

// Whether the field at this path is known to have no effect on a forward pass of the family.
bool is_harmless(const std::string& path, const Family& family);

// Fields of config.json that nothing has read and that are not known to be without effect, so that no field is ignored
// silently. Paths in the file's order. Call it after model, tokenizer and image preprocessing were set up.
std::vector<std::string> unused_fields(const Family& family, const transformer::CheckpointFiles& checkpoint);

// The warning "FILE: not used: a, b"; at most twelve fields are named.
std::string unused_fields_warning(const std::vector<std::string>& fields, const std::string& file);

// The error of a checkpoint that has fields which its family's file neither reads nor settles.
Error unread_by_file(const Family& family, const std::vector<std::string>& fields, const std::string& file);

// Errors: kUnsupported for a field with another value, naming field, expected and found; kBadInput for a value of
// another type.
Status check_fixed_fields(const Config& config, const std::vector<FixedField>& fixed_fields);

// A text field; "" when it is absent or has another type.
std::string text_or_nothing(const Config& config, std::string_view field);

// The first spelling that exists; the first in the list when none does, so that errors name it.
std::string_view spelled(const Config& config, const std::vector<std::string_view>& names);

// An object field; an empty object when it is absent.
Result<Config> group(const Config& config, std::string_view field);

// config.json's model_type, or "".
std::string model_type(const CheckpointFiles& checkpoint);

// "layers.N." and similar prefixes.
std::string layer_prefix(std::string_view before, std::int64_t layer, std::string_view after = ".");

// Runs validate() and names the file in its error.
Status check_spec(const transformer::Spec& spec, const Config& config);

// Makes the layers from the draft once its fields are filled, and derives the values that kFollows marks. Errors:
// kBadInput.
Result<transformer::Spec> spec_of(Draft draft, const Config& config);

// Returns width / heads. Errors: kBadInput when the heads do not divide the width.
Result<std::int64_t> divided_heads(std::int64_t width, std::int64_t heads, const Config& config);

// An optional whole number from `least` to 2^24. Errors: kBadInput.
Result<std::int64_t> integer_or(const Config& config, std::string_view field, std::int64_t fallback,
                                std::int64_t least = 1);

// Errors: kBadInput for a list whose length is not the number of layers.
Status check_entries(std::size_t found, std::int64_t layers, const std::string& context);
// config.json's layer_types, one per layer; empty where the field is absent. Errors: kBadInput for another length or
// kind.
Result<std::vector<std::string>> layer_types(const Config& config, std::int64_t layers);
// A list of numbers with an entry per layer; empty where the field is absent.
Result<std::vector<std::int64_t>> layer_list(const Config& config, std::string_view field, std::int64_t layers);
// Sets the window in the layers for which `windowed` returns true, or by layer_types where the config has them. Errors:
// kBadInput.
Status set_windows(const Config& config, transformer::Spec& spec, std::int64_t window,
                   const std::function<bool(std::int64_t layer)>& windowed);
// Qwen's rule: windows only with use_sliding_window, in the layers from max_window_layers on. Errors: kBadInput, also
// for layer_types that name a window without it.
Status set_late_windows(const Config& config, std::int64_t usual_window, transformer::Spec& spec);

}  // namespace locus::families

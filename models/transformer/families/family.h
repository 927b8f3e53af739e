// A family: how one kind of checkpoint names its fields and tensors. Each is one file here and one line in family.cpp.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "models/checkpoint/config.h"
#include "models/checkpoint/tensor_source.h"
#include "models/image/image.h"
#include "models/transformer/spec.h"

namespace locus::families {

using checkpoint::Config;

// What is on disk.
struct Checkpoint {
  std::filesystem::path path;    // as it was given
  std::filesystem::path folder;  // where its files are
  Config config;                 // config.json; empty when there is none
  checkpoint::Source tensors;

  const checkpoint::TensorInfo* find(const std::string& name) const { return tensors->find(name); }
  // The first of `prefixes` with which `name` is there; the first one when none is, so that errors name that tensor.
  std::string prefix_of(std::initializer_list<std::string_view> prefixes, const std::string& name) const;
};

// How the checkpoint holds a parameter.
enum class Layout {
  kAsIs,        // the same shape
  kTransposed,  // Conv1D: [in, out]
  kReshaped,    // the same elements in the same order, whatever the shape
};

// Transformer's parameter `parameter` is the checkpoint's tensor `tensor`.
struct Binding {
  std::string parameter;
  std::string tensor;
  Layout layout = Layout::kAsIs;
};

// What a family makes of a checkpoint: nothing is read yet but headers.
struct Plan {
  transformer::Spec spec;
  std::vector<Binding> bindings;
  // Endings of tensor names that are buffers, not weights: neither bound nor unexpected.
  std::vector<std::string> skipped;
  // Further files with weights (SeqPE's encoder), after the checkpoint's own.
  std::vector<checkpoint::Source> further;
  // Images: how a picture becomes pixels, where the checkpoint says.
  std::optional<image::Preprocessing> preprocessing;
  std::vector<std::string> warnings;

  void bind(std::string parameter, std::string tensor, Layout layout = Layout::kAsIs);
  // PARAMETER.weight from TENSOR.weight, and the biases likewise with `bias`.
  void linear(const std::string& parameter, const std::string& tensor, bool bias, Layout layout = Layout::kAsIs);
  // A norm's weight, and bias unless the spec's norm is RMSNorm.
  void norm(const std::string& parameter, const std::string& tensor);
};

struct Family {
  std::string_view name;
  // Whether this checkpoint is one of this family.
  bool (*recognises)(const Checkpoint& checkpoint);
  // Errors: kBadInput naming file, field or tensor; kUnsupported.
  Result<Plan> (*read)(const Checkpoint& checkpoint);
};

// In the order they are asked: the special ones before those they extend.
const std::vector<Family>& families();

// The family of a checkpoint. Errors: kUnsupported naming model_type, or what was looked for.
Result<const Family*> family_of(const Checkpoint& checkpoint);

// A text field, or "" when it is absent or something else.
std::string text_or_nothing(const Config& config, std::string_view field);

// The first of a field's spellings that is there; the first one when none is, so that errors name that one.
std::string_view spelled(const Config& config, std::initializer_list<std::string_view> names);

// An object field, without fields when it is absent.
Result<Config> group(const Config& config, std::string_view field);

// config.json's model_type, or "".
std::string model_type(const Checkpoint& checkpoint);

// "layers.N." and the like.
std::string layer_prefix(std::string_view before, std::int64_t layer, std::string_view after = ".");

// validate(), with the file named. Call it before binding layers.
Status check_spec(const transformer::Spec& spec, const Config& config);

// The sizes that Hugging Face's configs name alike (hidden_size, num_hidden_layers, num_attention_heads,
// intermediate_size), the norm's epsilon under its field, and hidden_act.
Status read_sizes(transformer::Spec& spec, const Config& config, std::string_view epsilon_field, double epsilon,
                  const std::string& activation);

// head_width = width / heads. Errors: kBadInput when the heads do not divide the width.
Status divide_heads(transformer::Spec& spec, const Config& config);

// RoPE's options of a Hugging Face config: rope_theta, rope_scaling with rope_type or the old type, rope_parameters.
Result<Settings> rope_options(const Config& config, double base = 10000.0);

}  // namespace locus::families

// GGUF files as checkpoints of the families they come from: their values become the fields of a config.json, their
// tensors are found under the families' names.
//
// What converters change is told of each tensor (formats::TensorInfo): Llama's q and k rows of a head come in the
// order 0, D/2, 1, D/2 + 1, …, and Gemma's norms hold 1 + weight.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "models/families/engine/family.h"
#include "models/formats/gguf/gguf_writer.h"

namespace locus::families {

// One architecture: a row of a table that is read in both directions.
struct GgufArchitecture {
  std::string_view name;        // general.architecture
  std::string_view model_type;  // of the family
  bool interleaved = false;     // rows of q and k
  bool one_added = false;       // to the weights of norms
  // Stems of tensor names and what the family calls them: "blk.N.attn_q" and "model.layers.N.self_attn.q_proj" are
  // {"attn_q", "self_attn.q_proj"}. Beside those that all architectures share.
  std::vector<std::pair<std::string_view, std::string_view>> stems = {};
};

std::span<const GgufArchitecture> gguf_architectures();

// The stems of all architectures and those of one, the latter first.
std::vector<std::pair<std::string_view, std::string_view>> gguf_stems(const GgufArchitecture& architecture);

// "blk.3.attn_q.weight" -> "model.layers.3.self_attn.q_proj.weight", and back; empty for a name that is none of them.
std::string family_name(const GgufArchitecture& architecture, std::string_view tensor);
std::string gguf_name(const GgufArchitecture& architecture, std::string_view tensor);

// Values of a GGUF file and the fields of a config.json that say the same: {"block_count", "num_hidden_layers"}.
struct GgufField {
  std::string_view value;
  std::string_view field;
  enum class Kind { kInteger, kNumber } kind = Kind::kInteger;
  bool required = false;
};
std::span<const GgufField> gguf_fields();

// `checkpoint` with the configuration and the names that its GGUF file says; any other checkpoint as it is. Errors:
// kBadInput naming the value that is missing or wrong; kUnsupported for another architecture, for experts, and for a
// kind of RoPE scaling that is not known.
Result<CheckpointFiles> adapt_gguf(CheckpointFiles checkpoint);

// The architecture that writes this family; null where none does.
const GgufArchitecture* gguf_architecture_of(std::string_view family);

// Adds the values that say this spec, and to `tables` the tensors of RoPE's divisors where it has some. Errors:
// kUnsupported for what a GGUF file of this architecture cannot say.
Status add_gguf_values(const GgufArchitecture& architecture, const transformer::Spec& spec, formats::GgufValues& values,
                       std::vector<formats::GgufOutput>& tables);

}  // namespace locus::families

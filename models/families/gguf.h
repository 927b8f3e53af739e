// GGUF files as checkpoints of existing families: their values become the fields of a config.json, and their tensors
// are found under the families' names.
//
// Changes made by converters are marked on each tensor (formats::TensorInfo): rows of Llama's q and k within a head
// come in the order 0, D/2, 1, D/2 + 1, …, and Gemma's norms hold 1 + weight.
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

// One architecture: a row of a table that is used for reading and writing.
struct GgufArchitecture {
  std::string_view name;        // value of general.architecture
  std::string_view model_type;  // of the corresponding family
  bool interleaved = false;     // rows of q and k are interleaved
  bool one_added = false;       // 1 is added to the weights of norms
  // Stems of tensor names in GGUF and in the family: "blk.N.attn_q" and "model.layers.N.self_attn.q_proj" are
  // {"attn_q", "self_attn.q_proj"}. In addition to the stems that all architectures share.
  std::vector<std::pair<std::string_view, std::string_view>> stems = {};
};

std::span<const GgufArchitecture> gguf_architectures();

// The shared stems and those of one architecture, the latter first.
std::vector<std::pair<std::string_view, std::string_view>> gguf_stems(const GgufArchitecture& architecture);

// "blk.3.attn_q.weight" -> "model.layers.3.self_attn.q_proj.weight", and back; empty for an unknown name.
std::string family_name(const GgufArchitecture& architecture, std::string_view tensor);
std::string gguf_name(const GgufArchitecture& architecture, std::string_view tensor);

// Values of a GGUF file and the equivalent fields of config.json: {"block_count", "num_hidden_layers"}.
struct GgufField {
  std::string_view value;
  std::string_view field;
  enum class Kind { kInteger, kNumber } kind = Kind::kInteger;
  bool required = false;
};
std::span<const GgufField> gguf_fields();

// `checkpoint` with the configuration and tensor names of its GGUF file; any other checkpoint unchanged. Errors:
// kBadInput naming the value that is missing or wrong; kUnsupported for an unknown architecture, for experts of
// an architecture that is not in gguf_hybrids.h, and for an unknown kind of RoPE scaling.
Result<CheckpointFiles> adapt_gguf(CheckpointFiles checkpoint);

// The architecture for writing this family; null where there is none.
const GgufArchitecture* gguf_architecture_of(std::string_view family);

// Adds the values of this spec, and to `tables` the tensor of RoPE divisors where it has one. Errors: kUnsupported for
// a spec that a GGUF file of this architecture cannot express.
Status add_gguf_values(const GgufArchitecture& architecture, const transformer::Spec& spec, formats::GgufValues& values,
                       std::vector<formats::GgufOutput>& tables);

}  // namespace locus::families

// GGUF architectures that are read, not written: those whose layers mix tokens in different ways, attention in some, a
// mixer in others, decoders that have experts, norms or names in other places than those of gguf.h, and encoders.
//
// Changes made by the converter of llama.cpp, all of which are undone: rates are stored as −e^x, vectors as matrices, a
// norm in the groups it is taken over, experts as one tensor, rows of q and k in pairs (Granite, Nemotron), norms as
// 1 + weight (Qwen), value heads in the order of their place within a key head (Qwen 3.5), the up projection of latent
// attention as two tensors (Kimi, DeepSeek), rows of q, k and v that checkpoints have head by head one after the other
// (Pythia, BLOOM, Falcon), matrices the other way round (GPT-2). Factors that Falcon-H1's matrices were multiplied with stay in them.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "models/families/gguf.h"

namespace locus::families {

using GgufFields = nlohmann::ordered_json;

// A file's values, and which tensors its layers have.
class GgufReading {
 public:
  // Errors: kBadInput for more blocks than tensors.
  static Result<GgufReading> of(const formats::TensorSource& file, std::string_view architecture);

  // Without the blocks behind the last layer, which predict further tokens.
  std::int64_t layers() const { return layers_; }
  // "ssm_in.weight" of a layer.
  const formats::TensorInfo* find(std::int64_t layer, std::string_view tensor) const;
  // The layers that have this tensor, and the first of them; null where none has.
  std::vector<bool> having(std::string_view tensor) const;
  const formats::TensorInfo* first(std::string_view tensor) const;
  // A tensor outside layers; null where there is none.
  const formats::TensorInfo* outside(std::string_view tensor) const;
  // gguf_vector() of it.
  Result<std::vector<double>> vector_outside(std::string_view tensor) const;

  bool has(std::string_view value) const;
  // A value; kBadInput where it is absent and has no fallback. A list of values of layers counts as one where all but
  // its zeros are equal; kUnsupported where they differ.
  Result<std::int64_t> integer(std::string_view value, std::optional<std::int64_t> fallback = {}) const;
  // The values of all layers, from a list or from one of them all. Errors: kBadInput for a shorter list, and for less
  // than 1.
  Result<std::vector<std::int64_t>> integers(std::string_view value) const;
  Result<double> number(std::string_view value, std::optional<double> fallback = {}) const;
  Result<bool> boolean(std::string_view value, bool fallback) const;
  Result<std::string> text(std::string_view value, std::string_view fallback) const;
  std::string context(std::string_view value) const;

  // Checks the layers that have a window, where the file lists them: all but every `period`-th. Errors: kBadInput for
  // what is no such list; kUnsupported for other layers.
  Status check_windows(std::int64_t period) const;
  // "sliding_attention" or "full_attention" for each layer: as the file lists them, else all but every `period`-th are
  // windowed. Errors: kBadInput for what is no such list.
  Result<GgufFields> window_types(std::int64_t period) const;

 private:
  GgufReading(const formats::TensorSource& file, std::string_view architecture);

  const formats::TensorSource* file_;
  std::string prefix_;
  std::int64_t layers_ = 0;
};

struct GgufHybrid {
  GgufArchitecture shared;
  // Adds the family's own fields of config.json.
  Status (*add_fields)(const GgufReading& reading, GgufFields& fields) = nullptr;
  // Names outside layers, in addition to the usual ones.
  std::vector<std::pair<std::string_view, std::string_view>> outside = {};
  // Tells two rows with the same name apart: whether the file is of this one.
  bool (*applies)(const GgufReading& reading) = nullptr;
  // What the family's names of a layer's tensors begin with, before its number.
  std::string_view layers = "model.layers.";
  // Key heads and widths of feed-forwards differ between layers: add_fields() alone reads them.
  bool own_shapes = false;
  // Whether the model does not use this tensor of a layer; null: it uses all.
  bool (*unused)(const GgufReading& reading, std::int64_t layer, std::string_view tensor) = nullptr;
};

// Also those of gguf_decoders().
const std::vector<GgufHybrid>& gguf_hybrids();
// Architectures of attention alone that are read, not written; of these, those with latent attention, and those of
// encoders and of decoders whose names are not Llama's.
const std::vector<GgufHybrid>& gguf_decoders();
std::vector<GgufHybrid> gguf_latent_decoders();
std::vector<GgufHybrid> gguf_older_models();
GgufHybrid gguf_gemma4();

// The numbers of a float32 vector; empty where the file has no such tensor. Errors: kBadInput for more than 4096
// numbers, and for one that is not above 0.
Result<std::vector<double>> gguf_vector(const formats::TensorSource& file, std::string_view name);

// Stems of names in GGUF and in the family.
using GgufStems = std::vector<std::pair<std::string_view, std::string_view>>;
GgufStems joined_stems(std::initializer_list<GgufStems> tables);
// Experts as most families name them, and those that every token uses.
GgufStems routed_experts();
GgufStems shared_experts();

// Whether experts are scored by a sigmoid, else by a soft-max. Errors: kUnsupported for another function, kBadInput
// where the file states none and there is no fallback.
Result<bool> has_sigmoid_gate(const GgufReading& reading, std::optional<bool> fallback = {});
// Errors: kUnsupported for another function than a sigmoid; none where the file states none.
Status expect_sigmoid_gate(const GgufReading& reading);

// The width of feed-forwards under the family's name, from the first one's matrix: some converters write four times the
// model's width for it. Errors: kBadInput without that matrix.
Status add_gguf_inner_width(const GgufReading& reading, GgufFields& fields, const char* field);

// Fields of experts under the family's names; `count` is set to 0 where the file has none, and no field where a name is
// empty.
Status add_gguf_experts(const GgufReading& reading, GgufFields& fields, const char* count, const char* chosen,
                        const char* inner);
// Whether the chosen weights are normalised, and their factor. Errors: kUnsupported for a router other than a sigmoid.
Status add_gguf_router(const GgufReading& reading, GgufFields& fields, const char* normalised, const char* factor);

// The fields of config.json but for vocabulary and RoPE's scaling. Errors: kBadInput naming the value that is missing
// or wrong; kUnsupported for what the family does not compute.
Status add_hybrid_fields(const GgufHybrid& hybrid, const GgufReading& reading, GgufFields& fields);

// A tensor under the family's name; "" where it has none.
struct GgufTensor {
  formats::TensorInfo info;
  std::string name;
};

// The family's tensors in a tensor of the file: several for experts, none for those of blocks behind the last layer.
// Errors: kBadInput for experts that do not divide their tensor; kTooLarge for more than 262,144.
Result<std::vector<GgufTensor>> hybrid_tensors(const GgufHybrid& hybrid, const GgufReading& reading,
                                               std::int64_t head_width, const formats::TensorInfo& tensor);

}  // namespace locus::families

// Names of a checkpoint's tensors, and how they become a transformer's parameters.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/formats/config.h"
#include "models/formats/tensor_source.h"
#include "models/image/image.h"
#include "models/transformer/spec.h"

namespace locus::families {
struct VisionPlan;
}

namespace locus::transformer {

// Files of a checkpoint.
struct CheckpointFiles {
  std::filesystem::path path;      // as it was given
  std::filesystem::path folder;    // where its files are
  formats::Config config;          // config.json; empty when there is none
  formats::Source tensors;         // null: configuration only
  std::vector<std::string> notes;  // for the warnings of the checkpoint
  std::int64_t stage = 0;          // that is wanted of a tower in stages, from 1 on; 0: the last

  const formats::TensorInfo* find(const std::string& name) const {
    return tensors == nullptr ? nullptr : tensors->find(name);
  }
  // The first of `prefixes` with which a tensor `name` exists; the first prefix when none does, so that errors name
  // that tensor.
  std::string prefix_of(const std::vector<std::string_view>& prefixes, const std::string& name) const;
};

// Storage layout of a parameter in the checkpoint.
enum class Layout {
  kAsIs,        // the same shape
  kTransposed,  // Conv1D: [in, out]
  kReshaped,    // the same elements in the same order, whatever the shape
  kPlusOne      // the parameter is 1 + the tensor (Gemma's norms)
};

// The part of the tensor that holds the parameter.
struct Piece {
  std::int64_t index = 0;    // part `index` of `of` equal ones along the rows (of the transposed tensor)
  std::int64_t of = 1;       //
  bool interleaved = false;  // every of-th row from `index` on, instead of consecutive ones
  std::int64_t blocks = 1;   // the rows come in this many equal blocks, each with its own parts (CodeGen)
  bool stacked = false;      // the tensor has one more dimension in front: of its J-th item
  bool by_item = false;      // the J-th of as many equal parts as there are parameters of the row

  bool whole() const { return of == 1 && !stacked && !by_item; }
};

// One row of names: a parameter of Transformer and the checkpoint's tensor. Words in braces expand to one row each:
// "{query,key}" and "{q,k}_proj" for query and q_proj, and key and k_proj. "N" is the layer's number, "J" an expert's
// or a head's; a row with numbers in their place is of that layer alone. A name without .weight or .bias means both (the layout applies to the weight). Of several rows with the
// same parameter, the first whose tensor exists is read; the first one is written.
struct Name {
  std::string parameter;
  std::string tensor;
  Layout layout = Layout::kAsIs;
  Piece piece = {};
};

// A row for one parameter.
struct Binding {
  std::string tensor;
  Layout layout = Layout::kAsIs;
  Piece piece = {};
  std::int64_t item = 0;  // J
};

// A checkpoint as its family interprets it; only headers have been read.
struct Plan {
  Spec spec;
  std::vector<Name> names;
  // Endings of tensor names that are no weights of this model: neither bound nor unexpected. "text_model.*" is a
  // beginning.
  std::vector<std::string> skipped;
  // Further files with weights (SeqPE's encoder), after the checkpoint's own.
  std::vector<formats::Source> further;
  // Images: preprocessing of pictures, where the checkpoint specifies it.
  std::optional<image::Preprocessing> preprocessing;
  std::vector<std::string> warnings;
  // Heads of other tasks in the file, which nothing reads: "classifier", "pooler".
  std::vector<std::string> task_heads;
  // The encoder for cross-attention; none or one.
  std::vector<Plan> encoder;
  std::int64_t start_token = 0;                        // first token of its decoder
  std::shared_ptr<const families::VisionPlan> vision;  // for text models with pictures; null: none
  bool own_names = false;                              // tensors have the names of the parameters
  std::string unverified = {};                         // of a user's family (models/families/engine/family.h)

  void name(const std::string& parameter, const std::string& tensor, Layout layout = Layout::kAsIs, Piece piece = {});
  // Possible tensors of a parameter, in the order they are searched; empty where no row names it. Old files call a
  // norm's weight and bias gamma and beta.
  std::vector<Binding> bindings(const std::string& parameter) const;
};

// The pattern of a parameter's or tensor's name: "layers.3.up_proj" -> "layers.N.up_proj".
std::string named_by_pattern(const std::string& name);

// Expands braces: "self_attn.{q,k}_proj" -> "self_attn.q_proj" and "self_attn.k_proj"; a name without braces is
// returned as it is.
std::vector<std::string> spelled_out(const std::string& name);

}  // namespace locus::transformer

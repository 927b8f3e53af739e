// What a checkpoint's tensors are called and how they become a transformer's parameters.
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

// What is on disk.
struct CheckpointFiles {
  std::filesystem::path path;    // as it was given
  std::filesystem::path folder;  // where its files are
  formats::Config config;        // config.json; empty when there is none
  formats::Source tensors;       // null: a config alone

  const formats::TensorInfo* find(const std::string& name) const {
    return tensors == nullptr ? nullptr : tensors->find(name);
  }
  // The first of `prefixes` with which `name` is there; the first one when none is, so that errors name that tensor.
  std::string prefix_of(const std::vector<std::string_view>& prefixes, const std::string& name) const;
};

// How the checkpoint holds a parameter.
enum class Layout {
  kAsIs,        // the same shape
  kTransposed,  // Conv1D: [in, out]
  kReshaped,    // the same elements in the same order, whatever the shape
  kPlusOne      // the parameter is 1 + the tensor (Gemma's norms)
};

// Which part of the tensor the parameter is.
struct Piece {
  std::int64_t index = 0;    // part `index` of `of` equal ones along the rows (of the transposed tensor)
  std::int64_t of = 1;       //
  bool interleaved = false;  // every of-th row from `index` on, instead of consecutive ones
  bool stacked = false;      // the tensor has one more dimension in front: of its J-th item

  bool whole() const { return of == 1 && !stacked; }
};

// One row of names: a parameter of Transformer and the checkpoint's tensor. Words in braces stand for a row each:
// "{query,key}" and "{q,k}_proj" for query and q_proj, and key and k_proj. "N" stands for the layer's number, "J" for
// an expert's or a head's. Without .weight or .bias at their end both are meant (the layout is the weight's). Of rows
// with the same parameter the first whose tensor is there counts; the first of them is written.
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

// What a family makes of a checkpoint: nothing is read yet but headers.
struct Plan {
  Spec spec;
  std::vector<Name> names;
  // Endings of tensor names that are no weights of this model: neither bound nor unexpected. "text_model.*":
  // beginnings.
  std::vector<std::string> skipped;
  // Further files with weights (SeqPE's encoder), after the checkpoint's own.
  std::vector<formats::Source> further;
  // Images: how a picture becomes pixels, where the checkpoint says.
  std::optional<image::Preprocessing> preprocessing;
  std::vector<std::string> warnings;
  // The encoder whose states the layers' cross-attention reads; none or one.
  std::vector<Plan> encoder;
  std::int64_t start_token = 0;                        // what its decoder begins with
  std::shared_ptr<const families::VisionPlan> vision;  // of a text model that takes pictures; null: it takes none
  bool own_names = false;                              // tensors are called as the parameters are

  void name(const std::string& parameter, const std::string& tensor, Layout layout = Layout::kAsIs, Piece piece = {});
  // What the checkpoint may call a parameter, in the order they are looked for; none where no row names it. Old files
  // call a norm's weight and bias gamma and beta.
  std::vector<Binding> bindings(const std::string& parameter) const;
};

// A parameter's or tensor's name as rows have it: "layers.3.up_proj" -> "layers.N.up_proj".
std::string named_by_pattern(const std::string& name);

// "self_attn.{q,k}_proj" -> "self_attn.q_proj" and "self_attn.k_proj"; a name without braces alone.
std::vector<std::string> spelled_out(const std::string& name);

}  // namespace locus::transformer

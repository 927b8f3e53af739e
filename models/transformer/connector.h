// Connector: from the states of an image tower to the vectors that stand in a text for the picture. It is a list of
// steps: join or pool cells of patches, norm, project.
//
// Letters: P tokens of the tower for one picture, C' their width, N vectors, C the text's width, m patches a side of a
// cell.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "models/transformer/block.h"
#include "models/transformer/spec.h"

namespace locus::transformer {

struct Parameter;

// Cells are read row by row, and the patches of a cell too.
enum class ConnectorKind {
  kJoin,       // the patches of a cell behind each other, each with all its channels
  kJoinApart,  // channel by channel, each with all patches of the cell
  kPool,       // the mean of a cell's patches
  kNorm,
  kLinear,
  kActivation,
  kGated  // down(activation(gate x) ⊙ up x)
};

struct ConnectorStep {
  ConnectorKind kind = ConnectorKind::kLinear;
  std::string name = {};  // of its parameters; empty: it has none
  std::int64_t size = 0;  // m, the width that it gives, or the inner width of kGated
  bool bias = true;       // of a norm: a LayerNorm's
  Norm norm = Norm::kLayer;
  double eps = 1e-5;
  Activation activation = Activation::kGelu;

  friend bool operator==(const ConnectorStep&, const ConnectorStep&) = default;
};

struct ConnectorSpec {
  std::vector<std::int64_t> states;  // of the tower that are read, joined along the channels: 0 enters its first layer
  bool class_tokens = false;         // whether the tower's tokens before the patches are kept
  std::vector<ConnectorStep> steps = {};

  // Patches a side that become one vector.
  std::int64_t cell() const;
  // The vectors of a picture of that many patches.
  std::int64_t count(std::int64_t rows, std::int64_t columns, std::int64_t prefix) const;
  // "join 2 × 2, norm, 128, gelu, 64".
  std::string text() const;
  friend bool operator==(const ConnectorSpec&, const ConnectorSpec&) = default;
};

class Connector {
 public:
  // Errors: kBadInput for a state that the tower has not, and for sizes that make no projection to `width`.
  static Result<Connector> create(const ConnectorSpec& spec, const Spec& tower, std::int64_t width);

  const ConnectorSpec& spec() const { return spec_; }
  std::vector<Parameter> parameters();
  void to(at::Device device);

  // Multiply-accumulates of a picture of that many patches, with `prefix` tokens before them.
  double macs(std::int64_t rows, std::int64_t columns, std::int64_t prefix) const;

  // (P, C'·states) of the states that it reads: `states` are those that enter each layer, then the tower's outcome.
  at::Tensor read(const std::vector<at::Tensor>& states, std::int64_t prefix) const;
  // (N, C) of what was read of one picture. `in_cells`: its patches come cell by cell already.
  at::Tensor operator()(const at::Tensor& read, std::int64_t rows, std::int64_t columns, bool in_cells) const;

 private:
  struct Weights {
    std::int64_t inputs = 0;
    std::int64_t outputs = 0;
    Linear linear;
    NormWeights norm;
    FeedForwardWeights gated;
  };
  Connector() = default;

  ConnectorSpec spec_;
  std::vector<Weights> weights_;  // of each step
};

}  // namespace locus::transformer

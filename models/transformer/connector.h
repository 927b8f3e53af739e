// Connector: from the states of an image tower to the vectors that represent the picture in a text. It is a list of
// steps: join or pool cells of patches, normalise, project.
//
// Letters: P tokens of the tower for one picture, C' their width, N vectors, C the text's width, m patches along a side
// of a cell.
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

// Cells are read row by row, and so are the patches of a cell.
enum class ConnectorKind {
  kJoin,       // concatenates the patches of a cell, each with all its channels
  kJoinApart,  // concatenates channel by channel, each with all patches of the cell
  kPool,       // the mean of a cell's patches
  kNorm,
  kLinear,
  kActivation,
  kGated,  // down(activation(gate x) ⊙ up x)
  kHalve,  // the first half of the channels ⊙ activation(the second half)
  kScale   // weight ⊙ x + bias, of each channel
};

struct ConnectorStep {
  ConnectorKind kind = ConnectorKind::kLinear;
  std::string name = {};  // prefix of its parameter names; empty for a step without parameters
  std::int64_t size = 0;  // m, the output width, or the inner width of kGated
  bool bias = true;       // the LayerNorm has a bias
  bool weight = true;     // the norm has a weight
  Norm norm = Norm::kLayer;
  double eps = 1e-5;
  Activation activation = Activation::kGelu;

  friend bool operator==(const ConnectorStep&, const ConnectorStep&) = default;
};

struct ConnectorSpec {
  std::vector<std::int64_t>
      states;  // tower states that are read, concatenated along the channels; 0 is the input of its first layer
  bool class_tokens = false;  // keep the tower's tokens before the patches
  std::vector<ConnectorStep> steps = {};

  // Patches along a side that become one vector.
  std::int64_t cell() const;
  // Number of vectors for a picture of that many patches.
  std::int64_t count(std::int64_t rows, std::int64_t columns, std::int64_t prefix) const;
  // A short description: "join 2 × 2, norm, 128, gelu, 64".
  std::string text() const;
  friend bool operator==(const ConnectorSpec&, const ConnectorSpec&) = default;
};

class Connector {
 public:
  // Errors: kBadInput for a state that the tower does not have, and for sizes that cannot be projected to `width`.
  static Result<Connector> create(const ConnectorSpec& spec, const Spec& tower, std::int64_t width);

  const ConnectorSpec& spec() const { return spec_; }
  std::vector<Parameter> parameters();
  void to(at::Device device);

  // Multiply-accumulates for a picture of that many patches, with `prefix` tokens before them.
  double macs(std::int64_t rows, std::int64_t columns, std::int64_t prefix) const;

  // (P, C'·states) of the states that the spec selects. `states`: the inputs of each layer, then the tower's output.
  at::Tensor read(const std::vector<at::Tensor>& states, std::int64_t prefix) const;
  // (N, C) from the output of read() for one picture. `in_cells`: the patches already come cell by cell.
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
  std::vector<Weights> weights_;  // one entry per step
};

}  // namespace locus::transformer

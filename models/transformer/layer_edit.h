// What one run does otherwise in a layer than the checkpoint says (models/edits/run_edits.h makes these).
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "core/attention/attend.h"
#include "core/position/position_encoding.h"

namespace locus::transformer {

struct LayerEdit {
  // Instead of the layer's own; caps the logits itself. Null: the layer's own.
  std::shared_ptr<const position::PositionEncoding> encoding;
  std::vector<std::int64_t> replaced;  // heads whose weights are given: a sink has no share of them
  std::vector<std::int64_t> silent;    // heads whose output is 0
  std::vector<std::int64_t> averaged;  // heads whose output is its mean over the queries

  // The layer's `sinks` (H), which may be undefined, with none for replaced heads.
  at::Tensor sinks(const at::Tensor& own) const;
  // Changes the outputs of silent and averaged heads, in place.
  void change_output(attention::Attended& attended) const;
};
using LayerEdits = std::vector<LayerEdit>;  // an entry per layer

}  // namespace locus::transformer

// From a family's plan to a transformer's weights.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/progress.h"
#include "core/base/result.h"
#include "models/formats/tensor_source.h"
#include "models/formats/tensor_table.h"
#include "models/transformer/plan.h"
#include "models/transformer/transformer.h"

namespace locus::transformer {

// A plan held against the headers: every parameter has a tensor of the right shape.
struct WeightBinding {
  struct Part {
    Parameter parameter;
    const formats::TensorInfo* tensor = nullptr;
    formats::Source source;  // keeps the mapping that `tensor` points into
    Binding binding;
  };
  std::vector<Part> parts;
  std::vector<std::string> unexpected;  // tensors that no parameter uses and that are not known buffers
  std::int64_t parameters = 0;          // elements

  // Adds the parts of another model of the same checkpoint; what both read is counted once, and unexpected is what
  // neither reads.
  void add(WeightBinding other);
};

// Errors: kBadInput naming file, tensor, expected and found, for a missing tensor or another shape; kUnsupported for a
// dtype that is no floating-point number.
Result<WeightBinding> bind_weights(Transformer& model, const Plan& plan, const CheckpointFiles& checkpoint);
Result<WeightBinding> bind_weights(const std::vector<Parameter>& parameters, const Plan& plan,
                                   const CheckpointFiles& checkpoint);

// How a model holds matrices of 16-bit numbers, or in blocks, that products alone read.
enum class Storage {
  kBySize,    // as stored, but for small models: those cost little, and products of float32 have been tuned for longer
  kAsStored,  // as they are, mapped from the file
  kConverted  // float32, in memory
};

// Bytes of the weights: float32 numbers, and what stays mapped in the file as it is and can be paged out.
struct WeightBytes {
  double converted = 0;
  double stored = 0;
  double all() const { return converted + stored; }
};
WeightBytes weight_bytes(const WeightBinding& binding, Storage storage = Storage::kBySize);

// Gives the model its weights: mapped where the file holds float32 or they stay as stored, else converted to float32.
// Returns a warning a tensor with values that are not finite. Stopped between two tensors, it leaves the rest as it
// was: load again.
std::vector<std::string> load(const WeightBinding& binding, Storage storage = Storage::kBySize,
                              const StopToken& stop = {}, const Progress& progress = {});

// The model's weights as a checkpoint of this plan holds them, under its names: bind_weights() and load() the other way
// round. q, k and v of one matrix are written as three where the plan names three.
std::vector<std::pair<std::string, at::Tensor>> stored_tensors(Transformer& model, const Plan& plan);

// The tensor as float32 of its own shape, mapped where possible (it keeps `source` alive); blocks are expanded.
at::Tensor to_tensor(const formats::TensorInfo& info, const formats::Source& source);
// Likewise with the dtype it has (int64 ids).
at::Tensor to_tensor_as_stored(const formats::TensorInfo& info, const formats::Source& source);

using formats::shape_text;

}  // namespace locus::transformer

// Weights of a transformer: from the tensors of a checkpoint, as its plan names them, and back.
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

// Tensors bound to parameters; every parameter has a tensor with the right shape.
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

  // Adds the parts of another model of the same checkpoint. Tensors read by both count once; `unexpected` keeps those
  // that neither reads.
  void add(WeightBinding other);
};

// Binds each parameter to its tensor. Errors: kBadInput naming file, tensor, expected and found, for a missing tensor
// or another shape; kUnsupported for a dtype that is not floating-point.
Result<WeightBinding> bind_weights(Transformer& model, const Plan& plan, const CheckpointFiles& checkpoint);
Result<WeightBinding> bind_weights(const std::vector<Parameter>& parameters, const Plan& plan,
                                   const CheckpointFiles& checkpoint);

// The tensor that a plan binds a parameter to; null where the checkpoint has none. Errors: those of bind_weights() for
// its shape and dtype.
Result<const formats::TensorInfo*> bound_tensor(const Parameter& parameter, const Plan& plan,
                                                const CheckpointFiles& checkpoint);

// Whether a tensor is no weight of the plan's model: one that the plan skips, or a buffer that some versions of the
// authors' code saved.
bool is_skipped(const std::string& tensor, const Plan& plan);

// Storage of matrices that only products read, in 16-bit numbers or quantised blocks.
enum class Storage {
  kBySize,    // as stored, but converted for small models, whose float32 products are faster
  kAsStored,  // mapped from the file, or copied to large pages where load() says so
  kMapped,    // mapped from the file, whatever their size
  kConverted  // float32, in memory
};

// Bytes of the weights: in memory, converted to float32 or made of several tensors; and as stored in the file, which are
// mapped and can be paged out, unless load() copies them.
struct WeightBytes {
  double converted = 0;
  double stored = 0;
  double all() const { return converted + stored; }
};
WeightBytes weight_bytes(const WeightBinding& binding, Storage storage = Storage::kBySize);

// Bytes of the same on another device than the CPU, where 16-bit numbers stay and blocks are expanded to float32.
double expanded_bytes(const WeightBinding& binding, Storage storage = Storage::kBySize);

// Whether some matrix stays in blocks whose format has fast products (products::Weights::fast).
bool has_fast_products(const WeightBinding& binding, Storage storage = Storage::kBySize);

// Loads the weights into the model: mapped where the file holds float32 or they stay as stored, else converted to
// float32. But for Storage::kMapped, mapped weights are copied to large pages (core/base/large_pages.h), where a token
// reads them faster, if all weights take at most an eighth of the memory that is left. Returns a warning for each tensor
// with values that are not finite. Can be stopped between two tensors; a later call loads everything again.
std::vector<std::string> load(const WeightBinding& binding, Storage storage = Storage::kBySize,
                              const StopToken& stop = {}, const Progress& progress = {});

// The model's weights under the names and layouts of a checkpoint of this plan: the inverse of bind_weights() and
// load(). A fused q, k, v matrix is split where the plan names three tensors.
std::vector<std::pair<std::string, at::Tensor>> stored_tensors(Transformer& model, const Plan& plan);

// The tensor as float32 with its own shape, mapped where possible (it keeps `source` alive); blocks are expanded.
at::Tensor to_tensor(const formats::TensorInfo& info, const formats::Source& source);
// The tensor with its stored dtype (int64 ids).
at::Tensor to_tensor_as_stored(const formats::TensorInfo& info, const formats::Source& source);

using formats::shape_text;

}  // namespace locus::transformer

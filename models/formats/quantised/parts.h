// The parts of quantised weights, one file each, and what they share.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "models/formats/quantised/quantised.h"
#include "models/formats/tensor_source.h"
#include "models/formats/tensor_table.h"

namespace locus::formats {

// The tensors of a source as they are taken: each weight under the name of the tensor in whose place it stands, and the
// names of all that it is made of.
struct Taken {
  const Source& source;
  const Quantisation& quantisation;
  std::map<std::string, TensorInfo, std::less<>> weights = {};
  std::set<std::string, std::less<>> used = {};

  // A weight in the place of `numbers`, made of them and of `others`.
  void add(const TensorInfo& numbers, const std::vector<const TensorInfo*>& others, TensorInfo weight) {
    used.insert(numbers.name);
    for (const TensorInfo* const other : others) {
      used.insert(other->name);
    }
    weights.emplace(numbers.name, std::move(weight));
  }
};

// 8-bit floats with float scales; experts in MXFP4; GPTQ and AWQ. Errors: those of with_whole_weights().
Status take_float8(Taken& taken);
Status take_mxfp4(Taken& taken);
Status take_int4(Taken& taken);

// The tensor `name`, which belongs to `numbers`. Errors: kBadInput where there is none.
Result<const TensorInfo*> part_of_weight(const Taken& taken, const TensorInfo& numbers, const std::string& name);

// "FILE: tensor NAME: expected X, found Y".
Error misfit(const TensorInfo& tensor, const std::string& expected);
// "F32 [2, 3]".
std::string described(const TensorInfo& tensor);
// Element n of a contiguous tensor of float32, float16 or bfloat16 numbers.
bool is_of_floats(const TensorInfo& tensor);
float float_at(const TensorInfo& tensor, std::int64_t n);

// An assembled matrix (or a stack of them) under the name of a weight; rows of `elements` numbers in blocks of `format`.
TensorInfo assembled_tensor(const TensorInfo& like, std::string name, std::vector<std::int64_t> shape,
                            const blocks::Format& format, std::shared_ptr<const AssembledRows> rows);

}  // namespace locus::formats

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

// What a refusal ends with.
inline constexpr std::string_view kInstead = ": download the model's own weights, or a GGUF file of it";

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

// 8-bit floats with float scales; experts in MXFP4; GPTQ and AWQ; whole numbers of compressed-tensors; MLX;
// bitsandbytes. Errors: those of with_whole_weights().
Status take_float8(Taken& taken);
Status take_mxfp4(Taken& taken);
Status take_int4(Taken& taken);
Status take_compressed(Taken& taken);
Status take_mlx(Taken& taken);
Status take_bitsandbytes(Taken& taken);

// The tensor `name`, which belongs to `numbers`. Errors: kBadInput where there is none.
Result<const TensorInfo*> part_of_weight(const Taken& taken, const TensorInfo& numbers, const std::string& name);

// "FILE: tensor NAME: expected X, found Y".
Error misfit(const TensorInfo& tensor, const std::string& expected);
// "F32 [2, 3]".
std::string described(const TensorInfo& tensor);
// Where the numbers of a contiguous tensor begin.
const std::byte* first_byte(const TensorInfo& tensor);
// Element n of a contiguous tensor of float32, float16 or bfloat16 numbers.
bool is_of_floats(const TensorInfo& tensor);
float float_at(const TensorInfo& tensor, std::int64_t n);
// Checks that a contiguous tensor has this shape and, with kF32, floats, else numbers of `dtype`; `of` is the weight that
// it belongs to.
Status check_part(const TensorInfo& tensor, DType dtype, const std::vector<std::int64_t>& shape, const TensorInfo& of);

// Number k of those of `bits` bits, at most 8, that follow each other from the lowest bit of the first byte on.
unsigned packed_number(const std::byte* bytes, std::int64_t k, std::int64_t bits);
// Puts number n of a block of four-bit numbers to its place behind the block's head (core/base/held_formats.h). The first
// of the two that share a byte comes first.
void put_nibble(std::byte* numbers, std::int64_t n, unsigned q);

// The longest block, of 128, 64 or 32 numbers, that cuts rows of `inputs` numbers in groups of `group`; 0 without one.
std::int64_t longest_block(std::int64_t inputs, std::int64_t group);

// An assembled matrix (or a stack of them) under the name of a weight; rows of `elements` numbers in blocks of `format`.
TensorInfo assembled_tensor(const TensorInfo& like, std::string name, std::vector<std::int64_t> shape,
                            const blocks::Format& format, std::shared_ptr<const AssembledRows> rows);

}  // namespace locus::formats

// Weights that files other than GGUF keep in few bits: numbers in one tensor, scales and more in tensors beside it,
// described by quantization_config. Here they become one tensor under the weight's own name, of which nobody else
// needs to know what it was made of.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "models/formats/config.h"
#include "models/formats/tensor_source.h"

namespace locus::formats {

// What a configuration says of its weights.
struct Quantisation {
  enum class Method { kNone, kFloat8, kMxfp4, kGptq, kAwq, kCompressed, kMlx, kBitsAndBytes };
  // The numbers that share a scale; 0: all of that direction.
  struct Block {
    std::int64_t rows = 0;
    std::int64_t columns = 0;
  };
  // Whole numbers of `bits` bits, `group` inputs of a row to a scale, 0: the whole row. kMlx with `float4`: numbers as
  // in MXFP4.
  struct Packing {
    std::int64_t bits = 4;
    std::int64_t group = 0;
    bool float4 = false;
  };

  Method method = Method::kNone;
  std::string context;            // of the configuration, for errors
  std::vector<Block> blocks;      // kFloat8, kCompressed: any of these
  std::vector<Packing> packings;  // kCompressed: any of these; kMlx: the one of modules without one of their own
  std::map<std::string, Packing, std::less<>> modules;  // kMlx: their own, by the names of modules
  // kGptq and kAwq: inputs of a group, −1: all; whether zeros are stored less one; whether inputs may be in any group.
  std::int64_t group = -1;
  bool less_one = false;
  bool any_order = false;
};

// What `quantization_config` says (or `compression_config`, that of `text_config`, or MLX's `quantization`); kNone where
// there is none.
// Errors: kUnsupported naming the method that is not read, and what to download instead; kBadInput naming the field.
Result<Quantisation> quantisation_of(const Config& config);

// The source with every quantised weight as one tensor (TensorInfo::assembled); what made it, and the scales of
// activations, which are not rounded here, are left out. Nothing but headers and groups of inputs is read. Errors:
// kBadInput naming a tensor that is missing, is of another shape or type than the weight's, or stands beside numbers that
// it does not belong to; kUnsupported for quantised weights of which the configuration says nothing.
Result<Source> with_whole_weights(const Source& source, const Quantisation& quantisation);

}  // namespace locus::formats

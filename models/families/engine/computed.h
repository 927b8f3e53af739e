// Tensors that a plan has computed from a checkpoint's own, in a source that is read after the checkpoint.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/families/engine/family.h"

namespace locus::families {

// Rows [first, first + count) of a tensor; of all rows the tensor's own where `count` is −1.
struct Rows {
  std::string tensor;
  std::int64_t first = 0;
  std::int64_t count = -1;
};

// A tensor whose rows are those of its parts, one after the other.
struct OfRows {
  std::string name;
  std::vector<Rows> parts;
};
// A single part is not copied. Errors: kBadInput for a part that is missing or has other rows than the first.
Status compute_rows(const CheckpointFiles& checkpoint, const std::vector<OfRows>& tensors, Plan& plan);

// A matrix that is zero outside its diagonal blocks, which are the rows of `tensor`, (O, I/g) in g equal blocks ->
// (O, I).
struct OfBlocks {
  std::string name;
  std::string tensor;
  std::int64_t blocks = 1;
};
// Errors: kBadInput for a tensor that is missing or whose rows the blocks do not divide; kUnsupported for more than 16.
Status compute_blocks(const CheckpointFiles& checkpoint, const std::vector<OfBlocks>& matrices, Plan& plan);

// The up projection of latent attention from two tensors: keys (H, R, D) and values (H, P, R) -> (H·(D + P), R), head by
// head the rows of its keys and those of its values.
struct OfLatent {
  std::string name;
  std::string keys;
  std::string values;
};
// Errors: kBadInput for a tensor that is missing or of another shape than the other's.
Status compute_latent(const CheckpointFiles& checkpoint, const std::vector<OfLatent>& matrices, Plan& plan);

// A convolution's kernel (C, channels, patch, patch) from a matrix (C, patch·patch·channels) of patches, in which the
// channels of a pixel stand side by side.
struct OfPatches {
  std::string name;
  std::string tensor;
  std::int64_t patch = 1;
  std::int64_t channels = 3;
};
// Errors: kBadInput for a tensor that is missing or of another shape. Precondition: sizes that validate() accepts.
Status compute_kernel(const CheckpointFiles& checkpoint, const OfPatches& kernel, Plan& plan);

// The same for pixels x from 0 to 1 of a model that sees 2·x − 1: twice the kernel as "NAME.weight", and less the sum of
// each of its rows as "NAME.bias". Errors: the same.
Status compute_centred_kernel(const CheckpointFiles& checkpoint, const OfPatches& kernel, Plan& plan);

// (factor·x − bias)·scale of each channel x as "NAME.weight"·x + "NAME.bias".
struct OfStandard {
  std::string name;
  std::string bias;
  std::string scale;
  std::int64_t channels = 1;
  double factor = 1;
};
// Errors: kBadInput for a tensor that is missing or of another shape than (channels).
Status compute_standard(const CheckpointFiles& checkpoint, const OfStandard& wanted, Plan& plan);

// The bounds (4) of what enters and leaves a product, from the numbers FROM.input_min, FROM.input_max, FROM.output_min and
// FROM.output_max; an infinite one is the largest finite number.
struct OfBounds {
  std::string name;
  std::string from;
};
// Errors: kBadInput for a number that is missing, none, or below the least; kUnsupported for its type.
Status compute_bounds(const CheckpointFiles& checkpoint, const std::vector<OfBounds>& bounds, Plan& plan);

// A row of a table, and a factor.
struct OneRow {
  std::string tensor;
  std::int64_t row = 0;
  double factor = 1;
};
// The sum of rows, (1, C), plus the vector `also` (C) where it has numbers. Errors: kBadInput for a table that is
// missing, has no such row, or another width than the first.
Status compute_sum(const CheckpointFiles& checkpoint, const std::string& name, const std::vector<OneRow>& rows,
                   Plan& plan, const std::vector<float>& also = {});

// Swin v2's attentions of cosines, whose tensors are named behind `place`, as a table and norms: "PLACE.bias_table",
// ((2W − 1)², H) of 16·σ(MLP(offset)), offsets counted in the window's, or the pretrained window's, half width and then by
// their logarithm; "PLACE.query_scale.HEAD.weight" (D), e^logit_scale, at most 100; "PLACE.key_scale.HEAD.weight" (D), 1.
struct OfCosines {
  std::string place;
  std::int64_t window = 1;      // W
  std::int64_t pretrained = 0;  // 0: W; at least 2 otherwise
  std::int64_t heads = 1;       // H
  std::int64_t head_width = 1;  // D
};
// Errors: kBadInput for a tensor that is missing or of another shape; kUnsupported for its type. Precondition: W ≤
// kMaxSwinWindow.
Status compute_cosines(const CheckpointFiles& checkpoint, const std::vector<OfCosines>& attentions, Plan& plan);
constexpr std::int64_t kMaxSwinWindow = 64;

}  // namespace locus::families

// Checks that the numbers of a run are finite. A NaN or infinity makes everything computed from it meaningless.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace locus::transformer {

// Errors of all three: kBadInput, naming `what` ("layer 3") and the first token with a number that is not finite.

// Checks x (B, T, C); `first` is the token of its first row.
Status check_numbers(const std::string& what, const at::Tensor& x, std::int64_t first);

// Checks the logarithms of the sums of a layer's scores (B, H, T) of tokens from `first` on, +∞ for rows without keys;
// undefined: no check.
Status check_sums(const std::string& what, const at::Tensor& sums, std::int64_t first = 0);

// Checks logits of any shape; −∞ (probability 0) is allowed.
Status check_logits(const at::Tensor& logits);

// Appends the first of `warnings` about the weights, if any, to the error of `result`.
template <class T>
Result<T> with_cause(Result<T> result, const std::vector<std::string>& warnings) {
  if (result.ok() || result.error().code != ErrorCode::kBadInput || warnings.empty()) {
    return result;
  }
  Error error = result.error();
  error.message += "; " + warnings.front();
  return error;
}

}  // namespace locus::transformer

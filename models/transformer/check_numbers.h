// Where a run's numbers end. What is NaN or infinite makes everything above it so, and a prediction from it says
// nothing.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace locus::transformer {

// Errors of all three: kBadInput, naming `what` ("layer 3") and the first token that is not finite.

// x (B, T, C); `first` is the token of its first row.
Status check_numbers(const std::string& what, const at::Tensor& x, std::int64_t first);

// The logarithms of the sums of a layer's scores (B, H, T), which are +∞ for rows without keys; undefined: none.
Status check_sums(const std::string& what, const at::Tensor& sums);

// Logits of any shape. Infinitely unlikely (−∞) is an answer.
Status check_logits(const at::Tensor& logits);

// Such a result with what is known of the weights: the first of `warnings` behind its error, where there is one.
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

#include "models/transformer/check_numbers.h"

#include <limits>

#include "core/products/linear.h"

namespace locus::transformer {

namespace {

constexpr const char* kWhy = ": a weight is not finite, or values exceed float32";

std::int64_t first_true(const at::Tensor& flags) {
  return flags.flatten().to(at::kLong).argmax().item<std::int64_t>();
}

}  // namespace

Status check_numbers(const std::string& what, const at::Tensor& x, std::int64_t first) {
  if (x.numel() == 0 || products::all_finite(x)) {
    return {};
  }
  const std::int64_t token = first + first_true(at::isfinite(x).all(-1).all(0).logical_not());
  return bad_input(what + ": expected finite numbers, found NaN or infinity at token " + std::to_string(token) + kWhy);
}

Status check_sums(const std::string& what, const at::Tensor& sums) {
  if (!sums.defined() || sums.numel() == 0 || products::all_finite(sums)) {
    return {};
  }
  const at::Tensor none = at::isnan(sums);  // −∞ is a row that sees nothing
  if (!none.any().item<bool>()) {
    return {};
  }
  const std::int64_t place = first_true(none[0]);
  return bad_input(what + ": expected finite scores, found NaN or infinity of head " +
                   std::to_string(place / sums.size(2)) + " at token " + std::to_string(place % sums.size(2)) + kWhy);
}

Status check_logits(const at::Tensor& logits) {
  if (logits.numel() == 0 || products::all_finite(logits)) {
    return {};
  }
  const at::Tensor none = at::isnan(logits).logical_or_(logits == std::numeric_limits<double>::infinity());
  return none.any().item<bool>()
             ? Status(bad_input(std::string("logits: expected numbers, found NaN or infinity") + kWhy))
             : Status();
}

}  // namespace locus::transformer

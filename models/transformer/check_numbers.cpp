#include "models/transformer/check_numbers.h"

#include <cmath>
#include <limits>

#include "core/products/linear.h"

namespace locus::transformer {

namespace {

constexpr const char* kWhy = ": a weight is not finite, or values exceed float32";

std::int64_t first_true(const at::Tensor& flags) {
  return flags.flatten().to(at::kLong).argmax().item<std::int64_t>();
}

// Whether the sums of tokens from `first` on are finite. Those of one token take less time than a call of ATen.
bool rows_are_finite(const at::Tensor& sums, std::int64_t first) {
  if (first == 0 || !sums.device().is_cpu() || sums.scalar_type() != at::kFloat) {
    return products::all_finite(sums.slice(2, first));
  }
  const auto rows = sums.accessor<float, 3>();
  bool finite = true;
  for (std::int64_t n = 0; n < rows.size(0); ++n) {
    for (std::int64_t head = 0; head < rows.size(1); ++head) {
      for (std::int64_t token = first; token < rows.size(2); ++token) {
        finite = finite && std::isfinite(rows[n][head][token]);
      }
    }
  }
  return finite;
}

}  // namespace

Status check_numbers(const std::string& what, const at::Tensor& x, std::int64_t first) {
  if (x.numel() == 0 || products::all_finite(x)) {
    return {};
  }
  const std::int64_t token = first + first_true(at::isfinite(x).all(-1).all(0).logical_not());
  return bad_input(what + ": expected finite numbers, found NaN or infinity at token " + std::to_string(token) + kWhy);
}

Status check_sums(const std::string& what, const at::Tensor& sums, std::int64_t first) {
  if (!sums.defined() || sums.size(2) <= first) {
    return {};
  }
  if (rows_are_finite(sums, first)) {
    return {};
  }
  const at::Tensor own = sums.slice(2, first);
  const at::Tensor none = at::isnan(own);  // −∞ is a row that sees nothing
  if (!none.any().item<bool>()) {
    return {};
  }
  const std::int64_t place = first_true(none[0]);
  return bad_input(what + ": expected finite scores, found NaN or infinity of head " +
                   std::to_string(place / own.size(2)) + " at token " + std::to_string(first + place % own.size(2)) +
                   kWhy);
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

#include "core/products/linear.h"

#include <cstdint>
#include <vector>

#include "core/products/products.h"

namespace locus::products {

namespace {

Format format_of(const at::Tensor& weight) {
  return weight.scalar_type() == at::kHalf ? Format::kHalf : Format::kBfloat16;
}

}  // namespace

bool is_stored(const at::Tensor& weight) {
  return weight.scalar_type() == at::kHalf || weight.scalar_type() == at::kBFloat16;
}

at::Tensor linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  if (!is_stored(weight)) {
    return at::linear(x, weight, bias);
  }
  const bool differentiable =
      at::GradMode::is_enabled() && (x.requires_grad() || (bias.defined() && bias.requires_grad()));
  if (differentiable || x.scalar_type() != at::kFloat || !x.device().is_cpu() || !weight.device().is_cpu()) {
    return at::linear(x, weight.to(x.scalar_type()), bias);
  }
  const at::Tensor tokens = x.reshape({-1, x.size(-1)}).contiguous();
  const at::Tensor addend = bias.defined() ? bias.to(at::kFloat).contiguous() : bias;
  std::vector<std::int64_t> shape = x.sizes().vec();
  shape.back() = weight.size(0);
  at::Tensor y = at::empty(shape, x.options());
  multiply({weight.data_ptr(), format_of(weight), weight.size(0), weight.size(1), weight.stride(0), weight.stride(1)},
           tokens.data_ptr<float>(), tokens.size(0), tokens.size(1),
           addend.defined() ? addend.data_ptr<float>() : nullptr, y.data_ptr<float>(), weight.size(0));
  return y;
}

at::Tensor rows(const at::Tensor& weight, const at::Tensor& ids) {
  const at::Tensor found = at::embedding(weight, ids);
  return is_stored(weight) ? found.to(at::kFloat) : found;
}

bool all_finite(const at::Tensor& weight) {
  if (is_stored(weight) && weight.device().is_cpu() && weight.is_non_overlapping_and_dense()) {
    return all_finite(static_cast<const std::uint16_t*>(weight.data_ptr()), weight.numel(), format_of(weight));
  }
  // A sum may overflow where no value does.
  return at::isfinite(weight.sum()).item<bool>() || at::isfinite(weight).all().item<bool>();
}

}  // namespace locus::products

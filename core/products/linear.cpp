#include "core/products/linear.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "core/products/packed.h"
#include "core/products/products.h"

namespace locus::products {

namespace {

Format format_of(const at::Tensor& weight) {
  return weight.scalar_type() == at::kFloat  ? Format::kFloat
         : weight.scalar_type() == at::kHalf ? Format::kHalf
                                             : Format::kBfloat16;
}

// Float32 weights that multiply() takes. Of few tokens ATen's product reads them at half of the memory's speed or less;
// of many, its threads are OpenBLAS's, which wait for the cores on which those of other loops still look for work. Where
// there are no vectors of 8 numbers, OpenBLAS's kernels are faster.
bool multiplies_float(const at::Tensor& x, const at::Tensor& weight) {
  const bool one_stride = weight.dim() == 2 && (weight.stride(0) == 1 || weight.stride(1) == 1);
  if (weight.scalar_type() != at::kFloat || !one_stride || x.scalar_type() != at::kFloat || !x.device().is_cpu() ||
      !weight.device().is_cpu() || x.size(-1) == 0 || (at::GradMode::is_enabled() && weight.requires_grad())) {
    return false;
  }
  return x.numel() / x.size(-1) <= kMaxTokens || used_version() > 0;
}

}  // namespace

bool is_stored(const at::Tensor& weight) {
  return packed_of(weight) != nullptr || weight.scalar_type() == at::kHalf || weight.scalar_type() == at::kBFloat16;
}

namespace {

// The part of a stored matrix that multiply() reads.
Weights weights_of(const at::Tensor& weight) {
  if (const Packed* const matrix = packed_of(weight)) {
    Weights weights;
    weights.data = matrix->data;
    weights.outputs = matrix->outputs;
    weights.inputs = matrix->inputs;
    weights.blocks = matrix->format;
    weights.fast = matrix->fast;
    return weights;
  }
  return {weight.data_ptr(), format_of(weight), weight.size(0), weight.size(1),
          weight.stride(0),  weight.stride(1),  nullptr};
}

std::int64_t interleaved(const at::Tensor& weight) {
  const Packed* const matrix = packed_of(weight);
  return matrix != nullptr ? matrix->interleaved : 0;
}

at::Tensor packed_rows(const Packed& matrix, const at::Tensor& ids) {
  const at::Tensor wanted = ids.reshape({-1}).to(at::kLong).contiguous();
  const auto* const id = wanted.data_ptr<std::int64_t>();
  at::Tensor values = at::empty({wanted.numel(), matrix.inputs}, at::kFloat);
  for (std::int64_t n = 0; n < wanted.numel(); ++n) {
    TORCH_CHECK(id[n] >= 0 && id[n] < matrix.outputs, "row ", id[n], " of ", matrix.outputs);
    blocks::expand(*matrix.format, matrix.data + place_of_row(id[n], matrix.interleaved) * matrix.row_bytes(),
                   matrix.inputs / matrix.format->elements, values.data_ptr<float>() + n * matrix.inputs);
  }
  std::vector<std::int64_t> shape = ids.sizes().vec();
  shape.push_back(matrix.inputs);
  return values.view(shape);
}

// By panels of rows; the sum of numbers of this size overflows for none that is finite.
bool packed_finite(const Packed& matrix) {
  std::atomic<bool> finite{true};
  at::parallel_for(0, matrix.outputs, 16, [&](std::int64_t begin, std::int64_t end) {
    std::vector<float> row(static_cast<std::size_t>(matrix.inputs));
    for (std::int64_t n = begin; n < end && finite; ++n) {
      blocks::expand(*matrix.format, matrix.data + n * matrix.row_bytes(), matrix.inputs / matrix.format->elements,
                     row.data());
      float sum = 0;
      for (const float value : row) {
        sum += value * 0;  // NaN for what is not finite
      }
      if (!(sum == 0)) {
        finite = false;
      }
    }
  });
  return finite;
}

// x·Wᵀ + b as W's rows lie in memory; x (…, K) and b are contiguous.
at::Tensor product(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  std::vector<std::int64_t> shape = x.sizes().vec();
  const std::int64_t inputs = shape.back();
  shape.back() = weight.size(0);
  at::Tensor y = at::empty(shape, x.options());
  const std::int64_t tokens = inputs > 0 ? x.numel() / inputs : y.numel() / std::max<std::int64_t>(1, weight.size(0));
  multiply(weights_of(weight), x.data_ptr<float>(), tokens, inputs, bias.defined() ? bias.data_ptr<float>() : nullptr,
           y.data_ptr<float>(), weight.size(0));
  return y;
}

bool floats_finite(const float* values, std::int64_t count) {
  std::atomic<bool> finite{true};
  at::parallel_for(0, count, 1 << 16, [&](std::int64_t begin, std::int64_t end) {
    unsigned found = 0;
    for (std::int64_t n = begin; n < end; ++n) {
      constexpr std::uint32_t kExponent = 0x7F800000;  // of what is not finite, all ones
      found |= static_cast<unsigned>((std::bit_cast<std::uint32_t>(values[n]) & kExponent) == kExponent);
    }
    if (found != 0) {
      finite = false;
    }
  });
  return finite;
}

}  // namespace

at::Tensor linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  if (!is_stored(weight) && !multiplies_float(x, weight)) {
    return at::linear(x, weight, bias);
  }
  const bool differentiable =
      at::GradMode::is_enabled() && (x.requires_grad() || (bias.defined() && bias.requires_grad()));
  if (!differentiable && !x.device().is_cpu() && packed_of(weight) == nullptr && x.scalar_type() == at::kFloat) {
    // A graphics card multiplies 16-bit numbers several times as fast, and adds up in float32.
    const at::ScalarType type = weight.scalar_type();
    return at::linear(x.to(type), weight, bias.defined() ? bias.to(type) : bias).to(at::kFloat);
  }
  if (differentiable || x.scalar_type() != at::kFloat || !x.device().is_cpu() || !weight.device().is_cpu()) {
    return at::linear(x, dense(weight).to(x.options()), bias);
  }
  const Packed* const matrix = packed_of(weight);
  const at::Tensor given = x.contiguous();
  if (matrix != nullptr && matrix->interleaved > 0) {
    at::Tensor y = product(given, weight, at::Tensor());
    y = ordered_outputs(y, matrix->interleaved);
    return bias.defined() ? y + bias : y;
  }
  const at::Tensor addend = bias.defined() ? bias.to(at::kFloat).contiguous() : bias;
  return product(given, weight, addend);
}

std::vector<at::Tensor> linears(const at::Tensor& x, at::ArrayRef<Matrix> matrices) {
  const bool one_token =
      x.scalar_type() == at::kFloat && x.device().is_cpu() && x.numel() == x.size(-1) && !at::GradMode::is_enabled() &&
      std::all_of(matrices.begin(), matrices.end(), [&](const Matrix& matrix) {
        return (is_stored(matrix.weight) && matrix.weight.device().is_cpu()) || multiplies_float(x, matrix.weight);
      });
  std::vector<at::Tensor> results;
  if (!one_token) {
    for (const Matrix& matrix : matrices) {
      results.push_back(linear(x, matrix.weight, matrix.bias));
    }
    return results;
  }
  const at::Tensor given = x.contiguous();
  std::vector<std::int64_t> shape = x.sizes().vec();
  std::vector<TokenProduct> products;
  std::vector<at::Tensor> biases;
  for (const Matrix& matrix : matrices) {
    shape.back() = matrix.weight.size(0);
    results.push_back(at::empty(shape, x.options()));
    biases.push_back(matrix.bias.defined() ? matrix.bias.to(at::kFloat).contiguous() : matrix.bias);
    const bool after = interleaved(matrix.weight) > 0;  // biases are in order
    products.push_back({weights_of(matrix.weight),
                        biases.back().defined() && !after ? biases.back().data_ptr<float>() : nullptr,
                        results.back().data_ptr<float>()});
  }
  multiply_token(products, given.data_ptr<float>());
  for (std::size_t n = 0; n < results.size(); ++n) {
    if (const std::int64_t heads = interleaved(matrices[n].weight); heads > 0) {
      results[n] = ordered_outputs(results[n], heads);
      results[n] = biases[n].defined() ? results[n] + biases[n] : results[n];
    }
  }
  return results;
}

at::Tensor rows(const at::Tensor& weight, const at::Tensor& ids) {
  if (const Packed* const matrix = packed_of(weight)) {
    return packed_rows(*matrix, ids);
  }
  const at::Tensor found = at::embedding(weight, ids.to(weight.device()));
  return is_stored(weight) ? found.to(at::kFloat) : found;
}

at::Tensor stored_rows(const at::Tensor& weight, const at::Tensor& ids) {
  const Packed* const matrix = packed_of(weight);
  if (matrix == nullptr) {
    return weight.index_select(0, ids.to(weight.device(), at::kLong));
  }
  const at::Tensor wanted = ids.to(at::kCPU, at::kLong).contiguous();
  const auto* const id = wanted.data_ptr<std::int64_t>();
  const auto bytes = static_cast<std::size_t>(matrix->row_bytes());
  auto held = std::make_shared<std::vector<std::byte>>(static_cast<std::size_t>(wanted.numel()) * bytes);
  for (std::int64_t n = 0; n < wanted.numel(); ++n) {
    TORCH_CHECK(id[n] >= 0 && id[n] < matrix->outputs, "row ", id[n], " of ", matrix->outputs);
    std::memcpy(held->data() + static_cast<std::size_t>(n) * bytes,
                matrix->data + place_of_row(id[n], matrix->interleaved) * matrix->row_bytes(), bytes);
  }
  Packed some = *matrix;
  some.data = held->data();
  some.outputs = wanted.numel();
  some.interleaved = 0;
  some.owner = held;
  return packed_tensor(std::move(some));
}

bool all_finite(const at::Tensor& weight) {
  if (const Packed* const matrix = packed_of(weight)) {
    return packed_finite(*matrix);
  }
  if (is_stored(weight) && weight.device().is_cpu() && weight.is_non_overlapping_and_dense()) {
    return all_finite(static_cast<const std::uint16_t*>(weight.data_ptr()), weight.numel(), format_of(weight));
  }
  if (weight.scalar_type() == at::kFloat && weight.device().is_cpu() && weight.is_non_overlapping_and_dense()) {
    return floats_finite(weight.data_ptr<float>(), weight.numel());
  }
  // A sum may overflow where no value does.
  return at::isfinite(weight.sum()).item<bool>() || at::isfinite(weight).all().item<bool>();
}

}  // namespace locus::products

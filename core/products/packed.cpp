#include "core/products/packed.h"

#include <ATen/OpaqueTensorImpl.h>
#include <ATen/Parallel.h>

#include <utility>

namespace locus::products {

namespace {

using Handle = std::shared_ptr<const Packed>;
using PackedImpl = at::OpaqueTensorImpl<Handle>;

}  // namespace

at::Tensor packed_tensor(Packed matrix) {
  const std::vector<std::int64_t> shape{matrix.outputs, matrix.inputs};
  return at::detail::make_tensor<PackedImpl>(c10::DispatchKeySet(c10::DispatchKey::CPU),
                                             caffe2::TypeMeta::Make<std::uint8_t>(), c10::Device(c10::kCPU),
                                             std::make_shared<const Packed>(std::move(matrix)), shape);
}

const Packed* packed_of(const at::Tensor& weight) {
  if (!weight.defined() || weight.has_storage()) {
    return nullptr;
  }
  auto* const impl = dynamic_cast<PackedImpl*>(weight.unsafeGetTensorImpl());
  return impl == nullptr ? nullptr : impl->opaque_handle().get();
}

at::Tensor dense(const at::Tensor& weight) {
  const Packed* const matrix = packed_of(weight);
  if (matrix == nullptr) {
    return weight;
  }
  at::Tensor values = at::empty({matrix->outputs, matrix->inputs}, at::kFloat);
  auto* const out = values.data_ptr<float>();
  at::parallel_for(0, matrix->outputs, 64, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t n = begin; n < end; ++n) {
      blocks::expand(*matrix->format, matrix->data + place_of_row(n, matrix->interleaved) * matrix->row_bytes(),
                     matrix->inputs / matrix->format->elements, out + n * matrix->inputs);
    }
  });
  return values;
}

at::Tensor with_fast_products(const at::Tensor& weight) {
  const Packed* const matrix = packed_of(weight);
  if (matrix == nullptr) {
    return weight;
  }
  Packed fast = *matrix;
  fast.fast = true;
  return packed_tensor(std::move(fast));
}

at::Tensor narrow_rows(const at::Tensor& weight, std::int64_t begin, std::int64_t end) {
  const Packed* const matrix = packed_of(weight);
  if (matrix == nullptr) {
    return weight.narrow(0, begin, end - begin);
  }
  Packed part = *matrix;
  part.data += begin * part.row_bytes();
  part.outputs = end - begin;
  return packed_tensor(std::move(part));
}

std::int64_t place_of_row(std::int64_t row, std::int64_t interleaved) {
  if (interleaved == 0) {
    return row;
  }
  const std::int64_t half = interleaved / 2;
  const std::int64_t within = row % interleaved;
  return row - within + within % half * 2 + within / half;
}

at::Tensor ordered_rows(const at::Tensor& rows, std::int64_t interleaved) {
  if (interleaved == 0) {
    return rows;
  }
  return rows.unflatten(0, {-1, interleaved / 2, 2}).transpose(1, 2).flatten(0, 2).contiguous();
}

at::Tensor ordered_outputs(const at::Tensor& outputs, std::int64_t interleaved) {
  if (interleaved == 0) {
    return outputs;
  }
  if (outputs.numel() == outputs.size(-1) && outputs.scalar_type() == at::kFloat && outputs.is_contiguous()) {
    at::Tensor ordered = at::empty_like(outputs);
    const float* const from = outputs.data_ptr<float>();
    float* const to = ordered.data_ptr<float>();
    const std::int64_t half = interleaved / 2;
    for (std::int64_t head = 0; head < outputs.numel(); head += interleaved) {
      for (std::int64_t n = 0; n < half; ++n) {
        to[head + n] = from[head + 2 * n];
        to[head + half + n] = from[head + 2 * n + 1];
      }
    }
    return ordered;
  }
  return outputs.unflatten(-1, {-1, interleaved / 2, 2}).transpose(-1, -2).flatten(-3).contiguous();
}

}  // namespace locus::products

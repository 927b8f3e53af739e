#include "models/families/engine/computed.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>

#include "models/formats/tensor_table.h"
#include "models/transformer/weights.h"

namespace locus::families {

namespace {

using formats::TensorInfo;

Result<const TensorInfo*> stored(const CheckpointFiles& checkpoint, const std::string& name) {
  const TensorInfo* const tensor = checkpoint.find(name);
  if (tensor == nullptr || tensor->shape.empty()) {
    return bad_input(tensor == nullptr ? "expected a tensor, found none" : "expected rows, found a single number",
                     checkpoint.path.string() + ": tensor " + name);
  }
  return tensor;
}

Error other_shape(const TensorInfo& tensor, const std::string& expected) {
  return bad_input("expected " + expected + ", found " + formats::shape_text(tensor.shape),
                   formats::tensor_context(tensor.file, tensor.name));
}

Result<formats::DType> dtype_of(const at::Tensor& value, const TensorInfo& like) {
  switch (value.scalar_type()) {
    case at::kFloat:
      return formats::DType::kF32;
    case at::kHalf:
      return formats::DType::kF16;
    case at::kBFloat16:
      return formats::DType::kBF16;
    case at::kDouble:
      return formats::DType::kF64;
    default:
      return unsupported("expected floating-point weights, found " + std::string(like.type_name()),
                         formats::tensor_context(like.file, like.name));
  }
}

// Adds a tensor, which the table keeps.
Status add(const std::string& name, const TensorInfo& like, const at::Tensor& value, formats::TensorTable& table) {
  const auto kept = std::make_shared<const at::Tensor>(value.contiguous());
  TensorInfo info;
  info.name = name;
  info.file = like.file;
  LOCUS_TRY(info.dtype, dtype_of(*kept, like));
  info.shape.assign(kept->sizes().begin(), kept->sizes().end());
  std::int64_t count = 0;
  if (!formats::row_major(info.shape, info.strides, count)) {
    return other_shape(info, "a tensor whose size can be counted");
  }
  info.storage = {static_cast<const std::byte*>(kept->data_ptr()), kept->nbytes()};
  table.owners.push_back(kept);
  table.tensors.push_back(std::move(info));
  return {};
}

Status finish(formats::TensorTable table, Plan& plan) {
  LOCUS_TRY(formats::Source source, formats::make_source(std::move(table)));
  plan.further.push_back(std::move(source));
  return {};
}

}  // namespace

Status compute_rows(const CheckpointFiles& checkpoint, const std::vector<OfRows>& tensors, Plan& plan) {
  formats::TensorTable table;
  for (const OfRows& wanted : tensors) {
    std::vector<at::Tensor> parts;
    const TensorInfo* first = nullptr;
    for (const Rows& rows : wanted.parts) {
      LOCUS_TRY(const TensorInfo* const tensor, stored(checkpoint, rows.tensor));
      first = first == nullptr ? tensor : first;
      const std::int64_t count = rows.count < 0 ? tensor->shape.front() - rows.first : rows.count;
      if (count < 0 || rows.first < 0 || rows.first > tensor->shape.front() - count) {
        return other_shape(*tensor,
                           "at least " + std::to_string(rows.first + std::max<std::int64_t>(count, 0)) + " rows");
      }
      if (tensor->dtype != first->dtype || tensor->shape.size() != first->shape.size() ||
          !std::equal(tensor->shape.begin() + 1, tensor->shape.end(), first->shape.begin() + 1)) {
        return other_shape(*tensor,
                           "rows of the type and shape of " + first->name + " " + formats::shape_text(first->shape));
      }
      parts.push_back(transformer::to_tensor_as_stored(*tensor, checkpoint.tensors).narrow(0, rows.first, count));
    }
    if (first != nullptr) {
      LOCUS_CHECK(add(wanted.name, *first, parts.size() == 1 ? parts.front() : at::cat(parts), table));
    }
  }
  return finish(std::move(table), plan);
}

Status compute_blocks(const CheckpointFiles& checkpoint, const std::vector<OfBlocks>& matrices, Plan& plan) {
  constexpr std::int64_t kMaxBlocks = 16;  // a matrix grows by their number
  formats::TensorTable table;
  for (const OfBlocks& wanted : matrices) {
    LOCUS_TRY(const TensorInfo* const tensor, stored(checkpoint, wanted.tensor));
    const std::string where = formats::tensor_context(tensor->file, tensor->name);
    if (wanted.blocks < 1 || wanted.blocks > kMaxBlocks) {
      return unsupported(
          "expected 1 to " + std::to_string(kMaxBlocks) + " groups of channels, found " + std::to_string(wanted.blocks),
          where);
    }
    if (tensor->shape.size() < 2 || tensor->shape.front() % wanted.blocks != 0) {
      return other_shape(*tensor, "a matrix with rows in " + std::to_string(wanted.blocks) + " equal groups");
    }
    const at::Tensor value = transformer::to_tensor_as_stored(*tensor, checkpoint.tensors).flatten(1);
    LOCUS_CHECK(add(wanted.name, *tensor, at::block_diag(value.chunk(wanted.blocks)), table));
  }
  return finish(std::move(table), plan);
}

Status compute_latent(const CheckpointFiles& checkpoint, const std::vector<OfLatent>& matrices, Plan& plan) {
  formats::TensorTable table;
  for (const OfLatent& wanted : matrices) {
    LOCUS_TRY(const TensorInfo* const keys, stored(checkpoint, wanted.keys));
    LOCUS_TRY(const TensorInfo* const values, stored(checkpoint, wanted.values));
    if (keys->shape.size() != 3) {
      return other_shape(*keys, "heads of matrices");
    }
    if (values->shape.size() != 3 || values->shape[0] != keys->shape[0] || values->shape[2] != keys->shape[1]) {
      return other_shape(*values, "heads of matrices that fit " + formats::shape_text(keys->shape));
    }
    const at::Tensor key_rows = transformer::to_tensor_as_stored(*keys, checkpoint.tensors).transpose(1, 2);
    const at::Tensor value_rows = transformer::to_tensor_as_stored(*values, checkpoint.tensors);
    const at::Tensor rows = at::cat({key_rows.to(at::kFloat), value_rows.to(at::kFloat)}, 1);
    LOCUS_CHECK(add(wanted.name, *keys, rows.flatten(0, 1), table));
  }
  return finish(std::move(table), plan);
}

namespace {

Result<const TensorInfo*> patch_matrix(const CheckpointFiles& checkpoint, const OfPatches& kernel) {
  LOCUS_TRY(const TensorInfo* const tensor, stored(checkpoint, kernel.tensor));
  const std::int64_t columns = kernel.patch * kernel.patch * kernel.channels;
  if (tensor->shape.size() != 2 || tensor->shape.back() != columns) {
    return other_shape(*tensor, "rows of " + std::to_string(columns) + " numbers");
  }
  return tensor;
}

// (C, channels, patch, patch) of such a matrix.
at::Tensor kernel_of(const at::Tensor& matrix, const OfPatches& kernel) {
  return matrix.reshape({matrix.size(0), kernel.patch, kernel.patch, kernel.channels}).permute({0, 3, 1, 2});
}

}  // namespace

Status compute_kernel(const CheckpointFiles& checkpoint, const OfPatches& kernel, Plan& plan) {
  formats::TensorTable table;
  LOCUS_TRY(const TensorInfo* const tensor, patch_matrix(checkpoint, kernel));
  const at::Tensor value = transformer::to_tensor_as_stored(*tensor, checkpoint.tensors);
  LOCUS_CHECK(add(kernel.name, *tensor, kernel_of(value, kernel), table));
  return finish(std::move(table), plan);
}

Status compute_centred_kernel(const CheckpointFiles& checkpoint, const OfPatches& kernel, Plan& plan) {
  formats::TensorTable table;
  LOCUS_TRY(const TensorInfo* const tensor, patch_matrix(checkpoint, kernel));
  const at::Tensor own = transformer::to_tensor_as_stored(*tensor, checkpoint.tensors);
  LOCUS_CHECK(dtype_of(own, *tensor));
  const at::Tensor value = own.to(at::kDouble);
  LOCUS_CHECK(add(kernel.name + ".weight", *tensor, (kernel_of(value, kernel) * 2).to(at::kFloat), table));
  LOCUS_CHECK(add(kernel.name + ".bias", *tensor, (-value.sum(1)).to(at::kFloat), table));
  return finish(std::move(table), plan);
}

Status compute_standard(const CheckpointFiles& checkpoint, const OfStandard& wanted, Plan& plan) {
  LOCUS_TRY(const TensorInfo* const bias, stored(checkpoint, wanted.bias));
  LOCUS_TRY(const TensorInfo* const scale, stored(checkpoint, wanted.scale));
  const std::vector<std::int64_t> shape{wanted.channels};
  for (const TensorInfo* const each : {bias, scale}) {
    if (each->shape != shape) {
      return other_shape(*each, "shape " + formats::shape_text(shape));
    }
    LOCUS_CHECK(dtype_of(transformer::to_tensor_as_stored(*each, checkpoint.tensors), *each));
  }
  const at::Tensor shift = transformer::to_tensor(*bias, checkpoint.tensors).to(at::kDouble);
  const at::Tensor factor = transformer::to_tensor(*scale, checkpoint.tensors).to(at::kDouble);
  formats::TensorTable table;
  LOCUS_CHECK(add(wanted.name + ".weight", *scale, (factor * wanted.factor).to(at::kFloat), table));
  LOCUS_CHECK(add(wanted.name + ".bias", *bias, (-shift * factor).to(at::kFloat), table));
  return finish(std::move(table), plan);
}

Status compute_bounds(const CheckpointFiles& checkpoint, const std::vector<OfBounds>& bounds, Plan& plan) {
  constexpr double kMost = std::numeric_limits<float>::max();
  if (bounds.empty()) {
    return {};
  }
  formats::TensorTable table;
  for (const OfBounds& wanted : bounds) {
    std::vector<float> numbers;
    const TensorInfo* info = nullptr;
    for (const char* const end : {".input_min", ".input_max", ".output_min", ".output_max"}) {
      const std::string name = wanted.from + end;
      info = checkpoint.find(name);
      if (info == nullptr) {
        return bad_input("expected a tensor, found none", checkpoint.path.string() + ": tensor " + name);
      }
      if (info->elements() != 1) {
        return other_shape(*info, "one number");
      }
      LOCUS_CHECK(dtype_of(transformer::to_tensor_as_stored(*info, checkpoint.tensors), *info));
      const double number = transformer::to_tensor(*info, checkpoint.tensors).item<double>();
      if (std::isnan(number) || (numbers.size() % 2 == 1 && number < static_cast<double>(numbers.back()))) {
        return bad_input(std::string("expected a number") + (numbers.size() % 2 == 1 ? " of at least the least" : "") +
                             ", found another",
                         formats::tensor_context(info->file, info->name));
      }
      numbers.push_back(static_cast<float>(std::clamp(number, -kMost, kMost)));
    }
    LOCUS_CHECK(add(wanted.name, *info, at::tensor(numbers), table));
  }
  return finish(std::move(table), plan);
}

Status compute_sum(const CheckpointFiles& checkpoint, const std::string& name, const std::vector<OneRow>& rows,
                   Plan& plan, const std::vector<float>& also) {
  formats::TensorTable table;
  at::Tensor sum;
  const TensorInfo* first = nullptr;
  for (const OneRow& each : rows) {
    LOCUS_TRY(const TensorInfo* const tensor, stored(checkpoint, each.tensor));
    first = first == nullptr ? tensor : first;
    if (tensor->shape.size() != 2 || each.row < 0 || each.row >= tensor->shape.front() ||
        tensor->shape.back() != first->shape.back()) {
      return other_shape(*tensor, "more than " + std::to_string(each.row) + " rows of " +
                                      std::to_string(first->shape.back()) + " numbers");
    }
    const at::Tensor own =
        transformer::to_tensor_as_stored(*tensor, checkpoint.tensors).narrow(0, each.row, 1).to(at::kFloat);
    sum = sum.defined() ? sum + own * each.factor : own * each.factor;
  }
  if (first == nullptr) {
    return {};
  }
  if (!also.empty()) {
    if (static_cast<std::int64_t>(also.size()) != sum.size(1)) {
      return other_shape(*first, "rows of " + std::to_string(also.size()) + " numbers");
    }
    sum = sum + at::tensor(also);
  }
  LOCUS_CHECK(add(name, *first, sum, table));
  return finish(std::move(table), plan);
}

namespace {

// (elements) float64 of a tensor of this shape.
Result<at::Tensor> exact(const CheckpointFiles& checkpoint, const std::string& name,
                         const std::vector<std::int64_t>& shape) {
  LOCUS_TRY(const TensorInfo* const tensor, stored(checkpoint, name));
  if (tensor->shape != shape) {
    return other_shape(*tensor, "shape " + formats::shape_text(shape));
  }
  LOCUS_CHECK(dtype_of(transformer::to_tensor_as_stored(*tensor, checkpoint.tensors), *tensor));
  return transformer::to_tensor(*tensor, checkpoint.tensors).to(at::kDouble);
}

// ((2W − 1)², 2) the offsets of rows and columns as the network reads them.
at::Tensor read_offsets(const OfCosines& wanted) {
  const std::int64_t most = wanted.window - 1;
  const std::int64_t unit = wanted.pretrained > 0 ? wanted.pretrained - 1 : std::max<std::int64_t>(most, 1);
  const at::Tensor steps = at::arange(-most, most + 1, at::kLong).to(at::kDouble) * (8 / static_cast<double>(unit));
  const at::Tensor side = steps.sign() * at::log2(steps.abs() + 1) / std::log2(8.0);
  const std::int64_t count = side.size(0);
  return at::stack({side.unsqueeze(1).expand({count, count}), side.unsqueeze(0).expand({count, count})}, -1)
      .reshape({-1, 2});
}

}  // namespace

Status compute_cosines(const CheckpointFiles& checkpoint, const std::vector<OfCosines>& attentions, Plan& plan) {
  constexpr std::int64_t kMaxInner = 4096;
  constexpr double kMaxScale = 100;
  formats::TensorTable table;
  for (const OfCosines& wanted : attentions) {
    const std::string network = wanted.place + ".continuous_position_bias_mlp.";
    LOCUS_TRY(const TensorInfo* const first, stored(checkpoint, network + "0.weight"));
    const std::int64_t inner = first->shape.front();
    if (inner < 1 || inner > kMaxInner) {
      return other_shape(*first, "1 to " + std::to_string(kMaxInner) + " rows");
    }
    LOCUS_TRY(const at::Tensor up, exact(checkpoint, network + "0.weight", {inner, 2}));
    LOCUS_TRY(const at::Tensor bias, exact(checkpoint, network + "0.bias", {inner}));
    LOCUS_TRY(const at::Tensor down, exact(checkpoint, network + "2.weight", {wanted.heads, inner}));
    LOCUS_TRY(const at::Tensor logarithms, exact(checkpoint, wanted.place + ".logit_scale", {wanted.heads, 1, 1}));
    const at::Tensor hidden = at::relu(at::addmm(bias, read_offsets(wanted), up.t()));
    const at::Tensor biases = at::sigmoid(at::mm(hidden, down.t())) * 16;
    LOCUS_CHECK(add(wanted.place + ".bias_table", *first, biases.to(at::kFloat), table));
    const at::Tensor scales = logarithms.flatten().clamp_max(std::log(kMaxScale)).exp().to(at::kFloat);
    for (std::int64_t head = 0; head < wanted.heads; ++head) {
      const std::string end = "." + std::to_string(head) + ".weight";
      const at::Tensor scale = scales[head].expand({wanted.head_width});
      LOCUS_CHECK(add(wanted.place + ".query_scale" + end, *first, scale, table));
      LOCUS_CHECK(add(wanted.place + ".key_scale" + end, *first, at::ones_like(scale), table));
    }
  }
  return attentions.empty() ? Status() : finish(std::move(table), plan);
}

}  // namespace locus::families

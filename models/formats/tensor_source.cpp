#include "models/formats/tensor_source.h"

namespace locus::formats {

std::size_t element_size(DType dtype) {
  switch (dtype) {
    case DType::kF64:
    case DType::kI64:
      return 8;
    case DType::kF32:
    case DType::kI32:
      return 4;
    case DType::kF16:
    case DType::kBF16:
    case DType::kI16:
      return 2;
    case DType::kI8:
    case DType::kU8:
    case DType::kBool:
    case DType::kBlocks:
      return 1;
  }
  return 1;
}

std::string_view to_text(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return "F64";
    case DType::kF32:
      return "F32";
    case DType::kF16:
      return "F16";
    case DType::kBF16:
      return "BF16";
    case DType::kI64:
      return "I64";
    case DType::kI32:
      return "I32";
    case DType::kI16:
      return "I16";
    case DType::kI8:
      return "I8";
    case DType::kU8:
      return "U8";
    case DType::kBool:
      return "BOOL";
    case DType::kBlocks:
      return "blocks";
  }
  return "?";
}

std::string_view TensorInfo::type_name() const {
  return assembled != nullptr ? assembled->name() : blocks != nullptr ? blocks->name : to_text(dtype);
}

std::int64_t TensorInfo::elements() const {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) {
    count *= size;
  }
  return count;
}

std::int64_t TensorInfo::row_elements() const {
  const std::size_t behind = columns ? 2 : 1;
  return shape.size() < behind ? 1 : shape[shape.size() - behind];
}

bool TensorInfo::contiguous() const {
  std::int64_t step = 1;
  for (std::size_t n = shape.size(); n-- > 0;) {
    if (shape[n] == 0) {
      return true;
    }
    if (shape[n] != 1 && strides[n] != step) {
      return false;
    }
    step *= shape[n];
  }
  return true;
}

}  // namespace locus::formats

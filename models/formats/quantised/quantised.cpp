#include "models/formats/quantised/quantised.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "models/formats/quantised/parts.h"

namespace locus::formats {

Error misfit(const TensorInfo& tensor, const std::string& expected) {
  return bad_input("expected " + expected + ", found " + described(tensor), tensor_context(tensor.file, tensor.name));
}

std::string described(const TensorInfo& tensor) {
  return std::string(tensor.type_name()) + " " + shape_text(tensor.shape);
}

const std::byte* first_byte(const TensorInfo& tensor) {
  return tensor.storage.data() + tensor.offset * static_cast<std::int64_t>(element_size(tensor.dtype));
}

bool is_of_floats(const TensorInfo& tensor) {
  return (tensor.dtype == DType::kF32 || tensor.dtype == DType::kF16 || tensor.dtype == DType::kBF16) &&
         tensor.contiguous();
}

float float_at(const TensorInfo& tensor, std::int64_t n) {
  static const blocks::Format* const kF32 = blocks::format_of("F32");
  static const blocks::Format* const kF16 = blocks::format_of("F16");
  static const blocks::Format* const kBF16 = blocks::format_of("BF16");
  const blocks::Format& format = tensor.dtype == DType::kF32 ? *kF32 : tensor.dtype == DType::kF16 ? *kF16 : *kBF16;
  float value = 0;
  format.expand(first_byte(tensor) + n * format.bytes, &value);
  return value;
}

Status check_part(const TensorInfo& tensor, DType dtype, const std::vector<std::int64_t>& shape, const TensorInfo& of) {
  const bool fits = tensor.shape == shape && tensor.contiguous() &&
                    (dtype == DType::kF32 ? is_of_floats(tensor) : tensor.dtype == dtype);
  const std::string types = dtype == DType::kF32 ? "F16, BF16 or F32" : std::string(to_text(dtype));
  return fits ? Status() : Status(misfit(tensor, types + " " + shape_text(shape) + " for " + of.name));
}

unsigned packed_number(const std::byte* bytes, std::int64_t k, std::int64_t bits) {
  const std::byte* const at = bytes + k * bits / 8;
  const auto shift = static_cast<unsigned>(k * bits % 8);
  unsigned value = std::to_integer<unsigned>(*at) >> shift;
  if (shift + static_cast<unsigned>(bits) > 8) {
    value |= std::to_integer<unsigned>(at[1]) << (8 - shift);
  }
  return value & ((1U << static_cast<unsigned>(bits)) - 1);
}

void put_nibble(std::byte* numbers, std::int64_t n, unsigned q) {
  std::byte& both = numbers[n / 32 * 16 + n % 16];
  both = n % 32 < 16 ? static_cast<std::byte>(q) : both | static_cast<std::byte>(q << 4U);
}

std::int64_t longest_block(std::int64_t inputs, std::int64_t group) {
  for (const std::int64_t elements : {128, 64, 32}) {
    if (inputs % elements == 0 && (group >= inputs || group % elements == 0)) {
      return elements;
    }
  }
  return 0;
}

Result<const TensorInfo*> part_of_weight(const Taken& taken, const TensorInfo& numbers, const std::string& name) {
  const TensorInfo* const part = taken.source->find(name);
  if (part == nullptr) {
    return bad_input("expected a tensor beside " + numbers.name + ", found none", tensor_context(numbers.file, name));
  }
  return part;
}

TensorInfo assembled_tensor(const TensorInfo& like, std::string name, std::vector<std::int64_t> shape,
                            const blocks::Format& format, std::shared_ptr<const AssembledRows> rows) {
  TensorInfo tensor;
  tensor.name = std::move(name);
  tensor.dtype = DType::kBlocks;
  tensor.shape = std::move(shape);
  std::int64_t count = 0;
  row_major(tensor.shape, tensor.strides, count);
  tensor.file = like.file;
  tensor.blocks = &format;
  tensor.assembled = std::move(rows);
  return tensor;
}

namespace {

Status take_weights(Taken& taken) {
  switch (taken.quantisation.method) {
    case Quantisation::Method::kFloat8:
      return take_float8(taken);
    case Quantisation::Method::kMxfp4:
      return take_mxfp4(taken);
    case Quantisation::Method::kGptq:
    case Quantisation::Method::kAwq:
      return take_int4(taken);
    case Quantisation::Method::kCompressed:
      LOCUS_CHECK(take_float8(taken));
      return take_compressed(taken);
    case Quantisation::Method::kMlx:
      return take_mlx(taken);
    case Quantisation::Method::kBitsAndBytes:
      return take_bitsandbytes(taken);
    case Quantisation::Method::kNone:
      break;
  }
  return {};
}

bool is_scale(std::string_view name) {
  return name.ends_with(".weight_scale") || name.ends_with(".weight_scale_inv");
}

// Scales of what a layer reads and keeps, which is not rounded here.
bool is_of_activations(std::string_view name) {
  constexpr std::array<std::string_view, 10> kNames{
      "input_scale", "input_scale_ub", "activation_scale", "output_scale",      "k_scale",
      "v_scale",     "q_scale",        "kv_scale",         "prob_output_scale", "input_zero_point"};
  const std::string_view last = name.substr(name.rfind('.') + 1);
  return std::find(kNames.begin(), kNames.end(), last) != kNames.end();
}

// The weight "x.weight" of a scale "x.weight_scale_inv".
std::string scaled_by(const std::string& scale) {
  return scale.substr(0, scale.rfind("_scale"));
}

// Weights of which the configuration says nothing.
Result<Source> without_description(const Source& source) {
  const auto beside = [&](const TensorInfo& tensor, std::string_view ending, std::string_view other) {
    return tensor.name.ends_with(ending) &&
           source->find(tensor.name.substr(0, tensor.name.size() - ending.size()) + std::string(other)) != nullptr;
  };
  for (const TensorInfo& tensor : source->tensors()) {
    const TensorInfo* const weight = is_scale(tensor.name) ? source->find(scaled_by(tensor.name)) : nullptr;
    if (weight != nullptr || tensor.name.ends_with(".qweight") || tensor.name.ends_with(".weight.absmax") ||
        beside(tensor, ".weight_packed", ".weight_shape") || beside(tensor, ".SCB", ".weight") ||
        (tensor.dtype == DType::kI32 && beside(tensor, ".weight", ".scales"))) {
      return unsupported(
          "expected a quantization_config in config.json, found quantised weights without one" + std::string(kInstead),
          tensor_context(tensor.file, tensor.name));
    }
  }
  return source;
}

}  // namespace

Result<Source> with_whole_weights(const Source& source, const Quantisation& quantisation) {
  if (quantisation.method == Quantisation::Method::kNone) {
    return source->gguf() != nullptr ? Result<Source>(source) : without_description(source);
  }
  Taken taken{source, quantisation};
  LOCUS_CHECK(take_weights(taken));
  if (taken.used.empty()) {
    return bad_input("expected weights as quantization_config describes them, found none", quantisation.context);
  }
  TensorTable table;
  for (const TensorInfo& tensor : source->tensors()) {
    if (const auto weight = taken.weights.find(tensor.name); weight != taken.weights.end()) {
      table.tensors.push_back(weight->second);
      continue;
    }
    if (taken.used.count(tensor.name) > 0 || is_of_activations(tensor.name)) {
      continue;
    }
    if (const TensorInfo* const weight = is_scale(tensor.name) ? source->find(scaled_by(tensor.name)) : nullptr) {
      return misfit(*weight, "F8_E4M3 numbers beside " + tensor.name);
    }
    table.tensors.push_back(tensor);
  }
  table.metadata = source->metadata();
  table.files = source->files();
  table.warnings = source->warnings();
  table.extra_json = source->extra_json();
  table.owners.push_back(source);
  return make_source(std::move(table));
}

}  // namespace locus::formats

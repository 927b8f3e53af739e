// Whole numbers of compressed-tensors, in its formats int-quantized and pack-quantized. The first has NAME.weight (N, K),
// int8; the second NAME.weight_packed (N, ⌈K/p⌉) with p numbers of 4 or 8 bits to a word of int32, the lowest bits first,
// 8 or 128 added to each, and NAME.weight_shape, which is N and K. Scales NAME.weight_scale are one, (N, 1) or (N, G),
// and zero points NAME.weight_zero_point likewise, int8 or packed along N; NAME.weight_g_idx (K) names each input's
// group where groups do not follow each other. A weight is d·(q − z), in float32.
#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "core/base/held_formats.h"
#include "models/formats/quantised/parts.h"

namespace locus::formats {

namespace {

constexpr std::int64_t kWordBits = 32;

struct WholeParts {
  bool packed = false;
  std::int64_t bits = 8;
  TensorInfo numbers;
  TensorInfo scales;
  std::optional<TensorInfo> zeros;
  std::vector<std::int64_t> groups;  // of each input, where they do not follow each other
  std::int64_t outputs = 0;          // N
  std::int64_t inputs = 0;           // K
  std::int64_t size = 0;             // of a group
  std::int64_t across = 0;           // scales of a row; 0: one for all rows

  int above_zero() const { return 1 << (bits - 1); }  // added to a packed number
};

std::int64_t rounded_up(std::int64_t value, std::int64_t step) {
  return value / step + (value % step == 0 ? 0 : 1);
}

class WholeRows final : public AssembledRows {
 public:
  WholeRows(WholeParts parts, const blocks::Format& format)
      : parts_(std::move(parts)), format_(format), name_("INT" + std::to_string(parts_.bits)) {}

  std::string_view name() const override { return name_; }

  void write(std::int64_t first, std::int64_t step, std::int64_t count, std::byte* out) const override {
    for (std::int64_t n = 0; n < count; ++n) {
      const std::int64_t row = first + n * step;
      for (std::int64_t k = 0; k < parts_.inputs; k += format_.elements, out += format_.bytes) {
        const std::int64_t group = parts_.groups.empty() ? k / parts_.size : parts_.groups[static_cast<std::size_t>(k)];
        write_block(row, k, group, out);
      }
    }
  }

 private:
  // Numbers and zeros with 8 or 128 added, so that none is below 0.
  void write_block(std::int64_t row, std::int64_t k, std::int64_t group, std::byte* out) const {
    const float d = float_at(parts_.scales, row * parts_.across + (parts_.across > 0 ? group : 0));
    const int zero = zero_of(row, group);
    if (!format_.quantised()) {
      const float value = static_cast<float>(number(row, k) - zero) * d;
      std::memcpy(out, &value, sizeof value);
      return;
    }
    std::memcpy(out, &d, sizeof d);
    if (parts_.bits == 4) {
      out[4] = static_cast<std::byte>(zero);
      for (std::int64_t n = 0; n < format_.elements; ++n) {
        put_nibble(out + 5, n, static_cast<unsigned>(number(row, k + n)));
      }
      return;
    }
    const auto wide = static_cast<std::int16_t>(zero);
    std::memcpy(out + 4, &wide, sizeof wide);
    for (std::int64_t n = 0; n < format_.elements; ++n) {
      out[6 + n] = static_cast<std::byte>(number(row, k + n));
    }
  }

  static int signed_at(const TensorInfo& tensor, std::int64_t n) {
    return static_cast<std::int8_t>(std::to_integer<std::uint8_t>(first_byte(tensor)[n]));
  }
  int number(std::int64_t row, std::int64_t k) const {
    const std::int64_t columns = parts_.numbers.shape[1];
    return parts_.packed
               ? static_cast<int>(packed_number(first_byte(parts_.numbers) + row * columns * 4, k, parts_.bits))
               : signed_at(parts_.numbers, row * columns + k) + parts_.above_zero();
  }
  int zero_of(std::int64_t row, std::int64_t group) const {
    if (!parts_.zeros) {
      return parts_.above_zero();
    }
    const std::int64_t column = parts_.across > 0 ? group : 0;
    if (!parts_.packed) {
      return signed_at(*parts_.zeros, row * parts_.across + column) + parts_.above_zero();
    }
    // Words of one column hold neighbouring rows.
    const std::int64_t in_word = kWordBits / parts_.bits;
    const std::int64_t word = row / in_word * parts_.zeros->shape[1] + column;
    return static_cast<int>(packed_number(first_byte(*parts_.zeros) + word * 4, row % in_word, parts_.bits));
  }

  WholeParts parts_;
  const blocks::Format& format_;
  std::string name_;
};

// Finds the group and, of packed numbers, the bits that fit the shapes, among those of the configuration.
Status find_packing(const Taken& taken, WholeParts& parts) {
  const std::int64_t rows = parts.outputs;
  const TensorInfo& scales = parts.scales;
  if (!is_of_floats(scales)) {
    return misfit(scales, "scales of F32, BF16 or F16");
  }
  std::string expected;
  for (const Quantisation::Packing& each : taken.quantisation.packings) {
    const std::int64_t size = each.group == 0 ? std::max<std::int64_t>(parts.inputs, 1) : each.group;
    const std::int64_t groups = rounded_up(std::max<std::int64_t>(parts.inputs, 1), size);
    const bool fits = parts.packed ? parts.numbers.shape[1] == rounded_up(parts.inputs, kWordBits / each.bits)
                                   : each.bits == 8 || each.bits == 4;
    const bool one = scales.elements() == 1;
    if (fits && (one || scales.shape == std::vector<std::int64_t>{rows, groups})) {
      parts.bits = parts.packed ? each.bits : 8;
      parts.size = one ? std::max<std::int64_t>(parts.inputs, 1) : size;
      parts.across = one ? 0 : groups;
      return {};
    }
    expected += (expected.empty() ? "" : " or ") + shape_text({rows, groups}) + " for numbers of " +
                std::to_string(each.bits) + " bits";
  }
  return misfit(scales, "scales " + (expected.empty() ? "of no kind" : expected) + " of " + described(parts.numbers));
}

Status add_zeros(const Taken& taken, const std::string& name, WholeParts& parts, std::vector<const TensorInfo*>& used) {
  const TensorInfo* const zeros = taken.source->find(name + "_zero_point");
  if (zeros == nullptr) {
    return {};
  }
  used.push_back(zeros);
  if (parts.packed) {
    const std::int64_t in_word = kWordBits / parts.bits;
    LOCUS_CHECK(check_part(*zeros, DType::kI32,
                           {rounded_up(parts.outputs, in_word), std::max<std::int64_t>(parts.across, 1)},
                           parts.numbers));
    if (parts.across == 0) {
      return misfit(*zeros, "none beside one scale for all");
    }
  } else {
    LOCUS_CHECK(check_part(*zeros, DType::kI8, parts.scales.shape, parts.numbers));
  }
  parts.zeros = *zeros;
  return {};
}

std::int64_t integer_at(const TensorInfo& tensor, std::int64_t n) {
  if (tensor.dtype == DType::kI64) {
    std::int64_t value = 0;
    std::memcpy(&value, first_byte(tensor) + n * 8, sizeof value);
    return value;
  }
  std::int32_t value = 0;
  std::memcpy(&value, first_byte(tensor) + n * 4, sizeof value);
  return value;
}

bool is_of_integers(const TensorInfo& tensor, const std::vector<std::int64_t>& shape) {
  return (tensor.dtype == DType::kI64 || tensor.dtype == DType::kI32) && tensor.contiguous() && tensor.shape == shape;
}

Status add_groups(const Taken& taken, const std::string& name, WholeParts& parts,
                  std::vector<const TensorInfo*>& used) {
  const TensorInfo* const indices = taken.source->find(name + "_g_idx");
  if (indices == nullptr) {
    return {};
  }
  used.push_back(indices);
  if (!is_of_integers(*indices, {parts.inputs})) {
    return misfit(*indices, "I32 " + shape_text({parts.inputs}) + " for " + parts.numbers.name);
  }
  bool in_order = true;
  for (std::int64_t k = 0; k < parts.inputs; ++k) {
    const std::int64_t group = integer_at(*indices, k);
    if (group < 0 || group >= std::max<std::int64_t>(parts.across, 1)) {
      return bad_input("expected groups from 0 to " + std::to_string(std::max<std::int64_t>(parts.across, 1) - 1) +
                           ", found " + std::to_string(group),
                       tensor_context(indices->file, indices->name));
    }
    parts.groups.push_back(group);
    in_order = in_order && group == k / parts.size;
  }
  if (in_order) {
    parts.groups.clear();
  }
  return {};
}

Status take_whole(Taken& taken, const TensorInfo& numbers, const std::string& name, bool packed) {
  WholeParts parts;
  parts.packed = packed;
  parts.numbers = numbers;
  std::vector<const TensorInfo*> used;
  if (numbers.dtype != (packed ? DType::kI32 : DType::kI8) || numbers.shape.size() != 2 || !numbers.contiguous()) {
    return misfit(numbers, packed ? "a matrix of I32" : "a matrix of I8");
  }
  parts.outputs = numbers.shape[0];
  parts.inputs = numbers.shape[1];
  if (packed) {
    LOCUS_TRY(const TensorInfo* const shape, part_of_weight(taken, numbers, name + "_shape"));
    // Eight numbers to a word at most.
    if (!is_of_integers(*shape, {2}) || integer_at(*shape, 0) != parts.outputs || integer_at(*shape, 1) < 0 ||
        integer_at(*shape, 1) > numbers.shape[1] * 8) {
      return misfit(*shape, "two whole numbers, " + std::to_string(parts.outputs) + " and the inputs of a row, for " +
                                numbers.name);
    }
    parts.inputs = integer_at(*shape, 1);
    used.push_back(shape);
  }
  LOCUS_TRY(const TensorInfo* const scales, part_of_weight(taken, numbers, name + "_scale"));
  used.push_back(scales);
  parts.scales = *scales;
  LOCUS_CHECK(find_packing(taken, parts));
  LOCUS_CHECK(add_zeros(taken, name, parts, used));
  LOCUS_CHECK(add_groups(taken, name, parts, used));
  const std::int64_t elements = parts.groups.empty() ? longest_block(parts.inputs, parts.size) : 0;
  const blocks::Format& format = elements == 0     ? *blocks::format_of("F32")
                                 : parts.bits == 4 ? blocks::scaled_int4(elements)
                                                   : blocks::scaled_int8(elements);
  const std::vector<std::int64_t> shape{parts.outputs, parts.inputs};
  taken.add(numbers, used,
            assembled_tensor(numbers, name, shape, format, std::make_shared<WholeRows>(std::move(parts), format)));
  return {};
}

}  // namespace

Status take_compressed(Taken& taken) {
  constexpr std::string_view kPacked = "_packed";
  for (const TensorInfo& numbers : taken.source->tensors()) {
    if (numbers.name.ends_with(".weight_packed")) {
      LOCUS_CHECK(take_whole(taken, numbers, numbers.name.substr(0, numbers.name.size() - kPacked.size()), true));
    } else if (numbers.dtype == DType::kI8 && numbers.name.ends_with(".weight")) {
      LOCUS_CHECK(take_whole(taken, numbers, numbers.name, false));
    }
  }
  return {};
}

}  // namespace locus::formats

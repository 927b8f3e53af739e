// bitsandbytes. In 4 bits NAME holds two numbers a byte, the high one first, of the whole matrix row after row;
// NAME.quant_state.bitsandbytes__nf4 (or __fp4) is JSON text with its shape and the numbers that share a scale,
// NAME.quant_map the 16 numbers c, NAME.absmax the scales d: a weight is c[q]·d, in float32. Scales may themselves be
// bytes: d = map[b]·nested + offset, with NAME.nested_quant_map and NAME.nested_absmax. In 8 bits NAME (N, K) is int8,
// and NAME's SCB (N) the size of 127: a weight is q·d with d = SCB/127 in float32.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "core/base/checked.h"
#include "core/base/held_formats.h"
#include "models/formats/quantised/parts.h"

namespace locus::formats {

namespace {

constexpr std::string_view kWeight = ".weight";

struct CodedParts {
  TensorInfo numbers;
  std::int64_t outputs = 0;  // N
  std::int64_t inputs = 0;   // K
  std::int64_t size = 0;     // numbers to a scale
  TensorInfo scales;
  // Present where scales are bytes: their scales and the numbers that the bytes stand for.
  std::optional<TensorInfo> nested;
  std::optional<TensorInfo> nested_map;
  std::int64_t nested_size = 0;
  float offset = 0;
};

class CodedRows final : public AssembledRows {
 public:
  CodedRows(CodedParts parts, const blocks::Format& code, const blocks::Format& format)
      : parts_(std::move(parts)), code_(code), format_(format) {}

  std::string_view name() const override { return code_.name; }

  void write(std::int64_t first, std::int64_t step, std::int64_t count, std::byte* out) const override {
    for (std::int64_t n = 0; n < count; ++n) {
      const std::int64_t begin = (first + n * step) * parts_.inputs;
      for (std::int64_t k = 0; k < parts_.inputs; k += format_.elements, out += format_.bytes) {
        const float d = scale((begin + k) / parts_.size);
        if (!format_.quantised()) {
          const float value = blocks::code_of(code_)[number(begin + k)] * d;
          std::memcpy(out, &value, sizeof value);
          continue;
        }
        std::memcpy(out, &d, sizeof d);
        for (std::int64_t at = 0; at < format_.elements; ++at) {
          put_nibble(out + sizeof d, at, number(begin + k + at));
        }
      }
    }
  }

 private:
  unsigned number(std::int64_t n) const {
    const auto both = std::to_integer<unsigned>(first_byte(parts_.numbers)[n / 2]);
    return n % 2 == 0 ? both >> 4U : both & 15U;
  }
  float scale(std::int64_t n) const {
    if (!parts_.nested) {
      return float_at(parts_.scales, n);
    }
    const auto which = std::to_integer<std::int64_t>(first_byte(parts_.scales)[n]);
    const float product = float_at(*parts_.nested_map, which) * float_at(*parts_.nested, n / parts_.nested_size);
    return product + parts_.offset;
  }

  CodedParts parts_;
  const blocks::Format& code_;
  const blocks::Format& format_;
};

class RowScaled final : public AssembledRows {
 public:
  RowScaled(const TensorInfo& numbers, const TensorInfo& sizes, const blocks::Format& format)
      : numbers_(numbers), sizes_(sizes), format_(format) {}

  std::string_view name() const override { return "LLM.int8"; }

  void write(std::int64_t first, std::int64_t step, std::int64_t count, std::byte* out) const override {
    constexpr std::int16_t kAdded = 128;
    const std::int64_t inputs = numbers_.shape[1];
    for (std::int64_t n = 0; n < count; ++n) {
      const std::int64_t row = first + n * step;
      const float d = float_at(sizes_, row) / 127;
      const std::byte* const numbers = first_byte(numbers_) + row * inputs;
      for (std::int64_t k = 0; k < inputs; k += format_.elements, out += format_.bytes) {
        if (!format_.quantised()) {
          const float value = static_cast<float>(std::to_integer<std::int8_t>(numbers[k])) * d;
          std::memcpy(out, &value, sizeof value);
          continue;
        }
        std::memcpy(out, &d, sizeof d);
        std::memcpy(out + 4, &kAdded, sizeof kAdded);
        for (std::int64_t at = 0; at < format_.elements; ++at) {
          out[6 + at] = numbers[k + at] ^ std::byte{0x80};
        }
      }
    }
  }

 private:
  TensorInfo numbers_;
  TensorInfo sizes_;
  const blocks::Format& format_;
};

// The JSON text beside a weight; none where the weight has none.
Result<std::optional<Config>> state_of(const Taken& taken, const TensorInfo& numbers,
                                       std::vector<const TensorInfo*>& used) {
  constexpr std::int64_t kLongest = 4096;
  for (const char* const kind : {"nf4", "fp4"}) {
    const TensorInfo* const state =
        taken.source->find(numbers.name + ".quant_state.bitsandbytes__" + std::string(kind));
    if (state == nullptr) {
      continue;
    }
    if (state->dtype != DType::kU8 || !state->contiguous() || state->shape.size() != 1 ||
        state->elements() > kLongest) {
      return misfit(*state, "at most " + std::to_string(kLongest) + " bytes of JSON, U8");
    }
    const std::string_view text(reinterpret_cast<const char*>(first_byte(*state)),
                                static_cast<std::size_t>(state->elements()));
    LOCUS_TRY(Config config, Config::parse_json(text, tensor_context(state->file, state->name)));
    LOCUS_TRY(const std::string named, config.text("quant_type"));
    if (named != kind) {
      return bad_input(
          "expected " + std::string(kind) + ", as in the tensor's name, found \"" + named.substr(0, 40) + "\"",
          config.context("quant_type"));
    }
    used.push_back(state);
    return std::optional(std::move(config));
  }
  return std::optional<Config>();
}

// The format with these 16 numbers. Errors: kUnsupported for others.
Result<const blocks::Format*> code_with(const TensorInfo& map, std::string_view kind) {
  const blocks::Format& code = kind == "nf4" ? blocks::normal_float4() : blocks::coded_float4();
  for (std::int64_t n = 0; n < 16; ++n) {
    if (float_at(map, n) != blocks::code_of(code)[n]) {
      return unsupported("expected the 16 numbers of " + std::string(code.name) + ", found others",
                         tensor_context(map.file, map.name));
    }
  }
  return &code;
}

Result<std::int64_t> block_size(const Config& state, std::string_view field) {
  constexpr std::int64_t kLargest = 1 << 16;
  return state.integer_in(field, 1, kLargest);
}

Status add_nested(const Taken& taken, const Config& state, std::int64_t count, CodedParts& parts,
                  std::vector<const TensorInfo*>& used) {
  const std::string& name = parts.numbers.name;
  LOCUS_TRY(parts.nested_size, block_size(state, "nested_blocksize"));
  LOCUS_TRY(const double offset, state.number("nested_offset"));
  parts.offset = static_cast<float>(offset);
  LOCUS_TRY(const TensorInfo* const nested, part_of_weight(taken, parts.numbers, name + ".nested_absmax"));
  LOCUS_TRY(const TensorInfo* const map, part_of_weight(taken, parts.numbers, name + ".nested_quant_map"));
  const std::int64_t groups = count / parts.nested_size + (count % parts.nested_size == 0 ? 0 : 1);
  LOCUS_CHECK(check_part(*nested, DType::kF32, {groups}, parts.numbers));
  LOCUS_CHECK(check_part(*map, DType::kF32, {256}, parts.numbers));
  used.insert(used.end(), {nested, map});
  parts.nested = *nested;
  parts.nested_map = *map;
  return {};
}

Status take_four_bits(Taken& taken, const TensorInfo& numbers, const Config& state,
                      std::vector<const TensorInfo*> used) {
  CodedParts parts;
  parts.numbers = numbers;
  LOCUS_TRY(const std::vector<std::int64_t> shape, state.integers("shape"));
  LOCUS_TRY(const std::string kind, state.text("quant_type"));
  LOCUS_TRY(parts.size, block_size(state, "blocksize"));
  const auto all = shape.size() == 2 && shape[0] >= 0 && shape[1] >= 0 ? checked_product({shape[0], shape[1]})
                                                                       : std::optional<std::int64_t>();
  if (!all) {
    return unsupported("expected the shape of a matrix", state.context("shape"));
  }
  if (numbers.dtype != DType::kU8 || !numbers.contiguous() || numbers.elements() != *all / 2 + *all % 2) {
    return misfit(numbers, std::to_string(*all / 2 + *all % 2) + " bytes U8 for a matrix " + shape_text(shape));
  }
  parts.outputs = shape[0];
  parts.inputs = shape[1];
  const std::int64_t count = *all / parts.size + (*all % parts.size == 0 ? 0 : 1);
  LOCUS_TRY(const TensorInfo* const scales, part_of_weight(taken, numbers, numbers.name + ".absmax"));
  LOCUS_TRY(const TensorInfo* const map, part_of_weight(taken, numbers, numbers.name + ".quant_map"));
  LOCUS_CHECK(check_part(*map, DType::kF32, {16}, numbers));
  used.insert(used.end(), {scales, map});
  parts.scales = *scales;
  const bool nested = scales->dtype == DType::kU8;
  LOCUS_CHECK(check_part(*scales, nested ? DType::kU8 : DType::kF32, {count}, numbers));
  if (nested) {
    LOCUS_CHECK(add_nested(taken, state, count, parts, used));
  }
  LOCUS_TRY(const blocks::Format* const code, code_with(*map, kind));
  const bool whole = parts.inputs % code->elements == 0 && parts.size % code->elements == 0;
  const blocks::Format& format = whole ? *code : *blocks::format_of("F32");
  taken.add(numbers, used,
            assembled_tensor(numbers, numbers.name, shape, format,
                             std::make_shared<CodedRows>(std::move(parts), *code, format)));
  return {};
}

Status take_eight_bits(Taken& taken, const TensorInfo& numbers, const std::string& module, const TensorInfo& sizes) {
  if (numbers.shape.size() != 2 || !numbers.contiguous()) {
    return misfit(numbers, "a matrix of I8");
  }
  LOCUS_CHECK(check_part(sizes, DType::kF32, {numbers.shape[0]}, numbers));
  std::vector<const TensorInfo*> used{&sizes};
  if (const TensorInfo* const order = taken.source->find(module + ".weight_format")) {
    if (order->dtype != DType::kU8 || order->elements() != 1 || *first_byte(*order) != std::byte{0}) {
      return unsupported("expected 0, rows one after another, found another order of numbers",
                         tensor_context(order->file, order->name));
    }
    used.push_back(order);
  }
  const std::int64_t elements = longest_block(numbers.shape[1], numbers.shape[1]);
  const blocks::Format& format = elements == 0 ? *blocks::format_of("F32") : blocks::scaled_int8(elements);
  taken.add(numbers, used,
            assembled_tensor(numbers, numbers.name, numbers.shape, format,
                             std::make_shared<RowScaled>(numbers, sizes, format)));
  return {};
}

}  // namespace

Status take_bitsandbytes(Taken& taken) {
  for (const TensorInfo& numbers : taken.source->tensors()) {
    std::vector<const TensorInfo*> used;
    LOCUS_TRY(const std::optional<Config> state, state_of(taken, numbers, used));
    if (state) {
      LOCUS_CHECK(take_four_bits(taken, numbers, *state, std::move(used)));
      continue;
    }
    if (numbers.dtype != DType::kI8 || !numbers.name.ends_with(kWeight)) {
      continue;
    }
    const std::string module = numbers.name.substr(0, numbers.name.size() - kWeight.size());
    LOCUS_TRY(const TensorInfo* const sizes, part_of_weight(taken, numbers, module + ".SCB"));
    LOCUS_CHECK(take_eight_bits(taken, numbers, module, *sizes));
  }
  return {};
}

}  // namespace locus::formats

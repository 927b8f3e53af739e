// MLX: NAME.weight (N, K·bits/32), uint32 words in which numbers of 2 to 8 bits follow each other from the lowest bit on,
// with NAME.scales and NAME.biases (N, K/group). A weight is d·q + m of its group, in float32. In the mode mxfp4 the
// scales are bytes, exponents of 2 plus 127, and the numbers those of MXFP4. Matrices of experts are stacked, (E, N, …).
#include <cstring>
#include <memory>
#include <utility>

#include "core/base/held_formats.h"
#include "models/formats/quantised/parts.h"

namespace locus::formats {

namespace {

using Packing = Quantisation::Packing;

constexpr std::string_view kWordsEnding = ".weight";

class MlxRows final : public AssembledRows {
 public:
  MlxRows(const TensorInfo& numbers, const TensorInfo& scales, const TensorInfo& biases, Packing packing,
          const blocks::Format& format)
      : numbers_(numbers),
        scales_(scales),
        biases_(biases),
        packing_(packing),
        format_(format),
        name_(packing.float4 ? "MXFP4" : "MLX " + std::to_string(packing.bits) + "-bit") {}

  std::string_view name() const override { return name_; }

  void write(std::int64_t first, std::int64_t step, std::int64_t count, std::byte* out) const override {
    const std::int64_t groups = scales_.shape.back();
    for (std::int64_t n = 0; n < count; ++n) {
      const std::int64_t row = first + n * step;
      const std::byte* const bytes = first_byte(numbers_) + row * numbers_.shape.back() * 4;
      for (std::int64_t k = 0; k < groups * packing_.group; k += format_.elements, out += format_.bytes) {
        write_block(bytes, k, row * groups + k / packing_.group, out);
      }
    }
  }

 private:
  void write_block(const std::byte* bytes, std::int64_t k, std::int64_t group, std::byte* out) const {
    if (packing_.float4) {
      *out = first_byte(scales_)[group];
      return write_nibbles(bytes, k, out + 1);
    }
    const float d = float_at(scales_, group);
    const float m = float_at(biases_, group);
    if (!format_.quantised()) {
      const float value = static_cast<float>(static_cast<int>(packed_number(bytes, k, packing_.bits))) * d + m;
      std::memcpy(out, &value, sizeof value);
      return;
    }
    std::memcpy(out, &d, sizeof d);
    std::memcpy(out + sizeof d, &m, sizeof m);
    out += sizeof d + sizeof m;
    if (packing_.bits <= 4) {
      return write_nibbles(bytes, k, out);
    }
    for (std::int64_t n = 0; n < format_.elements; ++n) {
      out[n] = static_cast<std::byte>(packed_number(bytes, k + n, packing_.bits));
    }
  }
  void write_nibbles(const std::byte* bytes, std::int64_t k, std::byte* out) const {
    for (std::int64_t n = 0; n < format_.elements; ++n) {
      put_nibble(out, n, packed_number(bytes, k + n, packing_.bits));
    }
  }

  TensorInfo numbers_;
  TensorInfo scales_;
  TensorInfo biases_;
  Packing packing_;
  const blocks::Format& format_;
  std::string name_;
};

const blocks::Format& words_format(const Packing& packing, std::int64_t inputs) {
  if (packing.float4) {
    return *blocks::format_of("MXFP4");
  }
  const std::int64_t elements = longest_block(inputs, packing.group);
  return elements == 0       ? *blocks::format_of("F32")
         : packing.bits <= 4 ? blocks::affine_int4(elements)
                             : blocks::affine_int8(elements);
}

Status take_words(Taken& taken, const TensorInfo& numbers, const std::string& name) {
  const Quantisation& said = taken.quantisation;
  const auto own = said.modules.find(name);
  const Packing packing = own == said.modules.end() ? said.packings.front() : own->second;
  LOCUS_TRY(const TensorInfo* const scales, part_of_weight(taken, numbers, name + ".scales"));
  const std::size_t rank = numbers.shape.size();
  if (numbers.dtype != DType::kI32 || !numbers.contiguous() || (rank != 2 && rank != 3)) {
    return misfit(numbers, "a matrix of words of 32 bits, or a stack of them");
  }
  // Cannot overflow: they are as many bits as the file has.
  const std::int64_t bits = numbers.shape.back() * 32;
  std::vector<std::int64_t> shape = numbers.shape;
  shape.back() = bits / packing.bits;
  if (bits % packing.bits != 0 || shape.back() % packing.group != 0) {
    return misfit(numbers, "rows of whole groups of " + std::to_string(packing.group) + " numbers of " +
                               std::to_string(packing.bits) + " bits");
  }
  std::vector<std::int64_t> groups = shape;
  groups.back() = shape.back() / packing.group;
  LOCUS_CHECK(check_part(*scales, packing.float4 ? DType::kU8 : DType::kF32, groups, numbers));
  std::vector<const TensorInfo*> used{scales};
  if (!packing.float4) {
    LOCUS_TRY(const TensorInfo* const biases, part_of_weight(taken, numbers, name + ".biases"));
    LOCUS_CHECK(check_part(*biases, DType::kF32, groups, numbers));
    used.push_back(biases);
  }
  const blocks::Format& format = words_format(packing, shape.back());
  taken.add(numbers, used,
            assembled_tensor(numbers, numbers.name, shape, format,
                             std::make_shared<MlxRows>(numbers, *scales, *used.back(), packing, format)));
  return {};
}

}  // namespace

Status take_mlx(Taken& taken) {
  for (const TensorInfo& numbers : taken.source->tensors()) {
    if (numbers.dtype == DType::kI32 && numbers.name.ends_with(kWordsEnding)) {
      LOCUS_CHECK(take_words(taken, numbers, numbers.name.substr(0, numbers.name.size() - kWordsEnding.size())));
    }
  }
  return {};
}

}  // namespace locus::formats

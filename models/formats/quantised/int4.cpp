// GPTQ and AWQ in 4 bits: NAME.qweight, NAME.qzeros and NAME.scales in place of NAME.weight (N, K), in int32 words of
// eight numbers. A weight is d·(q − z) of its input's group, in float32.
//
// GPTQ packs inputs, qweight (K/8, N), and rows of groups, qzeros (G, N/8); scales are (G, N), and g_idx (K) names each
// input's group, which is k / size where it is absent. Its first form stores z − 1. AWQ packs outputs, qweight (K, N/8),
// in the order 0 2 4 6 1 3 5 7 within a word, as qzeros (G, N/8).
#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <utility>

#include "models/formats/quantised/parts.h"

namespace locus::formats {

namespace {

constexpr std::int64_t kInWord = 8;
// Where the outputs of a word are.
constexpr std::array<unsigned, 8> kInOrder{0, 1, 2, 3, 4, 5, 6, 7};
constexpr std::array<unsigned, 8> kAwqOrder{0, 4, 1, 5, 2, 6, 3, 7};

std::uint32_t word_at(const TensorInfo& tensor, std::int64_t n) {
  std::uint32_t word = 0;
  std::memcpy(&word, first_byte(tensor) + n * 4, sizeof word);
  return word;
}

struct Int4Parts {
  bool awq = false;
  bool less_one = false;  // qzeros hold z − 1
  TensorInfo numbers;
  TensorInfo zeros;
  TensorInfo scales;
  std::vector<std::int64_t> groups;  // of each input, where they do not follow each other
  std::int64_t inputs = 0;           // K
  std::int64_t outputs = 0;          // N
  std::int64_t size = 0;             // of a group
};

class Int4Rows final : public AssembledRows {
 public:
  Int4Rows(Int4Parts parts, const blocks::Format& format) : parts_(std::move(parts)), format_(format) {}

  std::string_view name() const override { return parts_.awq ? "AWQ 4-bit" : "GPTQ 4-bit"; }

  // Input by input: neighbouring outputs lie together in the file.
  void write(std::int64_t first, std::int64_t step, std::int64_t count, std::byte* out) const override {
    const std::int64_t row_bytes = parts_.inputs / format_.elements * format_.bytes;
    for (std::int64_t k = 0; k < parts_.inputs; ++k) {
      const std::int64_t group = parts_.groups.empty() ? k / parts_.size : parts_.groups[static_cast<std::size_t>(k)];
      std::byte* place = out + k / format_.elements * format_.bytes;
      for (std::int64_t n = 0; n < count; ++n, place += row_bytes) {
        const std::int64_t output = first + n * step;
        if (format_.quantised()) {
          write_number(output, k, group, place);
        } else {
          const float value = scale(group, output) * static_cast<float>(number(output, k) - zero(group, output));
          std::memcpy(place, &value, sizeof value);
        }
      }
    }
  }

 private:
  // Into a block of scaled_int4(), whose head the first of its numbers writes.
  void write_number(std::int64_t output, std::int64_t k, std::int64_t group, std::byte* block) const {
    const std::int64_t within = k % format_.elements;
    if (within == 0) {
      const float d = scale(group, output);
      std::memcpy(block, &d, sizeof d);
      block[4] = static_cast<std::byte>(zero(group, output));
    }
    put_nibble(block + 5, within, static_cast<unsigned>(number(output, k)));
  }

  const std::array<unsigned, 8>& order() const { return parts_.awq ? kAwqOrder : kInOrder; }
  unsigned place_of(std::int64_t output) const { return 4 * order()[static_cast<std::size_t>(output % kInWord)]; }

  int number(std::int64_t output, std::int64_t k) const {
    const std::uint32_t word = parts_.awq ? word_at(parts_.numbers, k * (parts_.outputs / kInWord) + output / kInWord)
                                          : word_at(parts_.numbers, k / kInWord * parts_.outputs + output);
    const unsigned shift = parts_.awq ? place_of(output) : 4 * static_cast<unsigned>(k % kInWord);
    return static_cast<int>((word >> shift) & 15U);
  }
  int zero(std::int64_t group, std::int64_t output) const {
    const std::uint32_t word = word_at(parts_.zeros, group * (parts_.outputs / kInWord) + output / kInWord);
    return static_cast<int>(((word >> place_of(output)) + (parts_.less_one ? 1U : 0U)) & 15U);
  }
  float scale(std::int64_t group, std::int64_t output) const {
    return float_at(parts_.scales, group * parts_.outputs + output);
  }

  Int4Parts parts_;
  const blocks::Format& format_;
};

// The group of each input, empty where groups of `size` follow each other.
Result<std::vector<std::int64_t>> groups_of(const TensorInfo& indices, const Int4Parts& parts) {
  LOCUS_CHECK(check_part(indices, DType::kI32, {parts.inputs}, parts.numbers));
  const std::int64_t count = parts.scales.shape[0];
  std::vector<std::int64_t> groups(static_cast<std::size_t>(parts.inputs));
  bool in_order = true;
  for (std::int64_t k = 0; k < parts.inputs; ++k) {
    const auto group = static_cast<std::int32_t>(word_at(indices, k));
    if (group < 0 || group >= count) {
      return bad_input("expected groups from 0 to " + std::to_string(count - 1) + ", found " + std::to_string(group),
                       tensor_context(indices.file, indices.name));
    }
    groups[static_cast<std::size_t>(k)] = group;
    in_order = in_order && group == k / parts.size;
  }
  return in_order ? std::vector<std::int64_t>() : groups;
}

Result<Int4Parts> int4_parts(Taken& taken, const TensorInfo& numbers, const std::string& name,
                             std::vector<const TensorInfo*>& used) {
  const bool awq = taken.quantisation.method == Quantisation::Method::kAwq;
  if (numbers.dtype != DType::kI32 || numbers.shape.size() != 2 || !numbers.contiguous()) {
    return misfit(numbers, "a matrix of I32");
  }
  Int4Parts parts{awq, taken.quantisation.less_one, numbers, {}, {}, {}};
  // Cannot overflow: they are eight times as many as words in the file at most.
  parts.inputs = numbers.shape[0] * (awq ? 1 : kInWord);
  parts.outputs = numbers.shape[1] * (awq ? kInWord : 1);
  parts.size = taken.quantisation.group < 0 ? std::max<std::int64_t>(parts.inputs, 1) : taken.quantisation.group;
  const std::int64_t count = parts.inputs / parts.size + (parts.inputs % parts.size == 0 ? 0 : 1);
  if (parts.outputs % kInWord != 0) {
    return misfit(numbers, "a number of outputs that 8 divides");
  }
  LOCUS_TRY(const TensorInfo* const zeros, part_of_weight(taken, numbers, name + ".qzeros"));
  LOCUS_TRY(const TensorInfo* const scales, part_of_weight(taken, numbers, name + ".scales"));
  LOCUS_CHECK(check_part(*zeros, DType::kI32, {count, parts.outputs / kInWord}, numbers));
  LOCUS_CHECK(check_part(*scales, DType::kF32, {count, parts.outputs}, numbers));
  parts.zeros = *zeros;
  parts.scales = *scales;
  used = {zeros, scales};
  const TensorInfo* const indices = awq ? nullptr : taken.source->find(name + ".g_idx");
  if (indices != nullptr) {
    used.push_back(indices);
  }
  if (indices != nullptr && indices->elements() > 0) {
    LOCUS_TRY(parts.groups, groups_of(*indices, parts));
    if (!parts.groups.empty() && !taken.quantisation.any_order) {
      return bad_input("expected groups of " + std::to_string(parts.size) +
                           " inputs one after another, as without desc_act, found others",
                       tensor_context(indices->file, indices->name));
    }
  }
  return parts;
}

// Blocks as long as a group allows; plain numbers where neighbours belong to different groups.
const blocks::Format& int4_format(const Int4Parts& parts) {
  const std::int64_t elements = parts.groups.empty() ? longest_block(parts.inputs, parts.size) : 0;
  return elements > 0 ? blocks::scaled_int4(elements) : *blocks::format_of("F32");
}

}  // namespace

Status take_int4(Taken& taken) {
  constexpr std::string_view kNumbers = ".qweight";
  for (const TensorInfo& numbers : taken.source->tensors()) {
    if (!numbers.name.ends_with(kNumbers)) {
      continue;
    }
    const std::string name = numbers.name.substr(0, numbers.name.size() - kNumbers.size());
    std::vector<const TensorInfo*> used;
    LOCUS_TRY(Int4Parts parts, int4_parts(taken, numbers, name, used));
    const blocks::Format& format = int4_format(parts);
    const std::vector<std::int64_t> shape{parts.outputs, parts.inputs};
    taken.add(numbers, used,
              assembled_tensor(numbers, name + ".weight", shape, format,
                               std::make_shared<Int4Rows>(std::move(parts), format)));
  }
  return {};
}

}  // namespace locus::formats

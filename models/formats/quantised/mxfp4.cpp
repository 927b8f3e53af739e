// MXFP4 as gpt-oss is published: NAME_blocks [E, N, K/32, 16], two numbers a byte, the low one first, and NAME_scales
// [E, N, K/32], exponents of 2 plus 127, for all experts' matrices NAME [E, K, N]. The rows become blocks of GGUF's
// MXFP4, which have the exponent first and numbers n and n + 16 in a byte.
#include <memory>

#include "models/formats/quantised/parts.h"

namespace locus::formats {

namespace {

constexpr std::string_view kBlocksEnding = "_blocks";
constexpr std::int64_t kHalf = 16;

const blocks::Format& mxfp4_blocks() {
  static const blocks::Format& format = *blocks::format_of("MXFP4");
  return format;
}

class Mxfp4Rows final : public AssembledRows {
 public:
  Mxfp4Rows(const TensorInfo& numbers, const TensorInfo& scales) : numbers_(numbers), scales_(scales) {}

  std::string_view name() const override { return mxfp4_blocks().name; }

  void write(std::int64_t first, std::int64_t step, std::int64_t count, std::byte* out) const override {
    const std::int64_t groups = scales_.shape.back();
    for (std::int64_t n = 0; n < count; ++n) {
      const std::int64_t begin = (first + n * step) * groups;
      for (std::int64_t group = begin; group < begin + groups; ++group, out += mxfp4_blocks().bytes) {
        *out = first_byte(scales_)[group];
        const std::byte* const pairs = first_byte(numbers_) + group * kHalf;
        for (std::int64_t k = 0; k < kHalf; ++k) {
          const unsigned shift = k % 2 == 0 ? 0 : 4;
          const std::byte low = pairs[k / 2] >> shift & std::byte{15};
          const std::byte high = pairs[(k + kHalf) / 2] >> shift & std::byte{15};
          out[1 + k] = low | high << 4;
        }
      }
    }
  }

 private:
  TensorInfo numbers_;
  TensorInfo scales_;
};

}  // namespace

Status take_mxfp4(Taken& taken) {
  for (const TensorInfo& numbers : taken.source->tensors()) {
    if (!numbers.name.ends_with(kBlocksEnding)) {
      continue;
    }
    const std::string name = numbers.name.substr(0, numbers.name.size() - kBlocksEnding.size());
    const std::vector<std::int64_t>& shape = numbers.shape;
    if (numbers.dtype != DType::kU8 || !numbers.contiguous() || shape.size() != 4 || shape[3] != kHalf) {
      return misfit(numbers, "U8 [experts, rows, groups, 16]");
    }
    LOCUS_TRY(const TensorInfo* const scales, part_of_weight(taken, numbers, name + "_scales"));
    if (scales->dtype != DType::kU8 || !scales->contiguous() ||
        scales->shape != std::vector<std::int64_t>(shape.begin(), shape.end() - 1)) {
      return misfit(*scales, "U8 " + shape_text({shape[0], shape[1], shape[2]}) + " for " + numbers.name);
    }
    // Cannot overflow: there are as many numbers as twice the file's bytes.
    TensorInfo weight = assembled_tensor(numbers, name, {shape[0], shape[2] * 2 * kHalf, shape[1]}, mxfp4_blocks(),
                                         std::make_shared<Mxfp4Rows>(numbers, *scales));
    weight.columns = true;
    taken.add(numbers, {scales}, std::move(weight));
  }
  return {};
}

}  // namespace locus::formats

// FP8: numbers F8_E4M3, and NAME_scale_inv or NAME_scale beside each matrix NAME: one scale for all, for each row, or
// for each block of rows and columns. A weight is the number times its scale, in float32.
#include <cstring>

#include "models/formats/quantised/parts.h"

namespace locus::formats {

namespace {

using Block = Quantisation::Block;

std::int64_t blocks_in(std::int64_t size, std::int64_t block) {
  return block == 0 ? 1 : size / block + (size % block == 0 ? 0 : 1);
}

class Float8Rows final : public AssembledRows {
 public:
  // Precondition: the scales are those of these blocks.
  Float8Rows(const TensorInfo& weight, const TensorInfo& scales, Block block, const blocks::Format& format)
      : weight_(weight), scales_(scales), block_(block), format_(format) {}

  std::string_view name() const override { return blocks::float8().name; }
  void write(std::int64_t first, std::int64_t step, std::int64_t count, std::byte* out) const override {
    const std::int64_t width = weight_.shape.back();
    for (std::int64_t n = 0; n < count; ++n) {
      const std::int64_t row = first + n * step;
      const std::byte* const numbers = first_byte(weight_) + row * width;
      for (std::int64_t k = 0; k < width; k += format_.elements, out += format_.bytes) {
        const float scale = scale_at(row, k);
        if (format_.quantised()) {
          std::memcpy(out, &scale, sizeof scale);
          std::memcpy(out + sizeof scale, numbers + k, static_cast<std::size_t>(format_.elements));
        } else {
          float value = 0;
          blocks::float8().expand(numbers + k, &value);
          value *= scale;
          std::memcpy(out, &value, sizeof value);
        }
      }
    }
  }

 private:
  float scale_at(std::int64_t row, std::int64_t column) const {
    const std::int64_t across = blocks_in(weight_.shape.back(), block_.columns);
    return float_at(scales_, (block_.rows == 0 ? 0 : row / block_.rows) * across +
                                 (block_.columns == 0 ? 0 : column / block_.columns));
  }

  TensorInfo weight_;
  TensorInfo scales_;
  Block block_;
  const blocks::Format& format_;
};

// Finds the rows and columns that share a scale, from the shape of the scales: one of `blocks`, a row, or all of the
// matrix.
Result<Block> block_of(const TensorInfo& weight, const TensorInfo& scales, const std::vector<Block>& blocks) {
  std::string expected;
  for (const Block& block : blocks) {
    const std::vector<std::int64_t> grid{blocks_in(weight.shape[0], block.rows),
                                         blocks_in(weight.shape[1], block.columns)};
    if (scales.shape == grid) {
      return block;
    }
    expected += shape_text(grid) + ", ";
  }
  if (scales.elements() == 1) {
    return Block{};
  }
  const std::int64_t rows = weight.shape[0];
  if (scales.shape == std::vector<std::int64_t>{rows} || scales.shape == std::vector<std::int64_t>{rows, 1}) {
    return Block{1, 0};
  }
  return misfit(scales, "scales of shape " + expected + "[" + std::to_string(rows) + ", 1] or one number for " +
                            weight.name + " " + shape_text(weight.shape));
}

// Blocks as long as a scale allows.
const blocks::Format& float8_format(std::int64_t width, std::int64_t columns) {
  for (const std::int64_t elements : {128, 32}) {
    if (width % elements == 0 && (columns == 0 || columns >= width || columns % elements == 0)) {
      return blocks::scaled_float8(elements);
    }
  }
  return *blocks::format_of("F32");
}

Result<const TensorInfo*> scales_of(const TensorInfo& weight, const TensorSource& source) {
  const TensorInfo* const inverse = source.find(weight.name + "_scale_inv");
  const TensorInfo* const plain = source.find(weight.name + "_scale");
  if ((inverse == nullptr) == (plain == nullptr)) {
    return misfit(weight, "one of " + weight.name + "_scale_inv and " + weight.name + "_scale beside it");
  }
  const TensorInfo* const scales = inverse == nullptr ? plain : inverse;
  if (!is_of_floats(*scales)) {
    return misfit(*scales, "scales of F32, BF16 or F16");
  }
  return scales;
}

}  // namespace

Status take_float8(Taken& taken) {
  for (const TensorInfo& weight : taken.source->tensors()) {
    if (weight.blocks != &blocks::float8()) {
      continue;
    }
    if (weight.shape.size() != 2) {
      return unsupported("expected a matrix of F8_E4M3 numbers, found " + described(weight),
                         tensor_context(weight.file, weight.name));
    }
    LOCUS_TRY(const TensorInfo* const scales, scales_of(weight, *taken.source));
    LOCUS_TRY(const Block block, block_of(weight, *scales, taken.quantisation.blocks));
    const blocks::Format& format = float8_format(weight.shape.back(), block.columns);
    taken.add(weight, {scales},
              assembled_tensor(weight, weight.name, weight.shape, format,
                               std::make_shared<Float8Rows>(weight, *scales, block, format)));
  }
  return {};
}

}  // namespace locus::formats

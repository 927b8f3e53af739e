// Matrices that stay in the blocks of their file (core/base/block_formats.h). Such a matrix is a tensor like others to
// those who hold it - a shape (N, K), a place among the parameters - but has no elements that ATen could read: products
// and rows read it (linear.h), dense() expands it, and all else throws c10::Error.
#pragma once

#include <ATen/ATen.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/base/block_formats.h"

namespace locus::products {

struct Packed {
  const blocks::Format* format = nullptr;
  const std::byte* data = nullptr;  // rows one after another, whole blocks each
  std::int64_t outputs = 0;         // N
  std::int64_t inputs = 0;          // K
  // Where rows come in heads of this many whose halves are interleaved - 0, D/2, 1, D/2 + 1, … - and are to be read in
  // order; 0: they are in order.
  std::int64_t interleaved = 0;
  std::shared_ptr<const void> owner = nullptr;  // keeps `data`
  bool fast = false;                            // its products may round (Weights::fast of products.h)

  std::int64_t row_bytes() const { return inputs / format->elements * format->bytes; }
};

// The tensor of a matrix in blocks: (N, K), of bytes, on the CPU. Precondition: whole blocks make a row.
at::Tensor packed_tensor(Packed matrix);
// The weights that packed_tensor() was made of; null for every other tensor.
const Packed* packed_of(const at::Tensor& weight);

// The matrix as float32 numbers (N, K) in its rows' order; other tensors as they are.
at::Tensor dense(const at::Tensor& weight);
// The same matrix with fast products (Weights::fast of products.h); other tensors as they are.
at::Tensor with_fast_products(const at::Tensor& weight);
// Rows [begin, end) of a matrix, still in blocks; other tensors narrowed. Precondition: of interleaved rows, whole heads.
at::Tensor narrow_rows(const at::Tensor& weight, std::int64_t begin, std::int64_t end);

// The numbers of a row that holds an interleaved head's row `row`, and rows (or outputs in the last dimension) of whole
// heads as they lie in the file, put in order.
std::int64_t place_of_row(std::int64_t row, std::int64_t interleaved);
at::Tensor ordered_rows(const at::Tensor& rows, std::int64_t interleaved);
at::Tensor ordered_outputs(const at::Tensor& outputs, std::int64_t interleaved);

}  // namespace locus::products

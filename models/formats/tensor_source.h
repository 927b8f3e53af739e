// TensorSource: the named tensors of a checkpoint, in whatever files they are. Opening reads and validates headers; the
// bytes stay memory-mapped until they are converted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/block_formats.h"
#include "core/base/result.h"

namespace locus::formats {

class GgufMetadata;

enum class DType { kF64, kF32, kF16, kBF16, kI64, kI32, kI16, kI8, kU8, kBool, kBlocks };

// Bytes of one element, 1 of kBlocks; "F32", "BF16" as safetensors spells them, "blocks".
std::size_t element_size(DType dtype);
std::string_view to_text(DType dtype);

// A matrix whose rows are made of several tensors of a file when they are read (quantised/quantised.h). Every size was
// checked when the file was opened.
class AssembledRows {
 public:
  virtual ~AssembledRows() = default;
  // Rows first, first + step, …, `count` of them, as the tensor's blocks, one row after another.
  virtual void write(std::int64_t first, std::int64_t step, std::int64_t count, std::byte* out) const = 0;
  // "F8_E4M3", "GPTQ 4-bit".
  virtual std::string_view name() const = 0;
};

// One tensor. Its elements are storage[offset + Σ index·stride], all inside `storage` (checked on opening). A kBlocks
// tensor has whole blocks in every row, rows consecutive from the start of the storage.
struct TensorInfo {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;   // in elements; row-major for safetensors
  std::int64_t offset = 0;             // in elements
  std::span<const std::byte> storage;  // valid while the TensorSource lives; may be unaligned
  std::filesystem::path file;
  const blocks::Format* blocks = nullptr;  // kBlocks only
  // kBlocks only: what makes the rows, in place of `storage`. With `columns` the rows run along the last dimension, and
  // the numbers of a row along the one before it: a row of [E, K, N] has K numbers.
  std::shared_ptr<const AssembledRows> assembled = nullptr;
  bool columns = false;
  // Transformations by the file's writer: rows in heads of this many with interleaved halves (0: none), 1 added to every
  // number x, and −e^x in its place.
  std::int64_t interleaved = 0;
  bool one_added = false;
  bool negated_exponential = false;

  std::string_view type_name() const;  // "F32", "Q4_K"
  std::int64_t elements() const;
  std::int64_t row_elements() const;  // of a kBlocks tensor
  bool contiguous() const;
};

class TensorSource {
 public:
  virtual ~TensorSource() = default;
  // In the order of the files.
  virtual const std::vector<TensorInfo>& tensors() const = 0;
  virtual const TensorInfo* find(std::string_view name) const = 0;  // nullptr when absent
  // safetensors' __metadata__.
  virtual const std::map<std::string, std::string>& metadata() const = 0;
  virtual const std::vector<std::filesystem::path>& files() const = 0;
  virtual const std::vector<std::string>& warnings() const = 0;  // inert pickle objects, …
  // Numbers, strings and lists beside the tensors of a pickle (CoPE's `cfg`, a `config`) as JSON text; empty when there
  // are none.
  virtual const std::string& extra_json() const = 0;
  // The metadata of a GGUF file; null for other files.
  virtual std::shared_ptr<const GgufMetadata> gguf() const { return nullptr; }
};

using Source = std::shared_ptr<const TensorSource>;

// A file (.safetensors, .pt, .pth, .bin, .safetensors.index.json, .bin.index.json, .gguf; safetensors without an ending
// too), or a folder with one of model.safetensors[.index.json], pytorch_model.bin[.index.json], or a single tensor file.
// Errors: kBadInput, one line with file, tensor, expected and found; kUnsupported for dtypes that are not read.
Result<Source> open_tensors(const std::filesystem::path& path);

// A warning that names safetensors files with usual names beside the one that open_tensors() reads from this folder;
// empty for a file, or where there are none.
std::string unread_weights(const std::filesystem::path& folder);

// A tensor to be written: its raw row-major bytes.
struct OutputTensor {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<std::int64_t> shape;
  std::span<const std::byte> bytes;
  // Instead of `bytes`: called once, when they are written; they are needed until the next tensor's are made.
  std::function<std::span<const std::byte>()> make = {};
};

// Writes a safetensors file atomically; tensors in the given order, 8-byte aligned. Errors: kBadInput for names and
// sizes; kInternal where `make` gives another number of bytes than the shape has.
Status write_safetensors(const std::filesystem::path& path, const std::vector<OutputTensor>& tensors,
                         const std::map<std::string, std::string>& metadata = {});

}  // namespace locus::formats

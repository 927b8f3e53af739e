// Checkpoint folders made of stored weights, in a temporary place that goes away with the test.
#pragma once

#include <ATen/ATen.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "models/api/model.h"
#include "models/engine/trace/recorded_trace.h"
#include "tests/support/golden.h"
#include "tests/support/opened.h"

namespace locus::test {

// A folder of its own below the system's temporary one; removed in the destructor.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  void write(const std::string& name, const std::string& text) const;

 private:
  std::filesystem::path path_;
};

using Tensors = std::map<std::string, at::Tensor>;

// The arrays of `golden` whose names begin with `prefix`, without it.
Tensors with_prefix(const Golden& golden, const std::string& prefix);

// float32 (or int64) tensors as a safetensors file. Fails the test when it cannot be written.
void write_tensors(const std::filesystem::path& file, const Tensors& tensors);

// The logits of a run over one row of ids, (T, V); fails the test and returns an undefined tensor on errors.
at::Tensor logits_of(const models::Model& model, const at::Tensor& ids, std::int64_t position_start = 0);
// The same over one image (3, H, W): (classes).
at::Tensor logits_of_pixels(const models::Model& model, const at::Tensor& pixels);

// Opens a checkpoint; fails the test and returns null on errors.
std::shared_ptr<const models::Model> open_model(const std::filesystem::path& path,
                                                const models::OpenOptions& options = {});

// What a run recorded, or a file of one; of a run on another machine or device, what its file says.
models::TraceData recorded(const models::Trace& trace);

// The ids of a row.
std::vector<std::int64_t> ids_of(const at::Tensor& row);

}  // namespace locus::test

#include "tests/support/checkpoint_folder.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "models/engine/trace/recorded_trace.h"
#include "models/formats/tensor_source.h"

namespace locus::test {

namespace fs = std::filesystem;

TemporaryFolder::TemporaryFolder() {
  std::string pattern = (fs::temp_directory_path() / "locus-test-XXXXXX").string();
  path_ = mkdtemp(pattern.data());
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

void TemporaryFolder::write(const std::string& name, const std::string& text) const {
  std::ofstream(path_ / name, std::ios::binary) << text;
}

Tensors with_prefix(const Golden& golden, const std::string& prefix) {
  Tensors tensors;
  for (const auto& [name, value] : golden.arrays()) {
    if (name.rfind(prefix, 0) == 0) {
      tensors[name.substr(prefix.size())] = value;
    }
  }
  return tensors;
}

void write_tensors(const fs::path& file, const Tensors& tensors) {
  std::vector<at::Tensor> held;
  std::vector<formats::OutputTensor> output;
  for (const auto& [name, value] : tensors) {
    held.push_back(value.contiguous());
    const at::Tensor& tensor = held.back();
    const auto dtype = tensor.scalar_type() == at::kLong       ? formats::DType::kI64
                       : tensor.scalar_type() == at::kBFloat16 ? formats::DType::kBF16
                       : tensor.scalar_type() == at::kHalf     ? formats::DType::kF16
                                                               : formats::DType::kF32;
    output.push_back(
        {name, dtype, tensor.sizes().vec(), {static_cast<const std::byte*>(tensor.data_ptr()), tensor.nbytes()}});
  }
  const Status status = formats::write_safetensors(file, output);
  EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.error().describe());
}

std::shared_ptr<const models::Model> open_model(const fs::path& path, const models::OpenOptions& options) {
  const auto model = test::open(path, options);
  EXPECT_TRUE(model.ok()) << (model.ok() ? "" : model.error().describe());
  return model.ok() ? *model : nullptr;
}

namespace {

// Whether the CPU can read what the run recorded.
bool is_here(const models::TraceData& data) {
  for (const at::Tensor* tensor : {&data.input_ids, &data.pixels, &data.hidden, &data.logits}) {
    if (tensor->defined() && !tensor->device().is_cpu()) {
      return false;
    }
  }
  return true;
}

}  // namespace

models::TraceData recorded(const models::Trace& trace) {
  if (const auto* const own = dynamic_cast<const models::RecordedTrace*>(&trace);
      own != nullptr && is_here(own->data())) {
    return own->data();
  }
  const TemporaryFolder folder;
  const fs::path file = folder.path() / "trace.safetensors";
  const Status written = trace.write(file, {"all"});
  EXPECT_TRUE(written.ok()) << (written.ok() ? "" : written.error().describe());
  const auto read = models::open_trace(file);
  EXPECT_TRUE(read.ok()) << (read.ok() ? "" : read.error().describe());
  return read.ok() ? dynamic_cast<const models::RecordedTrace&>(**read).data() : models::TraceData();
}

std::vector<std::int64_t> ids_of(const at::Tensor& row) {
  const at::Tensor ids = row.contiguous();
  return {ids.data_ptr<std::int64_t>(), ids.data_ptr<std::int64_t>() + ids.numel()};
}

namespace {

at::Tensor logits_of_run(const models::Model& model, const models::Input& input) {
  models::RunOptions options;
  options.all_logits = true;
  const auto trace = model.run(input, options);
  EXPECT_TRUE(trace.ok()) << (trace.ok() ? "" : trace.error().describe());
  return trace.ok() ? recorded(**trace).logits : at::Tensor();
}

}  // namespace

at::Tensor logits_of(const models::Model& model, const at::Tensor& ids, std::int64_t position_start) {
  models::Input input;
  input.ids = ids_of(ids);
  input.position_start = position_start;
  return logits_of_run(model, input);
}

at::Tensor logits_of_pixels(const models::Model& model, const at::Tensor& pixels) {
  const TemporaryFolder folder;
  write_tensors(folder.path() / "pixels.safetensors", {{"pixel_values", pixels}});
  models::Input input;
  input.pixels = folder.path() / "pixels.safetensors";
  const at::Tensor logits = logits_of_run(model, input);
  return logits.defined() ? logits.flatten() : logits;
}

}  // namespace locus::test

// Weights of a file that several models have open.
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>

#include "models/api/model.h"
#include "models/engine/loaded_model.h"
#include "models/transformer/weights.h"
#include "tests/support/bundled.h"
#include "tests/support/checkpoint_folder.h"

namespace locus::test {
namespace {

namespace fs = std::filesystem;

class SharedWeights : public ::testing::Test {
 protected:
  SharedWeights() {
    const fs::path bundled = fs::path(source_dir()) / "assets/checkpoints/text-rope";
    for (const char* const name : {"config.json", "tokenizer.json"}) {
      fs::copy_file(bundled / name, folder_.path() / name);
    }
    // In float32, whose numbers are those of the file.
    const auto source = formats::open_tensors(bundled / "model.safetensors");
    EXPECT_TRUE(source.ok());
    Tensors tensors;
    for (const formats::TensorInfo& tensor : (*source)->tensors()) {
      tensors[tensor.name] = transformer::to_tensor(tensor, *source);
    }
    write_tensors(folder_.path() / "model.safetensors", tensors);
  }

  std::shared_ptr<const models::Model> open(std::optional<double> base = {}) const {
    models::OpenOptions options;
    options.overrides.rope_base = base;
    const auto opened = models::open(folder_.path(), options);
    EXPECT_TRUE(opened.ok()) << (opened.ok() ? "" : opened.error().describe());
    return *opened;
  }

  TemporaryFolder folder_;
};

// The largest matrix of the model.
at::Tensor largest(const models::Model& model) {
  const auto transformer = models::loaded_model_of(model)->checkpoint().ready();
  EXPECT_TRUE(transformer.ok());
  at::Tensor found;
  for (const transformer::Parameter& parameter : const_cast<transformer::Transformer&>(**transformer).parameters()) {
    found = !found.defined() || parameter.value->numel() > found.numel() ? *parameter.value : found;
  }
  return found;
}

TEST_F(SharedWeights, AnotherColumnOfTheSameFileHasNoCopyOfItsOwn) {
  auto first = open();
  const auto second = open(5000);
  const at::Tensor before = largest(*first);
  const at::Tensor after = largest(*second);
  EXPECT_EQ(before.data_ptr(), after.data_ptr());
  const at::Tensor numbers = before.clone();
  first.reset();
  EXPECT_TRUE(at::equal(largest(*second), numbers));
}

TEST_F(SharedWeights, AFileThatWasReplacedIsReadAnew) {
  const auto first = open();
  const at::Tensor before = largest(*first);
  const at::Tensor numbers = before.clone();
  // Puts a file of the same size in its place, in which every number has the opposite sign.
  const fs::path file = folder_.path() / "model.safetensors";
  const fs::path other = folder_.path() / "other.safetensors";
  {
    std::ifstream in(file, std::ios::binary);
    std::string bytes((std::istreambuf_iterator<char>(in)), {});
    std::uint64_t header = 0;
    std::memcpy(&header, bytes.data(), sizeof header);
    for (std::size_t n = 8 + header + 3; n < bytes.size(); n += 4) {
      bytes[n] = static_cast<char>(bytes[n] ^ 0x80);
    }
    std::ofstream(other, std::ios::binary) << bytes;
  }
  fs::rename(other, file);
  const auto second = open();
  EXPECT_TRUE(at::equal(largest(*second), -numbers));
  EXPECT_TRUE(at::equal(before, numbers));
}

}  // namespace
}  // namespace locus::test

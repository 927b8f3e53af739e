#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "core/base/atomic_file.h"
#include "models/formats/tensor_source.h"

namespace locus::formats {
namespace {

namespace fs = std::filesystem;

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

class Folder {
 public:
  Folder() : path_(fs::temp_directory_path() / ("locus_open_" + std::to_string(::getpid()))) {
    fs::create_directories(path_);
  }
  ~Folder() { fs::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  fs::path operator/(const std::string& name) const { return path_ / name; }
  const fs::path& path() const { return path_; }
  void tensor(const std::string& name) const {
    const float one = 1;
    EXPECT_TRUE(write_safetensors(path_ / name, {{name, DType::kF32, {}, std::as_bytes(std::span(&one, 1))}}).ok());
  }

 private:
  fs::path path_;
};

std::string open_tensors_refusal(const fs::path& path, ErrorCode code = ErrorCode::kBadInput) {
  const Result<Source> source = open_tensors(path);
  if (source.ok()) {
    ADD_FAILURE() << "opened";
    return "opened";
  }
  EXPECT_EQ(source.error().code, code);
  return source.error().describe();
}

// Resident memory of this process in KiB.
long resident_kib() {
  std::ifstream status("/proc/self/statm");
  long pages = 0;
  long resident = 0;
  status >> pages >> resident;
  return resident * ::sysconf(_SC_PAGESIZE) / 1024;
}

TEST(OpenTensors, ChoosesAFolderSUsualNameOrItsOnlyFile) {
  const Folder folder;
  EXPECT_HAS(open_tensors_refusal(folder.path()), "found none");
  folder.tensor("weights.safetensors");
  ASSERT_TRUE(write_file(folder / "optimizer.pt", "x").ok());
  ASSERT_TRUE(write_file(folder / "old.pth", "x").ok());
  EXPECT_EQ((*open_tensors(folder.path()))->tensors()[0].name, "weights.safetensors");
  folder.tensor("model_1.safetensors");
  EXPECT_HAS(open_tensors_refusal(folder.path()), "found model_1.safetensors, weights.safetensors");
  folder.tensor("model.safetensors");
  EXPECT_EQ((*open_tensors(folder.path()))->tensors()[0].name, "model.safetensors");
}

TEST(OpenTensors, NamesOtherWeightsOfTheFolder) {
  const Folder folder;
  EXPECT_EQ(unread_weights(folder.path()), "");
  folder.tensor("model.safetensors");
  EXPECT_EQ(unread_weights(folder.path()), "");
  ASSERT_TRUE(write_file(folder / "pytorch_model.bin", "x").ok());
  EXPECT_EQ(unread_weights(folder.path()), "");
  ASSERT_TRUE(write_file(folder / "model.safetensors.index.json", "{}").ok());
  EXPECT_TRUE(
      unread_weights(folder.path()).ends_with(": read from model.safetensors; not read: model.safetensors.index.json"));
  EXPECT_EQ(unread_weights(folder / "model.safetensors"), "");
}

// As blobs of the hub's cache are called, and files of another machine.
TEST(OpenTensors, KnowsSafetensorsWithoutAnEnding) {
  const Folder folder;
  folder.tensor("model.safetensors");
  fs::rename(folder / "model.safetensors", folder / "0a1b2c");
  const Result<Source> source = open_tensors(folder / "0a1b2c");
  ASSERT_TRUE(source.ok()) << source.error().describe();
  EXPECT_EQ((*source)->tensors()[0].name, "model.safetensors");
  ASSERT_TRUE(write_file(folder / "no", "12345678[]").ok());
  EXPECT_HAS(open_tensors_refusal(folder / "no"), "found \"\"");
}

TEST(OpenTensors, SaysWhatItDoesNotRead) {
  const Folder folder;
  ASSERT_TRUE(write_file(folder / "model.onnx", "x").ok());
  EXPECT_HAS(open_tensors_refusal(folder / "model.onnx", ErrorCode::kUnsupported), "found .onnx");
  EXPECT_HAS(open_tensors_refusal(folder.path(), ErrorCode::kUnsupported), "found an ONNX model: download");
  ASSERT_TRUE(write_file(folder / "model.gguf", "GGUF").ok());
  EXPECT_HAS(open_tensors_refusal(folder / "model.gguf"), "4 bytes of the version, found 0");
  EXPECT_HAS(open_tensors_refusal(folder.path()), "4 bytes of the version, found 0");
  ASSERT_TRUE(write_file(folder / "model.bin", "GGUF").ok());
  EXPECT_HAS(open_tensors_refusal(folder / "model.bin"), "4 bytes of the version, found 0");
  ASSERT_TRUE(write_file(folder / "model.txt", "x").ok());
  EXPECT_HAS(open_tensors_refusal(folder / "model.txt"), "found \".txt\"");
  ASSERT_TRUE(write_file(folder / "empty.pt", "").ok());
  EXPECT_HAS(open_tensors_refusal(folder / "empty.pt"), "neither a zip archive");
  EXPECT_HAS(open_tensors_refusal(folder / "absent.safetensors"), "expected a file, found none");
  ASSERT_EQ(::mkfifo((folder / "pipe.safetensors").c_str(), 0600), 0);
  EXPECT_HAS(open_tensors_refusal(folder / "pipe.safetensors"), "found a folder or a device");
}

TEST(OpenTensors, OpensTenGigabytesWithoutReadingThem) {
  const Folder folder;
  const std::string file = folder / "model.safetensors";
  constexpr std::int64_t kTensors = 1000;
  constexpr std::int64_t kElements = 2'500'000;
  std::string header = "{";
  for (std::int64_t n = 0; n < kTensors; ++n) {
    header += (n == 0 ? "" : ",") + ("\"layer." + std::to_string(n)) + R"(.weight":{"dtype":"F32","shape":[2500000],)" +
              "\"data_offsets\":[" + std::to_string(4 * n * kElements) + "," + std::to_string(4 * (n + 1) * kElements) +
              "]}";
  }
  header += "}";
  const std::uint64_t length = header.size();
  ASSERT_TRUE(write_file(file, std::string(reinterpret_cast<const char*>(&length), 8) + header).ok());
  const auto size = static_cast<off_t>(8 + length) + 4 * kTensors * kElements;
  if (::truncate(file.c_str(), size) != 0) {
    GTEST_SKIP() << "no sparse files of 10 GB here";
  }
  const long before = resident_kib();
  const Result<Source> source = open_tensors(folder.path());
  ASSERT_TRUE(source.ok()) << source.error().describe();
  EXPECT_EQ((*source)->tensors().size(), 1000U);
  EXPECT_LT(resident_kib() - before, 200 * 1024);
  EXPECT_EQ(std::to_integer<int>((*source)->tensors().back().storage.back()), 0);
}

}  // namespace
}  // namespace locus::formats

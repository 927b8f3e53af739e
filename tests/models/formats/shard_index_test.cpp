#include "models/formats/safetensors/shard_index.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "core/base/atomic_file.h"

namespace locus::formats {
namespace {

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

std::string shard_index_refusal(const std::string& json) {
  const Result<ShardIndex> index = parse_shard_index(json, "model.safetensors.index.json");
  EXPECT_FALSE(index.ok());
  if (index.ok()) {
    return "parsed";
  }
  EXPECT_EQ(index.error().code, ErrorCode::kBadInput);
  EXPECT_EQ(index.error().describe().rfind("model.safetensors.index.json: ", 0), 0U) << index.error().describe();
  return index.error().describe();
}

std::string map_to(const std::string& file) {
  return "{\"weight_map\": {\"a\": \"" + file + "\"}}";
}

// A folder with two files of tensors, the second a link as in the hub's cache.
class ShardFolder {
 public:
  ShardFolder() {
    folder_ = std::filesystem::temp_directory_path() / ("locus_shards_" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_ / "blobs");
    shard("one.safetensors", {{"b", 1}, {"a", 2}});
    shard("blobs/0123", {{"c", 3}, {"spare", 4}});
    std::filesystem::create_symlink("blobs/0123", folder_ / "two.safetensors");
  }
  ~ShardFolder() { std::filesystem::remove_all(folder_); }
  ShardFolder(const ShardFolder&) = delete;
  ShardFolder& operator=(const ShardFolder&) = delete;

  void shard(const std::string& name, const std::vector<std::pair<std::string, float>>& values) {
    std::vector<OutputTensor> tensors;
    for (const auto& [tensor, value] : values) {
      tensors.push_back({tensor, DType::kF32, {1}, std::as_bytes(std::span(&value, 1))});
    }
    EXPECT_TRUE(write_safetensors(folder_ / name, tensors).ok());
  }
  void index(const std::string& json) { EXPECT_TRUE(write_file(folder_ / "model.safetensors.index.json", json).ok()); }

  const std::filesystem::path& path() const { return folder_; }

 private:
  std::filesystem::path folder_;
};

float value_of(const Source& source, const std::string& name) {
  float value = -1;
  if (const TensorInfo* tensor = source->find(name)) {
    std::memcpy(&value, tensor->storage.data(), 4);
  }
  return value;
}

TEST(ShardIndex, RefusesFilesOutsideItsFolder) {
  for (const char* file : {"../a.safetensors", "b/../../a.safetensors", "/etc/a.safetensors", "C:a.safetensors",
                           "C:\\\\a.safetensors", "\\\\\\\\host\\\\a.safetensors", "", ".", "a/", "./a.safetensors"}) {
    EXPECT_HAS(shard_index_refusal(map_to(file)), "expected files beside the index");
  }
  EXPECT_HAS(shard_index_refusal(map_to("a\\u0000.safetensors")), "expected files beside the index");
  for (const char* file : {"a.bin", "a", "a.safetensors.txt", ".safetensors", "passwd"}) {
    EXPECT_HAS(shard_index_refusal(map_to(file)), "expected files named *.safetensors");
  }
}

TEST(ShardIndex, RefusesWhatIsNoIndex) {
  EXPECT_HAS(shard_index_refusal("["), "expected an object, found a list");
  EXPECT_HAS(shard_index_refusal("{}"), "expected a weight_map, found none");
  EXPECT_HAS(shard_index_refusal("{\"weight_map\": []}"), "weight_map: expected an object, found a list");
  EXPECT_HAS(shard_index_refusal("{\"weight_map\": 4}"), "found the number 4");
  EXPECT_HAS(shard_index_refusal("{\"weight_map\": {\"a\": 4}}"),
             "tensor a: weight_map: expected a file name, found the number 4");
  EXPECT_HAS(shard_index_refusal("{\"weight_map\": {\"a\": {\"b\": 1}}}"), "expected a file name, found an object");
  EXPECT_HAS(shard_index_refusal("{\"weight_map\": {\"a\": \"x.safetensors\", \"a\": \"x.safetensors\"}}"), "twice");
  EXPECT_HAS(shard_index_refusal("{\"metadata\": " + std::string(10'000, '[')), "deeper than 16");
  EXPECT_HAS(shard_index_refusal("{\"weight_map\": {\"a\": \"x.safetensors\"}"), "not JSON");
}

TEST(ShardIndex, SkipsOtherFields) {
  const auto index = parse_shard_index(
      R"({"metadata": {"total_size": 12, "weight_map": {"x": [1]}}, "weight_map": {"a": "sub/m.safetensors"}, "z": [{}]})",
      "model.safetensors.index.json");
  ASSERT_TRUE(index.ok()) << index.error().describe();
  EXPECT_EQ(index->weight_map, (std::map<std::string, std::string>{{"a", "sub/m.safetensors"}}));
}

TEST(ShardIndex, GathersTensorsFromTheirFiles) {
  ShardFolder folder;
  folder.index(R"({"weight_map": {"a": "one.safetensors", "b": "one.safetensors", "c": "two.safetensors"}})");
  const Result<Source> source = open_tensors(folder.path());
  ASSERT_TRUE(source.ok()) << source.error().describe();
  ASSERT_EQ((*source)->tensors().size(), 3U);
  EXPECT_EQ((*source)->tensors()[0].name, "b");
  EXPECT_EQ(value_of(*source, "a"), 2);
  EXPECT_EQ(value_of(*source, "b"), 1);
  EXPECT_EQ(value_of(*source, "c"), 3);
  EXPECT_EQ((*source)->files().size(), 3U);
  ASSERT_EQ((*source)->warnings().size(), 1U);
  EXPECT_HAS((*source)->warnings()[0], "tensor spare: not in the index");
}

TEST(ShardIndex, NamesWhatIsMissing) {
  ShardFolder folder;
  folder.index(R"({"weight_map": {"a": "one.safetensors", "absent": "one.safetensors"}})");
  Result<Source> source = open_tensors(folder.path() / "model.safetensors.index.json");
  ASSERT_TRUE(source.ok()) << source.error().describe();
  ASSERT_EQ((*source)->warnings().size(), 2U);
  EXPECT_HAS((*source)->warnings()[0], "one.safetensors: tensor b: not in the index");
  EXPECT_HAS((*source)->warnings()[1], "one.safetensors: tensor absent: in the index, not in the file");
  folder.index(R"({"weight_map": {"a": "three.safetensors"}})");
  source = open_tensors(folder.path());
  ASSERT_FALSE(source.ok());
  EXPECT_HAS(source.error().describe(), "three.safetensors: expected a file, found none");
}

}  // namespace
}  // namespace locus::formats

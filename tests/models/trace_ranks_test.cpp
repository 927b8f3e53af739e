// Traces of sharded runs: a file for each rank, opened as one.
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "models/engine/trace/recorded_trace.h"
#include "models/formats/tensor_source.h"
#include "tests/support/checkpoint_folder.h"

namespace locus {
namespace {

using nlohmann::json;
using RankTensors = std::map<std::string, at::Tensor>;
using RankTexts = std::map<std::string, std::string>;

constexpr std::int64_t kTokens = 5;
constexpr std::int64_t kHeads = 4;

struct RankFile {
  RankTensors tensors;
  RankTexts metadata;
};

class TraceRanks : public testing::Test {
 protected:
  void SetUp() override {
    at::manual_seed(3);
    for (int layer = 0; layer < 2; ++layer) {
      const std::string name = "layers." + std::to_string(layer) + ".";
      whole_.tensors[name + "q"] = at::randn({kHeads, kTokens, 6});
      whole_.tensors[name + "k"] = at::randn({2, kTokens, 6});
    }
    whole_.tensors["input_ids"] = at::arange(kTokens);
    whole_.metadata = {
        {"locus.format", "trace/1"}, {"causal", "true"},   {"layer_encodings", R"([{"name": "rope"}, null])"},
        {"windows", "[3, 0]"},       {"chunks", "[0, 0]"}, {"soft_caps", "[0, 2.5]"},
        {"sinks", "[false, false]"}};
  }

  std::filesystem::path path(const std::string& name) const { return folder_.path() / name; }

  void write(const std::string& name, const RankFile& file) const {
    std::vector<formats::OutputTensor> tensors;
    std::vector<at::Tensor> held;
    for (const auto& [tensor_name, tensor] : file.tensors) {
      held.push_back(tensor.contiguous());
      const bool ids = tensor.scalar_type() == at::kLong;
      tensors.push_back({tensor_name,
                         ids ? formats::DType::kI64 : formats::DType::kF32,
                         tensor.sizes().vec(),
                         {static_cast<const std::byte*>(held.back().data_ptr()), held.back().nbytes()}});
    }
    const Status written = formats::write_safetensors(path(name), tensors, file.metadata);
    ASSERT_TRUE(written.ok()) << written.error().describe();
  }

  // The file of a rank that holds these layers and heads.
  RankFile part(std::int64_t rank, std::int64_t ranks, const std::vector<std::int64_t>& layers, Range heads) const {
    RankFile file;
    file.metadata = whole_.metadata;
    file.metadata["shard"] =
        json{{"rank", rank}, {"ranks", ranks}, {"layers", layers}, {"heads", {heads.begin, heads.end}}, {"of", kHeads}}
            .dump();
    for (const char* const key : {"layer_encodings", "windows", "chunks", "soft_caps", "sinks"}) {
      const json all = json::parse(whole_.metadata.at(key));
      json own = json::array();
      for (const std::int64_t layer : layers) {
        own.push_back(all[static_cast<std::size_t>(layer)]);
      }
      file.metadata[key] = own.dump();
    }
    file.tensors["input_ids"] = whole_.tensors.at("input_ids");
    for (const std::int64_t layer : layers) {
      for (const char* const name : {"q", "k"}) {
        const std::string full = "layers." + std::to_string(layer) + "." + name;
        const at::Tensor& tensor = whole_.tensors.at(full);
        const std::int64_t group = kHeads / tensor.size(0);
        file.tensors[full] = tensor.slice(0, heads.begin / group, heads.end / group);
      }
    }
    return file;
  }

  // What opening the first rank's file says.
  std::string error() const {
    const auto opened = test::open_trace(path("t.rank0of2.safetensors"));
    return opened.ok() ? "" : opened.error().describe();
  }

  void expect_whole(const std::string& name) const {
    const auto opened = test::open_trace(path(name));
    ASSERT_TRUE(opened.ok()) << opened.error().describe();
    const auto want = test::open_trace(path("whole.safetensors"));
    ASSERT_TRUE(want.ok()) << want.error().describe();
    EXPECT_EQ((*opened)->model().heads, kHeads);
    EXPECT_EQ((*opened)->model().kv_heads, 2);
    EXPECT_TRUE((*opened)->model().layer_info == (*want)->model().layer_info);
    for (std::int64_t layer = 0; layer < 2; ++layer) {
      for (std::int64_t head = 0; head < kHeads; ++head) {
        const models::MapRequest request{layer, head, models::Quantity::kWeight, {}, {}};
        const auto a = (*opened)->map(request);
        const auto b = (*want)->map(request);
        ASSERT_TRUE(a.ok() && b.ok());
        EXPECT_EQ(a->values, b->values) << name << ": " << layer << "." << head;
      }
    }
  }

  test::TemporaryFolder folder_;
  RankFile whole_;
};

TEST_F(TraceRanks, HeadsOfTwoRanks) {
  write("whole.safetensors", whole_);
  write("t.rank0of2.safetensors", part(0, 2, {0, 1}, {0, 2}));
  write("t.rank1of2.safetensors", part(1, 2, {0, 1}, {2, 4}));
  expect_whole("t.rank0of2.safetensors");
  expect_whole("t.rank1of2.safetensors");
}

TEST_F(TraceRanks, LayersOfTwoRanksAndBoth) {
  write("whole.safetensors", whole_);
  write("t.rank0of2.safetensors", part(0, 2, {0}, {0, 4}));
  write("t.rank1of2.safetensors", part(1, 2, {1}, {0, 4}));
  expect_whole("t.rank1of2.safetensors");
  write("u.rank0of3.safetensors", part(0, 3, {0}, {0, 4}));
  write("u.rank1of3.safetensors", part(1, 3, {1}, {2, 4}));
  write("u.rank2of3.safetensors", part(2, 3, {1}, {0, 2}));
  expect_whole("u.rank2of3.safetensors");
}

TEST_F(TraceRanks, MissingRanks) {
  write("t.rank0of2.safetensors", part(0, 2, {0, 1}, {0, 2}));
  EXPECT_EQ(error(), path("t.rank1of2.safetensors").string() + ": expected the file of rank 1 of 2, found none");
  write("t.rank1of2.safetensors", part(0, 2, {0, 1}, {0, 2}));
  EXPECT_EQ(error(), path("t.rank1of2.safetensors").string() +
                         ": metadata shard: expected rank 1 of 2 and 4 heads, found rank 0 of 2 and 4");
  write("renamed.safetensors", part(0, 2, {0, 1}, {0, 2}));
  const auto renamed = test::open_trace(path("renamed.safetensors"));
  ASSERT_FALSE(renamed.ok());
  EXPECT_EQ(renamed.error().describe(),
            path("renamed.safetensors").string() + ": expected a name with .rank0of2., as the ranks' files have");
}

TEST_F(TraceRanks, RanksThatDoNotFit) {
  write("t.rank0of2.safetensors", part(0, 2, {0, 1}, {0, 2}));
  const auto second = [&](const auto& change) {
    RankFile file = part(1, 2, {0, 1}, {2, 4});
    change(file);
    write("t.rank1of2.safetensors", file);
    return error();
  };
  const std::string where = path("t.rank1of2.safetensors").string() + ": ";
  const auto shard = [](RankFile& file, const char* key, const json& value) {
    json changed = json::parse(file.metadata["shard"]);
    changed[key] = value;
    file.metadata["shard"] = changed.dump();
  };
  EXPECT_EQ(second([](RankFile&) {}), "");
  EXPECT_EQ(
      second([](RankFile& file) { file.tensors["input_ids"] = at::arange(1, kTokens + 1); }),
      where + "tensor input_ids: expected the values of " + path("t.rank0of2.safetensors").string() + ", found others");
  EXPECT_EQ(second([](RankFile& file) { file.metadata["causal"] = "false"; }),
            where + "metadata causal: expected the value of rank 0, true, found false");
  EXPECT_EQ(second([](RankFile& file) { file.metadata["windows"] = "[3, 1]"; }),
            where + "metadata windows: layer 1: expected 0 as another rank has, found 1");
  EXPECT_EQ(second([](RankFile& file) { file.metadata.erase("sinks"); }).rfind(where + "metadata sinks: ", 0), 0U);
  EXPECT_EQ(second([](RankFile& file) { file.metadata["chunks"] = "[0]"; }),
            where + "metadata chunks: expected a list of 2 entries, one per layer");
  EXPECT_EQ(second([](RankFile& file) { file.tensors.erase("layers.1.k"); }),
            where + "tensor layers.1.k: expected it as in the files of the other ranks of layer 1, found none");
  EXPECT_EQ(second([](RankFile& file) {
              file.tensors["layers.5.k"] = at::ones({1, kTokens, 6});
            }),
            where + "tensor layers.5.k: expected no tensor of a layer that its metadata does not name, found one");
  EXPECT_EQ(
      second([](RankFile& file) {
        file.tensors["layers.1.q"] = at::ones({2, kTokens, 7});
      }),
      where + "tensor layers.1.q: expected 2 heads of the type and shape that the other ranks have, found others");
  EXPECT_EQ(
      second([](RankFile& file) {
        file.tensors["layers.1.q"] = at::ones({3, kTokens, 6});
      }),
      where + "tensor layers.1.q: expected 2 heads of the type and shape that the other ranks have, found others");
  EXPECT_EQ(
      second([](RankFile& file) {
        file.tensors["layers.1.k"] = at::ones({2, kTokens, 6});
      }),
      where + "tensor layers.1.k: expected 2 heads of the type and shape that the other ranks have, found others");
  EXPECT_EQ(second([&](RankFile& file) {
              shard(file, "heads", json{3, 4});
            }),
            where + "metadata shard: layer 0: expected heads from 2 on, found 3 to 4");
  EXPECT_EQ(second([&](RankFile& file) {
              shard(file, "heads", json{0, 2});
            }),
            where + "metadata shard: layer 0: expected heads from 2 on, found 0 to 2");
  EXPECT_EQ(second([&](RankFile& file) {
              shard(file, "heads", json{2, 3});
            }),
            path("t.rank0of2.safetensors").string() +
                ": metadata shard: layer 0: expected 4 heads in the files of all ranks, found 3");
  for (const auto& [key, value] : std::initializer_list<std::pair<const char*, json>>{{"heads", json{2, 9}},
                                                                                      {"heads", json{3, 2}},
                                                                                      {"heads", json{2}},
                                                                                      {"heads", 2},
                                                                                      {"of", 0},
                                                                                      {"of", "4"},
                                                                                      {"of", INT64_MAX},
                                                                                      {"ranks", INT64_MAX},
                                                                                      {"ranks", 0},
                                                                                      {"rank", -1},
                                                                                      {"rank", 2},
                                                                                      {"layers", json{1, 0}},
                                                                                      {"layers", json{0.5}},
                                                                                      {"layers", 7},
                                                                                      {"layers", json{4096}}}) {
    const std::string said = second([&, key = key, value = value](RankFile& file) { shard(file, key, value); });
    EXPECT_EQ(said.rfind(where + "metadata shard", 0), 0U) << key << ": " << said;
  }
  EXPECT_EQ(second([](RankFile& file) { file.metadata["shard"] = "["; }).rfind(where + "metadata shard", 0), 0U);
}

}  // namespace
}  // namespace locus

// Checkpoints too large to read on opening, as files with holes.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <stop_token>

#include "core/base/system_files.h"
#include "models/api/model.h"
#include "tests/support/checkpoint_folder.h"

namespace locus {
namespace {

// A Llama with a tied head, all zeros but for what is set.
class Sparse {
 public:
  Sparse(std::int64_t vocabulary, std::int64_t width, const char* dtype = "F32", std::int64_t bytes = 4)
      : dtype_(dtype), element_(bytes) {
    const std::string sizes = "\"vocab_size\": " + std::to_string(vocabulary) +
                              ", \"hidden_size\": " + std::to_string(width) + ", \"intermediate_size\": 8";
    place_.write("config.json", R"({"model_type": "llama", "num_hidden_layers": 1, "num_attention_heads": 2,
      "tie_word_embeddings": true, )" +
                                    sizes + "}");
    add("model.embed_tokens.weight", {vocabulary, width});
    const std::string layer = "model.layers.0.";
    for (const char* part : {"q", "k", "v", "o"}) {
      add(layer + "self_attn." + part + "_proj.weight", {width, width});
    }
    add(layer + "mlp.gate_proj.weight", {8, width});
    add(layer + "mlp.up_proj.weight", {8, width});
    add(layer + "mlp.down_proj.weight", {width, 8});
    for (const char* norm :
         {"model.layers.0.input_layernorm", "model.layers.0.post_attention_layernorm", "model.norm"}) {
      add(std::string(norm) + ".weight", {width});
    }
    std::string text = header_.dump();
    text.resize((text.size() + 7) / 8 * 8, ' ');
    const auto length = static_cast<std::uint64_t>(text.size());
    std::ofstream file(path(), std::ios::binary);
    file.write(reinterpret_cast<const char*>(&length), sizeof length);
    file << text;
    data_ = static_cast<std::int64_t>(sizeof length + text.size());
    file.close();
    std::filesystem::resize_file(path(), static_cast<std::uintmax_t>(data_ + end_));
  }

  // One element of a tensor.
  void set(const std::string& name, std::int64_t element, float value) const {
    std::fstream file(path(), std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(data_ + header_[name]["data_offsets"][0].get<std::int64_t>() + 4 * element);
    file.write(reinterpret_cast<const char*>(&value), sizeof value);
  }
  const std::filesystem::path& folder() const { return place_.path(); }
  std::int64_t bytes() const { return end_; }

 private:
  std::filesystem::path path() const { return place_.path() / "model.safetensors"; }
  void add(const std::string& name, const std::vector<std::int64_t>& shape) {
    std::int64_t size = element_;
    for (const std::int64_t each : shape) {
      size *= each;
    }
    header_[name] = {{"dtype", dtype_}, {"shape", shape}, {"data_offsets", {end_, end_ + size}}};
    end_ += size;
  }

  test::TemporaryFolder place_;
  std::string dtype_;
  std::int64_t element_ = 4;
  nlohmann::json header_ = nlohmann::json::object();
  std::int64_t end_ = 0;
  std::int64_t data_ = 0;
};

// Resident memory, bytes.
double resident() {
  return system_bytes("/proc/self/status", "VmRSS");
}

TEST(LargeCheckpoint, TenGigabytesOpenWithoutBeingRead) {
  const Sparse sparse(10'500'000, 240);
  ASSERT_GT(sparse.bytes(), std::int64_t{10'000'000'000});
  const double before = resident();
  ASSERT_GT(before, 0);
  const models::OpenOptions options;
  const auto model = test::open(sparse.folder(), options);
  ASSERT_TRUE(model.ok()) << model.error().describe();
  EXPECT_LT(resident() - before, 200e6);
}

// Room for the weights is asked for before they are read.
TEST(LargeCheckpoint, WeightsBeyondTheMachineAreRefusedUnread) {
  const Sparse sparse(16'000'000, 15'000);  // 960 GB
  const models::OpenOptions options;
  const auto model = test::open(sparse.folder(), options);
  ASSERT_TRUE(model.ok()) << model.error().describe();
  models::Input input;
  input.ids = std::vector<std::int64_t>{1, 2, 3};
  const double before = resident();
  const auto trace = (*model)->run(input);
  ASSERT_FALSE(trace.ok());
  EXPECT_EQ(trace.error().code, ErrorCode::kTooLarge);
  EXPECT_NE(trace.error().describe().find("the weights need 96"), std::string::npos) << trace.error().describe();
  EXPECT_LT(resident() - before, 100e6);
}

// bfloat16 matrices of a large checkpoint stay in the file: an estimate counts two bytes of them, not four.
TEST(LargeCheckpoint, WeightsOfSixteenBitsCountAsSuch) {
  const Sparse sparse(10'500'000, 240, "BF16", 2);
  const models::OpenOptions options;
  const auto model = test::open(sparse.folder(), options);
  ASSERT_TRUE(model.ok()) << model.error().describe();
  const double file_mb = 1e-6 * static_cast<double>(sparse.bytes());
  // The norms alone are converted: 3 of 240 numbers, two bytes more each.
  EXPECT_NEAR((*model)->estimate(8, {}).weights_mb, file_mb + 1e-6 * 3 * 240 * 2, 1e-6);
}

// They are not looked for on opening: a run ends where its numbers end, and says which tensor holds such values.
TEST(LargeCheckpoint, ValuesThatAreNotFiniteAreTheCauseThatARunNames) {
  const Sparse sparse(1'200'000, 56);  // 269 MB: beyond what is read on opening
  sparse.set("model.embed_tokens.weight", 56 * 1'100'000 + 3, std::numeric_limits<float>::quiet_NaN());
  const models::OpenOptions options;
  const auto model = test::open(sparse.folder(), options);
  ASSERT_TRUE(model.ok()) << model.error().describe();
  EXPECT_TRUE((*model)->info().warnings.empty());
  models::Input input;
  input.ids = std::vector<std::int64_t>{1, 2, 3};
  for (int run = 0; run < 2; ++run) {
    const auto trace = (*model)->run(input);
    ASSERT_FALSE(trace.ok());
    EXPECT_EQ(trace.error().code, ErrorCode::kBadInput);
    const std::string said = trace.error().describe();
    EXPECT_NE(said.find("logits: expected numbers, found NaN"), std::string::npos) << said;
    EXPECT_NE(said.find("model.embed_tokens.weight: holds values that are not finite"), std::string::npos) << said;
  }
}

TEST(LargeCheckpoint, FiniteValuesGiveNoWarning) {
  const Sparse sparse(1'200'000, 56);
  // Finite, but their sum is not.
  sparse.set("model.norm.weight", 0, std::numeric_limits<float>::max());
  sparse.set("model.norm.weight", 1, std::numeric_limits<float>::max());
  const models::OpenOptions options;
  const auto model = test::open(sparse.folder(), options);
  ASSERT_TRUE(model.ok()) << model.error().describe();
  models::Input input;
  input.ids = std::vector<std::int64_t>{1, 2, 3};
  const auto trace = (*model)->run(input);
  ASSERT_TRUE(trace.ok()) << trace.error().describe();
  EXPECT_TRUE((*trace)->model().warnings.empty());
}

// Reading the weights of a large checkpoint says how far it is, and stops between two tensors.
TEST(LargeCheckpoint, ReadingSaysHowFarItIsAndCanBeStopped) {
  const Sparse sparse(1'200'000, 64);
  const auto model = test::open(sparse.folder());
  ASSERT_TRUE(model.ok()) << model.error().describe();
  std::stop_source source;
  std::vector<double> fractions;
  const Status stopped = (*model)->read_weights(source.get_token(), [&](const ProgressReport& news) {
    fractions.push_back(news.fraction);
    source.request_stop();
  });
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.error().code, ErrorCode::kCancelled);
  EXPECT_EQ(fractions, std::vector<double>{0});
  fractions.clear();
  std::string first;
  const Status read = (*model)->read_weights({}, [&](const ProgressReport& news) {
    fractions.push_back(news.fraction);
    first = first.empty() ? news.what : first;
  });
  ASSERT_TRUE(read.ok()) << read.error().describe();
  EXPECT_EQ(first, "reading the weights, 0 of 307 MB");
  EXPECT_GE(fractions.size(), 11U);
  EXPECT_TRUE(std::is_sorted(fractions.begin(), fractions.end()));
  EXPECT_LT(fractions.back(), 1);
  fractions.clear();
  EXPECT_TRUE((*model)->read_weights({}, [&](const ProgressReport& news) { fractions.push_back(news.fraction); }).ok());
  EXPECT_TRUE(fractions.empty());  // they are there
}

}  // namespace
}  // namespace locus

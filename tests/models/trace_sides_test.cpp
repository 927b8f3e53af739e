// Traces of encoder–decoders: of another program, and files that are not what they say.
#include <gtest/gtest.h>

#include <map>

#include "models/engine/trace/recorded_trace.h"
#include "models/formats/tensor_source.h"
#include "models/formats/trace/sides.h"
#include "tests/support/checkpoint_folder.h"

namespace locus {
namespace {

using Parts = std::map<std::string, at::Tensor>;

constexpr std::int64_t kSideHeads = 2;
constexpr std::int64_t kDecoded = 3;
constexpr std::int64_t kEncoded = 5;

at::Tensor random_map(std::int64_t rows, std::int64_t columns) {
  return at::softmax(at::randn({kSideHeads, rows, columns}), -1);
}

// What a program wrote that knows nothing of encodings: maps and ids.
Parts maps_alone() {
  at::manual_seed(5);
  return {{"input_ids", at::arange(10, 10 + kEncoded)},
          {"decoder_input_ids", at::arange(kDecoded)},
          {"encoder.layers.0.attention", random_map(kEncoded, kEncoded)},
          {"encoder.layers.1.attention", random_map(kEncoded, kEncoded)},
          {"decoder.layers.0.attention", random_map(kDecoded, kDecoded).tril()},
          {"decoder.layers.0.cross_attention", random_map(kDecoded, kEncoded)}};
}

class TraceSides : public testing::Test {
 protected:
  Result<std::shared_ptr<const models::Trace>> opened(const Parts& parts,
                                                      std::map<std::string, std::string> metadata = {}) const {
    std::vector<formats::OutputTensor> tensors;
    for (const auto& [name, tensor] : parts) {
      const bool whole = tensor.scalar_type() == at::kLong;
      tensors.push_back({name,
                         whole ? formats::DType::kI64 : formats::DType::kF32,
                         tensor.sizes().vec(),
                         {static_cast<const std::byte*>(tensor.data_ptr()), tensor.nbytes()}});
    }
    metadata.emplace("locus.format", "trace/1");
    const auto path = folder_.path() / "theirs.safetensors";
    EXPECT_TRUE(formats::write_safetensors(path, tensors, metadata).ok());
    return test::open_trace(path);
  }
  void expect_refused(const Parts& parts, const std::string& naming) const {
    const auto trace = opened(parts);
    ASSERT_FALSE(trace.ok()) << naming;
    EXPECT_EQ(trace.error().code, ErrorCode::kBadInput);
    EXPECT_NE(trace.error().describe().find(naming), std::string::npos) << trace.error().describe();
  }

  test::TemporaryFolder folder_;
};

TEST_F(TraceSides, OfAnotherProgramShowTheirMaps) {
  const Parts parts = maps_alone();
  const auto trace = opened(parts, {{"tokens", R"(["a", "b", "c", "d", "e"])"}, {"encoder.causal", "false"}});
  ASSERT_TRUE(trace.ok()) << trace.error().describe();
  const auto encoder = (*trace)->side(models::Side::kEncoder);
  const auto cross = (*trace)->side(models::Side::kCross);
  ASSERT_TRUE(encoder && cross);
  EXPECT_EQ((*trace)->model().encoder_layers, 2);
  EXPECT_EQ((*trace)->model().layers, 1);
  EXPECT_TRUE((*trace)->model().causal);
  EXPECT_FALSE(encoder->model().causal);
  EXPECT_EQ(encoder->tokens()[1].label, "b");
  EXPECT_EQ(cross->key_tokens()[4].label, "e");
  EXPECT_EQ(cross->tokens()[2].id, 2);
  const auto expect_map = [&](const models::Trace& side, const std::string& name) {
    const at::Tensor& want = parts.at(name);
    const auto map = side.map({0, 1, models::Quantity::kWeight, {}, {}});
    ASSERT_TRUE(map.ok()) << map.error().describe();
    ASSERT_EQ((std::vector<std::int64_t>{map->rows, map->columns}), want[1].sizes().vec());
    EXPECT_TRUE(at::tensor(at::ArrayRef<float>(map->values)).equal(want[1].flatten())) << name;
  };
  expect_map(**trace, "decoder.layers.0.attention");
  expect_map(*encoder, "encoder.layers.0.attention");
  expect_map(*cross, "decoder.layers.0.cross_attention");
  EXPECT_EQ(cross->map({0, 0, models::Quantity::kLogit, {}, {}}).error().code, ErrorCode::kUnsupported);
}

TEST_F(TraceSides, QueriesAndKeysOfTheCrossMapsAreEnough) {
  Parts parts = maps_alone();
  const at::Tensor query = at::randn({kSideHeads, kDecoded, 4});
  const at::Tensor key = at::randn({kSideHeads, kEncoded, 4});
  parts.erase("decoder.layers.0.cross_attention");
  parts.emplace("decoder.layers.0.cross_q", query);
  parts.emplace("decoder.layers.0.cross_k", key);
  const auto trace = opened(parts);
  ASSERT_TRUE(trace.ok()) << trace.error().describe();
  const auto map = (*trace)->side(models::Side::kCross)->map({0, 0, models::Quantity::kWeight, {}, {}});
  ASSERT_TRUE(map.ok()) << map.error().describe();
  const at::Tensor want = at::softmax(at::matmul(query[0], key[0].t()) / 2, -1);
  EXPECT_LT((at::tensor(at::ArrayRef<float>(map->values)).view({kDecoded, kEncoded}) - want).abs().max().item<double>(),
            1e-6);
}

TEST_F(TraceSides, MayLackTheEncodersOrTheCrossMaps) {
  Parts parts = maps_alone();
  parts.erase("encoder.layers.0.attention");
  parts.erase("encoder.layers.1.attention");
  const auto without_encoder = opened(parts);
  ASSERT_TRUE(without_encoder.ok()) << without_encoder.error().describe();
  EXPECT_EQ((*without_encoder)->side(models::Side::kEncoder), nullptr);
  EXPECT_NE((*without_encoder)->side(models::Side::kCross), nullptr);
  parts = maps_alone();
  parts.erase("decoder.layers.0.cross_attention");
  const auto without_cross = opened(parts);
  ASSERT_TRUE(without_cross.ok()) << without_cross.error().describe();
  EXPECT_EQ((*without_cross)->side(models::Side::kCross), nullptr);
}

TEST_F(TraceSides, RefuseWhatDoesNotFit) {
  const auto with = [](const std::string& name, const at::Tensor& value) {
    Parts parts = maps_alone();
    parts[name] = value;
    return parts;
  };
  const std::string cross = "decoder.layers.0.cross_attention";
  expect_refused(with(cross, random_map(kEncoded, kDecoded)), "tensor " + cross + ": expected shape [2, 3, 5]");
  expect_refused(with(cross, random_map(kDecoded, kDecoded)), "tensor " + cross);
  expect_refused(with("decoder.layers.0.cross_k", at::randn({2, kDecoded, 4})), "decoder.layers.0.cross_k");
  expect_refused(with("decoder.layers.1.attention", random_map(kDecoded, kDecoded)),
                 "layer 1");  // without its cross map
  expect_refused(with("encoder.layers.0.attention", random_map(kDecoded, kDecoded)), "encoder.layers.0.attention");
  Parts parts = maps_alone();
  parts.erase("input_ids");
  parts.erase("encoder.layers.0.attention");
  parts.erase("encoder.layers.1.attention");
  expect_refused(parts, "input_ids");
  parts = maps_alone();
  parts.erase("decoder.layers.0.attention");
  expect_refused(parts, "decoder.layers.0");
}

TEST_F(TraceSides, PartsAreCalledBySide) {
  const models::SideNames decoder(models::Side::kDecoder);
  const models::SideNames cross(models::Side::kCross);
  EXPECT_EQ(models::SideNames().tensor("layers.3.q"), "layers.3.q");
  EXPECT_EQ(decoder.tensor("layers.3.q"), "decoder.layers.3.q");
  EXPECT_EQ(decoder.tensor("input_ids"), "decoder_input_ids");
  EXPECT_EQ(decoder.tensor("logits"), "logits");
  EXPECT_EQ(cross.tensor("layers.3.attention"), "decoder.layers.3.cross_attention");
  EXPECT_EQ(models::SideNames(models::Side::kEncoder).tensor("input_ids"), "input_ids");
  EXPECT_EQ(decoder.metadata("tokens"), "decoder_tokens");
  EXPECT_EQ(decoder.metadata("model"), "model");
  EXPECT_EQ(decoder.metadata("encoding"), "decoder.encoding");
}

}  // namespace
}  // namespace locus

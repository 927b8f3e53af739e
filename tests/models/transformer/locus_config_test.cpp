#include "models/transformer/locus_config.h"

#include <gtest/gtest.h>

namespace {

using locus::ErrorCode;
using locus::transformer::locus_config;
using locus::transformer::parse_locus_config;
using locus::transformer::Spec;
using nlohmann::json;

Spec unusual() {
  Spec spec;
  spec.vocabulary = 300;
  spec.width = 48;
  spec.layers = 3;
  spec.heads = 6;
  spec.kv_heads = 2;
  spec.head_width = 10;
  spec.inner = 77;
  spec.norm = locus::transformer::Norm::kLayer;
  spec.norm_place = locus::transformer::NormPlace::kPost;
  spec.norm_eps = 1e-12;
  spec.activation = locus::transformer::Activation::kGeluTanh;
  spec.gated = false;
  spec.qkv = locus::transformer::QkvLayout::kPerHead;
  spec.qkv_bias = spec.output_bias = spec.feed_forward_bias = true;
  spec.parallel_residual = spec.residual_from_norm = spec.layer_scale = spec.embedding_norm = true;
  spec.token_types = 2;
  spec.final_norm = false;
  spec.tied_head = false;
  spec.head_bias = spec.head_transform = true;
  spec.window = 9;
  spec.window_from_layer = 1;
  spec.encoding = "cope";
  spec.encoding_options = {{"gates", std::string("sep-key")},
                           {"npos", std::int64_t{64}},
                           {"ratio", 0.5},
                           {"flag", true},
                           {"list", std::vector<double>{1, 2.5}}};
  spec.trained_length = 128;
  return spec;
}

TEST(LocusConfig, KeepsEveryField) {
  const Spec spec = unusual();
  const json written = json::parse(locus_config(spec).dump());
  const auto read = parse_locus_config(written, "config.json");
  ASSERT_TRUE(read.ok()) << read.error().describe();
  EXPECT_EQ(locus_config(*read).dump(), locus_config(spec).dump());
  EXPECT_EQ(read->encoding_options, spec.encoding_options);
  // Every field of the two differs from its default, so none can have been left out of both functions.
  const json plain = json::parse(locus_config(Spec{}).dump());
  for (const auto& [name, value] : plain.items()) {
    if (name != "model_type" && name != "causal") {
      EXPECT_NE(value, written[name]) << name;
    }
  }
}

TEST(LocusConfig, KeepsAnImageStem) {
  Spec spec;
  spec.image = {8, 1, 4, 5, 2};
  spec.causal = false;
  const auto read = parse_locus_config(json::parse(locus_config(spec).dump()), "config.json");
  ASSERT_TRUE(read.ok()) << read.error().describe();
  EXPECT_EQ(read->image.patch, 8);
  EXPECT_EQ(read->image.channels, 1);
  EXPECT_EQ(read->image.rows, 4);
  EXPECT_EQ(read->image.columns, 5);
  EXPECT_EQ(read->image.registers, 2);
  EXPECT_FALSE(read->causal);
}

TEST(LocusConfig, NamesTheFieldThatIsWrong) {
  const json good = json::parse(locus_config(Spec{}).dump());
  const auto expect_error = [&good](const char* field, const json& value) {
    json config = good;
    config[field] = value;
    const auto read = parse_locus_config(config, "config.json");
    ASSERT_FALSE(read.ok()) << field;
    EXPECT_EQ(read.error().code, ErrorCode::kBadInput) << field;
    EXPECT_NE(read.error().describe().find("config.json"), std::string::npos);
  };
  expect_error("vocab_size", "many");
  expect_error("vocab_size", nullptr);
  expect_error("vocab_size", -1);
  expect_error("hidden_size", 9.5);
  expect_error("num_attention_heads", 0);
  expect_error("num_key_value_heads", 3);
  expect_error("norm", "batch");
  expect_error("gated", 1);
  expect_error("position_encoding", "rope");
  expect_error("position_encoding", json::parse(R"({"base": 10})"));
  expect_error("position_encoding", json::parse(R"({"name": "rope", "base": {"deep": 1}})"));
  expect_error("image", json::parse(R"({"rows": 3})"));
  EXPECT_FALSE(parse_locus_config(json::array(), "config.json").ok());
  json huge = good;
  huge["hidden_size"] = INT64_MAX;
  EXPECT_FALSE(parse_locus_config(huge, "config.json").ok());
}

}  // namespace

// Files with quantised weights whose parts do not fit each other, or that Locus does not read.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "models/formats/quantised/quantised.h"
#include "models/formats/safetensors/safetensors.h"

namespace locus::formats {
namespace {

struct Part {
  std::string name;
  std::string dtype;
  std::vector<std::int64_t> shape;
  std::string bytes = {};  // zeros where it is empty
};

std::int64_t bytes_of_part(const Part& part) {
  std::int64_t count = part.dtype == "F32" || part.dtype == "I32"    ? 4
                       : part.dtype == "F16" || part.dtype == "BF16" ? 2
                                                                     : 1;
  for (const std::int64_t size : part.shape) {
    count *= size;
  }
  return count;
}

// The source of a file with these tensors.
Source source_of(const std::vector<Part>& parts) {
  std::string header = "{";
  std::string data;
  for (const Part& part : parts) {
    std::string shape;
    for (const std::int64_t size : part.shape) {
      shape += (shape.empty() ? "" : ",") + std::to_string(size);
    }
    header += (header.size() > 1 ? ",\"" : "\"") + part.name + R"(":{"dtype":")" + part.dtype + R"(","shape":[)" +
              shape + R"(],"data_offsets":[)" + std::to_string(data.size()) + ",";
    std::string bytes = part.bytes;
    bytes.resize(static_cast<std::size_t>(bytes_of_part(part)));
    data += bytes;
    header += std::to_string(data.size()) + "]}";
  }
  header += "}";
  std::string text(8, '\0');
  const std::uint64_t length = header.size();
  std::memcpy(text.data(), &length, sizeof length);
  const auto file = std::make_shared<const std::string>(text + header + data);
  auto source = read_safetensors(std::as_bytes(std::span(*file)), file, "a.safetensors");
  EXPECT_TRUE(source.ok()) << source.error().describe();
  return *source;
}

Result<Quantisation> said(const std::string& config) {
  return quantisation_of(*Config::parse_json(config, "config.json"));
}

Result<Source> read(const std::string& quantisation, const std::vector<Part>& parts) {
  const auto described = said(R"({"quantization_config": {)" + quantisation + "}}");
  EXPECT_TRUE(described.ok()) << described.error().describe();
  return with_whole_weights(source_of(parts), *described);
}

template <class T>
std::string refusal(const Result<T>& result, ErrorCode code = ErrorCode::kBadInput) {
  if (result.ok()) {
    return "was read";
  }
  const std::string text = result.error().describe();
  EXPECT_EQ(result.error().code, code) << text;
  EXPECT_EQ(text.find('\n'), std::string::npos);
  EXPECT_LT(text.size(), 400U);
  return text;
}

#define EXPECT_SAYS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

const char* const kFloat8 = R"("quant_method": "fp8", "weight_block_size": [128, 64])";

TEST(QuantisedFiles, ScalesOfFloat8FitTheirWeights) {
  const Part weight{"a.weight", "F8_E4M3", {130, 192}};
  const auto scales = [](std::vector<std::int64_t> shape, const char* dtype = "F32") {
    return Part{"a.weight_scale_inv", dtype, std::move(shape)};
  };
  for (const auto& shape : std::vector<std::vector<std::int64_t>>{{2, 3}, {}, {1}, {1, 1}, {130}, {130, 1}}) {
    const auto source = read(kFloat8, {weight, scales(shape), {"a.input_scale", "F32", {}}, {"b.weight", "BF16", {4}}});
    ASSERT_TRUE(source.ok()) << source.error().describe();
    ASSERT_EQ((*source)->tensors().size(), 2U);
    EXPECT_EQ((*source)->tensors()[0].shape, weight.shape);
    EXPECT_EQ((*source)->tensors()[0].type_name(), "F8_E4M3");
  }
  EXPECT_SAYS(refusal(read(kFloat8, {weight, scales({3, 2})})),
              "a.safetensors: tensor a.weight_scale_inv: expected scales of shape [2, 3], [130, 1] or one number for "
              "a.weight [130, 192], found F32 [3, 2]");
  EXPECT_SAYS(refusal(read(kFloat8, {weight, scales({2, 3, 1})})), "found F32 [2, 3, 1]");
  EXPECT_SAYS(refusal(read(kFloat8, {weight, scales({0, 3})})), "found F32 [0, 3]");
  EXPECT_SAYS(refusal(read(kFloat8, {weight, scales({2, 3}, "U8")})), "expected scales of F32, BF16 or F16, found U8");
  EXPECT_SAYS(refusal(read(kFloat8, {weight})), "one of a.weight_scale_inv and a.weight_scale beside it");
  EXPECT_SAYS(refusal(read(kFloat8, {weight, scales({}), {"a.weight_scale", "F32", {}}})), "one of a.weight_scale_inv");
  EXPECT_SAYS(
      refusal(read(
          kFloat8,
          {{"a.weight", "BF16", {2, 2}}, scales({}), {"b.weight", "F8_E4M3", {2, 2}}, {"b.weight_scale", "F32", {}}})),
      "tensor a.weight: expected F8_E4M3 numbers beside a.weight_scale_inv, found BF16 [2, 2]");
  EXPECT_SAYS(refusal(read(kFloat8, {{"a.weight", "F8_E4M3", {2, 2, 2}}, scales({})}), ErrorCode::kUnsupported),
              "expected a matrix of F8_E4M3 numbers, found F8_E4M3 [2, 2, 2]");
  EXPECT_SAYS(refusal(read(kFloat8, {{"a.weight", "BF16", {2, 2}}})),
              "expected weights as quantization_config describes");
  EXPECT_SAYS(refusal(said(R"({"quantization_config": {"quant_method": "fp8", "weight_block_size": [0, 128]}})")),
              "weight_block_size: expected two numbers of at least 1");
}

TEST(QuantisedFiles, PartsOfMxfp4FitEachOther) {
  const char* const kMxfp4 = R"("quant_method": "mxfp4")";
  const auto source = read(kMxfp4, {{"a.up_blocks", "U8", {2, 6, 3, 16}}, {"a.up_scales", "U8", {2, 6, 3}}});
  ASSERT_TRUE(source.ok()) << source.error().describe();
  ASSERT_NE((*source)->find("a.up"), nullptr);
  EXPECT_EQ((*source)->find("a.up")->shape, (std::vector<std::int64_t>{2, 96, 6}));
  EXPECT_SAYS(refusal(read(kMxfp4, {{"a.up_blocks", "U8", {2, 6, 3, 16}}, {"a.up_scales", "U8", {2, 3, 6}}})),
              "tensor a.up_scales: expected U8 [2, 6, 3] for a.up_blocks, found U8 [2, 3, 6]");
  EXPECT_SAYS(refusal(read(kMxfp4, {{"a.up_blocks", "U8", {2, 6, 3, 16}}})),
              "tensor a.up_scales: expected a tensor beside a.up_blocks, found none");
  EXPECT_SAYS(refusal(read(kMxfp4, {{"a.up_blocks", "U8", {2, 6, 48}}, {"a.up_scales", "U8", {2, 6, 3}}})),
              "expected U8 [experts, rows, groups, 16], found U8 [2, 6, 48]");
  EXPECT_SAYS(refusal(read(kMxfp4, {{"a.up_blocks", "I32", {2, 6, 3, 16}}, {"a.up_scales", "U8", {2, 6, 3}}})),
              "found I32");
  EXPECT_SAYS(refusal(read(kMxfp4, {{"a.up_blocks", "U8", {1, 1, 1, 16}},
                                    {"a.up_scales", "U8", {1, 1, 1}},
                                    {"a.up", "F32", {1, 32, 1}}})),
              "tensor a.up: expected every name once, found it twice");
}

std::string words(const std::vector<std::int32_t>& numbers) {
  std::string text(numbers.size() * 4, '\0');
  std::memcpy(text.data(), numbers.data(), text.size());
  return text;
}

TEST(QuantisedFiles, PartsOfGptqAndAwqFitEachOther) {
  const char* const kGptq = R"("quant_method": "gptq", "bits": 4, "group_size": 8, "desc_act": true)";
  const Part numbers{"a.qweight", "I32", {2, 8}};
  const Part zeros{"a.qzeros", "I32", {2, 1}};
  const Part scales{"a.scales", "F16", {2, 8}};
  const auto groups = [](std::vector<std::int32_t> of_inputs) {
    const auto count = static_cast<std::int64_t>(of_inputs.size());
    return Part{"a.g_idx", "I32", {count}, words(of_inputs)};
  };
  const std::vector<std::int32_t> any{1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0};
  const auto source = read(kGptq, {numbers, zeros, scales, groups(any)});
  ASSERT_TRUE(source.ok()) << source.error().describe();
  ASSERT_EQ((*source)->tensors().size(), 1U);
  EXPECT_EQ((*source)->tensors()[0].name, "a.weight");
  EXPECT_EQ((*source)->tensors()[0].shape, (std::vector<std::int64_t>{8, 16}));
  std::vector<std::int32_t> outside = any;
  outside[3] = 2;
  EXPECT_SAYS(refusal(read(kGptq, {numbers, zeros, scales, groups(outside)})),
              "tensor a.g_idx: expected groups from 0 to 1, found 2");
  outside[3] = -1;
  EXPECT_SAYS(refusal(read(kGptq, {numbers, zeros, scales, groups(outside)})), "found -1");
  EXPECT_SAYS(refusal(read(kGptq, {numbers, zeros, scales, groups({0, 0, 1, 1})})), "expected I32 [16] for a.qweight");
  EXPECT_SAYS(refusal(read(R"("quant_method": "gptq", "group_size": 8)", {numbers, zeros, scales, groups(any)})),
              "expected groups of 8 inputs one after another, as without desc_act, found others");
  EXPECT_SAYS(refusal(read(R"("quant_method": "gptq", "group_size": 4)", {numbers, zeros, scales})),
              "tensor a.qzeros: expected I32 [4, 1] for a.qweight, found I32 [2, 1]");
  EXPECT_SAYS(refusal(read(kGptq, {numbers, zeros, {"a.scales", "F16", {8, 2}}})), "expected F16, BF16 or F32 [2, 8]");
  EXPECT_SAYS(refusal(read(kGptq, {numbers, zeros, {"a.scales", "U8", {2, 8}}})), "found U8 [2, 8]");
  EXPECT_SAYS(refusal(read(kGptq, {numbers, scales})), "tensor a.qzeros: expected a tensor beside a.qweight");
  EXPECT_SAYS(refusal(read(kGptq, {{"a.qweight", "I32", {2, 7}}, zeros, scales})),
              "a number of outputs that 8 divides");
  EXPECT_SAYS(refusal(read(kGptq, {{"a.qweight", "U8", {2, 8}}, zeros, scales})), "expected a matrix of I32, found U8");
  EXPECT_SAYS(refusal(said(R"({"quantization_config": {"quant_method": "gptq", "group_size": 0}})")),
              "group_size: expected at least 1, or -1, found 0");
  const char* const kAwq = R"("quant_method": "awq", "group_size": 8)";
  EXPECT_TRUE(read(kAwq, {{"a.qweight", "I32", {16, 1}}, zeros, scales}).ok());
  EXPECT_SAYS(refusal(read(kAwq, {numbers, zeros, scales})), "tensor a.qzeros: expected I32 [1, 8] for a.qweight");
}

// What is not read is refused by name, before a file is opened.
TEST(QuantisedFiles, OtherMethodsAreNamed) {
  const std::vector<std::pair<const char*, const char*>> methods{
      {R"({"quantization_config": {"quant_method": "bitsandbytes", "load_in_4bit": true}})", "bitsandbytes in 4 bits"},
      {R"({"quantization_config": {"load_in_8bit": true}})", "bitsandbytes in 8 bits"},
      {R"({"quantization": {"group_size": 64, "bits": 4}})", "the packed weights of MLX"},
      {R"({"quantization": {"group_size": 64, "bits": 4}, "quantization_config": {"group_size": 64, "bits": 4}})",
       "the packed weights of MLX"},
      {R"({"quantization_config": {"quant_method": "hqq"}})", "quant_method hqq"},
      {R"({"quantization_config": {"quant_method": "eetq"}})", "quant_method eetq"},
      {R"({"quantization_config": {"quant_method": "modelopt", "quant_algo": "NVFP4"}})", "modelopt"},
      {R"({"text_config": {"quantization_config": {"quant_method": "quanto"}}})", "quanto"},
      {R"({"quantization_config": {"bits": 4}})", "no quant_method"},
      {R"({"quantization_config": {"quant_method": "fp8", "fmt": "e5m2"}})", "fmt e5m2"},
      {R"({"quantization_config": {"quant_method": "fp8", "expert_dtype": "fp4"}})", "expert_dtype fp4"},
      {R"({"quantization_config": {"quant_method": "gptq", "bits": 8}})", "GPTQ in 8 bits"},
      {R"({"quantization_config": {"quant_method": "gptq", "checkpoint_format": "marlin"}})", "GPTQ in another form"},
      {R"({"quantization_config": {"quant_method": "gptq", "checkpoint_format": "gptq", "format": "gptq_v2"}})",
       "GPTQ in another form"},
      {R"({"quantization_config": {"quant_method": "awq", "format": "gemv"}})", "AWQ in another form"},
      {R"({"quantization_config": {"quant_method": "gptq", "dynamic": {"-:lm_head": {}}}})", "GPTQ in another form"},
      {R"({"model_type": "gpt2", "quantization_config": {"quant_method": "gptq"}})", "GPTQ of gpt2"},
      {R"({"quantization_config": {"quant_method": "awq", "version": "gemv"}})", "AWQ in another form"},
      {R"({"quantization_config": {"quant_method": "awq", "zero_point": false}})", "AWQ in another form"},
      {R"({"quantization_config": {"quant_method": "compressed-tensors", "format": "pack-quantized"}})",
       "compressed-tensors in the format pack-quantized"},
      {R"({"quantization_config": {"quant_method": "compressed-tensors", "transform_config": {"a": 1}}})",
       "compressed-tensors with a transform_config"},
      {R"({"quantization_config": {"quant_method": "compressed-tensors", "sparsity_config": {"format": "sparse-24-bitmask"}}})",
       "sparse-24-bitmask"},
      {R"({"quantization_config": {"quant_method": "compressed-tensors", "config_groups": {"group_0": {"weights": {"num_bits": 8, "type": "int"}}}}})",
       "compressed-tensors with int of 8 bits"},
      {R"({"quantization_config": {"quant_method": "compressed-tensors", "config_groups": {"group_0": {"weights": {"num_bits": 8, "type": "float", "strategy": "token"}}}}})",
       "strategy token"},
  };
  for (const auto& [config, name] : methods) {
    const std::string text = refusal(said(config), ErrorCode::kUnsupported);
    EXPECT_SAYS(text, name);
    EXPECT_SAYS(text, "download the model's own weights, or a GGUF file of it");
  }
  EXPECT_SAYS(refusal(said(R"({"quantization_config": [1]})")), "quantization_config: expected an object");
  EXPECT_EQ(said("{}")->method, Quantisation::Method::kNone);
  EXPECT_EQ(said(R"({"text_config": {"hidden_size": 8}})")->method, Quantisation::Method::kNone);
  for (const char* const method : {R"("fbgemm_fp8")", R"("modelopt", "quant_algo": "FP8")"}) {
    EXPECT_EQ(said(R"({"quantization_config": {"quant_method": )" + std::string(method) + "}}")->method,
              Quantisation::Method::kFloat8);
  }
}

// Weights beside which no configuration says what they are.
TEST(QuantisedFiles, WeightsWithoutADescriptionAreRefused) {
  for (const std::vector<Part>& parts :
       std::vector<std::vector<Part>>{{{"a.weight", "F8_E4M3", {2, 2}}, {"a.weight_scale", "F32", {}}},
                                      {{"a.weight", "BF16", {2, 2}}, {"a.weight_scale_inv", "F32", {}}},
                                      {{"a.qweight", "I32", {2, 8}}},
                                      {{"a.weight", "U8", {8, 1}}, {"a.weight.absmax", "F32", {1}}}}) {
    EXPECT_SAYS(refusal(with_whole_weights(source_of(parts), Quantisation()), ErrorCode::kUnsupported),
                "expected a quantization_config in config.json, found quantised weights without one");
  }
  const auto plain =
      with_whole_weights(source_of({{"a.weight", "F8_E4M3", {2, 2}, "\x38\xB8\x7F\x01"}}), Quantisation());
  ASSERT_TRUE(plain.ok());  // numbers of 8 bits alone
  EXPECT_EQ((*plain)->find("a.weight")->type_name(), "F8_E4M3");
}

}  // namespace
}  // namespace locus::formats

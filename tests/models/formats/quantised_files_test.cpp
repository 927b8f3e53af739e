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
  std::int64_t count = part.dtype == "I64"                                                 ? 8
                       : part.dtype == "F32" || part.dtype == "I32" || part.dtype == "U32" ? 4
                       : part.dtype == "F16" || part.dtype == "BF16"                       ? 2
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

std::string longs(const std::vector<std::int64_t>& numbers) {
  std::string text(numbers.size() * 8, '\0');
  std::memcpy(text.data(), numbers.data(), text.size());
  return text;
}

TEST(QuantisedFiles, PartsOfMlxFitEachOther) {
  const auto read_mlx = [](const std::string& quantisation, const std::vector<Part>& parts) {
    return with_whole_weights(source_of(parts), *said(R"({"quantization": {)" + quantisation + "}}"));
  };
  const char* const kMlx = R"("group_size": 32, "bits": 4, "x.b": {"group_size": 32, "bits": 8}, "c": false)";
  const Part weight{"a.weight", "U32", {3, 8}};
  const Part scales{"a.scales", "F16", {3, 2}};
  const Part biases{"a.biases", "F16", {3, 2}};
  const auto source = read_mlx(kMlx, {weight,
                                      scales,
                                      biases,
                                      {"x.b.weight", "U32", {2, 5, 8}},
                                      {"x.b.scales", "BF16", {2, 5, 1}},
                                      {"x.b.biases", "BF16", {2, 5, 1}},
                                      {"c.weight", "BF16", {4}}});
  ASSERT_TRUE(source.ok()) << source.error().describe();
  ASSERT_EQ((*source)->tensors().size(), 3U);
  EXPECT_EQ((*source)->find("a.weight")->shape, (std::vector<std::int64_t>{3, 64}));
  EXPECT_EQ((*source)->find("a.weight")->type_name(), "MLX 4-bit");
  EXPECT_EQ((*source)->find("x.b.weight")->shape, (std::vector<std::int64_t>{2, 5, 32}));
  EXPECT_EQ((*source)->find("x.b.weight")->type_name(), "MLX 8-bit");
  EXPECT_SAYS(refusal(read_mlx(kMlx, {weight, {"a.scales", "F16", {3, 1}}, biases})),
              "tensor a.scales: expected F16, BF16 or F32 [3, 2] for a.weight, found F16 [3, 1]");
  EXPECT_SAYS(refusal(read_mlx(kMlx, {weight, scales, {"a.biases", "U8", {3, 2}}})), "found U8 [3, 2]");
  EXPECT_SAYS(refusal(read_mlx(kMlx, {weight, scales})), "tensor a.biases: expected a tensor beside a.weight");
  EXPECT_SAYS(refusal(read_mlx(kMlx, {weight})), "tensor a.scales: expected a tensor beside a.weight");
  EXPECT_SAYS(refusal(read_mlx(kMlx, {{"a.weight", "U32", {8}}, scales, biases})),
              "a matrix of words of 32 bits, or a stack");
  EXPECT_SAYS(refusal(read_mlx(kMlx, {{"a.weight", "U32", {3, 3}}, scales, biases})),
              "expected rows of whole groups of 32 numbers of 4 bits, found I32 [3, 3]");
  EXPECT_SAYS(refusal(read_mlx(R"("group_size": 32, "bits": 3)", {{"a.weight", "U32", {3, 4}}, scales, biases})),
              "rows of whole groups of 32 numbers of 3 bits");
  EXPECT_SAYS(refusal(read_mlx(kMlx, {{"c.weight", "BF16", {4}}})),
              "expected weights as quantization_config describes");
  const char* const kFloats = R"("group_size": 32, "bits": 4, "mode": "mxfp4")";
  EXPECT_TRUE(read_mlx(kFloats, {weight, {"a.scales", "U8", {3, 2}}}).ok());
  EXPECT_SAYS(refusal(read_mlx(kFloats, {weight, scales})), "tensor a.scales: expected U8 [3, 2] for a.weight");
  EXPECT_SAYS(refusal(said(R"({"quantization": {"group_size": 0, "bits": 4}})")),
              "group_size: expected at least 1, found 0");
}

TEST(QuantisedFiles, PartsOfCompressedTensorsFitEachOther) {
  const auto group = [](const char* weights) {
    return R"("quant_method": "compressed-tensors", "config_groups": {"group_0": {"weights": {)" +
           std::string(weights) + "}}}";
  };
  const std::string packed =
      group(R"("num_bits": 4, "type": "int", "strategy": "group", "group_size": 16, "symmetric": false)");
  const Part numbers{"a.weight_packed", "I32", {10, 4}};
  const Part shape{"a.weight_shape", "I64", {2}, longs({10, 32})};
  const Part scales{"a.weight_scale", "BF16", {10, 2}};
  const Part zeros{"a.weight_zero_point", "I32", {2, 2}};
  const auto source = read(packed, {numbers, shape, scales, zeros});
  ASSERT_TRUE(source.ok()) << source.error().describe();
  ASSERT_EQ((*source)->tensors().size(), 1U);
  EXPECT_EQ((*source)->tensors()[0].name, "a.weight");
  EXPECT_EQ((*source)->tensors()[0].shape, (std::vector<std::int64_t>{10, 32}));
  EXPECT_EQ((*source)->tensors()[0].type_name(), "INT4");
  EXPECT_SAYS(
      refusal(read(packed, {numbers, {"a.weight_shape", "I64", {2}, longs({10, 16})}, scales, zeros})),
      "tensor a.weight_scale: expected scales [10, 1] for numbers of 4 bits of I32 [10, 4], found BF16 [10, 2]");
  for (const std::vector<std::int64_t>& wrong :
       std::vector<std::vector<std::int64_t>>{{9, 32}, {10, -1}, {10, 1 << 30}}) {
    EXPECT_SAYS(refusal(read(packed, {numbers, {"a.weight_shape", "I64", {2}, longs(wrong)}, scales, zeros})),
                "tensor a.weight_shape: expected two whole numbers, 10 and the inputs of a row");
  }
  EXPECT_SAYS(refusal(read(packed, {numbers, scales, zeros})), "tensor a.weight_shape: expected a tensor beside");
  EXPECT_SAYS(refusal(read(packed, {numbers, shape, zeros})), "tensor a.weight_scale: expected a tensor beside");
  EXPECT_SAYS(refusal(read(packed, {numbers, shape, scales, {"a.weight_zero_point", "I32", {10, 2}}})),
              "tensor a.weight_zero_point: expected I32 [2, 2] for a.weight_packed, found I32 [10, 2]");
  EXPECT_SAYS(refusal(read(packed, {{"a.weight_packed", "U8", {10, 4}}, shape, scales})), "expected a matrix of I32");
  std::vector<std::int32_t> order(32, 1);
  order[3] = 2;
  EXPECT_SAYS(refusal(read(packed, {numbers, shape, scales, {"a.weight_g_idx", "I32", {32}, words(order)}})),
              "tensor a.weight_g_idx: expected groups from 0 to 1, found 2");
  order[3] = 0;
  EXPECT_TRUE(read(packed, {numbers, shape, scales, {"a.weight_g_idx", "I32", {32}, words(order)}}).ok());
  EXPECT_SAYS(refusal(read(packed, {numbers, shape, scales, {"a.weight_g_idx", "I32", {4}}})), "expected I32 [32]");
  const std::string rows = group(R"("num_bits": 8, "type": "int", "strategy": "channel")");
  const Part eight{"a.weight", "I8", {10, 32}};
  EXPECT_TRUE(read(rows, {eight, {"a.weight_scale", "F32", {10, 1}}}).ok());
  EXPECT_TRUE(read(rows, {eight, {"a.weight_scale", "F32", {1}}}).ok());
  EXPECT_SAYS(refusal(read(rows, {eight, {"a.weight_scale", "F32", {10, 2}}})),
              "expected scales [10, 1] for numbers of 8 bits of I8 [10, 32], found F32 [10, 2]");
  EXPECT_SAYS(refusal(read(rows, {eight, {"a.weight_scale", "I8", {10, 1}}})), "scales of F32, BF16 or F16");
  EXPECT_SAYS(refusal(read(rows, {eight})), "tensor a.weight_scale: expected a tensor beside a.weight");
  EXPECT_SAYS(refusal(read(rows, {eight, {"a.weight_scale", "F32", {10, 1}}, {"a.weight_zero_point", "I8", {10}}})),
              "tensor a.weight_zero_point: expected I8 [10, 1]");
}

TEST(QuantisedFiles, PartsOfBitsandbytesFitEachOther) {
  const char* const kBits = R"("quant_method": "bitsandbytes", "load_in_4bit": true)";
  const std::vector<float> codes{-1.0F,
                                 -0.6961928009986877F,
                                 -0.5250730514526367F,
                                 -0.39491748809814453F,
                                 -0.28444138169288635F,
                                 -0.18477343022823334F,
                                 -0.09105003625154495F,
                                 0.0F,
                                 0.07958029955625534F,
                                 0.16093020141124725F,
                                 0.24611230194568634F,
                                 0.33791524171829224F,
                                 0.44070982933044434F,
                                 0.5626170039176941F,
                                 0.7229568362236023F,
                                 1.0F};
  std::string map(64, '\0');
  std::memcpy(map.data(), codes.data(), map.size());
  const auto state = [](const std::string& text) {
    return Part{"a.weight.quant_state.bitsandbytes__nf4", "U8", {static_cast<std::int64_t>(text.size())}, text};
  };
  const Part weight{"a.weight", "U8", {96, 1}};
  const Part scales{"a.weight.absmax", "F32", {3}};
  const Part quantiles{"a.weight.quant_map", "F32", {16}, map};
  const Part plain = state(R"({"quant_type": "nf4", "blocksize": 64, "dtype": "bfloat16", "shape": [3, 64]})");
  const auto source = read(kBits, {weight, scales, quantiles, plain});
  ASSERT_TRUE(source.ok()) << source.error().describe();
  ASSERT_EQ((*source)->tensors().size(), 1U);
  EXPECT_EQ((*source)->tensors()[0].shape, (std::vector<std::int64_t>{3, 64}));
  EXPECT_EQ((*source)->tensors()[0].type_name(), "NF4");
  const Part nested = state(
      R"({"quant_type": "nf4", "blocksize": 64, "shape": [3, 64], "nested_blocksize": 256, "nested_offset": 0.5})");
  const Part small{"a.weight.absmax", "U8", {3}};
  const Part outer{"a.weight.nested_absmax", "F32", {1}};
  const Part levels{"a.weight.nested_quant_map", "F32", {256}};
  EXPECT_TRUE(read(kBits, {weight, small, quantiles, nested, outer, levels}).ok());
  EXPECT_SAYS(refusal(read(kBits, {weight, small, quantiles, nested, outer})), "tensor a.weight.nested_quant_map");
  EXPECT_SAYS(refusal(read(kBits, {weight, small, quantiles, nested, {"a.weight.nested_absmax", "F32", {2}}, levels})),
              "tensor a.weight.nested_absmax: expected F16, BF16 or F32 [1] for a.weight, found F32 [2]");
  EXPECT_SAYS(refusal(read(kBits, {weight, small, quantiles, plain, outer, levels})), "nested_blocksize");
  EXPECT_SAYS(refusal(read(kBits, {weight, {"a.weight.absmax", "F32", {2}}, quantiles, plain})),
              "tensor a.weight.absmax: expected F16, BF16 or F32 [3] for a.weight, found F32 [2]");
  EXPECT_SAYS(refusal(read(kBits, {weight, scales, plain})), "tensor a.weight.quant_map: expected a tensor beside");
  EXPECT_SAYS(
      refusal(read(kBits, {weight, scales, {"a.weight.quant_map", "F32", {16}}, plain}), ErrorCode::kUnsupported),
      "expected the 16 numbers of NF4, found others");
  EXPECT_SAYS(refusal(read(kBits, {{"a.weight", "U8", {90, 1}}, scales, quantiles, plain})),
              "tensor a.weight: expected 96 bytes U8 for a matrix [3, 64], found U8 [90, 1]");
  EXPECT_SAYS(refusal(read(kBits, {weight, scales, quantiles, state("{")})), "quant_state.bitsandbytes__nf4");
  EXPECT_SAYS(refusal(read(kBits, {weight, scales, quantiles, state(R"({"quant_type": "fp4"})")})),
              "expected nf4, as in the tensor's name, found \"fp4\"");
  for (const char* const wrong : {"[3]", "[3, -64]", "[4611686018427387904, 4]"}) {
    EXPECT_SAYS(
        refusal(read(kBits, {weight, scales, quantiles,
                             state(R"({"quant_type": "nf4", "blocksize": 64, "shape": )" + std::string(wrong) + "}")}),
                ErrorCode::kUnsupported),
        "shape: expected the shape of a matrix");
  }
  EXPECT_SAYS(refusal(read(kBits, {weight, scales, quantiles,
                                   state(R"({"quant_type": "nf4", "blocksize": 0, "shape": [3, 64]})")})),
              "blocksize");
  const Part eight{"a.weight", "I8", {3, 64}};
  EXPECT_TRUE(read(kBits, {eight, {"a.SCB", "F32", {3}}, {"a.weight_format", "U8", {}}}).ok());
  EXPECT_SAYS(refusal(read(kBits, {eight})), "tensor a.SCB: expected a tensor beside a.weight");
  EXPECT_SAYS(refusal(read(kBits, {eight, {"a.SCB", "F32", {64}}})), "expected F16, BF16 or F32 [3] for a.weight");
  EXPECT_SAYS(refusal(read(kBits, {eight, {"a.SCB", "F32", {3}}, {"a.weight_format", "U8", {}, "\1"}}),
                      ErrorCode::kUnsupported),
              "tensor a.weight_format: expected 0, rows one after another");
}

// What is not read is refused by name, before a file is opened.
TEST(QuantisedFiles, OtherMethodsAreNamed) {
  const std::vector<std::pair<const char*, const char*>> methods{
      {R"({"quantization_config": {"quant_method": "bitsandbytes", "bnb_4bit_quant_storage": "bfloat16"}})",
       "bnb_4bit_quant_storage bfloat16"},
      {R"({"model_type": "gpt2", "quantization_config": {"load_in_8bit": true}})", "bitsandbytes of gpt2"},
      {R"({"quantization": {"group_size": 64, "bits": 7}})", "MLX in 7 bits, groups of 64"},
      {R"({"quantization": {"group_size": 64, "bits": 4, "mode": "mxfp4"}})", "MLX in 4 bits, groups of 64"},
      {R"({"quantization": {"group_size": 16, "bits": 4, "mode": "nvfp4"}})", "MLX in the mode nvfp4"},
      {R"({"quantization": {"group_size": 64, "bits": 4, "a.b": {"bits": 9}}})", "MLX in 9 bits"},
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
      {R"({"quantization_config": {"quant_method": "compressed-tensors", "format": "nvfp4-pack-quantized"}})",
       "compressed-tensors in the format nvfp4-pack-quantized"},
      {R"({"quantization_config": {"quant_method": "compressed-tensors", "transform_config": {"a": 1}}})",
       "compressed-tensors with a transform_config"},
      {R"({"quantization_config": {"quant_method": "compressed-tensors", "sparsity_config": {"format": "sparse-24-bitmask"}}})",
       "sparse-24-bitmask"},
      {R"({"quantization_config": {"quant_method": "compressed-tensors", "config_groups": {"group_0": {"weights": {"num_bits": 2, "type": "int"}}}}})",
       "compressed-tensors with int of 2 bits"},
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
                                      {{"a.weight", "U32", {2, 8}}, {"a.scales", "F16", {2, 1}}},
                                      {{"a.weight", "I8", {2, 8}}, {"a.SCB", "F32", {2}}},
                                      {{"a.weight_packed", "I32", {2, 8}}, {"a.weight_shape", "I64", {2}}},
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

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "core/base/atomic_file.h"
#include "models/formats/safetensors/safetensors.h"
#include "models/formats/tensor_source.h"

namespace locus::formats {
namespace {

// A file of `header`, its true length (or `length`) and `data` zero bytes.
std::string file_of(const std::string& header, std::size_t data = 0, std::uint64_t length = ~0ULL) {
  const std::uint64_t n = length == ~0ULL ? header.size() : length;
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &n, 8);
  return bytes + header + std::string(data, '\0');
}

Result<Source> parsed_safetensors(const std::string& bytes) {
  return read_safetensors(std::as_bytes(std::span(bytes)), nullptr, "a.safetensors");
}

// The one-line error of a malformed file; a test failure when it opens.
std::string safetensors_refusal(const std::string& bytes, ErrorCode code = ErrorCode::kBadInput) {
  const Result<Source> source = parsed_safetensors(bytes);
  if (source.ok()) {
    return "opened";
  }
  EXPECT_EQ(source.error().code, code);
  const std::string text = source.error().describe();
  EXPECT_EQ(text.find('\n'), std::string::npos);
  EXPECT_EQ(text.rfind("a.safetensors: ", 0), 0U) << text;
  EXPECT_LT(text.size(), 400U);
  return text;
}

std::string entry(const std::string& name, const std::string& dtype, const std::string& shape,
                  const std::string& offsets) {
  return "\"" + name + "\":{\"dtype\":\"" + dtype + "\",\"shape\":" + shape + ",\"data_offsets\":" + offsets + "}";
}

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

TEST(Safetensors, ReadsWhatItWrites) {
  const auto path = std::filesystem::temp_directory_path() / ("locus_write_" + std::to_string(::getpid()));
  const auto file = path.string() + ".safetensors";
  const std::vector<float> values{1, 2, 3, 4, 5, 6};
  const std::vector<std::uint8_t> odd{7, 8, 9};
  const std::vector<double> one{2.5};
  ASSERT_TRUE(write_safetensors(file,
                                {{"a \"quoted\" ä", DType::kF32, {2, 3}, std::as_bytes(std::span(values))},
                                 {"odd", DType::kU8, {3}, std::as_bytes(std::span(odd))},
                                 {"empty", DType::kF16, {0, 4}, {}},
                                 {"scalar", DType::kF64, {}, std::as_bytes(std::span(one))}},
                                {{"format", "pt"}, {"line", "a\nb"}})
                  .ok());
  const Result<Source> source = open_tensors(file);
  ASSERT_TRUE(source.ok()) << source.error().describe();
  ASSERT_EQ((*source)->tensors().size(), 4U);
  EXPECT_EQ((*source)->metadata().at("line"), "a\nb");
  const TensorInfo* a = (*source)->find("a \"quoted\" ä");
  ASSERT_NE(a, nullptr);
  EXPECT_EQ(a->shape, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(a->strides, (std::vector<std::int64_t>{3, 1}));
  EXPECT_TRUE(a->contiguous());
  ASSERT_EQ(a->storage.size(), 24U);
  EXPECT_EQ(std::memcmp(a->storage.data(), values.data(), 24), 0);
  const TensorInfo* scalar = (*source)->find("scalar");
  ASSERT_NE(scalar, nullptr);
  EXPECT_EQ(scalar->elements(), 1);
  EXPECT_EQ(std::memcmp(scalar->storage.data(), one.data(), 8), 0);
  EXPECT_EQ((*source)->find("empty")->elements(), 0);
  EXPECT_EQ((*source)->find("absent"), nullptr);
  std::filesystem::remove(file);
}

TEST(Safetensors, WriterRefusesWhatItCouldNotRead) {
  const std::vector<float> values{1, 2};
  const auto bytes = std::as_bytes(std::span(values));
  const std::string file = (std::filesystem::temp_directory_path() / "locus_never.safetensors").string();
  EXPECT_FALSE(write_safetensors(file, {{"a", DType::kF32, {3}, bytes}}).ok());
  EXPECT_FALSE(write_safetensors(file, {{"a", DType::kF32, {2}, bytes}, {"a", DType::kF32, {2}, bytes}}).ok());
  EXPECT_FALSE(write_safetensors(file, {{"__metadata__", DType::kF32, {2}, bytes}}).ok());
  EXPECT_FALSE(write_safetensors(file, {{"\xff", DType::kF32, {2}, bytes}}).ok());
  EXPECT_FALSE(write_safetensors(file, {}, {{"a", "\xff"}}).ok());
  EXPECT_FALSE(std::filesystem::exists(file));
}

TEST(Safetensors, TakesAnEmptyFileOfTensors) {
  const Result<Source> source = parsed_safetensors(file_of("{}  "));
  ASSERT_TRUE(source.ok()) << source.error().describe();
  EXPECT_TRUE((*source)->tensors().empty());
}

TEST(Safetensors, KeepsTheOrderOfTheData) {
  const Result<Source> source = parsed_safetensors(
      file_of("{" + entry("second", "U8", "[2]", "[1,3]") + "," + entry("first", "I8", "[]", "[0,1]") + "}", 3));
  ASSERT_TRUE(source.ok()) << source.error().describe();
  EXPECT_EQ((*source)->tensors()[0].name, "first");
  EXPECT_EQ((*source)->tensors()[1].name, "second");
}

TEST(Safetensors, RefusesHeaderLengths) {
  EXPECT_HAS(safetensors_refusal("{}"), "at least 8 bytes, found 2");
  EXPECT_HAS(safetensors_refusal(""), "found 0");
  EXPECT_HAS(safetensors_refusal(file_of("{}", 0, 3)), "at most 2 bytes, found the length 3");
  EXPECT_HAS(safetensors_refusal(file_of("{}", 0, 1ULL << 63U)), "9223372036854775808");
  EXPECT_HAS(safetensors_refusal(file_of("{}", 0, ~0ULL - 7)), "18446744073709551608");
  EXPECT_HAS(safetensors_refusal(file_of("{}", 0, 0)), "begins with {");
  EXPECT_HAS(safetensors_refusal(file_of(std::string(200'000, ' '), 0, 100'000'001)), "100000001");
}

TEST(Safetensors, RefusesWhatIsNotJson) {
  EXPECT_HAS(safetensors_refusal(file_of("{\"a\":")), "not JSON");
  EXPECT_HAS(safetensors_refusal(file_of(" {}")), "begins with {");
  EXPECT_HAS(safetensors_refusal(file_of("[]")), "begins with {");
  EXPECT_HAS(safetensors_refusal(file_of("{}{}")), "not JSON at byte 3");
  EXPECT_HAS(safetensors_refusal(file_of(std::string("{}\0junk", 7))), "not JSON at byte 3");
  EXPECT_HAS(safetensors_refusal(file_of("{\"\xff\":1}")), "not JSON");
  EXPECT_HAS(safetensors_refusal(file_of("{\"a\":1e999}")), "beyond the range of float64");
}

TEST(Safetensors, RefusesDepthWithoutBuildingIt) {
  EXPECT_HAS(safetensors_refusal(file_of("{\"a\":" + std::string(20'000'000, '['))),
             "expected an object, found a list");
  EXPECT_HAS(safetensors_refusal(file_of("{\"a\":{\"shape\":[" + std::string(10'000, '['))), "deeper than 3 levels");
  std::string deep = "{\"__metadata__\":";
  for (int n = 0; n < 10'000; ++n) {
    deep += "{\"a\":";
  }
  EXPECT_HAS(safetensors_refusal(file_of(deep)), "expected a text, found an object");
}

TEST(Safetensors, RefusesDuplicates) {
  const std::string a = entry("a", "U8", "[1]", "[0,1]");
  EXPECT_HAS(safetensors_refusal(file_of("{" + a + "," + a + "}", 1)), "\"a\" is there twice");
  EXPECT_HAS(safetensors_refusal(
                 file_of("{\"a\":{\"dtype\":\"U8\",\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}", 1)),
             "\"dtype\" is there twice");
  EXPECT_HAS(safetensors_refusal(file_of("{\"__metadata__\":{},\"__metadata__\":{}}")), "twice");
}

TEST(Safetensors, RefusesFieldsOfTheWrongKind) {
  EXPECT_HAS(safetensors_refusal(file_of("{\"a\":{}}")), "tensor a: expected dtype, found none");
  EXPECT_HAS(safetensors_refusal(file_of("{\"a\":{\"dtype\":\"U8\",\"shape\":[1]}}")), "data_offsets");
  EXPECT_HAS(safetensors_refusal(file_of("{\"a\":{\"dtype\":\"U8\",\"data_offsets\":[0,1]}}")), "expected shape");
  EXPECT_HAS(safetensors_refusal(file_of("{" + entry("a", "U8", "[1]", "[0]") + "}", 1)), "data_offsets of two");
  EXPECT_HAS(safetensors_refusal(file_of("{" + entry("a", "U8", "[1]", "[0,1,2]") + "}", 1)), "data_offsets of two");
  EXPECT_HAS(safetensors_refusal(file_of("{" + entry("a", "U8", "[-1]", "[0,1]") + "}", 1)), "found the number -1");
  EXPECT_HAS(safetensors_refusal(file_of("{" + entry("a", "U8", "[1.5]", "[0,1]") + "}", 1)), "found the number 1.5");
  EXPECT_HAS(safetensors_refusal(file_of("{" + entry("a", "U8", "[18446744073709551616]", "[0,1]") + "}", 1)),
             "whole numbers");
  EXPECT_HAS(safetensors_refusal(file_of("{" + entry("a", "U8", "\"x\"", "[0,1]") + "}", 1)), "shape: expected a list");
  EXPECT_HAS(safetensors_refusal(file_of("{" + entry("a", "Q9", "[1]", "[0,1]") + "}", 1)),
             "expected a dtype, found \"Q9\"");
  EXPECT_HAS(safetensors_refusal(file_of("{\"a\":{\"dtype\":4,\"shape\":[],\"data_offsets\":[0,1]}}", 1)),
             "found the number 4");
  EXPECT_HAS(safetensors_refusal(file_of("{\"a\":{\"size\":4}}")), "found \"size\"");
  EXPECT_HAS(safetensors_refusal(file_of("{\"a\":7}")), "tensor a: expected an object, found the number 7");
  EXPECT_HAS(safetensors_refusal(file_of("{\"__metadata__\":{\"a\":1}}")), "__metadata__.a: expected a text");
  std::string ones = "[1";
  for (int n = 0; n < 1000; ++n) {
    ones += ",1";
  }
  EXPECT_HAS(safetensors_refusal(file_of("{" + entry("a", "U8", ones + "]", "[0,1]") + "}", 1)), "at most 32 numbers");
}

TEST(Safetensors, NamesDtypesItDoesNotRead) {
  const std::string text =
      safetensors_refusal(file_of("{" + entry("a", "F8_E5M2", "[1]", "[0,1]") + "}", 1), ErrorCode::kUnsupported);
  EXPECT_HAS(text, "tensor a");
  EXPECT_HAS(text, "BOOL, F8_E4M3, found F8_E5M2");
}

TEST(Safetensors, RefusesSizesThatDisagree) {
  EXPECT_HAS(safetensors_refusal(file_of("{" + entry("a", "F32", "[2]", "[0,7]") + "}", 7)),
             "expected 8 bytes for F32 [2], found 7");
  EXPECT_HAS(safetensors_refusal(file_of("{" + entry("a", "F32", "[4611686018427387904,4]", "[0,0]") + "}")),
             "fits 63 bits");
  EXPECT_HAS(safetensors_refusal(file_of("{" + entry("a", "F64", "[2305843009213693952]", "[0,0]") + "}")),
             "fits 63 bits");
  EXPECT_HAS(safetensors_refusal(file_of("{" + entry("a", "U8", "[1]", "[1,0]") + "}", 1)), "in order");
  EXPECT_HAS(safetensors_refusal(file_of("{" + entry("a", "U8", "[9]", "[0,9]") + "}", 8)), "within 8 bytes");
  EXPECT_HAS(
      safetensors_refusal(file_of("{" + entry("a", "U8", "[1]", "[9223372036854775806,9223372036854775807]") + "}", 1)),
      "within 1 bytes");
}

TEST(Safetensors, RefusesHolesOverlapsAndTrailingBytes) {
  const std::string a = entry("a", "U8", "[2]", "[0,2]");
  EXPECT_HAS(safetensors_refusal(file_of("{" + a + "," + entry("b", "U8", "[1]", "[3,4]") + "}", 4)), "a hole: 3 to 4");
  EXPECT_HAS(safetensors_refusal(file_of("{" + a + "," + entry("b", "U8", "[2]", "[1,3]") + "}", 3)),
             "an overlap: 1 to 3");
  EXPECT_HAS(safetensors_refusal(file_of("{" + entry("a", "U8", "[2]", "[1,3]") + "}", 3)), "a hole");
  EXPECT_HAS(safetensors_refusal(file_of("{" + a + "}", 5)), "expected 2 bytes of tensors, found 5");
  EXPECT_HAS(safetensors_refusal(file_of("{}", 1)), "expected 0 bytes of tensors, found 1");
}

TEST(Safetensors, ShowsHostileNamesOnOneLine) {
  const std::string text = safetensors_refusal(file_of("{\"a\\n\\u0000" + std::string(5000, 'x') + "\":7}"));
  EXPECT_HAS(text, "a\\x0A\\x00xxx");
}

}  // namespace
}  // namespace locus::formats

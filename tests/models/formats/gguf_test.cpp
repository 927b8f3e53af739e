#include "models/formats/gguf/gguf.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>

#include "core/base/atomic_file.h"
#include "tests/support/gguf_bytes.h"
#include "tests/support/paths.h"

namespace locus::formats {
namespace {

namespace fs = std::filesystem;
using test::GgufBytes;
using test::raw;

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

Result<Source> parsed_gguf(const std::string& bytes) {
  return read_gguf(std::as_bytes(std::span(bytes)), nullptr, "a.gguf");
}

std::string gguf_refusal(const std::string& bytes, ErrorCode code = ErrorCode::kBadInput) {
  const Result<Source> source = parsed_gguf(bytes);
  if (source.ok()) {
    return "opened";
  }
  const std::string text = source.error().describe();
  EXPECT_EQ(source.error().code, code) << text;
  EXPECT_EQ(text.find('\n'), std::string::npos);
  EXPECT_EQ(text.rfind("a.gguf: ", 0), 0U) << text;
  EXPECT_LT(text.size(), 400U);
  return text;
}

GgufBytes small() {
  GgufBytes bytes;
  bytes.text("general.architecture", "llama");
  bytes.integer("llama.block_count", 2);
  bytes.texts("tokenizer.ggml.tokens", {"<s>", "", "ä"});
  bytes.value("scores", 9, raw<std::uint32_t>(6) + raw<std::uint64_t>(2) + raw(1.5F) + raw(-2.0F));
  bytes.value("half", 12, raw(0.5));
  bytes.value("yes", 7, raw<std::uint8_t>(1));
  bytes.value("below", 5, raw<std::int32_t>(-3));
  bytes.tensor("token_embd.weight", {64, 3}, 8, 64);
  bytes.tensor("norm", {4}, 0, 0);
  return bytes;
}
constexpr std::size_t kSmallData = 64 + std::size_t{3} * 2 * 34;

TEST(Gguf, ReadsValuesAndPlacesTensors) {
  const std::string bytes = small().file(kSmallData);
  const Result<Source> source = parsed_gguf(bytes);
  ASSERT_TRUE(source.ok()) << source.error().describe();
  const GgufMetadata& metadata = *(*source)->gguf();
  EXPECT_EQ(**metadata.text("general.architecture"), "llama");
  EXPECT_EQ(**metadata.integer("llama.block_count"), 2);
  EXPECT_EQ(**metadata.integer("below"), -3);
  EXPECT_EQ(**metadata.number("half"), 0.5);
  EXPECT_EQ(**metadata.number("below"), -3);
  EXPECT_TRUE(**metadata.boolean("yes"));
  EXPECT_EQ(*metadata.texts("tokenizer.ggml.tokens"), (std::vector<std::string_view>{"<s>", "", "ä"}));
  EXPECT_EQ(*metadata.numbers("scores"), (std::vector<double>{1.5, -2}));
  EXPECT_FALSE(metadata.text("absent")->has_value());
  EXPECT_TRUE(metadata.texts("absent")->empty());
  EXPECT_HAS(metadata.integer("half").error().describe(), "a.gguf: metadata half: expected a whole number");
  EXPECT_HAS(metadata.number("scores").error().describe(), "found a list of 2 float32");
  EXPECT_HAS(metadata.text("half").error().describe(), "expected a text, found float64");
  EXPECT_HAS(metadata.boolean("below").error().describe(), "found int32");
  EXPECT_HAS(metadata.integers("scores").error().describe(), "expected a list of whole numbers");
  EXPECT_HAS(metadata.texts("scores").error().describe(), "expected a list of texts");

  const TensorInfo* embedding = (*source)->find("token_embd.weight");
  ASSERT_NE(embedding, nullptr);
  EXPECT_EQ(embedding->shape, (std::vector<std::int64_t>{3, 64}));
  EXPECT_EQ(embedding->type_name(), "Q8_0");
  EXPECT_EQ(embedding->storage.size(), std::size_t{3} * 2 * 34);
  EXPECT_EQ(embedding->storage.data() - std::as_bytes(std::span(bytes)).data(),
            static_cast<std::ptrdiff_t>(bytes.size() - std::size_t{3} * 2 * 34));
  EXPECT_EQ((*source)->find("norm")->type_name(), "F32");
}

TEST(Gguf, OpensTheReferencesFiles) {
  for (const char* name : {"llama-f16", "llama-q8_0", "llama-q4_k"}) {
    const auto source = open_tensors(test::source_dir() + "/tests/golden/gguf/" + name + ".gguf");
    ASSERT_TRUE(source.ok()) << source.error().describe();
    EXPECT_NE((*source)->find("output_norm.weight"), nullptr);
    EXPECT_EQ(*(*(*source)->gguf()).texts("tokenizer.ggml.tokens")->begin(), "<unk>");
  }
}

// Whatever place the file ends at, one line says so.
TEST(Gguf, RefusesEveryFileThatIsCutOff) {
  const std::string whole = small().file(kSmallData);
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_NE(gguf_refusal(whole.substr(0, length)), "opened") << length;
  }
}

TEST(Gguf, RefusesNumbersThatTheFileCannotHold) {
  constexpr std::uint64_t kHuge = std::uint64_t{1} << 63U;
  GgufBytes bytes = small();
  bytes.tensor_count = kHuge;
  EXPECT_HAS(gguf_refusal(bytes.file(kSmallData)), "tensors in ");
  bytes = small();
  bytes.value_count = ~std::uint64_t{0};
  EXPECT_HAS(gguf_refusal(bytes.file(kSmallData)), "values in ");
  const auto with_value = [](std::uint32_t type, const std::string& value) {
    GgufBytes damaged = small();
    damaged.value("long", type, value);
    return gguf_refusal(damaged.file(kSmallData));
  };
  EXPECT_HAS(with_value(8, raw(kHuge)), "bytes of the value of long, found");
  EXPECT_HAS(with_value(9, raw<std::uint32_t>(6) + raw(kHuge)), "numbers in the value of long");
  EXPECT_HAS(with_value(9, raw<std::uint32_t>(8) + raw(kHuge)), "texts in the value of long");
  EXPECT_HAS(with_value(9, raw<std::uint32_t>(8) + raw<std::uint64_t>(2) + raw<std::uint64_t>(0) + raw(kHuge)),
             "bytes of the value of long");
  EXPECT_HAS(with_value(9, raw<std::uint32_t>(9) + raw<std::uint64_t>(1)), "but no list, found 9");
  EXPECT_HAS(with_value(13, ""), "from 0 to 12, found 13");
  const auto with_tensor = [](const std::vector<std::uint64_t>& sizes, std::uint32_t type, std::uint64_t offset,
                              ErrorCode code = ErrorCode::kBadInput) {
    GgufBytes damaged = small();
    damaged.tensor("w", sizes, type, offset);
    return gguf_refusal(damaged.file(kSmallData + 512), code);
  };
  EXPECT_HAS(with_tensor({kHuge, 2}, 0, 512), "a.gguf: tensor w: expected sizes below 2^63");
  EXPECT_HAS(with_tensor({kHuge - 32, 2}, 8, 512), "a shape whose size fits 63 bits");
  EXPECT_HAS(with_tensor({kHuge / 2}, 0, 512), "a shape whose size fits 63 bits");
  EXPECT_HAS(with_tensor({1, 1, 1, 1, 1}, 0, 512), "at most 4 dimensions, found 5");
  EXPECT_HAS(with_tensor({48, 2}, 8, 512), "rows of a multiple of 32 numbers for Q8_0, found [2, 48]");
  EXPECT_HAS(with_tensor({4}, 0, 516), "a multiple of 32, found 516");
  EXPECT_HAS(with_tensor({4}, 0, kHuge), "expected a place within");
  EXPECT_HAS(with_tensor({1024}, 0, 512), "within the 780 of the file's data, found 4096 from byte 512");
  EXPECT_HAS(with_tensor({4}, 0, 64), "found an overlap");
  EXPECT_HAS(with_tensor({4}, 31, 512, ErrorCode::kUnsupported),
             "found Q4_0_4_4: download the model in another of them");
  EXPECT_HAS(with_tensor({4}, 99, 512, ErrorCode::kUnsupported), "found type 99");
  EXPECT_HAS(with_tensor({128}, 16, 512), "rows of a multiple of 256 numbers for IQ2_XXS, found [128]");
}

TEST(Gguf, RefusesOtherVersionsAndDoubledNames) {
  GgufBytes bytes = small();
  bytes.version = 1;
  EXPECT_HAS(gguf_refusal(bytes.file(kSmallData), ErrorCode::kUnsupported), "version 2 or 3, found version 1");
  bytes.version = 0x03000000;
  EXPECT_HAS(gguf_refusal(bytes.file(kSmallData), ErrorCode::kUnsupported), "a big-endian machine");
  bytes.version = 2;
  EXPECT_TRUE(parsed_gguf(bytes.file(kSmallData)).ok());
  bytes.integer("llama.block_count", 3);
  EXPECT_HAS(gguf_refusal(bytes.file(kSmallData)), "metadata llama.block_count: expected every name once");
  bytes = small();
  bytes.tensor("norm", {4}, 0, 512);
  EXPECT_HAS(gguf_refusal(bytes.file(kSmallData + 512)), "tensor norm: expected every name once");
  for (const std::uint32_t alignment : {0U, 48U, 1U << 30U}) {
    bytes = small();
    bytes.integer("general.alignment", alignment);
    EXPECT_HAS(gguf_refusal(bytes.file(kSmallData)), "metadata general.alignment: expected a power of two");
  }
}

class Parts {
 public:
  Parts() : folder_(fs::temp_directory_path() / ("locus_gguf_" + std::to_string(::getpid()))) {
    fs::create_directories(folder_);
  }
  ~Parts() { fs::remove_all(folder_); }
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;

  static GgufBytes part(std::uint16_t number, std::uint16_t count, std::int32_t tensors) {
    GgufBytes bytes;
    bytes.value("split.no", 2, raw(number));
    bytes.value("split.count", 2, raw(count));
    bytes.value("split.tensors.count", 5, raw(tensors));
    return bytes;
  }
  // A file with one tensor.
  fs::path write(const std::string& name, GgufBytes bytes, const std::string& tensor) const {
    bytes.tensor(tensor, {4}, 0, 0);
    EXPECT_TRUE(write_file(folder_ / name, bytes.file(16)).ok());
    return folder_ / name;
  }
  fs::path write(const std::string& name, const std::string& tensor, std::uint16_t number, std::uint16_t count) const {
    GgufBytes bytes = part(number, count, 3);
    if (number == 0) {  // the first part alone holds the model's values
      bytes.text("general.architecture", "a");
    }
    return write(name, bytes, tensor);
  }
  const fs::path& folder() const { return folder_; }

 private:
  fs::path folder_;
};

TEST(Gguf, JoinsTheFilesOfASplitModel) {
  const Parts parts;
  const fs::path first = parts.write("m-00001-of-00003.gguf", "a", 0, 3);
  const fs::path second = parts.write("m-00002-of-00003.gguf", "b", 1, 3);
  const auto refusal = [&](const fs::path& path) { return open_tensors(path).error().describe(); };
  EXPECT_HAS(refusal(first), "m-00003-of-00003.gguf: expected a file, found none");
  parts.write("m-00003-of-00003.gguf", "c", 2, 3);
  for (const fs::path& path : {first, second, parts.folder()}) {  // by whichever part it is named
    const auto source = open_tensors(path);
    ASSERT_TRUE(source.ok()) << source.error().describe();
    EXPECT_EQ((*source)->tensors().size(), 3U);
    EXPECT_EQ((*source)->find("c")->shape, (std::vector<std::int64_t>{4}));
    EXPECT_EQ(**(*source)->gguf()->text("general.architecture"), "a");
    EXPECT_EQ((*source)->files().size(), 3U);
  }
  parts.write("m-00002-of-00003.gguf", "a", 1, 3);
  EXPECT_HAS(refusal(first), "tensor a: expected every name once");
  parts.write("m-00002-of-00003.gguf", "b", 2, 3);
  EXPECT_HAS(refusal(first), "split.no: expected part 1, counted from 0, as in its name, found 2");
  parts.write("m-00002-of-00003.gguf", "b", 1, 4);
  EXPECT_HAS(refusal(first), "m-00002-of-00003.gguf: metadata split.count: expected 3 parts as in its name, found 4");
  const std::string third = "m-00003-of-00003.gguf";
  parts.write("m-00002-of-00003.gguf", "b", 1, 3);
  parts.write(third, GgufBytes(), "c");
  EXPECT_HAS(refusal(first), third + ": metadata split.no: expected a value, as in ");
  GgufBytes other = Parts::part(2, 3, 3);
  other.text("general.architecture", "z");
  parts.write(third, other, "c");
  EXPECT_HAS(refusal(first), third + ": metadata general.architecture: expected a, as in ");
  parts.write(third, Parts::part(2, 3, 3), "c");
  EXPECT_TRUE(open_tensors(first).ok());
  parts.write("m-00001-of-00003.gguf", Parts::part(0, 3, 4), "a");
  EXPECT_HAS(refusal(first),
             "m-00001-of-00003.gguf: metadata split.tensors.count: expected as many as the parts have, 3, found 4");
  EXPECT_HAS(refusal(parts.write("renamed.gguf", Parts::part(0, 3, 1), "a")),
             "renamed.gguf: metadata split.count: expected 1 parts as in its name, found 3");
  EXPECT_EQ(gguf_parts("x/m-00001-of-00000.gguf").size(), 1U);
  EXPECT_EQ(gguf_parts("x/m-00001-of-99999.gguf").size(), 1U);
  EXPECT_EQ(gguf_parts("x/m.gguf").front(), "x/m.gguf");
}

}  // namespace
}  // namespace locus::formats

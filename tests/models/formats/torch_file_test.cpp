#include "models/formats/torch/torch_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <filesystem>
#include <string>
#include <vector>

#include "models/formats/config.h"
#include "models/transformer/weights.h"
#include "tests/support/paths.h"
#include "tests/support/pickle_writer.h"
#include "tests/support/waits.h"

namespace locus::formats {
namespace {

namespace fs = std::filesystem;

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

const fs::path kPickles = fs::path(test::source_dir()) / "tests/models/pickles";

Source good(const std::string& name) {
  const Result<Source> source = open_tensors(kPickles / "good" / name);
  EXPECT_TRUE(source.ok()) << source.error().describe();
  return source.ok() ? *source : nullptr;
}

std::vector<float> values(const Source& source, const std::string& name) {
  const TensorInfo* tensor = source->find(name);
  if (tensor == nullptr) {
    ADD_FAILURE() << "no tensor " << name;
    return {};
  }
  const at::Tensor stored = transformer::to_tensor(*tensor, source).contiguous();
  return {stored.data_ptr<float>(), stored.data_ptr<float>() + stored.numel()};
}

// The error of a file of these bytes.
std::string torch_file_refusal(const std::string& bytes, ErrorCode code = ErrorCode::kBadInput) {
  const Result<Source> source = read_torch_file(std::as_bytes(std::span(bytes)), nullptr, "a.pt");
  if (source.ok()) {
    ADD_FAILURE() << "opened";
    return "opened";
  }
  EXPECT_EQ(source.error().code, code) << source.error().describe();
  EXPECT_EQ(source.error().describe().find('\n'), std::string::npos);
  EXPECT_EQ(source.error().describe().rfind("a.pt: ", 0), 0U) << source.error().describe();
  return source.error().describe();
}

Result<Source> parsed_torch_file(const std::string& bytes) {
  return read_torch_file(std::as_bytes(std::span(bytes)), nullptr, "a.pt");
}

TEST(TorchFile, EveryFormHoldsTheExpectedValues) {
  const Result<Source> expected = open_tensors(kPickles / "good/a_plain_sd.expected.safetensors");
  ASSERT_TRUE(expected.ok()) << expected.error().describe();
  ASSERT_GT((*expected)->tensors().size(), 5U);
  for (const char* name : {"a_plain_sd.pt", "b_sd_metadata.pt", "l_legacy.pt", "m_proto4.pt"}) {
    const Source source = good(name);
    ASSERT_NE(source, nullptr);
    EXPECT_EQ(source->tensors().size(), (*expected)->tensors().size()) << name;
    for (const TensorInfo& tensor : (*expected)->tensors()) {
      const TensorInfo* found = source->find(tensor.name);
      ASSERT_NE(found, nullptr) << name << " " << tensor.name;
      EXPECT_EQ(found->dtype, tensor.dtype) << name << " " << tensor.name;
      EXPECT_EQ(found->shape, tensor.name == "scalar" ? std::vector<std::int64_t>{} : tensor.shape) << tensor.name;
      EXPECT_EQ(values(source, tensor.name), values(*expected, tensor.name)) << name << " " << tensor.name;
    }
    EXPECT_TRUE(source->warnings().empty());
    EXPECT_EQ(source->extra_json(), "");
  }
}

TEST(TorchFile, OpensWhatPeopleSave) {
  EXPECT_EQ(good("c_module_sd.pt")->find("weight")->shape, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(values(good("h_parameter.pt"), "weight").size(), 6U);
  EXPECT_HAS(good("h_parameter.pt")->warnings().at(0), "beside the model");
  ASSERT_EQ(good("v_reqgrad.pt")->tensors().size(), 1U);
  EXPECT_EQ(good("v_reqgrad.pt")->tensors()[0].name, "tensor");
  EXPECT_GE(good("p_optim.pt")->tensors().size(), 2U);
}

TEST(TorchFile, KeepsWhatLiesBesideTheModel) {
  const Source nested = good("d_nested.pt");
  EXPECT_NE(nested->find("weight"), nullptr);
  const Result<Config> extra = Config::parse_json(nested->extra_json(), "d_nested.pt");
  ASSERT_TRUE(extra.ok()) << nested->extra_json();
  EXPECT_FALSE(extra->names().empty());
  EXPECT_FALSE(extra->has("model"));
  const Source inert = good("e_argparse.pt");
  ASSERT_EQ(inert->warnings().size(), 1U);
  EXPECT_HAS(inert->warnings()[0], "argparse.Namespace");
  const Result<Config> fields = Config::parse_json(inert->extra_json(), "e_argparse.pt");
  ASSERT_TRUE(fields.ok()) << inert->extra_json();
  EXPECT_EQ(fields->kind(fields->names().at(0)), "object");
  EXPECT_HAS(good("f_numpy_scalar.pt")->warnings().at(0), "numpy");
}

TEST(TorchFile, RefusesEveryBadFileQuickly) {
  const double start_ms = test::thread_ms();
  std::size_t files = 0;
  for (const auto& entry : fs::directory_iterator(kPickles / "bad")) {
    const Result<Source> source = open_tensors(entry.path());
    ++files;
    ASSERT_FALSE(source.ok()) << entry.path();
    EXPECT_EQ(source.error().code, ErrorCode::kBadInput) << entry.path();
    const std::string text = source.error().describe();
    EXPECT_EQ(text.rfind(entry.path().string() + ": ", 0), 0U) << text;
    EXPECT_EQ(text.find('\n'), std::string::npos);
  }
  EXPECT_EQ(files, 11U);
  EXPECT_FALSE(fs::exists("PWNED"));
  EXPECT_LT(test::thread_ms() - start_ms, 5000 * test::kSlower);
  struct rusage usage {};
  ::getrusage(RUSAGE_SELF, &usage);
  EXPECT_LT(usage.ru_maxrss, 2'000'000) << "KiB";
}

TEST(TorchFile, NamesInBadFiles) {
  const auto error = [](const char* name) { return open_tensors(kPickles / "bad" / name).error().describe(); };
  EXPECT_HAS(error("o_evil.pt"), "expected tensors, found none; not read: posix.system");
  EXPECT_HAS(error("X_missing_record.pt"), "storage 7: expected its record, found none");
  EXPECT_HAS(error("X_numel_gt_record.pt"), "storage 0: expected one dtype and count, found two");
  EXPECT_HAS(error("X_oob_size.pt"), "tensor a: expected elements inside its storage of 4");
  EXPECT_HAS(error("X_neg_stride.pt"), "stride: expected whole numbers from 0, found -1");
  EXPECT_HAS(error("X_memo_bomb.pt"), "memo index below 2000000, found 1073741823");
  EXPECT_HAS(error("X_str_bomb.pt"), "expected 4294967295 more bytes");
  EXPECT_HAS(error("X_notzip.pt"), "neither a zip archive nor torch's magic number");
  EXPECT_HAS(error("X_amplify.pt"), "expected a stored record, found compression method 8");
}

TEST(TorchFile, ViewsShareTheirStorage) {
  PickleWriter p;
  p.begin_dict();
  p.text("a").tensor({.key = "0", .count = 6, .offset = 1, .shape = {2, 2}, .strides = {3, 1}});
  p.text("b").tensor({.key = "0", .count = 6, .offset = 0, .shape = {3, 2}, .strides = {1, 3}});
  p.end_dict();
  const std::vector<float> data{0, 1, 2, 3, 4, 5};
  const std::string archive = zip_of({{"x/data.pkl", p.done()}, {"x/data/0", bytes_of(data)}});
  const Result<Source> source = parsed_torch_file(archive);
  ASSERT_TRUE(source.ok()) << source.error().describe();
  EXPECT_EQ(values(*source, "a"), (std::vector<float>{1, 2, 4, 5}));
  EXPECT_EQ(values(*source, "b"), (std::vector<float>{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ((*source)->find("a")->storage.data(), (*source)->find("b")->storage.data());
}

TEST(TorchFile, ChecksPlacesInStorages) {
  const auto file = [](const TensorText& tensor) {
    PickleWriter p;
    p.begin_dict().text("a").tensor(tensor).end_dict();
    return zip_of({{"x/data.pkl", p.done()}, {"x/data/0", std::string(24, '\0')}});
  };
  const std::int64_t big = std::int64_t{1} << 62;
  EXPECT_TRUE(parsed_torch_file(file({.key = "0", .count = 6, .offset = 5, .shape = {1}, .strides = {9}})).ok());
  EXPECT_TRUE(parsed_torch_file(file({.key = "0", .count = 6, .offset = 99, .shape = {0, 4}, .strides = {4, 1}})).ok());
  EXPECT_HAS(torch_file_refusal(file({.key = "0", .count = 6, .offset = 6, .shape = {}, .strides = {}})), "tensor a");
  EXPECT_HAS(torch_file_refusal(file({.key = "0", .count = 6, .offset = 5, .shape = {2}, .strides = {1}})),
             "storage of 6");
  EXPECT_HAS(torch_file_refusal(file({.key = "0", .count = 6, .offset = 0, .shape = {3}, .strides = {big}})),
             "tensor a");
  EXPECT_HAS(torch_file_refusal(file({.key = "0", .count = 6, .offset = 0, .shape = {big, big}, .strides = {0, 0}})),
             "63 bits");
  EXPECT_HAS(torch_file_refusal(file({.key = "0", .count = 6, .offset = 0, .shape = {big}, .strides = {0}})),
             "share them");
  EXPECT_HAS(torch_file_refusal(file({.key = "0", .count = 6, .offset = -1, .shape = {1}, .strides = {1}})), "offset");
  EXPECT_HAS(torch_file_refusal(file({.key = "0", .count = 6, .offset = 0, .shape = {-1}, .strides = {1}})),
             "found -1");
  EXPECT_HAS(torch_file_refusal(file({.key = "0", .count = 6, .offset = 0, .shape = {1, 1}, .strides = {1}})),
             "as many strides");
  EXPECT_HAS(torch_file_refusal(file({.key = "0", .count = 7, .offset = 0, .shape = {1}, .strides = {1}})),
             "record of 24 bytes");
  EXPECT_HAS(torch_file_refusal(file({.type = "QInt8Storage", .key = "0", .count = 6}), ErrorCode::kUnsupported),
             "QInt8Storage");
}

TEST(TorchFile, UnwrapsAndStrips) {
  PickleWriter p;
  p.begin_dict();
  p.text("optimizer").begin_dict().text("m").tensor({.key = "0", .count = 1}).end_dict();
  p.text("model").begin_dict().text("module.w").tensor({.key = "0", .count = 1}).end_dict();
  p.text("pe_model").begin_dict().text("module.e").tensor({.key = "0", .count = 1}).end_dict();
  p.text("config").begin_dict().text("depth").integer(4).text("depth").integer(5).end_dict();
  p.text("epoch").integer(-7);
  p.end_dict();
  const Result<Source> source =
      parsed_torch_file(zip_of({{"x/data.pkl", p.done()}, {"x/data/0", std::string(4, '\0')}}));
  ASSERT_TRUE(source.ok()) << source.error().describe();
  ASSERT_EQ((*source)->tensors().size(), 2U);
  ASSERT_EQ((*source)->warnings().size(), 1U);
  EXPECT_HAS((*source)->warnings()[0], "1 tensor beside the model is left out: optimizer.m");
  EXPECT_NE((*source)->find("w"), nullptr);
  EXPECT_NE((*source)->find("pe_model.e"), nullptr);
  EXPECT_EQ((*source)->extra_json(), R"({"config":{"depth":5},"epoch":-7,"optimizer":{}})");
}

TEST(TorchFile, BoundsSharedValues) {
  // Lists of the list before, twice: 2^40 paths from 40 values.
  PickleWriter p;
  const auto key = [](int n) { return std::string(1, static_cast<char>(n)); };
  p.raw("]q" + key(0) + "0");
  for (int n = 1; n < 40; ++n) {
    p.raw("](h" + key(n - 1) + "h" + key(n - 1) + "eq" + key(n) + "0");
  }
  p.begin_dict().text("model").raw("h" + key(39)).end_dict();
  EXPECT_HAS(torch_file_refusal(zip_of({{"x/data.pkl", p.done()}})), "shared too often");
  // A list that holds itself.
  PickleWriter self;
  self.raw("]q" + key(0) + "h" + key(0) + "a");
  EXPECT_HAS(torch_file_refusal(zip_of({{"x/data.pkl", self.done()}})), "deeper than 64");
  // One list deep in the next.
  PickleWriter deep;
  deep.raw(std::string(500, ']')).raw(std::string(499, 'a'));
  EXPECT_HAS(torch_file_refusal(zip_of({{"x/data.pkl", deep.done()}})), "deeper than 64");
}

TEST(TorchFile, RefusesMalformedPickles) {
  const auto pickle = [](const std::string& code) {
    return torch_file_refusal(zip_of({{"x/data.pkl", "\x80\x02" + code}}));
  };
  EXPECT_HAS(pickle("("), "expected a pickle's end");
  EXPECT_HAS(pickle("."), "expected a value on the stack");
  EXPECT_HAS(pickle("(."), "expected a value on the stack");
  EXPECT_HAS(pickle("t."), "expected a mark");
  EXPECT_HAS(pickle("h\x05."), "in the memo at 5");
  EXPECT_HAS(pickle("(Nu."), "expected a value on the stack");
  EXPECT_HAS(pickle("}(Nu."), "expected a container");
  EXPECT_HAS(pickle("NNa."), "expected a container");
  EXPECT_HAS(pickle("NQ."), "expected a reference");
  EXPECT_HAS(pickle("N)R."), "expected a name to call");
  EXPECT_HAS(pickle("cos\nsystem\nNR."), "expected a tuple of arguments");
  EXPECT_HAS(pickle("cos\nsystem"), "expected a line");
  EXPECT_HAS(pickle("ctorch._utils\n_rebuild_tensor_v2\n)R."), "expected storage, offset");
  EXPECT_HAS(pickle("ctorch._utils\n_rebuild_parameter\n)R."), "expected arguments");
  EXPECT_HAS(pickle("ctorch\nFloatStorage\nK\x01\x85R."), "expected no call of a storage");
  EXPECT_HAS(pickle("ccollections\nOrderedDict\nK\x01\x85R."), "expected a list of pairs");
  EXPECT_HAS(pickle("\x82\x01."), "expected an opcode of protocols 2 to 5, found 130");
  EXPECT_HAS(pickle("I1\n."), "found 73");
  EXPECT_HAS(pickle("\x80\x06."), "expected protocol 2 to 5, found 6");
  EXPECT_HAS(pickle(std::string(1001, '(')), "deeper than 1000 marks");
  EXPECT_HAS(pickle(std::string(2'000'001, 'N')), "more than 2000000 values");
  EXPECT_HAS(pickle("N" + std::string(2'000'001, '2')), "values on the stack");
  EXPECT_HAS(pickle("N."), "expected tensors, found none");
}

}  // namespace
}  // namespace locus::formats

// Spoiled checkpoints: one clear line and exit status 3, never a crash.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <functional>

#include "tests/support/run_locus.h"

namespace {

using locus::testing_support::CheckpointTest;
using locus::testing_support::expect_error;
using locus::testing_support::read_text;
using locus::testing_support::run_locus;
namespace fs = std::filesystem;

class CliBadInput : public CheckpointTest {
 protected:
  static void write(const fs::path& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  }
  // Changes the JSON header of a safetensors file; its length is written anew.
  static void edit_header(const fs::path& path, const std::function<void(std::string&)>& edit) {
    const std::string bytes = read_text(path);
    std::uint64_t length = 0;
    std::memcpy(&length, bytes.data(), sizeof length);
    std::string header = bytes.substr(8, length);
    edit(header);
    std::string out(8, '\0');
    const std::uint64_t now = header.size();
    std::memcpy(out.data(), &now, sizeof now);
    write(path, out + header + bytes.substr(8 + length));
  }
  static void replace(std::string& text, const std::string& from, const std::string& to) {
    const auto found = text.find(from);
    ASSERT_NE(found, std::string::npos) << from;
    text.replace(found, from.size(), to);
  }
};

TEST_F(CliBadInput, TruncatedWeights) {
  const fs::path folder = copy("truncated");
  const std::string bytes = read_text(folder / "model.safetensors");
  for (const std::size_t size : {std::size_t{0}, std::size_t{7}, std::size_t{40}, bytes.size() - 1}) {
    write(folder / "model.safetensors", bytes.substr(0, size));
    expect_error(run_locus({"info", folder.string()}), 3, "model.safetensors");
  }
}

TEST_F(CliBadInput, WrongJson) {
  const fs::path folder = copy("json");
  const std::string config = read_text(folder / "config.json");
  for (const std::string& text :
       {std::string("{"), std::string("[]"), std::string(""), config.substr(0, 60), std::string(100000, '[')}) {
    write(folder / "config.json", text);
    expect_error(run_locus({"info", folder.string()}), 3, "config.json");
  }
}

TEST_F(CliBadInput, UnknownDtype) {
  const fs::path folder = copy("dtype");
  edit_header(folder / "model.safetensors", [](std::string& header) { replace(header, "\"F32\"", "\"F33\""); });
  expect_error(run_locus({"info", folder.string()}), 3, "F33");
}

TEST_F(CliBadInput, MissingTensor) {
  const fs::path folder = copy("missing");
  edit_header(folder / "model.safetensors",
              [](std::string& header) { replace(header, "self_attn.o_proj", "self_attn.x_proj"); });
  expect_error(run_locus({"run", folder.string(), "--text", "a"}), 3, "o_proj");
}

TEST_F(CliBadInput, WrongShape) {
  const fs::path folder = copy("shape");
  std::string config = read_text(folder / "config.json");
  replace(config, "\"intermediate_size\": 48", "\"intermediate_size\": 47");
  write(folder / "config.json", config);
  expect_error(run_locus({"info", folder.string()}), 3, "mlp");
}

// A tokenizer that cannot be read takes texts away, nothing else.
TEST_F(CliBadInput, AnUnreadableTokenizerLeavesIds) {
  const fs::path folder = copy("tokenizer");
  for (const auto& [text, status, why] : {std::tuple{R"({"model": 5})", 3, "model: expected an object, found 5"},
                                          std::tuple{R"({"model": {"type": "Neural"}})", 4, "model \"Neural\""}}) {
    write(folder / "tokenizer.json", text);
    const auto info = run_locus({"info", folder.string()});
    EXPECT_EQ(info.status, 0);
    EXPECT_NE(info.out.find("none: give --ids"), std::string::npos) << info.out;
    EXPECT_EQ(info.err.rfind("locus: warning: ", 0), 0U) << info.err;
    EXPECT_NE(info.err.find(why), std::string::npos) << info.err;
    const auto run = run_locus({"run", folder.string(), "--ids", "1,2,3"});
    EXPECT_EQ(run.status, 0) << run.err;
    EXPECT_NE(run.err.find("only ids"), std::string::npos) << run.err;
    const auto refused = run_locus({"run", folder.string(), "--text", "one"});
    EXPECT_EQ(refused.status, status);
    const std::size_t line = refused.err.find("locus: error: ");
    ASSERT_NE(line, std::string::npos) << refused.err;
    EXPECT_NE(refused.err.find(why, line), std::string::npos) << refused.err;
  }
}

// What is no checkpoint of a known family is named, and what would open.
TEST_F(CliBadInput, WhatNoFamilyRecognisesIsNamed) {
  const fs::path folder = copy("unknown");
  fs::remove(folder / "config.json");
  const auto weights = run_locus({"info", (folder / "model.safetensors").string()});
  expect_error(weights, 4, "found no config.json and ");
  for (const char* part :
       {" tensors (", "embed_tokens.weight [256, 16]", "supported: a folder with the config.json of"}) {
    EXPECT_NE(weights.err.find(part), std::string::npos) << weights.err;
  }
  write(folder / "config.json", R"({"architectures": ["Thing"]})");
  expect_error(run_locus({"info", folder.string()}), 4, "found a config.json without a model_type that is known and ");

  const fs::path pickles = fs::path(locus::test::source_dir()) / "tests/models/pickles/good";
  expect_error(run_locus({"info", (pickles / "e_argparse.pt").string()}), 4, "beside a training script's ");
  const std::string trace = file("run.safetensors");
  ASSERT_EQ(run_locus({"run", path(), "--text", "one", "--trace", trace}).status, 0);
  expect_error(run_locus({"run", trace, "--text", "one"}), 4, "found a trace of a run");
  expect_error(run_locus({"info", trace}), 3, "expected layers.0.q and layers.0.k [H, T, D] or layers.0.attention");
  expect_error(run_locus({"info", trace, "--length", "5"}), 2, "a trace takes neither --length nor overrides");
}

TEST_F(CliBadInput, ConfigOfAnotherWorld) {
  const fs::path folder = copy("family");
  std::string config = read_text(folder / "config.json");
  replace(config, "\"model_type\": \"llama\"", "\"model_type\": \"mamba\"");
  write(folder / "config.json", config);
  expect_error(run_locus({"info", folder.string()}), 4, "mamba");
}

// Layers behind the last one, of which nobody reads: `info` names them, nothing is computed.
TEST_F(CliBadInput, TensorsThatTheConfigurationHasNot) {
  const fs::path folder = copy("further");
  std::string config = read_text(folder / "config.json");
  replace(config, "\"num_hidden_layers\": 2", "\"num_hidden_layers\": 1");
  write(folder / "config.json", config);
  const auto info = run_locus({"info", folder.string()});
  EXPECT_EQ(info.status, 0) << info.err;
  EXPECT_NE(info.out.find("model.layers.1.mlp.up_proj.weight"), std::string::npos) << info.out;
  const std::string why = "expected no tensors beside those that the configuration says, found model.layers.1.";
  for (const std::vector<std::string>& line :
       {std::vector<std::string>{"run", folder.string(), "--text", "one"},
        {"figure", "attention", folder.string(), "--text", "one", "--data", file("further.npy")},
        {"verify", folder.string(), "--text", "one"},
        {"effect", folder.string(), "--text", "one", "--edit", "head 0.0 zero"},
        {"evaluate", "text", folder.string(), "--validate", file("corpus.txt")},
        {"train", "text", "--corpus", file("corpus.txt"), "--from", folder.string(), "--out", file("never")}}) {
    expect_error(run_locus(line), 3, why);
  }
}

}  // namespace

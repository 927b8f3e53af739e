// locus convert and what locus info says of the file.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/base/atomic_file.h"
#include "tests/support/paths.h"
#include "tests/support/run_locus.h"

namespace locus {
namespace {

namespace fs = std::filesystem;
using testing_support::run_locus;

std::string converted_source() {
  return test::source_dir() + "/assets/checkpoints/text-rope";
}

class CliConvert : public testing_support::CheckpointTest {};

TEST_F(CliConvert, WritesAFileThatOpensWhereverAPathIs) {
  const fs::path folder = file("quantised");
  fs::create_directories(folder);
  const std::string small = folder / "small.gguf";
  const auto written = run_locus({"convert", converted_source(), "--to", "q4_0", "--out", small});
  EXPECT_EQ(written.status, 0) << written.err;
  EXPECT_NE(written.out.find("q4_0: 25 tensors, 0.36 MB"), std::string::npos) << written.out;
  EXPECT_NE(written.err.find("rows of 344 numbers, such as those of blk.0.ffn_down.weight, are no whole blocks of 32"),
            std::string::npos)
      << written.err;
  const auto info = run_locus({"info", small});
  EXPECT_NE(info.out.find("weights Q4_0"), std::string::npos) << info.out;
  EXPECT_NE(info.out.find("weights F16     ffn_down: 21 %\n"), std::string::npos) << info.out;
  const nlohmann::json json = nlohmann::json::parse(run_locus({"info", small, "--json"}).out);
  EXPECT_EQ(json["dtype"], "Q4_0");
  EXPECT_EQ(json["family"], "llama");
  EXPECT_TRUE(json["tokenizer"].get<bool>());
  for (const auto& kind : json["quantisation"]) {
    if (kind["kind"] == "attn_q") {
      EXPECT_EQ(kind["format"], "Q4_0");
      EXPECT_EQ(kind["tensors"], 4);
      EXPECT_EQ(kind["bytes"], 4 * 128 * 128 / 32 * 18);
      EXPECT_EQ(kind["numbers"], 4 * 128 * 128);
    }
  }
  EXPECT_TRUE(nlohmann::json::parse(run_locus({"info", converted_source(), "--json"}).out)["quantisation"].empty());
  EXPECT_EQ(run_locus({"verify", small, "--text", "To be, or not to be"}).status, 0);
  const auto compared = run_locus({"figure", "head-difference", converted_source(), small, "--text",
                                   "To be, or not to be", "--data", file("d.csv")});
  EXPECT_EQ(compared.status, 0) << compared.err;
  // By its folder too.
  EXPECT_EQ(run_locus({"run", folder, "--text", "To be"}).status, 0);
}

// Where the program cannot have LibTorch it ends, and leaves no part of a file.
TEST_F(CliConvert, WithoutLibTorchNothingIsLeft) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "LibTorch is there from the start";
#endif
  const fs::path folder = file("limits");
  fs::create_directories(folder);
  for (const std::string limit : {"ulimit -v 400000; ", "ulimit -v 780000; "}) {
    const auto outcome = testing_support::run_program(
        {"convert", converted_source(), "--to", "q4_0", "--out", folder / "limited.gguf"}, limit);
    testing_support::expect_error(outcome, 5, "LibTorch cannot be loaded");
    EXPECT_TRUE(fs::is_empty(folder)) << limit;
  }
  // How many files are open already is the caller's: of these limits one stops LibTorch, and none leaves anything.
  bool stopped = false;
  for (int files = 4; files < 12; ++files) {
    const auto outcome =
        testing_support::run_program({"convert", converted_source(), "--to", "q4_0", "--out", folder / "limited.gguf"},
                                     "prlimit --nofile=" + std::to_string(files) + " -- ");
    stopped = stopped || (outcome.status == 5 && outcome.err.find("LibTorch cannot be loaded") != std::string::npos);
    EXPECT_EQ(fs::is_empty(folder), outcome.status != 0) << files << " files: " << outcome.err;
    fs::remove(folder / "limited.gguf");
  }
  EXPECT_TRUE(stopped);
}

}  // namespace
}  // namespace locus

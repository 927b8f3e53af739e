// The program starts without LibTorch, and names a part of it that is missing.
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <string>

#include "tests/support/run_locus.h"

namespace {

namespace fs = std::filesystem;
using locus::testing_support::quoted;

// Names of LibTorch's libraries that a command line loads, one per line.
std::string loaded_torch(const std::string& words) {
  const std::string command = "env -u LOCUS_KERNELS LD_DEBUG=files " + quoted(locus::test::binary()) + " " + words +
                              " 2>&1 | grep -oE 'init: .*/lib(torch|c10)[^ ]*' | sort -u";
  std::string out;
  std::FILE* const pipe = popen(command.c_str(), "r");
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) {
    out += static_cast<char>(c);
  }
  pclose(pipe);
  return out;
}

TEST(Start, NeedsNoLibTorchForHelp) {
  for (const char* const words : {"--version", "--help", "train --help", "figure --help", "help", "help encodings",
                                  "help --man", "help --completion bash"}) {
    EXPECT_EQ(loaded_torch(words), "") << words;
  }
  const std::string checkpoint = locus::test::source_dir() + "/assets/checkpoints/text-rope";
  EXPECT_NE(loaded_torch("run " + quoted(checkpoint) + " --text a"), "");
}

TEST(Start, NamesAMissingEngine) {
  const fs::path folder = fs::path(testing::TempDir()) / "start";
  fs::create_directories(folder / "lib");
  const fs::path built = fs::path(locus::test::binary()).parent_path();
  fs::copy_file(built / "locus", folder / "locus");
  fs::copy_file(built / "lib/locus/liblocus.so", folder / "lib/liblocus.so");
  const fs::path out = folder / "out";
  const int status = std::system(("LD_LIBRARY_PATH=" + quoted((folder / "lib").string()) + " " +
                                  quoted((folder / "locus").string()) + " info --encodings 2>" + quoted(out.string()))
                                     .c_str());
  EXPECT_EQ(WEXITSTATUS(status), 3);
  const std::string text = locus::testing_support::read_text(out.string());
  EXPECT_TRUE(text.starts_with(
      "locus: error: LibTorch cannot be loaded: " + (folder / "lib/liblocus_engine.so").string() + ": "))
      << text;
}

}  // namespace

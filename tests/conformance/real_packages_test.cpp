// Real models that are published as Python packages, where LOCUS_REAL_MODELS names the folder of their installation
// (packages.py says how): the ids of a text, every layer's maps and the logits are those of the library.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/support/checkpoint_folder.h"
#include "tests/support/conformance.h"

namespace locus {
namespace {

namespace fs = std::filesystem;

class RealPackages : public testing::TestWithParam<const char*> {};

TEST_P(RealPackages, GiveTheLibrarysIdsMapsAndLogits) {
  const test::ConformanceType stored(GetParam(), "packages");
  const char* const installed = std::getenv("LOCUS_REAL_MODELS");
  const auto files = stored.data().at("files").get<std::vector<std::string>>();
  if (installed == nullptr || !fs::exists(fs::path(installed) / files.front())) {
    GTEST_SKIP() << "LOCUS_REAL_MODELS names no folder with " << files.front();
  }
  // A file in parts is joined.
  const test::TemporaryFolder own;
  fs::path path = fs::path(installed) / files.front();
  if (files.size() > 1) {
    path = own.path() / "model.gguf";
    std::ofstream joined(path, std::ios::binary);
    for (const std::string& file : files) {
      joined << std::ifstream(fs::path(installed) / file, std::ios::binary).rdbuf();
    }
  }
  const auto model = test::open_model(path);
  ASSERT_NE(model, nullptr);
  models::Input text;
  text.text = stored.data().at("input").at("text").get<std::string>();
  const auto tokens = model->tokenize(text);
  ASSERT_TRUE(tokens.ok()) << tokens.error().describe();
  std::vector<std::int64_t> ids;
  for (const models::TokenInfo& token : *tokens) {
    ids.push_back(token.id);
  }
  EXPECT_EQ(ids, stored.input({}).ids);
  models::RunOptions options;
  options.all_logits = true;
  const auto trace = model->run(stored.input({}), options);
  ASSERT_TRUE(trace.ok()) << trace.error().describe();
  EXPECT_EQ(stored.difference(**trace), "");
}

INSTANTIATE_TEST_SUITE_P(All, RealPackages, testing::Values("all-minilm-l6-v2", "smollm2-135m", "gemma3-270m"));

}  // namespace
}  // namespace locus

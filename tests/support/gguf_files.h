// What the tests of GGUF files share: the files of tests/conformance/gguf and the library's values of them.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "models/api/model.h"
#include "tests/support/checkpoint_folder.h"
#include "tests/support/conformance.h"
#include "tests/support/paths.h"

namespace locus::test {

inline constexpr const char* kGgufFolder = "gguf";

inline std::filesystem::path hybrid_file(const std::string& name) {
  return std::filesystem::path(source_dir()) / "tests" / "conformance" / kGgufFolder / (name + ".gguf");
}

inline std::shared_ptr<const models::Trace> run_of(const models::Model& model, const models::Input& input) {
  models::RunOptions options;
  options.all_logits = true;
  const auto trace = model.run(input, options);
  EXPECT_TRUE(trace.ok()) << trace.error().describe();
  return trace.ok() ? *trace : nullptr;
}

struct HybridFile {
  std::string name;
  std::string family;
};
// The file's maps and logits are those that the library computes from the checkpoint.
inline void expect_library_values(const HybridFile& file) {
  const ConformanceType stored(file.name, kGgufFolder);
  const auto model = open_model(hybrid_file(file.name));
  ASSERT_NE(model, nullptr);
  EXPECT_EQ(model->info().family, file.family);
  EXPECT_EQ(model->info().unexpected, std::vector<std::string>());
  EXPECT_EQ(model->info().warnings, std::vector<std::string>());
  const auto trace = run_of(*model, {.ids = stored.data().at("input").at("ids").get<std::vector<std::int64_t>>()});
  ASSERT_NE(trace, nullptr);
  EXPECT_EQ(stored.difference(*trace), "");
}

}  // namespace locus::test

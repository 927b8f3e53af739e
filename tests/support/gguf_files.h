// What the tests of GGUF files share: the files of tests/conformance/gguf and the library's values of them.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/base/atomic_file.h"
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

// ---- damaged files

inline std::string bytes_of(const std::string& name) {
  return *read_file(hybrid_file(name), 1 << 20);
}

// Replaces every `from` by `to`, of the same length.
inline std::string renamed_in(std::string bytes, const std::string& from, const std::string& to) {
  EXPECT_EQ(from.size(), to.size());
  std::size_t at = bytes.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  for (; at != std::string::npos; at = bytes.find(from, at + 1)) {
    bytes.replace(at, from.size(), to);
  }
  return bytes;
}

// Sets a value of 32 bits.
inline std::string with_value(std::string bytes, const std::string& name, std::uint32_t value) {
  const std::size_t at = bytes.find(name);
  EXPECT_NE(at, std::string::npos) << name;
  std::memcpy(bytes.data() + at + name.size() + 4, &value, sizeof value);
  return bytes;
}

inline std::string opening_refusal(const std::string& bytes, ErrorCode code = ErrorCode::kBadInput) {
  const TemporaryFolder folder;
  folder.write("m.gguf", bytes);
  const auto model = models::open(folder.path() / "m.gguf", {});
  if (model.ok()) {
    return "opens";
  }
  EXPECT_EQ(model.error().code, code) << model.error().describe();
  return model.error().describe();
}

}  // namespace locus::test

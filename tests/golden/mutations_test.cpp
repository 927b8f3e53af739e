// Configurations that differ from a checkpoint's own in one field or one rotary block, against transformers' values for
// each (tests/golden/mutations, made by make.py there): what Locus opens and the library runs gives the library's
// values. A refusal is no wrong map.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "models/engine/trace/recorded_trace.h"
#include "tests/support/checkpoint_folder.h"
#include "tests/support/golden.h"
#include "tests/support/paths.h"

namespace locus {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr double kMutationsTolerance = 1e-4;

struct Verdicts {
  int equal = 0;
  int refused = 0;
};

class Mutations : public testing::TestWithParam<const char*> {};

TEST_P(Mutations, GiveTheLibrarysValues) {
  const std::string type = GetParam();
  const fs::path folder = fs::path(test::source_dir()) / "tests" / "golden" / "mutations" / type;
  const json listed = json::parse(std::ifstream(folder / "changes.json"));
  const json plain = json::parse(std::ifstream(folder / "config.json"));
  const test::Golden golden("mutations/" + type + "/expected");
  const test::TemporaryFolder own;
  fs::create_symlink(fs::absolute(folder / "model.safetensors"), own.path() / "model.safetensors");
  models::Input input;
  input.ids = listed.at("input_ids").get<std::vector<std::int64_t>>();
  models::RunOptions options;
  options.all_logits = true;
  Verdicts verdicts;
  for (std::size_t n = 0; n < listed.at("changes").size(); ++n) {
    const json& change = listed["changes"][n];
    SCOPED_TRACE(type + ": " + change.at("what").get<std::string>());
    json config = plain;
    config.update(change.at("fields"));
    own.write("config.json", config.dump());
    const auto model = models::open(own.path(), {});
    const Result<std::shared_ptr<const models::Trace>> trace =
        model.ok() ? (*model)->run(input, options) : Result<std::shared_ptr<const models::Trace>>(model.error());
    if (!trace.ok()) {
      EXPECT_TRUE(trace.error().code == ErrorCode::kBadInput || trace.error().code == ErrorCode::kUnsupported)
          << trace.error().describe();
      verdicts.refused += change.at("library") == "runs" ? 1 : 0;
      continue;
    }
    if (change.at("library") == "refuses") {
      continue;
    }
    const std::string key = change.at("same").get<bool>() ? "0." : std::to_string(n) + ".";
    const models::TraceData data = test::recorded(**trace);
    EXPECT_CLOSE(data.logits, golden[key + "outcome"], kMutationsTolerance);
    for (std::size_t layer = 0; layer < data.layers.size(); ++layer) {
      const auto map = models::whole_map(*data.layers[layer].scores, attention::Quantity::kWeight);
      ASSERT_TRUE(map.ok());
      EXPECT_CLOSE(*map, golden[key + "layers." + std::to_string(layer) + ".attention"], kMutationsTolerance);
    }
    ++verdicts.equal;
  }
  // Most of what the library runs is run, so that refusing all of it would be noticed.
  EXPECT_GT(verdicts.equal, verdicts.refused);
}

INSTANTIATE_TEST_SUITE_P(Types, Mutations,
                         testing::Values("llama", "mistral", "qwen3", "gemma3_text", "cohere", "gpt_neox", "phi3",
                                         "bert", "qwen2", "gemma2", "deepseek_v3"));

}  // namespace
}  // namespace locus

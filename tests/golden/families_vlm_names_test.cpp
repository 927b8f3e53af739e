// The same vision-language checkpoints with their tensors named as newer releases save them, and SmolVLM, which is
// Idefics 3 by another name: the reference's logits all the same.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "models/engine/trace/recorded_trace.h"
#include "tests/support/checkpoint_folder.h"
#include "tests/support/golden.h"
#include "tests/support/paths.h"
#include "tests/support/pictured_text.h"

namespace locus {
namespace {

namespace fs = std::filesystem;

constexpr double kNamesTolerance = 1e-4;

using Renames = std::vector<std::pair<std::string, std::string>>;  // prefixes; the first that fits

const Renames kQwenNames{{"visual.", "model.visual."}, {"model.", "model.language_model."}};
const Renames kLlavaNames{{"language_model.lm_head.", "lm_head."},
                          {"language_model.model.", "model.language_model."},
                          {"vision_tower.", "model.vision_tower."},
                          {"multi_modal_projector.", "model.multi_modal_projector."}};

std::string renamed(const std::string& name, const Renames& renames) {
  for (const auto& [from, to] : renames) {
    if (name.starts_with(from)) {
      return to + name.substr(from.size());
    }
  }
  return name;
}

// The family's folder with other names of tensors and another model type; the same logits of its own input.
void expect_same_logits(const std::string& family, const Renames& renames, const std::string& model_type = {}) {
  SCOPED_TRACE(family + (model_type.empty() ? "" : " as " + model_type));
  const fs::path folder = test::pictured_folder(family);
  const test::TemporaryFolder place;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() != ".safetensors") {
      fs::copy(entry.path(), place.path());
    }
  }
  if (!model_type.empty()) {
    std::stringstream text;
    text << std::ifstream(folder / "config.json").rdbuf();
    std::string config = text.str();
    const std::string quoted = "\"model_type\": \"" + family + "\"";
    ASSERT_NE(config.find(quoted), std::string::npos);
    config.replace(config.find(quoted), quoted.size(), "\"model_type\": \"" + model_type + "\"");
    place.write("config.json", config);
  }
  test::Tensors tensors;
  std::size_t changed = 0;
  const test::Golden weights("families-vlm/" + family + "/model");
  for (const auto& [name, tensor] : weights.arrays()) {
    const std::string other = renamed(name, renames);
    changed += other == name ? 0 : 1;
    tensors.emplace(other, tensor);
  }
  EXPECT_EQ(changed > 0, !renames.empty());
  test::write_tensors(place.path() / "model.safetensors", tensors);
  const auto model = test::open_model(place.path());
  ASSERT_NE(model, nullptr);
  EXPECT_TRUE(model->info().unexpected.empty());
  const auto input = test::pictured_input(family);
  ASSERT_TRUE(input.ok()) << input.error().describe();
  models::RunOptions options;
  options.all_logits = true;
  const auto trace = model->run(*input, options);
  ASSERT_TRUE(trace.ok()) << trace.error().describe();
  const auto& data = dynamic_cast<const models::RecordedTrace&>(**trace).data();
  EXPECT_CLOSE(data.logits, test::Golden("families-vlm/" + family + "/expected")["logits"], kNamesTolerance);
}

TEST(FamiliesVlmNames, NewerNamesOfQwen) {
  expect_same_logits("qwen2_vl", kQwenNames);
  expect_same_logits("qwen2_5_vl", kQwenNames);
}

TEST(FamiliesVlmNames, NewerNamesOfProjectorFamilies) {
  for (const char* const family : {"llava", "pixtral", "mistral3", "paligemma", "gemma3", "internvl"}) {
    expect_same_logits(family, kLlavaNames);
  }
}

TEST(FamiliesVlmNames, SmolVlmIsIdefics3ByAnotherName) {
  expect_same_logits("idefics3", {}, "smolvlm");
}

}  // namespace
}  // namespace locus

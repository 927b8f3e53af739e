// The same vision-language checkpoints with their tensors named as other releases save them, with fields as transformers 5
// writes them, and SmolVLM, which is Idefics 3 by another name: the reference's logits all the same.
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
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

// transformers 5 leaves out vision_model, and writes the rest as it was published or all behind "model.".
const Renames kTowerNames{{"vision_tower.vision_model.", "vision_tower."}};
const Renames kInnerNames{{"language_model.lm_head.", "lm_head."},
                          {"language_model.model.", "model.language_model."},
                          {"vision_tower.vision_model.", "model.vision_tower."},
                          {"multi_modal_projector.", "model.multi_modal_projector."},
                          {"image_newline", "model.image_newline"}};

using ConfigChange = std::function<void(nlohmann::json&)>;

// A folder with the family's files but the weights, and its config.json changed.
void copy_changed(const std::string& family, const ConfigChange& change, const test::TemporaryFolder& place) {
  for (const auto& entry : fs::directory_iterator(test::pictured_folder(family))) {
    if (entry.path().extension() != ".safetensors") {
      fs::copy(entry.path(), place.path());
    }
  }
  nlohmann::json config = nlohmann::json::parse(std::ifstream(test::pictured_folder(family) / "config.json"));
  if (change) {
    change(config);
  }
  place.write("config.json", config.dump());
}

std::string renamed(const std::string& name, const Renames& renames) {
  for (const auto& [from, to] : renames) {
    if (name.starts_with(from)) {
      return to + name.substr(from.size());
    }
  }
  return name;
}

// The family's folder with other names of tensors and another config.json; the same logits of its own input.
void expect_same_logits(const std::string& family, const Renames& renames, const ConfigChange& change = {}) {
  SCOPED_TRACE(family + (renames.empty() ? "" : ", " + renames.front().second));
  const test::TemporaryFolder place;
  copy_changed(family, change, place);
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
  EXPECT_TRUE(model->info().warnings.empty());
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
  expect_same_logits("idefics3", {}, [](nlohmann::json& config) { config["model_type"] = "smolvlm"; });
}

TEST(FamiliesVlmNames, TowersWithoutVisionModel) {
  for (const char* const family : {"llava", "llava_next", "paligemma", "gemma3"}) {
    expect_same_logits(family, kTowerNames);
    expect_same_logits(family, kInnerNames);
  }
}

TEST(FamiliesVlmNames, TowersWithVisionModel) {
  const Renames tower{{"vision_tower.", "vision_tower.vision_model."}};
  for (const char* const family : {"aya_vision", "vipllava", "llava_onevision"}) {
    expect_same_logits(family, tower);
  }
  expect_same_logits("cohere2_vision", {{"model.vision_tower.", "vision_tower.vision_model."},
                                        {"model.language_model.", "language_model.model."},
                                        {"model.multi_modal_projector.", "multi_modal_projector."}});
  expect_same_logits("deepseek_vl", {{"model.vision_model.", "model.vision_model.vision_model."}});
}

// PaliGemma's text as transformers 5 writes it.
TEST(FamiliesVlmNames, FieldsOfPaligemmasText) {
  for (const char* const activation : {"gelu", "gelu_pytorch_tanh"}) {
    expect_same_logits("paligemma", kTowerNames, [&](nlohmann::json& config) {
      config["text_config"]["use_bidirectional_attention"] = true;
      config["text_config"]["hidden_act"] = activation;
    });
  }
}

ConfigChange rotated_by(const std::string& word) {
  return [word](nlohmann::json& config) {
    nlohmann::json& vision = config["vision_config"];
    vision["rope_parameters"] = {{"rope_theta", vision.value("rope_theta", 10000.0)}, {"rope_type", word}};
    vision.erase("rope_theta");
  };
}

TEST(FamiliesVlmNames, PixtralsRotationIsCalledAxial) {
  for (const char* const family : {"pixtral", "mistral3"}) {
    expect_same_logits(family, {}, rotated_by("axial"));
    expect_same_logits(family, {}, rotated_by("default"));
  }
}

// An error or a warning that names file, field, expected and found; nothing is read by a guess.
TEST(FamiliesVlmNames, WrongFieldsAreNamed) {
  struct Wrong {
    const char* family;
    const char* field;  // JSON pointer
    nlohmann::json value;
    const char* expected;
  };
  const std::vector<Wrong> wrong{
      {"mistral3", "/vision_config/rope_parameters", {{"rope_type", "linear"}, {"factor", 2.0}}, "axial or default"},
      {"mistral3", "/vision_config/rope_parameters", {{"rope_type", 3}}, "rope_type"},
      {"paligemma", "/text_config/use_bidirectional_attention", false, "use_bidirectional_attention"},
      {"paligemma", "/text_config/hidden_act", "relu", "hidden_act"},
      {"aya_vision", "/downsample_factor", 3, "downsample_factor: expected a number that divides 4 patches, found 3"},
      {"aya_vision", "/downsample_factor", 0, "downsample_factor"},
      {"aya_vision", "/downsample_factor", INT64_MAX, "downsample_factor"},
      {"aya_vision", "/alignment_intermediate_size", 41, "alignment_intermediate_size: expected an even number"},
      {"aya_vision", "/alignment_intermediate_size", 42, "linear_1.weight: expected shape"},
      {"aya_vision", "/alignment_intermediate_size", "wide", "alignment_intermediate_size"},
      {"aya_vision", "/adapter_layer_norm_eps", "small", "adapter_layer_norm_eps"},
      {"aya_vision", "/vision_feature_select_strategy", "default", "vision_feature_select_strategy"},
      {"aya_vision", "/vision_feature_layer", 3, "vision_feature_layer: expected states from -3 to 2, found 3"},
      {"aya_vision", "/vision_feature_layer", {-1, -2}, "expected shape"},
      {"aya_vision", "/image_token_index", -1, "image_token_index"},
      {"cohere2_vision", "/downsample_factor", 3, "downsample_factor"},
      {"cohere2_vision", "/alignment_intermediate_size", nullptr, "linear_1.weight: expected shape"},
      {"cohere2_vision", "/image_token_id", 1.5, "image_token_id"},
      {"deepseek_vl", "/image_token_id", nullptr, "image_token_id"},
      {"deepseek_vl", "/vision_config/patch_size", 48, "patch"},
      {"vipllava", "/vision_feature_layer", {-2, -9}, "vision_feature_layer: expected states from -4 to 3, found -9"},
      {"vipllava", "/vision_feature_layer", {-2, -4, 3}, "expected shape"},
      {"vipllava", "/vision_feature_layer", "last", "vision_feature_layer"},
      {"vipllava", "/vision_feature_layer", nullptr, "vision_feature_layer: expected states of a tower of 3 layers"},
      {"vipllava", "/projector_layernorm_eps", true, "projector_layernorm_eps"},
      {"vipllava", "/projector_hidden_act", "sharp", "projector_hidden_act"},
      {"vipllava", "/vision_feature_select_strategy", "full", "vision_feature_select_strategy"}};
  for (const Wrong& each : wrong) {
    SCOPED_TRACE(std::string(each.family) + each.field + " " + each.value.dump());
    const test::TemporaryFolder place;
    copy_changed(
        each.family, [&](nlohmann::json& config) { config[nlohmann::json::json_pointer(each.field)] = each.value; },
        place);
    fs::copy(test::pictured_folder(each.family) / "model.safetensors", place.path());
    const auto model = models::open(place.path());
    ASSERT_FALSE(model.ok());
    EXPECT_NE(model.error().code, ErrorCode::kInternal);
    EXPECT_NE(model.error().describe().find(each.expected), std::string::npos) << model.error().describe();
  }
}

// A tower of another kind is named in a warning, and the text opens alone.
TEST(FamiliesVlmNames, OtherTowersLeaveTheTextAlone) {
  for (const char* const family : {"aya_vision", "cohere2_vision", "deepseek_vl", "vipllava"}) {
    SCOPED_TRACE(family);
    const test::TemporaryFolder place;
    copy_changed(
        family, [](nlohmann::json& config) { config["vision_config"]["model_type"] = "a_new_tower"; }, place);
    fs::copy(test::pictured_folder(family) / "model.safetensors", place.path());
    const auto model = test::open_model(place.path());
    ASSERT_NE(model, nullptr);
    ASSERT_FALSE(model->info().warnings.empty());
    EXPECT_NE(model->info().warnings.front().find("found a_new_tower"), std::string::npos)
        << model->info().warnings.front();
  }
}

}  // namespace
}  // namespace locus

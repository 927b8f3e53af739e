// Configurations of image towers that the library computes otherwise, or not at all, are refused by name.
#include <gtest/gtest.h>

#include <string>

#include "tests/support/checkpoint_folder.h"
#include "tests/support/conformance.h"

namespace locus {
namespace {

using nlohmann::json;

struct RefusedTower {
  const char* type;
  const char* fields;  // that replace those of the type's configuration
  const char* named;   // what the error says
};

TEST(RefusedTowers, AreNamed) {
  const RefusedTower refused[] = {
      {"chinese_clip", R"({"vision_config_dict": {"hidden_size": 64}})", "vision_config_dict"},
      {"metaclip_2", R"({"vision_config_dict": {"hidden_size": 64}})", "vision_config_dict"},
      {"chinese_clip_vision_model", R"({"hidden_act": "snake"})", "snake"},
      {"metaclip_2_vision_model", R"({"image_size": [32, 32]})", "image_size"},
      {"mlcd_vision_model", R"({"num_key_value_groups": 2})", "num_key_value_groups"},
      {"mlcd_vision_model", R"({"head_dim": 8})", "head_dim"},
      {"mlcd_vision_model", R"({"rope_parameters": {"rope_type": "linear", "factor": 2.0}})", "rope_type"},
      {"mlcd_vision_model", R"({"num_attention_heads": 32})", "4 divides"},
      {"pixtral", R"({"rope_parameters": {"rope_type": "yarn", "factor": 2.0}})", "rope_type"},
      {"pixtral", R"({"head_dim": 8})", "head_dim"},
      {"internvl_vision", R"({"norm_type": "rms_norm", "use_mean_pooling": false})", "use_mean_pooling"},
      {"internvl_vision", R"({"patch_size": [8, 4]})", "patch_size"},
      {"internvl_vision", R"({"use_absolute_position_embeddings": false})", "use_absolute_position_embeddings"},
      {"idefics3_vision", R"({"image_size": 4})", "image size 4"},
      {"aimv2_vision_model", R"({"image_size": 64})", "position_embedding"},
      {"aimv2_vision_model", R"({"mlp_bias": true})", "ffn"},
      {"siglip2_vision_model", R"({"num_patches": 15})", "num_patches"},
      {"siglip2_vision_model", R"({"patch_size": 4})", "patch_embedding"},
  };
  for (const RefusedTower& each : refused) {
    SCOPED_TRACE(std::string(each.type) + ": " + each.fields);
    const test::ConformanceType stored(each.type);
    const test::TemporaryFolder folder;
    json config = stored.data().at("config");
    config.update(json::parse(each.fields));
    folder.write("config.json", config.dump());
    stored.write_tensors(folder.path());
    const auto model = models::open(folder.path(), {});
    ASSERT_FALSE(model.ok());
    EXPECT_NE(model.error().describe().find(each.named), std::string::npos) << model.error().describe();
  }
}

// A table of fixed positions has none for other pictures.
TEST(RefusedTowers, OtherPicturesThanTheTablesAreNamed) {
  const test::ConformanceType stored("aimv2_vision_model");
  const test::TemporaryFolder folder;
  folder.write("config.json", stored.data().at("config").dump());
  stored.write_tensors(folder.path());
  const auto model = test::open_model(folder.path());
  ASSERT_NE(model, nullptr);
  const auto pixels = folder.path() / "wide";
  test::write_tensors(pixels, {{"pixel_values", at::zeros({3, 32, 40})}});
  models::Input input;
  input.pixels = pixels;
  const auto trace = model->run(input, {});
  ASSERT_FALSE(trace.ok());
  EXPECT_NE(trace.error().describe().find("expected a grid of 4 × 4, found 4 × 5"), std::string::npos)
      << trace.error().describe();
}

}  // namespace
}  // namespace locus

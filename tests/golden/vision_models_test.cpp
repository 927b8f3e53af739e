// ViTs under timm's names, RoPE-ViT and SeqPE's ViT, from a checkpoint folder and pixels to logits.
#include <gtest/gtest.h>

#include "tests/support/checkpoint_folder.h"
#include "tests/support/golden.h"

namespace locus {
namespace {

constexpr double kVisionModelsTolerance = 1e-4;

std::string config(const std::string& architecture, const std::string& arguments = "") {
  return R"({"architecture": ")" + architecture +
         R"(", "num_classes": 10, "model_args": {"img_size": 32, "patch_size": 8, "embed_dim": 32, "depth": 2,
    "num_heads": 2)" +
         arguments + "}}";
}

std::shared_ptr<const models::Model> open_vit(const test::TemporaryFolder& folder, const test::Golden& golden,
                                              const std::string& json) {
  folder.write("config.json", json);
  test::write_tensors(folder.path() / "model.safetensors", test::with_prefix(golden, "w."));
  return test::open_model(folder.path());
}

void expect_logits(const models::Model& model, const test::Golden& golden) {
  EXPECT_TRUE(model.info().unexpected.empty());
  EXPECT_TRUE(model.info().image);
  for (std::int64_t n = 0; n < golden["images"].size(0); ++n) {
    EXPECT_CLOSE(test::logits_of_pixels(model, golden["images"][n]), golden["logits"][n], kVisionModelsTolerance) << n;
  }
}

TEST(VisionModels, TimmWithLearnedPositions) {
  const test::Golden golden("vit_timm_ape");
  const test::TemporaryFolder folder;
  const auto model = open_vit(folder, golden, config("vit_tiny_patch8_32"));
  ASSERT_TRUE(model);
  EXPECT_EQ(model->info().family, "vit-timm");
  expect_logits(*model, golden);
}

// Before a width is computed from it.
TEST(VisionModels, RatiosThatGiveNoWidthAreRefused) {
  const test::Golden golden("vit_timm_ape");
  for (const char* const ratio : {"1e308", "-4", "0"}) {
    const test::TemporaryFolder folder;
    folder.write("config.json", config("vit_tiny_patch8_32", R"(, "mlp_ratio": )" + std::string(ratio)));
    test::write_tensors(folder.path() / "model.safetensors", test::with_prefix(golden, "w."));
    const auto model = models::open(folder.path(), {});
    ASSERT_FALSE(model.ok()) << ratio;
    EXPECT_EQ(model.error().code, ErrorCode::kBadInput);
    EXPECT_NE(model.error().describe().find("model_args.mlp_ratio: expected a ratio"), std::string::npos)
        << model.error().describe();
  }
}

TEST(VisionModels, RopeVitAtTheTrainedAndAnotherResolution) {
  for (const auto& [file, architecture] :
       {std::pair{"vit_rope_axial", "rope_axial_tiny"}, std::pair{"vit_rope_mixed", "rope_mixed_tiny"}}) {
    const test::Golden golden(file);
    const test::TemporaryFolder folder;
    const auto model = open_vit(folder, golden, config(architecture));
    ASSERT_TRUE(model) << file;
    EXPECT_EQ(model->info().family, "rope-vit");
    expect_logits(*model, golden);
    EXPECT_CLOSE(test::logits_of_pixels(*model, golden["images_48x40"][0]), golden["logits_48x40"][0],
                 kVisionModelsTolerance)
        << file;
  }
}

TEST(VisionModels, RopeVitWithLearnedPositionsBeside) {
  const test::Golden golden("vit_rope_mixed_ape");
  const test::TemporaryFolder folder;
  const auto model = open_vit(folder, golden, config("rope_mixed_ape_tiny", R"(, "use_ape": true)"));
  ASSERT_TRUE(model);
  expect_logits(*model, golden);
}

TEST(VisionModels, SeqpeVit) {
  for (const auto& [file, method, projection] : {std::tuple{"seqpe_vit_attn_add_multi", "attn_add", "multi"},
                                                 std::tuple{"seqpe_vit_attn_mul_multi", "attn_mul", "multi"},
                                                 std::tuple{"seqpe_vit_attn_scalar_multi", "attn_scalar", "multi"},
                                                 std::tuple{"seqpe_vit_attn_mul_single", "attn_mul", "single"},
                                                 std::tuple{"seqpe_vit_input_add_None", "input_add", "none"}}) {
    const test::Golden golden(file);
    const test::TemporaryFolder folder;
    folder.write("pe_config.json", std::string("PE_TYPE: seq_pe\nPE_APPLY_METHOD: ") + method +
                                       "\nUSE_PE_QK_PER_LAYER: " + projection +
                                       "\nPE_EMBED_DIM: 16\nNUM_ATTENTION_HEADS: 2\nPE_DATA_DIM: 2\n"
                                       "SEQPE_MAX_DIGITS: 2\nSEQPE_LAYER_NUM: 2\n");
    test::write_tensors(folder.path() / "model_1.safetensors", test::with_prefix(golden, "pe_w."));
    const auto model = open_vit(folder, golden, config("vit_tiny_patch8_32"));
    ASSERT_TRUE(model) << file;
    EXPECT_EQ(model->info().family, "seqpe-vit");
    expect_logits(*model, golden);
  }
}

}  // namespace
}  // namespace locus

// Swin, Swin v2 and Hiera at each of their stages: maps, states and class logits of the library (stages.py), for a picture of the
// configuration's sides and for another; and configurations and pictures that are refused.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "tests/support/checkpoint_folder.h"
#include "tests/support/conformance.h"
#include "tests/support/generated_tensors.h"

namespace locus {
namespace {

using nlohmann::json;

constexpr double kSwinTolerance = 1e-4;
constexpr std::int64_t kStages = 3;

// The rows that make.py stores.
std::vector<std::int64_t> stored_rows(std::int64_t count) {
  return {count / 4, count / 2, count - 1};
}

models::OpenOptions at_stage(std::int64_t stage) {
  models::OpenOptions options;
  options.overrides.stage = stage;
  return options;
}

// A type's folder, with its configuration changed.
void write_folder(const test::ConformanceType& stored, const test::TemporaryFolder& folder,
                  const json& changes = json::object()) {
  json config = stored.data().at("config");
  config.update(changes);
  folder.write("config.json", config.dump());
  stored.write_tensors(folder.path());
}

std::string warnings_of(const models::Model& model) {
  std::string warnings;
  for (const std::string& warning : model.info().warnings) {
    warnings += warning + "\n";
  }
  return warnings;
}

class SwinStages : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    write_folder(stored_, folder_);
    test::write_tensors(folder_.path() / "larger",
                        {{"pixel_values", test::generated_tensor("pixel_values", {3, 48, hiera() ? 64 : 72}, 0, 1)}});
  }

  static bool hiera() { return GetParam() == std::string("hiera"); }

  models::Input input(const std::string& picture) const {
    models::Input input;
    input.pixels = folder_.path() / (picture.empty() ? "pixels" : "larger");
    return input;
  }

  // Compares the maps of all layers with those whose names begin with `prefix`.
  void compare_maps(const models::Trace& trace, const std::string& prefix) const {
    const std::vector<std::int64_t> rows = stored_rows(trace.length());
    for (std::int64_t layer = 0; layer < trace.model().layers; ++layer) {
      const at::Tensor want = values_[prefix + "layers." + std::to_string(layer) + ".attention"];
      ASSERT_EQ(want.sizes(), at::IntArrayRef({trace.model().heads, 3, trace.length()}));
      at::Tensor got = at::zeros_like(want);
      for (std::int64_t head = 0; head < want.size(0); ++head) {
        for (std::size_t r = 0; r < rows.size(); ++r) {
          const auto map = trace.map({layer, head, models::Quantity::kWeight, {rows[r], rows[r] + 1}, {}, false});
          ASSERT_TRUE(map.ok()) << map.error().describe();
          for (std::int64_t key = 0; key < trace.length(); ++key) {
            got[head][static_cast<std::int64_t>(r)][key] = map->values[static_cast<std::size_t>(key)];
          }
        }
      }
      EXPECT_CLOSE(got, want, kSwinTolerance) << prefix << " layer " << layer;
    }
  }

  test::ConformanceType stored_{GetParam()};
  test::Golden values_{std::string("../conformance/values/") + GetParam() + ".stages"};
  test::TemporaryFolder folder_;
};

TEST_P(SwinStages, GiveTheLibrarysMapsAndStates) {
  for (std::int64_t stage = 1; stage <= kStages; ++stage) {
    const auto model = test::open_model(folder_.path(), at_stage(stage));
    ASSERT_NE(model, nullptr);
    EXPECT_EQ(model->info().unexpected, std::vector<std::string>());
    EXPECT_EQ(model->info().overrides.stage, stage < kStages ? stage : 0);
    for (const std::string picture : {"", "larger."}) {
      const std::string prefix = picture + "stage" + std::to_string(stage) + ".";
      SCOPED_TRACE(prefix);
      const auto trace = model->run(input(picture), {});
      ASSERT_TRUE(trace.ok()) << trace.error().describe();
      compare_maps(**trace, prefix);
      if (stage < kStages) {  // behind the last stage there is a norm
        const models::TraceData data = test::recorded(**trace);
        ASSERT_TRUE(data.hidden.defined());
        const at::Tensor rows = at::tensor(stored_rows((*trace)->length()), at::kLong);
        EXPECT_CLOSE(data.hidden.cpu().index_select(0, rows), values_[prefix + "hidden"], kSwinTolerance);
      }
    }
  }
}

// Windows are kept in the file of a trace.
TEST_P(SwinStages, AreReadAgainFromATrace) {
  const auto model = test::open_model(folder_.path(), at_stage(1));
  ASSERT_NE(model, nullptr);
  const auto trace = model->run(input(""), {});
  ASSERT_TRUE(trace.ok()) << trace.error().describe();
  const std::filesystem::path file = folder_.path() / "trace.safetensors";
  ASSERT_TRUE((*trace)->write(file, {"all"}).ok());
  const auto read = test::open_trace(file);
  ASSERT_TRUE(read.ok()) << read.error().describe();
  compare_maps(**read, "stage1.");
}

// The classifier of a file with the library's prefix; stages before the last have none.
TEST_P(SwinStages, GiveTheLibrarysClassLogits) {
  test::Tensors tensors;
  for (const auto& [name, value] : stored_.tensors()) {
    tensors[std::string(GetParam()) + "." + name] = value;
  }
  const std::int64_t width = stored_.data().at("config").at("hidden_size");
  tensors["classifier.weight"] = test::generated_tensor("classifier.weight", {5, width}, 0, 0.2);
  tensors["classifier.bias"] = test::generated_tensor("classifier.bias", {5}, 0, 0.1);
  test::write_tensors(folder_.path() / "model.safetensors", tensors);
  const auto model = test::open_model(folder_.path());
  ASSERT_NE(model, nullptr);
  EXPECT_TRUE(model->info().head);
  EXPECT_EQ(model->info().vocabulary, 5);
  EXPECT_EQ(model->info().unexpected, std::vector<std::string>());
  for (const std::string picture : {"", "larger."}) {
    const auto trace = model->run(input(picture), {});
    ASSERT_TRUE(trace.ok()) << trace.error().describe();
    EXPECT_CLOSE(test::recorded(**trace).logits.cpu().flatten(), values_[picture + "logits"].flatten(), kSwinTolerance);
  }
  const auto before = test::open_model(folder_.path(), at_stage(2));
  ASSERT_NE(before, nullptr);
  EXPECT_FALSE(before->info().head);
  EXPECT_EQ(before->info().unexpected, std::vector<std::string>());
  const std::string warnings = warnings_of(*before);
  EXPECT_NE(warnings.find("stage 2 of 3: "), std::string::npos) << warnings;
}

INSTANTIATE_TEST_SUITE_P(All, SwinStages, testing::Values("swin", "swinv2", "hiera"));

void expect_refused(const test::TemporaryFolder& folder, std::int64_t stage, ErrorCode code, const std::string& named) {
  const auto model = models::open(folder.path(), at_stage(stage));
  ASSERT_FALSE(model.ok());
  EXPECT_EQ(model.error().code, code) << model.error().describe();
  EXPECT_NE(model.error().describe().find(named), std::string::npos) << model.error().describe();
}

TEST(SwinStages, RefuseStagesThatAreNone) {
  for (const char* const type : {"swin", "swinv2", "hiera"}) {
    const test::ConformanceType stored(type);
    const test::TemporaryFolder folder;
    write_folder(stored, folder);
    expect_refused(folder, 4, ErrorCode::kUsage, "stage: expected 1 to 3, found 4");
    expect_refused(folder, -1, ErrorCode::kUsage, "stage: expected 1 to 3, found -1");
  }
  const test::ConformanceType other("vit");
  const test::TemporaryFolder folder;
  write_folder(other, folder);
  expect_refused(folder, 1, ErrorCode::kUnsupported, "without stages");
}

TEST(SwinStages, RefuseWrongConfigurations) {
  struct Refused {
    const char* type;
    const char* fields;
    ErrorCode code;
    const char* named;
  };
  const Refused refused[] = {
      {"swin", R"({"image_size": 20})", ErrorCode::kUnsupported, "windows of 3 × 3 patches in stage 1"},
      {"swin", R"({"image_size": 25})", ErrorCode::kUnsupported, "whole patches of 2 pixels"},
      {"swin", R"({"image_size": 18})", ErrorCode::kUnsupported, "in stage 2"},
      {"swin", R"({"window_size": 6})", ErrorCode::kUnsupported, "in stage 3"},
      {"swin", R"({"window_size": 65})", ErrorCode::kUnsupported, "window_size"},
      {"swin", R"({"window_size": 1})", ErrorCode::kBadInput, "relative_position_bias_table"},
      {"swin", R"({"num_heads": [1, 2]})", ErrorCode::kBadInput, "num_heads"},
      {"swin", R"({"num_heads": [1, 3, 4]})", ErrorCode::kBadInput, "3 heads"},
      {"swin", R"({"depths": []})", ErrorCode::kBadInput, "depths"},
      {"swin", R"({"depths": [2, 0, 2]})", ErrorCode::kBadInput, "depths"},
      {"swin", R"({"depths": [2, 3, 1000000]})", ErrorCode::kBadInput, "depths"},
      {"swin", R"({"embed_dim": 1000000})", ErrorCode::kBadInput, "embed_dim"},
      {"swin", R"({"mlp_ratio": -1.0})", ErrorCode::kBadInput, "mlp_ratio"},
      {"swin", R"({"use_absolute_embeddings": true})", ErrorCode::kUnsupported, "use_absolute_embeddings"},
      {"swin", R"({"layer_norm_eps": 1e-6})", ErrorCode::kUnsupported, "layer_norm_eps"},
      {"swinv2", R"({"image_size": 20})", ErrorCode::kUnsupported, "in stage 1"},
      {"swinv2", R"({"pretrained_window_sizes": [0, 1, 0]})", ErrorCode::kBadInput, "pretrained_window_sizes"},
      {"swinv2", R"({"pretrained_window_sizes": [0]})", ErrorCode::kBadInput, "pretrained_window_sizes"},
      {"swinv2", R"({"num_heads": [1, 2, 8]})", ErrorCode::kBadInput, "continuous_position_bias_mlp.2.weight"},
      {"hiera", R"({"image_size": [48, 40]})", ErrorCode::kUnsupported,
       "image_size: expected pictures of whole units of 16"},
      {"hiera", R"({"image_size": [48]})", ErrorCode::kBadInput, "image_size: expected 2 entries"},
      {"hiera", R"({"image_size": [16, 48, 48]})", ErrorCode::kUnsupported,
       "image_size: expected 2 entries, of pictures"},
      {"hiera", R"({"patch_size": [3, 7, 7]})", ErrorCode::kUnsupported, "patch_size: expected 2 entries, of pictures"},
      {"hiera", R"({"patch_size": [7, 5]})", ErrorCode::kUnsupported, "patch_size: expected equal sides"},
      {"hiera", R"({"patch_padding": [0, 0]})", ErrorCode::kUnsupported, "patch_padding"},
      {"hiera", R"({"patch_padding": [4, 4]})", ErrorCode::kUnsupported, "patch_padding"},
      {"hiera", R"({"patch_stride": [0, 0]})", ErrorCode::kBadInput, "patch_stride"},
      {"hiera", R"({"masked_unit_size": [8, 8]})", ErrorCode::kUnsupported, "masked_unit_size"},
      {"hiera", R"({"masked_unit_attention": [true, true]})", ErrorCode::kBadInput, "masked_unit_attention"},
      {"hiera", R"({"masked_unit_attention": [1, 1, 0]})", ErrorCode::kBadInput, "masked_unit_attention"},
      {"hiera", R"({"num_query_pool": 1})", ErrorCode::kUnsupported, "num_query_pool"},
      {"hiera", R"({"query_stride": [4, 4]})", ErrorCode::kUnsupported, "query_stride"},
      {"hiera", R"({"embed_dim_multiplier": 3.0})", ErrorCode::kUnsupported, "embed_dim_multiplier"},
      {"hiera", R"({"embed_dim": 1000000})", ErrorCode::kBadInput, "embed_dim"},
      {"hiera", R"({"num_heads": [1, 2]})", ErrorCode::kBadInput, "num_heads"},
      {"hiera", R"({"num_heads": [1, 3, 4]})", ErrorCode::kBadInput, "3 heads"},
      {"hiera", R"({"depths": []})", ErrorCode::kBadInput, "depths"},
      {"hiera", R"({"depths": [2, 1, 3]})", ErrorCode::kUnsupported, "depths: expected a layer besides"},
      {"hiera", R"({"depths": [2, 3, 1000000]})", ErrorCode::kBadInput, "depths"},
      {"hiera", R"({"mlp_ratio": 0})", ErrorCode::kBadInput, "mlp_ratio"},
  };
  for (const Refused& each : refused) {
    SCOPED_TRACE(std::string(each.type) + ": " + each.fields);
    const test::TemporaryFolder folder;
    write_folder(test::ConformanceType(each.type), folder, json::parse(each.fields));
    expect_refused(folder, 0, each.code, each.named);
  }
}

// The layer between two stages, and what is refused of its tensors and of a picture.
TEST(SwinStages, NameTheLayerThatIsNotShown) {
  const test::ConformanceType stored("hiera");
  const test::TemporaryFolder folder;
  write_folder(stored, folder);
  const auto model = test::open_model(folder.path(), at_stage(2));
  ASSERT_NE(model, nullptr);
  EXPECT_EQ(model->info().layers, 2);
  const std::string warnings = warnings_of(*model);
  EXPECT_NE(warnings.find("the layer between two stages, whose queries are pooled, is not shown"), std::string::npos)
      << warnings;
  test::write_tensors(folder.path() / "pixels", {{"pixel_values", at::zeros({3, 40, 48})}});
  models::Input input;
  input.pixels = folder.path() / "pixels";
  const auto trace = model->run(input, {});
  ASSERT_FALSE(trace.ok());
  EXPECT_EQ(trace.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(trace.error().describe().find("whole units of 4 × 4 patches in the first stage, found 10 × 12"),
            std::string::npos)
      << trace.error().describe();
  for (const std::string name : {"encoder.stages.1.layers.0.proj.bias", "encoder.stages.2.layers.0.attn.qkv.bias",
                                 "embeddings.position_embeddings"}) {
    SCOPED_TRACE(name);
    test::Tensors tensors = stored.tensors();
    ASSERT_EQ(tensors.count(name), 1U);
    tensors[name] = at::cat({tensors[name], tensors[name]});
    test::write_tensors(folder.path() / "model.safetensors", tensors);
    expect_refused(folder, 0, ErrorCode::kBadInput, name);
  }
}

// Tables, factors and networks of other shapes than the configuration's.
TEST(SwinStages, RefuseTensorsOfOtherShapes) {
  const std::string attention = "encoder.layers.0.blocks.1.attention.self.";
  for (const auto& [type, name] :
       {std::pair<std::string, std::string>{"swin", attention + "relative_position_bias_table"},
        {"swinv2", attention + "logit_scale"},
        {"swinv2", attention + "continuous_position_bias_mlp.0.bias"},
        {"swinv2", "encoder.layers.0.downsample.norm.weight"}}) {
    SCOPED_TRACE(name);
    const test::ConformanceType stored(type);
    const test::TemporaryFolder folder;
    folder.write("config.json", stored.data().at("config").dump());
    test::Tensors tensors = stored.tensors();
    ASSERT_EQ(tensors.count(name), 1U);
    at::Tensor& changed = tensors[name];
    changed = at::cat({changed, changed});
    test::write_tensors(folder.path() / "model.safetensors", tensors);
    expect_refused(folder, 0, ErrorCode::kBadInput, name);
    tensors.erase(name);
    test::write_tensors(folder.path() / "model.safetensors", tensors);
    expect_refused(folder, 0, ErrorCode::kBadInput, name);
  }
}

// A picture whose last windows the library would pad.
TEST(SwinStages, RefusePicturesOfPartsOfWindows) {
  const test::ConformanceType stored("swin");
  const test::TemporaryFolder folder;
  write_folder(stored, folder);
  test::write_tensors(folder.path() / "pixels", {{"pixel_values", at::zeros({3, 20, 24})}});
  const auto model = test::open_model(folder.path(), at_stage(1));
  ASSERT_NE(model, nullptr);
  models::Input input;
  input.pixels = folder.path() / "pixels";
  const auto trace = model->run(input, {});
  ASSERT_FALSE(trace.ok());
  EXPECT_EQ(trace.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(trace.error().describe().find("windows of 3 × 3 patches, found 10 × 12"), std::string::npos)
      << trace.error().describe();
}

}  // namespace
}  // namespace locus

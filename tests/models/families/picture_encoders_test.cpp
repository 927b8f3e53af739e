// Picture encoders as people publish them: names with the prefix of a class, classifiers, parts that are not read, and
// configurations that are refused. That their numbers are the library's is in tests/conformance.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "models/image/image.h"
#include "tests/support/changed_type.h"
#include "tests/support/checkpoint_folder.h"

namespace locus {
namespace {

constexpr double kPictureTolerance = 1e-5;

models::TraceData picture_run(const test::ChangedType& type) {
  const auto model = type.open();
  EXPECT_TRUE(model.ok()) << (model.ok() ? "" : model.error().describe());
  if (!model.ok()) {
    return {};
  }
  EXPECT_EQ((*model)->info().unexpected, std::vector<std::string>());
  const auto trace = (*model)->run(type.input(), {});
  EXPECT_TRUE(trace.ok()) << (trace.ok() ? "" : trace.error().describe());
  return trace.ok() ? test::recorded(**trace) : models::TraceData();
}

std::function<void(test::Tensors&)> put_before_names(const std::string& prefix) {
  return [prefix](test::Tensors& tensors) {
    test::Tensors renamed;
    for (const auto& [name, value] : tensors) {
      renamed[prefix + name] = value;
    }
    tensors = std::move(renamed);
  };
}

TEST(PictureEncoders, NamesMayBeginWithTheClassesPart) {
  const std::vector<std::pair<std::string, std::string>> prefixes{
      {"vit_mae", "vit."}, {"vit_msn", "vit."}, {"ijepa", "ijepa."},
      {"dpt", "dpt."},     {"pixio", "pixio."}, {"data2vec-vision", "data2vec_vision."},
      {"yolos", "vit."}};
  for (const auto& [type, prefix] : prefixes) {
    SCOPED_TRACE(type);
    const models::TraceData plain = picture_run(test::ChangedType(type));
    const models::TraceData prefixed = picture_run(test::ChangedType(type, put_before_names(prefix)));
    ASSERT_TRUE(plain.hidden.defined() && prefixed.hidden.defined());
    EXPECT_TRUE(plain.hidden.equal(prefixed.hidden));
  }
}

// The logits are the classifier's of the state that the class reads: I-JEPA's of the mean of all patches.
TEST(PictureEncoders, ClassifiersReadWhatTheirClassReads) {
  const at::Tensor weight = at::sin(at::arange(3 * 64, at::kFloat)).view({3, 64});
  const at::Tensor bias = at::tensor({0.5F, -1.0F, 2.0F});
  for (const std::string type : {"vit_msn", "ijepa"}) {
    SCOPED_TRACE(type);
    const std::string prefix = type == "ijepa" ? "ijepa." : "vit.";
    const test::ChangedType classifier(type,
                                       [&](test::Tensors& tensors) {
                                         put_before_names(prefix)(tensors);
                                         tensors["classifier.weight"] = weight;
                                         tensors["classifier.bias"] = bias;
                                       },
                                       {{"id2label", {{"0", "a"}, {"1", "b"}, {"2", "c"}}}});
    const models::TraceData states = picture_run(test::ChangedType(type));
    const models::TraceData classes = picture_run(classifier);
    ASSERT_TRUE(states.hidden.defined() && classes.logits.defined());
    const at::Tensor read = type == "ijepa" ? states.hidden.mean(0) : states.hidden[0];
    EXPECT_CLOSE(classes.logits.flatten(), at::mv(weight, read) + bias, kPictureTolerance);
  }
}

// data2vec's classifier normalises the mean of the patches.
TEST(PictureEncoders, MeansOfData2vecAreNormalisedAfterwards) {
  const at::Tensor weight = at::sin(at::arange(3 * 64, at::kFloat)).view({3, 64});
  const test::ChangedType classifier("data2vec-vision",
                                     [&](test::Tensors& tensors) {
                                       put_before_names("data2vec_vision.")(tensors);
                                       tensors["data2vec_vision.pooler.layernorm.weight"] = at::full({64}, 1.5F);
                                       tensors["data2vec_vision.pooler.layernorm.bias"] = at::full({64}, 0.25F);
                                       tensors["classifier.weight"] = weight;
                                       tensors["classifier.bias"] = at::zeros({3});
                                     },
                                     {{"num_labels", 3}});
  const models::TraceData states = picture_run(test::ChangedType("data2vec-vision"));
  const models::TraceData classes = picture_run(classifier);
  ASSERT_TRUE(states.hidden.defined() && classes.logits.defined());
  const at::Tensor mean = states.hidden.slice(0, 1).mean(0);
  const at::Tensor normal = at::layer_norm(mean, {64}, {}, {}, 1e-12);
  EXPECT_CLOSE(classes.logits.flatten(), at::mv(weight, normal * 1.5 + 0.25), kPictureTolerance);
}

// With a table of each layer, as published, data2vec's maps change; without the tensors it is refused.
TEST(PictureEncoders, Data2vecReadsTheTablesOfItsLayers) {
  const std::string table = "attention.attention.relative_position_bias.relative_position_bias_table";
  const test::ChangedType with("data2vec-vision",
                               [&](test::Tensors& tensors) {
                                 for (int n = 0; n < 4; ++n) {
                                   const std::string layer = "encoder.layer." + std::to_string(n) + ".";
                                   tensors[layer + table] = at::sin(at::arange(52 * 4, at::kFloat)).view({52, 4});
                                 }
                               },
                               {{"use_relative_position_bias", true}});
  const models::TraceData plain = picture_run(test::ChangedType("data2vec-vision"));
  const models::TraceData biased = picture_run(with);
  ASSERT_TRUE(plain.hidden.defined() && biased.hidden.defined());
  EXPECT_FALSE(at::allclose(plain.hidden, biased.hidden, 1e-3, 1e-3));
}

TEST(PictureEncoders, PartsBehindTheEncoderAreNamedAndNotRead) {
  const test::ChangedType mae("vit_mae",
                              [](test::Tensors& tensors) {
                                put_before_names("vit.")(tensors);
                                tensors["decoder.mask_token"] = at::zeros({1, 1, 32});
                                tensors["decoder.decoder_layers.0.layernorm_before.weight"] = at::ones({32});
                              },
                              {{"mask_ratio", 0.75}});
  const auto model = mae.open();
  ASSERT_TRUE(model.ok()) << model.error().describe();
  EXPECT_EQ((*model)->info().unexpected, std::vector<std::string>());
  EXPECT_EQ((*model)->info().task_heads, std::vector<std::string>{"decoder"});
  const std::vector<std::string>& warnings = (*model)->info().warnings;
  EXPECT_TRUE(std::any_of(warnings.begin(), warnings.end(), [](const std::string& warning) {
    return warning.find("mask_ratio: 0.75: all patches are read") != std::string::npos;
  }));
  EXPECT_TRUE(picture_run(mae).hidden.equal(picture_run(test::ChangedType("vit_mae")).hidden));

  const test::ChangedType dpt("dpt", [](test::Tensors& tensors) {
    put_before_names("dpt.")(tensors);
    tensors["neck.convs.0.weight"] = at::zeros({2, 2, 3, 3});
    tensors["head.head.0.weight"] = at::zeros({2, 2, 3, 3});
  });
  const auto depth = dpt.open();
  ASSERT_TRUE(depth.ok()) << depth.error().describe();
  EXPECT_EQ((*depth)->info().unexpected, std::vector<std::string>());
  std::vector<std::string> parts = (*depth)->info().task_heads;
  std::sort(parts.begin(), parts.end());
  EXPECT_EQ(parts, (std::vector<std::string>{"head", "neck"}));

  const test::ChangedType yolos("yolos", [](test::Tensors& tensors) {
    put_before_names("vit.")(tensors);
    tensors["class_labels_classifier.layers.0.weight"] = at::zeros({64, 64});
    tensors["bbox_predictor.layers.0.weight"] = at::zeros({64, 64});
  });
  const auto boxes = yolos.open();
  ASSERT_TRUE(boxes.ok()) << boxes.error().describe();
  EXPECT_EQ((*boxes)->info().unexpected, std::vector<std::string>());
  EXPECT_EQ((*boxes)->info().task_heads.size(), 2U);
}

// The last tokens are detection tokens, in the run and in its file.
TEST(PictureEncoders, DetectionTokensStandBehindThePatches) {
  const test::ChangedType yolos("yolos");
  const auto model = yolos.open();
  ASSERT_TRUE(model.ok()) << model.error().describe();
  const auto run = (*model)->run(yolos.input(), {});
  ASSERT_TRUE(run.ok()) << run.error().describe();
  const test::TemporaryFolder place;
  ASSERT_TRUE((*run)->write(place.path() / "run.safetensors", {"attention"}).ok());
  const auto file = models::open_trace(place.path() / "run.safetensors");
  ASSERT_TRUE(file.ok()) << file.error().describe();
  for (const std::shared_ptr<const models::Trace>& trace : {*run, *file}) {
    ASSERT_EQ(trace->length(), 1 + 16 + 5);
    EXPECT_EQ(trace->image_grid(), (models::ImageGrid{4, 4, 1, 0, 5}));
    EXPECT_EQ(trace->tokens()[0].label, "CLS");
    EXPECT_EQ(trace->tokens()[16].label, "3,3");
    EXPECT_EQ(trace->tokens()[17].label, "DET0");
    EXPECT_EQ(trace->tokens()[21].label, "DET4");
  }
}

// Patches move, detection tokens do not.
TEST(PictureEncoders, PatchesOfYolosMoveWithoutTheDetectionTokens) {
  const test::ChangedType yolos("yolos");
  const auto model = yolos.open();
  ASSERT_TRUE(model.ok()) << model.error().describe();
  const auto moved = (*model)->edited({*models::parse_edit("shift 0:15 by 1", 0)});
  ASSERT_TRUE(moved.ok()) << moved.error().describe();
  const auto trace = (*moved)->run(yolos.input(), {});
  ASSERT_TRUE(trace.ok()) << trace.error().describe();
  const models::TraceData data = test::recorded(**trace);
  EXPECT_EQ(data.position_ids[1][1].item<double>(), 1);
  EXPECT_TRUE(data.position_ids.slice(0, 17).eq(0).all().item<bool>());
  EXPECT_FALSE(data.hidden.equal(picture_run(yolos).hidden));
  const auto beyond = (*model)->edited({*models::parse_edit("shift 0:17 by 1", 0)});
  ASSERT_TRUE(beyond.ok()) << beyond.error().describe();
  const auto refused = (*beyond)->run(yolos.input(), {});
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().describe().find("within 0 to 16"), std::string::npos) << refused.error().describe();
}

// The authors' files name the feed-forwards as the code does.
TEST(PictureEncoders, PixiosFeedForwardsHaveTwoNames) {
  const test::ChangedType published("pixio", [](test::Tensors& tensors) {
    test::Tensors renamed;
    for (const auto& [name, value] : tensors) {
      std::string other = name;
      for (const auto& [from, to] : {std::pair{".intermediate.dense.", ".mlp.fc1."}, {".output.dense.", ".mlp.fc2."}}) {
        const std::size_t at = other.find(from);
        if (at != std::string::npos && other.find("attention") == std::string::npos) {
          other.replace(at, std::string(from).size(), to);
        }
      }
      renamed[other] = value;
    }
    tensors = std::move(renamed);
  });
  const models::TraceData data = picture_run(published);
  ASSERT_TRUE(data.hidden.defined());
  EXPECT_TRUE(data.hidden.equal(picture_run(test::ChangedType("pixio")).hidden));
  EXPECT_EQ(data.grid.cls, 8);
}

// Their sizes are not computed, and a picture of another size would be another input.
TEST(PictureEncoders, ProcessorsThatFitSizesAreRefused) {
  const auto refused = [](const std::string& json) {
    const auto read = image::parse_preprocessor(json, "preprocessor_config.json");
    return read.ok() ? std::string() : read.error().describe();
  };
  EXPECT_NE(refused(R"({"image_processor_type": "YolosImageProcessor", "size": {"shortest_edge": 800}})")
                .find("image_processor_type"),
            std::string::npos);
  EXPECT_NE(refused(R"({"feature_extractor_type": "YolosFeatureExtractor", "size": 800, "max_size": 1333})")
                .find("feature_extractor_type"),
            std::string::npos);
  const std::string dpt = R"({"image_processor_type": "DPTImageProcessor", "size": {"height": 384, "width": 384})";
  EXPECT_EQ(refused(dpt + R"(, "keep_aspect_ratio": false, "ensure_multiple_of": 1})"), "");
  EXPECT_NE(refused(dpt + R"(, "keep_aspect_ratio": true})").find("keep_aspect_ratio"), std::string::npos);
  EXPECT_NE(refused(dpt + R"(, "ensure_multiple_of": 32})").find("ensure_multiple_of"), std::string::npos);
}

TEST(PictureEncoders, RefusesWhatItDoesNotCompute) {
  struct Wrong {
    const char* type;
    nlohmann::json fields;
    ErrorCode code;
    const char* word;
  };
  constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();  // products of it have no number
  const std::vector<Wrong> list{
      {"dpt", {{"is_hybrid", true}}, ErrorCode::kUnsupported, "is_hybrid: expected false, found true"},
      {"dpt",
       {{"backbone_config", {{"model_type", "dinov2"}}}, {"num_hidden_layers", nullptr}},
       ErrorCode::kUnsupported,
       "backbone_config: expected none, found an object"},
      {"dpt", {{"backbone", "vitb_rn50_384"}}, ErrorCode::kUnsupported, "backbone"},
      {"dpt", {{"image_size", 64}}, ErrorCode::kBadInput, "position_embeddings"},
      {"vit_mae", {{"mask_ratio", "much"}}, ErrorCode::kBadInput, "mask_ratio"},
      {"vit_msn", {{"image_size", 4}}, ErrorCode::kBadInput, "patch"},
      {"vit_msn", {{"image_size", kHuge}}, ErrorCode::kBadInput, "at most 16777216 pixels a side"},
      {"ijepa", {{"image_size", 40}}, ErrorCode::kBadInput, "embeddings.position_embeddings"},
      {"ijepa", {{"architectures", {"IJepaForImageClassification"}}}, ErrorCode::kBadInput, "classifier"},
      {"pixio", {{"n_cls_tokens", 7}}, ErrorCode::kBadInput, "embeddings.cls_token"},
      {"pixio", {{"n_cls_tokens", 65}}, ErrorCode::kBadInput, "class tokens"},
      {"pixio", {{"n_cls_tokens", kHuge}}, ErrorCode::kBadInput, "class tokens"},
      {"pixio", {{"mlp_ratio", 0}}, ErrorCode::kBadInput, "mlp_ratio"},
      {"data2vec-vision", {{"use_relative_position_bias", true}}, ErrorCode::kBadInput, "relative_position_bias_table"},
      {"data2vec-vision", {{"use_mean_pooling", false}}, ErrorCode::kBadInput, "layernorm"},
      {"yolos", {{"image_size", {32, 40}}}, ErrorCode::kBadInput, "embeddings.position_embeddings"},
      {"yolos", {{"image_size", {32, 48, 3}}}, ErrorCode::kBadInput, "image_size: expected a height and a width"},
      {"yolos", {{"image_size", 32}}, ErrorCode::kBadInput, "image_size"},
      {"yolos", {{"image_size", {-32, 48}}}, ErrorCode::kBadInput, "image_size: expected a height and a width"},
      {"yolos", {{"num_detection_tokens", 0}}, ErrorCode::kBadInput, "num_detection_tokens: expected at least 1"},
      {"yolos", {{"num_detection_tokens", 5000}}, ErrorCode::kBadInput, "detection tokens: expected 0 to 4096"},
      {"yolos", {{"num_detection_tokens", kHuge}}, ErrorCode::kBadInput, "detection tokens: expected 0 to 4096"},
      {"yolos", {{"image_size", {kHuge, 48}}}, ErrorCode::kBadInput, "image_size: expected a height and a width"},
      {"yolos", {{"num_detection_tokens", 6}}, ErrorCode::kBadInput, "embeddings.detection_tokens"}};
  for (const Wrong& wrong : list) {
    SCOPED_TRACE(std::string(wrong.type) + " " + wrong.fields.dump());
    const auto model = test::ChangedType(wrong.type, {}, wrong.fields).open();
    ASSERT_FALSE(model.ok());
    EXPECT_EQ(model.error().code, wrong.code) << model.error().describe();
    EXPECT_NE(model.error().describe().find(wrong.word), std::string::npos) << model.error().describe();
  }
}

}  // namespace
}  // namespace locus

// Both halves of models that compare pictures with texts, against the library: maps, states, vectors and logits of the
// folders in variants/pairs, which variants/make.py remakes.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "models/formats/tensor_source.h"
#include "models/transformer/weights.h"
#include "tests/support/checkpoint_folder.h"
#include "tests/support/golden.h"
#include "tests/support/paths.h"

namespace locus {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr double kPairsTolerance = 1e-4;
const std::vector<std::string> kPairTexts{"a b c", "d a"};

fs::path pair_folder(const std::string& name) {
  return fs::path(test::source_dir()) / "tests" / "golden" / "variants" / "pairs" / name;
}

const models::OpenOptions kTextHalf = [] {
  models::OpenOptions options;
  options.overrides.half = "text";
  return options;
}();

models::Input text_input(const std::string& text) {
  models::Input input;
  input.text = text;
  return input;
}

models::Input pixels_of(const fs::path& folder) {
  models::Input input;
  input.pixels = folder / "pixels.safetensors";
  return input;
}

std::vector<float> vector_of(const models::Model& model, const models::Input& input) {
  const auto trace = model.run(input);
  EXPECT_TRUE(trace.ok()) << (trace.ok() ? "" : trace.error().describe());
  return trace.ok() ? (*trace)->sentence().values : std::vector<float>();
}

void expect_half(const models::Trace& trace, const test::Golden& golden, const std::string& of) {
  const models::TraceData data = test::recorded(trace);
  ASSERT_EQ(data.layers.size(), 2U);
  for (std::size_t n = 0; n < data.layers.size(); ++n) {
    const auto map = models::whole_map(*data.layers[n].scores, attention::Quantity::kWeight);
    ASSERT_TRUE(map.ok());
    EXPECT_CLOSE(*map, golden[of + ".layers." + std::to_string(n) + ".attention"], kPairsTolerance)
        << of << " layer " << n;
  }
  if (golden.has("hidden." + of)) {
    EXPECT_CLOSE(data.hidden, golden["hidden." + of], kPairsTolerance) << of;
  }
}

// A copy of a folder of pairs that a test may change.
class ChangedPair {
 public:
  explicit ChangedPair(const std::string& name) {
    fs::copy(pair_folder(name), place_.path() / "copy", fs::copy_options::recursive);
  }
  fs::path path() const { return place_.path() / "copy"; }
  void config(const std::function<void(json&)>& change) const {
    json value = json::parse(std::ifstream(path() / "config.json"));
    change(value);
    std::ofstream(path() / "config.json") << value.dump();
  }
  void tensors(const std::function<void(test::Tensors&)>& change) const {
    test::Tensors tensors;
    {
      const auto source = *formats::open_tensors(path());
      for (const formats::TensorInfo& tensor : source->tensors()) {
        tensors[tensor.name] = transformer::to_tensor(tensor, source).clone();
      }
    }
    change(tensors);
    fs::remove(path() / "model.safetensors");
    test::write_tensors(path() / "model.safetensors", tensors);
  }
  std::string error(const models::OpenOptions& options = {}) const {
    const auto model = models::open(path(), options);
    return model.ok() ? "opens" : model.error().describe();
  }

 private:
  test::TemporaryFolder place_;
};

TEST(PairedHalves, GiveTheLibrarysMapsVectorsAndLogits) {
  for (const std::string name : {"clip", "clip-first", "metaclip_2", "chinese_clip", "siglip", "siglip2"}) {
    SCOPED_TRACE(name);
    const test::Golden golden("variants/pairs/" + name + "/expected");
    const auto picture = test::open_model(pair_folder(name));
    const auto text = test::open_model(pair_folder(name), kTextHalf);
    ASSERT_TRUE(picture != nullptr && text != nullptr);
    EXPECT_TRUE(picture->info().image && !text->info().image);
    EXPECT_EQ(text->info().overrides.half, "text");
    EXPECT_EQ(text->info().layers, 2);
    for (const auto& half : {picture, text}) {
      EXPECT_TRUE(half->info().unexpected.empty());
      EXPECT_TRUE(half->info().warnings.empty()) << half->info().warnings.front();
      ASSERT_TRUE(half->info().logit_scale.has_value());
      EXPECT_NEAR(*half->info().logit_scale, std::exp(1.3), 1e-5);
      EXPECT_EQ(half->info().logit_bias.has_value(), name.starts_with("siglip"));
    }
    const auto seen = picture->run(pixels_of(pair_folder(name)));
    ASSERT_TRUE(seen.ok()) << seen.error().describe();
    expect_half(**seen, golden, "image");
    const models::SentenceVector image = (*seen)->sentence();
    EXPECT_CLOSE(at::tensor(image.values), golden["image_embeds"], kPairsTolerance);
    EXPECT_EQ(image.weights.size(), (*seen)->tokens().size());
    std::vector<std::vector<float>> vectors;
    for (std::size_t n = 0; n < kPairTexts.size(); ++n) {
      const auto row = static_cast<std::int64_t>(n);
      const std::string of = "text" + std::to_string(n);
      const auto read = text->run(text_input(kPairTexts[n]));
      ASSERT_TRUE(read.ok()) << read.error().describe();
      EXPECT_EQ(test::ids_of(test::recorded(**read).input_ids), test::ids_of(golden[of + ".input_ids"]));
      expect_half(**read, golden, of);
      vectors.push_back((*read)->sentence().values);
      EXPECT_CLOSE(at::tensor(vectors.back()), golden["text_embeds"][row], kPairsTolerance);
    }
    const auto scores = models::pair_scores(picture->info(), image.values, vectors);
    ASSERT_TRUE(scores.ok()) << scores.error().describe();
    double sum = 0;
    for (std::size_t n = 0; n < scores->size(); ++n) {
      const models::PairScore& score = (*scores)[n];
      const auto wanted = golden["logits_per_image"][static_cast<std::int64_t>(n)].item<double>();
      EXPECT_NEAR(score.logit, wanted, kPairsTolerance);
      EXPECT_NEAR(score.cosine,
                  at::dot(golden["text_embeds"][static_cast<std::int64_t>(n)], golden["image_embeds"]).item<double>(),
                  kPairsTolerance);
      if (name.starts_with("siglip")) {
        EXPECT_NEAR(score.probability, 1 / (1 + std::exp(-wanted)), kPairsTolerance);
      }
      sum += score.probability;
    }
    if (!name.starts_with("siglip")) {
      EXPECT_NEAR(sum, 1, 1e-12);
    }
  }
}

TEST(PairedHalves, SayHowTheirVectorIsMade) {
  const auto steps = [](const std::string& name, const models::OpenOptions& options) {
    const auto model = test::open_model(pair_folder(name), options);
    return model == nullptr ? std::vector<std::string>() : model->info().pooling;
  };
  using Steps = std::vector<std::string>;
  EXPECT_EQ(steps("clip", {}), (Steps{"state of the first token", "dense 6", "scaled to length 1"}));
  EXPECT_EQ(steps("clip", kTextHalf), (Steps{"state of the first token 3", "dense 6", "scaled to length 1"}));
  EXPECT_EQ(steps("clip-first", kTextHalf).front(), "state of the token with the largest id");
  EXPECT_EQ(steps("metaclip_2", {}),
            (Steps{"state of the first token", "normalised", "dense 6", "scaled to length 1"}));
  EXPECT_EQ(steps("siglip", {}), (Steps{"attention of a learned query", "scaled to length 1"}));
  EXPECT_EQ(steps("siglip", kTextHalf), (Steps{"state of the last token", "dense 16", "scaled to length 1"}));
}

TEST(PairedHalves, OtherHalvesAndOtherModelsAreRefused) {
  models::OpenOptions other;
  other.overrides.half = "sound";
  EXPECT_NE(ChangedPair("clip").error(other).find("half: expected text or none, found sound"), std::string::npos);
  const auto bert = models::open(fs::path(test::source_dir()) / "tests/golden/variants/tasks/bert-model", kTextHalf);
  ASSERT_FALSE(bert.ok());
  EXPECT_EQ(bert.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(bert.error().describe().find("text half: expected clip"), std::string::npos) << bert.error().describe();
}

TEST(PairedHalves, DamagedProjectionsAreNamed) {
  struct Damage {
    const char* folder;
    const char* tensor;
    std::vector<std::int64_t> shape;
    bool text;
  };
  const std::vector<Damage> damages{{"clip", "visual_projection.weight", {6, 16}, false},
                                    {"clip", "text_projection.weight", {6, 20}, true},
                                    {"clip", "text_projection.weight", {96}, true},
                                    {"metaclip_2", "vision_model.post_layernorm.weight", {16}, false},
                                    {"siglip", "vision_model.head.probe", {1, 2, 16}, false},
                                    {"siglip", "vision_model.head.attention.in_proj_weight", {16, 16}, false},
                                    {"siglip", "vision_model.head.mlp.fc2.weight", {16, 23}, false},
                                    {"siglip", "text_model.head.bias", {15}, true},
                                    {"siglip", "logit_bias", {2}, true},
                                    {"chinese_clip", "logit_scale", {3}, false}};
  for (const Damage& each : damages) {
    SCOPED_TRACE(std::string(each.folder) + ": " + each.tensor);
    const ChangedPair folder(each.folder);
    folder.tensors([&](test::Tensors& tensors) { tensors[each.tensor] = at::ones(each.shape); });
    const std::string error = folder.error(each.text ? kTextHalf : models::OpenOptions());
    EXPECT_NE(error.find(std::string("tensor ") + each.tensor), std::string::npos) << error;
    EXPECT_NE(error.find("expected"), std::string::npos) << error;
  }
  const ChangedPair endless("clip");
  endless.tensors([](test::Tensors& tensors) { tensors["logit_scale"].fill_(std::numeric_limits<float>::infinity()); });
  EXPECT_NE(endless.error().find("expected a finite number"), std::string::npos) << endless.error();
  const ChangedPair end("clip");
  end.config([](json& config) { config["text_config"]["eos_token_id"] = -1; });
  EXPECT_NE(end.error(kTextHalf).find("eos_token_id"), std::string::npos) << end.error(kTextHalf);
  end.config([](json& config) { config["text_config"]["eos_token_id"] = json{3, 4}; });
  EXPECT_NE(end.error(kTextHalf).find("eos_token_id"), std::string::npos) << end.error(kTextHalf);
}

TEST(PairedHalves, FilesWithoutAProjectionHaveNoVector) {
  const ChangedPair folder("clip");
  folder.tensors([](test::Tensors& tensors) { tensors.erase("visual_projection.weight"); });
  const auto picture = test::open_model(folder.path());
  ASSERT_NE(picture, nullptr);
  EXPECT_TRUE(picture->info().pooling.empty());
  EXPECT_FALSE(picture->info().logit_scale.has_value());
  EXPECT_FALSE(models::pair_scores(picture->info(), {1, 0}, {{1, 0}}).ok());
}

TEST(PairedHalves, TextsWithoutTheirEndTokenHaveNoVector) {
  const auto text = test::open_model(pair_folder("clip"), kTextHalf);
  ASSERT_NE(text, nullptr);
  models::Input input;
  input.ids = std::vector<std::int64_t>{2, 5, 6};
  EXPECT_TRUE(vector_of(*text, input).empty());
  // Whatever follows the end token is not seen by it.
  input.ids = std::vector<std::int64_t>{2, 5, 6, 3};
  const std::vector<float> ended = vector_of(*text, input);
  input.ids = std::vector<std::int64_t>{2, 5, 6, 3, 3, 0};
  EXPECT_CLOSE(at::tensor(vector_of(*text, input)), at::tensor(ended), 1e-6);
  EXPECT_FALSE(models::pair_scores(text->info(), ended, {{1, 0}}).ok());
  EXPECT_FALSE(models::pair_scores(text->info(), {}, {ended}).ok());
}

TEST(PairedHalves, TextsOfSiglipNeedAPaddingToken) {
  const ChangedPair folder("siglip");
  std::ofstream(folder.path() / "tokenizer_config.json")
      << R"({"tokenizer_class": "BertTokenizer", "cls_token": "[CLS]", "sep_token": "[SEP]", "unk_token": "[UNK]"})";
  const auto text = test::open_model(folder.path(), kTextHalf);
  ASSERT_NE(text, nullptr);
  const auto refused = text->run(text_input("a b"));
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().describe().find("pad_token"), std::string::npos) << refused.error().describe();
  models::Input input;
  input.ids = std::vector<std::int64_t>{2, 5, 3};
  EXPECT_EQ(vector_of(*text, input).size(), 16U);
  // A text that is longer than all positions is refused, not cut.
  const auto whole = test::open_model(pair_folder("siglip"), kTextHalf);
  ASSERT_NE(whole, nullptr);
  EXPECT_FALSE(whole->run(text_input("a b c d e f g h i j k l m")).ok());
}

}  // namespace
}  // namespace locus

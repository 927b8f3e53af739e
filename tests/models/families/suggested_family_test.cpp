// Drafts of family files: of families under another model type, under other names, and with what shapes do not show.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "core/base/atomic_file.h"
#include "models/api/families.h"
#include "models/api/verify.h"
#include "models/formats/tensor_source.h"
#include "models/transformer/weights.h"
#include "tests/support/checkpoint_folder.h"
#include "tests/support/paths.h"

namespace locus {
namespace {

namespace fs = std::filesystem;
using Changes = std::vector<std::pair<std::string, std::string>>;

std::string changed(std::string text, const Changes& changes) {
  for (const auto& [from, to] : changes) {
    for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
      text.replace(at, from.size(), to);
    }
  }
  return text;
}

// A checkpoint of a known family under another model type.
class SuggestedFamily : public testing::Test {
 protected:
  void SetUp() override {
    const char* const before = std::getenv("XDG_CONFIG_HOME");
    before_ = before == nullptr ? "" : before;
    setenv("XDG_CONFIG_HOME", folder_.path().c_str(), 1);
    fs::create_directories(families());
    fs::create_directories(checkpoint());
  }
  void TearDown() override {
    before_.empty() ? unsetenv("XDG_CONFIG_HOME") : setenv("XDG_CONFIG_HOME", before_.c_str(), 1);
  }

  fs::path families() const { return folder_.path() / "locus" / "families"; }
  fs::path checkpoint() const { return folder_.path() / "checkpoint"; }
  static fs::path golden(const std::string& family) {
    return fs::path(test::source_dir()) / "tests" / "golden" / "families" / family;
  }

  // Copies a golden model, its configuration and the names of its tensors changed.
  void copy(const std::string& family, const std::string& type, const Changes& fields = {},
            const Changes& names = {}) const {
    const std::string config = read_file(golden(family) / "config.json", 1 << 20).value();
    folder_.write(
        "checkpoint/config.json",
        changed(changed(config, {{R"("model_type": ")" + family + "\"", R"("model_type": ")" + type + "\""}}), fields));
    const auto source = formats::open_tensors(golden(family) / "model.safetensors");
    ASSERT_TRUE(source.ok());
    test::Tensors tensors;
    for (const formats::TensorInfo& each : (*source)->tensors()) {
      tensors.emplace(changed(each.name, names), transformer::to_tensor(each, *source));
    }
    test::write_tensors(checkpoint() / "model.safetensors", tensors);
  }

  // The draft, written where families of the user are, is accepted and reproduces the expected values.
  void expect_right(const models::FamilyDraft& draft, const fs::path& expected) const {
    EXPECT_TRUE(draft.opens()) << draft.text;
    const fs::path file = families() / (draft.name + ".json");
    ASSERT_TRUE(write_file(file, draft.text).ok());
    const auto checked = models::check_family(file);
    ASSERT_TRUE(checked.ok()) << checked.error().describe();
    const auto model = models::open(checkpoint());
    ASSERT_TRUE(model.ok()) << model.error().describe() << draft.text;
    const auto report = models::verify_expected(**model, expected);
    ASSERT_TRUE(report.ok()) << report.error().describe();
    EXPECT_TRUE(report->passed) << draft.text;
  }

  std::string refusal() const {
    const auto draft = models::suggest_family(checkpoint());
    EXPECT_FALSE(draft.ok());
    const std::string line = draft.ok() ? "" : draft.error().describe();
    EXPECT_EQ(line.find('\n'), std::string::npos) << line;
    return line;
  }

  test::TemporaryFolder folder_;
  std::string before_;
};

TEST_F(SuggestedFamily, IsTheKnownOneUnderAnotherModelType) {
  for (const char* const family : {"olmo2", "stablelm", "qwen3_moe", "gemma2"}) {
    copy(family, std::string("new-") + family);
    const auto draft = models::suggest_family(checkpoint());
    ASSERT_TRUE(draft.ok()) << draft.error().describe();
    EXPECT_EQ(draft->name, std::string("new-") + family);
    EXPECT_TRUE(draft->unread.empty() && draft->guessed.empty()) << draft->text;
    expect_right(*draft, golden(family) / "expected.safetensors");
  }
}

TEST_F(SuggestedFamily, SaysWhichFieldsItDoesNotUnderstand) {
  copy("olmo2", "settling", {{R"("model_type")", R"("tide": 3, "moons": [1, 2], "model_type")"}});
  const auto draft = models::suggest_family(checkpoint());
  ASSERT_TRUE(draft.ok()) << draft.error().describe();
  EXPECT_EQ(draft->unread, (std::vector<std::string>{"tide", "moons"})) << draft->text;
  EXPECT_NE(draft->text.find(R"("settled": {"tide":3})"), std::string::npos) << draft->text;
  EXPECT_NE(draft->text.find(R"("ignore": ["moons"])"), std::string::npos) << draft->text;
  expect_right(*draft, golden("olmo2") / "expected.safetensors");
}

TEST_F(SuggestedFamily, HasRowsAndFieldsUnderOtherNames) {
  copy("olmo2", "renaming", {{"\"hidden_size\"", "\"n_embd\""}, {"\"num_attention_heads\"", "\"n_head\""}},
       {{"model.layers.", "net.blocks."},
        {"model.embed_tokens", "net.wte"},
        {"model.norm", "net.norm"},
        {"self_attn.q_proj", "attn.wq"},
        {"mlp.up_proj", "mlp.w_up"}});
  const auto draft = models::suggest_family(checkpoint());
  ASSERT_TRUE(draft.ok()) << draft.error().describe();
  EXPECT_NE(draft->text.find(R"("n_embd":"width")"), std::string::npos) << draft->text;
  expect_right(*draft, golden("olmo2") / "expected.safetensors");
}

// What verify_expected() compares with.
test::Tensors expected_of(const models::Model& model, const at::Tensor& ids) {
  models::Input input;
  input.ids = test::ids_of(ids);
  test::Tensors tensors{{"input_ids", ids}, {"logits", test::logits_of(model, ids)}};
  const auto trace = model.run(input, {}, {}, {});
  EXPECT_TRUE(trace.ok());
  for (std::int64_t layer = 0; trace.ok() && layer < model.info().layers; ++layer) {
    std::vector<at::Tensor> heads;
    for (std::int64_t head = 0; head < model.info().heads; ++head) {
      models::MapRequest request;
      request.layer = layer;
      request.head = head;
      const auto map = (*trace)->map(request);
      EXPECT_TRUE(map.ok());
      heads.push_back(at::tensor(map->values).view({ids.size(0), ids.size(0)}));
    }
    tensors.emplace("layers." + std::to_string(layer) + ".attention", at::stack(heads));
  }
  return tensors;
}

TEST_F(SuggestedFamily, IsComparedInWhatShapesDoNotShow) {
  copy("qwen3", "comparing");
  const fs::path maker = families() / "maker.json";
  ASSERT_TRUE(
      write_file(
          maker,
          R"({"family": 1, "name": "maker", "types": ["comparing"], "inherits": "qwen3", "ignore": ["max_window_layers", "use_sliding_window"],
      "set": {"attention_scale": 1.0}, "encodings": {"all": {"rope": "rope_parameters", "base": 1000000, "pairs": "neighbours"}}})")
          .ok());
  const at::Tensor ids = at::tensor({3, 1, 4, 1, 5, 9, 2, 6, 5, 3}, at::kLong);
  const fs::path expected = folder_.path() / "expected.safetensors";
  {
    const auto model = test::open_model(checkpoint());
    ASSERT_NE(model, nullptr);
    test::write_tensors(expected, expected_of(*model, ids));
  }
  fs::remove(maker);
  const auto alone = models::suggest_family(checkpoint());
  ASSERT_TRUE(alone.ok()) << alone.error().describe();
  EXPECT_EQ(alone->compared, 0);
  const auto draft = models::suggest_family(checkpoint(), expected);
  ASSERT_TRUE(draft.ok()) << draft.error().describe();
  EXPECT_TRUE(draft->agrees) << draft->text << draft->difference;
  EXPECT_GT(draft->compared, 1);
  EXPECT_NE(draft->text.find("neighbours"), std::string::npos) << draft->text;
  expect_right(*draft, expected);

  fs::remove(families() / "comparing.json");
  test::write_tensors(expected, {{"input_ids", ids}, {"layers.0.attention", at::full({4, 10, 10}, 0.1)}});
  const auto wrong = models::suggest_family(checkpoint(), expected);
  ASSERT_TRUE(wrong.ok()) << wrong.error().describe();
  EXPECT_FALSE(wrong->agrees);
  EXPECT_EQ(wrong->first_wrong, "layers.0.attention");
}

TEST_F(SuggestedFamily, IsRefusedForWhatIsNoSuchCheckpoint) {
  copy("olmo2", "olmo2");
  EXPECT_NE(refusal().find("which family olmo2 reads"), std::string::npos) << refusal();
  copy("olmo2", "huge", {{R"("num_hidden_layers": )", R"("num_hidden_layers": 99999)"}});
  EXPECT_NE(refusal().find("layers"), std::string::npos) << refusal();
  copy("olmo2", "wide", {{R"("hidden_size": )", R"("hidden_size": 99999999999)"}});
  EXPECT_FALSE(refusal().empty());
  copy("olmo2", "../odd");
  EXPECT_FALSE(refusal().empty());
  copy("olmo2", "cut");
  fs::resize_file(checkpoint() / "model.safetensors", fs::file_size(checkpoint() / "model.safetensors") / 2);
  EXPECT_NE(refusal().find("model.safetensors"), std::string::npos) << refusal();
  copy("olmo2", "bare");
  fs::remove(checkpoint() / "config.json");
  EXPECT_NE(refusal().find("config.json"), std::string::npos) << refusal();
  fs::remove_all(checkpoint());
  EXPECT_FALSE(refusal().empty());
}

TEST_F(SuggestedFamily, NamesTensorsThatItCannotExplain) {
  copy("olmo2", "leaving");
  const auto source = formats::open_tensors(checkpoint());
  ASSERT_TRUE(source.ok());
  test::Tensors tensors;
  for (const formats::TensorInfo& each : (*source)->tensors()) {
    tensors.emplace(each.name, transformer::to_tensor(each, *source).clone());
  }
  tensors.emplace("model.layers.0.oracle.weight", at::ones({3, 7}));
  test::write_tensors(checkpoint() / "model.safetensors", tensors);
  const auto draft = models::suggest_family(checkpoint());
  ASSERT_TRUE(draft.ok()) << draft.error().describe();
  EXPECT_FALSE(draft->opens());
  EXPECT_EQ(draft->leftover, std::vector<std::string>{"model.layers.N.oracle.weight [3, 7]"});
}

}  // namespace
}  // namespace locus

// The authors' TAPE model and its ablations, from a checkpoint folder to logits.
#include <gtest/gtest.h>

#include "models/engine/trace/recorded_trace.h"
#include "tests/support/checkpoint_folder.h"
#include "tests/support/golden.h"

namespace locus {
namespace {

constexpr double kTapeModelsTolerance = 1e-4;

std::string config(const std::string& type, int layers, const std::string& more = "") {
  return R"({"model_type": "llama", "rpe_type": ")" + type +
         R"(", "vocab_size": 50, "hidden_size": 32, "num_attention_heads": 4, "intermediate_size": 48,
    "rms_norm_eps": 1e-5, "max_position_embeddings": 64, "position_size": 16, "num_hidden_layers": )" +
         std::to_string(layers) + more + "}";
}

struct OpenedTape {
  test::TemporaryFolder folder;
  std::shared_ptr<const models::Model> model;

  OpenedTape(const test::Golden& golden, const std::string& json) {
    folder.write("config.json", json);
    test::write_tensors(folder.path() / "model.safetensors", test::with_prefix(golden, "w."));
    model = test::open_model(folder.path());
  }
};

TEST(TapeModels, GivesTheReferenceLogitsAtAnyStart) {
  const test::Golden golden("tape");
  const OpenedTape opened(golden, config("adape", 2));
  ASSERT_TRUE(opened.model);
  EXPECT_EQ(opened.model->info().family, "tape");
  EXPECT_TRUE(opened.model->info().unexpected.empty());
  for (std::int64_t row = 0; row < 2; ++row) {
    const at::Tensor ids = golden["input_ids"][row];
    EXPECT_CLOSE(test::logits_of(*opened.model, ids), golden["logits"][row], kTapeModelsTolerance);
    EXPECT_CLOSE(test::logits_of(*opened.model, ids, 37), golden["logits_shift37"][row], kTapeModelsTolerance);
  }
}

TEST(TapeModels, HalvedPositionsAreLinearScaling) {
  const test::Golden golden("tape");
  const OpenedTape opened(golden, config("adape", 2));
  models::OpenOptions options;
  options.overrides.rope_scaling = "linear:2";
  const auto model = test::open_model(opened.folder.path(), options);
  ASSERT_TRUE(model);
  for (std::int64_t row = 0; row < 2; ++row) {
    EXPECT_CLOSE(test::logits_of(*model, golden["input_ids"][row]), golden["logits_pi2"][row], kTapeModelsTolerance);
  }
}

TEST(TapeModels, AblationsGiveTheReferenceLogits) {
  for (const std::string type : {"adawoeq", "adavector", "adattention", "adamlp"}) {
    const test::Golden golden("tape_" + type);
    const OpenedTape opened(golden, config(type, 3));
    ASSERT_TRUE(opened.model) << type;
    for (std::int64_t row = 0; row < 2; ++row) {
      const at::Tensor ids = golden["input_ids"][row];
      EXPECT_CLOSE(test::logits_of(*opened.model, ids), golden["logits"][row], kTapeModelsTolerance) << type;
      EXPECT_CLOSE(test::logits_of(*opened.model, ids, 37), golden["logits_shift37"][row], kTapeModelsTolerance)
          << type;
    }
  }
}

// The authors' YaRN: beyond the original length s is the input's over it, up to it only the magnitude differs.
TEST(TapeModels, YarnAsTheAuthorsRunIt) {
  const test::Golden golden("tape_adayarn");
  const std::string scaling =
      R"(, "rope_scaling": {"type": "adayarn", "factor": 8.0}, "original_max_position_embeddings": )";
  const OpenedTape beyond(golden, config("adayarn", 3, scaling + "8"));
  const OpenedTape within(golden, config("adayarn", 3, scaling + "16"));
  ASSERT_TRUE(beyond.model && within.model);
  EXPECT_TRUE(beyond.model->info().unexpected.empty());
  for (std::int64_t row = 0; row < 2; ++row) {
    const at::Tensor ids = golden["input_ids"][row];
    EXPECT_CLOSE(test::logits_of(*beyond.model, ids), golden["logits"][row], kTapeModelsTolerance);
    EXPECT_CLOSE(test::logits_of(*beyond.model, ids, 37), golden["logits_shift37"][row], kTapeModelsTolerance);
    EXPECT_CLOSE(test::logits_of(*within.model, ids), golden["logits_within16"][row], kTapeModelsTolerance);
  }
}

TEST(TapeModels, ShowsTheAttentionAndTheDotProductsOfTheStateEnteringEachLayer) {
  const test::Golden golden("tape");
  const test::Golden layers("tape_layers");
  const OpenedTape opened(golden, config("adape", 2));
  ASSERT_TRUE(opened.model);
  models::Input input;
  input.ids = test::ids_of(golden["input_ids"][1]);
  const auto trace = opened.model->run(input);
  ASSERT_TRUE(trace.ok());
  for (std::int64_t layer = 0; layer < 2; ++layer) {
    const std::string prefix = "layer" + std::to_string(layer) + ".";
    for (std::int64_t head = 0; head < 4; ++head) {
      models::MapRequest request;
      request.layer = layer;
      request.head = head;
      const auto map = (*trace)->map(request);
      const auto dots = (*trace)->dot_product(layer, head, {}, {}, {});
      ASSERT_TRUE(map.ok() && dots.ok());
      const auto tensor = [](const Field& field) { return at::tensor(field.values).view({field.rows, field.columns}); };
      EXPECT_CLOSE(tensor(*map), layers[prefix + "attn"][1][head], kTapeModelsTolerance);
      EXPECT_CLOSE(tensor(*dots), layers[prefix + "pe_dot_in"][1][head], kTapeModelsTolerance);
    }
  }
}

}  // namespace
}  // namespace locus

// An OLMo 2 with learned positions against the authors' own code in float64 (SakanaAI/repo 1508a73, Olmo2ForCausalLM).
#include <gtest/gtest.h>

#include "tests/support/checkpoint_folder.h"
#include "tests/support/golden.h"

namespace locus::test {
namespace {

class RepoModel : public testing::Test {
 protected:
  // The stored model with this block of its config.
  Result<std::shared_ptr<const models::Model>> open(const std::string& block) {
    folder_.write("config.json", R"({"model_type": "olmo2", "vocab_size": 40, "hidden_size": 16, "num_hidden_layers": 3,
      "num_attention_heads": 2, "intermediate_size": 32, "rms_norm_eps": 1e-6, "rope_theta": 500000)" +
                                     block + "}");
    if (!written_) {
      Tensors tensors;
      for (const auto& [name, value] : with_prefix(golden_, "model.w.")) {
        tensors[name] = value.to(at::kFloat);
      }
      write_tensors(folder_.path() / "model.safetensors", tensors);
      written_ = true;
    }
    return models::open(folder_.path(), {});
  }

  const Golden golden_{"repo"};
  const TemporaryFolder folder_;
  bool written_ = false;
};

TEST_F(RepoModel, GivesTheAuthorsLogitsMapsAndPlaces) {
  for (const char* block :
       {R"(, "pe_config": {"dynamic_pe_mode": "swigluex_multihead", "dynmaic_pe_start_layer": 1})",
        R"(, "pe_config": {"dynamic_pe_mode": "swigluex_multihead", "dynamic_pe_start_layer": 1})",
        R"(, "pe_config": {"dynamic_pe_mode": "swigluex_multihead", "dynmaic_pe_start_layer": 0,
            "dynmaic_pe_layer_ids": "1,2", "dynamic_pe_start_layer": 7})",
        R"(, "pe_config": {"dynamic_pe_mode": "swigluex_multihead", "dynamic_pe_layer_ids": [2, 1]})"}) {
    SCOPED_TRACE(block);
    const auto model = open(block);
    ASSERT_TRUE(model.ok()) << model.error().describe();
    EXPECT_EQ((*model)->info().unexpected, std::vector<std::string>());
    EXPECT_EQ((*model)->info().warnings, std::vector<std::string>());
    EXPECT_CLOSE(logits_of(**model, golden_["model.input_ids"]), golden_["model.logits"], 1e-4);
    models::Input input;
    const auto* const ids = golden_["model.input_ids"].data_ptr<std::int64_t>();
    input.ids = std::vector<std::int64_t>(ids, ids + golden_["model.input_ids"].numel());
    const auto trace = (*model)->run(input, {});
    ASSERT_TRUE(trace.ok()) << trace.error().describe();
    for (std::int64_t layer = 0; layer < 3; ++layer) {
      const std::string name = "model.layer" + std::to_string(layer);
      for (std::int64_t head = 0; head < 2; ++head) {
        const auto map = (*trace)->map({layer, head, models::Quantity::kWeight, {}, {}});
        ASSERT_TRUE(map.ok()) << map.error().describe();
        const at::Tensor own = at::tensor(map->values).view({map->rows, map->columns}).nan_to_num(0);
        EXPECT_CLOSE(own, golden_[name + ".attn"][head], 2e-5) << name;
      }
      const auto places = (*trace)->state_numbers(layer, models::StateNumber::kPosition);
      EXPECT_EQ(places.ok(), layer > 0);
      if (places.ok()) {
        EXPECT_CLOSE(at::tensor(places->values).view({2, -1}), golden_[name + ".z"], 2e-5);
      }
    }
    EXPECT_TRUE((*model)->info().learns_positions());
    EXPECT_FALSE((*model)->info().encoding_of(0)->learns_positions);
  }
}

TEST_F(RepoModel, IsRefusedOrWarnedOfWhereItIsAnotherModel) {
  const auto refused = [&](const std::string& block) {
    const auto model = open(block);
    EXPECT_FALSE(model.ok()) << block;
    return model.ok() ? "" : model.error().describe();
  };
  EXPECT_NE(refused(R"(, "pe_config": {"dynamic_pe_mode": "swigluex_posdim"})")
                .find("field pe_config.dynamic_pe_mode: expected swigluex_multihead, multihead_continuous, continuous, "
                      "nope or none, found swigluex_posdim"),
            std::string::npos);
  EXPECT_NE(refused(R"(, "pe_config": {"dynamic_pe_mode": "swigluex_multihead", "dynmaic_pe_layer_ids": "1;2"})")
                .find("expected numbers of layers, separated by commas, found 1;2"),
            std::string::npos);
  EXPECT_NE(refused(R"(, "num_key_value_heads": 1, "pe_config": {"dynamic_pe_mode": "swigluex_multihead"})")
                .find("expected a key head for each of the 2 query heads beside learned positions, found 1"),
            std::string::npos);
  EXPECT_NE(refused(R"(, "rope_scaling": {"rope_type": "linear", "factor": 2.0},
                       "pe_config": {"dynamic_pe_mode": "swigluex_multihead"})")
                .find("expected learned positions without a scaling of RoPE, found linear"),
            std::string::npos);
  // Layer 0 has no maps.
  EXPECT_NE(refused(R"(, "pe_config": {"dynamic_pe_mode": "swigluex_multihead"})").find("layers.0.self_attn"),
            std::string::npos);
  // The same tensors read as a plain OLMo 2 are named as unexpected.
  const auto plain = open("");
  ASSERT_TRUE(plain.ok());
  EXPECT_EQ((*plain)->info().unexpected.size(), 6U);
}

}  // namespace
}  // namespace locus::test

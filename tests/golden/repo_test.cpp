// Learned positions against the authors' own code in float64 (SakanaAI/repo 1508a73, Olmo2Attention and
// Olmo2ForCausalLM). Tolerance 1e-10 in float64; float32 is off by 9e-6 there, since its angles are large.
#include <gtest/gtest.h>

#include "core/attention/attend.h"
#include "tests/support/checkpoint_folder.h"
#include "tests/support/encodings.h"
#include "tests/support/golden.h"

namespace locus::test {
namespace {

using position::Positions;

class Repo : public testing::TestWithParam<std::string> {};

TEST_P(Repo, PlacesLogitsWeightsAndOutputs) {
  const Golden golden("repo");
  for (const auto& [type, tolerance] : {std::pair(at::kDouble, 1e-10), std::pair(at::kFloat, 3e-5)}) {
    const auto tensor = [&, of = type](const std::string& name) { return golden[GetParam() + "." + name].to(of); };
    const position::Projections projections{tensor("q").unsqueeze(0), tensor("k").unsqueeze(0),
                                            tensor("v").unsqueeze(0), tensor("hidden").unsqueeze(0)};
    const at::Tensor& query = projections.query;
    position::ModelShape shape = shape_of(query.size(1), query.size(3), query.size(1));
    shape.width = projections.hidden.size(2);
    const auto encoding = locus::test::encoding("repo", {{"base", 5e5}}, shape);
    for (const char* name : {"gate_map", "content_map", "final_map"}) {
      parameter(*encoding, std::string("layers.0.") + name) = tensor(std::string("w.") + name + ".weight");
    }
    const position::Prepared prepared =
        encoding->prepare(encoding->begin(Positions::sequence(query.size(2)), 1), 0, projections);
    EXPECT_CLOSE(encoding->learned_positions(prepared)[0].squeeze(-1), golden[GetParam() + ".z"], tolerance);
    const position::TileScores scores = whole_map(*encoding, prepared, 0, {.content = true});
    const Range all{0, query.size(2)};
    const attention::Mask mask{true};
    const auto seen = [&](const at::Tensor& map) { return map.masked_fill(mask.hidden(all, all, at::kCPU), 0); };
    EXPECT_CLOSE(seen(scores.logits[0]), golden[GetParam() + ".logits"], tolerance);
    EXPECT_CLOSE(scores.content[0], at::matmul(query, projections.key.transpose(-1, -2))[0] * encoding->scale(),
                 tolerance);
    const attention::Attention attention{*encoding, prepared, 0, projections.value, {}, mask};
    EXPECT_CLOSE(attention::attend_whole_map(attention).output[0], golden[GetParam() + ".out"], tolerance);
    const at::NoGradGuard no_grad;
    attention::StreamingOptions small;
    small.row_block = small.column_block = 5;
    const auto streamed = attention::attend_streaming(attention, small);
    ASSERT_TRUE(streamed.ok());
    EXPECT_CLOSE(streamed->output[0], golden[GetParam() + ".out"], 3e-5);
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, Repo, testing::Values("a", "b"));

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

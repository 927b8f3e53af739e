// Llamas without RoPE (DroPE) against a Llama whose tokens all stand at position 0, and RoPE with clipped pairs.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/changed_type.h"
#include "tests/support/golden.h"

namespace locus {
namespace {

constexpr double kSame = 1e-5;

at::Tensor logits(const Result<std::shared_ptr<const models::Model>>& opened, const std::vector<std::string>& texts) {
  EXPECT_TRUE(opened.ok()) << (opened.ok() ? "" : opened.error().describe());
  models::Edits edits;
  for (const std::string& text : texts) {
    edits.push_back(*models::parse_edit(text, edits.size()));
  }
  const auto model = (*opened)->edited(edits);
  EXPECT_TRUE(model.ok()) << (model.ok() ? "" : model.error().describe());
  return test::logits_of(**model, at::tensor({5, 17, 3, 17, 60, 8, 9, 17, 44, 2}, at::kLong));
}

TEST(Drope, IsItsParentWithoutRotation) {
  for (const std::string parent : {"llama", "qwen2"}) {
    const test::ChangedType plain(parent);
    const at::Tensor unmoved = logits(plain.open(), {"positions 0:10 start 0 step 0"});
    const test::ChangedType child(parent, {}, {{"model_type", parent + "_drope"}});
    const auto opened = child.open();
    EXPECT_CLOSE(logits(opened, {}), unmoved, kSame);
    EXPECT_EQ((*opened)->info().first_encoding().name, "none");
    EXPECT_EQ((*opened)->info().warnings, std::vector<std::string>());
    EXPECT_GT(test::deviation(logits(plain.open(), {}), unmoved), 1e-2);
    const double half = 0.5 / std::sqrt(static_cast<double>((*opened)->info().head_width));
    const test::ChangedType scaled(parent, {}, {{"model_type", parent + "_drope"}, {"softmax_scale", half}});
    EXPECT_CLOSE(logits(scaled.open(), {}),
                 logits(plain.open(), {"positions 0:10 start 0 step 0", "scale all.all by 0.5"}), kSame);
  }
}

// Norms over all heads: the length of a query before them says nothing.
TEST(Drope, NormsQueriesAndKeysOverAllHeads) {
  const auto normed = [](double length) {
    return test::ChangedType("llama",
                             [&](test::Tensors& tensors) {
                               for (const std::string layer : {"0", "1", "2", "3"}) {
                                 const std::string self = "model.layers." + layer + ".self_attn.";
                                 at::Tensor& query = tensors.at(self + "q_proj.weight");
                                 query = query * length;
                                 tensors[self + "q_norm.weight"] = at::linspace(0.5, 1.5, query.size(0));
                                 tensors[self + "k_norm.weight"] =
                                     at::linspace(1.5, 0.5, tensors.at(self + "k_proj.weight").size(0));
                               }
                             },
                             {{"model_type", "llama_drope"}, {"attention_type", "qk_norm_nope"}});
  };
  const at::Tensor once = logits(normed(1).open(), {});
  EXPECT_CLOSE(logits(normed(3).open(), {}), once, 1e-3);
  EXPECT_EQ((*normed(1).open())->info().unexpected, std::vector<std::string>());
}

TEST(Drope, OtherKindsAreRefused) {
  const auto model =
      test::ChangedType("llama", {}, {{"model_type", "llama_drope"}, {"attention_type", "q_norm_nope"}}).open();
  ASSERT_FALSE(model.ok());
  EXPECT_NE(model.error().describe().find("attention_type: expected nope or qk_norm_nope, found q_norm_nope"),
            std::string::npos);
}

TEST(Drope, FlagsOfClippedPairsAreAScaling) {
  for (const auto& [field, word] : {std::pair("use_cope", "soft"), std::pair("use_hardclip", "hard")}) {
    const auto model = test::ChangedType("llama", {}, {{field, true}}).open();
    ASSERT_TRUE(model.ok()) << model.error().describe();
    const Settings& options = (*model)->info().first_encoding().options;
    EXPECT_EQ(*options.text("scaling", ""), "clipped");
    EXPECT_EQ(*options.text("clip", "soft"), word);
    EXPECT_EQ(*options.integer("clip_pairs", 0), 20);
    EXPECT_EQ((*model)->info().warnings, std::vector<std::string>());
  }
  for (const char* more : {"use_hardclip", "rope_scaling"}) {
    const nlohmann::json value = std::string(more) == "use_hardclip"
                                     ? nlohmann::json(true)
                                     : nlohmann::json{{"rope_type", "linear"}, {"factor", 2.0}};
    EXPECT_FALSE(test::ChangedType("llama", {}, {{"use_cope", true}, {more, value}}).open().ok()) << more;
  }
}

}  // namespace
}  // namespace locus

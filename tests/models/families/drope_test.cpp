// Llamas without RoPE (DroPE) against a Llama whose tokens all stand at position 0, and RoPE with clipped pairs.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "models/api/analyses.h"
#include "models/engine/trace/recorded_trace.h"
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

// Parent and child are compared head by head and by length; at one position for all tokens the parent has the child's maps.
TEST(Drope, StandsBesideItsParent) {
  const test::ChangedType plain("llama");
  const test::ChangedType dropped("llama", {}, {{"model_type", "llama_drope"}});
  const auto parent = plain.open();
  const auto child = dropped.open();
  ASSERT_TRUE(parent.ok() && child.ok());
  models::Input input;
  input.ids = {5, 17, 3, 17, 60, 8, 9, 17, 44, 2};
  const auto still = (*parent)->edited({*models::parse_edit("positions 0:10 start 0 step 0", 0)});
  ASSERT_TRUE(still.ok());
  const auto first = *(*parent)->run(input);
  const auto second = *(*child)->run(input);
  const auto far = models::head_difference(*first, *second);
  const auto near = models::head_difference(**(*still)->run(input), *second);
  ASSERT_TRUE(far.ok() && near.ok()) << (far.ok() ? near : far).error().describe();
  const auto largest = [](const Field& field) { return *std::max_element(field.values.begin(), field.values.end()); };
  EXPECT_GT(largest(*far), 1e-2F);
  EXPECT_LT(largest(*near), 1e-5F);
  for (const auto& [model, trace] : {std::pair(*parent, first), std::pair(*child, second)}) {
    const auto points = models::length_curve(*model, trace->tokens(), {.lengths = {4, 8}});
    ASSERT_TRUE(points.ok()) << points.error().describe();
    ASSERT_EQ(points->size(), 2U);
    EXPECT_EQ(points->front().scored, 9);
    EXPECT_EQ(points->back().scored, 9);
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

// The scores of layer 0, whose input no norm of q or k changes, from the queries and keys of a child without norms.
TEST(Drope, NormsOneSideAlone) {
  models::Input input;
  input.ids = {5, 17, 3, 17, 60, 8, 9, 17, 44, 2};
  const auto run_of = [&](const test::ChangedType& child) {
    const auto model = child.open();
    EXPECT_TRUE(model.ok()) << (model.ok() ? "" : model.error().describe());
    EXPECT_EQ((*model)->info().unexpected, std::vector<std::string>());
    return *(*model)->run(input);
  };
  const models::TraceData plain =
      test::recorded(*run_of(test::ChangedType("llama", {}, {{"model_type", "llama_drope"}})));
  const position::Prepared& own = plain.layers.front().computed->prepared();
  for (const std::string side : {"q", "k"}) {
    const test::ChangedType child("llama",
                                  [&](test::Tensors& tensors) {
                                    for (const std::string layer : {"0", "1", "2", "3"}) {
                                      const std::string self = "model.layers." + layer + ".self_attn." + side;
                                      const std::int64_t width = tensors.at(self + "_proj.weight").size(0);
                                      tensors[self + "_norm.weight"] = at::linspace(0.5, 1.5, width);
                                    }
                                  },
                                  {{"model_type", "llama_drope"}, {"attention_type", side + "_norm_nope"}});
    const auto normed = [&](const at::Tensor& heads) {  // (1, H, T, D)
      const at::Tensor all = heads.transpose(1, 2).flatten(2).to(at::kDouble);
      const at::Tensor scaled =
          all * at::rsqrt(all.square().mean(-1, true) + 1e-6) * at::linspace(0.5, 1.5, all.size(2), at::kDouble);
      return scaled.unflatten(-1, {heads.size(1), heads.size(3)}).transpose(1, 2);
    };
    const at::Tensor query = side == "q" ? normed(own.query) : own.query.to(at::kDouble);
    const at::Tensor key = side == "k" ? normed(own.key) : own.key.to(at::kDouble);
    const at::Tensor want = at::matmul(query, key.repeat_interleave(query.size(1) / key.size(1), 1).transpose(2, 3)) /
                            std::sqrt(static_cast<double>(query.size(3)));
    const auto trace = run_of(child);
    for (std::int64_t head = 0; head < query.size(1); ++head) {
      const auto map = trace->map({0, head, models::Quantity::kLogit, {}, {}});
      ASSERT_TRUE(map.ok()) << map.error().describe();
      for (std::int64_t i = 0; i < map->rows; ++i) {
        for (std::int64_t j = 0; j <= i; ++j) {
          const double wanted = want[0][head][i][j].item<double>();
          EXPECT_NEAR(map->at(i, j), wanted, kSame * (1 + std::abs(wanted))) << side << head << " " << i << " " << j;
        }
      }
    }
  }
}

TEST(Drope, OtherKindsAreRefused) {
  const auto model =
      test::ChangedType("llama", {}, {{"model_type", "llama_drope"}, {"attention_type", "v_norm_nope"}}).open();
  ASSERT_FALSE(model.ok());
  EXPECT_NE(model.error().describe().find("attention_type: expected nope, qk_norm_nope, q_norm_nope or k_norm_nope, "
                                          "found v_norm_nope"),
            std::string::npos)
      << model.error().describe();
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

// Half-lives of a run, and edits of mixers, on tiny hybrids with generated weights.
#include <gtest/gtest.h>

#include <cmath>

#include "models/api/edits.h"
#include "tests/support/checkpoint_folder.h"
#include "tests/support/conformance.h"
#include "tests/support/generated_tensors.h"

namespace locus::test {
namespace {

using models::Quantity;
using models::Side;

struct Hybrid {
  explicit Hybrid(const std::string& type) : stored(type) {
    folder.write("config.json", stored.data().at("config").dump());
    stored.write_tensors(folder.path());
    model = open_model(folder.path());
    input = stored.input(folder.path());
  }

  // The mixers' side of a run with these edits.
  std::shared_ptr<const models::Trace> mixers(const std::vector<std::string>& edits = {}) const {
    const auto run = run_with(edits);
    return run.ok() ? (*run)->side(Side::kMixer) : nullptr;
  }
  Result<std::shared_ptr<const models::Trace>> run_with(const std::vector<std::string>& edits) const {
    models::Edits list;
    for (const std::string& edit : edits) {
      LOCUS_TRY(list.emplace_back(), models::parse_edit(edit, list.size()));
    }
    LOCUS_TRY(const auto edited, model->edited(list));
    return edited->run(input);
  }

  ConformanceType stored;
  TemporaryFolder folder;
  std::shared_ptr<const models::Model> model;
  models::Input input;
};

Field implied(const models::Trace& trace, std::int64_t layer, std::int64_t head) {
  const auto map = trace.map({layer, head, Quantity::kImplied, {}, {}});
  EXPECT_TRUE(map.ok());
  return map.ok() ? *map : Field();
}

std::int64_t first_mixer(const models::Model& model) {
  std::int64_t layer = 0;
  while (model.info().layer_info[static_cast<std::size_t>(layer)].mixer.empty()) {
    ++layer;
  }
  return layer;
}

// Of Mamba-2 in the first layer: g = −e^A_log · softplus(W_dt norm(x) + dt_bias).
TEST(MixerSide, IsThatOfTheWeights) {
  const Hybrid hybrid("bamba");
  ASSERT_NE(hybrid.model, nullptr);
  const auto trace = hybrid.mixers();
  ASSERT_NE(trace, nullptr);
  const auto made = [](const std::string& name, const std::vector<std::int64_t>& shape, double offset, double scale) {
    return generated_tensor("model." + name, shape, offset, scale).to(at::kDouble);
  };
  const std::vector<std::int64_t> ids = hybrid.stored.data().at("input").at("ids");
  const at::Tensor x = made("embed_tokens.weight", {96, 64}, 0, 0.5).index_select(0, at::tensor(ids, at::kLong));
  const at::Tensor normed =
      x * at::rsqrt(x.square().mean(-1, true) + 1e-5) * made("layers.0.input_layernorm.weight", {64}, 1, 0.1);
  const at::Tensor step_weights = made("layers.0.mamba.in_proj.weight", {296, 64}, 0, 0.2).slice(0, 288);
  const at::Tensor step =
      at::softplus(at::matmul(normed, step_weights.t()) + made("layers.0.mamba.dt_bias", {8}, 1, 0.1));
  const at::Tensor wanted = std::log(2.0) / (made("layers.0.mamba.A_log", {8}, 1.3, 0.1).exp() * step);  // (T, H)
  const auto found = trace->state_numbers(0, models::StateNumber::kHalfLife);
  ASSERT_TRUE(found.ok()) << found.error().describe();
  ASSERT_EQ(found->rows, 8);
  ASSERT_EQ(found->columns, static_cast<std::int64_t>(ids.size()));
  for (std::int64_t head = 0; head < found->rows; ++head) {
    for (std::int64_t token = 0; token < found->columns; ++token) {
      const auto expected = wanted[token][head].item<double>();
      EXPECT_NEAR(found->at(head, token), expected, 2e-5 * (1 + expected)) << head << " " << token;
    }
  }
}

TEST(MixerSide, IsRefusedWhereNothingDecays) {
  const Hybrid convolutions("lfm2");
  ASSERT_NE(convolutions.model, nullptr);
  const auto run = convolutions.run_with({});
  ASSERT_TRUE(run.ok());
  const auto said = [](const models::Trace& trace, std::int64_t layer) {
    const auto found = trace.state_numbers(layer, models::StateNumber::kHalfLife);
    return found.ok() ? "" : found.error().describe();
  };
  EXPECT_EQ(said(**run, 0), "layer 0 has no mixer here");
  const auto mixers = (*run)->side(Side::kMixer);
  ASSERT_NE(mixers, nullptr);
  EXPECT_EQ(said(*mixers, 0), "layer 0 has no decay: short convolution");
  EXPECT_EQ(said(*mixers, 1), "layer 1 has no mixer here");
  EXPECT_EQ(mixers->state_numbers(0, models::StateNumber::kNorm).error().describe(),
            "layer 0 has no state: short convolution");
  EXPECT_EQ(mixers->state_numbers(0, models::StateNumber::kHalfLife).error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(mixers->state_numbers(99, models::StateNumber::kHalfLife).error().code, ErrorCode::kBadInput);
  EXPECT_EQ(mixers->model().layer_info[0].mixer_reach, convolutions.model->info().layer_info[0].mixer_reach);
  EXPECT_GT(mixers->model().layer_info[0].mixer_reach, 0);
  const auto file = convolutions.folder.path() / "run.safetensors";
  const Hybrid decaying("bamba");
  ASSERT_TRUE((*decaying.run_with({}))->write(file, {"attention"}).ok());
  const auto stored = open_trace(file);
  ASSERT_TRUE(stored.ok()) << stored.error().describe();
  const auto side = (*stored)->side(Side::kMixer);
  if (side != nullptr) {
    EXPECT_EQ(said(*side, 0), "layer 0: a file does not keep the state of its mixer");
  }
}

class MixerSide : public testing::TestWithParam<const char*> {};

TEST_P(MixerSide, EditsShowInMapAndOutput) {
  const Hybrid hybrid(GetParam());
  ASSERT_NE(hybrid.model, nullptr);
  const std::int64_t layer = first_mixer(*hybrid.model);
  const std::string of = std::to_string(layer);
  const auto plain = hybrid.run_with({});
  ASSERT_TRUE(plain.ok()) << plain.error().describe();
  const auto chances = [](const models::Trace& trace) {
    std::vector<double> all;
    for (const models::Prediction& each : trace.top(50)) {
      all.push_back(each.probability);
    }
    return all;
  };
  const std::vector<std::string> edits{"decay " + of + ".all keep", "decay all.0 mean", "unwrite " + of + ".all 3:6",
                                       "mixer zero " + of + ".0,1"};
  for (const std::string& edit : edits) {
    const auto run = hybrid.run_with({edit});
    ASSERT_TRUE(run.ok()) << edit << ": " << run.error().describe();
    const bool fixed = hybrid.model->info().layer_info[static_cast<std::size_t>(layer)].mixer == "lightning attention";
    if (!fixed || edit != "decay all.0 mean") {
      EXPECT_NE(chances(**run), chances(**plain)) << edit;
    }
    EXPECT_EQ(hybrid.model->edits(), models::Edits());
  }
  const auto lasting = hybrid.mixers({"decay " + of + ".0 keep"});
  ASSERT_NE(lasting, nullptr);
  const auto lives = lasting->state_numbers(layer, models::StateNumber::kHalfLife);
  ASSERT_TRUE(lives.ok()) << lives.error().describe();
  EXPECT_TRUE(std::isinf(lives->at(0, 5)));
  EXPECT_TRUE(std::isfinite(lives->at(1, 5)));
  // Of states that keep all, so that there is something to empty.
  const std::string keep = "decay " + of + ".all keep";
  const std::string at_four = "reset " + of + ".1 at 4";
  EXPECT_NE(chances(**hybrid.run_with({keep, at_four})), chances(**hybrid.run_with({keep})));
  const Field reset = implied(*hybrid.mixers({at_four, keep}), layer, 1);
  const Field own = implied(*hybrid.mixers({keep}), layer, 1);
  for (std::int64_t row = 0; row < own.rows; ++row) {
    for (std::int64_t column = 0; column <= row; ++column) {
      const double expected = row >= 4 && column < 4 ? 0 : static_cast<double>(own.at(row, column));
      EXPECT_NEAR(reset.at(row, column), expected, 2e-5 * (1 + std::abs(expected))) << row << " " << column;
    }
  }
  // A state that is emptied is one that nothing was written into before.
  const auto norms = [&](const std::string& edit) {
    const auto found = hybrid.mixers({keep, edit})->state_numbers(layer, models::StateNumber::kNorm);
    EXPECT_TRUE(found.ok());
    return found.ok() ? *found : Field();
  };
  const Field emptied = norms(at_four);
  const Field written = norms("unwrite " + of + ".1 0:4");
  for (std::int64_t token = 0; token < emptied.columns; ++token) {
    const double expected = written.at(1, token);
    if (token < 4) {
      EXPECT_EQ(expected, 0);
      EXPECT_GT(emptied.at(1, token), 0);
    } else {
      EXPECT_NEAR(emptied.at(1, token), expected, 2e-5 * (1 + expected));
    }
  }
  const Field unwritten = implied(*hybrid.mixers({"unwrite " + of + ".all 3:6"}), layer, 0);
  for (std::int64_t row = 6; row < unwritten.rows; ++row) {
    EXPECT_EQ(unwritten.at(row, 4), 0) << row;
  }
}

INSTANTIATE_TEST_SUITE_P(Types, MixerSide,
                         testing::Values("bamba", "qwen3_next", "kimi_linear", "minimax", "jamba", "recurrent_gemma"));

TEST(MixerSide, EditsAreRefusedByName) {
  const auto said = [](const Hybrid& hybrid, const std::string& edit) {
    const auto run = hybrid.run_with({edit});
    return run.ok() ? "" : run.error().message;
  };
  const Hybrid convolutions("lfm2");
  EXPECT_EQ(said(convolutions, "decay 0.all keep"),
            "edits[0].layer: expected a layer with a mixer that decays, found layer 0, a short convolution");
  EXPECT_EQ(said(convolutions, "decay 1.all keep"),
            "edits[0].layer: expected a layer with a mixer, found layer 1 of attention alone");
  EXPECT_EQ(said(convolutions, "reset all.all at 3"),
            "edits[0].layer: expected a layer with a mixer that decays, found none in this checkpoint");
  EXPECT_EQ(said(convolutions, "mixer zero 0.0"), "");
  const Hybrid decaying("bamba");
  EXPECT_EQ(said(decaying, "mixer zero 0.8"), "edits[0].head: expected 0 to 7, found 8");
  EXPECT_EQ(said(decaying, "reset all.all at 24"), "edits[0].at: expected a range within 0 to 24, found 24 to 25");
  EXPECT_EQ(said(decaying, "unwrite all.all 20:25"),
            "edits[0].tokens: expected a range within 0 to 24, found 20 to 25");
  EXPECT_EQ(said(decaying, "head 0.0 zero").rfind("edits[0].layer: expected a layer with attention", 0), 0U);
}

}  // namespace
}  // namespace locus::test

// What-if overrides and verification on every layout: an override is what a config that says the same gives.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "models/api/verify.h"
#include "tests/support/checkpoint_folder.h"
#include "tests/support/golden.h"
#include "tests/support/layouts.h"

namespace locus::test {

// What gtest prints of a layout.
void PrintTo(const Layout& layout, std::ostream* stream) {
  *stream << layout.name;
}

namespace {

constexpr double kWhatIfTolerance = 1e-4;

class WhatIf : public testing::TestWithParam<Layout> {
 protected:
  void SetUp() override {
    written_ = write_layout(GetParam(), folder_.path());
    if (GetParam().image) {
      input_.pixels = pictures_.path() / "grid.safetensors";
      at::manual_seed(3);
      write_tensors(*input_.pixels, {{"pixel_values", at::randn({3, 6 * written_.patch, 5 * written_.patch})}});
    } else {
      input_.ids = written_.ids;
    }
  }

  Result<std::shared_ptr<const models::Model>> open(const models::Overrides& overrides = {}) const {
    models::OpenOptions options;
    options.overrides = overrides;
    return test::open(written_.path, options);
  }
  void expect_unsupported(const models::Overrides& overrides) const {
    const auto model = open(overrides);
    ASSERT_FALSE(model.ok());
    EXPECT_EQ(model.error().code, ErrorCode::kUnsupported);
    EXPECT_EQ(model.error().describe().find("rope "), 0U) << model.error().describe();
  }
  // The probabilities of the last row, by id.
  static at::Tensor outputs(const models::Model& model, const models::Input& input) {
    const auto trace = model.run(input);
    EXPECT_TRUE(trace.ok()) << trace.error().describe();
    at::Tensor row = at::zeros({model.info().vocabulary});
    for (const models::Prediction& each : (*trace)->top(model.info().vocabulary)) {
      row[each.id] = each.probability;
    }
    return row;
  }
  at::Tensor outputs(const models::Overrides& overrides = {}) const {
    const auto model = open(overrides);
    EXPECT_TRUE(model.ok()) << (model.ok() ? "" : model.error().describe());
    return model.ok() ? outputs(**model, input_) : at::Tensor();
  }
  // Changes a field of config.json, named by its path.
  void configure(const std::string& field, const nlohmann::json& value) const {
    const auto file = folder_.path() / "config.json";
    nlohmann::json config = nlohmann::json::parse(std::ifstream(file));
    std::string pointer = "/" + field;
    std::replace(pointer.begin(), pointer.end(), '.', '/');
    config[nlohmann::json::json_pointer(pointer)] = value;
    folder_.write("config.json", config.dump());
  }

  TemporaryFolder folder_;
  TemporaryFolder pictures_;
  WrittenLayout written_;
  models::Input input_;
};

TEST_P(WhatIf, ABaseIsThatOfAConfig) {
  models::Overrides overrides;
  overrides.rope_base = 37.0;
  if (GetParam().base_field.empty()) {
    expect_unsupported(overrides);
    return;
  }
  const at::Tensor before = outputs();
  const at::Tensor asked = outputs(overrides);
  configure(GetParam().base_field, 37.0);
  EXPECT_CLOSE(asked, outputs(), 1e-6);
  EXPECT_GT(deviation(asked, before), 1e-4);
}

TEST_P(WhatIf, AScalingIsThatOfAConfig) {
  // Short trained lengths, so that the input is beyond them and dynamic scaling sets in.
  if (!GetParam().scaling) {
    models::Overrides overrides;
    overrides.rope_scaling = "linear:2";
    expect_unsupported(overrides);
    return;
  }
  configure("max_position_embeddings", 6);
  const at::Tensor before = outputs();
  const auto scaled = [&](const std::string& kind) {
    models::Overrides overrides;
    overrides.rope_scaling = kind + ":3";
    return outputs(overrides);
  };
  const std::vector<std::string> kinds{"linear", "dynamic", "yarn"};
  std::vector<at::Tensor> asked;
  for (const std::string& kind : kinds) {
    asked.push_back(scaled(kind));
    EXPECT_GT(deviation(asked.back(), before), 1e-5) << kind;
  }
  const auto plain = open();
  ASSERT_TRUE(plain.ok());
  // NTK-aware scaling is a larger base: base·s^(D/(D−2)), D the channels that turn.
  const double turned = static_cast<double>((*plain)->info().head_width) *
                        (*plain)->info().first_encoding().options.number("fraction", 1.0).value();
  models::Overrides larger;
  larger.rope_base = 1e4 * std::pow(3.0, turned / (turned - 2));
  EXPECT_CLOSE(scaled("ntk"), outputs(larger), 1e-6);
  for (std::size_t n = 0; n < kinds.size(); ++n) {
    configure("rope_scaling", {{"rope_type", kinds[n]}, {"factor", 3.0}});
    EXPECT_CLOSE(asked[n], outputs(), 1e-6) << kinds[n];
  }
}

TEST_P(WhatIf, AStartPositionMovesEveryToken) {
  const auto model = open();
  ASSERT_TRUE(model.ok()) << model.error().describe();
  models::Input moved = input_;
  moved.position_start = 5;
  if (GetParam().image) {
    const auto trace = (*model)->run(moved);
    ASSERT_FALSE(trace.ok());
    EXPECT_EQ(trace.error().code, ErrorCode::kBadInput);
    return;
  }
  const auto trace = (*model)->run(moved);
  ASSERT_TRUE(trace.ok()) << trace.error().describe();
  EXPECT_EQ((*trace)->tokens().front().position, 5);
  EXPECT_EQ((*trace)->tokens().back().position, 5 + static_cast<double>(written_.ids.size()) - 1);
  const double change = deviation(outputs(**model, moved), outputs(**model, input_));
  if (GetParam().shift_invariant) {
    EXPECT_LE(change, kWhatIfTolerance);
  } else {
    EXPECT_GT(change, 1e-3);
  }
}

TEST_P(WhatIf, VerifyHoldsAsOpenedAndUnderOverrides) {
  std::vector<models::Overrides> all{{}};
  if (!GetParam().base_field.empty()) {
    all.push_back({37.0, ""});
  }
  if (GetParam().scaling) {
    for (const char* scaling : {"linear:2", "ntk:2", "dynamic:2", "yarn:2", "yarn-turns", "proportional:0.5",
                                "clipped:2", "clipped:2:hard"}) {
      all.push_back({std::nullopt, scaling});
    }
  }
  for (const models::Overrides& overrides : all) {
    const auto model = open(overrides);
    ASSERT_TRUE(model.ok()) << model.error().describe();
    models::Input input = input_;
    input.position_start = GetParam().image ? 0 : 2;
    const auto report = models::verify(**model, input);
    ASSERT_TRUE(report.ok()) << report.error().describe();
    EXPECT_TRUE(report->passed) << report->rows.front().difference;
  }
}

INSTANTIATE_TEST_SUITE_P(All, WhatIf, testing::ValuesIn(layouts()));

}  // namespace
}  // namespace locus::test

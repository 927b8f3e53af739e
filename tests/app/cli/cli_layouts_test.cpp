// Every layout that Locus opens, as a user meets it: info, run with ids, run with a picture.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/support/layouts.h"
#include "tests/support/run_locus.h"

namespace {

using locus::test::Layout;
using locus::test::WrittenLayout;
using locus::testing_support::Outcome;
using locus::testing_support::run_locus;
using nlohmann::json;
namespace fs = std::filesystem;

class CliLayouts : public testing::TestWithParam<Layout> {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / ("locus_layout_" + GetParam().name + std::to_string(getpid()));
    fs::create_directories(folder_);
    written_ = locus::test::write_layout(GetParam(), folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string path() const { return written_.path.string(); }
  const WrittenLayout& written() const { return written_; }
  const fs::path& folder() const { return folder_; }

  // Nothing but results and, where the layout has some, warnings.
  static json parsed(const Outcome& outcome) {
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_EQ(outcome.err.empty(), !GetParam().warns) << outcome.err;
    return json::parse(outcome.out, nullptr, false);
  }
  void expect_best(const json& run) const {
    ASSERT_FALSE(run.at("top").empty());
    const json& best = run.at("top").at(0);
    EXPECT_TRUE(std::isfinite(best.at("probability").get<double>()));
    if (written_.best) {
      EXPECT_EQ(best.at("id").get<std::int64_t>(), *written_.best);
      EXPECT_NEAR(best.at("probability").get<double>(), written_.probability, 1e-4);
    }
  }

 private:
  fs::path folder_;
  WrittenLayout written_;
};

TEST_P(CliLayouts, InfoKnowsTheFamilyAndEveryTensor) {
  const json info = parsed(run_locus({"info", path(), "--json", "--length", "64"}));
  ASSERT_TRUE(info.is_object());
  EXPECT_EQ(info.at("family"), GetParam().family);
  EXPECT_EQ(info.at("unexpected").size(), 0U) << info.at("unexpected");
  EXPECT_EQ(info.at("warnings").empty(), !GetParam().warns);
  EXPECT_GT(info.at("parameters").get<std::int64_t>(), 10000);
  EXPECT_GT(info.at("macs").get<double>(), info.at("parameters").get<double>());
}

TEST_P(CliLayouts, RunTakesIds) {
  if (GetParam().image) {
    GTEST_SKIP() << "takes pictures";
  }
  std::string ids;
  for (const std::int64_t id : written().ids) {
    ids += (ids.empty() ? "" : ",") + std::to_string(id);
  }
  const json run = parsed(run_locus({"run", path(), "--ids", ids, "--json"}));
  ASSERT_TRUE(run.is_object());
  EXPECT_EQ(run.at("input_ids").get<std::vector<std::int64_t>>(), written().ids);
  expect_best(run);
}

#ifdef LOCUS_IMAGES
TEST_P(CliLayouts, RunTakesAPictureThatIsNotSquareAndLargerThanTheTrainedOne) {
  if (!GetParam().image) {
    GTEST_SKIP() << "takes ids";
  }
  // 75 × 50 pixels hold 9 × 6 patches of 8, what is right and below is left out; trained were 4 × 4.
  const fs::path picture = folder() / (GetParam().name.size() % 2 == 0 ? "picture.png" : "picture.jpg");
  locus::test::write_picture(picture, 75, 50);
  const json run = parsed(run_locus({"run", path(), "--image", picture.string(), "--json"}));
  ASSERT_TRUE(run.is_object());
  ASSERT_EQ(run.at("tokens").size(), 1U + 6U * 9U);
  EXPECT_EQ(run.at("tokens").at(0), "CLS");
  EXPECT_EQ(run.at("tokens").back(), "5,8");
  double sum = 0;
  for (const json& top : run.at("top")) {
    sum += top.at("probability").get<double>();
  }
  EXPECT_NEAR(sum, 1, 1e-4);  // at most ten classes: all of them are shown
}
#endif

TEST_P(CliLayouts, RunTakesPixels) {
  if (written().pixels.empty()) {
    GTEST_SKIP() << "no reference over pixels";
  }
  const json run = parsed(run_locus({"run", path(), "--pixels", written().pixels.string(), "--json"}));
  ASSERT_TRUE(run.is_object());
  expect_best(run);
}

INSTANTIATE_TEST_SUITE_P(All, CliLayouts, testing::ValuesIn(locus::test::layouts()), [](const auto& test) {
  std::string name = test.param.name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace

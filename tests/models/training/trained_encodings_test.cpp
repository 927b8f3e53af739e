// Every encoding of text, by the list of all: what locus train writes opens again, measures as it did at its last step
// and beyond the trained length, and a stopped training ends where another one does.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <stop_token>

#include "core/position/list.h"
#include "models/api/train.h"
#include "tests/support/test_name.h"

namespace {

namespace fs = std::filesystem;
using namespace locus::training;

std::string bytes_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class TrainedEncodings : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / ("locus_trained_" + GetParam());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    std::ofstream(folder_ / "corpus.txt") << std::string(400, 'a') + std::string(400, 'b') + std::string(400, 'a');
    options_.corpus = {{folder_ / "corpus.txt", "Letters"}};
    options_.validate = options_.corpus;
    options_.length = 24;
    options_.encoding = GetParam();
    options_.layers = 2;
    options_.heads = 2;
    options_.width = 16;
    options_.batch = 2;
    options_.steps = 2;
    options_.threads = 1;
    options_.out = folder_ / "out";
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path folder_;
  TrainOptions options_;
};

// Beyond the trained length, a table of learned positions alone has none.
TEST_P(TrainedEncodings, OpensAgainAndMeasuresTheSame) {
  const auto summary = train(options_);
  ASSERT_TRUE(summary.ok()) << summary.error().describe();
  EvaluateOptions evaluation;
  evaluation.task = options_.task;
  evaluation.validate = options_.validate;
  evaluation.task_options.set("contexts", std::vector<double>{48, 192});
  const auto measured = evaluate(options_.out, evaluation);
  ASSERT_TRUE(measured.ok()) << measured.error().describe();
  ASSERT_EQ(measured->splits.size(), 3U);
  EXPECT_NEAR(measured->splits.front().second, summary->splits.at("in"), 1e-5);
  for (std::size_t n = 1; n < 3; ++n) {
    EXPECT_EQ(std::isfinite(measured->splits[n].second), GetParam() != "learned") << measured->splits[n].first;
  }
}

TEST_P(TrainedEncodings, GoesOnWhereItWasStopped) {
  options_.steps = 4;
  ASSERT_TRUE(train(options_).ok());
  TrainOptions cut = options_;
  cut.out = folder_ / "cut";
  std::stop_source stop;
  const auto stop_at_two = [&stop](const TrainProgress& progress) {
    if (progress.step == 2) {
      stop.request_stop();
    }
  };
  const auto first = train(cut, stop_at_two, stop.get_token());
  ASSERT_TRUE(first.ok()) << first.error().describe();
  EXPECT_EQ(first->steps, 2);
  cut.resume = true;
  const auto second = train(cut);
  ASSERT_TRUE(second.ok()) << second.error().describe();
  EXPECT_EQ(second->steps, 4);
  EXPECT_EQ(bytes_of(cut.out / "model.safetensors"), bytes_of(options_.out / "model.safetensors"));
}

std::vector<std::string> of_text() {
  static const std::set<std::string> of_images{"rope-axial", "rope-mixed", "relative-grid"};
  std::vector<std::string> all;
  for (const locus::position::Entry& entry : locus::position::encodings()) {
    if (of_images.count(entry.description.name) == 0) {
      all.push_back(entry.description.name);
    }
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(All, TrainedEncodings, testing::ValuesIn(of_text()),
                         [](const auto& info) { return locus::test::test_name(info.param); });

}  // namespace

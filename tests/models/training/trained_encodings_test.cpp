// Every encoding of text, by the list of all: what locus train writes opens again and measures as it did at its last
// step.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "core/position/list.h"
#include "models/api/train.h"
#include "tests/support/test_name.h"

namespace {

namespace fs = std::filesystem;
using namespace locus::training;

class TrainedEncodings : public testing::TestWithParam<std::string> {};

TEST_P(TrainedEncodings, OpensAgainAndMeasuresTheSame) {
  const fs::path folder = fs::path(testing::TempDir()) / ("locus_trained_" + GetParam());
  fs::remove_all(folder);
  fs::create_directories(folder);
  std::ofstream(folder / "corpus.txt") << std::string(400, 'a') + std::string(400, 'b') + std::string(400, 'a');
  TrainOptions options;
  options.corpus = {{folder / "corpus.txt", "Letters"}};
  options.validate = options.corpus;
  options.length = 24;
  options.encoding = GetParam();
  options.layers = 2;
  options.heads = 2;
  options.width = 16;
  options.batch = 2;
  options.steps = 2;
  options.threads = 1;
  options.out = folder / "out";
  const auto summary = train(options);
  ASSERT_TRUE(summary.ok()) << summary.error().describe();
  EvaluateOptions evaluation;
  evaluation.task = options.task;
  evaluation.validate = options.validate;
  evaluation.splits = {"in"};
  const auto measured = evaluate(options.out, evaluation);
  ASSERT_TRUE(measured.ok()) << measured.error().describe();
  EXPECT_NEAR(measured->splits.front().second, summary->splits.at("in"), 1e-5);
  fs::remove_all(folder);
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

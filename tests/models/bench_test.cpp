// A quick run measures every row that needs no display, and its rows are consistent.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "tests/bench/growth.h"
#include "tests/bench/rig.h"

namespace locus {
namespace {

using bench::Row;
using bench::Target;

// Links of the names that somebody could foresee lead to files that stay as they are.
class ForeseenNames {
 public:
  ForeseenNames() {
    std::ofstream(target_) << "mine";
    for (const char* name : {"locus-bench-%.txt", "locus_bench_%.safetensors"}) {
      std::string own = name;
      own.replace(own.find('%'), 1, std::to_string(::getpid()));
      links_.push_back(std::filesystem::temp_directory_path() / own);
      std::filesystem::create_symlink(target_, links_.back());
    }
  }
  ~ForeseenNames() {
    std::error_code ignored;
    for (const std::filesystem::path& link : links_) {
      std::filesystem::remove(link, ignored);
    }
    std::filesystem::remove(target_, ignored);
  }
  ForeseenNames(const ForeseenNames&) = delete;
  ForeseenNames& operator=(const ForeseenNames&) = delete;

  void expect_untouched() const {
    std::ifstream file(target_);
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), "mine");
    for (const std::filesystem::path& link : links_) {
      EXPECT_TRUE(std::filesystem::is_symlink(link)) << link;
    }
  }

 private:
  const std::filesystem::path target_ = std::filesystem::path(testing::TempDir()) / "bench target";
  std::vector<std::filesystem::path> links_;
};

TEST(Bench, AQuickRunGivesEveryRow) {
  const ForeseenNames foreseen;
  bench::Options options;
  options.quick = true;
  std::size_t heard = 0;
  options.on_row = [&](const Row& /*row*/) { ++heard; };
  const auto rows = bench::run(bench::model_groups(), options);
  ASSERT_TRUE(rows.ok()) << rows.error().describe();
  EXPECT_EQ(heard, rows->size());
  foreseen.expect_untouched();
  std::set<std::string> names;
  for (const Row& row : *rows) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name << " twice";
    EXPECT_TRUE(std::isfinite(row.value)) << row.name;
    // The peak of a small run may be below what the process held before.
    EXPECT_TRUE(row.unit == "MB" ? row.value >= 0 : row.value > 0) << row.name << ": " << row.value;
    EXPECT_EQ(row.reference > 0, !row.reference_name.empty()) << row.name;
    if (row.reference > 0) {
      EXPECT_NEAR(row.ratio, row.value / row.reference, 1e-9 * row.ratio) << row.name;
    }
    EXPECT_EQ(row.bounds == Target::kNone, bench::target_text(row).empty()) << row.name;
    if (row.bounds == Target::kRatioAtMost || row.bounds == Target::kRatioAtLeast) {
      EXPECT_GT(row.reference, 0) << row.name;
    }
    const double bounded = row.bounds == Target::kValueAtMost ? row.value : row.ratio;
    const bool met = row.bounds == Target::kRatioAtLeast ? bounded >= row.target : bounded <= row.target;
    EXPECT_EQ(row.met, row.bounds == Target::kNone || met) << row.name;
  }
  // The rows of the long run, at small lengths.
  for (const char* name : {"forward, T = 64",
                           "forward rate, T = 64",
                           "forward memory beyond the weights, T = 64",
                           "forward memory beyond the weights, T = 256",
                           "forward, T = 256",
                           "appended token, T = 32",
                           "appended token, T = 128",
                           "RoPE 512 × 512 tile of weights, T = 2048",
                           "CoPE 512 × 512 tile of weights, T = 2048",
                           "RoPE preview of 1024 × 1024 pixels, T = 2048",
                           "CoPE preview of 1024 × 1024 pixels, T = 2048",
                           "RoPE exact mean of weights, 1024 × 1024 pixels, T = 2048",
                           "RoPE exact maximum of weights, 1024 × 1024 pixels, T = 2048",
                           "CoPE exact mean of weights, 1024 × 1024 pixels, T = 2048",
                           "CoPE exact maximum of weights, 1024 × 1024 pixels, T = 2048",
                           "RoPE tile of logits, T = 8192",
                           "synthetic head, T = 4096: opened",
                           "synthetic head, T = 4096: preview of logits",
                           "synthetic head, T = 4096: memory",
                           "bfloat16 weights: memory beyond them, T = 64",
                           "bfloat16 weights: forward, T = 64",
                           "bfloat16 weights: appended token, T = 32",
                           "bfloat16 weights: appended token, T = 32, beside its bytes",
                           "float32 weights: appended token, T = 32, beside its bytes",
                           "float16 weights: appended token, T = 32, beside its bytes",
                           "Q4_K weights",
                           "Q4_K weights: memory beyond them, T = 64",
                           "Q4_K weights: appended token, T = 32",
                           "Q4_K weights: appended token, T = 32, beside its bytes",
                           "knock-out of the next token, T = 32",
                           "knock-out of the loss, T = 32",
                           "20 tiles of 512 × 512 by cope, gates by keys",
                           "4 × 256 tokens by transposed bfloat16 weights, 128 outputs",
                           "32 × 256 tokens by Q4_K weights, 128 outputs, fast products",
                           "one token by 256 × 2048 weights, Q4_K",
                           "one token by 256 × 2048 weights, MXFP4",
                           "one token by 256 × 2048 weights, MXFP4, fast products",
                           "one token by 256 × 2048 weights, FP8 in blocks of 128",
                           "one token by 256 × 2048 weights, FP8 in blocks of 32",
                           "next figure of a moved picture of 96 × 96 pixels",
                           "video of 8 frames of 192 × 108 pixels, all taken: opened",
                           "video of 8 frames of 192 × 108 pixels: memory",
                           "GPT-2-small opened, first map, T = 16",
                           "tokens of 0.002 MB of text, vocabulary learned"}) {
    EXPECT_EQ(names.count(name), 1U) << name;
  }
}

TEST(Bench, TheFitOfGrowthFindsItsTermsAndNoneBelowZero) {
  const std::vector<double> lengths{256, 512, 1024, 2048, 4096, 8192};
  const auto fit = [&](double a, double b, double c, const std::vector<double>& noise) {
    std::vector<double> times;
    for (std::size_t n = 0; n < lengths.size(); ++n) {
      const double thousands = lengths[n] / 1000;
      times.push_back((a + b * thousands + c * thousands * thousands) * (1 + noise[n]));
    }
    return bench::fit_growth(lengths, times);
  };
  const std::vector<double> none(6, 0.0);
  const bench::Growth exact = fit(20, 600, 30, none);
  EXPECT_NEAR(exact.coefficients[0], 20, 1e-6);
  EXPECT_NEAR(exact.coefficients[1], 600, 1e-6);
  EXPECT_NEAR(exact.coefficients[2], 30, 1e-6);
  EXPECT_NEAR(exact.worst, 0, 1e-9);
  EXPECT_EQ(bench::to_text(exact).substr(0, 38), "20 + 600·(T/1000) + 30·(T/1000)² ms");
  // A first run that is too fast would make the constant negative.
  const bench::Growth noisy = fit(0, 600, 30, {-0.1, 0.02, 0, 0.03, -0.02, 0.01});
  EXPECT_EQ(noisy.coefficients[0], 0);
  EXPECT_NEAR(noisy.coefficients[1], 600, 60);
  EXPECT_GT(noisy.coefficients[2], 0);
  EXPECT_LT(noisy.worst, 0.15);
  EXPECT_EQ(bench::to_text(noisy).find(" + "), bench::to_text(noisy).rfind(" + "));  // two terms
}

TEST(Bench, StopsBetweenMeasurementsAndChoosesGroups) {
  bench::Options options;
  options.quick = true;
  options.only = "scores";
  std::stop_source stop;
  options.stop = stop.get_token();
  options.on_row = [&](const Row& row) {
    EXPECT_EQ(row.name.find("forward"), std::string::npos) << row.name;
    stop.request_stop();
  };
  const auto rows = bench::run(bench::model_groups(), options);
  ASSERT_FALSE(rows.ok());
  EXPECT_EQ(rows.error().code, ErrorCode::kCancelled);
  options.only = "no such group";
  options.stop = {};
  const auto none = bench::run(bench::model_groups(), options);
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().code, ErrorCode::kUsage);
}

}  // namespace
}  // namespace locus

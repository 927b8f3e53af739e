// Making an atlas: stopping and going on, what is there already, what cannot be made.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <span>

#include "core/base/numbers.h"
#include "models/api/atlas_run.h"
#include "models/atlas/checkpoint_facts.h"
#include "models/atlas/sums.h"
#include "models/formats/atlas/contents.h"
#include "tests/support/checkpoint_folder.h"
#include "tests/support/paths.h"

namespace locus {
namespace {

using models::AtlasOptions;
using models::AtlasProgress;
using models::AtlasSummary;
using models::atlas::Contents;
using models::atlas::Kind;
using models::atlas::Table;

std::filesystem::path run_asset(const std::string& name) {
  return std::filesystem::path(test::source_dir()) / "assets" / name;
}

class AtlasRun : public testing::Test {
 protected:
  void SetUp() override {
    model_ = test::open_model(checkpoint_);
    ASSERT_NE(model_, nullptr);
    options_.corpus = {run_asset("samples")};
    options_.windows = 12;
    options_.length = 24;
    options_.map_size = 8;
    options_.replicates = 10;
    options_.what = {"heads", "loss", "mean-map"};
    options_.out = folder_.path() / "atlas.safetensors";
  }

  Result<AtlasSummary> make(const models::OnAtlasProgress& progress = {}, StopToken stop = {}) const {
    return make_atlas(*model_, checkpoint_, options_, progress, stop);
  }

  std::string error() const {
    const auto made = make();
    return made.ok() ? "" : made.error().describe();
  }

  Contents contents() const { return models::atlas::read_contents(options_.out).value(); }

  test::TemporaryFolder folder_;
  std::filesystem::path checkpoint_ = run_asset("checkpoints/text-rope");
  std::shared_ptr<const models::Model> model_;
  AtlasOptions options_;
};

// NaN is like NaN.
template <typename Number>
bool alike(const std::vector<Number>& a, const std::vector<Number>& b, double tolerance = 0) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [tolerance](Number x, Number y) {
    return std::abs(x - y) <= tolerance || x == y || (std::isnan(x) && std::isnan(y));
  });
}

void expect_alike(const Contents& a, const Contents& b) {
  EXPECT_EQ(a.info, b.info);
  ASSERT_EQ(a.tables.size(), b.tables.size());
  for (std::size_t n = 0; n < a.tables.size(); ++n) {
    const Table& left = a.tables[n];
    const Table& right = b.tables[n];
    EXPECT_EQ(left.statistic, right.statistic);
    EXPECT_TRUE(alike(left.sum, right.sum)) << left.statistic;
    EXPECT_TRUE(alike(left.squares, right.squares)) << left.statistic;
    EXPECT_TRUE(alike(left.replicates, right.replicates)) << left.statistic;
  }
  for (const auto& [name, samples] : a.samples) {
    EXPECT_EQ(samples.count, b.samples.at(name).count) << name;
    EXPECT_EQ(samples.replicates, b.samples.at(name).replicates) << name;
  }
}

TEST_F(AtlasRun, GoesOnToTheSameBits) {
  ASSERT_EQ(error(), "");
  const Contents whole = contents();
  EXPECT_EQ(whole.info.done, 12);
  EXPECT_EQ(whole.samples.at("windows").count, 12);

  options_.overwrite = true;
  options_.save_seconds = 0;
  std::stop_source stop;
  std::int64_t seen = 0;
  const auto stopped = make(
      [&](const AtlasProgress& progress) {
        seen = progress.done;
        if (progress.done == 5) {
          stop.request_stop();
        }
      },
      stop.get_token());
  ASSERT_TRUE(stopped.ok()) << stopped.error().describe();
  EXPECT_TRUE(stopped->stopped);
  EXPECT_EQ(stopped->done, 5);
  EXPECT_EQ(contents().info.done, 5);
  EXPECT_EQ(models::open_atlas(options_.out).value()->values("heads.self", 0)->samples, 5);

  options_.overwrite = false;
  options_.resume = true;
  const auto resumed = make();
  ASSERT_TRUE(resumed.ok()) << resumed.error().describe();
  EXPECT_FALSE(resumed->was_finished);
  EXPECT_EQ(seen, 5);
  expect_alike(whole, contents());
  EXPECT_TRUE(make()->was_finished);
}

TEST_F(AtlasRun, KeepsWhatIsThere) {
  ASSERT_EQ(error(), "");
  EXPECT_NE(error().find("the file exists; --resume continues it"), std::string::npos) << error();
  options_.resume = true;
  options_.windows = 13;
  EXPECT_NE(error().find("windows 12 in the file, 13 now"), std::string::npos) << error();
  options_.windows = 12;
  options_.seed = 3;
  EXPECT_NE(error().find("seed 0 in the file, 3 now"), std::string::npos) << error();
  options_.seed = 0;
  options_.what = {"loss"};
  EXPECT_NE(error().find("what heads, loss, mean-map in the file, loss now"), std::string::npos) << error();
  options_.what = {"heads", "loss", "mean-map"};
  options_.corpus = {run_asset("samples/alice.txt")};
  EXPECT_NE(error().find("another corpus"), std::string::npos) << error();
  EXPECT_EQ(contents().info.done, 12);
}

TEST_F(AtlasRun, CompactFilesHaveTheSameIntervals) {
  ASSERT_EQ(error(), "");
  const auto full = models::open_atlas(options_.out).value();
  options_.out = folder_.path() / "compact.safetensors";
  options_.compact = true;
  ASSERT_EQ(error(), "");
  const auto compact = models::open_atlas(options_.out).value();
  for (const std::string& name : full->statistics()) {
    const std::int64_t layer = full->of_model(name) ? models::kAtlasOfModel : 0;
    const auto a = full->values(name, layer).value();
    const auto b = compact->values(name, layer).value();
    const double tolerance = name == "mean-map" ? 2e-7 : 0;  // maps are kept in float32
    EXPECT_TRUE(alike(a.mean, b.mean, tolerance)) << name;
    EXPECT_TRUE(alike(a.low, b.low, tolerance)) << name;
    EXPECT_TRUE(alike(a.high, b.high, tolerance)) << name;
  }
  EXPECT_LT(std::filesystem::file_size(options_.out), std::filesystem::file_size(folder_.path() / "atlas.safetensors"));
}

// A finished file becomes compact without a run; once more changes nothing.
TEST_F(AtlasRun, AFinishedFileCanBeMadeCompact) {
  ASSERT_EQ(error(), "");
  const auto full = models::open_atlas(options_.out).value()->values("heads.previous", 0).value();
  const auto size = std::filesystem::file_size(options_.out);
  options_.resume = options_.compact = true;
  for (int n = 0; n < 2; ++n) {
    const auto made = make();
    ASSERT_TRUE(made.ok()) << made.error().describe();
    EXPECT_TRUE(made->was_finished);
    EXPECT_EQ(made->made_compact, n == 0);
    const auto compact = models::open_atlas(options_.out).value()->values("heads.previous", 0).value();
    EXPECT_TRUE(alike(compact.mean, full.mean));
    EXPECT_TRUE(alike(compact.low, full.low));
    EXPECT_TRUE(alike(compact.high, full.high));
    EXPECT_LT(std::filesystem::file_size(options_.out), size);
  }
}

TEST_F(AtlasRun, TellsWhatCannotBeMade) {
  options_.what = {"moods"};
  EXPECT_NE(error().find("--what: expected some of profile, heads"), std::string::npos) << error();
  options_.what = {"heads"};
  options_.corpus = {folder_.path() / "none"};
  EXPECT_NE(error().find("expected a file, found none"), std::string::npos) << error();
  options_.corpus = {run_asset("samples")};
  checkpoint_ = run_asset("checkpoints/shapes-learned");
  model_ = test::open_model(checkpoint_);
  EXPECT_NE(error().find("this model has pictures as input"), std::string::npos) << error();
  EXPECT_FALSE(std::filesystem::exists(options_.out));
}

// A window that cannot be run ends the work with its number; a learned table has no position 300.
TEST_F(AtlasRun, NamesTheWindowThatFails) {
  checkpoint_ = run_asset("checkpoints/text-learned");
  model_ = test::open_model(checkpoint_);
  options_.length = 300;
  EXPECT_NE(error().find("window 0"), std::string::npos) << error();
}

TEST_F(AtlasRun, NamesTheCheckpoint) {
  ASSERT_EQ(error(), "");
  const auto atlas = models::open_atlas(options_.out).value();
  EXPECT_EQ(atlas->info().checkpoint, "text-rope");
  EXPECT_EQ(atlas->info().family, "llama");
  EXPECT_EQ(atlas->info().encoding, "rope");
  EXPECT_EQ(atlas->info().sha256.size(), 64U);
  EXPECT_TRUE(atlas->info().step.has_value());
  EXPECT_EQ(models::atlas::step_in_name("pythia-70m-step1000"), 1000);
  EXPECT_EQ(models::atlas::step_in_name("step_0"), 0);
  EXPECT_EQ(models::atlas::step_in_name("text-rope"), std::nullopt);
}

// The weights of replicates are Poisson numbers with mean 1: mean and variance 1 within 4 deviations, e⁻¹ of them 0; a
// shuffled sample has those of its text.
TEST_F(AtlasRun, ReplicatesHavePoissonWeights) {
  std::vector<double> weights(20000);
  models::atlas::draw_weights(1, Kind::kWindow, 7, weights);
  const double mean = std::accumulate(weights.begin(), weights.end(), 0.0) / 20000;
  double variance = 0;
  for (const double weight : weights) {
    variance += (weight - mean) * (weight - mean) / 20000;
  }
  const double zeros = static_cast<double>(std::count(weights.begin(), weights.end(), 0.0)) / 20000;
  EXPECT_NEAR(mean, 1, 4 / std::sqrt(20000.0));
  EXPECT_NEAR(variance, 1, 4 * std::sqrt(3 / 20000.0));
  EXPECT_NEAR(zeros, std::exp(-1), 4 * std::sqrt(0.24 / 20000));
  std::vector<double> shuffled(20000);
  models::atlas::draw_weights(1, Kind::kShuffledWindow, 7, shuffled);
  EXPECT_EQ(weights, shuffled);
  models::atlas::draw_weights(1, Kind::kWindow, 8, shuffled);
  EXPECT_NE(weights, shuffled);
}

// Atlases in assets/atlases belong to the bundled checkpoints as they are now, or to models that are not bundled.
TEST_F(AtlasRun, BundledAtlasesAreOfTheBundledCheckpoints) {
  int count = 0;
  int others = 0;
  for (const auto& entry : std::filesystem::directory_iterator(run_asset("atlases"))) {
    if (entry.path().extension() != ".safetensors") {
      continue;
    }
    SCOPED_TRACE(entry.path().filename().string());
    const auto atlas = models::open_atlas(entry.path());
    ASSERT_TRUE(atlas.ok()) << atlas.error().describe();
    const models::AtlasInfo& info = (*atlas)->info();
    const std::filesystem::path checkpoint = run_asset("checkpoints/" + info.checkpoint);
    if (!std::filesystem::exists(checkpoint)) {
      EXPECT_EQ(info.sha256.size(), 64U);
      EXPECT_LE(entry.file_size(), 4000000U);
      for (const char* statistic : {"heads.entropy", "heads.place", "loss"}) {
        EXPECT_TRUE((*atlas)->has(statistic, models::AtlasNull::kShuffled)) << statistic;
      }
      ++others;
      continue;
    }
    EXPECT_EQ(info.sha256, models::atlas::facts_of(checkpoint).value().sha256);
    EXPECT_EQ(info.done, info.windows);
    EXPECT_LE(entry.file_size(), 1000000U);  // as assets/atlases/README.md says
    for (const char* statistic : {"heads.entropy", "mean-map", "loss"}) {
      EXPECT_TRUE((*atlas)->has(statistic, models::AtlasNull::kShuffled)) << statistic;
    }
    ++count;
  }
  EXPECT_GE(count, 5);
  EXPECT_EQ(others, 2);
}

}  // namespace
}  // namespace locus

// The heads of layers without a soft-max in an atlas, against their definitions from whole maps of the same windows.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/analysis/cell_means.h"
#include "core/base/numbers.h"
#include "models/api/analyses.h"
#include "models/api/atlas_run.h"
#include "models/api/atlas_trace.h"
#include "models/atlas/windows.h"
#include "models/formats/atlas/contents.h"
#include "tests/support/checkpoint_folder.h"
#include "tests/support/paths.h"

namespace locus {
namespace {

using models::AtlasNull;
using models::Side;
using models::TracePointer;

constexpr std::int64_t kMixedWindows = 3;
constexpr std::int64_t kMixedLength = 72;
constexpr std::uint64_t kMixedSeed = 4;
constexpr double kMixedTolerance = 3e-5;  // float32 sums over up to 2,628 cells

class AtlasMixers : public testing::Test {
 protected:
  void SetUp() override {
    path_ = std::filesystem::path(test::source_dir()) / "assets" / "checkpoints" / "text-delta-nope";
    model_ = test::open_model(path_);
    ASSERT_NE(model_, nullptr);
    options_.corpus = {std::filesystem::path(test::source_dir()) / "assets" / "samples" / "alice.txt"};
    options_.windows = kMixedWindows;
    options_.length = kMixedLength;
    options_.seed = kMixedSeed;
    options_.what = {"heads", "mixers"};
    options_.out = folder_.path() / "atlas.safetensors";
  }

  std::shared_ptr<const models::Atlas> make() {
    const auto made = make_atlas(*model_, path_, options_);
    EXPECT_TRUE(made.ok()) << made.error().describe();
    const auto atlas = models::open_atlas(options_.out);
    EXPECT_TRUE(atlas.ok()) << atlas.error().describe();
    return atlas.ok() ? *atlas : nullptr;
  }

  // The mixers' sides of the windows, or of their shuffled tokens.
  std::vector<TracePointer> sides(bool shuffled) const {
    const auto corpus = models::atlas::Corpus::open(options_.corpus).value();
    const auto encode = [&](const std::string& text) { return model_->tokenize({.text = text}); };
    const auto windows =
        models::atlas::Windows::make(corpus, encode, {kMixedWindows, kMixedLength, kMixedSeed}).value();
    std::vector<TracePointer> sides;
    for (std::int64_t n = 0; n < kMixedWindows; ++n) {
      const auto window = windows.at(n).value();
      const auto ids = shuffled ? windows.shuffled(window, n).ids : window.ids;
      sides.push_back(model_->run({.ids = ids}, {}).value()->side(Side::kMixer));
    }
    return sides;
  }

  test::TemporaryFolder folder_;
  std::filesystem::path path_;
  std::shared_ptr<const models::Model> model_;
  models::AtlasOptions options_;
};

// |M| by rows that sum to 1, from the signed map.
std::vector<std::vector<double>> shares_of(const models::Trace& side, std::int64_t layer, std::int64_t head) {
  const Field map = side.map({layer, head, models::Quantity::kImplied, {}, {}, false}).value();
  std::vector<std::vector<double>> shares(static_cast<std::size_t>(map.rows));
  for (std::int64_t i = 0; i < map.rows; ++i) {
    double sum = 0;
    for (std::int64_t j = 0; j <= i; ++j) {
      sum += std::abs(static_cast<double>(map.at(i, j)));
    }
    for (std::int64_t j = 0; j <= i; ++j) {
      shares[static_cast<std::size_t>(i)].push_back(std::abs(static_cast<double>(map.at(i, j))) / sum);
    }
  }
  return shares;
}

struct Habits {
  double previous = 0, first = 0, self = 0, distance = 0, entropy = 0;
  std::vector<double> profile;
};
Habits habits_of(const std::vector<std::vector<double>>& shares) {
  Habits habits;
  const auto edges = analysis::distance_edges(kMixedLength);
  habits.profile.resize(edges.size() - 1);
  std::vector<double> cells(habits.profile.size());
  const auto length = static_cast<std::int64_t>(shares.size());
  for (std::int64_t i = 0; i < length; ++i) {
    const auto& row = shares[static_cast<std::size_t>(i)];
    for (std::int64_t j = 0; j <= i; ++j) {
      const double share = row[static_cast<std::size_t>(j)];
      const auto bin = static_cast<std::size_t>(std::ranges::upper_bound(edges, i - j) - edges.begin() - 1);
      habits.profile[bin] += share;
      cells[bin] += 1;
      if (i > 0) {
        habits.distance += share * static_cast<double>(i - j) / static_cast<double>(length - 1);
        habits.entropy -= share > 0 ? share * std::log(share) / static_cast<double>(length - 1) : 0;
      }
    }
    if (i > 0) {
      habits.previous += row[static_cast<std::size_t>(i - 1)] / static_cast<double>(length - 1);
      habits.first += row.front() / static_cast<double>(length - 1);
      habits.self += row.back() / static_cast<double>(length - 1);
    }
  }
  for (std::size_t bin = 0; bin < cells.size(); ++bin) {
    habits.profile[bin] /= cells[bin];
  }
  return habits;
}

double median_halvings(const models::Trace& side, std::int64_t layer, std::int64_t head) {
  const Field lives = side.state_numbers(layer, models::StateNumber::kHalfLife).value();
  std::vector<float> own(lives.values.begin() + head * lives.columns,
                         lives.values.begin() + (head + 1) * lives.columns);
  std::ranges::sort(own);
  return 1 / static_cast<double>(own[(own.size() - 1) / 2]);
}

TEST_F(AtlasMixers, AreTheMeansOfTheirMaps) {
  const auto whole = make();
  ASSERT_NE(whole, nullptr);
  const auto atlas = models::mixers_of(whole);
  ASSERT_NE(atlas, nullptr);
  for (const AtlasNull null : {AtlasNull::kText, AtlasNull::kShuffled}) {
    const auto traces = sides(null == AtlasNull::kShuffled);
    const models::ModelInfo& info = traces.front()->model();
    EXPECT_EQ(atlas->info().heads, info.heads);
    std::int64_t compared = 0;
    for (std::int64_t layer = 0; layer < info.layers; ++layer) {
      const auto number = [&](const std::string& name, std::int64_t entry) {
        const auto values = atlas->values(name, layer, null);
        EXPECT_TRUE(values.ok()) << values.error().describe();
        return values.ok() ? values->mean[static_cast<std::size_t>(entry)] : kNaN;
      };
      for (std::int64_t head = 0; head < info.heads; ++head) {
        if (!info.layer_info[static_cast<std::size_t>(layer)].attends) {
          EXPECT_TRUE(std::isnan(number("heads.previous", head)));
          EXPECT_TRUE(std::isnan(number("heads.decay", head)));
          continue;
        }
        Habits mean;
        double decay = 0;
        for (const TracePointer& trace : traces) {
          const Habits own = habits_of(shares_of(*trace, layer, head));
          const double part = 1.0 / kMixedWindows;
          mean.profile.resize(own.profile.size());
          std::ranges::transform(mean.profile, own.profile, mean.profile.begin(),
                                 [&](double a, double b) { return a + b * part; });
          mean.previous += own.previous * part;
          mean.first += own.first * part;
          mean.self += own.self * part;
          mean.distance += own.distance * part;
          mean.entropy += own.entropy * part;
          decay += median_halvings(*trace, layer, head) * part;
        }
        const auto expect = [&](const std::string& name, std::int64_t entry, double expected) {
          EXPECT_NEAR(number(name, entry), expected, kMixedTolerance * (1 + std::abs(expected)))
              << name << " " << layer << "." << head;
        };
        expect("heads.previous", head, mean.previous);
        expect("heads.first", head, mean.first);
        expect("heads.self", head, mean.self);
        expect("heads.distance", head, mean.distance);
        expect("heads.entropy", head, mean.entropy);
        expect("heads.decay", head, decay);
        const auto bins = static_cast<std::int64_t>(mean.profile.size());
        for (std::int64_t bin = 0; bin < bins; ++bin) {
          expect("profile.weight", head * bins + bin, mean.profile[static_cast<std::size_t>(bin)]);
        }
        ++compared;
      }
    }
    EXPECT_GT(compared, 4);
  }
  const auto decay = atlas->values("heads.decay", 0);
  ASSERT_TRUE(decay.ok());
  EXPECT_LE(decay->low[0], decay->mean[0]);
  EXPECT_GE(decay->high[0], decay->mean[0]);
  EXPECT_TRUE(atlas->has("heads.induction"));
}

// The side of the file that views ask for, and what the other heads of the same layers are.
TEST_F(AtlasMixers, AreASideOfTheAtlas) {
  ASSERT_NE(make(), nullptr);
  const auto trace = models::open_atlas_trace(options_.out);
  ASSERT_TRUE(trace.ok());
  const auto side = (*trace)->side(Side::kMixer);
  ASSERT_NE(side, nullptr);
  EXPECT_EQ(side->model().heads, models::atlas_of(*side)->info().heads);
  EXPECT_FALSE(models::atlas_of(*side)->has("loss"));
  EXPECT_EQ((*trace)->side(Side::kEncoder), nullptr);
  const models::Atlas& attending = *models::atlas_of(**trace);
  EXPECT_FALSE(attending.has("heads.decay"));
  for (std::int64_t layer = 0; layer < model_->info().layers; ++layer) {
    const bool attends = model_->info().layer_info[static_cast<std::size_t>(layer)].attends;
    EXPECT_EQ(std::isnan(attending.values("heads.previous", layer)->mean[0]), !attends) << layer;
  }
  EXPECT_EQ(models::atlas_of(*side)->values("heads.decay", 99).error().code, ErrorCode::kBadInput);
}

TEST_F(AtlasMixers, AreNotOfOtherModels) {
  path_ = path_.parent_path() / "text-rope";
  model_ = test::open_model(path_);
  ASSERT_NE(model_, nullptr);
  const auto made = make_atlas(*model_, path_, options_);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(made.error().describe().find("expected a model with layers without a softmax"), std::string::npos);
  options_.what = {"heads"};
  const auto plain = make();
  ASSERT_NE(plain, nullptr);
  EXPECT_EQ(models::mixers_of(plain), nullptr);
}

// A file whose heads are not as many as it says.
TEST_F(AtlasMixers, RefuseOtherNumbersOfHeads) {
  ASSERT_NE(make(), nullptr);
  models::atlas::Contents contents = models::atlas::read_contents(options_.out).value();
  for (const std::int64_t heads : {contents.info.mixer_heads + 1, std::int64_t{0}}) {
    contents.info.mixer_heads = heads;
    ASSERT_TRUE(models::atlas::write_atlas(options_.out, contents).ok());
    const auto opened = models::open_atlas(options_.out);
    ASSERT_FALSE(opened.ok());
    EXPECT_NE(opened.error().describe().find("and " + std::to_string(heads) + " heads"), std::string::npos)
        << opened.error().describe();
  }
}

}  // namespace
}  // namespace locus

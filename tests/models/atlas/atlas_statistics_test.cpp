// Every statistic of an atlas against its definition, window by window from whole maps of the runs.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <numbers>
#include <tuple>

#include "core/base/atomic_file.h"
#include "core/base/numbers.h"
#include "models/api/addressing.h"
#include "models/api/analyses.h"
#include "models/api/atlas_run.h"
#include "models/atlas/sums.h"
#include "models/atlas/windows.h"
#include "models/engine/trace/recorded_trace.h"
#include "models/training/random.h"
#include "tests/support/checkpoint_folder.h"
#include "tests/support/paths.h"

namespace locus {
namespace {

using models::Atlas;
using models::AtlasNull;
using models::AtlasValues;
using models::TracePointer;
using models::atlas::Kind;

constexpr std::int64_t kWindows = 3;
constexpr std::int64_t kLength = 80;
constexpr std::int64_t kPixels = 13;
constexpr std::uint64_t kSeed = 5;
constexpr double kClose = 3e-5;  // float32 sums over up to 3,240 cells

std::filesystem::path asset(const std::string& name) {
  return std::filesystem::path(test::source_dir()) / "assets" / name;
}

// One statistic's numbers of each sample, and what the atlas should make of them.
struct Expected {
  std::vector<double> samples;
  void add(double value) { samples.push_back(value); }
  double mean() const {
    double sum = 0;
    for (const double x : samples) {
      sum += x;
    }
    return sum / static_cast<double>(samples.size());
  }
  // Of the replicates that draw_weights() says.
  std::pair<double, double> interval(Kind kind) const {
    models::atlas::SampleCount count{static_cast<double>(samples.size()), std::vector<double>(100)};
    std::vector<double> replicates(100);
    std::vector<double> weights(100);
    for (std::size_t s = 0; s < samples.size(); ++s) {
      models::atlas::draw_weights(kSeed, kind, static_cast<std::int64_t>(s), weights);
      for (std::size_t b = 0; b < 100; ++b) {
        count.replicates[b] += weights[b];
        replicates[b] += weights[b] * samples[s];
      }
    }
    const std::vector<float> kept(replicates.begin(), replicates.end());
    const auto interval = models::atlas::bootstrap_interval(kept.data(), 1, 0, count);
    return {interval.low, interval.high};
  }
};

void expect_value(const AtlasValues& values, std::size_t entry, const Expected& expected, const std::string& what,
                  Kind kind = Kind::kWindow) {
  const double mean = expected.mean();
  if (std::isnan(mean)) {
    EXPECT_TRUE(std::isnan(values.mean[entry])) << what;
    return;
  }
  const double tolerance = kClose * (1 + std::abs(mean));
  EXPECT_NEAR(values.mean[entry], mean, tolerance) << what;
  const auto [low, high] = expected.interval(kind);
  EXPECT_NEAR(values.low[entry], low, tolerance) << what;
  EXPECT_NEAR(values.high[entry], high, tolerance) << what;
}

class AtlasStatistics : public testing::Test {
 protected:
  void make(const std::string& checkpoint) { make_of(asset("checkpoints/" + checkpoint)); }

  void make_of(const std::filesystem::path& path) {
    model_ = test::open_model(path);
    ASSERT_NE(model_, nullptr);
    models::AtlasOptions options;
    options.corpus = {asset("samples/alice.txt")};
    options.windows = kWindows;
    options.length = kLength;
    options.map_size = kPixels;
    options.seed = kSeed;
    options.out = folder_.path() / "atlas.safetensors";
    options.overwrite = true;
    const auto made = make_atlas(*model_, path, options);
    ASSERT_TRUE(made.ok()) << made.error().describe();
    atlas_ = models::open_atlas(options.out).value();

    const auto corpus = models::atlas::Corpus::open(options.corpus).value();
    const auto encode = [&](const std::string& text) { return model_->tokenize({.text = text}); };
    const auto windows = models::atlas::Windows::make(corpus, encode, {kWindows, kLength, kSeed}).value();
    traces_.clear();
    shuffled_.clear();
    for (std::int64_t n = 0; n < kWindows; ++n) {
      const auto window = windows.at(n).value();
      traces_.push_back(run(window.ids));
      shuffled_.push_back(run(windows.shuffled(window, n).ids));
    }
  }

  TracePointer run(const std::vector<std::int64_t>& ids) const {
    return model_->run({.ids = ids}, {.all_logits = true, .continuable = true}).value();
  }

  AtlasValues values(const std::string& name, std::int64_t layer, AtlasNull null = AtlasNull::kText) const {
    const auto values = atlas_->values(name, layer, null);
    EXPECT_TRUE(values.ok()) << values.error().describe();
    return values.ok() ? *values : AtlasValues();
  }

  const models::ModelInfo& info() const { return model_->info(); }

  test::TemporaryFolder folder_;
  std::shared_ptr<const models::Model> model_;
  std::shared_ptr<const Atlas> atlas_;
  std::vector<TracePointer> traces_, shuffled_;
};

// Mean of cells (i, j) for which `has` holds.
template <class Has>
double mean_where(const Field& map, const Has& has) {
  double sum = 0;
  double count = 0;
  for (std::int64_t i = 0; i < map.rows; ++i) {
    for (std::int64_t j = 0; j <= i; ++j) {
      if (has(i, j)) {
        sum += static_cast<double>(map.at(i, j));
        count += 1;
      }
    }
  }
  return count > 0 ? sum / count : kNaN;
}

TEST_F(AtlasStatistics, ProfilesAndMapsAreMeansOverCells) {
  for (const char* checkpoint : {"text-rope", "text-cope"}) {
    SCOPED_TRACE(checkpoint);
    make(checkpoint);
    const std::vector<double> edges = atlas_->axis("profile.edges");
    ASSERT_EQ(edges.size(), 67U);  // 64, 72 and the end
    const std::size_t bins = edges.size() - 1;
    for (const std::int64_t layer : {std::int64_t{0}, info().layers - 1}) {
      const AtlasValues weight = values("profile.weight", layer);
      const AtlasValues logit = values("profile.logit", layer);
      const AtlasValues null = values("profile.weight", layer, AtlasNull::kShuffled);
      const AtlasValues map = values("mean-map", layer);
      const AtlasValues map_of_null = values("mean-map", layer, AtlasNull::kShuffled);
      ASSERT_EQ(weight.shape, (std::vector<std::int64_t>{info().heads, static_cast<std::int64_t>(bins)}));
      ASSERT_EQ(map.shape, (std::vector<std::int64_t>{info().heads, kPixels, kPixels}));
      const std::int64_t head = 1;
      std::vector<Expected> weights(bins), logits(bins), nulls(bins), pixels(kPixels * kPixels),
          null_pixels(kPixels * kPixels);
      const auto in_bin = [&](std::size_t bin) {
        return [&edges, bin](std::int64_t i, std::int64_t j) {
          const auto distance = static_cast<double>(i - j);
          return edges[bin] <= distance && distance < edges[bin + 1];
        };
      };
      for (std::size_t n = 0; n < traces_.size(); ++n) {
        const Field a = traces_[n]->map({layer, head, Quantity::kWeight, {}, {}}).value();
        const Field s = traces_[n]->map({layer, head, Quantity::kLogit, {}, {}}).value();
        const Field null_map = shuffled_[n]->map({layer, head, Quantity::kWeight, {}, {}}).value();
        for (std::size_t bin = 0; bin < bins; ++bin) {
          weights[bin].add(mean_where(a, in_bin(bin)));
          logits[bin].add(mean_where(s, in_bin(bin)));
          nulls[bin].add(mean_where(null_map, in_bin(bin)));
        }
        for (std::int64_t pixel = 0; pixel < kPixels * kPixels; ++pixel) {
          const auto within = [&](std::int64_t token, std::int64_t p) {
            return p * kLength / kPixels <= token && token < (p + 1) * kLength / kPixels;
          };
          const auto in_pixel = [&](std::int64_t i, std::int64_t j) {
            return within(i, pixel / kPixels) && within(j, pixel % kPixels);
          };
          pixels[static_cast<std::size_t>(pixel)].add(mean_where(a, in_pixel));
          null_pixels[static_cast<std::size_t>(pixel)].add(mean_where(null_map, in_pixel));
        }
      }
      for (std::size_t bin = 0; bin < bins; ++bin) {
        expect_value(weight, bins + bin, weights[bin], "weight " + std::to_string(bin));
        expect_value(logit, bins + bin, logits[bin], "logit " + std::to_string(bin));
        expect_value(null, bins + bin, nulls[bin], "null " + std::to_string(bin));
      }
      for (std::size_t pixel = 0; pixel < pixels.size(); ++pixel) {
        for (const auto& [values, expected] : {std::pair(&map, &pixels), std::pair(&map_of_null, &null_pixels)}) {
          const double mean = (*expected)[pixel].mean();
          const double found = values->mean[kPixels * kPixels + pixel];
          EXPECT_TRUE(std::isnan(mean) ? std::isnan(found) : std::abs(found - mean) < kClose) << pixel;
        }
      }
    }
  }
}

TEST_F(AtlasStatistics, HeadsAreThoseOfTheTable) {
  make("text-alibi");
  std::vector<std::vector<models::HeadRow>> tables;
  for (const TracePointer& trace : traces_) {
    tables.push_back(models::head_table(*trace, {.bias_pairs = 0}).value());
  }
  const auto expect_column = [&](const char* name, double analysis::HeadStatistics::*member) {
    for (std::int64_t layer = 0; layer < info().layers; ++layer) {
      const AtlasValues found = values(name, layer);
      for (std::int64_t head = 0; head < info().heads; ++head) {
        Expected expected;
        for (const auto& table : tables) {
          expected.add(table[static_cast<std::size_t>(layer * info().heads + head)].statistics.*member);
        }
        expect_value(found, static_cast<std::size_t>(head), expected, name);
      }
    }
  };
  expect_column("heads.entropy", &analysis::HeadStatistics::entropy);
  expect_column("heads.relative-entropy", &analysis::HeadStatistics::relative_entropy);
  expect_column("heads.distance", &analysis::HeadStatistics::mean_distance);
  expect_column("heads.previous", &analysis::HeadStatistics::previous_token);
  expect_column("heads.first", &analysis::HeadStatistics::first_token);
  expect_column("heads.self", &analysis::HeadStatistics::self);

  // Near minus far over all pairs against 4,000 sampled ones of the same texts: 5 standard errors.
  analysis::DistanceBiasOptions options;
  options.pairs = 4000;
  options.head = 2;
  const analysis::DistanceBias bias = models::distance_bias(traces_, 1, options).value();
  EXPECT_NEAR(values("heads.bias-mean", 1).mean[2], bias.mean, 5 * bias.deviation / std::sqrt(4000));
  EXPECT_GT(values("heads.bias-deviation", 1).mean[2], 0);
}

TEST_F(AtlasStatistics, PlaceWordAndBothAreThoseOfTheWindows) {
  for (const char* checkpoint : {"text-rope", "text-cope"}) {
    make(checkpoint);
    for (const auto& [null, traces] :
         {std::pair(AtlasNull::kText, &traces_), std::pair(AtlasNull::kShuffled, &shuffled_)}) {
      std::vector<std::vector<analysis::LayerAddressing>> split;
      for (const TracePointer& trace : *traces) {
        split.push_back(models::addressing(*trace, {.queries = 16, .cells = 1 << 16}).value());
      }
      const Kind kind = null == AtlasNull::kText ? Kind::kWindow : Kind::kShuffledWindow;
      for (const auto& [name, share] : {std::pair("heads.place", &analysis::Addressing::place),
                                        std::pair("heads.word", &analysis::Addressing::word),
                                        std::pair("heads.both", &analysis::Addressing::both)}) {
        const AtlasValues found = values(name, 1, null);
        for (std::size_t head = 0; head < found.mean.size(); ++head) {
          Expected expected;
          for (const auto& layers : split) {
            expected.add(layers[1].heads[head].*share);
          }
          expect_value(found, head, expected, name, kind);
        }
      }
    }
  }
  make("text-learned");  // whose keys have no content apart from their place
  EXPECT_FALSE(atlas_->has("heads.place", AtlasNull::kText));
  EXPECT_TRUE(atlas_->has("heads.entropy", AtlasNull::kText));
}

TEST_F(AtlasStatistics, SinksAreThoseOfTheMaps) {
  make("text-learned");
  const std::int64_t layer = 1;
  const std::int64_t head = 2;
  for (std::int64_t key = 0; key < 16; key += 5) {
    Expected weight, share, window, norm;
    for (const TracePointer& trace : traces_) {
      const Field map = trace->map({layer, head, Quantity::kWeight, {}, {}}).value();
      double sum = 0;
      double over = 0;
      for (std::int64_t i = key + 1; i < kLength; ++i) {
        sum += static_cast<double>(map.at(i, key));
        over += map.at(i, key) > 0.3F ? 1 : 0;
      }
      const auto queries = static_cast<double>(kLength - key - 1);
      weight.add(sum / queries);
      share.add(over / queries);
      window.add(sum / queries > 0.3 ? 1 : 0);
      const at::Tensor value = models::recorded_of(*trace)->data().layers[layer].value;
      norm.add(value[0][head][key].to(at::kDouble).norm().item<double>());
    }
    const std::size_t entry = static_cast<std::size_t>(head * 16 + key);
    expect_value(values("sinks.weight", layer), entry, weight, "weight");
    expect_value(values("sinks.queries", layer), entry, share, "share");
    expect_value(values("sinks.windows", layer), entry, window, "window");
    expect_value(values("sinks.value-norm", layer), entry, norm, "norm");
  }
}

TEST_F(AtlasStatistics, PairsAreNormsOverTheTokens) {
  make("text-rope");
  const std::vector<double> wavelengths = atlas_->axis("pairs.wavelengths");
  ASSERT_EQ(wavelengths.size(), 16U);  // of heads of 32 channels
  const std::int64_t layer = 2;
  const AtlasValues query = values("pairs.query", layer);
  ASSERT_EQ(query.shape, (std::vector<std::int64_t>{4, 16}));
  for (std::int64_t pair = 0; pair < 16; pair += 5) {
    Expected expected;
    for (const TracePointer& trace : traces_) {  // a pair's channels stand half a head apart
      const auto& computed = *models::recorded_of(*trace)->data().layers[layer].computed;
      const at::Tensor q = computed.prepared().query.select(0, 0).select(0, 3).to(at::kDouble);
      const at::Tensor norms = (q.select(1, pair).square() + q.select(1, pair + 16).square()).sqrt();
      expected.add(norms.mean().item<double>());
    }
    expect_value(query, static_cast<std::size_t>(48 + pair), expected, "pair " + std::to_string(pair));
  }
  make("text-alibi");
  EXPECT_FALSE(atlas_->has("pairs.query"));
}

// Two bases in turn with layers where nothing turns, as models with local and global layers have.
TEST_F(AtlasStatistics, EveryEncodingHasItsWavelengths) {
  const std::filesystem::path from = asset("checkpoints/text-rope-nope");
  test::TemporaryFolder own;
  for (const char* const name : {"model.safetensors", "tokenizer.json"}) {
    std::filesystem::copy_file(from / name, own.path() / name);
  }
  std::string config = read_file(from / "config.json", 1 << 20).value();
  const std::string base = "\"base\": 10000.0";
  config.replace(config.find(base), base.size(), "\"base\": 1000000.0");
  std::ofstream(own.path() / "config.json") << config;
  make_of(own.path());
  for (const auto& [layer, axis, theta] :
       {std::tuple(0, "pairs.wavelengths", 1e6), std::tuple(2, "pairs.wavelengths.1", 1e4)}) {
    const std::vector<double> wavelengths = models::pair_wavelengths(*atlas_, layer);
    EXPECT_EQ(wavelengths, atlas_->axis(axis));
    ASSERT_EQ(wavelengths.size(), 16U) << layer;
    for (std::size_t pair = 0; pair < 16; ++pair) {
      const double expected = 2 * std::numbers::pi * std::pow(theta, static_cast<double>(pair) / 16);
      EXPECT_NEAR(wavelengths[pair] / expected, 1, 1e-9) << layer << ", pair " << pair;
    }
  }
  EXPECT_TRUE(models::pair_wavelengths(*atlas_, 1).empty());
  EXPECT_TRUE(models::pair_wavelengths(*atlas_, 3).empty());
  EXPECT_TRUE(models::pair_wavelengths(*atlas_, 4).empty());
  EXPECT_EQ(atlas_->axis("pairs.encoding"), (std::vector<double>{0, -1, 1, -1}));
  // Files that do not tell encodings apart: their one axis is every layer's.
  std::string bytes = read_file(asset("atlases/text-rope-800.safetensors"), 1 << 20).value();
  const std::string numbers = "axes.pairs.encoding";
  bytes.replace(bytes.find(numbers), numbers.size(), "axes.pairs.of_older");
  std::ofstream(own.path() / "old.safetensors", std::ios::binary) << bytes;
  const auto old = models::open_atlas(own.path() / "old.safetensors").value();
  ASSERT_TRUE(old->axis("pairs.encoding").empty());
  EXPECT_EQ(models::pair_wavelengths(*old, 3), old->axis("pairs.wavelengths"));
}

TEST_F(AtlasStatistics, LossIsTheNextTokensNegativeLogProbability) {
  make("text-rope");
  for (const AtlasNull null : {AtlasNull::kText, AtlasNull::kShuffled}) {
    const AtlasValues loss = values("loss", models::kAtlasOfModel, null);
    ASSERT_EQ(loss.shape, (std::vector<std::int64_t>{kLength - 1}));
    for (std::int64_t t = 0; t + 1 < kLength; t += 7) {
      Expected expected;
      for (const TracePointer& trace : null == AtlasNull::kText ? traces_ : shuffled_) {
        const at::Tensor row = models::recorded_of(*trace)->data().logits[t].to(at::kDouble);
        const at::Tensor next = row[trace->tokens()[static_cast<std::size_t>(t + 1)].id];
        expected.add(-(next - row.exp().sum().log()).item<double>());
      }
      expect_value(loss, static_cast<std::size_t>(t), expected, "loss " + std::to_string(t));
    }
  }
}

// 32 random tokens twice: the weight on the token behind the earlier occurrence is A(i, i − 31). The null's second half
// is another order of the first.
TEST_F(AtlasStatistics, InductionIsMeasuredOnRepeatedTokens) {
  make("text-rope");
  std::vector<Expected> scores(4), nulls(4);
  for (std::uint64_t n = 0; n < kWindows; ++n) {
    training::Random random{kSeed, 0x72657065, n};
    std::vector<std::int64_t> ids(64);
    for (std::size_t token = 0; token < 32; ++token) {
      ids[token] = ids[token + 32] = random.below(256);
    }
    const auto mean = [&](const TracePointer& trace, std::int64_t head) {
      const Field map = trace->map({3, head, Quantity::kWeight, {}, {}}).value();
      double sum = 0;
      for (std::int64_t i = 32; i < 64; ++i) {
        sum += static_cast<double>(map.at(i, i - 31));
      }
      return sum / 32;
    };
    const TracePointer repeated = run(ids);
    for (std::int64_t m = 32; m > 1; --m) {
      std::swap(ids[static_cast<std::size_t>(31 + m)], ids[static_cast<std::size_t>(32 + random.below(m))]);
    }
    const TracePointer shuffled = run(ids);
    for (std::size_t head = 0; head < 4; ++head) {
      scores[head].add(mean(repeated, static_cast<std::int64_t>(head)));
      nulls[head].add(mean(shuffled, static_cast<std::int64_t>(head)));
    }
  }
  for (std::size_t head = 0; head < 4; ++head) {
    expect_value(values("heads.induction", 3), head, scores[head], "induction", Kind::kRepeats);
    expect_value(values("heads.induction", 3, AtlasNull::kShuffled), head, nulls[head], "null", Kind::kRepeats);
  }
}

}  // namespace
}  // namespace locus

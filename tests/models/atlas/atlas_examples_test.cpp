// Examples of an atlas: against all windows of a bundled checkpoint ranked whole, and the same by any number of processes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <set>
#include <utility>

#include "core/base/numbers.h"
#include "models/api/addressing.h"
#include "models/api/analyses.h"
#include "models/api/atlas_run.h"
#include "models/atlas/examples.h"
#include "models/training/random.h"
#include "tests/support/checkpoint_folder.h"
#include "tests/support/paths.h"

namespace locus {
namespace {

using models::Example;
using models::ExampleCell;
using models::HeadExamples;
using models::atlas::ExampleContents;
using models::atlas::ExampleFinder;
using models::atlas::ExamplePlan;
using models::atlas::Examples;
using models::atlas::KeptWindow;

// ---- what stays, of made-up windows

constexpr std::int64_t kMadeHeads = 2;

// Activations with many ties; one head has none in every seventh window.
double made_activation(std::int64_t head, std::int64_t window) {
  training::Random random{9, static_cast<std::uint64_t>(head), static_cast<std::uint64_t>(window)};
  return head == 1 && window % 7 == 0 ? kNaN : static_cast<double>(random.below(40)) / 40;
}

std::vector<analysis::SparseCell> made_cells(std::int64_t window) {
  return {{1, 0, 0.25F}, {2, 1, static_cast<float>(window % 100 + 1) / 100.0F}};
}

Result<std::vector<std::string>> made_labels(const std::vector<std::int64_t>& ids) {
  std::vector<std::string> labels;
  for (const std::int64_t id : ids) {
    labels.push_back("t" + std::to_string(id));
  }
  return labels;
}

ExamplePlan made_plan(std::int64_t windows) {
  return {{.top = 5, .sample = 2, .levels = 4}, 1, kMadeHeads, windows, 3, 11};
}

// As `processes` of them would: a finder each, blocks in turn. Stopped and gone on with after `stop` windows.
ExampleContents kept_by(std::int64_t processes, std::int64_t windows, std::int64_t stop = -1) {
  constexpr std::int64_t kBlock = 3;
  const ExamplePlan plan = made_plan(windows);
  std::vector<ExampleFinder> finders(static_cast<std::size_t>(processes), ExampleFinder(plan));
  Examples examples(plan);
  ExampleContents contents;
  for (std::int64_t done = 0; done < windows;) {
    for (ExampleFinder& finder : finders) {
      std::vector<double> items;
      for (std::int64_t window = done; window < std::min(done + kBlock, windows); ++window) {
        const std::vector<std::int64_t> ids{window, 1, 2};
        bool told = false;
        for (std::int64_t head = 0; head < kMadeHeads; ++head) {
          if (finder.may_stay(0, head, window, made_activation(head, window))) {
            if (!told) {
              models::atlas::write_window(window, ids, items);
            }
            told = true;
            models::atlas::write_example(0, head, window, made_activation(head, window), made_cells(window), 3, items);
          }
        }
      }
      items.resize(items.size() + 7);  // padded, as where another process has more
      examples.add(items);
      done = std::min(done + kBlock, windows);
    }
    examples.settle(done);
    if (stop >= 0 && done >= stop) {
      EXPECT_TRUE(examples.write_to(contents, made_labels).ok());
      examples = Examples(plan);
      examples.read_from(contents);
      finders.assign(finders.size(), ExampleFinder(plan));
      stop = -1;
    }
  }
  EXPECT_TRUE(examples.write_to(contents, made_labels).ok());
  return contents;
}

void expect_same_examples(const ExampleContents& a, const ExampleContents& b) {
  EXPECT_EQ(a.windows, b.windows);
  EXPECT_EQ(a.labels, b.labels);
  ASSERT_EQ(a.layers.size(), b.layers.size());
  for (std::size_t layer = 0; layer < a.layers.size(); ++layer) {
    EXPECT_TRUE(std::ranges::equal(a.layers[layer].bounds, b.layers[layer].bounds,
                                   [](double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); }));
    EXPECT_TRUE(a.layers[layer].kept == b.layers[layer].kept) << layer;
  }
}

// The windows of a head ranked whole: the least activation first, of equal ones the later window.
std::vector<std::int64_t> ranked(std::int64_t head, std::int64_t windows) {
  std::vector<std::int64_t> list;
  for (std::int64_t window = 0; window < windows; ++window) {
    if (!std::isnan(made_activation(head, window))) {
      list.push_back(window);
    }
  }
  std::ranges::sort(list, {}, [&](std::int64_t window) { return std::pair(made_activation(head, window), -window); });
  return list;
}

void expect_ranked(const ExampleContents& contents, std::int64_t windows) {
  const ExamplePlan plan = made_plan(windows);
  for (std::int64_t head = 0; head < kMadeHeads; ++head) {
    std::set<std::int64_t> top, sampled;
    std::map<std::int64_t, std::int64_t> of_level;
    for (const KeptWindow& kept : contents.layers[0].kept) {
      if (kept.head != head) {
        continue;
      }
      EXPECT_EQ(kept.activation, made_activation(head, kept.window));
      EXPECT_EQ(kept.cells.back() % models::atlas::kCellScale, (kept.window % 100 + 1) * 100);
      EXPECT_EQ(contents.windows.at(kept.window).front(), kept.window);
      EXPECT_FALSE(kept.waiting);
      (kept.top ? top : sampled).insert(kept.window);
      if (kept.sampled) {
        sampled.insert(kept.window);
        ++of_level[kept.level];
      }
    }
    const std::vector<std::int64_t> all = ranked(head, windows);
    const auto most = std::min<std::ptrdiff_t>(plan.options.top, std::ssize(all));
    EXPECT_EQ(top, std::set<std::int64_t>(all.end() - most, all.end())) << head;
    const std::vector<std::int64_t> first = ranked(head, plan.first_windows());
    for (std::int64_t level = 1; level <= plan.options.levels; ++level) {
      std::int64_t size = 0;
      for (std::int64_t rank = 0; rank < std::ssize(first); ++rank) {
        const double share = static_cast<double>((rank + 1) * plan.options.levels) / static_cast<double>(first.size());
        size += static_cast<std::int64_t>(std::ceil(share)) == level ? 1 : 0;
      }
      EXPECT_EQ(of_level[level], std::min(size, plan.options.sample)) << head << " level " << level;
    }
    for (const std::int64_t window : sampled) {
      EXPECT_LT(window, plan.first_windows());
    }
  }
}

// ---- of a checkpoint

constexpr std::int64_t kExampleLength = 96;

class AtlasExamples : public testing::Test {
 protected:
  static std::filesystem::path asset(const std::string& name) {
    return std::filesystem::path(test::source_dir()) / "assets" / name;
  }

  void SetUp() override {
    model_ = test::open_model(checkpoint_);
    ASSERT_NE(model_, nullptr);
    options_.corpus = {asset("samples/alice.txt")};
    options_.windows = 30;
    options_.length = kExampleLength;
    options_.seed = 4;
    options_.replicates = 5;
    options_.what = {"examples"};
    options_.examples = {.top = 4, .sample = 2, .levels = 3};
    options_.out = folder_.path() / "atlas.safetensors";
  }

  std::string error() const {
    const auto made = make_atlas(*model_, checkpoint_, options_);
    return made.ok() ? "" : made.error().describe();
  }

  std::shared_ptr<const models::Atlas> atlas() const { return models::open_atlas(options_.out).value(); }

  // Every window's run: of the ids in an atlas that keeps all windows.
  std::vector<models::TracePointer> runs() {
    const models::ExampleOptions asked = std::exchange(options_.examples, {.top = 30});
    options_.overwrite = true;
    EXPECT_EQ(error(), "");
    options_.examples = asked;
    std::map<std::int64_t, std::vector<std::int64_t>> ids;
    const HeadExamples all = atlas()->examples(0, 0).value();
    for (const Example& example : all.windows) {
      ids[example.window] = example.ids;
    }
    EXPECT_EQ(ids.size(), 30U);
    std::vector<models::TracePointer> runs;
    for (const auto& [window, own] : ids) {
      runs.push_back(model_->run({.ids = own}, {.keep = {}}).value());
    }
    return runs;
  }

  test::TemporaryFolder folder_;
  std::filesystem::path checkpoint_ = asset("checkpoints/text-rope");
  std::shared_ptr<const models::Model> model_;
  models::AtlasOptions options_;
};

Field example_map(const models::Trace& trace, std::int64_t layer, std::int64_t head) {
  models::MapRequest request;
  request.layer = layer;
  request.head = head;
  return trace.map(request).value();
}

double activation_twin(const std::string& name, const models::Trace& trace, std::int64_t layer, std::int64_t head) {
  if (name == "content") {
    const auto made = addressing(trace, {.queries = 16, .cells = 1 << 16});
    EXPECT_TRUE(made.ok()) << made.error().describe();
    const auto& split = *made;
    return split[static_cast<std::size_t>(layer)].heads[static_cast<std::size_t>(head)].word;
  }
  const Field map = example_map(trace, layer, head);
  const auto& tokens = trace.tokens();
  double largest = 0, induction = 0, previous = 0, far = 0;
  for (std::int64_t i = 1; i < kExampleLength; ++i) {
    previous += static_cast<double>(map.at(i, i - 1)) / (kExampleLength - 1);
    for (std::int64_t j = 1; j <= i; ++j) {
      const auto weight = static_cast<double>(map.at(i, j));
      largest = std::max(largest, weight);
      far += i - j >= 64 ? weight / (kExampleLength - 64) : 0;
      const bool repeats = tokens[static_cast<std::size_t>(j - 1)].id == tokens[static_cast<std::size_t>(i)].id;
      induction += repeats ? weight / kExampleLength : 0;
    }
  }
  return name == "induction" ? induction : name == "previous" ? previous : name == "far" ? far : largest;
}

std::vector<ExampleCell> cells_twin(const models::Trace& trace, std::int64_t layer, std::int64_t head) {
  const Field map = example_map(trace, layer, head);
  std::vector<ExampleCell> cells;
  for (std::int32_t i = 0; i < kExampleLength; ++i) {
    std::vector<std::pair<float, std::int32_t>> row;
    for (std::int32_t j = 0; j <= i; ++j) {
      row.emplace_back(-map.at(i, j), j);
    }
    std::ranges::sort(row);
    row.resize(std::min<std::size_t>(row.size(), 8));
    std::erase_if(row, [](const auto& cell) { return -cell.first < 0.005F; });
    std::ranges::sort(row, {}, [](const auto& cell) { return cell.second; });
    for (const auto& [weight, j] : row) {
      cells.push_back({i, j, static_cast<float>(std::round(static_cast<double>(-weight) * 10000) / 10000)});
    }
  }
  return cells;
}

std::vector<models::TokenWeight> tokens_twin(const HeadExamples& examples, bool queries) {
  std::map<std::string, double> sums;
  for (const Example& window : examples.windows) {
    for (const ExampleCell& cell : window.cells) {
      sums[window.tokens[static_cast<std::size_t>(queries ? cell.query : cell.key)]] +=
          static_cast<double>(cell.weight);
    }
  }
  std::vector<std::pair<double, std::string>> order;
  for (const auto& [token, sum] : sums) {
    order.emplace_back(-sum, token);
  }
  std::ranges::sort(order);
  order.resize(std::min<std::size_t>(order.size(), 50));
  std::vector<models::TokenWeight> tokens;
  for (const auto& [sum, token] : order) {
    tokens.push_back({token, -sum});
  }
  return tokens;
}

TEST_F(AtlasExamples, AnyNumberOfProcessesKeepsTheSame) {
  for (const std::int64_t windows : {1, 2, 9, 40, 333}) {
    SCOPED_TRACE(windows);
    const ExampleContents alone = kept_by(1, windows);
    expect_ranked(alone, windows);
    for (const std::int64_t processes : {2, 3, 5}) {
      expect_same_examples(alone, kept_by(processes, windows));
    }
  }
}

TEST_F(AtlasExamples, AreGoneOnWithToTheSame) {
  const ExampleContents whole = kept_by(1, 200);
  for (const std::int64_t stop : {3, 30, 33, 150}) {
    SCOPED_TRACE(stop);
    expect_same_examples(whole, kept_by(1, 200, stop));
    expect_same_examples(whole, kept_by(3, 200, stop));
  }
}

TEST_F(AtlasExamples, AreWhatRankingAllWindowsGives) {
  const std::vector<models::TracePointer> all = runs();
  for (const models::AtlasStatistic& activation : models::example_activations()) {
    SCOPED_TRACE(activation.name);
    options_.examples.activation = activation.name;
    options_.overwrite = true;
    ASSERT_EQ(error(), "");
    const auto made = atlas();
    EXPECT_EQ(made->info().examples, options_.examples);
    const auto means = made->values("examples.activation", 1, models::AtlasNull::kText).value();
    for (std::int64_t head = 0; head < made->info().heads; ++head) {
      const HeadExamples examples = made->examples(1, head).value();
      std::vector<double> activations;
      for (const models::TracePointer& run : all) {
        activations.push_back(activation_twin(activation.name, *run, 1, head));
      }
      std::vector<double> sorted = activations;
      std::ranges::sort(sorted, std::greater());
      constexpr double kClose = 3e-5;  // float32 sums
      double mean = 0;
      for (const double one : activations) {
        mean += one / static_cast<double>(activations.size());
      }
      EXPECT_NEAR(means.mean[static_cast<std::size_t>(head)], mean, kClose);
      EXPECT_EQ(std::ranges::count_if(examples.windows, &Example::top), 4);
      EXPECT_EQ(std::ranges::count_if(examples.windows, &Example::sampled), 6);
      EXPECT_EQ(examples.bounds.size(), 2U);
      double before = 2;
      std::size_t rank = 0;
      for (const Example& example : examples.windows) {
        const auto window = static_cast<std::size_t>(example.window);
        EXPECT_NEAR(example.activation, activations[window], kClose);
        EXPECT_LE(example.activation, before);
        before = example.activation;
        if (example.top) {
          EXPECT_NEAR(example.activation, sorted[rank++], kClose);
        }
        const auto& tokens = all[window]->tokens();
        for (std::size_t t = 0; t < tokens.size(); ++t) {
          ASSERT_EQ(example.ids[t], tokens[t].id);
          ASSERT_EQ(example.tokens[t], tokens[t].label);
        }
        EXPECT_TRUE(example.cells == cells_twin(*all[window], 1, head)) << "window " << window;
      }
      EXPECT_EQ(examples.query_tokens, tokens_twin(examples, true));
      EXPECT_EQ(examples.key_tokens, tokens_twin(examples, false));
      ASSERT_EQ(examples.histogram.size() + 1, examples.edges.size());
      double count = 0;
      for (std::size_t bin = 0; bin < examples.histogram.size(); ++bin) {
        const auto inside = std::ranges::count_if(activations, [&](double one) {
          return std::abs(one - examples.edges[bin]) > kClose && std::abs(one - examples.edges[bin + 1]) > kClose &&
                 one > examples.edges[bin] && one < examples.edges[bin + 1];
        });
        EXPECT_GE(examples.histogram[bin] + 1e-9, static_cast<double>(inside));
        count += examples.histogram[bin];
      }
      EXPECT_NEAR(count, 30, 1e-9);
    }
  }
}

TEST_F(AtlasExamples, StayTheSameWhenStopped) {
  options_.what = {"heads", "examples"};
  ASSERT_EQ(error(), "");
  const auto bytes = [&] {
    std::ifstream file(options_.out, std::ios::binary);
    return std::string((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  };
  const std::string whole = bytes();
  for (const std::int64_t at : {3, 25}) {
    options_.overwrite = true;
    options_.resume = false;
    std::stop_source stop;
    const auto stopped = make_atlas(
        *model_, checkpoint_, options_,
        [&](const models::AtlasProgress& progress) {
          if (progress.done == at) {
            stop.request_stop();
          }
        },
        stop.get_token());
    ASSERT_TRUE(stopped.ok());
    EXPECT_TRUE(stopped->stopped);
    EXPECT_NE(bytes(), whole);
    EXPECT_FALSE(atlas()->examples(0, 0).value().windows.empty());
    options_.overwrite = false;
    options_.resume = true;
    ASSERT_EQ(error(), "");
    EXPECT_EQ(bytes(), whole);
  }
  options_.examples.top = 5;
  EXPECT_NE(error().find("cannot resume this atlas: examples"), std::string::npos) << error();
}

TEST_F(AtlasExamples, AreKeptOnlyWhereAskedFor) {
  options_.what = {};
  options_.windows = 2;
  ASSERT_EQ(error(), "");
  EXPECT_FALSE(atlas()->info().examples);
  EXPECT_FALSE(atlas()->has("examples.activation"));
  EXPECT_NE(atlas()->examples(0, 0).error().describe().find("locus atlas --what examples"), std::string::npos);
}

TEST_F(AtlasExamples, TellWhatCannotBe) {
  options_.examples.activation = "mood";
  EXPECT_NE(error().find("activation: expected one of largest, induction, previous, far, content"), std::string::npos)
      << error();
  options_.examples.activation = "largest";
  options_.examples.levels = 1;
  EXPECT_NE(error().find("levels: expected a whole number of 2 to 100"), std::string::npos) << error();
  options_.examples.levels = 3;
  options_.length = 20000;
  EXPECT_NE(error().find("at most 16384 tokens, found 20000"), std::string::npos) << error();
  options_.length = kExampleLength;
  options_.examples.activation = "content";
  checkpoint_ = asset("checkpoints/text-learned");  // positions are part of the content
  model_ = test::open_model(checkpoint_);
  EXPECT_NE(error().find("cannot be split"), std::string::npos) << error();
}

// Windows shorter than 65 tokens have nothing far: no examples, and no numbers.
TEST_F(AtlasExamples, HeadsWithoutActivationHaveNone) {
  options_.length = 40;
  options_.windows = 3;
  options_.examples.activation = "far";
  ASSERT_EQ(error(), "");
  const HeadExamples examples = atlas()->examples(0, 0).value();
  EXPECT_TRUE(examples.windows.empty());
  EXPECT_TRUE(examples.bounds.empty());
  EXPECT_TRUE(examples.query_tokens.empty());
  EXPECT_TRUE(std::isnan(atlas()->values("examples.activation", 0, models::AtlasNull::kText).value().mean[0]));
}

}  // namespace
}  // namespace locus

// Kernels of whole models: the logits of single tokens are those of runs, and their mean is the kernel.
#include "models/api/kernel.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "tests/support/bundled.h"
#include "tests/support/checkpoint_folder.h"
#include "tests/support/layouts.h"

namespace locus::test {
namespace {

constexpr std::int64_t kKernelReach = 11;

using Pairs = std::map<std::pair<std::int64_t, std::int64_t>, double>;

// The logit of every pair of tokens.
Result<Pairs> all_pairs(const models::Model& model, const models::Trace& trace, std::int64_t head,
                        std::int64_t distance, std::int64_t reach = kKernelReach) {
  const std::int64_t vocabulary = model.info().vocabulary;
  LOCUS_TRY(const auto list,
            models::strongest_token_pairs(model, trace, {0, head, reach}, distance, vocabulary * vocabulary));
  Pairs pairs;
  for (const models::TokenPair& pair : list) {
    pairs[{pair.query, pair.key}] = pair.logit;
  }
  EXPECT_EQ(static_cast<std::int64_t>(pairs.size()), vocabulary * vocabulary);
  return pairs;
}

struct Moments {
  double mean = 0, deviation = 0;
};
Moments moments_of(const Pairs& pairs) {
  double sum = 0;
  double square = 0;
  for (const auto& [tokens, logit] : pairs) {
    sum += logit;
    square += logit * logit;
  }
  const auto count = static_cast<double>(pairs.size());
  return {sum / count, std::sqrt(std::max(square / count - sum / count * (sum / count), 0.0))};
}

// Layer 0 of the side that reads the ids.
struct Ran {
  std::shared_ptr<const models::Model> model;
  std::shared_ptr<const models::Trace> trace;
  std::vector<std::int64_t> ids;
};

Ran ran(const std::filesystem::path& path) {
  Ran made{open_model(path), nullptr, {}};
  if (made.model == nullptr) {
    return made;
  }
  for (std::int64_t n = 0; n <= kKernelReach; ++n) {
    made.ids.push_back((7 * n + 5) % (made.model->info().vocabulary - 3) + 3);  // no padding, none of the first ones
  }
  models::Input input;
  input.ids = made.ids;
  auto trace = made.model->run(input);
  EXPECT_TRUE(trace.ok()) << (trace.ok() ? "" : trace.error().describe());
  made.trace = trace.ok() ? *trace : nullptr;
  if (made.trace && made.trace->side(models::Side::kEncoder)) {
    made.trace = made.trace->side(models::Side::kEncoder);
  }
  return made;
}

void expect_logit_near(double found, double wanted, const std::string& what) {
  EXPECT_NEAR(found, wanted, 1e-4 * (1 + std::abs(wanted))) << what;
}

// Positions enter with the embedding, or a bias depends on the query's position.
bool moves_with_queries(const models::ModelInfo& info) {
  static const std::set<std::string> kOwn{"learned", "sinusoidal", "fire", "seqpe"};
  return std::any_of(info.encodings.begin(), info.encodings.end(),
                     [](const models::EncodingUse& use) { return kOwn.contains(use.name); });
}

void expect_kernel(const Ran& run, std::int64_t head, const std::string& name) {
  const models::ModelInfo& info = run.trace->model();
  const auto kernel = models::head_kernel(*run.model, *run.trace, {0, head, kKernelReach});
  ASSERT_TRUE(kernel.ok()) << name << ": " << kernel.error().describe();
  EXPECT_TRUE(kernel->exact);
  EXPECT_EQ(kernel->tokens, info.vocabulary) << name;
  ASSERT_EQ(kernel->mean.size(), static_cast<std::size_t>(kKernelReach + 1)) << name;
  models::MapRequest request;
  request.head = head;
  request.quantity = models::Quantity::kLogit;
  const auto map = run.trace->map(request);
  ASSERT_TRUE(map.ok()) << name << ": " << map.error().describe();
  for (const std::int64_t distance : {std::int64_t{0}, std::int64_t{1}, std::int64_t{5}, kKernelReach}) {
    const std::string where = name + " at distance " + std::to_string(distance);
    const auto pairs = all_pairs(*run.model, *run.trace, head, distance);
    ASSERT_TRUE(pairs.ok()) << where << ": " << pairs.error().describe();
    const auto in_run = static_cast<double>(map->at(kKernelReach, kKernelReach - distance));
    const double own = pairs->at({run.ids[kKernelReach], run.ids[static_cast<std::size_t>(kKernelReach - distance)]});
    const double cap = info.layer_info[0].soft_cap;
    if (!std::isnan(in_run)) {
      expect_logit_near(cap > 0 ? cap * std::tanh(own / cap) : own, in_run, where);
    }
    double mean = moments_of(*pairs).mean;
    if (moves_with_queries(info)) {
      mean = 0;
      for (std::int64_t query = distance; query <= kKernelReach; ++query) {
        mean += moments_of(*all_pairs(*run.model, *run.trace, head, distance, query)).mean;
      }
      mean /= static_cast<double>(kKernelReach + 1 - distance);
    }
    if (info.causal) {  // others have the mean of both directions
      expect_logit_near(kernel->mean[static_cast<std::size_t>(distance)], mean, where);
      if (!kernel->spread.empty()) {
        expect_logit_near(kernel->spread[static_cast<std::size_t>(distance)], moments_of(*pairs).deviation, where);
      }
    }
  }
}

TEST(HeadKernel, IsTheMeanOfRunsOnEveryLayout) {
  std::map<std::string, std::string> refused;
  std::set<std::string> shown;
  for (const Layout& layout : layouts()) {
    if (layout.image) {
      continue;
    }
    const TemporaryFolder folder;
    const Ran run = ran(write_layout(layout, folder.path()).path);
    ASSERT_NE(run.trace, nullptr) << layout.name;
    const auto made = models::head_kernel(*run.model, *run.trace, {0, 0, kKernelReach});
    if (!made.ok()) {
      EXPECT_EQ(made.error().code, ErrorCode::kUnsupported) << layout.name << ": " << made.error().describe();
      refused[layout.name] = made.error().message;
      continue;
    }
    shown.insert(layout.family);
    expect_kernel(run, run.trace->model().heads - 1, layout.name);
  }
  EXPECT_GE(shown.size(), 8U);
  for (const auto& [name, message] : refused) {
    const bool of_text = message.find("cope") != std::string::npos || message.find("tape") != std::string::npos ||
                         message.find("tapa") != std::string::npos;
    EXPECT_TRUE(of_text || message.find("two norms") != std::string::npos) << name << ": " << message;
  }
}

TEST(HeadKernel, ReadsASampleOfALargeVocabulary) {
  const auto model = bundled("text-rope");
  ASSERT_NE(model, nullptr);
  const views::Column column = column_of(model, "A grey cat.");
  const std::int64_t vocabulary = model->info().vocabulary;
  const auto whole = models::head_kernel(*model, *column.trace, {0, 1, 64, vocabulary / 4});
  ASSERT_TRUE(whole.ok()) << whole.error().describe();
  EXPECT_EQ(whole->tokens, vocabulary);
  EXPECT_EQ(whole->vocabulary, vocabulary);
  EXPECT_TRUE(whole->error.empty());
  const std::int64_t some = vocabulary / 4 - 1;
  const auto sampled = models::head_kernel(*model, *column.trace, {0, 1, 64, some});
  ASSERT_TRUE(sampled.ok()) << sampled.error().describe();
  EXPECT_EQ(sampled->tokens, some);
  EXPECT_EQ(sampled->vocabulary, vocabulary);
  ASSERT_EQ(sampled->error.size(), whole->mean.size());
  for (std::size_t n = 0; n < whole->mean.size(); ++n) {
    EXPECT_GT(sampled->error[n], 0) << n;
    EXPECT_LE(std::abs(sampled->mean[n] - whole->mean[n]), 4 * sampled->error[n]) << n;
  }
}

TEST(HeadKernel, EndsWhereATableEndsAndSaysSo) {
  const auto model = bundled("text-learned");
  ASSERT_NE(model, nullptr);
  const views::Column column = column_of(model, "A grey cat.");
  const auto kernel = models::head_kernel(*model, *column.trace, {});
  ASSERT_TRUE(kernel.ok()) << kernel.error().describe();
  EXPECT_TRUE(kernel->shortened);
  EXPECT_EQ(kernel->reach, model->info().trained_length - 1);
  EXPECT_TRUE(kernel->spread.empty());
}

TEST(HeadKernel, SaysThatDeeperLayersAreApproximated) {
  const auto model = bundled("text-rope");
  ASSERT_NE(model, nullptr);
  const views::Column column = column_of(model, "A grey cat.");
  EXPECT_TRUE(models::head_kernel(*model, *column.trace, {0, 1, 64})->exact);
  EXPECT_FALSE(models::head_kernel(*model, *column.trace, {1, 1, 64})->exact);
}

TEST(HeadKernel, RefusesWhatHasNone) {
  const auto cope = bundled("text-cope");
  const views::Column counts = column_of(cope, "A grey cat.");
  const auto gates = models::head_kernel(*cope, *counts.trace, {});
  ASSERT_FALSE(gates.ok());
  EXPECT_EQ(gates.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(gates.error().message.find("cope"), std::string::npos);
  const auto rope = bundled("text-rope");
  const views::Column text = column_of(rope, "A grey cat.");
  EXPECT_EQ(models::head_kernel(*rope, *text.trace, {9, 0, 64}).error().code, ErrorCode::kBadInput);
  EXPECT_EQ(models::head_kernel(*rope, *text.trace, {0, 9, 64}).error().code, ErrorCode::kBadInput);
  EXPECT_EQ(models::strongest_token_pairs(*rope, *text.trace, {0, 0, 64}, 65).error().code, ErrorCode::kBadInput);
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(models::head_kernel(*rope, *text.trace, {}, stop.get_token()).error().code, ErrorCode::kCancelled);
}

}  // namespace
}  // namespace locus::test

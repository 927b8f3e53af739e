// The kernel of a head: what brute force over all pairs of tokens says, for every encoding of the list.
#include "core/analysis/kernel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/analysis/kernel_source.h"
#include "core/position/list.h"
#include "tests/support/encodings.h"

namespace locus::test {
namespace {

using analysis::KernelSource;
using Encoding = std::shared_ptr<const position::PositionEncoding>;

constexpr std::int64_t kKernelTokens = 7;
constexpr std::int64_t kKernelReach = 11;
constexpr double kKernelTolerance = 1e-5;  // the encodings' own parameters are float32

void expect_kernel_near(double found, double wanted, const std::string& what) {
  EXPECT_NEAR(found, wanted, kKernelTolerance * (1 + std::abs(wanted))) << what;
}

// A small vocabulary as a layer of H = 4 heads over two key heads projects it: (H or Hkv, V, D).
struct Words {
  at::Tensor query;
  at::Tensor key;
};

Words random_words(const position::ModelShape& shape) {
  at::manual_seed(3);
  return {at::randn({shape.heads, kKernelTokens, shape.head_width}, at::kDouble),
          at::randn({shape.kv_heads, kKernelTokens, shape.head_width}, at::kDouble)};
}

KernelSource kernel_source_of(const Encoding& encoding, const Words& words, std::int64_t head, bool causal = true) {
  const position::ModelShape& shape = encoding->shape();
  const at::Tensor query = words.query[head];
  const at::Tensor key = words.key[head / (shape.heads / shape.kv_heads)];
  const auto count = static_cast<double>(query.size(0));
  return {encoding,
          0,
          causal,
          kKernelReach,
          words.query.mean(1, true),
          words.key.mean(1, true),
          at::matmul(query.t(), query) / count,
          at::matmul(key.t(), key) / count,
          at::matmul(query.t(), key) / count};
}

// The whole map of a text whose queries are all token x, and whose keys are all token y.
at::Tensor kernel_map_of(const Encoding& encoding, const Words& words, std::int64_t head, std::int64_t x,
                         std::int64_t y) {
  const auto everywhere = [](const at::Tensor& tokens, std::int64_t token) {
    const at::Tensor one = tokens.select(1, token).unsqueeze(1);
    return one.expand({-1, kKernelReach + 1, -1}).unsqueeze(0).to(at::kFloat).contiguous();
  };
  const position::Prepared prepared = prepare(*encoding, position::Positions::sequence(kKernelReach + 1),
                                              everywhere(words.query, x), everywhere(words.key, y));
  return whole_map(*encoding, prepared).logits.select(0, 0)[head].to(at::kDouble);
}

// Mean and deviation by |Δ| over all pairs of tokens, with one loop each.
struct Brute {
  std::vector<double> mean, deviation;
};
Brute brute_kernel(const Encoding& encoding, const Words& words, std::int64_t head, bool causal = true) {
  std::vector<double> sum(kKernelReach + 1), square(kKernelReach + 1), count(kKernelReach + 1);
  for (std::int64_t x = 0; x < kKernelTokens; ++x) {
    for (std::int64_t y = 0; y < kKernelTokens; ++y) {
      const at::Tensor map = kernel_map_of(encoding, words, head, x, y).contiguous();
      for (std::int64_t i = 0; i <= kKernelReach; ++i) {
        for (std::int64_t j = 0; j <= (causal ? i : kKernelReach); ++j) {
          const double logit = map[i][j].item<double>();
          const auto distance = static_cast<std::size_t>(std::abs(i - j));
          sum[distance] += logit;
          square[distance] += logit * logit;
          count[distance] += 1;
        }
      }
    }
  }
  Brute brute;
  for (std::size_t n = 0; n < sum.size(); ++n) {
    brute.mean.push_back(sum[n] / count[n]);
    brute.deviation.push_back(std::sqrt(std::max(square[n] / count[n] - brute.mean[n] * brute.mean[n], 0.0)));
  }
  return brute;
}

Encoding random_encoding(const std::string& name, const Settings& options = {}) {
  return encoding(name, options, shape_of(4, 8, 2));
}

void expect_twin(const Encoding& encoding, const std::string& name, std::int64_t head = 2, bool causal = true) {
  const Words words = random_words(encoding->shape());
  const auto made = analysis::kernel(kernel_source_of(encoding, words, head, causal), head);
  ASSERT_TRUE(made.ok()) << name << ": " << made.error().describe();
  const Brute brute = brute_kernel(encoding, words, head, causal);
  ASSERT_EQ(made->mean.size(), brute.mean.size());
  for (std::size_t n = 0; n < brute.mean.size(); ++n) {
    const std::string where = name + " at distance " + std::to_string(n);
    expect_kernel_near(made->mean[n], brute.mean[n], where);
    if (!made->spread.empty()) {
      expect_kernel_near(made->spread[n], brute.deviation[n], where);
    }
    double parts = 0;
    for (std::int64_t row = 0; row < made->parts.rows; ++row) {
      parts += static_cast<double>(made->parts.at(row, static_cast<std::int64_t>(n)));
    }
    if (made->parts.rows > 0) {
      expect_kernel_near(parts, brute.mean[n], where);
    }
  }
}

// The error of a sample against what leaving out one token after another says (jackknife).
void expect_jackknife(const Encoding& encoding, bool causal, const std::string& name) {
  constexpr std::int64_t kTokens = 60;
  constexpr std::int64_t kHead = 2;
  const position::ModelShape& shape = encoding->shape();
  at::manual_seed(4);
  // Queries and keys of a token resemble each other, and have means.
  const at::Tensor common = at::randn({1, kTokens, shape.head_width}, at::kDouble);
  const Words words{at::randn({shape.heads, kTokens, shape.head_width}, at::kDouble) + common + 0.5,
                    at::randn({shape.kv_heads, kTokens, shape.head_width}, at::kDouble) + common - 0.3};
  KernelSource source = kernel_source_of(encoding, words, kHead, causal);
  EXPECT_TRUE(analysis::kernel(source, kHead)->error.empty()) << name;  // every token was read
  source.sampling = 1.0 / kTokens - 1.0 / (10 * kTokens);
  const auto made = analysis::kernel(source, kHead);
  ASSERT_TRUE(made.ok()) << name;
  ASSERT_EQ(made->error.size(), made->mean.size()) << name;
  std::vector<double> sum(made->mean.size());
  std::vector<double> square(made->mean.size());
  for (std::int64_t left = 0; left < kTokens; ++left) {
    const auto others = [&](const at::Tensor& tokens) {
      return at::cat({tokens.slice(1, 0, left), tokens.slice(1, left + 1)}, 1);
    };
    const auto without =
        analysis::kernel(kernel_source_of(encoding, {others(words.query), others(words.key)}, kHead, causal), kHead);
    for (std::size_t n = 0; n < sum.size(); ++n) {
      sum[n] += without->mean[n];
      square[n] += without->mean[n] * without->mean[n];
    }
  }
  for (std::size_t n = 0; n < sum.size(); ++n) {
    const double variance = square[n] - sum[n] * sum[n] / kTokens;
    const double jackknife = std::sqrt((kTokens - 1.0) / kTokens * variance * 0.9);  // a tenth of the vocabulary
    EXPECT_NEAR(made->error[n] / jackknife, 1, 0.05) << name << " at distance " << n;
  }
}

TEST(Kernel, TellsTheErrorOfASample) {
  for (const char* const name : {"none", "rope", "alibi", "xpos"}) {
    expect_jackknife(random_encoding(name), true, name);
    expect_jackknife(random_encoding(name), false, std::string(name) + ", both directions");
  }
}

std::vector<std::string> text_encodings() {
  std::vector<std::string> names;
  for (const position::Entry& entry : position::encodings()) {
    if (takes_sequences(entry.description.name)) {
      names.push_back(entry.description.name);
    }
  }
  return names;
}

TEST(Kernel, IsTheMeanOverAllPairsForEveryEncodingOfTheList) {
  std::vector<std::string> refused;
  for (const std::string& name : text_encodings()) {
    const Encoding encoding = random_encoding(name);
    if (const Status has = analysis::has_kernel(*encoding, 0); !has.ok()) {
      EXPECT_EQ(has.error().code, ErrorCode::kUnsupported);
      EXPECT_NE(has.error().message.find(name), std::string::npos) << has.error().message;
      refused.push_back(name);
      continue;
    }
    expect_twin(encoding, name);
  }
  EXPECT_EQ(refused, (std::vector<std::string>{"relative-state", "fox", "path", "selective", "stick-breaking", "dape",
                                               "repo", "pope", "cope", "tapa", "tape"}));
}

TEST(Kernel, FollowsScalingsFractionAndLayout) {
  const std::vector<Settings> all{
      {{"scaling", std::string("linear")}, {"factor", 4.0}},
      {{"scaling", std::string("ntk")}, {"factor", 4.0}},
      {{"scaling", std::string("dynamic")}, {"factor", 4.0}, {"original_max_position_embeddings", std::int64_t{6}}},
      {{"scaling", std::string("yarn")}, {"factor", 4.0}, {"original_max_position_embeddings", std::int64_t{6}}},
      {{"fraction", 0.5}},
      {{"layout", std::string("interleaved")}, {"base", 100.0}},
      {{"sections", std::vector<double>{2, 1, 1}}},
  };
  for (const Settings& options : all) {
    const Encoding rope = random_encoding("rope", options);
    expect_twin(rope, to_text(options.values().begin()->second));
    expect_twin(rope, "both ways " + to_text(options.values().begin()->second), 3, false);
    EXPECT_FALSE(analysis::kernel(kernel_source_of(rope, random_words(rope->shape()), 0), 0)->spread.empty());
  }
}

TEST(Kernel, SpreadsWhereABiasIsAddedAlone) {
  for (const char* const name : {"none", "alibi", "t5", "kerple-log", "kerple-power", "fire"}) {
    const Encoding encoding = random_encoding(name);
    EXPECT_EQ(analysis::kernel(kernel_source_of(encoding, random_words(encoding->shape()), 1), 1)->spread.size(),
              static_cast<std::size_t>(kKernelReach + 1))
        << name;
  }
  const Encoding relative = random_encoding("relative");
  EXPECT_TRUE(analysis::kernel(kernel_source_of(relative, random_words(relative->shape()), 1), 1)->spread.empty());
}

TEST(Kernel, RefusesAHeadThatIsNotThere) {
  const Encoding encoding = random_encoding("rope");
  const auto made = analysis::kernel(kernel_source_of(encoding, random_words(encoding->shape()), 0), 4);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code, ErrorCode::kBadInput);
}

TEST(Kernel, MakesLogitsOfSingleTokensForEveryEncoding) {
  const std::int64_t head = 2;
  for (const std::string& name : text_encodings()) {
    const Encoding encoding = random_encoding(name);
    if (!analysis::has_kernel(*encoding, 0).ok()) {
      continue;
    }
    const Words words = random_words(encoding->shape());
    const at::Tensor query = words.query[head].to(at::kFloat);
    const at::Tensor key = words.key[head / 2].to(at::kFloat);
    for (const std::int64_t distance : {std::int64_t{0}, std::int64_t{1}, std::int64_t{5}, kKernelReach}) {
      const auto cells = analysis::cell_vectors(encoding, 0, head, query, key, static_cast<double>(kKernelReach),
                                                static_cast<double>(kKernelReach - distance));
      ASSERT_TRUE(cells.ok()) << name << ": " << cells.error().describe();
      const at::Tensor products = at::matmul(cells->query, cells->key.t());
      for (std::int64_t x = 0; x < kKernelTokens; ++x) {
        const std::int64_t y = (3 * x + 1) % kKernelTokens;
        const double wanted =
            kernel_map_of(encoding, words, head, x, y)[kKernelReach][kKernelReach - distance].item<double>();
        expect_kernel_near(products[x][y].item<double>(), wanted, name + " at distance " + std::to_string(distance));
      }
    }
  }
}

TEST(Kernel, FindsTheLargestOfAllPairs) {
  at::manual_seed(5);
  const analysis::CellVectors vectors{at::randn({2100, 3}), at::randn({4200, 3})};  // more than a block of each
  const auto found = analysis::strongest_pairs(vectors, 20);
  ASSERT_TRUE(found.ok());
  const at::Tensor all = at::matmul(vectors.query.to(at::kDouble), vectors.key.to(at::kDouble).t()).flatten();
  const auto [values, cells] = all.topk(20);
  ASSERT_EQ(found->size(), 20U);
  for (std::int64_t n = 0; n < 20; ++n) {
    const analysis::StrongPair& pair = (*found)[static_cast<std::size_t>(n)];
    EXPECT_EQ(pair.query * 4200 + pair.key, cells[n].item<std::int64_t>());
    EXPECT_NEAR(pair.logit, values[n].item<double>(), 1e-12);
  }
  EXPECT_EQ(analysis::strongest_pairs({at::ones({2, 1}), at::ones({3, 1})}, 20)->size(), 6U);
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(analysis::strongest_pairs(vectors, 20, stop.get_token()).error().code, ErrorCode::kCancelled);
}

TEST(Kernel, ExplainsUpToAConstant) {
  const std::vector<double> kernel{1, 2, 4, 8};
  const std::vector<double> count{4, 3, 2, 1};
  double shift = 0;
  EXPECT_NEAR(analysis::explained_by_kernel(kernel, {3, 4, 6, 10}, count, shift), 1, 1e-12);
  EXPECT_NEAR(shift, 2, 1e-12);
  // By hand: m − k = 0, −1, −2, −7, weighted mean −1.4; Σ n(m − k + 1.4)² = 40.4; m = 1, 1, 2, 1 of weighted mean 1.2,
  // Σ n(m − 1.2)² = 1.6.
  EXPECT_NEAR(analysis::explained_by_kernel(kernel, {1, 1, 2, 1}, count, shift), 1 - 40.4 / 1.6, 1e-9);
  EXPECT_NEAR(shift, -1.4, 1e-12);
  EXPECT_TRUE(std::isnan(analysis::explained_by_kernel(kernel, {5, 5, 5, 5}, count, shift)));
}

}  // namespace
}  // namespace locus::test

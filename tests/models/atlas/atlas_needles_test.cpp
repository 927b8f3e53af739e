// Needles: the texts, and what is measured of them against whole maps.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "models/api/atlas_run.h"
#include "models/atlas/needles.h"
#include "models/engine/trace/recorded_trace.h"
#include "tests/support/checkpoint_folder.h"
#include "tests/support/paths.h"

namespace locus {
namespace {

using models::AtlasNull;
using models::atlas::Block;
using models::atlas::Corpus;
using models::atlas::Kind;
using models::atlas::Needles;
using models::atlas::NeedleText;
using models::atlas::Slots;
using models::atlas::Sums;
using models::atlas::Windows;

constexpr std::int64_t kNeedleLength = 200;

class AtlasNeedles : public testing::Test {
 protected:
  void SetUp() override {
    const std::filesystem::path assets = std::filesystem::path(test::source_dir()) / "assets";
    model_ = test::open_model(assets / "checkpoints/text-rope");
    ASSERT_NE(model_, nullptr);
    corpus_ = Corpus::open({assets / "samples/alice.txt"}).value();
    windows_ = Windows::make(*corpus_, encode(), {4, kNeedleLength, 3}).value();
  }

  models::atlas::Encode encode() const {
    return [this](const std::string& text) { return model_->tokenize({.text = text}); };
  }

  Result<Needles> make(const std::vector<std::string>& what) const {
    return Needles::make(*model_, *windows_, encode(), what);
  }

  std::string characters(const std::vector<std::int64_t>& ids, Range range) const {
    std::string text;
    for (std::int64_t n = range.begin; n < range.end; ++n) {
      text += static_cast<char>(ids[static_cast<std::size_t>(n)]);  // one token per byte
    }
    return text;
  }

  std::shared_ptr<const models::Model> model_;
  std::optional<Corpus> corpus_;
  std::optional<Windows> windows_;
};

TEST_F(AtlasNeedles, TextsHideTheAnswerAtTheDepth) {
  const Needles needles = make({"retrieval"}).value();
  EXPECT_EQ(needles.lengths(), (std::vector<std::int64_t>{100, 200}));  // 50 tokens have no room
  for (const double depth : {0.0, 0.5, 1.0}) {
    const NeedleText text = needles.text(1, depth, 200).value();
    ASSERT_EQ(text.ids.size(), 200U);
    const std::string needle = characters(text.ids, text.needle);
    const std::string end = characters(text.ids, {text.question, 200});
    EXPECT_EQ(needle, end + ". ");  // the question and its answer
    EXPECT_EQ(needle.substr(0, 13), " The word of ");
    EXPECT_EQ(text.needle.begin, std::llround(depth * static_cast<double>(text.question - text.needle.size())));
    ASSERT_EQ(text.copied.size(), text.queries.size());
    EXPECT_EQ(text.copied.size(), 7U);  // a space and six letters
    for (std::size_t n = 0; n < text.copied.size(); ++n) {
      EXPECT_TRUE(text.needle.contains(text.copied[n]));
      EXPECT_EQ(text.ids[static_cast<std::size_t>(text.copied[n])],
                text.ids[static_cast<std::size_t>(text.queries[n] + 1)]);
    }
  }
  // The haystack is the window's text, whole around the needle.
  const NeedleText first = needles.text(1, 0, 200).value();
  const NeedleText last = needles.text(1, 1, 200).value();
  EXPECT_EQ(characters(first.ids, {first.needle.end, first.question}), characters(last.ids, {0, last.needle.begin}));
  EXPECT_NE(characters(needles.text(2, 0, 200)->ids, first.needle), characters(first.ids, first.needle));
}

TEST_F(AtlasNeedles, ScoresAreThoseOfTheMaps) {
  const Needles needles = make({"retrieval", "spans"}).value();
  Slots slots;
  needles.plan(slots);
  Sums sums(slots, 2, 3);
  Block block(slots, 1);
  ASSERT_TRUE(needles.add(1, slots, block, {}).ok());
  sums.add(block.numbers());
  EXPECT_EQ(sums.samples().at("needles").count, 1);
  EXPECT_EQ(sums.samples().at("null.needles").count, 1);
  const models::atlas::TableSource tables = sums.tables();
  const auto found = [&](const std::string& name, std::int64_t layer, std::size_t entry, AtlasNull null) {
    for (std::size_t n = 0; n < tables.count; ++n) {
      const models::atlas::Table table = tables.table(n);
      if (table.statistic == name && table.layer == layer && table.null == null) {
        return table.sum[entry];
      }
    }
    ADD_FAILURE() << name;
    return 0.0;
  };
  const std::size_t depth = 3;  // of 5, and the second of two lengths
  const std::size_t cell = depth * 2 + 1;
  const NeedleText text = needles.text(1, 0.75, 200).value();
  const auto trace = model_->run({.ids = text.ids}, {.all_logits = true}).value();
  const at::Tensor logits = models::recorded_of(*trace)->data().logits.to(at::kDouble);
  double nats = 0;
  bool answered = true;
  for (const std::int64_t query : text.queries) {
    const at::Tensor row = logits[query].exp();
    const std::int64_t next = text.ids[static_cast<std::size_t>(query + 1)];
    nats -= (row[next] / row.sum()).log().item<double>();
    answered = answered && row.argmax().item<std::int64_t>() == next;
  }
  EXPECT_NEAR(found("retrieval.loss", models::kAtlasOfModel, cell, AtlasNull::kText), nats / 7, 1e-5 * nats);
  EXPECT_EQ(found("retrieval.answer", models::kAtlasOfModel, cell, AtlasNull::kText), answered ? 1 : 0);
  for (std::int64_t layer = 0; layer < 4; ++layer) {
    for (std::int64_t head = 0; head < 4; ++head) {
      const Field map = trace->map({layer, head, Quantity::kWeight, {}, {}}).value();
      double score = 0;
      double weight = 0;
      std::map<std::string, double> spans;
      for (std::size_t n = 0; n < 7; ++n) {
        const std::int64_t query = text.queries[n];
        const auto copied = static_cast<double>(map.at(query, text.copied[n]));
        weight += copied / 7;
        score += copied > 0.5 ? 1.0 / 7 : 0;
        for (std::int64_t key = 0; key <= query; ++key) {
          const char* const span = key == 0                    ? "spans.begin"
                                   : text.needle.contains(key) ? "spans.needle"
                                   : query - key < 16          ? "spans.local"
                                                               : "spans.rest";
          spans[span] += static_cast<double>(map.at(query, key)) / 7;
        }
      }
      const std::size_t entry = static_cast<std::size_t>(head) * 10 + cell;
      EXPECT_NEAR(found("retrieval.score", layer, entry, AtlasNull::kText), score, 1e-9);
      EXPECT_NEAR(found("retrieval.weight", layer, entry, AtlasNull::kText), weight, 1e-5);
      double all = 0;
      for (const auto& [name, mass] : spans) {
        EXPECT_NEAR(found(name, layer, entry, AtlasNull::kText), mass, 1e-5) << name;
        all += found(name, layer, entry, AtlasNull::kShuffled);
      }
      EXPECT_NEAR(all, 1, 1e-5);  // of the null too
    }
  }
}

TEST_F(AtlasNeedles, NeedRoom) {
  windows_ = Windows::make(*corpus_, encode(), {4, 40, 3}).value();
  const auto needles = make({"spans"});
  ASSERT_FALSE(needles.ok());
  EXPECT_EQ(needles.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(needles.error().describe().find("expected windows of at least"), std::string::npos);
  EXPECT_TRUE(make({"heads"}).ok());
  const auto with_needles = [](std::int64_t windows) {
    std::vector<std::int64_t> found;
    for (std::int64_t index = 0; index < windows; ++index) {
      if (Needles::with_window(index, windows)) {
        found.push_back(index);
      }
    }
    return found;
  };
  EXPECT_EQ(with_needles(2000), (std::vector<std::int64_t>{0, 16, 32, 48, 64, 80, 96, 112}));
  EXPECT_EQ(with_needles(8), (std::vector<std::int64_t>{0, 1}));
  EXPECT_EQ(with_needles(1), (std::vector<std::int64_t>{0}));
}

}  // namespace
}  // namespace locus

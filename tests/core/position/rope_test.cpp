#include "core/position/rope.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "core/position/list.h"
#include "tests/support/golden.h"

namespace locus::position {
namespace {

ModelShape shape_of(std::int64_t heads, std::int64_t head_width, std::int64_t kv_heads = 0) {
  ModelShape shape;
  shape.heads = heads;
  shape.kv_heads = kv_heads > 0 ? kv_heads : heads;
  shape.head_width = head_width;
  shape.width = heads * head_width;
  shape.trained_length = 2048;
  return shape;
}

TEST(Rope, longropeWritesItsFactorsAndTakesOneAPair) {
  const std::vector<double> near{1, 1.5, 2, 4};
  const std::vector<double> far{2, 3, 4, 8};
  const Settings asked{{"scaling", std::string("longrope")}, {"short_factor", near}, {"long_factor", far}};
  const auto made = make_encoding("rope", asked, shape_of(1, 8));
  ASSERT_TRUE(made.ok()) << made.error().describe();
  const Settings written = (*made)->settings();
  EXPECT_TRUE(written.has("short_factor") && written.has("long_factor"));
  const auto again = make_encoding("rope", written, shape_of(1, 8));
  ASSERT_TRUE(again.ok()) << again.error().describe();
  EXPECT_EQ((*again)->settings(), written);
  EXPECT_FALSE(make_encoding("rope", asked, shape_of(1, 16)).ok());
  EXPECT_FALSE(
      make_encoding("rope", {{"scaling", std::string("longrope")}, {"short_factor", std::string("1")}}, shape_of(1, 8))
          .ok());
}

TEST(Rope, anglesStayExactAtPosition131072) {
  const auto made = make_encoding("rope", {{"base", 500000.0}}, shape_of(1, 128));
  ASSERT_TRUE(made.ok());
  const State state = (*made)->begin(Positions::sequence(1, 131072), 1);
  Projections projections;
  projections.query = at::zeros({1, 1, 1, 128});
  projections.query.slice(-1, 0, 64).fill_(1);  // (1, 0) a pair: the turned pair is (cos, sin)
  projections.key = projections.query;
  const Prepared prepared = (*made)->prepare(state, 0, projections);
  for (int m = 0; m < 64; ++m) {
    const long double angle = 131072.0L * std::pow(500000.0L, -2.0L * m / 128.0L);
    EXPECT_NEAR(prepared.query[0][0][0][m].item<double>(), static_cast<double>(std::cos(angle)), 1e-6);
    EXPECT_NEAR(prepared.query[0][0][0][m + 64].item<double>(), static_cast<double>(std::sin(angle)), 1e-6);
  }
}

TEST(Rope, dotProductOfAPositionWithItselfIsTheWidth) {
  const auto made = make_encoding("rope", {}, shape_of(4, 8));
  ASSERT_TRUE(made.ok());
  const at::Tensor vectors = (*made)->vectors((*made)->begin(Positions::sequence(7), 1), 0);
  const at::Tensor products = dot_products(vectors, {0, 7}, {0, 7}, false);
  EXPECT_EQ(products.sizes(), at::IntArrayRef({1, 7, 7}));
  EXPECT_CLOSE(products.diagonal(0, 1, 2), at::full({1, 7}, 8.0), 1e-6);
}

TEST(Rope, partialRotationLeavesTheOtherChannels) {
  const auto made = make_encoding("rope", {{"fraction", 0.25}}, shape_of(2, 16));
  ASSERT_TRUE(made.ok());
  Projections projections;
  projections.query = at::randn({1, 2, 9, 16});
  projections.key = at::randn({1, 2, 9, 16});
  const Prepared prepared = (*made)->prepare((*made)->begin(Positions::sequence(9), 1), 0, projections);
  EXPECT_TRUE(prepared.query.slice(-1, 4).equal(projections.query.slice(-1, 4)));
  EXPECT_FALSE(prepared.query.slice(-1, 0, 4).equal(projections.query.slice(-1, 0, 4)));
}

// Outside gradients one loop turns the pairs: the numbers are those of ATen's operations, bit for bit, in every layout,
// with angles of all heads or of each, where some channels do not turn, and of rows that are not contiguous.
TEST(Rope, theLoopGivesTheNumbersOfTheOperations) {
  at::manual_seed(8);
  constexpr std::int64_t kHeads = 3;
  constexpr std::int64_t kPairs = 6;
  const at::Tensor frequencies = position::inverse_frequencies(2 * kPairs, 100);
  for (const std::int64_t tokens : {1, 7}) {  // the angles of one token are rounded in the loop
    const position::Rotation shared = position::rotation(at::arange(3, 3 + tokens), frequencies);
    const at::Tensor factors = at::arange(1, kHeads + 1).to(at::kDouble).view({kHeads, 1, 1});
    const position::Rotation own{shared.cos * factors, shared.sin * factors};
    for (const position::PairLayout layout : {position::PairLayout::kHalf, position::PairLayout::kInterleaved,
                                              position::PairLayout::kSwapped, position::PairLayout::kAxes}) {
      for (const std::int64_t width : {2 * kPairs, 2 * kPairs + 4}) {
        const at::Tensor x = at::randn({2, kHeads, tokens, width});
        for (const at::Tensor& given : {x, at::randn({2, tokens, kHeads, width}).transpose(1, 2)}) {
          for (const position::Rotation& angles : {shared, own}) {
            const at::Tensor by_operations = position::rotate(given, angles, layout);
            const at::NoGradGuard no_grad;
            EXPECT_TRUE(at::equal(position::rotate(given, angles, layout), by_operations)) << static_cast<int>(layout);
          }
        }
      }
    }
  }
}

// θ_m = base^(−2m/D)/s for the first ⌊P·D/2⌋ pairs, 0 for the others, which are no pairs of the logit.
TEST(Rope, proportionalTurnsTheFirstPairsAlone) {
  constexpr std::int64_t kWidth = 10;
  constexpr std::int64_t kTurning = 3;
  const Settings options{{"scaling", std::string("proportional")}, {"proportion", 0.6}, {"factor", 2.0}};
  const auto made = make_encoding("rope", options, shape_of(1, kWidth));
  ASSERT_TRUE(made.ok());
  const Projections projections{at::randn({1, 1, 9, kWidth}), at::randn({1, 1, 9, kWidth}), {}, {}};
  const Prepared prepared = (*made)->prepare((*made)->begin(Positions::sequence(9), 1), 0, projections);
  const auto query = projections.query.accessor<float, 4>();
  const auto turned = prepared.query.accessor<float, 4>();
  for (std::int64_t t = 0; t < 9; ++t) {
    for (std::int64_t m = 0; m < kWidth / 2; ++m) {
      const auto pair = static_cast<double>(m);
      const double theta = m < kTurning ? std::pow(10000.0, -2 * pair / kWidth) / 2 : 0.0;
      const double angle = static_cast<double>(t) * theta;
      const double a = query[0][0][t][m];
      const double b = query[0][0][t][m + kWidth / 2];
      EXPECT_NEAR(turned[0][0][t][m], a * std::cos(angle) - b * std::sin(angle), 1e-6);
      EXPECT_NEAR(turned[0][0][t][m + kWidth / 2], b * std::cos(angle) + a * std::sin(angle), 1e-6);
    }
  }
  const Result<PairForm> form = pair_form(**made, prepared, 0);
  ASSERT_TRUE(form.ok());
  EXPECT_EQ(form->channels, (std::vector<std::vector<std::int64_t>>{{0, 5}, {1, 6}, {2, 7}}));
  EXPECT_EQ(form->rest, (std::vector<std::int64_t>{3, 4, 8, 9}));
  EXPECT_EQ(form->frequencies.sizes(), at::IntArrayRef({1, kTurning, 1}));
  const at::Tensor vectors = (*made)->vectors((*made)->begin(Positions::sequence(7), 1), 0);
  EXPECT_EQ(vectors.size(-1), 2 * kTurning);
  EXPECT_FALSE(
      make_encoding("rope", {{"scaling", std::string("proportional")}, {"proportion", 0.1}}, shape_of(1, 10)).ok());
}

// The halves exchanged, turned, and exchanged again.
TEST(Rope, swappedTurnsTheOtherWay) {
  const auto swapped = make_encoding("rope", {{"layout", std::string("swapped")}}, shape_of(2, 8));
  const auto half = make_encoding("rope", {}, shape_of(2, 8));
  ASSERT_TRUE(swapped.ok() && half.ok());
  const auto exchanged = [](const at::Tensor& x) { return at::cat({x.slice(-1, 4), x.slice(-1, 0, 4)}, -1); };
  const Projections projections{at::randn({1, 2, 9, 8}), at::randn({1, 2, 9, 8}), {}, {}};
  const Projections other{exchanged(projections.query), exchanged(projections.key), {}, {}};
  const Prepared own = (*swapped)->prepare((*swapped)->begin(Positions::sequence(9), 1), 0, projections);
  const Prepared plain = (*half)->prepare((*half)->begin(Positions::sequence(9), 1), 0, other);
  EXPECT_CLOSE(own.query, exchanged(plain.query), 0.0);
  EXPECT_CLOSE(own.key, exchanged(plain.key), 0.0);
  const Result<PairForm> form = pair_form(**swapped, own, 0);
  ASSERT_TRUE(form.ok());
  EXPECT_EQ(form->channels.front(), (std::vector<std::int64_t>{4, 0}));
}

// Which component a pair turns with, as the definitions of both layouts say pair by pair.
TEST(Rope, turnsBackWhatItTurned) {
  at::manual_seed(3);
  const Projections given{at::randn({1, 4, 9, 16}), at::randn({1, 2, 9, 16}), {}, {}};
  const Settings yarn{{"scaling", std::string("yarn")},
                      {"factor", 8.0},
                      {"original_max_position_embeddings", std::int64_t{64}},
                      {"fraction", 0.5}};
  for (const char* const layout : {"half", "interleaved", "swapped"}) {
    for (Settings options : {Settings{}, Settings{{"fraction", 0.25}}, yarn}) {
      options.set("layout", std::string(layout));
      const auto made = make_encoding("rope", options, shape_of(4, 16, 2));
      ASSERT_TRUE(made.ok()) << made.error().describe();
      const auto& rope = dynamic_cast<const Rope&>(**made);
      const State state = rope.begin(Positions::sequence(9, 1000), 1);
      Prepared prepared = rope.prepare(state, 0, given);
      prepared.content_query = prepared.content_key = at::Tensor();
      Wanted wanted;
      wanted.content = true;
      EXPECT_FALSE(rope.score(prepared, {0, {0, 4}, {0, 9}, {0, 9}}, wanted).content.defined());
      ASSERT_TRUE(rope.restore_content(state, prepared).ok());
      EXPECT_LE((prepared.content_query - given.query).abs().max().item<double>(), 2e-6) << layout;
      EXPECT_LE((prepared.content_key - given.key).abs().max().item<double>(), 2e-6) << layout;
    }
  }
  const auto normed = make_encoding("rope", {{"norm", true}}, shape_of(4, 16, 2));
  ASSERT_TRUE(normed.ok());
  const State state = (*normed)->begin(Positions::sequence(9), 1);
  Prepared prepared = (*normed)->prepare(state, 0, given);
  EXPECT_FALSE(dynamic_cast<const Rope&>(**normed).restore_content(state, prepared).ok());
}

TEST(Rope, sectionsTurnEachPairByItsComponent) {
  struct Dealt {
    std::vector<double> sections;
    std::string word;
    std::string components;  // by the published code (JJJYmmm/Multimodal-RoPEs cd413b9, freq_allocation)
  };
  const std::vector<Dealt> all{{{2, 3, 3}, "chunked", "00111222"},     {{4, 2, 2}, "interleaved", "01201200"},
                               {{1, 1, 6}, "chunked", "01222222"},     {{2, 4, 2}, "interleaved", "01201201"},
                               {{2, 3, 3}, "alternating", "01212100"}, {{4, 2, 2}, "alternating", "01210000"},
                               {{0, 4, 4}, "alternating", "01212121"}, {{2, 3, 3}, "distributed", "00121212"}};
  for (const auto& [sections, word, components] : all) {
    SCOPED_TRACE(word + " " + components);
    const auto made =
        make_encoding("rope", {{"base", 50.0}, {"sections", sections}, {"section_layout", word}}, shape_of(1, 16));
    ASSERT_TRUE(made.ok()) << made.error().describe();
    const at::Tensor ids = at::tensor({4.0, 5.0, 7.0, 3.0, 0.0, 2.0}).to(at::kDouble).view({2, 3});
    ASSERT_TRUE((*made)->accepts({ids, 0}).ok());
    Projections projections;
    projections.query = at::randn({1, 1, 2, 16});
    projections.key = at::randn({1, 1, 2, 16});
    const Prepared prepared = (*made)->prepare((*made)->begin({ids, 0}, 1), 0, projections);
    for (std::int64_t t = 0; t < 2; ++t) {
      for (std::int64_t m = 0; m < 8; ++m) {
        const double place = ids[t][components[static_cast<std::size_t>(m)] - '0'].item<double>();
        const double angle = place * std::pow(50.0, -2.0 * static_cast<double>(m) / 16);
        const double a = projections.query[0][0][t][m].item<double>();
        const double b = projections.query[0][0][t][m + 8].item<double>();
        EXPECT_NEAR(prepared.query[0][0][t][m].item<double>(), a * std::cos(angle) - b * std::sin(angle), 1e-6);
        EXPECT_NEAR(prepared.query[0][0][t][m + 8].item<double>(), b * std::cos(angle) + a * std::sin(angle), 1e-6);
      }
    }
    // The pairs say the same.
    const auto form = pair_form(**made, prepared, 0);
    ASSERT_TRUE(form.ok());
    EXPECT_EQ(form->frequencies.sizes(), at::IntArrayRef({1, 8, 3}));
    EXPECT_CLOSE(form->frequencies.sum(-1)[0], inverse_frequencies(16, 50.0), 1e-12);
  }
}

TEST(Rope, equalComponentsAreThePlainRotation) {
  const Settings sections{{"sections", std::vector<double>{2, 1, 1}}};
  const auto made = make_encoding("rope", sections, shape_of(1, 8));
  const auto plain = make_encoding("rope", {}, shape_of(1, 8));
  ASSERT_TRUE(made.ok() && plain.ok());
  const Positions sequence = Positions::sequence(9, 3);
  const at::Tensor want = (*plain)->begin(sequence, 1).table;
  EXPECT_TRUE((*made)->begin(sequence, 1).table.equal(want));
  EXPECT_TRUE((*made)->begin({sequence.ids.unsqueeze(1).expand({9, 3}), 0}, 1).table.equal(want));
}

TEST(Rope, sectionsAreWrittenAndChecked) {
  const Settings asked{{"sections", std::vector<double>{1, 1, 2}}, {"section_layout", std::string("interleaved")}};
  const auto made = make_encoding("rope", asked, shape_of(2, 8));
  ASSERT_TRUE(made.ok()) << made.error().describe();
  const Settings written = (*made)->settings();
  EXPECT_TRUE(written.has("sections"));
  const auto again = make_encoding("rope", written, shape_of(2, 8));
  ASSERT_TRUE(again.ok()) << again.error().describe();
  EXPECT_EQ((*again)->settings(), written);
  EXPECT_FALSE((*make_encoding("rope", {}, shape_of(2, 8)))->settings().has("sections"));
  const std::vector<std::vector<double>> refused{{1, 1, 1}, {2, 2}, {-1, 2, 3}, {0.5, 1.5, 2}, {1e18, 1, 2}};
  for (const std::vector<double>& wrong : refused) {
    EXPECT_FALSE(make_encoding("rope", {{"sections", wrong}}, shape_of(2, 8)).ok());
  }
  const auto dealt = make_encoding(
      "rope", {{"sections", std::vector<double>{1, 1, 2}}, {"section_layout", std::string("distributed")}},
      shape_of(2, 8));
  ASSERT_FALSE(dealt.ok());
  EXPECT_NE(dealt.error().describe().find("distributed, [2, 1, 1], found"), std::string::npos)
      << dealt.error().describe();
  EXPECT_FALSE((*made)->accepts(Positions::grid(2, 2)).ok());
  const auto plain = make_encoding("rope", {}, shape_of(2, 8));
  EXPECT_FALSE((*plain)->accepts({at::zeros({4, 3}, at::kDouble), 0}).ok());
}

Settings by_heads(std::vector<double> sections) {
  return {{"sections", std::move(sections)}, {"section_layout", std::string("heads")}, {"base", 50.0}};
}

// Pairs m and m + 2 of the first four channels of each head, turned by the component of its key head, one number at a
// time; `components` names them, and '-' what does not turn.
void expect_turned(const at::Tensor& turned, const at::Tensor& plain, const at::Tensor& ids,
                   const std::string& components) {
  const std::int64_t group = plain.size(1) / static_cast<std::int64_t>(components.size());
  for (std::int64_t h = 0; h < plain.size(1); ++h) {
    const char own = components[static_cast<std::size_t>(h / group)];
    for (std::int64_t t = 0; t < plain.size(2); ++t) {
      const double place = own == '-' ? 0 : ids.dim() == 1 ? ids[t].item<double>() : ids[t][own - '0'].item<double>();
      for (std::int64_t m = 0; m < 2; ++m) {
        const double angle = place * std::pow(50.0, -static_cast<double>(m) / 2);
        const double a = plain[0][h][t][m].item<double>();
        const double b = plain[0][h][t][m + 2].item<double>();
        EXPECT_NEAR(turned[0][h][t][m].item<double>(), a * std::cos(angle) - b * std::sin(angle), 1e-6) << h;
        EXPECT_NEAR(turned[0][h][t][m + 2].item<double>(), b * std::cos(angle) + a * std::sin(angle), 1e-6) << h;
      }
      EXPECT_TRUE(turned[0][h][t].slice(0, 4).equal(plain[0][h][t].slice(0, 4)));
    }
  }
}

TEST(Rope, keyHeadsTurnWithOneComponentEach) {
  struct Dealt {
    std::vector<double> sections;
    std::string components;  // of the key heads
  };
  const at::Tensor vectors = at::tensor({4.0, 5.0, 7.0, 3.0, 0.0, 2.5}).to(at::kDouble).view({2, 3});
  const at::Tensor numbers = at::tensor({3.0, 8.0}).to(at::kDouble);
  for (const auto& [sections, components] :
       std::vector<Dealt>{{{1, 2, 1}, "0112"}, {{1, 1, 1}, "012-"}, {{0, 1, 0}, "1---"}, {{2, 0, 2}, "0022"}}) {
    Settings options = by_heads(sections);
    options.set("fraction", 0.5);
    const auto made = make_encoding("rope", options, shape_of(8, 8, 4));
    ASSERT_TRUE(made.ok()) << made.error().describe();
    for (const at::Tensor& ids : {vectors, numbers}) {
      SCOPED_TRACE(components + " of " + std::to_string(ids.dim()));
      ASSERT_TRUE((*made)->accepts({ids, 0}).ok());
      const Projections given{at::randn({1, 8, 2, 8}), at::randn({1, 4, 2, 8}), {}, {}};
      const State state = (*made)->begin({ids, 0}, 1);
      EXPECT_EQ(state.table.sizes(), at::IntArrayRef({2, 4, 2, 2}));
      Prepared prepared = (*made)->prepare(state, 0, given);
      expect_turned(prepared.query, given.query, ids, components);
      expect_turned(prepared.key, given.key, ids, components);
      // The pairs say the same of each query head.
      const auto form = pair_form(**made, prepared, 0);
      ASSERT_TRUE(form.ok());
      const bool alike = ids.dim() == 1 && components.find('-') == std::string::npos;
      ASSERT_EQ(form->frequencies.sizes(), at::IntArrayRef({alike ? 1 : 8, 2, ids.dim() == 1 ? 1 : 3}));
      for (std::int64_t h = 0; !alike && h < 8; ++h) {
        const char own = components[static_cast<std::size_t>(h / 2)];
        at::Tensor want = at::zeros({2, ids.dim() == 1 ? 1 : 3}, at::kDouble);
        if (own != '-') {
          want.select(1, ids.dim() == 1 ? 0 : own - '0').copy_(inverse_frequencies(4, 50.0));
        }
        EXPECT_CLOSE(form->frequencies[h], want, 1e-12) << h;
        const std::string axis = own == '-' || ids.dim() == 1 ? "" : std::string(1, "thw"[own - '0']);
        EXPECT_EQ(form->name(h, 1), axis + "1");
      }
      // Vectors of a head are those of its key head.
      const at::Tensor products = dot_products((*made)->vectors(state, 0), {0, 2}, {0, 2}, false);
      for (std::int64_t h = 0; h < 8; ++h) {
        const at::Tensor cosines =
            (state.table.select(1, h / 2).select(1, 0) * state.table.select(1, h / 2).select(1, 1));
        EXPECT_NEAR(products[h][0][1].item<double>(), 2 * cosines.sum().item<double>(), 1e-5) << h;
      }
      prepared.content_query = prepared.content_key = at::Tensor();
      ASSERT_TRUE(dynamic_cast<const Rope&>(**made).restore_content(state, prepared).ok());
      EXPECT_CLOSE(prepared.content_query, given.query, 2e-6);
      EXPECT_CLOSE(prepared.content_key, given.key, 2e-6);
    }
  }
}

TEST(Rope, sectionsOfHeadsFitTheKeyHeads) {
  const auto made = make_encoding("rope", by_heads({2, 3, 3}), shape_of(16, 8, 8));
  ASSERT_TRUE(made.ok()) << made.error().describe();
  const Settings written = (*made)->settings();
  const auto again = make_encoding("rope", written, shape_of(16, 8, 8));
  ASSERT_TRUE(again.ok()) << again.error().describe();
  EXPECT_EQ((*again)->settings(), written);
  const auto plain = make_encoding("rope", {{"base", 50.0}}, shape_of(16, 8, 8));
  const Positions sequence = Positions::sequence(9, 3);
  const at::Tensor table = (*made)->begin(sequence, 1).table;
  EXPECT_TRUE(table.equal((*plain)->begin(sequence, 1).table.unsqueeze(1).expand_as(table)));
  EXPECT_FALSE((*made)->accepts(Positions::grid(2, 2)).ok());
  const std::vector<std::vector<double>> refused{{2, 3, 4},     {0, 0, 0},    {2, 3},
                                                 {2, 3, 3, 0},  {9, 0, 0},    {-1, 3, 3},
                                                 {0.5, 0.5, 1}, {1e18, 1, 1}, {1, 2, std::nan("")}};
  for (const std::vector<double>& wrong : refused) {
    const auto none = make_encoding("rope", by_heads(wrong), shape_of(16, 8, 8));
    ASSERT_FALSE(none.ok());
    EXPECT_NE(none.error().describe().find("sections: expected three whole numbers of a sum from 1 to 8"),
              std::string::npos)
        << none.error().describe();
  }
  EXPECT_FALSE(make_encoding("rope", by_heads({2, 3, 3}), shape_of(8, 8, 4)).ok());
  Settings beside_gates = by_heads({1, 1, 1});
  beside_gates.set("with", std::string("rope"));
  const auto cope = make_encoding("cope", beside_gates, shape_of(4, 8));
  ASSERT_FALSE(cope.ok());
  EXPECT_NE(cope.error().describe().find("section_layout"), std::string::npos) << cope.error().describe();
}

TEST(Rope, refusesWhatItCannotTurn) {
  EXPECT_FALSE(make_encoding("rope", {}, shape_of(2, 7)).ok());
  EXPECT_FALSE(make_encoding("rope", {{"fraction", 0.0}}, shape_of(2, 8)).ok());
  EXPECT_FALSE(make_encoding("rope", {{"base", -1.0}}, shape_of(2, 8)).ok());
  EXPECT_FALSE(make_encoding("rope", {{"layout", std::string("thirds")}}, shape_of(2, 8)).ok());
  EXPECT_FALSE(make_encoding("rope", {{"scaling", std::string("ntk")}}, shape_of(2, 2)).ok());
  EXPECT_FALSE(make_encoding("rope", {{"bass", 1.0}}, shape_of(2, 8)).ok());
  const auto grid = make_encoding("rope", {}, shape_of(2, 8));
  ASSERT_TRUE(grid.ok());
  EXPECT_FALSE((*grid)->accepts(Positions::grid(2, 2)).ok());
}

}  // namespace
}  // namespace locus::position

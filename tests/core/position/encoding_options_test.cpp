// Options and shapes that cannot work are refused with a line that names option, expected and found.
#include <gtest/gtest.h>

#include "core/position/list.h"
#include "core/position/shared/fourier_features.h"
#include "tests/support/encodings.h"

namespace locus::test {
namespace {

struct Refused {
  std::string name;
  Settings options;
  position::ModelShape shape;
  std::string word;  // that the line must hold
};

TEST(EncodingOptions, valuesOutsideTheirRange) {
  const auto word = [](const char* text) { return std::string(text); };
  const auto whole = [](std::int64_t value) { return value; };
  position::ModelShape bidirectional = shape_of(2, 8);
  bidirectional.causal = false;
  position::ModelShape untrained = shape_of(2, 8);
  untrained.trained_length = 0;
  const position::ModelShape usual = shape_of(2, 8);
  const std::vector<Refused> refused{
      {"cope", {{"p_max", whole(0)}}, usual, "p_max"},
      {"cope", {{"p_max", whole(-3)}}, usual, "p_max"},
      {"cope", {{"gates", word("open")}}, usual, "gates"},
      {"cope", {{"form", word("spline")}}, usual, "form"},
      {"cope", {{"every", whole(0)}}, usual, "every"},
      {"cope", {{"gate_bias", true}}, usual, "gate_bias"},
      {"cope", {{"hidden", whole(0)}}, usual, "hidden"},
      {"cope", {{"slopes", word("steep")}}, usual, "slopes"},
      {"cope", {{"with", word("rope")}}, shape_of(2, 7), "even"},
      {"cope", {{"with", word("relative")}}, untrained, "relative_length"},
      {"cope", {}, bidirectional, "causal"},
      {"tapa", {{"theta", 0.0}}, usual, "theta"},
      {"tapa", {{"theta", 1.0}}, usual, "theta"},
      {"tapa", {{"theta", -0.5}}, usual, "theta"},
      {"tapa", {{"theta", 0.3}}, usual, "whole"},
      {"tapa", {{"alpha", 0.0}}, usual, "alpha"},
      {"tapa", {{"phase", word("cubic")}}, usual, "phase"},
      {"pope", {{"fraction", 0.0}}, usual, "fraction"},
      {"pope", {{"fraction", 1.5}}, usual, "fraction"},
      {"pope", {{"fraction", 0.3}}, usual, "whole"},
      {"pope", {{"base", 1.0}}, usual, "base"},
      {"pope", {{"start", word("random")}}, usual, "start"},
      {"path", {{"rank", whole(-1)}}, usual, "rank"},
      {"path", {{"taps", whole(65)}}, usual, "taps"},
      {"path", {}, bidirectional, "causal"},
      {"grape", {{"form", word("matrix")}}, usual, "form"},
      {"grape", {{"base", 1.0}}, usual, "base"},
      {"grape", {{"scale", 0.0}}, usual, "scale"},
      {"grape", {{"form", word("additive")}, {"gated", word("none")}}, usual, "gated"},
      {"grape", {{"form", word("path")}, {"width", whole(3)}}, usual, "width"},
      {"grape", {{"form", word("path")}, {"width", whole(-2)}}, usual, "width"},
      {"grape", {{"form", word("additive")}, {"norm", true}}, usual, "norm"},
      {"grape", {{"norm", true}, {"norm_eps", 0.0}}, usual, "norm_eps"},
      {"grape", {}, shape_of(2, 7), "even"},
      {"grape", {{"form", word("path")}}, bidirectional, "causal"},
      {"selective", {}, bidirectional, "causal"},
      {"stick-breaking", {}, bidirectional, "causal"},
      {"dape", {{"over", word("t5")}}, usual, "over"},
      {"dape", {{"over", word("rope")}}, shape_of(2, 7), "even"},
      {"dape", {{"hidden", whole(0)}}, usual, "hidden"},
      {"xpos", {}, shape_of(2, 7), "even"},
      {"xpos", {{"scale_base", 0.0}}, usual, "scale_base"},
      {"rope", {}, shape_of(2, 1), "even"},
      {"rope", {{"scaling", word("yarn")}}, untrained, "original"},
      {"rope", {{"scaling", word("warp")}}, usual, "scaling"},
      {"rope", {{"scaling", word("linear")}, {"factor", -2.0}}, usual, "factor"},
      {"rope", {{"original_max_position_embeddings", whole(-1)}}, usual, "original"},
      {"rope", {{"scaling", word("llama3")}, {"high_freq_factor", 1.0}}, usual, "high_freq_factor"},
      {"rope-axial", {}, shape_of(2, 6), "4"},
      {"rope-mixed", {}, shape_of(2, 6), "4"},
      {"rope-mixed", {}, shape_of(4, 8, 2), "key heads"},
      {"rope-axial", {{"base", 0.5}}, usual, "base"},
      {"rope-axial", {{"coordinates", word("polar")}}, usual, "coordinates"},
      {"rope-axial", {{"first", word("diagonals")}}, usual, "first"},
      {"rope-axial", {{"layout", word("thirds")}}, usual, "layout"},
      {"rope-axial", {{"class_angles", whole(-1)}}, usual, "class_angles"},
      {"rope-axial", {{"class_angles", whole(65)}}, usual, "class_angles"},
      {"relative-grid", {{"grid_rows", whole(-1)}, {"grid_columns", whole(3)}}, usual, "grid_rows"},
      {"relative-grid", {{"grid_rows", whole(4)}}, usual, "grid_columns"},
      {"relative-grid", {{"per_layer", false}}, usual, "shared"},
      {"relative-grid", {}, untrained, "trained length"},
      {"disentangled", {{"buckets", whole(1)}}, usual, "buckets"},
      {"disentangled", {{"max_distance", whole(100)}}, usual, "max_distance"},
      {"disentangled", {{"norm_eps", 0.0}}, usual, "norm_eps"},
      {"sinusoidal", {}, shape_of(1, 7), "even"},
      {"sinusoidal", {{"base", 0.0}}, usual, "base"},
      {"sinusoidal", {{"first", whole(-1)}}, usual, "first"},
      {"sinusoidal", {{"spacing", word("wide")}}, usual, "spacing"},
      {"sinusoidal", {{"spacing", word("closed")}}, shape_of(1, 2), "at least 4"},
      {"randpe", {{"length_max", whole(0)}}, usual, "length_max"},
      {"randpe", {{"over", word("alibi")}}, usual, "over"},
      {"randpe", {{"evaluation", word("random")}}, usual, "evaluation"},
      {"randpe", {{"seed", whole(-1)}}, usual, "seed"},
      {"relative", {{"length", whole(-1)}}, usual, "length"},
      {"relative-capped", {}, untrained, "length"},
      {"relative-state", {{"extent", whole(-1)}}, usual, "extent"},
      {"relative-state", {}, untrained, "extent"},
      {"relative-state", {{"states", whole(0)}}, usual, "states"},
      {"relative-state", {{"growth", -0.1}}, usual, "growth"},
      {"relative-state", {{"growth_from", 0.0}}, usual, "growth_from"},
      {"relative-state", {}, bidirectional, "causal"},
      {"t5", {{"buckets", whole(6)}}, usual, "buckets"},
      {"t5", {{"max_distance", whole(4)}}, usual, "max_distance"},
      {"fire", {{"hidden", whole(0)}}, usual, "hidden"},
      {"fire", {{"length", whole(0)}}, usual, "length"},
      {"learned", {}, untrained, "length"},
  };
  for (const Refused& each : refused) {
    const auto made = position::make_encoding(each.name, each.options, each.shape);
    ASSERT_FALSE(made.ok()) << each.name << " took a wrong " << each.word;
    EXPECT_EQ(made.error().code, ErrorCode::kBadInput);
    EXPECT_NE(made.error().describe().find(each.word), std::string::npos) << made.error().describe();
  }
}

TEST(EncodingOptions, tablesTooLargeToAllocate) {
  const std::int64_t huge = std::int64_t{1} << 30;
  for (const std::string name : {"learned", "relative", "relative-capped"}) {
    const auto made = position::make_encoding(name, {{"length", huge}}, shape_of(2, 8));
    ASSERT_FALSE(made.ok());
    EXPECT_EQ(made.error().code, ErrorCode::kTooLarge);
  }
  position::ModelShape wide = shape_of(64, 8);
  wide.width = std::int64_t{1} << 20;
  for (const auto& [options, shape] : {std::pair(Settings{{"extent", huge}}, shape_of(2, 8)),
                                       std::pair(Settings{{"states", std::int64_t{4096}}}, wide)}) {
    const auto made = position::make_encoding("relative-state", options, shape);
    ASSERT_FALSE(made.ok());
    EXPECT_EQ(made.error().code, ErrorCode::kTooLarge);
  }
  const std::int64_t side = 16384;
  const auto grid =
      position::make_encoding("relative-grid", {{"grid_rows", side}, {"grid_columns", side}}, shape_of(2, 8));
  ASSERT_FALSE(grid.ok());
  EXPECT_EQ(grid.error().code, ErrorCode::kTooLarge);
}

TEST(EncodingOptions, modelsThatCannotBe) {
  for (const auto& break_it :
       std::vector<void (*)(position::ModelShape&)>{[](position::ModelShape& shape) { shape.heads = 0; },
                                                    [](position::ModelShape& shape) { shape.kv_heads = 3; },
                                                    [](position::ModelShape& shape) { shape.layers = -1; },
                                                    [](position::ModelShape& shape) { shape.head_width = 0; },
                                                    [](position::ModelShape& shape) { shape.trained_length = -5; }}) {
    position::ModelShape shape = shape_of(4, 8);
    break_it(shape);
    EXPECT_FALSE(position::make_encoding("rope", {}, shape).ok());
  }
  EXPECT_FALSE(position::make_encoding("swirl", {}, shape_of(4, 8)).ok());
}

TEST(EncodingOptions, gridEncodingsRefuseSequences) {
  for (const std::string name : {"rope-axial", "rope-mixed", "relative-grid"}) {
    EXPECT_FALSE(encoding(name, {}, shape_of(2, 8))->accepts(position::Positions::sequence(5)).ok());
  }
  for (const std::string name : {"alibi", "cope", "t5", "tapa", "fire", "xpos", "randpe", "relative"}) {
    EXPECT_FALSE(encoding(name, {}, shape_of(2, 8))->accepts(position::Positions::grid(2, 3)).ok()) << name;
  }
}

TEST(EncodingOptions, fourierFeaturesDependOnDistancesAlone) {
  EXPECT_FALSE(position::FourierFeatures::sample({2, 1, 3}, 1.0, true, 1).ok());
  EXPECT_FALSE(position::FourierFeatures::sample({0, 1, 4}, 1.0, true, 1).ok());
  EXPECT_FALSE(position::FourierFeatures::sample({2, 1, 4}, 0.0, true, 1).ok());
  const auto features = position::FourierFeatures::sample({3, 2, 8}, 0.3, true, 1);
  ASSERT_TRUE(features.ok());
  const auto products = [&](double start) {
    const at::Tensor e = features->at_positions(at::arange(9, at::kDouble) + start);  // (9, 3, 2, 8)
    return at::einsum("imlr,jmlr->mlij", {e, e});
  };
  EXPECT_LE((products(0) - products(41)).abs().max().item<double>(), 1e-10);
  EXPECT_GT((products(0) - products(0).mean()).abs().max().item<double>(), 0.1);
}

}  // namespace
}  // namespace locus::test

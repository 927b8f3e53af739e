// RoPE whose slow pairs turn slower or not at all: proportional RoPE against the transformers library, clipped RoPE against
// its authors' code. Frequencies 1e-12, logits 1e-5·(1 + |b|): q and k are float32 here.
#include <gtest/gtest.h>

#include "core/position/shared/rope_scaling.h"
#include "tests/support/encodings.h"
#include "tests/support/golden.h"

namespace locus::test {
namespace {

using position::Positions;
using position::RopeScaling;

// Frequencies and logits of the case `name` (q, k (H, T, D), positions (T)).
void expect_case(const Golden& golden, const std::string& name, const std::string& made, Settings options) {
  SCOPED_TRACE(made);
  const at::Tensor query = golden[name + ".q"].unsqueeze(0).to(at::kFloat);
  const at::Tensor key = golden[name + ".k"].unsqueeze(0).to(at::kFloat);
  const std::int64_t width = query.size(-1);
  const double base =
      golden.has("rope_theta") ? golden["rope_theta"].item<double>() : golden[name + ".rope_theta"].item<double>();
  options.set("base", base);
  const auto scaling = RopeScaling::from(options);
  ASSERT_TRUE(scaling.ok()) << scaling.error().describe();
  EXPECT_CLOSE(scaling->frequencies(width, base, 0, 0).inverse, golden[made + ".inv_freq"], 1e-12);
  const auto rope = encoding("rope", options, shape_of(query.size(1), width));
  Positions positions = Positions::sequence(query.size(2));
  positions.ids = golden[name + ".positions"].to(at::kDouble);
  const at::Tensor logits = whole_map(*rope, prepare(*rope, positions, query, key)).logits;
  EXPECT_CLOSE(causal_cells(logits.squeeze(0)), causal_cells(golden[made + ".logits"]), 1e-5);
}

TEST(SlowPairs, ClippedRopeIsTheAuthors) {
  const Golden golden("clipped_rope");
  for (const std::string name : {"a", "b", "wide"}) {
    for (const std::string clip : {"soft", "hard"}) {
      expect_case(golden, name, name + "." + clip,
                  {{"scaling", std::string("clipped")},
                   {"clip_pairs", golden["clip_low_n"].item<std::int64_t>()},
                   {"clip", clip}});
    }
  }
}

TEST(SlowPairs, ProportionalRopeIsTheLibrarys) {
  const Golden golden("proportional_rope");
  for (const std::string name : {"a", "b", "factor", "full"}) {
    expect_case(golden, name, name,
                {{"scaling", std::string("proportional")},
                 {"proportion", golden[name + ".partial_rotary_factor"].item<double>()},
                 {"factor", golden[name + ".factor"].item<double>()}});
  }
}

}  // namespace
}  // namespace locus::test

// RoPE for images against rope-vit: a grid 5 wide and 3 high. Tolerance 1e-4·(1 + |b|).
#include <gtest/gtest.h>

#include "core/position/rope_mixed.h"
#include "core/position/shared/rotation.h"
#include "tests/support/encodings.h"
#include "tests/support/golden.h"

namespace locus::test {
namespace {

using position::Positions;
using position::Rotation;

constexpr double kRope2dTolerance = 1e-4;

TEST(Rope2d, axial) {
  const Golden golden("rope2d");
  const auto axial = encoding("rope-axial", {}, shape_of(2, 16));
  const position::State state = axial->begin(Positions::grid(3, 5, 0), 2);
  const Rotation turn = Rotation::unpacked(state.table);
  EXPECT_CLOSE(turn.cos, golden["axial_cos"], kRope2dTolerance);
  EXPECT_CLOSE(turn.sin, golden["axial_sin"], kRope2dTolerance);
  const position::Prepared prepared = prepare(*axial, Positions::grid(3, 5, 0), golden["q"], golden["k"]);
  EXPECT_CLOSE(prepared.query, golden["axial_q"], kRope2dTolerance);
  EXPECT_CLOSE(prepared.key, golden["axial_k"], kRope2dTolerance);
}

TEST(Rope2d, mixed) {
  const Golden golden("rope2d");
  const auto mixed = encoding("rope-mixed", {}, shape_of(2, 16));
  parameter(*mixed, "freqs") = golden["mixed_freqs"].reshape({2, 1, 16});
  const position::Prepared prepared = prepare(*mixed, Positions::grid(3, 5, 0), golden["q"], golden["k"]);
  EXPECT_CLOSE(prepared.query, golden["mixed_q"], kRope2dTolerance);
  EXPECT_CLOSE(prepared.key, golden["mixed_k"], kRope2dTolerance);
  const at::Tensor vectors = mixed->vectors(mixed->begin(Positions::grid(3, 5, 0), 1), 0) / std::sqrt(2.0);
  EXPECT_CLOSE(vectors.slice(-1, 0, 8), golden["mixed_cos"], kRope2dTolerance);
  EXPECT_CLOSE(vectors.slice(-1, 8), golden["mixed_sin"], kRope2dTolerance);
}

TEST(Rope2d, mixedFrequenciesStartAsTheAuthorsDo) {
  const Golden golden("rope2d");
  const at::Tensor got = position::mixed_frequencies(at::zeros({2}), 16, 10.0);
  EXPECT_CLOSE(got, golden["mixed_freqs_norotate"].reshape({2, 16}), 1e-6);
}

TEST(Rope2d, tokensWithoutPositionAreNeverTurned) {
  for (const std::string name : {"rope-axial", "rope-mixed"}) {
    const auto image = encoding(name, {}, shape_of(2, 16));
    const at::Tensor query = at::randn({1, 2, 17, 16});
    Positions shifted = Positions::grid(3, 5, 2);
    shifted.ids = shifted.ids + 7;
    const position::Prepared prepared = prepare(*image, shifted, query, query);
    EXPECT_TRUE(prepared.query.slice(2, 0, 2).equal(query.slice(2, 0, 2))) << name;
    EXPECT_FALSE(prepared.query.slice(2, 2, 3).equal(query.slice(2, 2, 3))) << name;
  }
}

}  // namespace
}  // namespace locus::test

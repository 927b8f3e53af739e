// Layers of flash-linear-attention (bc3b101) with accumulated reflections and all projections, in float32. Tolerance 1e-5.
#include <gtest/gtest.h>

#include "core/attention/attend.h"
#include "tests/support/encodings.h"
#include "tests/support/golden.h"

namespace locus::test {
namespace {

using position::Positions;

// A layer with its projections, w from a low rank and a convolution, or from one matrix.
class PathLayer : public testing::TestWithParam<std::string> {};

TEST_P(PathLayer, outputs) {
  const std::string name = GetParam();
  const Golden golden("fla_layers");
  const auto weight = [&](const std::string& part) { return golden[name + ".w." + part]; };
  constexpr std::int64_t kHeads = 2;
  constexpr std::int64_t kWidth = 16;
  position::ModelShape shape = shape_of(kHeads, kWidth);
  shape.width = 32;
  const bool full = name == "path_full";
  const bool gates = name == "path_fox";
  const auto path = encoding(
      "path", {{"rank", std::int64_t{full ? 0 : 32}}, {"taps", std::int64_t{full ? 0 : 3}}, {"gates", gates}}, shape);
  const auto set = [&](const std::string& own, const at::Tensor& value) {
    parameter(*path, "layers.0." + own) = value;
  };
  if (full) {
    set("direction", weight("w_proj.weight"));
  } else {
    set("direction_down", weight("w_proj.0.weight"));
    set("direction", weight("w_proj.1.weight"));
    set("convolution", weight("w_conv1d.weight").squeeze(1));
  }
  set("strength", weight("bt_proj.weight"));
  set("strength_bias", weight("bt_proj.bias"));
  if (gates) {
    set("gate", weight("g_proj.weight"));
    set("gate_bias", weight("g_proj.bias"));
  }
  const at::Tensor x = golden[name + ".x"].unsqueeze(0);
  const auto heads = [&](const char* part) {
    at::Tensor own = at::linear(x, weight(std::string(part) + "_proj.weight")).unflatten(-1, {kHeads, kWidth});
    if (full && part[0] != 'v') {
      own = own * at::rsqrt(own.square().mean(-1, true) + 1e-5) * weight("maybe_" + std::string(part) + "_norm.weight");
    }
    return own.transpose(1, 2);
  };
  const position::Projections projections{heads("q"), heads("k"), heads("v"), x};
  const position::Prepared prepared = path->prepare(path->begin(Positions::sequence(x.size(1)), 1), 0, projections);
  const attention::Mask mask{true};
  const attention::Attention attention{*path, prepared, 0, projections.value, {}, mask};
  const at::Tensor attended = attention::attend_whole_map(attention).output;
  const at::Tensor out = at::linear(attended.transpose(1, 2).flatten(2), weight("o_proj.weight"))[0];
  EXPECT_CLOSE(out, golden[name + ".out"], 1e-5);
}

INSTANTIATE_TEST_SUITE_P(Cases, PathLayer, testing::Values("path", "path_full", "path_fox"));

}  // namespace
}  // namespace locus::test

// Accumulated reflections against flash-linear-attention's own naive code in float64 (bc3b101,
// fla/ops/path_attn/naive.py), and its layers with all projections in float32. Tolerance 1e-10 in float64, 1e-5 in
// float32.
#include "core/position/path.h"

#include <gtest/gtest.h>

#include "core/attention/attend.h"
#include "tests/support/encodings.h"
#include "tests/support/golden.h"

namespace locus::test {
namespace {

using position::Positions;

struct PathCase {
  std::string file;
  std::string name;
};

void PrintTo(const PathCase& each, std::ostream* stream) {
  *stream << each.file << "." << each.name;
}

class Path : public testing::TestWithParam<PathCase> {};

TEST_P(Path, logitsWeightsOutputsAndDeviations) {
  const auto& [file, name] = GetParam();
  const bool gates = file == "path_fox";
  const Golden golden(file);
  for (const auto& [type, tolerance] : {std::pair(at::kDouble, 1e-10), std::pair(at::kFloat, 1e-5)}) {
    const auto tensor = [&, of = type](const std::string& part) { return golden[name + "." + part].to(of); };
    position::Prepared prepared;
    prepared.query = tensor("q").unsqueeze(0);
    prepared.key = tensor("k").unsqueeze(0);
    // The w of the file have unit length up to rounding, and are made so again: β·|w|² of those turns as β of these.
    const at::Tensor direction = golden[name + ".w"];
    const at::Tensor strength = golden[name + ".beta"] * direction.square().sum(-1) / 2;
    prepared.gate_key = at::cat({direction * 1e8, strength.logit().unsqueeze(-1)}, -1).unsqueeze(0).to(type);
    prepared.positions = Positions::sequence(prepared.query.size(2));
    const position::ModelShape shape = shape_of(prepared.query.size(1), prepared.query.size(3), prepared.key.size(1));
    const auto path = encoding("path", {{"taps", std::int64_t{0}}, {"gates", gates}}, shape);
    if (gates) {
      prepared.gate_query = tensor("log_fgate").unsqueeze(0).unsqueeze(-1) * path->scale();
    }
    const Range all{0, prepared.query.size(2)};
    const attention::Mask mask{true};
    const auto seen = [&](const at::Tensor& map) { return map.masked_fill(mask.hidden(all, all, at::kCPU), 0); };
    const position::TileScores scores = whole_map(*path, prepared, 0, {.content = true});
    EXPECT_CLOSE(seen(scores.logits[0]), golden[name + ".logits"], tolerance);
    const at::Tensor value = tensor("v").unsqueeze(0);
    const attention::Attention attention{*path, prepared, 0, value, {}, mask};
    EXPECT_CLOSE(attention::attend_whole_map(attention).output[0], golden[name + ".out"], tolerance);
    const at::Tensor deviation =
        dynamic_cast<const position::Path&>(*path).deviation(prepared, {0, {0, prepared.query.size(1)}, all, all});
    const std::int64_t group = prepared.query.size(1) / prepared.key.size(1);
    EXPECT_CLOSE(seen(deviation[0]), golden[name + ".deviation"].repeat_interleave(group, 0), tolerance * 10);
    const at::NoGradGuard no_grad;
    attention::StreamingOptions small;
    small.row_block = small.column_block = 5;
    const auto streamed = attention::attend_streaming(attention, small);
    ASSERT_TRUE(streamed.ok());
    EXPECT_CLOSE(streamed->output[0], golden[name + ".out"], 1e-5);
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, Path,
                         testing::Values(PathCase{"path", "a"}, PathCase{"path", "b"}, PathCase{"path", "gqa"},
                                         PathCase{"path_fox", "a"}, PathCase{"path_fox", "b"},
                                         PathCase{"path_fox", "gqa"}));

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

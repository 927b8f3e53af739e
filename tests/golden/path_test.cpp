// Accumulated reflections against flash-linear-attention's own naive code in float64 (bc3b101,
// fla/ops/path_attn/naive.py). Tolerance 1e-10 in float64, 1e-5 in float32.
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

}  // namespace
}  // namespace locus::test

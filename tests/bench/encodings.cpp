// Rows of encodings: a 512 × 512 score tile of one head against q·kᵀ → scale → exp of the same size, on one thread and
// without gradients.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <cmath>
#include <memory>
#include <string>

#include "core/position/list.h"
#include "tests/bench/groups.h"

namespace locus::bench {

namespace {

using namespace position;

constexpr std::int64_t kTileSide = 512;
constexpr std::int64_t kTokens = 2 * kTileSide;
constexpr std::int64_t kDepth = 64;
constexpr int kTilesAtOnce = 20;

struct EncodingCase {
  std::string name;
  double limit = 0;  // × the reference; 0: none set
  Settings options{};
  std::string note{};  // behind the name
};

Projections tile_inputs() {
  at::manual_seed(1);
  return {at::randn({1, 1, kTokens, kDepth}), at::randn({1, 1, kTokens, kDepth}), at::randn({1, 1, kTokens, kDepth}),
          at::randn({1, kTokens, kDepth})};
}

Status add_encoding(Rig& rig, const EncodingCase& one) {
  ModelShape shape;
  shape.head_width = shape.width = kDepth;
  shape.trained_length = kTokens;
  LOCUS_TRY(const std::unique_ptr<PositionEncoding> encoding, make_encoding(one.name, one.options, shape));
  const Projections inputs = tile_inputs();
  const Prepared prepared = encoding->prepare(encoding->begin(Positions::sequence(kTokens), 1), 0, inputs);
  const Tile tile{0, {0, 1}, {kTileSide, kTokens}, {kTileSide, kTokens}};
  const at::Tensor carry = at::zeros({1, 1, kTileSide});
  const at::Tensor rows = inputs.query.slice(2, kTileSide);
  const at::Tensor columns = inputs.key.slice(2, kTileSide).transpose(-1, -2);
  const double scale = 1.0 / std::sqrt(static_cast<double>(kDepth));
  at::Tensor result;
  const auto score = [&]() -> Status {
    for (int n = 0; n < kTilesAtOnce; ++n) {
      result = encoding->score(prepared, tile, {}, carry).logits.exp_();
    }
    return {};
  };
  const auto plain = [&]() -> Status {
    for (int n = 0; n < kTilesAtOnce; ++n) {
      result = at::matmul(rows, columns).mul_(scale).exp_();
    }
    return {};
  };
  LOCUS_TRY(const Timed times, rig.time(score, plain));
  rig.add("20 tiles of 512 × 512 by " + one.name + (one.note), times, "q·kᵀ → scale → exp",
          one.limit > 0 ? Target::kRatioAtMost : Target::kNone, one.limit);
  return {};
}

Status add_encodings(Rig& rig) {
  const at::NoGradGuard no_grad;
  for (const EncodingCase& one :
       {EncodingCase{"rope", 1.5}, EncodingCase{"alibi", 1.5}, EncodingCase{"tape", 1.5}, EncodingCase{"seqpe", 1.5},
        EncodingCase{"tapa", 2.0}, EncodingCase{"cope", 3.0},
        EncodingCase{"cope", 3.0, {{"gates", std::string("sep-key")}}, ", gates by keys"}, EncodingCase{"fire", 3.0},
        EncodingCase{"t5", 0}, EncodingCase{"kerple-log", 0}, EncodingCase{"relative", 0}, EncodingCase{"xpos", 0}}) {
    LOCUS_CHECK(add_encoding(rig, one));
  }
  return {};
}

}  // namespace

Status bench_encodings(Rig& rig) {
  const int threads = at::get_num_threads();
  at::set_num_threads(1);
  const Status status = add_encodings(rig);
  at::set_num_threads(threads);
  return status;
}

}  // namespace locus::bench

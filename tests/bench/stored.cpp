// Rows of 16-bit weights as they are stored: a Llama of 1.2 billion parameters against itself with float32 weights, and
// a further token of it, and of a model of GPT-2's size, against reading the bytes of the weights.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "models/engine/throughput.h"
#include "models/transformer/transformer.h"
#include "tests/bench/groups.h"
#include "tests/bench/reading.h"
#include "tests/bench/runs.h"

namespace locus::bench {

using namespace models;

namespace {

// A million random numbers after one another: what a product takes does not depend on them.
at::Tensor repeated(const std::vector<std::int64_t>& shape) {
  constexpr std::int64_t kNumbers = 1 << 20;
  const at::Tensor numbers = at::empty({kNumbers}, at::kBFloat16).normal_(0, 0.02);
  const at::Tensor value = at::empty(shape, at::kBFloat16);
  const at::Tensor all = value.view(-1);
  for (std::int64_t begin = 0; begin < all.size(0); begin += kNumbers) {
    const std::int64_t count = std::min(kNumbers, all.size(0) - begin);
    all.narrow(0, begin, count).copy_(numbers.narrow(0, 0, count));
  }
  return value;
}

// Random weights: matrices in bfloat16, or the same numbers in another type.
Result<std::unique_ptr<transformer::Transformer>> filled(const transformer::Spec& spec, at::ScalarType type) {
  LOCUS_TRY(std::unique_ptr<transformer::Transformer> model, transformer::Transformer::create(spec, false));
  at::manual_seed(1);
  for (const transformer::Parameter& parameter : model->parameters()) {
    if (!parameter.product) {
      *parameter.value = at::ones(parameter.shape);
      continue;
    }
    const at::Tensor value = repeated(parameter.shape);
    *parameter.value = value.to(type);
  }
  return model;
}

class Stored {
 public:
  explicit Stored(Rig& rig) : rig_(rig) {}

  Status run() {
    const transformer::Spec spec = billion_llama(rig_.quick(), transformer::QkvLayout::kFused);
    LOCUS_TRY(stored_, filled(spec, at::kBFloat16));
    LOCUS_CHECK(memory(rig_.quick() ? 64 : 256));
    LOCUS_CHECK(announced(rig_.quick() ? 64 : 512));
    LOCUS_TRY(converted_, filled(spec, at::kFloat));
    LOCUS_CHECK(forward(rig_.quick() ? 64 : 512));
    LOCUS_CHECK(rate("bfloat16", *stored_, rig_.quick() ? 64 : 512));
    LOCUS_CHECK(rate("float32", *converted_, rig_.quick() ? 64 : 512));
    const std::int64_t length = rig_.quick() ? 32 : 512;
    LOCUS_CHECK(append(length));
    LOCUS_CHECK(beside_bytes("bfloat16", *stored_, length));
    LOCUS_CHECK(beside_bytes("float32", *converted_, length));
    stored_.reset();
    converted_.reset();
    LOCUS_TRY(converted_, filled(spec, at::kHalf));
    LOCUS_CHECK(beside_bytes("float16", *converted_, length));
    return small(length);
  }

 private:
  using Model = std::unique_ptr<transformer::Transformer>;

  Status memory(std::int64_t length) {
    LOCUS_TRY(const double megabytes, Rig::peak_megabytes([&] { return observe_random(*stored_, length); }));
    rig_.add({"bfloat16 weights: memory beyond them, T = " + std::to_string(length), megabytes, "MB", "", 0, 0,
              Target::kValueAtMost, 600, false, ""});
    return {};
  }

  Status forward(std::int64_t length) {
    LOCUS_TRY(const Timed times, rig_.time([&] { return observe_random(*stored_, length); },
                                           [&] { return observe_random(*converted_, length); }));
    rig_.add("bfloat16 weights: forward, T = " + std::to_string(length), times, "the same weights as float32",
             Target::kRatioAtMost, 1.1);
    return {};
  }

  // Multiplications and additions a second, against those of the fastest product of this machine.
  Status rate(const std::string& name, const transformer::Transformer& model, std::int64_t length) {
    constexpr std::int64_t kSide = 1024;
    const at::Tensor a = at::randn({kSide, kSide});
    const at::Tensor b = at::randn({kSide, kSide});
    at::Tensor c = at::empty({kSide, kSide});
    const auto product = [&]() -> Status {
      at::mm_out(c, a, b);
      return {};
    };
    LOCUS_TRY(const Timed times, rig_.time([&] { return observe_random(model, length); }, product));
    rig_.add({name + " weights: forward rate, T = " + std::to_string(length),
              2e-6 * transformer::run_macs(model.spec(), length, false) / times.milliseconds, "GFLOP/s",
              "1024³ product", 2e-6 * kSide * kSide * kSide / times.reference_milliseconds, 0, Target::kRatioAtLeast,
              0.9, false, ""});
    return {};
  }

  // With what a run announces before it starts, as if nothing had been measured yet.
  Status announced(std::int64_t length) {
    const auto estimated = [&] {
      run_ms(*stored_, measure_throughput(*stored_, true, at::kCPU), length, false);
      return observe_random(*stored_, length);
    };
    LOCUS_TRY(const Timed times, rig_.time(estimated, [&] { return observe_random(*stored_, length); }));
    rig_.add("bfloat16 weights: estimate and forward, T = " + std::to_string(length), times, "the forward alone",
             Target::kRatioAtMost, 1.05);
    return {};
  }

  // One token more after `length`, everything before it taken over.
  Status append(std::int64_t length) {
    LOCUS_TRY(transformer::ReusedTokens stored, begin_run(*stored_, length));
    LOCUS_TRY(transformer::ReusedTokens converted, begin_run(*converted_, length));
    LOCUS_TRY(const Timed times, rig_.time([&] { return append_token(*stored_, stored); },
                                           [&] { return append_token(*converted_, converted); }));
    rig_.add("bfloat16 weights: appended token, T = " + std::to_string(length), times, "the same weights as float32",
             Target::kRatioAtMost, 0.65);
    return {};
  }

  // At GPT-2's size, where what is not a product counts for more.
  Status small(std::int64_t length) {
    constexpr double kTarget = 1.5;
    const transformer::Spec spec = gpt2_small(2 * length, rig_.quick());
    for (const auto& [name, type] :
         {std::pair{"bfloat16", at::kBFloat16}, {"float16", at::kHalf}, {"float32", at::kFloat}}) {
      LOCUS_TRY(converted_, filled(spec, type));
      LOCUS_CHECK(beside_bytes(std::string("GPT-2's size, ") + name, *converted_, length, kTarget));
    }
    return {};
  }

  Status beside_bytes(const std::string& name, transformer::Transformer& model, std::int64_t length,
                      double target = 1.25) {
    LOCUS_TRY(transformer::ReusedTokens reused, begin_run(model, length));
    const ByteSpans weights = weights_read(model);
    LOCUS_TRY(const Timed times,
              rig_.time([&] { return append_token(model, reused); }, [&] { return read_once(weights); }));
    rig_.add(name + " weights: appended token, T = " + std::to_string(length) + ", beside its bytes", times,
             "reading the same bytes", Target::kRatioAtMost, target);
    return {};
  }

  Rig& rig_;
  Model stored_;
  Model converted_;
};

}  // namespace

Status bench_stored(Rig& rig) {
  return Stored(rig).run();
}

}  // namespace locus::bench

// Products with weights as stored against the same with float32 weights by ATen: what a forward pass and an appended
// token are made of.
#include <ATen/ATen.h>
#include <benchmark/benchmark.h>

#include <cstdint>

#include "core/products/products.h"

namespace {

using locus::products::Format;

// Arguments: tokens, inputs, outputs.
void stored(benchmark::State& state, Format format, bool transposed) {
  const std::int64_t tokens = state.range(0);
  const std::int64_t inputs = state.range(1);
  const std::int64_t outputs = state.range(2);
  const at::Tensor x = at::randn({tokens, inputs});
  const at::Tensor weight = at::randn({outputs, inputs}).to(format == Format::kHalf ? at::kHalf : at::kBFloat16);
  at::Tensor y = at::empty({tokens, outputs});
  const locus::products::Weights weights{weight.data_ptr(),       format, outputs, inputs, transposed ? 1 : inputs,
                                         transposed ? outputs : 1};
  for (auto _ : state) {
    locus::products::multiply(weights, x.data_ptr<float>(), tokens, inputs, nullptr, y.data_ptr<float>(), outputs);
    benchmark::ClobberMemory();
  }
}

void converted(benchmark::State& state) {
  const at::NoGradGuard no_grad;
  const at::Tensor x = at::randn({state.range(0), state.range(1)});
  const at::Tensor weight = at::randn({state.range(2), state.range(1)});
  for (auto _ : state) {
    benchmark::DoNotOptimize(at::linear(x, weight));
  }
}

void shapes(benchmark::internal::Benchmark* bench) {
  for (const std::int64_t tokens : {1, 4, 16, 256, 512}) {
    bench->Args({tokens, 2048, 8192});
  }
  bench->Args({512, 8192, 2048})->Args({512, 2048, 512})->UseRealTime();
}

BENCHMARK_CAPTURE(stored, bfloat16, Format::kBfloat16, false)->Apply(shapes);
BENCHMARK_CAPTURE(stored, half, Format::kHalf, false)->Apply(shapes);
BENCHMARK_CAPTURE(stored, bfloat16_transposed, Format::kBfloat16, true)->Apply(shapes);
BENCHMARK(converted)->Apply(shapes);

}  // namespace

BENCHMARK_MAIN();

// Products with weights as stored against the same with float32 weights by ATen, and one token against reading the
// bytes of the weights: what a forward pass and an appended token are made of.
#include <ATen/ATen.h>
#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/block_formats.h"
#include "core/products/products.h"
#include "models/bench/reading.h"

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

// Bytes of one matrix, larger than any cache, for one token; `format` by name, or nothing to multiply: they are read.
// Whatever they are, they are numbers that are finite.
void one_token(benchmark::State& state, const std::string& name, bool multiplied) {
  const std::int64_t inputs = 2048;
  const std::int64_t outputs = state.range(0);
  const locus::blocks::Format& format = *locus::blocks::format_of(name);
  std::vector<std::byte> bytes(static_cast<std::size_t>(outputs * inputs / format.elements * format.bytes),
                               std::byte{0x11});
  locus::products::Weights weights{bytes.data(), Format::kFloat, outputs, inputs, inputs, 1};
  if (name == "BF16" || name == "F16") {
    weights.format = name == "F16" ? Format::kHalf : Format::kBfloat16;
  } else if (name != "F32") {
    weights.blocks = &format;
  }
  const at::Tensor x = at::randn({inputs});
  at::Tensor y = at::empty({outputs});
  for (auto _ : state) {
    if (multiplied) {
      locus::products::multiply(weights, x.data_ptr<float>(), 1, inputs, nullptr, y.data_ptr<float>(), outputs);
    } else if (!locus::models::read_once({bytes}).ok()) {
      state.SkipWithError("nothing was read");
    }
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * bytes.size()));
}

void tall(benchmark::internal::Benchmark* bench) {
  bench->Arg(1 << 16)->UseRealTime();
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
BENCHMARK_CAPTURE(one_token, bfloat16, "BF16", true)->Apply(tall);
BENCHMARK_CAPTURE(one_token, bfloat16_read, "BF16", false)->Apply(tall);
BENCHMARK_CAPTURE(one_token, float16, "F16", true)->Apply(tall);
BENCHMARK_CAPTURE(one_token, float32, "F32", true)->Apply(tall);
BENCHMARK_CAPTURE(one_token, float32_read, "F32", false)->Apply(tall);
BENCHMARK_CAPTURE(one_token, q8_0, "Q8_0", true)->Apply(tall);
BENCHMARK_CAPTURE(one_token, q8_0_read, "Q8_0", false)->Apply(tall);
BENCHMARK_CAPTURE(one_token, q4_k, "Q4_K", true)->Apply(tall);
BENCHMARK_CAPTURE(one_token, q4_k_read, "Q4_K", false)->Apply(tall);

}  // namespace

BENCHMARK_MAIN();

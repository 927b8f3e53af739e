// Rows of weights in blocks: a further token of a Llama of 1.2 billion parameters in Q4_K and Q8_0, against bfloat16
// and against reading the same bytes.
#include <ATen/Parallel.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "core/products/packed.h"
#include "models/bench/rig.h"
#include "models/bench/runs.h"
#include "models/bench/shapes.h"
#include "models/transformer/transformer.h"

namespace locus::models {

namespace {

using BlockModel = std::unique_ptr<transformer::Transformer>;
using BlockBytes = std::shared_ptr<std::vector<std::byte>>;

// Blocks of the same random numbers after one another: what a product takes does not depend on them.
at::Tensor blocks_of(const blocks::Format& format, const std::vector<std::int64_t>& shape,
                     std::vector<BlockBytes>& stored) {
  constexpr std::int64_t kNumbers = 1 << 16;
  const at::Tensor numbers = at::empty({kNumbers}).normal_(0, 0.02);
  std::vector<std::byte> pattern(static_cast<std::size_t>(kNumbers / format.elements * format.bytes));
  blocks::pack(format, numbers.data_ptr<float>(), kNumbers / format.elements, pattern.data());
  const auto size = static_cast<std::size_t>(shape[0] * (shape[1] / format.elements) * format.bytes);
  auto bytes = std::make_shared<std::vector<std::byte>>(size);
  for (std::size_t begin = 0; begin < size; begin += pattern.size()) {
    std::memcpy(bytes->data() + begin, pattern.data(), std::min(pattern.size(), size - begin));
  }
  stored.push_back(bytes);
  return products::packed_tensor({&format, bytes->data(), shape[0], shape[1], 0, bytes});
}

// Random weights: matrices in this format, bfloat16 without one.
Result<BlockModel> quantised_model(const transformer::Spec& spec, const blocks::Format* format,
                                   std::vector<BlockBytes>& stored) {
  LOCUS_TRY(BlockModel model, transformer::Transformer::create(spec, false));
  at::manual_seed(1);
  for (const transformer::Parameter& parameter : model->parameters()) {
    if (!parameter.product) {
      *parameter.value = at::ones(parameter.shape);
    } else if (format != nullptr) {
      *parameter.value = blocks_of(*format, parameter.shape, stored);
    } else {
      *parameter.value = at::empty(parameter.shape, at::kBFloat16).fill_(0.01);
    }
  }
  return model;
}

// Reads every byte with all threads, a cache line at a time.
Status read_all(const std::vector<BlockBytes>& stored) {
  using Words = std::uint64_t __attribute__((vector_size(64), aligned(1), may_alias));
  std::atomic<std::uint64_t> seen{0};
  for (const BlockBytes& bytes : stored) {
    const auto lines = static_cast<std::int64_t>(bytes->size() / sizeof(Words));
    const auto* const words = reinterpret_cast<const Words*>(bytes->data());
    at::parallel_for(0, lines, 4096, [&](std::int64_t begin, std::int64_t end) {
      Words first{};
      Words second{};
      for (std::int64_t n = begin; n + 1 < end; n += 2) {
        first |= words[n];
        second |= words[n + 1];
      }
      first |= second;
      seen |= first[0] | first[3] | first[7];
    });
  }
  return seen != 0 ? Status() : Status(internal("the weights are zeros"));
}

class Quantised {
 public:
  explicit Quantised(Rig& rig)
      : rig_(rig),
        spec_(billion_llama(rig.quick(), transformer::QkvLayout::kSeparate)),
        length_(rig.quick() ? 32 : 512) {}

  Status run() {
    std::vector<BlockBytes> none;
    LOCUS_TRY(wide_, quantised_model(spec_, nullptr, none));
    LOCUS_CHECK(format("Q4_K", 0.67));
    return format("Q8_0", 0.8);
  }

 private:
  // A further token after `length_`, everything before it taken over.
  Status format(const std::string& name, double target) {
    std::vector<BlockBytes> stored;
    LOCUS_TRY(const BlockModel model, quantised_model(spec_, blocks::format_of(name), stored));
    LOCUS_TRY(transformer::ReusedTokens own, begin_run(*model, length_));
    LOCUS_TRY(transformer::ReusedTokens wide, begin_run(*wide_, length_));
    const std::string row = name + " weights: appended token, T = " + std::to_string(length_);
    LOCUS_TRY(const Timed times,
              rig_.time([&] { return append_token(*model, own); }, [&] { return append_token(*wide_, wide); }));
    rig_.add(row, times, "bfloat16 weights", BenchTarget::kRatioAtMost, target);
    LOCUS_TRY(const Timed reading,
              rig_.time([&] { return append_token(*model, own); }, [&] { return read_all(stored); }));
    rig_.add(row + ", beside its bytes", reading, "reading the same bytes", BenchTarget::kRatioAtMost, 1.4);
    return {};
  }

  Rig& rig_;
  transformer::Spec spec_;
  std::int64_t length_;
  BlockModel wide_;
};

}  // namespace

Status bench_quantised(Rig& rig) {
  return Quantised(rig).run();
}

}  // namespace locus::models

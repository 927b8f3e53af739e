// Rows of weights in blocks: size, memory and a further token of a Llama of 1.2 billion parameters in the formats that
// are multiplied as they are, against bfloat16 and against reading the same bytes.
#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "core/products/packed.h"
#include "models/transformer/transformer.h"
#include "tests/bench/groups.h"
#include "tests/bench/reading.h"
#include "tests/bench/runs.h"

namespace locus::bench {

using namespace models;

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

ByteSpans spans_of(const std::vector<BlockBytes>& stored) {
  ByteSpans spans;
  for (const BlockBytes& bytes : stored) {
    spans.emplace_back(*bytes);
  }
  return spans;
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
    LOCUS_TRY(wide_reused_, begin_run(*wide_, length_));
    for (const Wanted& wanted : kWanted) {
      LOCUS_CHECK(format(wanted));
    }
    return {};
  }

 private:
  struct Wanted {
    const char* name;
    double beside_wide;   // of a further token in bfloat16
    double beside_bytes;  // of reading them; 0: not asked for
  };
  static constexpr std::array<Wanted, 8> kWanted{{{"Q8_0", 0.8, 0},
                                                  {"Q6_K", 0.8, 0},
                                                  {"Q5_K", 0.8, 0},
                                                  {"Q5_1", 0.8, 0},
                                                  {"Q5_0", 0.8, 0},
                                                  {"Q4_1", 0.67, 0},
                                                  {"Q4_K", 0.67, 1.4},
                                                  {"Q4_0", 0.67, 0}}};

  Status format(const Wanted& wanted) {
    std::vector<BlockBytes> stored;
    LOCUS_TRY(const BlockModel model, quantised_model(spec_, blocks::format_of(wanted.name), stored));
    const ByteSpans bytes = spans_of(stored);
    const std::string start = wanted.name + std::string(" weights");
    double megabytes = 0;
    for (const auto& span : bytes) {
      megabytes += static_cast<double>(span.size()) / 1e6;
    }
    rig_.add({start, megabytes, "MB", "", 0, 0, Target::kNone, 0, true, ""});
    const std::int64_t length = rig_.quick() ? 64 : 256;
    LOCUS_TRY(const double peak, Rig::peak_megabytes([&] { return observe_random(*model, length); }));
    rig_.add({start + ": memory beyond them, T = " + std::to_string(length), peak, "MB", "", 0, 0, Target::kValueAtMost,
              600, false, ""});
    return append(wanted, start, *model, bytes);
  }

  // A further token after `length_`, everything before it taken over.
  Status append(const Wanted& wanted, const std::string& start, transformer::Transformer& model,
                const ByteSpans& bytes) {
    LOCUS_TRY(transformer::ReusedTokens own, begin_run(model, length_));
    const auto appended = [&] { return append_token(model, own); };
    const std::string row = start + ": appended token, T = " + std::to_string(length_);
    LOCUS_TRY(const Timed times, rig_.time(appended, [&] { return append_token(*wide_, wide_reused_); }));
    rig_.add(row, times, "bfloat16 weights", Target::kRatioAtMost, wanted.beside_wide);
    LOCUS_TRY(const Timed reading, rig_.time(appended, [&] { return read_once(bytes); }));
    rig_.add(row + ", beside its bytes", reading, "reading the same bytes",
             wanted.beside_bytes > 0 ? Target::kRatioAtMost : Target::kNone, wanted.beside_bytes);
    model.use_fast_products();
    LOCUS_TRY(const Timed fast, rig_.time(appended, [&] { return read_once(bytes); }));
    rig_.add(row + ", fast products, beside its bytes", fast, "reading the same bytes", Target::kNone, 0);
    return {};
  }

  Rig& rig_;
  transformer::Spec spec_;
  std::int64_t length_;
  BlockModel wide_;
  transformer::ReusedTokens wide_reused_;
};

}  // namespace

Status bench_quantised(Rig& rig) {
  return Quantised(rig).run();
}

}  // namespace locus::bench

// Rows of products: weights as stored against float32 weights by ATen, and one token against reading the bytes of the
// weights. A forward pass and an appended token consist of them.
#include <ATen/ATen.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/base/block_formats.h"
#include "core/base/instruction_sets.h"
#include "core/base/large_pages.h"
#include "core/products/products.h"
#include "tests/bench/groups.h"
#include "tests/bench/reading.h"

namespace locus::bench {

namespace {

using products::Format;

struct ProductShape {
  std::int64_t tokens;
  std::int64_t inputs;
  std::int64_t outputs;
};

struct StoredCase {
  const char* name;
  Format format;
  bool transposed;
};

Status add_product(Rig& rig, const ProductShape& shape, const StoredCase& one) {
  const at::Tensor x = at::randn({shape.tokens, shape.inputs});
  const at::Tensor expanded = at::randn({shape.outputs, shape.inputs});
  const at::Tensor weight = expanded.to(one.format == Format::kHalf ? at::kHalf : at::kBFloat16);
  at::Tensor y = at::empty({shape.tokens, shape.outputs});
  const products::Weights weights{weight.data_ptr(),
                                  one.format,
                                  shape.outputs,
                                  shape.inputs,
                                  one.transposed ? 1 : shape.inputs,
                                  one.transposed ? shape.outputs : 1};
  const auto stored = [&]() -> Status {
    products::multiply(weights, x.data_ptr<float>(), shape.tokens, shape.inputs, nullptr, y.data_ptr<float>(),
                       shape.outputs);
    return {};
  };
  const auto by_aten = [&]() -> Status {
    y = at::linear(x, expanded);
    return {};
  };
  LOCUS_TRY(const Timed times, rig.time(stored, by_aten));
  rig.add(std::to_string(shape.tokens) + " × " + std::to_string(shape.inputs) + " tokens by " + one.name +
              " weights, " + std::to_string(shape.outputs) + " outputs",
          times, "float32 weights by ATen", Target::kNone, 0);
  return {};
}

struct TokenCase {
  const char* name;  // of the format
  double limit;      // × reading the bytes; 0: none set
  bool fast = false;
  const blocks::Format* held = nullptr;  // where no file has it
};

// The same product in matrix tiles and by AVX-512's loops, where this CPU has both.
Status add_tiles(Rig& rig, const ProductShape& shape, const std::string& format_name) {
  const blocks::Format& format = *blocks::format_of(format_name);
  const at::Tensor numbers = at::randn({shape.outputs, shape.inputs});
  const at::Tensor halves = numbers.to(at::kBFloat16);
  const std::vector<std::byte> bytes(
      static_cast<std::size_t>(shape.outputs * shape.inputs / format.elements * format.bytes), std::byte{0x3C});
  products::Weights weights{numbers.data_ptr(), Format::kFloat, shape.outputs, shape.inputs, shape.inputs, 1};
  if (format_name == "BF16") {
    weights.data = halves.data_ptr();
    weights.format = Format::kBfloat16;
  } else if (format_name != "F32") {
    weights.data = bytes.data();
    weights.blocks = &format;
  }
  const at::Tensor x = at::randn({shape.tokens, shape.inputs});
  at::Tensor y = at::empty({shape.tokens, shape.outputs});
  const auto multiply = [&](bool tiles) -> Status {
    products::multiply(weights, x.data_ptr<float>(), shape.tokens, shape.inputs, nullptr, y.data_ptr<float>(),
                       shape.outputs, products::kernels(runnable_versions() - 1, tiles));
    return {};
  };
  LOCUS_TRY(const Timed times, rig.time([&] { return multiply(true); }, [&] { return multiply(false); }));
  rig.add(std::to_string(shape.tokens) + " × " + std::to_string(shape.inputs) + " tokens by " + format_name +
              " weights, " + std::to_string(shape.outputs) + " outputs, in matrix tiles",
          times, "AVX-512's loops", Target::kRatioAtMost, 0.8);
  return {};
}

// The same product of many tokens rounded and exact, by the kernels in use.
Status add_rounded(Rig& rig, const ProductShape& shape, const std::string& format_name) {
  const blocks::Format& format = *blocks::format_of(format_name);
  const std::vector<std::byte> bytes(
      static_cast<std::size_t>(shape.outputs * shape.inputs / format.elements * format.bytes), std::byte{0x3C});
  products::Weights weights{bytes.data(), Format::kFloat, shape.outputs, shape.inputs, shape.inputs, 1};
  weights.blocks = &format;
  const at::Tensor x = at::randn({shape.tokens, shape.inputs});
  at::Tensor y = at::empty({shape.tokens, shape.outputs});
  const auto multiply = [&](bool fast) -> Status {
    weights.fast = fast;
    products::multiply(weights, x.data_ptr<float>(), shape.tokens, shape.inputs, nullptr, y.data_ptr<float>(),
                       shape.outputs);
    return {};
  };
  LOCUS_TRY(const Timed times, rig.time([&] { return multiply(true); }, [&] { return multiply(false); }));
  const bool rounds = products::kernels().integers != nullptr && products::kernels().tiles == nullptr;
  rig.add(std::to_string(shape.tokens) + " × " + std::to_string(shape.inputs) + " tokens by " + format_name +
              " weights, " + std::to_string(shape.outputs) + " outputs, fast products",
          times, "exact products", rounds ? Target::kRatioAtMost : Target::kNone, 0.8);
  return {};
}

// Bytes in large pages that are finite numbers in every format.
Result<std::shared_ptr<std::byte>> finite_bytes(std::int64_t count) {
  std::shared_ptr<std::byte> held = LargePages().take(static_cast<std::size_t>(count));
  if (held == nullptr) {
    return internal("no memory for " + std::to_string(count) + " bytes");
  }
  std::fill_n(held.get(), count, std::byte{0x3C});
  return held;
}

// The same product from large pages and from those of a file. Where the system makes every page large, both are.
Status add_pages(Rig& rig) {
  const std::int64_t inputs = 576;
  const std::int64_t outputs = rig.quick() ? 256 : 170000;
  const blocks::Format& format = *blocks::format_of("Q4_1");
  const std::int64_t size = outputs * inputs / format.elements * format.bytes;
  LOCUS_TRY(const std::shared_ptr<std::byte> large, finite_bytes(size));
  const std::vector<std::byte> small(static_cast<std::size_t>(size), std::byte{0x3C});
  const at::Tensor x = at::randn({inputs});
  at::Tensor y = at::empty({outputs});
  const auto multiply = [&](const std::byte* data) -> Status {
    products::Weights weights{data, Format::kFloat, outputs, inputs, inputs, 1};
    weights.blocks = &format;
    weights.fast = true;
    products::multiply(weights, x.data_ptr<float>(), 1, inputs, nullptr, y.data_ptr<float>(), outputs);
    return {};
  };
  LOCUS_TRY(const Timed times, rig.time([&] { return multiply(large.get()); }, [&] { return multiply(small.data()); }));
  rig.add("one token by " + std::to_string(outputs) + " × " + std::to_string(inputs) + " weights in large pages, Q4_1",
          times, "the same in pages of 4 KiB", Target::kNone, 0);
  return {};
}

// One matrix, larger than any cache. In every format its bytes, all alike, are finite numbers, and neither they nor
// their scales are so small that products with them are denormal, which takes many times as long.
Status add_token(Rig& rig, const TokenCase& one) {
  const std::int64_t inputs = 2048;
  const std::int64_t outputs = rig.quick() ? 256 : 1 << 16;
  const std::string name = one.name;
  const blocks::Format& format = one.held != nullptr ? *one.held : *blocks::format_of(name);
  // In large pages, as the weights of a small model lie.
  LOCUS_TRY(const std::shared_ptr<std::byte> held, finite_bytes(outputs * inputs / format.elements * format.bytes));
  const std::span<const std::byte> bytes(held.get(),
                                         static_cast<std::size_t>(outputs * inputs / format.elements * format.bytes));
  products::Weights weights{bytes.data(), Format::kFloat, outputs, inputs, inputs, 1};
  if (name == "BF16" || name == "F16") {
    weights.format = name == "F16" ? Format::kHalf : Format::kBfloat16;
  } else if (name != "F32") {
    weights.blocks = &format;
    weights.fast = one.fast;
  }
  const at::Tensor x = at::randn({inputs});
  at::Tensor y = at::empty({outputs});
  const auto multiply = [&]() -> Status {
    products::multiply(weights, x.data_ptr<float>(), 1, inputs, nullptr, y.data_ptr<float>(), outputs);
    return {};
  };
  LOCUS_TRY(const Timed times, rig.time(multiply, [&] { return read_once({bytes}); }));
  rig.add("one token by " + std::to_string(outputs) + " × " + std::to_string(inputs) + " weights, " + name +
              (one.fast ? ", fast products" : ""),
          times, "reading the same bytes", one.limit > 0 ? Target::kRatioAtMost : Target::kNone, one.limit);
  return {};
}

}  // namespace

Status bench_products(Rig& rig) {
  const at::NoGradGuard no_grad;
  std::vector<ProductShape> shapes{{512, 8192, 2048}, {512, 2048, 512}};
  for (const std::int64_t tokens : {1, 4, 16, 256, 512}) {
    shapes.push_back({tokens, 2048, 8192});
  }
  if (rig.quick()) {
    shapes = {{4, 256, 128}};
  }
  for (const ProductShape& shape : shapes) {
    for (const StoredCase& one :
         {StoredCase{"bfloat16", Format::kBfloat16, false}, StoredCase{"float16", Format::kHalf, false},
          StoredCase{"transposed bfloat16", Format::kBfloat16, true}}) {
      LOCUS_CHECK(add_product(rig, shape, one));
    }
  }
  for (const char* format : {"BF16", "F32", "Q8_0", "Q4_0", "Q4_K"}) {
    if (runnable_tiles()) {
      LOCUS_CHECK(add_tiles(rig, rig.quick() ? ProductShape{32, 256, 128} : ProductShape{512, 2048, 8192}, format));
    }
  }
  for (const char* format : {"Q8_0", "Q4_0", "Q4_K"}) {
    LOCUS_CHECK(add_rounded(rig, rig.quick() ? ProductShape{32, 256, 128} : ProductShape{512, 2048, 8192}, format));
  }
  return {};
}

Status bench_one_token(Rig& rig) {
  for (const TokenCase& one :
       {TokenCase{"BF16", 1.25}, TokenCase{"F16", 1.25}, TokenCase{"F32", 1.25}, TokenCase{"Q8_0", 0},
        TokenCase{"Q4_K", 1.4}, TokenCase{"Q8_0", 1.25, true}, TokenCase{"Q5_0", 0, true}, TokenCase{"Q4_1", 0, true},
        TokenCase{"Q4_K", 1.4, true}, TokenCase{"MXFP4", 1.25}, TokenCase{"MXFP4", 1.25, true},
        TokenCase{"FP8 in blocks of 128", 1.25, false, &blocks::scaled_float8(128)},
        TokenCase{"FP8 in blocks of 32", 1.25, false, &blocks::scaled_float8(32)}}) {
    LOCUS_CHECK(add_token(rig, one));
  }
  return add_pages(rig);
}

}  // namespace locus::bench

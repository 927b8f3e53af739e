// What a further token is measured against: reading the bytes of the weights once, as fast as the memory gives them.
#pragma once

#include <ATen/Parallel.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "models/transformer/transformer.h"

namespace locus::bench {

using ByteSpans = std::vector<std::span<const std::byte>>;

// Eight pages side by side, a cache line of each in turn, while the lines of the next eight are asked for: on the
// machines where it was measured a third faster than one page after another. What is left of a last part is not read.
inline std::uint64_t read_part(const std::byte* data, std::int64_t size) {
  using Line = std::uint64_t __attribute__((vector_size(64), aligned(1), may_alias));
  constexpr std::int64_t kPage = 4096;
  constexpr std::int64_t kPages = 8;
  Line seen[kPages] = {};
  for (std::int64_t begin = 0; begin + kPages * kPage <= size; begin += kPages * kPage) {
    for (std::int64_t at = 0; at < kPage; at += static_cast<std::int64_t>(sizeof(Line))) {
#pragma GCC unroll 8
      for (std::int64_t page = 0; page < kPages; ++page) {
        const std::byte* const line = data + begin + page * kPage + at;
        __builtin_prefetch(line + kPages * kPage, 0, 2);
        seen[page] |= *reinterpret_cast<const Line*>(line);
      }
    }
  }
  for (std::int64_t page = 1; page < kPages; ++page) {
    seen[0] |= seen[page];
  }
  return seen[0][0] | seen[0][3] | seen[0][7];
}

// All of them, with all threads. Errors: kInternal where every byte is 0, which nobody multiplies with.
inline Status read_once(const ByteSpans& all) {
  std::atomic<std::uint64_t> seen{0};
  constexpr std::int64_t kPart = 1 << 18;
  for (const std::span<const std::byte> bytes : all) {
    const auto size = static_cast<std::int64_t>(bytes.size());
    at::parallel_for(0, (size + kPart - 1) / kPart, 1, [&](std::int64_t begin, std::int64_t end) {
      seen |= read_part(bytes.data() + begin * kPart, std::min(end * kPart, size) - begin * kPart);
    });
  }
  return seen != 0 ? Status() : Status(internal("the weights are zeros"));
}

// The bytes that a further token of a model reads: of its table of positions it reads one row.
inline ByteSpans weights_read(transformer::Transformer& model) {
  ByteSpans spans;
  for (const transformer::Parameter& parameter : model.parameters()) {
    if (parameter.name.rfind("position.", 0) != 0) {
      spans.emplace_back(static_cast<const std::byte*>(parameter.value->data_ptr()), parameter.value->nbytes());
    }
  }
  return spans;
}

}  // namespace locus::bench

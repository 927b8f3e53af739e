#include "core/products/matrix_tiles.h"

#include <algorithm>

#include "core/base/instruction_sets.h"
#include "core/products/kernels.h"

#if defined(LOCUS_MATRIX_TILES)
#include <immintrin.h>
#endif

namespace locus::products {

#if defined(LOCUS_MATRIX_TILES)

#pragma GCC push_options
#pragma GCC target( \
    "avx2,fma,f16c,bmi,bmi2,avx512f,avx512bw,avx512dq,avx512vl,avx512cd,avx512bf16,amx-tile,amx-bf16,prefer-vector-width=512")

namespace {

#define LOCUS_INLINE [[gnu::always_inline]] inline

constexpr std::int64_t kTileBytes = kStepBytes / 3;
constexpr std::int64_t kLanes = 16;

void begin() {
  struct alignas(64) {
    std::uint8_t palette = 1;
    std::uint8_t start = 0;
    std::uint8_t reserved[14] = {};
    std::uint16_t row_bytes[16] = {};
    std::uint8_t rows[16] = {};
  } shapes;
  std::fill_n(shapes.row_bytes, 8, std::uint16_t{64});
  std::fill_n(shapes.rows, 8, std::uint8_t{16});
  _tile_loadconfig(&shapes);
}

void end() {
  _tile_release();
}

// A step of one row: 32 numbers, the first 16 in `low`.
struct Row {
  __m512 low;
  __m512 high;
};

// Formats: the first `count` numbers from w on, 16 at most, and 0.
struct Bfloat16Rows {
  using Element = std::uint16_t;
  LOCUS_INLINE static __m512 load(const Element* w, __mmask16 lanes) {
    const __m256i bits = _mm256_maskz_loadu_epi16(lanes, w);
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16));
  }
};
struct HalfRows {
  using Element = std::uint16_t;
  LOCUS_INLINE static __m512 load(const Element* w, __mmask16 lanes) {
    return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(lanes, w));
  }
};
struct FloatRows {
  using Element = float;
  LOCUS_INLINE static __m512 load(const Element* w, __mmask16 lanes) { return _mm512_maskz_loadu_ps(lanes, w); }
};

LOCUS_INLINE __mmask16 first_lanes(std::int64_t count) {
  return static_cast<__mmask16>((1U << std::clamp<std::int64_t>(count, 0, kLanes)) - 1U);
}

LOCUS_INLINE __m512 widened(__m256i bits) {
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16));
}

// The part of a row that bfloat16 numbers hold; what is left stays in the row.
LOCUS_INLINE __m512i take_part(Row& row) {
  const auto part = reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(row.high, row.low));
  row.low = _mm512_sub_ps(row.low, widened(_mm512_castsi512_si256(part)));
  row.high = _mm512_sub_ps(row.high, widened(_mm512_extracti64x4_epi64(part, 1)));
  return part;
}

// 16 vectors as rows of a square become its columns.
LOCUS_INLINE void transpose(__m512 (&rows)[kLanes]) {
  __m512 pairs[kLanes];
#pragma GCC unroll 8
  for (std::int64_t n = 0; n < kLanes; n += 2) {
    pairs[n] = _mm512_unpacklo_ps(rows[n], rows[n + 1]);
    pairs[n + 1] = _mm512_unpackhi_ps(rows[n], rows[n + 1]);
  }
#pragma GCC unroll 4
  for (std::int64_t n = 0; n < kLanes; n += 4) {
    const auto of = [&](std::int64_t which) { return _mm512_castps_pd(pairs[n + which]); };
    rows[n] = _mm512_castpd_ps(_mm512_unpacklo_pd(of(0), of(2)));
    rows[n + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(of(0), of(2)));
    rows[n + 2] = _mm512_castpd_ps(_mm512_unpacklo_pd(of(1), of(3)));
    rows[n + 3] = _mm512_castpd_ps(_mm512_unpackhi_pd(of(1), of(3)));
  }
#pragma GCC unroll 4
  for (std::int64_t n = 0; n < 4; ++n) {
    pairs[n] = _mm512_shuffle_f32x4(rows[n], rows[n + 4], 0x88);
    pairs[n + 4] = _mm512_shuffle_f32x4(rows[n], rows[n + 4], 0xDD);
    pairs[n + 8] = _mm512_shuffle_f32x4(rows[n + 8], rows[n + 12], 0x88);
    pairs[n + 12] = _mm512_shuffle_f32x4(rows[n + 8], rows[n + 12], 0xDD);
  }
#pragma GCC unroll 4
  for (std::int64_t n = 0; n < 4; ++n) {
    rows[n] = _mm512_shuffle_f32x4(pairs[n], pairs[n + 8], 0x88);
    rows[n + 4] = _mm512_shuffle_f32x4(pairs[n + 4], pairs[n + 12], 0x88);
    rows[n + 8] = _mm512_shuffle_f32x4(pairs[n], pairs[n + 8], 0xDD);
    rows[n + 12] = _mm512_shuffle_f32x4(pairs[n + 4], pairs[n + 12], 0xDD);
  }
}

// Tiles of tokens hold two inputs of each of 16 tokens in a row, as the right side of a tile's product does.
bool pack_tokens(const float* x, std::int64_t x_stride, std::int64_t count, std::int64_t depth, std::byte* block) {
  const __m512 largest = _mm512_set1_ps(0x1.FEp127F);  // of bfloat16
  __mmask16 wrong = 0;
  for (std::int64_t k = 0; k < depth; k += kTileInputs, block += kStepBytes) {
    __m512 parts[3][kLanes];
    for (std::int64_t t = 0; t < kLanes; ++t) {
      Row row{_mm512_setzero_ps(), _mm512_setzero_ps()};
      if (t < count) {
        row = {FloatRows::load(x + t * x_stride + k, first_lanes(depth - k)),
               FloatRows::load(x + t * x_stride + k + kLanes, first_lanes(depth - k - kLanes))};
      }
      wrong |= _mm512_cmp_ps_mask(_mm512_abs_ps(row.low), largest, _CMP_NLE_UQ);
      wrong |= _mm512_cmp_ps_mask(_mm512_abs_ps(row.high), largest, _CMP_NLE_UQ);
      for (auto& part : parts) {
        part[t] = _mm512_castsi512_ps(take_part(row));
      }
    }
    for (std::int64_t part = 0; part < 3; ++part) {
      transpose(parts[part]);
      for (std::int64_t pair = 0; pair < kLanes; ++pair) {
        _mm512_store_ps(reinterpret_cast<float*>(block + part * kTileBytes + pair * 64), parts[part][pair]);
      }
    }
  }
  return wrong == 0;
}

// Writes row n of a step and adds the bits of its second and third part to `second` and `third`.
LOCUS_INLINE void store_row(Row row, std::byte* step, std::int64_t n, __m512i& second, __m512i& third) {
  std::byte* const place = step + n * 64;
  _mm512_store_si512(place, take_part(row));
  const __m512i two = take_part(row);
  const __m512i three = take_part(row);
  _mm512_store_si512(place + kTileBytes, two);
  _mm512_store_si512(place + 2 * kTileBytes, three);
  second = _mm512_or_si512(second, two);
  third = _mm512_or_si512(third, three);
}

// Zeros of either sign are none.
std::int64_t parts_of(__m512i second, __m512i third) {
  const __m512i numbers = _mm512_set1_epi16(0x7FFF);
  return _mm512_test_epi16_mask(third, numbers) != 0 ? 3 : _mm512_test_epi16_mask(second, numbers) != 0 ? 2 : 1;
}

// Tiles of outputs hold 32 inputs of one output in a row, the left side of a tile's product.
template <class W>
std::int64_t pack_outputs(const void* weights, std::int64_t stride, std::int64_t count, std::int64_t depth,
                          std::byte* block) {
  const auto* const w = static_cast<const typename W::Element*>(weights);
  __m512i second = _mm512_setzero_si512();
  __m512i third = _mm512_setzero_si512();
  for (std::int64_t n = 0; n < kTileBlock; ++n) {
    const auto* const from = w + std::min(n, count - 1) * stride;
    const std::int64_t end = n < count ? depth : 0;
    std::int64_t k = 0;
    for (; k + kTileInputs <= end; k += kTileInputs) {
      store_row({W::load(from + k, 0xFFFF), W::load(from + k + kLanes, 0xFFFF)}, block + k / kTileInputs * kStepBytes,
                n, second, third);
    }
    for (; k < depth; k += kTileInputs) {
      store_row({W::load(from + k, first_lanes(end - k)), W::load(from + k + kLanes, first_lanes(end - k - kLanes))},
                block + k / kTileInputs * kStepBytes, n, second, third);
    }
  }
  return parts_of(second, third);
}

template <class W>
std::int64_t pack_transposed(const void* weights, std::int64_t stride, std::int64_t count, std::int64_t depth,
                             std::byte* block) {
  const auto* const w = static_cast<const typename W::Element*>(weights);
  const __mmask16 lanes = first_lanes(count);
  __m512i second = _mm512_setzero_si512();
  __m512i third = _mm512_setzero_si512();
  for (std::int64_t k = 0; k < depth; k += kTileInputs, block += kStepBytes) {
    __m512 halves[2][kLanes];
    for (std::int64_t half = 0; half < 2; ++half) {
      for (std::int64_t n = 0; n < kLanes; ++n) {
        const std::int64_t at = k + half * kLanes + n;
        halves[half][n] = at < depth ? W::load(w + at * stride, lanes) : _mm512_setzero_ps();
      }
      transpose(halves[half]);
    }
    for (std::int64_t n = 0; n < kTileBlock; ++n) {
      store_row({halves[0][n], halves[1][n]}, block, n, second, third);
    }
  }
  return parts_of(second, third);
}

// Tile registers: 0 to 3 the sums of two blocks of outputs by two of tokens, 4 and 5 a part of the outputs, 6 and 7 one
// of the tokens.
template <int TokenBlocks>
LOCUS_INLINE void load_outputs(const std::byte* outputs, std::int64_t apart, std::int64_t part) {
  _tile_loadd(4, outputs + part * kTileBytes, 64);
  _tile_loadd(5, outputs + apart + part * kTileBytes, 64);
}
template <int TokenBlocks>
LOCUS_INLINE void load_tokens(const std::byte* tokens, std::int64_t apart, std::int64_t part) {
  _tile_loadd(6, tokens + part * kTileBytes, 64);
  if constexpr (TokenBlocks == 2) {
    _tile_loadd(7, tokens + apart + part * kTileBytes, 64);
  }
}
template <int TokenBlocks>
LOCUS_INLINE void add_products() {
  _tile_dpbf16ps(0, 4, 6);
  _tile_dpbf16ps(1, 5, 6);
  if constexpr (TokenBlocks == 2) {
    _tile_dpbf16ps(2, 4, 7);
    _tile_dpbf16ps(3, 5, 7);
  }
}

// The products of parts in an order in which one of the two is already there.
template <int Parts, int TokenBlocks>
LOCUS_INLINE void add_steps(const std::byte* tokens, std::int64_t token_bytes, const std::byte* outputs,
                            std::int64_t output_bytes, std::int64_t steps) {
  for (std::int64_t step = 0; step < steps; ++step, tokens += kStepBytes, outputs += kStepBytes) {
    load_outputs<TokenBlocks>(outputs, output_bytes, 0);
    load_tokens<TokenBlocks>(tokens, token_bytes, 2);
    add_products<TokenBlocks>();  // w₁x₃
    load_tokens<TokenBlocks>(tokens, token_bytes, 1);
    add_products<TokenBlocks>();  // w₁x₂
    if constexpr (Parts > 1) {
      load_outputs<TokenBlocks>(outputs, output_bytes, 1);
      add_products<TokenBlocks>();  // w₂x₂
      load_tokens<TokenBlocks>(tokens, token_bytes, 0);
      add_products<TokenBlocks>();  // w₂x₁
      if constexpr (Parts > 2) {
        load_outputs<TokenBlocks>(outputs, output_bytes, 2);
        add_products<TokenBlocks>();  // w₃x₁
      }
      load_outputs<TokenBlocks>(outputs, output_bytes, 0);
    } else {
      load_tokens<TokenBlocks>(tokens, token_bytes, 0);
    }
    add_products<TokenBlocks>();  // w₁x₁
  }
}

template <int Parts, int TokenBlocks>
void multiply_blocks(const std::byte* tokens, std::int64_t token_bytes, const std::byte* outputs,
                     std::int64_t output_bytes, std::int64_t steps, bool more, float* sums) {
  if (more) {
    _tile_loadd(0, sums, 64);
    _tile_loadd(1, sums + 256, 64);
    _tile_loadd(2, sums + 512, 64);
    _tile_loadd(3, sums + 768, 64);
  } else {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  }
  add_steps<Parts, TokenBlocks>(tokens, token_bytes, outputs, output_bytes, steps);
  _tile_stored(0, sums, 64);
  _tile_stored(1, sums + 256, 64);
  _tile_stored(2, sums + 512, 64);
  _tile_stored(3, sums + 768, 64);
}

void multiply(const std::byte* token_blocks, std::int64_t token_bytes, const std::byte* output_blocks,
              std::int64_t output_bytes, std::int64_t parts, std::int64_t steps, bool two_tokens, bool more,
              float* sums) {
  constexpr std::array kByParts{std::array{multiply_blocks<1, 1>, multiply_blocks<1, 2>},
                                std::array{multiply_blocks<2, 1>, multiply_blocks<2, 2>},
                                std::array{multiply_blocks<3, 1>, multiply_blocks<3, 2>}};
  kByParts[static_cast<std::size_t>(parts - 1)][two_tokens ? 1 : 0](token_blocks, token_bytes, output_blocks,
                                                                    output_bytes, steps, more, sums);
}

// Tiles of sums are outputs by tokens.
void store(const float* sums, std::int64_t tokens, std::int64_t outputs, const float* bias, float* y,
           std::int64_t y_stride) {
  for (std::int64_t first = 0; first < tokens; first += kTileBlock) {
    for (std::int64_t n = 0; n < outputs; n += kTileBlock) {
      __m512 rows[kLanes];
#pragma GCC unroll 16
      for (std::int64_t lane = 0; lane < kLanes; ++lane) {
        rows[lane] = _mm512_loadu_ps(sums + (first / kTileBlock * 2 + n / kTileBlock) * 256 + lane * kLanes);
      }
      transpose(rows);
      const __mmask16 lanes = first_lanes(outputs - n);
      const __m512 addend = bias != nullptr ? _mm512_maskz_loadu_ps(lanes, bias + n) : _mm512_setzero_ps();
      float* const to = y + first * y_stride + n;
      if (outputs - n >= kLanes) {
#pragma GCC unroll 16
        for (std::int64_t t = 0; t < kLanes; ++t) {
          if (first + t < tokens) {
            _mm512_storeu_ps(to + t * y_stride, _mm512_add_ps(addend, rows[t]));
          }
        }
        continue;
      }
#pragma GCC unroll 16
      for (std::int64_t t = 0; t < kLanes; ++t) {
        if (first + t < tokens) {
          _mm512_mask_storeu_ps(to + t * y_stride, lanes, _mm512_add_ps(addend, rows[t]));
        }
      }
    }
  }
}

constexpr MatrixTiles kMatrixTiles{
    begin,
    end,
    pack_tokens,
    {pack_outputs<Bfloat16Rows>, pack_outputs<HalfRows>, pack_outputs<FloatRows>},
    {pack_transposed<Bfloat16Rows>, pack_transposed<HalfRows>, pack_transposed<FloatRows>},
    multiply,
    store};

}  // namespace

#pragma GCC pop_options

const MatrixTiles* matrix_tiles() {
  return &kMatrixTiles;
}

#else

const MatrixTiles* matrix_tiles() {
  return nullptr;
}

#endif

}  // namespace locus::products

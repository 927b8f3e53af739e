#include "core/products/products.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "core/products/block_kernels.h"
#include "core/products/many_tokens.h"
#include "core/products/panels.h"
#include "core/products/rounded_kernels.h"

namespace locus::products {

namespace {

// Outputs of a thread's turn: at most a panel, and enough turns for all threads.
std::int64_t turn_of(std::int64_t outputs, std::int64_t columns, std::int64_t largest) {
  const std::int64_t share = (outputs + at::get_num_threads() - 1) / at::get_num_threads();
  return std::clamp(round_up(share, columns), columns, largest);
}

// Rows of blocks are expanded one panel of eight after another.
void multiply_few_blocks(const Weights& weights, const float* x, std::int64_t tokens, std::int64_t x_stride, float* y,
                         std::int64_t y_stride, const Kernels& with) {
  constexpr std::int64_t kRowsAtOnce = 8;
  const std::int64_t panels = (weights.outputs + kRowsAtOnce - 1) / kRowsAtOnce;
  at::parallel_for(0, panels, 1, [&](std::int64_t first, std::int64_t last) {
    const auto rows = floats(kRowsAtOnce * weights.inputs);
    for (std::int64_t n = first * kRowsAtOnce; n < std::min(last * kRowsAtOnce, weights.outputs); n += kRowsAtOnce) {
      const std::int64_t count = std::min(kRowsAtOnce, weights.outputs - n);
      blocks::expand(*weights.blocks, weights.at(n, 0), count * weights.inputs / weights.blocks->elements, rows.get());
      with.dot[static_cast<std::size_t>(Format::kFloat)](rows.get(), weights.inputs, count, x, x_stride, tokens,
                                                         weights.inputs, y + n, y_stride);
    }
  });
}

void multiply_few(const Weights& weights, const float* x, std::int64_t tokens, std::int64_t x_stride, float* y,
                  std::int64_t y_stride, const Kernels& with) {
  const auto format = static_cast<std::size_t>(weights.format);
  const bool rows = weights.input_stride == 1;
  const std::int64_t turn = turn_of(weights.outputs, 8 * with.columns, weights.outputs + 8 * with.columns);
  at::parallel_for(0, (weights.outputs + turn - 1) / turn, 1, [&](std::int64_t first, std::int64_t last) {
    const std::int64_t begin = first * turn;
    const std::int64_t end = std::min(last * turn, weights.outputs);
    (rows ? with.dot : with.axpy)[format](weights.at(begin, 0), rows ? weights.output_stride : weights.input_stride,
                                          end - begin, x, x_stride, tokens, weights.inputs, y + begin, y_stride);
  });
}

// What a kernel reads a token as that multiplies rows where they lie; kNone: there is none for these rows.
enum class TokenForm { kNone, kNumbers, kDigits, kBytes };

TokenForm token_form(const Weights& weights, const Kernels& with) {
  if (weights.blocks == nullptr) {
    return weights.input_stride == 1 ? TokenForm::kNumbers : TokenForm::kNone;
  }
  if (&with != &kernels() || block_dot(*weights.blocks) == nullptr) {
    return TokenForm::kNone;
  }
  return weights.fast && rounded_dot(*weights.blocks) != nullptr ? TokenForm::kBytes : TokenForm::kDigits;
}

// One token, each form of which is made once.
class Token {
 public:
  explicit Token(const float* x) : x_(x) {}

  void make(TokenForm form, const Weights& weights) {
    if (form == TokenForm::kDigits && !digits_[order_of(weights)]) {
      digits_[order_of(weights)].emplace(x_, weights.inputs, token_order(*weights.blocks));
    } else if (form == TokenForm::kBytes && !bytes(weights)) {
      const std::int64_t group = rounded_group(*weights.blocks);
      (group == kSmallGroup ? small_groups_[order_of(weights)] : large_groups_)
          .emplace(x_, weights.inputs, group, token_order(*weights.blocks));
    }
  }

  // y[n] += Σ_k x[k] · W[n, k] for outputs [begin, end); the form was made.
  void add(TokenForm form, const TokenProduct& product, std::int64_t begin, std::int64_t end,
           const Kernels& with) const {
    const Weights& weights = product.weights;
    float* const y = product.y + begin;
    if (form == TokenForm::kBytes) {
      rounded_dot (*weights.blocks)(weights.at(begin, 0), end - begin, weights.inputs, *bytes(weights), y);
    } else if (form == TokenForm::kDigits) {
      block_dot (*weights.blocks)(weights.at(begin, 0), end - begin, weights.inputs, *digits_[order_of(weights)], y);
    } else {
      with.dot[static_cast<std::size_t>(weights.format)](weights.at(begin, 0), weights.output_stride, end - begin, x_,
                                                         weights.inputs, 1, weights.inputs, y, weights.outputs);
    }
  }

 private:
  static constexpr std::int64_t kSmallGroup = 32;  // numbers that share a step; 256 in the others

  static std::size_t order_of(const Weights& weights) { return static_cast<std::size_t>(token_order(*weights.blocks)); }
  const std::optional<RoundedToken>& bytes(const Weights& weights) const {
    return rounded_group(*weights.blocks) == kSmallGroup ? small_groups_[order_of(weights)] : large_groups_;
  }

  const float* x_;
  // By TokenOrder.
  std::array<std::optional<BlockToken>, kTokenOrders> digits_;
  std::array<std::optional<RoundedToken>, kTokenOrders> small_groups_;
  std::optional<RoundedToken> large_groups_;
};

// The bytes of a token's products in shares of the same size. A thread takes those of its own stretch, one after another,
// and then those that other threads have not begun: no thread waits for one that starts late.
class TokenShares {
 public:
  TokenShares(std::int64_t threads, std::int64_t bytes)
      : bytes_(bytes),
        each_(std::clamp<std::int64_t>(bytes / (threads * kLeastBytes), 1, kMaxEach)),
        taken_(static_cast<std::size_t>(threads)) {}

  std::int64_t threads() const { return static_cast<std::int64_t>(taken_.size()); }
  std::int64_t count() const { return threads() * each_; }
  // Where a share begins among the bytes; of count(), their end.
  std::int64_t begin(std::int64_t share) const { return share == count() ? bytes_ : bytes_ / count() * share; }
  // The next share for a thread; count() where none is left.
  std::int64_t take(std::int64_t thread) {
    for (std::int64_t n = 0; n < threads(); ++n) {
      const std::int64_t owner = (thread + n) % threads();
      const std::int64_t next = taken_[static_cast<std::size_t>(owner)].fetch_add(1, std::memory_order_relaxed);
      if (next < each_) {
        return owner * each_ + next;
      }
    }
    return count();
  }

 private:
  static constexpr std::int64_t kLeastBytes = 16384;
  static constexpr std::int64_t kMaxEach = 8;

  std::int64_t bytes_;
  std::int64_t each_;  // shares of a thread
  std::vector<std::atomic<std::int64_t>> taken_;
};

std::int64_t row_bytes(const Weights& weights) {
  return weights.blocks != nullptr ? weights.inputs / weights.blocks->elements * weights.blocks->bytes
                                   : weights.inputs * (weights.format == Format::kFloat ? 4 : 2);
}

}  // namespace

const std::byte* Weights::at(std::int64_t n, std::int64_t k) const {
  const auto* const begin = static_cast<const std::byte*>(data);
  if (blocks != nullptr) {
    return begin + (n * (inputs / blocks->elements) + k / blocks->elements) * blocks->bytes;
  }
  return begin + (n * output_stride + k * input_stride) * (format == Format::kFloat ? 4 : 2);
}

void multiply_token(std::span<const TokenProduct> products, const float* x, const Kernels& with) {
  Token token(x);
  std::vector<TokenForm> forms;
  std::int64_t bytes = 0;  // of all rows that are multiplied where they lie
  for (const TokenProduct& product : products) {
    const Weights& weights = product.weights;
    forms.push_back(weights.outputs > 0 && weights.inputs > 0 ? token_form(weights, with) : TokenForm::kNone);
    if (forms.back() == TokenForm::kNone) {
      multiply(weights, x, 1, weights.inputs, product.bias, product.y, weights.outputs, with);
      continue;
    }
    fill(product.bias, 0, weights.outputs, 1, product.y, weights.outputs);
    token.make(forms.back(), weights);
    bytes += weights.outputs * row_bytes(weights);
  }
  if (bytes == 0) {
    return;
  }
  // Multiplies the rows between two of the bytes, in whole panels of each matrix.
  const auto add = [&](std::int64_t from, std::int64_t to) {
    std::int64_t before = 0;
    for (std::size_t n = 0; n < products.size(); ++n) {
      if (forms[n] == TokenForm::kNone) {
        continue;
      }
      const Weights& weights = products[n].weights;
      const std::int64_t size = weights.outputs * row_bytes(weights);
      const std::int64_t panel = forms[n] == TokenForm::kNumbers ? 8 * with.columns : 16;
      const auto row_of = [&](std::int64_t byte) {
        const std::int64_t at = std::clamp<std::int64_t>(byte - before, 0, size);
        return byte == bytes ? weights.outputs : std::min(round_up(at / row_bytes(weights), panel), weights.outputs);
      };
      if (const std::int64_t begin = row_of(from), end = row_of(to); begin < end) {
        token.add(forms[n], products[n], begin, end, with);
      }
      before += size;
    }
  };
  TokenShares shares(at::get_num_threads(), bytes);
  at::parallel_for(0, shares.threads(), 1, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t thread = first; thread < last; ++thread) {
      for (std::int64_t share = shares.take(thread); share < shares.count(); share = shares.take(thread)) {
        add(shares.begin(share), shares.begin(share + 1));
      }
    }
  });
}

void multiply(const Weights& weights, const float* x, std::int64_t tokens, std::int64_t x_stride, const float* bias,
              float* y, std::int64_t y_stride, const Kernels& with) {
  if (weights.outputs > 0 && weights.inputs > 0 && tokens == 1 && token_form(weights, with) != TokenForm::kNone) {
    return multiply_token(std::array{TokenProduct{weights, bias, y}}, x, with);
  }
  if (tokens > kMaxTokens || (weights.blocks == nullptr && weights.input_stride != 1 && weights.output_stride != 1)) {
    return multiply_many(weights, x, tokens, x_stride, bias, y, y_stride, with);
  }
  fill(bias, 0, weights.outputs, tokens, y, y_stride);
  if (weights.outputs == 0 || tokens == 0) {
    return;
  }
  (weights.blocks != nullptr ? multiply_few_blocks : multiply_few)(weights, x, tokens, x_stride, y, y_stride, with);
}

bool all_finite(const std::uint16_t* values, std::int64_t count, Format format) {
  const unsigned ones = format == Format::kHalf ? 0x7C00U : 0x7F80U;  // an exponent of ones
  std::atomic<bool> finite{true};
  at::parallel_for(0, count, 1 << 20, [&](std::int64_t begin, std::int64_t end) {
    unsigned found = 0;
    for (std::int64_t n = begin; n < end; ++n) {
      found |= static_cast<unsigned>((values[n] & ones) == ones);
    }
    if (found != 0) {
      finite = false;
    }
  });
  return finite;
}

}  // namespace locus::products

// Rows of tokens in few tensors, so that rows which go on where others end copy few of them.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "core/base/range.h"

namespace locus::mixers {

// Numbers (T, W, …) or (W, T, …): a row of each of T tokens, for W heads or channels.
class TokenRows {
 public:
  TokenRows() = default;
  // `axis` 0 or 1 is that of the tokens; x undefined: no rows. Gradients are left behind.
  TokenRows(const at::Tensor& x, std::int64_t axis);

  bool defined() const { return !stretches_.empty(); }
  std::int64_t axis() const { return axis_; }
  std::int64_t length() const { return length_; }
  std::int64_t width() const { return stretches_.front().size(1 - axis_); }
  at::TensorOptions options() const { return stretches_.front().options(); }

  // The rows of these tokens, all or some of their W: a view where the tokens lie in one tensor.
  at::Tensor of(Range tokens) const;
  at::Tensor of(Range tokens, Range some) const;
  at::Tensor all() const { return of({0, length_}); }

  // The first `count` rows, then those of `later`, of the same kind. Each tensor has fewer rows than the one before it:
  // there are about log T of them, and one token after another copies each row about log T times.
  TokenRows continued(std::int64_t count, const TokenRows& later) const;
  const std::vector<at::Tensor>& stretches() const { return stretches_; }

 private:
  // Appends rows, in one tensor with those before them that are no more.
  void push(const at::Tensor& stretch);

  std::vector<at::Tensor> stretches_;
  std::int64_t axis_ = 0;
  std::int64_t length_ = 0;
};

// The tensors of them all.
std::vector<at::Tensor> stretches_of(std::initializer_list<TokenRows> rows);

}  // namespace locus::mixers

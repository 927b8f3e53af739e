// Norms of a state that is carried from token to token.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <vector>

#include "core/base/progress.h"
#include "core/base/range.h"

namespace locus::mixers {

// (H, T) float64: `advance(token, state)` reads one token into the state, whose numbers are those of H heads in turn.
// Undefined where it was stopped.
template <class Advance>
at::Tensor state_norms(std::int64_t length, std::int64_t heads, const StopToken& stop, const Advance& advance) {
  const at::NoGradGuard no_grad;
  at::Tensor state;
  std::vector<at::Tensor> norms;
  for (std::int64_t token = 0; token < length; ++token) {
    if (stop.stop_requested()) {
      return {};
    }
    advance(Range{token, token + 1}, state);
    norms.push_back(state.reshape({heads, -1}).square().sum(-1, false, at::kDouble).sqrt());
  }
  return norms.empty() ? at::zeros({heads, 0}, at::kDouble) : at::stack(norms, 1);
}

}  // namespace locus::mixers

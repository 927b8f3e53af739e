#include "core/mixers/delta_rule.h"

#include <algorithm>
#include <vector>

#include "core/mixers/decay.h"

namespace locus::mixers {

namespace {

// The recurrence itself, (B, H, 1, P), for a single token.
at::Tensor one_token(const DeltaInputs& inputs, at::Tensor& state) {
  at::Tensor decay = inputs.log_decay.exp().unsqueeze(-1);  // (B, H, 1, 1), or (B, H, 1, D, 1)
  decay = decay.dim() == 5 ? decay.squeeze(2) : decay;
  const at::Tensor decayed = state * decay;
  const at::Tensor written = (inputs.value - at::matmul(inputs.key, decayed)) * inputs.beta.unsqueeze(-1);
  state = at::addcmul(decayed, inputs.key.transpose(-1, -2), written);
  return at::matmul(inputs.query, state);
}

}  // namespace

at::Tensor delta_rule(const DeltaInputs& inputs, at::Tensor& state) {
  const at::Tensor& value = inputs.value;
  const at::ScalarType type = value.scalar_type();
  const std::int64_t length = value.size(2);
  if (!state.defined()) {
    state = at::zeros({value.size(0), value.size(1), inputs.key.size(3), value.size(3)}, value.options());
  }
  if (length == 1) {
    return one_token(inputs, state);
  }
  std::vector<at::Tensor> outputs;
  for (std::int64_t begin = 0; begin < length; begin += kChunk) {
    const Range tokens{begin, std::min(begin + kChunk, length)};
    const auto chunk = [&](const at::Tensor& all) { return all.slice(2, tokens.begin, tokens.end); };
    const at::Tensor key = chunk(inputs.key);
    const at::Tensor beta = chunk(inputs.beta).unsqueeze(-1);
    at::Tensor sums = decay_sums(chunk(inputs.log_decay), 2);
    sums = sums.dim() == 3 ? sums.unsqueeze(-1) : sums;  // (B, H, n, 1 or D)
    const at::Tensor total = sums.narrow(2, tokens.size() - 1, 1);
    // What asks: queries for the output, keys for what they overwrite.
    const at::Tensor asking = at::stack({chunk(inputs.query), key * beta}, 2);  // (B, H, 2, n, D)
    const at::Tensor from_start = sums.exp().to(type).unsqueeze(2);
    const at::Tensor read = at::matmul((asking * from_start).flatten(2, 3), state).unflatten(2, {2, tokens.size()});
    const at::Tensor pairs = decayed_products({tokens, asking, sums.unsqueeze(2)},
                                              {tokens, key.unsqueeze(2), sums.unsqueeze(2)});  // (B, H, 2, n, n)
    const at::Tensor written =
        at::linalg_solve_triangular(pairs.select(2, 1), chunk(value) * beta - read.select(2, 1), /*upper=*/false,
                                    /*left=*/true, /*unitriangular=*/true);
    outputs.push_back(read.select(2, 0) + at::matmul(pairs.select(2, 0), written));
    const at::Tensor kept = key * (total - sums).exp().to(type);
    state = state * total.exp().to(type).transpose(-1, -2) + at::matmul(kept.transpose(-1, -2), written);
  }
  return outputs.empty() ? at::zeros_like(value) : at::cat(outputs, 2);
}

}  // namespace locus::mixers

#include "core/mixers/decayed_attention.h"

#include <algorithm>
#include <vector>

#include "core/mixers/decay.h"

namespace locus::mixers {

at::Tensor decayed_attention(const DecayedInputs& inputs, at::Tensor& state) {
  const at::Tensor& value = inputs.value;
  const at::ScalarType type = value.scalar_type();
  const std::int64_t length = value.size(2);
  if (!state.defined()) {
    state = at::zeros({value.size(0), value.size(1), inputs.key.size(3), value.size(3)}, value.options());
  }
  if (length == 1) {  // the recurrence itself
    const at::Tensor decay = inputs.log_decay.exp().unsqueeze(-1);
    state = at::addcmul(state * decay, inputs.key.transpose(-1, -2), value);
    return at::matmul(inputs.query, state);
  }
  std::vector<at::Tensor> outputs;
  for (std::int64_t begin = 0; begin < length; begin += kChunk) {
    const Range tokens{begin, std::min(begin + kChunk, length)};
    const auto chunk = [&](const at::Tensor& all) { return all.slice(2, tokens.begin, tokens.end); };
    const at::Tensor query = chunk(inputs.query);
    const at::Tensor key = chunk(inputs.key);
    const at::Tensor sums = decay_sums(chunk(inputs.log_decay), 2).unsqueeze(-1);  // (B, H, n, 1)
    const at::Tensor total = sums.narrow(2, tokens.size() - 1, 1);
    const at::Tensor pairs = decayed_products({tokens, query, sums}, {tokens, key, sums});
    outputs.push_back(at::matmul(query * sums.exp().to(type), state) + at::matmul(pairs, chunk(value)));
    const at::Tensor kept = key * (total - sums).exp().to(type);
    state = state * total.exp().to(type) + at::matmul(kept.transpose(-1, -2), chunk(value));
  }
  return outputs.empty() ? at::zeros_like(value) : at::cat(outputs, 2);
}

}  // namespace locus::mixers

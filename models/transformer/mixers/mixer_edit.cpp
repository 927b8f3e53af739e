#include "models/transformer/mixers/mixer_edit.h"

#include <cstdint>

namespace locus::transformer {

namespace {

constexpr double kNothingLeft = -1000;  // a log decay after which nothing is left
// The same of a scan's slowest state. Its fastest ones have multiples of it, in whose sums small steps would lose digits.
constexpr double kAlmostNothing = 200;

// The mask as `like` has its dimensions (B, H, …): (H) or (H, T) with ones behind.
at::Tensor beside(at::Tensor mask, const at::Tensor& like) {
  mask = mask.to(like.device());
  while (mask.dim() + 1 < like.dim()) {
    mask = mask.unsqueeze(-1);
  }
  return mask;
}

// (H) -> (C) or (H, T) -> (T, C): heads as bands of so many channels.
at::Tensor by_channel(const at::Tensor& mask, const at::Tensor& like) {
  const at::Tensor bands = mask.to(like.device()).repeat_interleave(like.size(-1) / mask.size(0), 0);
  return bands.dim() == 2 ? bands.t() : bands;
}

}  // namespace

at::Tensor MixerEdit::log_decay(const at::Tensor& g) const {
  const at::Tensor finite = g.clamp_min(kNothingLeft);
  const at::Tensor decay = at::where(beside(steady, g), finite.mean(2, true), finite).masked_fill(beside(keep, g), 0);
  return decay.masked_fill(beside(reset, g), kNothingLeft);
}

void MixerEdit::change(mixers::DecayedInputs& inputs) const {
  inputs.log_decay = log_decay(inputs.log_decay);
  inputs.key = inputs.key.masked_fill(beside(unwritten, inputs.key), 0);
}

void MixerEdit::change(mixers::DeltaInputs& inputs) const {
  inputs.log_decay = log_decay(inputs.log_decay);
  inputs.beta = inputs.beta.masked_fill(beside(unwritten, inputs.beta), 0);
}

void MixerEdit::change(mixers::ScanInputs& inputs) const {
  const at::Tensor& delta = inputs.delta;
  const at::Tensor emptying = kAlmostNothing / inputs.log_rate.abs().amin(-1).clamp_min(1e-30);  // (C)
  const at::Tensor decay =
      at::where(by_channel(steady, delta), delta.mean(1, true), delta).masked_fill(by_channel(keep, delta), 0);
  inputs.decay_delta = at::where(by_channel(reset, delta), emptying, decay);
  inputs.delta = delta.masked_fill(by_channel(unwritten, delta), 0);
}

void MixerEdit::change(mixers::RecurrenceInputs& inputs, at::Tensor& gate) const {
  const std::int64_t heads = keep.size(0);
  const at::Tensor by_head = inputs.log_decay.unflatten(-1, {heads, -1}).transpose(1, 2);  // (B, H, T, C/H)
  inputs.log_decay = log_decay(by_head).transpose(1, 2).flatten(2);
  inputs.input = inputs.input.masked_fill(by_channel(unwritten, inputs.input), 0);
  gate = gate.masked_fill(by_channel(unwritten, gate), 0);
}

at::Tensor MixerEdit::output(const at::Tensor& y) const {
  return y.masked_fill(by_channel(silent, y), 0);
}

}  // namespace locus::transformer

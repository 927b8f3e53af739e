// MixerEdit: what one run of a layer's mixer does otherwise than the checkpoint says (models/edits/run_edits.h makes it).
// It changes what a mixer computes before its recurrence, so that the output and the implied map agree. The tokens are
// those of the whole run. Letters: mixer.h.
#pragma once

#include <ATen/ATen.h>

#include "core/mixers/decayed_attention.h"
#include "core/mixers/delta_rule.h"
#include "core/mixers/gated_recurrence.h"
#include "core/mixers/selective_scan.h"

namespace locus::transformer {

// Every tensor is defined and of bools. A head of a mixer of single channels is a band of them.
struct MixerEdit {
  at::Tensor keep;       // (H) heads whose state does not decay: g = 0
  at::Tensor steady;     // (H) heads whose log decay is its mean over the tokens
  at::Tensor reset;      // (H, T) tokens before which the state is emptied, whatever the two above say
  at::Tensor unwritten;  // (H, T) tokens that write nothing into the state; those that they follow still decay
  at::Tensor silent;     // (H) heads whose output is 0 before the output projection

  void change(mixers::DecayedInputs& inputs) const;
  void change(mixers::DeltaInputs& inputs) const;
  void change(mixers::ScanInputs& inputs) const;
  // `gate` (B, T, C): input = gate · v.
  void change(mixers::RecurrenceInputs& inputs, at::Tensor& gate) const;
  // Rows y (B, T, I) that enter the output projection.
  at::Tensor output(const at::Tensor& y) const;

 private:
  // g with the heads along dimension 1 and the tokens along dimension 2.
  at::Tensor log_decay(const at::Tensor& g) const;
};

}  // namespace locus::transformer

// No position encoding (NoPE): a causal model learns order from its mask alone.
#pragma once

#include "core/position/shared/adds_to_content.h"
#include "core/position/shared/with_options.h"

namespace locus::position {

struct NoneOptions : TableOptions<NoneOptions> {
  static const OptionTable<NoneOptions> kTable;
};

// logit_ij = q_i·k_j/√D
class None final : public WithOptions<None, NoneOptions>, public AddsToContent {
 public:
  static const Description& about();

  using WithOptions::WithOptions;

  // Any positions: nothing reads them.
  Status accepts(const Positions& /*positions*/) const override { return {}; }
};

}  // namespace locus::position

// No position encoding (NoPE): a causal model learns order from its mask alone.
#pragma once

#include <memory>

#include "core/position/position_encoding.h"

namespace locus::position {

struct NoneOptions {
  static Result<NoneOptions> from(const Settings& settings);
  Settings settings() const { return {}; }
};

// logit_ij = q_i·k_j/√D
class None final : public PositionEncoding {
 public:
  static const Description& about();
  static Result<std::unique_ptr<PositionEncoding>> make(const Settings& options, const ModelShape& shape);

  explicit None(const ModelShape& shape) : PositionEncoding(shape) {}

  const Description& description() const override { return about(); }
  Settings settings() const override { return NoneOptions{}.settings(); }
  // Any positions: nothing reads them.
  Status accepts(const Positions& /*positions*/) const override { return {}; }
};

}  // namespace locus::position

// Kerple: kernelised relative biases with two trained numbers per head, logarithmic or a power of the distance.
#pragma once

#include <memory>

#include "core/position/shared/adds_to_content.h"
#include "core/position/shared/layer_parameter.h"
#include "core/position/shared/with_options.h"

namespace locus::position {

struct KerpleOptions : TableOptions<KerpleOptions> {
  bool per_layer = false;  // every layer has its own p and a

  static const OptionTable<KerpleOptions> kTable;
};

// log: logit_ij = q_i·k_j/√D − p·ln(1 + a·Δ);  power: q_i·k_j/√D − a·Δ^p.  p and a are clamped to at least 1e-2.
class Kerple final : public WithOptions<Kerple, KerpleOptions>, public AddsToContent {
 public:
  enum class Kernel { kLog, kPower };

  static const Description& about();
  static const Description& about_power();
  static Result<std::unique_ptr<PositionEncoding>> make(const Settings& options, const ModelShape& shape);
  static Result<std::unique_ptr<PositionEncoding>> make_power(const Settings& options, const ModelShape& shape);

  // p starts uniform in (0, 2), a uniform in (0, 1).
  Kerple(const ModelShape& shape, const KerpleOptions& options, Kernel kernel);

  const Description& description() const override { return kernel_ == Kernel::kLog ? about() : about_power(); }
  std::vector<Parameter> parameters() override { return parameters_of({&p_, &a_}); }
  bool is_dot_product() const override { return false; }
  TileScores score(const Prepared& prepared, const Tile& tile, const Wanted& wanted,
                   const at::Tensor& carry) const override;

 private:
  Kernel kernel_;
  LayerParameter p_;  // (H)
  LayerParameter a_;  // (H)
};

}  // namespace locus::position

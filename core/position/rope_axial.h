// RoPE for images, axial: half of the pairs turn with the column, half with the row.
#pragma once

#include <memory>

#include "core/position/position_encoding.h"
#include "core/position/rotation.h"

namespace locus::position {

struct RopeAxialOptions {
  double base = 100.0;

  // Errors: kBadInput naming option, expected and found.
  static Result<RopeAxialOptions> from(const Settings& settings);
  Settings settings() const { return {{"base", base}}; }
};

// Why positions of `found` cannot be used by an encoding called `name` that needs an image grid; or success.
Status accepts_grid(const Positions& positions, const std::string& name);

// Angles with the rows of tokens without position set to 0, so that these are never turned: (…, T, M) -> (…, T, M).
at::Tensor without_prefix(const at::Tensor& angles, std::int64_t prefix);

// Pairs (2m, 2m+1) of patch (row y, column x) turn by x·f_m, the next D/4 pairs by y·f_m, f_m = base^(−4m/D), m < D/4.
class RopeAxial final : public PositionEncoding {
 public:
  static const Description& about();
  static Result<std::unique_ptr<PositionEncoding>> make(const Settings& options, const ModelShape& shape);

  RopeAxial(const ModelShape& shape, const RopeAxialOptions& options) : PositionEncoding(shape), options_(options) {}

  const Description& description() const override { return about(); }
  Settings settings() const override { return options_.settings(); }
  Status accepts(const Positions& positions) const override { return accepts_grid(positions, about().name); }
  // table: (2, T, D/2) float64 cos and sin.
  State begin(const Positions& positions, std::int64_t batch) const override;
  Prepared prepare(const State& state, std::int64_t layer, const Projections& projections) const override;
  at::Tensor vectors(const State& state, std::int64_t layer) const override;

 private:
  RopeAxialOptions options_;
};

}  // namespace locus::position

// RoPE for images, axial: half of the pairs turn with the column, half with the row (RoPE-ViT, DINOv3).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/position/shared/pair_form.h"
#include "core/position/shared/rotation.h"
#include "core/position/shared/with_options.h"

namespace locus::position {

struct RopeAxialOptions : TableOptions<RopeAxialOptions> {
  double base = 100.0;
  // Option `coordinates`. "index": x and y are the patch's column and row. "normalised": both are 2π·(2(n + 1/2)/N − 1)
  // of n = 0 … N − 1 columns or rows, so that grids of any size span the same angles (DINOv3).
  bool normalised = false;
  bool rows_first = false;  // option `first`: "columns" or "rows", which the first D/4 pairs turn with
  PairLayout layout = PairLayout::kInterleaved;
  // Option `frequencies`. "shared": x and y turn with the same f_m. "alternating": of base^(−2k/D), k < D/2, the rows
  // have the even ones and the columns the odd ones (Pixtral).
  bool alternating = false;
  std::int64_t class_angles = 0;  // first tokens without position, which turn by trained angles (MLCD's class token)

  static const OptionTable<RopeAxialOptions> kTable;
};

// Why positions of `found` cannot be used by an encoding called `name` that needs an image grid; or success.
Status accepts_grid(const Positions& positions, const std::string& name);

// Angles with the rows of tokens without position set to 0, so that these are never turned: (…, T, M) -> (…, T, M).
at::Tensor without_prefix(const at::Tensor& angles, std::int64_t prefix);

// The first D/4 pairs of patch (row y, column x) turn by x·f_m, the others by y·f_m, f_m = base^(−4m/D), m < D/4. The
// first tokens without position turn by trained angles, where the option says so; the others do not.
class RopeAxial final : public WithOptions<RopeAxial, RopeAxialOptions>, public Paired {
 public:
  static const Description& about();
  static Status settle(RopeAxialOptions& options, const ModelShape& shape);

  RopeAxial(const ModelShape& shape, const RopeAxialOptions& options);

  std::vector<Parameter> parameters() override;
  Status accepts(const Positions& positions) const override;
  // table: (2, T, D/2) float64 cos and sin.
  State begin(const Positions& positions, std::int64_t batch) const override;
  Prepared prepare(const State& state, std::int64_t layer, const Projections& projections) const override;
  at::Tensor vectors(const State& state, std::int64_t layer) const override;
  Result<PairForm> pair_form(const Prepared& prepared, std::int64_t layer) const override;

 private:
  // (D/4) of the rows (0) or columns (1).
  at::Tensor frequencies(std::int64_t axis) const;

  at::Tensor class_angles_;  // (class_angles, D/2); undefined without
};

}  // namespace locus::position

#include "core/position/shared/fourier_features.h"

#include <ATen/CPUGeneratorImpl.h>

#include <cmath>
#include <string>

#include "core/base/numbers.h"

namespace locus::position {

Result<FourierFeatures> FourierFeatures::sample(const FourierShape& shape, double bandwidth, bool reweighted,
                                                std::uint64_t seed) {
  if (shape.blocks < 1 || shape.rows < 1 || shape.columns < 2 || shape.columns % 2 != 0) {
    return bad_input(
        "random Fourier features: expected blocks and rows of at least 1 and an even number of columns, "
        "found M=" +
        std::to_string(shape.blocks) + " L=" + std::to_string(shape.rows) + " R=" + std::to_string(shape.columns));
  }
  if (!(bandwidth > 0) || !std::isfinite(bandwidth)) {
    return bad_input("random Fourier features: expected a bandwidth above 0, found " + number_text(bandwidth));
  }
  const at::Generator generator = at::detail::createCPUGenerator(seed);
  const std::int64_t half = shape.columns / 2;
  FourierFeatures features;
  features.frequencies = at::randn({shape.blocks, half}, generator, at::kDouble) * bandwidth;
  features.weights = reweighted ? at::randn({shape.blocks, shape.rows, half}, generator, at::kDouble)
                                : at::ones({shape.blocks, shape.rows, half}, at::kDouble);
  return features;
}

at::Tensor FourierFeatures::at_positions(const at::Tensor& ids) const {
  const at::Tensor angles = ids.to(at::kDouble).unsqueeze(-1).unsqueeze(-1) * frequencies;  // (T, M, R/2)
  const at::Tensor pairs = at::stack({angles.cos(), angles.sin()}, -1).unsqueeze(2);        // (T, M, 1, R/2, 2)
  const double scale = 1.0 / std::sqrt(static_cast<double>(frequencies.size(1)));           // √(2/R)
  return (pairs * weights.unsqueeze(-1) * scale).flatten(-2);
}

}  // namespace locus::position

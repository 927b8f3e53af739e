#include "models/families/engine/sines.h"

#include <ATen/ATen.h>

#include <cmath>
#include <vector>

#include "models/transformer/weights.h"

namespace locus::families {

bool holds_sines(const CheckpointFiles& checkpoint, const std::string& tensor) {
  const formats::TensorInfo* const info = checkpoint.find(tensor);
  if (info == nullptr) {
    return true;
  }
  const bool single = info->dtype == formats::DType::kF32 || info->dtype == formats::DType::kF64;
  const bool half = info->dtype == formats::DType::kF16 || info->dtype == formats::DType::kBF16;
  if (info->shape.size() != 2 || info->shape[1] < 2 || info->shape[1] % 2 != 0 || (!single && !half)) {
    return false;
  }
  const double tolerance = single ? 1e-5 : info->dtype == formats::DType::kF16 ? 1e-3 : 8e-3;
  const at::Tensor table = transformer::to_tensor(*info, checkpoint.tensors).contiguous();
  const std::int64_t pairs = info->shape[1] / 2;
  const float* row = table.data_ptr<float>();
  for (std::int64_t p = 0; p < info->shape[0]; ++p, row += 2 * pairs) {
    for (std::int64_t m = 0; m < pairs; ++m) {
      const double rate = std::pow(10000.0, -static_cast<double>(m) / static_cast<double>(pairs));
      const double angle = static_cast<double>(p) * rate;
      if (!(std::abs(row[m] - std::sin(angle)) <= tolerance &&
            std::abs(row[pairs + m] - std::cos(angle)) <= tolerance)) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace locus::families

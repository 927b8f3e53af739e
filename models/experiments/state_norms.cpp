#include "models/api/state_norms.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <limits>

#include "core/base/guarded.h"
#include "models/api/local.h"
#include "models/experiments/fields.h"
#include "models/experiments/rerun.h"

namespace locus::models {

namespace {

Field norm_field(std::int64_t layers, std::int64_t tokens, const char* quantity) {
  Field field = Field::zeros(layers, tokens);
  field.quantity = quantity;
  field.row_axis = {"layer", "", 0, 1};
  field.column_axis = {"position", "token", 0, 1};
  std::ranges::fill(field.values, std::numeric_limits<float>::quiet_NaN());
  return field;
}

// Writes (T) numbers into a row.
void set_row(const at::Tensor& numbers, std::int64_t row, Field& field) {
  const at::Tensor flat = numbers.to(at::kCPU, at::kFloat).contiguous();
  std::copy_n(flat.data_ptr<float>(), field.columns, field.values.begin() + row * field.columns);
}

}  // namespace

Result<StateNorms> local::state_norms(const Model& model, const Trace& trace, StopToken stop,
                                      const Progress& progress) {
  return guarded([&]() -> Result<StateNorms> {
    const at::NoGradGuard no_grad;
    LOCUS_TRY(const Rerun run, rerun_of(model, trace, "norms of states", Needs::kStates));
    LOCUS_TRY(const transformer::Observation seen,
              run.transformer.observe(run.batch, {.hidden = true, .values = true, .stop = stop, .progress = progress}));
    const auto layers = static_cast<std::int64_t>(seen.layers.size());
    StateNorms norms{norm_field(layers, run.length(), "norm of the state"),
                     norm_field(layers, run.length(), "largest channel of the state"),
                     norm_field(layers, run.length(), "norm of the value")};
    for (std::int64_t layer = 0; layer < layers; ++layer) {
      const transformer::LayerRecord& record = seen.layers[static_cast<std::size_t>(layer)];
      const at::Tensor states = record.hidden.select(0, 0).to(at::kDouble);  // (T, C)
      set_row(states.square().sum(-1).sqrt(), layer, norms.stream);
      set_row(states.abs().amax(-1), layer, norms.largest);
      if (record.value.defined() && record.value.size(-2) == run.length()) {
        set_row(record.value.select(0, 0).to(at::kDouble).square().sum(-1).sqrt().mean(0), layer, norms.value);
      }
    }
    return norms;
  });
}

}  // namespace locus::models

#include "models/move_curve.h"

#include <ATen/ATen.h>

#include <optional>

#include "core/base/numbers.h"
#include "models/analyses/fields.h"
#include "models/analyses/outputs.h"
#include "models/edits/run_edits.h"
#include "models/guard.h"
#include "models/loaded_model.h"

namespace locus::models {

Result<std::vector<MovePoint>> move_curve(const Model& model, const Trace& trace, Range tokens,
                                          const std::vector<double>& by, StopToken stop, const Progress& progress) {
  return guarded([&]() -> Result<std::vector<MovePoint>> {
    const at::NoGradGuard no_grad;
    LOCUS_TRY(const TraceData* const data, data_of(trace));
    const LoadedModel* const loaded = model.loaded();
    const ModelInfo& info = model.info();
    if (loaded == nullptr || loaded->encoder() != nullptr || (!data->input_ids.defined() && !data->pixels.defined())) {
      return unsupported("move: expected a checkpoint of one side that can be run again", info.name);
    }
    LOCUS_TRY(const transformer::Transformer* const transformer, loaded->ready());
    if (!transformer->spec().head) {
      return unsupported("move: " + info.name + " has no head, so it predicts nothing");
    }
    transformer::Batch batch;
    batch.ids = data->input_ids.defined() ? data->input_ids.unsqueeze(0) : at::Tensor();
    batch.pixels = data->pixels;
    batch.positions = {data->position_ids, data->grid.cls + data->grid.registers};
    LOCUS_CHECK(loaded->edit_layers(batch, data->grid));
    transformer::ObserveOptions options;
    options.all_logits = true;
    options.stop = stop;
    LOCUS_TRY(const transformer::Observation untouched, transformer->observe(batch, options));
    const at::Tensor before = untouched.logits.select(0, 0);
    const bool predicts = info.causal && !info.image && data->input_ids.defined() && data->input_ids.size(0) > 1;

    std::vector<MovePoint> curve;
    std::optional<Error> refused;
    bool any = false;
    for (const double distance : by) {
      report(progress, static_cast<double>(curve.size()) / static_cast<double>(by.size()),
             "by " + number_text(distance));
      Edit shift;
      shift.kind = EditKind::kShift;
      shift.tokens = tokens;
      shift.by = distance;
      curve.push_back({distance, kNaN, kNaN});
      transformer::Batch moved = batch;
      const auto positions = edited_positions({shift}, batch.positions, data->grid.columns, *transformer);
      if (!positions.ok()) {
        refused = refused ? refused : positions.error();
        continue;
      }
      moved.positions = *positions;
      LOCUS_CHECK(loaded->edit_layers(moved, data->grid));
      LOCUS_TRY(const transformer::Observation seen, transformer->observe(moved, options));
      const at::Tensor after = seen.logits.select(0, 0);
      curve.back().kl = mean_divergence(before, after);
      curve.back().loss = predicts ? mean_loss(after, data->input_ids) : kNaN;
      any = true;
    }
    if (!any && refused) {
      return *refused;
    }
    return curve;
  });
}

}  // namespace locus::models

// models/api/analyses.h: the same tokens run where they were not.
#include <utility>

#include "core/base/guarded.h"
#include "models/api/local.h"
#include "models/experiments/fields.h"
#include "models/experiments/rerun.h"

namespace locus::models {

namespace {

Result<Input> moved_input(const Model& model, const Trace& plain, const Move& move) {
  if ((move.ids == 0) == move.in_front.empty()) {
    return bad_input("shift stability: expected either later position ids or tokens in front");
  }
  if (plain.model().image) {
    return unsupported("shift stability needs a text model; " + plain.model().name + " takes images");
  }
  Input moved;
  moved.ids = move.in_front;
  for (const TokenInfo& token : plain.tokens()) {
    moved.ids->push_back(token.id);
  }
  moved.position_start = position_start_of(model, plain.tokens()) + move.ids;
  return moved;
}

Result<std::optional<double>> vectors_change(const TraceData& plain, const TraceData& moved, std::size_t layer,
                                             std::int64_t offset, StopToken stop) {
  const TraceLayer& before = plain.layers[layer];
  const TraceLayer& after = moved.layers[layer];
  if (before.encoding == nullptr || !before.state || !after.state) {
    return std::optional<double>();
  }
  const at::Tensor vectors = before.encoding->vectors(*before.state, before.encoding_layer);
  if (!vectors.defined()) {
    return std::optional<double>();
  }
  LOCUS_TRY(const double percent,
            analysis::dot_product_change_percent(vectors, after.encoding->vectors(*after.state, after.encoding_layer),
                                                 offset, stop));
  return std::optional<double>(percent);
}

}  // namespace

Result<std::vector<StabilityRow>> local::shift_stability(const Model& model, const Trace& plain, const Move& move,
                                                         StopToken stop, const Progress& progress) {
  LOCUS_TRY(const Input input, moved_input(model, plain, move));
  report(progress, 0, "the moved tokens");
  LOCUS_TRY(const TracePointer moved, model.run(input, {}, stop));
  return guarded([&]() -> Result<std::vector<StabilityRow>> {
    const at::NoGradGuard no_grad;
    const auto offset = static_cast<std::int64_t>(move.in_front.size());
    LOCUS_TRY(const TraceData* before, data_of(plain));
    LOCUS_TRY(const TraceData* after, data_of(*moved));
    LOCUS_TRY(const auto fields, all_scores(plain));
    LOCUS_TRY(const auto moved_fields, all_scores(*moved));
    if (fields.size() != moved_fields.size()) {
      return bad_input("shift stability: expected the trace of this model, found one of " +
                       std::to_string(fields.size()) + " layers");
    }
    std::vector<StabilityRow> rows;
    for (std::size_t layer = 0; layer < fields.size(); ++layer) {
      report_layer(progress, layer, fields.size());
      StabilityRow row;
      LOCUS_TRY(row.attention, analysis::attention_change(*fields[layer], *moved_fields[layer], offset, stop));
      LOCUS_TRY(row.dot_product_percent, vectors_change(*before, *after, layer, offset, stop));
      rows.push_back(row);
    }
    return rows;
  });
}

}  // namespace locus::models

#include "models/api/perceived_distance.h"

#include <ATen/ATen.h>

#include <string>

#include "core/base/guarded.h"
#include "models/api/local.h"
#include "models/experiments/fields.h"

namespace locus::models {

Result<PerceivedDistances> local::perceived_distances(const Trace& trace, std::int64_t layer, std::int64_t head,
                                                      std::int64_t query, StopToken stop) {
  return guarded([&]() -> Result<PerceivedDistances> {
    const at::NoGradGuard no_grad;
    LOCUS_TRY(const TraceData* const data, data_of(trace));
    LOCUS_TRY(const attention::ScoreField* const field, scores_of(trace, layer));
    const attention::ComputedScores* const computed = field->source().computed();
    const std::string name = "layer " + std::to_string(layer);
    if (computed == nullptr) {
      return unsupported(name + ": a stored map has no queries and keys");
    }
    if (head < 0 || head >= computed->heads() || query < 0 || query >= computed->length()) {
      return bad_input(name + ": expected a head below " + std::to_string(computed->heads()) + " and a query below " +
                       std::to_string(computed->length()) + ", found " + std::to_string(head) + " and " +
                       std::to_string(query));
    }
    if (stop.stop_requested()) {
      return cancelled();
    }
    const TraceLayer& own = data->layers[static_cast<std::size_t>(layer)];
    const position::Tile row{computed->layer(), {head, head + 1}, {query, query + 1}, {0, query + 1}};
    LOCUS_TRY(const at::Tensor found,
              computed->encoding().distances(own.state.value_or(position::State{}), computed->prepared(), row));
    const at::Tensor distance = found.to(at::kCPU, at::kDouble).contiguous();
    const double* const values = distance.data_ptr<double>();
    return PerceivedDistances{computed->encoding().description().distance, {values, values + distance.numel()}};
  });
}

}  // namespace locus::models

// Traces of a run that goes on: the layers that are done.
#include <chrono>
#include <utility>

#include "models/engine/loaded_model.h"
#include "models/engine/model_info.h"
#include "models/engine/trace/recorded_trace.h"

namespace locus::models {

void LoadedModel::tell_early(const Prepared& prepared, const RunOptions& options,
                             transformer::ObserveOptions& wanted) const {
  using Clock = std::chrono::steady_clock;
  if (!options.early || parts_.encoder) {
    return;
  }
  wanted.layer_done = [this, &prepared, &options, last = Clock::time_point()](const transformer::Observation& seen,
                                                                              std::int64_t layer) mutable {
    const std::chrono::duration<double, std::milli> since = Clock::now() - last;
    const std::int64_t depth = parts_.transformer->spec().depth();
    if (layer + 1 >= depth || since.count() < options.early_ms) {
      return;
    }
    TraceData data = trace_data(*parts_.transformer, prepared, seen, layer + 1);
    data.model = first_layers(parts_.info, layer + 1);
    options.early(std::make_shared<const RecordedTrace>(std::move(data)));
    last = Clock::now();
  };
}

}  // namespace locus::models

#include "models/api/run_estimate.h"

#include "models/api/local.h"
#include "models/engine/estimator.h"
#include "models/engine/loaded_model.h"

namespace locus::models {

Estimate local::pictures_estimate(const Model& model, const Input& input, const RunOptions& options) {
  if (input.images.empty() && input.videos.empty() && !input.pixels) {
    return {};
  }
  const LoadedModel* const loaded = loaded_model_of(model);
  return loaded != nullptr ? Estimator(loaded->checkpoint()).pictures(input, options) : Estimate();
}

}  // namespace locus::models

// Calls of models: from a path to a run, and what a run is continued by.
#include <cmath>

#include "models/api/run_estimate.h"
#include "models/api/weight_kinds.h"
#include "models/remote/codec/call.h"
#include "models/remote/codec/lists.h"

namespace locus::remote {

#define LOCUS_MODEL_CALLS(CALL)                                       \
  CALL("open", false, &models::open)                                  \
  CALL("open_trace", false, &models::open_trace)                      \
  CALL("model.macs", true, &models::Model::macs)                      \
  CALL("model.tokenize", false, &models::Model::tokenize)             \
  CALL("model.run", false, &models::Model::run)                       \
  CALL("model.read_weights", false, &models::Model::read_weights)     \
  CALL("model.estimate", false, &models::Model::estimate)             \
  CALL("model.generate", false, &models::Model::generate)             \
  CALL("model.edited", false, &models::Model::edited)                 \
  CALL("model.position_table", false, &models::Model::position_table) \
  CALL("pictures_estimate", false, &models::pictures_estimate)        \
  CALL("weight_kinds", true, &models::weight_kinds)
LOCUS_CALLS(model_calls, LOCUS_MODEL_CALLS)

}  // namespace locus::remote

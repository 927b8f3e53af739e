#include "app/cli/json.h"

namespace locus::cli {

Json top_json(const models::Trace& trace) {
  return list_of(trace.top(10), [](const models::Prediction& prediction) -> Json {
    return {{"id", prediction.id}, {"token", prediction.token}, {"probability", prediction.probability}};
  });
}

}  // namespace locus::cli

#include "models/api/transform_steps.h"

#include <ATen/ATen.h>

#include <string>
#include <utility>

#include "core/base/guarded.h"
#include "core/position/shared/transforming.h"
#include "models/api/local.h"
#include "models/experiments/fields.h"

namespace locus::models {

Result<TransformSteps> local::transform_steps(const Trace& trace, std::int64_t layer, std::int64_t head,
                                              std::int64_t query, std::int64_t key, StopToken stop) {
  return guarded([&]() -> Result<TransformSteps> {
    const at::NoGradGuard no_grad;
    LOCUS_TRY(const attention::ScoreField* field, scores_of(trace, layer));
    const attention::ComputedScores* const computed = field->source().computed();
    const position::Transforming* const own = computed == nullptr ? nullptr : computed->encoding().transforming();
    const std::string name = "layer " + std::to_string(layer);
    if (own == nullptr) {
      return unsupported(computed == nullptr
                             ? name + ": a stored map has no queries and keys"
                             : name + ": encoding " + computed->encoding().description().name + " changes no keys");
    }
    const std::int64_t width = computed->prepared().key.size(3);
    if (width > position::Transforming::kMaxWidth) {
      return too_large(name + ": heads of " + std::to_string(width) + " channels, of at most " +
                       std::to_string(position::Transforming::kMaxWidth));
    }
    if (head < 0 || head >= computed->heads() || query < 0 || query >= computed->length() || key < 0 ||
        key >= computed->keys() || !field->mask().visible(query, key)) {
      return bad_input(name + ": expected a head below " + std::to_string(computed->heads()) +
                       " and a key that a query below " + std::to_string(computed->length()) + " sees, found " +
                       std::to_string(head) + ", " + std::to_string(key) + " and " + std::to_string(query));
    }
    position::TransformSteps made = own->steps(computed->prepared(), computed->layer(), head, query, key, stop);
    if (stop.stop_requested()) {
      return cancelled();
    }
    return TransformSteps{made.logit,
                          made.content,
                          std::move(made.strength),
                          std::move(made.change),
                          std::move(made.carried),
                          std::move(made.deviation),
                          std::move(made.determinant)};
  });
}

}  // namespace locus::models

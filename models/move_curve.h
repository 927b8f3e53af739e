// What moving some tokens to other positions does to the prediction. No ATen type appears here.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/progress.h"
#include "core/base/range.h"
#include "core/base/result.h"
#include "models/model.h"

namespace locus::models {

struct MovePoint {
  double by = 0;
  double kl = 0;    // the mean over positions of KL(untouched ‖ moved), nats; of an image's classes
  double loss = 0;  // the mean −log p of the actual next token, nats; NaN for models that do not predict it
};

// The run that `trace` is of, with the model's edits, and with `tokens` (patches of an image) shifted by each of `by`.
// Positions that the encoding cannot take have NaN. Errors: kUnsupported for traces of files and models without a head;
// kBadInput for tokens that do not exist, or where no position of `by` can be taken; kTooLarge, kCancelled.
Result<std::vector<MovePoint>> move_curve(const Model& model, const Trace& trace, Range tokens,
                                          const std::vector<double>& by, StopToken stop = {},
                                          const Progress& progress = {});

}  // namespace locus::models

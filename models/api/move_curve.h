// Effects of moving some tokens to other positions on the prediction, and on where a head looks. No ATen type appears
// here.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/numbers.h"
#include "core/base/progress.h"
#include "core/base/range.h"
#include "core/base/result.h"
#include "models/api/model.h"

namespace locus::models {

struct MovePoint {
  double by = 0;
  // The mean of KL(unmoved ‖ moved), nats, over the positions that a move can reach: of causal models those from the
  // first moved token on; of an image's classes.
  double kl = kNaN;
  double loss = kNaN;  // the mean −log p of the actual next token, nats; NaN for models that do not predict it
  // The weight that the last query (an image's class token, where it has one) gives the moved tokens in the head that
  // is asked for; NaN where none is.
  double weight = kNaN;
};

struct MoveOptions {
  Range tokens;             // patches of an image
  std::vector<double> by;   // shifts
  bool outputs = true;      // kl and loss
  std::int64_t layer = -1;  // of the head whose weight is read; −1: none
  std::int64_t head = 0;    // or kMeanHead
};

// The run that `trace` is of, with the model's edits, and with all of the tokens shifted by each of `by`. Points of
// positions that the encoding cannot take have NaN. Errors: kUnsupported for traces of files and models without a head;
// kBadInput for tokens that do not exist, or where no position of `by` can be taken; kCancelled.
Result<std::vector<MovePoint>> move_curve(const Model& model, const Trace& trace, const MoveOptions& options,
                                          StopToken stop = {}, const Progress& progress = {});

// The same of each token moved alone: row n is of token tokens.begin + n.
Result<std::vector<std::vector<MovePoint>>> move_map(const Model& model, const Trace& trace, const MoveOptions& options,
                                                     StopToken stop = {}, const Progress& progress = {});

}  // namespace locus::models

// Predictions of a model that stops early: its final norm and head on the stream entering each layer
// (nostalgebraist 2020). No ATen type appears here.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/base/field.h"
#include "core/base/progress.h"
#include "core/base/result.h"
#include "models/api/model.h"

namespace locus::models {

struct LogitLens {
  Field probability;                // (L+1, T): row l of the stream entering layer l, row L of what the model says
  std::vector<std::int64_t> ids;    // (L+1)·T: the likeliest token, or the one that was asked for
  std::vector<std::string> labels;  // of these ids, as Trace::top() has them
  std::vector<std::int64_t> ranks;  // (L+1)·T: of the token among all, from 1
};

struct LensOptions {
  std::int64_t token = -1;  // −1: the likeliest of each cell
  // Told the rows that are done, now and then: what the model says first, then from the last layer's input to the first
  // one's. Others are NaN, without a token. Not by models of another machine, which give all rows at once.
  std::function<void(const LogitLens&)> so_far = {};
};

// The logit lens of `trace`'s run, with the model's edits. Logits are read in blocks of the vocabulary: no row of them
// is held whole. Errors: kUnsupported for traces of files, images and models without a head; kBadInput for a token
// outside the vocabulary; kCancelled.
Result<LogitLens> logit_lens(const Model& model, const Trace& trace, const LensOptions& options = {},
                             StopToken stop = {}, const Progress& progress = {});

// The `count` likeliest tokens at a token of the run, best first, as Trace::top() has them of the last: of a masked
// language model what it would put there. Errors: kUnsupported for traces of files, images and models without a head;
// kBadInput for a token that does not exist; kCancelled.
Result<std::vector<Prediction>> predictions_at(const Model& model, const Trace& trace, std::int64_t token,
                                               std::int64_t count, StopToken stop = {});

}  // namespace locus::models

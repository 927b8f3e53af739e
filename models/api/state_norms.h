// The sizes of a run's states by layer and token. Few tokens have states a thousand times the others' in the middle
// layers (massive activations, Sun et al. 2024, arXiv 2402.17762): heads use them as sinks. No ATen type appears here.
#pragma once

#include "core/base/field.h"
#include "core/base/progress.h"
#include "core/base/result.h"
#include "models/api/model.h"

namespace locus::models {

// Letters: L layers, T tokens, H heads.
struct StateNorms {
  Field stream;   // (L, T) Euclidean norm of the state that enters layer l
  Field largest;  // (L, T) the largest magnitude among its channels
  Field value;    // (L, T) mean over the key heads of the norm of the token's value; NaN in layers without attention
};

// Runs the input of `trace` again, with the model's edits. Errors: kUnsupported for traces of files and images; kTooLarge,
// kCancelled.
Result<StateNorms> state_norms(const Model& model, const Trace& trace, StopToken stop = {},
                               const Progress& progress = {});

}  // namespace locus::models

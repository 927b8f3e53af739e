// What a model gains from having read a text before: the loss of its second copy against the first (Olsson et al. 2022,
// arXiv 2209.11895, use random tokens, of which only the copy tells the next one). No ATen type appears here.
#pragma once

#include <cstdint>

#include "core/base/field.h"
#include "core/base/progress.h"
#include "core/base/result.h"
#include "models/api/model.h"

namespace locus::models {

// Letters: N inputs, P tokens of a copy.
struct RepeatedTextOptions {
  std::int64_t period = 64;  // P; of the run's own text at most so many tokens
  std::int64_t inputs = 8;   // N, of random tokens
  std::uint64_t seed = 1;
  bool own_text = false;  // the run's own text given twice, one input, instead of random tokens

  friend bool operator==(const RepeatedTextOptions&, const RepeatedTextOptions&) = default;
};

// −log p in nats of the tokens 1 … P − 1 of each copy: (N, P − 1). The first token of a copy is not scored, because the
// first copy has nothing before it.
struct RepeatedLoss {
  Field first;
  Field second;
};

// Runs tokens given twice, with the model's edits. A special token that begins the run `trace` (BOS) begins every
// input. Errors: kUnsupported for models that do not predict the next token of a text; kBadInput for fewer than 2
// tokens or 1 input; run()'s.
Result<RepeatedLoss> repeated_loss(const Model& model, const Trace& trace, const RepeatedTextOptions& options = {},
                                   StopToken stop = {}, const Progress& progress = {});

}  // namespace locus::models

// Changes of a model's prediction by edits: the edited run against the unedited one. No ATen type appears here.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "core/base/progress.h"
#include "core/base/result.h"
#include "models/api/model.h"

namespace locus::models {

// Letters: T tokens. Nats throughout.
struct EffectNumbers {
  // KL(unedited ‖ edited) of the output distribution at each position, (T); of an image's classes (1).
  std::vector<double> kl;
  // −log p of the actual next token, edited less unedited, (T−1): above 0 where a token got harder to predict; NaN
  // where it is a cell of a picture. Empty for models that do not predict the next token.
  std::vector<double> delta;
  double loss = 0;  // the mean −log p; NaN likewise, and for a single token
  double loss_edited = 0;
};

struct Effect : EffectNumbers {
  std::shared_ptr<const Trace> unedited;  // with the logits of the last token alone, as `edited`
  std::shared_ptr<const Trace> edited;
};

// Runs the input unedited, then with the model's edits (Model::edited), of which the layers below the lowest edited
// one are taken over. Errors: kUsage for a model without edits; kUnsupported for one without a head or that cannot be
// edited; run()'s.
Result<Effect> effect_of_edits(const Model& model, const Input& input, StopToken stop = {},
                               const Progress& progress = {});

// Runs the input with a model and with the same checkpoint opened in another way: other overrides or edits. `known`: the
// unedited run of an earlier answer for this model and input, which is then not made again. Maps of the answer's traces
// are NaN. Errors: kUnsupported for models without a head; kBadInput where they differ in tokens or outputs; run()'s.
Result<Effect> effect_of_change(const Model& model, const Model& changed, const Input& input,
                                const std::optional<std::shared_ptr<const Trace>>& known = std::nullopt,
                                StopToken stop = {}, const Progress& progress = {});

// The same for views, of the run that `trace` is of.
struct EffectOnTrace : EffectNumbers {
  // The likeliest outputs of each position, without the edits and with them: (T), of an image's classes (1).
  std::vector<Prediction> top;
  std::vector<Prediction> top_edited;
  // The first layer whose output differs by more than 10⁻⁶ of its largest number; −1: the input of the first does; the
  // number of layers: none does.
  std::int64_t first_layer = 0;
};

// Runs the trace's input again, unedited and with the model's edits (of none the effect is 0), which takes over the
// layers below the lowest edited one. The unedited run of the last input is kept with the checkpoint where its states
// take at most 128 MiB: further edits of the same input run it no more. Errors: those of run();
// kUnsupported for models without a head and for traces of files.
Result<EffectOnTrace> effect_on(const Model& model, const Trace& trace, StopToken stop = {},
                                const Progress& progress = {});

}  // namespace locus::models

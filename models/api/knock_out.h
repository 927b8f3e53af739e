// Which heads a prediction needs: the effect of one kind of edit on each head in turn. No ATen type appears here.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/analysis/expected_range.h"  // of what knock_out_shuffled() gives
#include "core/base/field.h"
#include "core/base/progress.h"
#include "core/base/result.h"
#include "models/api/model.h"

namespace locus::models {

enum class KnockOutMeasure {
  kLoss,  // the mean −log p of the actual next token, edited less unedited, nats
  kKl,    // the mean KL(unedited ‖ edited) of the outputs over positions, nats; of an image's classes
  kLogit  // the log-probability of one token at one position, edited less unedited, nats
};

// (L, H) each; NaN where a layer has no heads.
struct KnockOutEffects {
  Field effect;
  // The standard error of a mean change of loss over n tokens, whose changes are taken pair by pair: s/√n; n is T − 1
  // where all positions are measured. Empty for other measures, and of fewer than two changes.
  Field error;
};

// The heads whose effects are estimates yet, from a sample of a large vocabulary's outputs, and the largest standard
// error that the sample makes of one of them.
struct KnockOutEstimates {
  std::int64_t heads = 0;
  double error = 0;
};

// Whether effects on a text are estimated first: reading all outputs of a large vocabulary takes most of the time.
inline bool knock_out_has_estimates(const ModelInfo& info, KnockOutMeasure measure, std::int64_t tokens) {
  constexpr std::int64_t kLargeVocabulary = 65536;
  constexpr std::int64_t kMaxTokens = 8192;  // for which a sample of the outputs is held
  return measure != KnockOutMeasure::kLogit && !info.image && info.vocabulary >= kLargeVocabulary &&
         tokens <= kMaxTokens;
}

struct KnockOutOptions {
  HeadTo to = HeadTo::kZero;
  KnockOutMeasure measure = KnockOutMeasure::kLoss;
  std::int64_t token = -1;     // kLogit: an id (an image's class); −1: the likeliest of the unedited run
  std::int64_t position = -1;  // kLogit: of the query that predicts it; −1: the last
  // kLoss, kKl of a text: means over so many of its positions, spread evenly; 0: over all. A large vocabulary's outputs
  // take most of the time.
  std::int64_t positions = 0;
  // Told by knock_out() the heads that are done, now and then; the others are NaN. Where there are estimates
  // (knock_out_has_estimates()), all heads come twice: estimated, then exact. Not by models of another machine, which
  // give all heads at once.
  std::function<void(const KnockOutEffects&, const KnockOutEstimates&)> so_far = {};
};

// The effects on the run that `trace` is of, with the model's own edits; each head's run takes over the layers below
// it. Errors: kUnsupported for traces of files, for models without a head, for a loss of models that do not predict the
// next token, and for what an encoding cannot take (content); kBadInput for a token or position that does not exist,
// and for positions below 0, or where they are of no use; kCancelled.
Result<KnockOutEffects> knock_out(const Model& model, const Trace& trace, const KnockOutOptions& options,
                                  StopToken stop = {}, const Progress& progress = {});

// Noise of the same edits where the text says nothing: the effects on copies of the input whose tokens (special ones
// stay; of an image the patches) are shuffled, deterministic in `seed`. Of a logit the token and position stay those of
// the input. One (L, H) a copy, estimated where knock_out_has_estimates(). Errors: those of knock_out(); kBadInput for
// fewer than one copy.
Result<std::vector<Field>> knock_out_shuffled(const Model& model, const Trace& trace, const KnockOutOptions& options,
                                              std::int64_t copies, std::uint64_t seed, StopToken stop = {},
                                              const Progress& progress = {});

// The id that a word names: a number, or a text that is one token of the model (of an image model, none). Errors:
// kUsage.
Result<std::int64_t> token_named(const Model& model, const std::string& word);

}  // namespace locus::models

// Analyses of runs, for views and the command line; no ATen type appears here. What each number means stands in the
// core header it comes from.
//
// Letters: T tokens, H heads, L layers, i query, j key, Δ = i − j.
//
// Every function takes the traces of this floor; kUnsupported for other ones, for cross-attention, and where a layer of
// a trace file holds neither attention nor queries and keys. Long ones report progress and stop (kCancelled).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/analysis/counted_classes.h"
#include "core/analysis/distance_bias.h"
#include "core/analysis/distance_profile.h"
#include "core/analysis/head_statistics.h"
#include "core/analysis/paired_difference.h"
#include "core/analysis/shift_stability.h"
#include "core/base/field.h"
#include "core/base/numbers.h"
#include "core/base/progress.h"
#include "core/base/range.h"
#include "core/base/result.h"
#include "models/api/model.h"

namespace locus::models {

using TracePointer = std::shared_ptr<const Trace>;

// ---- one head

// Short-range minus long-range scores of one head over several texts run through one model.
Result<analysis::DistanceBias> distance_bias(const std::vector<TracePointer>& texts, std::int64_t layer,
                                             const analysis::DistanceBiasOptions& options, StopToken stop = {},
                                             const Progress& progress = {});

// Mean score and quantiles of one head by distance.
Result<analysis::DistanceProfile> distance_profile(const Trace& trace, std::int64_t layer,
                                                   const analysis::DistanceProfileOptions& options, StopToken stop = {},
                                                   const Progress& progress = {});

// Logits of a head at a distance as theory expects them.
struct TheoryCurve {
  std::string name;               // "one μ₀, ν₀ (LLaMA: λθ)"
  std::vector<double> mean;       // one per distance
  std::vector<double> deviation;  // the root of the variance (TAPA, Theorem 3.3); empty: not foretold
  std::string note;               // what else the theory says of it, in a few words
};
enum class TheoryAngle {
  kLlama,  // λ·θ, as models compute
  kPaper,  // 2π·λ·θ, as TAPA's paper prints
};
// RoPE: two curves, Eq. 24 with one μ₀ and ν₀ for all pairs (Assumption 2.1, Eq. 4, 5), and the same sum with μ_d and
// ν_d of each pair, both estimated from the head's own unrotated queries and keys. TAPA: the closed form for Gaussian
// phases with the head's own amplitude and deviations. `pairs` sampled pairs of tokens, deterministic in `seed`.
// Errors: kUnsupported for other encodings, scaled RoPE and TAPA's linear phase.
Result<std::vector<TheoryCurve>> theory_curves(const Trace& trace, std::int64_t layer, std::int64_t head,
                                               const std::vector<double>& distances,
                                               TheoryAngle angle = TheoryAngle::kLlama, std::int64_t pairs = 8192,
                                               std::uint64_t seed = 1);

// ---- all heads

struct HeadTableOptions {
  std::int64_t bias_pairs = 1000;  // a head, for the counterfactual distance bias; 0: left out
  std::uint64_t seed = 1;
  Range layers = {};  // whose heads; empty: all
};
struct HeadRow {
  std::int64_t layer = 0;
  std::int64_t head = 0;
  analysis::HeadStatistics statistics;
  double distance_bias = 0;  // mean Δscore of counterfactual pairs; NaN for encodings that have none, and short texts
  // For a text with pictures, means over the words behind the first one: the weight on cells of pictures, and on all
  // other tokens. NaN for other texts.
  double on_images = 0;
  double on_text = 0;
};
// The table of all heads, layer by layer. Errors also: kBadInput for layers that do not exist.
Result<std::vector<HeadRow>> head_table(const Trace& trace, const HeadTableOptions& options = {}, StopToken stop = {},
                                        const Progress& progress = {});

// (L, H) induction scores: the mean over `repeats` inputs of `period` random tokens given twice, deterministic in
// `seed`. Errors: kUnsupported for image models, kBadInput for a period below 2, run()'s.
struct InductionOptions {
  std::int64_t period = 32;
  std::int64_t repeats = 4;
  std::uint64_t seed = 1;
};
Result<Field> induction_map(const Model& model, const InductionOptions& options = {}, StopToken stop = {},
                            const Progress& progress = {});

// (T) shares of the input tokens in output token `query`, through all layers; sums to 1.
Result<std::vector<float>> attention_rollout(const Trace& trace, std::int64_t query, StopToken stop = {});

// The run of `model` over the text of `trace` up to its last picture, with `neutral` behind it: what is read of the
// pictures whatever is asked of them. Without a mark of a picture in the text, `neutral` is the whole text. The cells
// of both runs are the same. Errors: kUnsupported for traces of files, and for inputs without a text or pictures;
// run()'s.
Result<TracePointer> neutral_run(const Model& model, const Trace& trace, const std::string& neutral,
                                 StopToken stop = {}, const Progress& progress = {});

// ---- two runs

// (L, H): the total variation between head (l, h) of two runs of the same tokens, index with index, over at most `rows`
// queries (0: all). Errors: kBadInput when layers, heads or numbers of tokens differ.
Result<Field> head_difference(const Trace& first, const Trace& second, std::int64_t rows = 64, StopToken stop = {},
                              const Progress& progress = {});

// For every head of `first` (entry l·H + h) the head of `second` it is matched with, by the assignment of least total
// variation over all heads of all layers, and that distance; layer −1 for heads left over.
struct HeadMatch {
  std::int64_t layer = 0;
  std::int64_t head = 0;
  double distance = 0;
};
Result<std::vector<HeadMatch>> match_heads(const Trace& first, const Trace& second, std::int64_t rows = 32,
                                           StopToken stop = {}, const Progress& progress = {});

// ---- one model, run again

// A change of the positions of the same tokens: exactly one of the two.
struct Move {
  std::int64_t ids = 0;                // position ids start this much later
  std::vector<std::int64_t> in_front;  // these token ids are put in front ("add 3 BOS tokens")
};

// One layer. `dot_product_percent` is empty where the encoding has no dot product.
struct StabilityRow {
  analysis::AttentionChange attention;
  std::optional<double> dot_product_percent;
};

// Runs the tokens of `plain`, which came from `model`, again where `move` puts them, and compares row i with the row of
// the same token (TAPE, Table 8). Errors: kUnsupported for images; kBadInput when both or neither kind of move is asked
// for; run()'s.
Result<std::vector<StabilityRow>> shift_stability(const Model& model, const Trace& plain, const Move& move,
                                                  StopToken stop = {}, const Progress& progress = {});

// How well a model predicts the same tokens with more or less context before them.
struct LengthPoint {
  std::int64_t length = 0;      // tokens of a window: the context that a prediction has at most
  double perplexity = kNaN;     // exp of the mean negative log-likelihood a token
  double bits_per_byte = kNaN;  // comparable across tokenizers; NaN when the tokens have no text
  std::int64_t scored = 0;      // tokens scored
  std::int64_t scored_bytes = 0;
  // The text in order, cut into at most 32 stretches of as many bytes each, at least 64 (of tokens without text: of
  // tokens): nats and bytes of the tokens that begin there. They pair two curves of a text. Empty for a length that
  // cannot be taken.
  std::vector<analysis::Part> stretches;
};

struct LengthCurveOptions {
  std::vector<std::int64_t> lengths;  // empty: suggested_lengths()
  std::int64_t stride = 0;            // tokens between the starts of windows; 0: they do not overlap
};

inline constexpr std::int64_t kShortestLength = 8;
// Powers of two up to the number of tokens, from 8 for short texts to 32 for long ones.
std::vector<std::int64_t> suggested_lengths(std::int64_t tokens);

// The whole text in windows of each length, as `locus evaluate text` measures: every token but the first is scored
// once, in the first window that predicts it, so that all lengths score the same tokens. Without a stride a prediction
// has from one token of context to the window's whole length; with one, the window's length less the stride or more
// (but at the text's beginning). A special token that begins the text begins every window, in the place of its first
// token. A length that the encoding or the machine's memory cannot take has NaN; where none can be taken, that is the
// error. `tokens` are a trace's. Errors: kUnsupported for models that are not causal text models; kBadInput for lengths
// below 2 or beyond the text, and a stride below 0; run()'s.
Result<std::vector<LengthPoint>> length_curve(const Model& model, const std::vector<TokenInfo>& tokens,
                                              const LengthCurveOptions& options = {}, StopToken stop = {},
                                              const Progress& progress = {});

}  // namespace locus::models

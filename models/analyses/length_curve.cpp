// models/api/analyses.h: perplexity against context length, the same tokens scored at every length.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <optional>

#include "core/base/guarded.h"
#include "core/base/numbers.h"
#include "models/analyses/fields.h"
#include "models/run/loaded_model.h"

namespace locus::models {

namespace {

constexpr std::int64_t kShortest = 8;
constexpr std::int64_t kLongestStart = 32;

struct Score {
  double nats = 0;
  std::int64_t tokens = 0;
  std::int64_t bytes = 0;
};

// The last `scored` tokens of a window of `length` that ends before token `end`.
struct Window {
  std::int64_t end = 0;
  std::int64_t length = 0;
  std::int64_t scored = 0;
};

bool begins_with_special(const std::vector<TokenInfo>& tokens) {
  return tokens.size() > 1 && tokens[0].bytes.empty() && !tokens[1].bytes.empty();
}

Input window_input(const std::vector<TokenInfo>& tokens, const Window& window) {
  Input input;
  input.position_start = static_cast<std::int64_t>(tokens.front().position);
  input.ids.emplace();
  const std::int64_t begin = window.end - window.length;
  for (std::int64_t n = begin; n < window.end; ++n) {
    input.ids->push_back(tokens[static_cast<std::size_t>(n)].id);
  }
  if (begin > 0 && begins_with_special(tokens)) {
    input.ids->front() = tokens.front().id;
  }
  return input;
}

// Negative log-likelihood of the window's scored tokens.
Result<Score> score_window(const Model& model, const std::vector<TokenInfo>& tokens, const Window& window,
                           const StopToken& stop) {
  const Input input = window_input(tokens, window);
  LOCUS_TRY(const TracePointer trace, model.run(input, {.all_logits = true}, stop));
  return guarded([&]() -> Result<Score> {
    const at::NoGradGuard no_grad;
    LOCUS_TRY(const TraceData* data, data_of(*trace));
    if (!data->logits.defined() || data->logits.size(0) != window.length) {
      return internal("length curve: expected the logits of every token");
    }
    const std::int64_t first = window.length - window.scored;
    const at::Tensor ids = at::tensor(*input.ids).slice(0, first);
    const at::Tensor likelihood =
        data->logits.slice(0, first - 1, window.length - 1).to(at::kCPU, at::kFloat).log_softmax(-1);
    Score score;
    score.nats = -likelihood.gather(1, ids.unsqueeze(1)).sum(at::kDouble).item<double>();
    score.tokens = window.scored;
    for (std::int64_t n = window.end - window.scored; n < window.end; ++n) {
      score.bytes += tokens[static_cast<std::size_t>(n)].bytes.size();
    }
    return score;
  });
}

// Whether a run of this length fails whatever its tokens: too much for the machine, or for the encoding's positions.
bool is_beyond(const Model& model, const Error& error, std::int64_t start, std::int64_t length) {
  const LoadedModel* const loaded = loaded_model_of(model);
  if (error.code != ErrorCode::kBadInput || loaded == nullptr) {
    return error.code == ErrorCode::kTooLarge;
  }
  const auto transformer = loaded->ready();
  return transformer.ok() &&
         !(*transformer)->accepts((*transformer)->positions(length, static_cast<double>(start))).ok();
}

LengthPoint point_of(std::int64_t length, const Score& total) {
  LengthPoint point;
  point.length = length;
  point.scored = total.tokens;
  point.scored_bytes = total.bytes;
  point.perplexity = total.tokens > 0 ? std::exp(total.nats / static_cast<double>(total.tokens)) : kNaN;
  point.bits_per_byte = total.bytes > 0 ? total.nats / (std::numbers::ln2 * static_cast<double>(total.bytes)) : kNaN;
  return point;
}

Status check_options(const Model& model, const std::vector<std::int64_t>& lengths, std::int64_t available,
                     const LengthCurveOptions& options) {
  if (model.info().image || !model.info().causal) {
    return unsupported("length curve: expected a causal text model; " + model.info().name + " is none");
  }
  if (lengths.empty() || options.windows < 1 || options.scored_tokens < 1) {
    return bad_input("length curve: expected a text of at least " + std::to_string(kShortest) + " tokens, found " +
                     std::to_string(available));
  }
  const auto [shortest, longest] = std::minmax_element(lengths.begin(), lengths.end());
  if (*shortest < 2 || *longest > available) {
    return bad_input("length curve: expected lengths of 2 to " + std::to_string(available) +
                     " tokens, the text's, found " + std::to_string(*shortest < 2 ? *shortest : *longest));
  }
  return {};
}

}  // namespace

std::vector<std::int64_t> suggested_lengths(std::int64_t tokens) {
  std::vector<std::int64_t> lengths;
  std::int64_t length = kShortest;
  while (length < kLongestStart && length * 16 < tokens) {
    length *= 2;
  }
  for (; length <= tokens; length *= 2) {
    lengths.push_back(length);
  }
  return lengths;
}

Result<std::vector<LengthPoint>> length_curve(const Model& model, const std::vector<TokenInfo>& tokens,
                                              const LengthCurveOptions& options, StopToken stop,
                                              const Progress& progress) {
  const auto available = static_cast<std::int64_t>(tokens.size());
  const std::vector<std::int64_t> lengths = options.lengths.empty() ? suggested_lengths(available) : options.lengths;
  LOCUS_CHECK(check_options(model, lengths, available, options));
  const std::int64_t shortest = *std::min_element(lengths.begin(), lengths.end());
  const std::int64_t longest = *std::max_element(lengths.begin(), lengths.end());
  // The first token of a window has nothing before it, and a special one in front is not scored.
  const std::int64_t scored = std::min(options.scored_tokens, shortest - 1);
  const std::int64_t windows = std::min(options.windows, (available - longest) / scored + 1);

  const auto start = static_cast<std::int64_t>(tokens.front().position);
  std::optional<Error> refused;
  bool any = false;
  std::vector<LengthPoint> curve;
  double done = 0;
  for (const std::int64_t length : lengths) {
    Score total;
    for (std::int64_t n = 0; n < windows; ++n) {
      report(progress, done / static_cast<double>(lengths.size() * static_cast<std::size_t>(windows)),
             std::to_string(length) + " tokens of context");
      const std::int64_t spread = windows > 1 ? (available - longest) * n / (windows - 1) : 0;
      const auto score = score_window(model, tokens, {longest + spread, length, scored}, stop);
      if (!score.ok()) {
        if (!is_beyond(model, score.error(), start, length)) {
          return score.error();
        }
        refused = score.error();
        total = {};
        break;
      }
      any = true;
      total.nats += score->nats;
      total.tokens += score->tokens;
      total.bytes += score->bytes;
      done += 1;
    }
    curve.push_back(point_of(length, total));
  }
  if (!any && refused) {
    return *refused;
  }
  return curve;
}

}  // namespace locus::models

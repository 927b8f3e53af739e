// models/api/analyses.h: perplexity against context length, the same tokens scored at every length.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>

#include "core/base/guarded.h"
#include "core/base/numbers.h"
#include "models/api/local.h"
#include "models/engine/loaded_model.h"
#include "models/experiments/at_once.h"
#include "models/experiments/fields.h"
#include "models/experiments/outputs.h"
#include "models/experiments/rerun.h"

namespace locus::models {

namespace {

constexpr std::int64_t kMaxStretches = 32;
constexpr std::int64_t kLeastStretch = 64;  // bytes, or tokens of a text without

// A run of the tokens [begin, end), of whose predictions of the tokens begin + 1 … end those from `first` on count.
struct Window {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t first = 0;
};

// Windows that start `stride` apart; what an earlier one has counted, a later one does not.
std::vector<Window> windows_of(std::int64_t tokens, std::int64_t length, std::int64_t stride) {
  std::vector<Window> windows;
  std::int64_t counted = 1;
  for (std::int64_t begin = 0; counted < tokens; begin += stride) {
    windows.push_back({begin, std::min(begin + length, tokens - 1), counted});
    counted = begin + length + 1;
  }
  return windows;
}

// Where the tokens stand in the text, and its stretches.
class Stretches {
 public:
  explicit Stretches(const std::vector<TokenInfo>& tokens) : tokens_(tokens) {
    has_bytes_ = std::any_of(tokens.begin(), tokens.end(), [](const TokenInfo& each) { return !each.bytes.empty(); });
    for (std::size_t n = 0; n < tokens.size(); ++n) {
      before_.push_back(total_);
      total_ += size_of(n);
    }
    count_ = std::clamp<std::int64_t>(total_ / kLeastStretch, 1, kMaxStretches);
  }

  bool has_bytes() const { return has_bytes_; }
  std::size_t count() const { return static_cast<std::size_t>(count_); }
  // Bytes of a token; of a text without, 1.
  std::int64_t size_of(std::size_t token) const { return has_bytes_ ? tokens_[token].bytes.size() : 1; }
  // The stretch that a token begins in.
  std::size_t of(std::size_t token) const {
    return static_cast<std::size_t>(std::min(before_[token] * count_ / total_, count_ - 1));
  }

 private:
  const std::vector<TokenInfo>& tokens_;
  bool has_bytes_ = false;
  std::vector<std::int64_t> before_;
  std::int64_t total_ = 0;
  std::int64_t count_ = 1;
};

Input window_input(const Model& model, const std::vector<TokenInfo>& tokens, const Window& window) {
  Input input;
  input.position_start = position_start_of(model, tokens);
  input.ids.emplace();
  for (std::int64_t n = window.begin; n < window.end; ++n) {
    input.ids->push_back(tokens[static_cast<std::size_t>(n)].id);
  }
  if (window.begin > 0 && begins_with_special(tokens)) {
    input.ids->front() = tokens.front().id;
  }
  return input;
}

// Negative log-likelihoods of the tokens window.first … window.end.
Result<std::vector<double>> score_window(const Model& model, const std::vector<TokenInfo>& tokens, const Window& window,
                                         const StopToken& stop) {
  LOCUS_TRY(const TracePointer trace,
            model.run(window_input(model, tokens, window), {.keep = {}, .before_head = true}, stop));
  std::vector<std::int64_t> next;
  for (std::int64_t n = window.first; n <= window.end; ++n) {
    next.push_back(tokens[static_cast<std::size_t>(n)].id);
  }
  return guarded(
      [&] { return next_token_losses(model, *trace, window.first - 1 - window.begin, next, "length curve", stop); });
}

// Whether a run of this length fails whatever its tokens: too much for the machine, or for the encoding's positions.
bool is_beyond(const Model& model, const Error& error, std::int64_t start, std::int64_t length) {
  const LoadedModel* const loaded = loaded_model_of(model);
  if (error.code != ErrorCode::kBadInput || loaded == nullptr) {
    return error.code == ErrorCode::kTooLarge;
  }
  const auto transformer = loaded->checkpoint().ready();
  return transformer.ok() &&
         !(*transformer)->accepts((*transformer)->positions(length, static_cast<double>(start))).ok();
}

void count(const std::vector<double>& nats, const Window& window, const Stretches& stretches, LengthPoint& point) {
  for (std::size_t n = 0; n < nats.size(); ++n) {
    const std::size_t token = static_cast<std::size_t>(window.first) + n;
    analysis::Part& stretch = point.stretches[stretches.of(token)];
    stretch.sum += nats[n];
    stretch.count += static_cast<double>(stretches.size_of(token));
  }
  point.scored += static_cast<std::int64_t>(nats.size());
}

// The means over what has been counted.
void conclude(const Stretches& stretches, LengthPoint& point) {
  double nats = 0;
  double size = 0;
  for (const analysis::Part& stretch : point.stretches) {
    nats += stretch.sum;
    size += stretch.count;
  }
  point.perplexity = std::exp(nats / static_cast<double>(point.scored));
  if (stretches.has_bytes() && size > 0) {
    point.scored_bytes = static_cast<std::int64_t>(size);
    point.bits_per_byte = nats / (std::numbers::ln2 * size);
  }
}

// The whole text in windows of one length.
Result<LengthPoint> measure_length(const Model& model, const std::vector<TokenInfo>& tokens, const Stretches& stretches,
                                   const std::vector<Window>& windows, const StopToken& stop,
                                   const Progress& progress) {
  std::int64_t longest = 0;
  for (const Window& window : windows) {
    longest = std::max(longest, window.end - window.begin);
  }
  std::vector<std::vector<double>> nats(windows.size());
  const auto score = [&](std::size_t n) -> Status {
    LOCUS_TRY(nats[n], score_window(model, tokens, windows[n], stop));
    return {};
  };
  const int at_once = runs_at_once(model, longest, {.keep = {}, .before_head = true}, windows.size());
  Status scored = each_at_once(windows.size(), at_once, score, progress);
  if (at_once > 1 && !scored.ok() && scored.error().code == ErrorCode::kTooLarge) {
    scored = each_at_once(windows.size(), 1, score, progress);  // memory may suffice for one
  }
  LOCUS_CHECK(scored);
  LengthPoint point;
  point.stretches.assign(stretches.count(), {});
  for (std::size_t n = 0; n < windows.size(); ++n) {
    count(nats[n], windows[n], stretches, point);
  }
  conclude(stretches, point);
  return point;
}

Status check_options(const Model& model, const std::vector<std::int64_t>& lengths, std::int64_t available,
                     const LengthCurveOptions& options) {
  if (model.info().image || !model.info().causal) {
    return unsupported("length curve: expected a causal text model; " + model.info().name + " is none");
  }
  if (lengths.empty() || options.stride < 0) {
    return bad_input("length curve: expected a text of at least " + std::to_string(kShortestLength) +
                     " tokens, found " + std::to_string(available));
  }
  const auto [shortest, longest] = std::minmax_element(lengths.begin(), lengths.end());
  if (*shortest < 2 || *longest > available) {
    return bad_input("length curve: expected lengths of 2 to " + std::to_string(available) +
                     " tokens, the text's, found " + std::to_string(*shortest < 2 ? *shortest : *longest));
  }
  return {};
}

}  // namespace

Result<std::vector<LengthPoint>> local::length_curve(const Model& model, const std::vector<TokenInfo>& tokens,
                                                     const LengthCurveOptions& options, StopToken stop,
                                                     const Progress& progress) {
  const auto available = static_cast<std::int64_t>(tokens.size());
  const std::vector<std::int64_t> lengths = options.lengths.empty() ? suggested_lengths(available) : options.lengths;
  LOCUS_CHECK(check_options(model, lengths, available, options));
  const std::int64_t start = position_start_of(model, tokens);
  const Stretches stretches(tokens);
  std::optional<Error> refused;
  bool any = false;
  std::vector<LengthPoint> curve;
  for (std::size_t n = 0; n < lengths.size(); ++n) {
    const std::int64_t length = lengths[n];
    const Progress part = [&](const ProgressReport& news) {
      report(progress, (static_cast<double>(n) + news.fraction) / static_cast<double>(lengths.size()),
             std::to_string(length) + " tokens of context");
    };
    const std::int64_t stride = options.stride > 0 ? std::min(options.stride, length) : length;
    Result<LengthPoint> point =
        measure_length(model, tokens, stretches, windows_of(available, length, stride), stop, part);
    if (!point.ok() && !is_beyond(model, point.error(), start, std::min(length, available - 1))) {
      return point.error();
    }
    any = any || point.ok();
    refused = point.ok() ? refused : std::optional<Error>(point.error());
    curve.push_back(point.ok() ? std::move(*point) : LengthPoint());
    curve.back().length = length;
  }
  if (!any && refused) {
    return *refused;
  }
  return curve;
}

}  // namespace locus::models

// Facts and texts of models, traces and estimates that need no run.
#include "models/api/model.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <string_view>
#include <thread>

#include "core/base/numbers.h"
#include "models/api/analyses.h"
#include "models/api/process_group.h"
#include "models/api/run_estimate.h"

namespace locus::models {

namespace {

// The number that OMP_NUM_THREADS asks of every program: a number, or one a level of nesting, of which the first
// counts. 0: nothing.
std::int64_t openmp_threads() {
  const char* const text = std::getenv("OMP_NUM_THREADS");
  std::int64_t threads = 0;
  if (text != nullptr) {
    const std::string_view first = std::string_view(text).substr(0, std::string_view(text).find(','));
    const auto [end, error] = std::from_chars(first.data(), first.data() + first.size(), threads);
    threads = error == std::errc() && end == first.data() + first.size() ? std::max<std::int64_t>(threads, 0) : 0;
  }
  return threads;
}

}  // namespace

std::string to_text(Side side) {
  switch (side) {
    case Side::kDecoder:
      return "decoder";
    case Side::kEncoder:
      return "encoder";
    case Side::kCross:
      return "cross";
    case Side::kVision:
      return "vision";
    case Side::kMixer:
      break;
  }
  return "mixer";
}

double cosine_similarity(const std::vector<float>& a, const std::vector<float>& b) {
  double product = 0;
  double left = 0;
  double right = 0;
  for (std::size_t n = 0; n < std::min(a.size(), b.size()); ++n) {
    product += static_cast<double>(a[n]) * static_cast<double>(b[n]);
    left += static_cast<double>(a[n]) * static_cast<double>(a[n]);
    right += static_cast<double>(b[n]) * static_cast<double>(b[n]);
  }
  return left > 0 && right > 0 ? product / (std::sqrt(left) * std::sqrt(right)) : 0;
}

const EncodingUse& ModelInfo::first_encoding() const {
  static const EncodingUse kUnnamed;
  return encodings.empty() ? kUnnamed : encodings.front();
}

bool ModelInfo::any(bool EncodingUse::*has) const {
  return std::any_of(encodings.begin(), encodings.end(), std::mem_fn(has));
}

std::string ModelInfo::content() const {
  const auto found =
      std::find_if(encodings.begin(), encodings.end(), [](const EncodingUse& each) { return !each.content.empty(); });
  return found == encodings.end() ? std::string() : found->content;
}

const EncodingUse* ModelInfo::encoding_of(std::int64_t layer) const {
  const auto n = static_cast<std::size_t>(layer);
  const std::int64_t own = layer >= 0 && n < layer_info.size() ? layer_info[n].encoding : 0;
  return own >= 0 && own < static_cast<std::int64_t>(encodings.size()) ? &encodings[static_cast<std::size_t>(own)]
                                                                       : nullptr;
}

bool ModelInfo::uniform() const {
  return std::all_of(layer_info.begin(), layer_info.end(),
                     [&](const LayerInfo& each) { return each == layer_info.front(); });
}

bool ModelInfo::has_mixers() const {
  return std::any_of(layer_info.begin(), layer_info.end(), [](const LayerInfo& each) { return !each.mixer.empty(); });
}

bool ModelInfo::attends_everywhere() const {
  return std::all_of(layer_info.begin(), layer_info.end(), std::mem_fn(&LayerInfo::attends));
}

std::optional<std::int64_t> ModelInfo::farthest(std::int64_t layer) const {
  std::optional<std::int64_t> most;
  if (layer >= 0 && layer < static_cast<std::int64_t>(layer_info.size())) {
    const LayerInfo& own = layer_info[static_cast<std::size_t>(layer)];
    for (const std::int64_t keys : {own.window, own.chunk}) {
      most = keys > 0 ? std::min(most.value_or(keys - 1), keys - 1) : most;
    }
  }
  return most;
}

std::string layer_text(const ModelInfo& info, std::int64_t layer) {
  const auto n = static_cast<std::size_t>(layer);
  const bool known = layer >= 0 && n < info.layer_info.size();
  const std::string mixer = known ? info.layer_info[n].mixer : "";
  if (known && !info.layer_info[n].attends) {
    return mixer.empty() ? "no attention" : mixer + ", no softmax";
  }
  if (info.of_mixers() && !mixer.empty()) {
    return mixer;
  }
  const EncodingUse* const own = info.encoding_of(layer);
  std::string text = own == nullptr ? "none" : own->name;
  const Result<double> base = own == nullptr ? Result<double>(0.0) : own->options.number("base", 0);
  if (base.ok() && *base > 0) {
    text += " base=" + (*base == std::floor(*base) ? fixed_text(*base, 0) : number_text(*base));
  }
  if (own != nullptr && own->options.has("scaling") && locus::to_text(own->options.values().at("scaling")) != "none") {
    text += " scaling=" + locus::to_text(own->options.values().at("scaling"));
  }
  if (known) {
    const LayerInfo& each = info.layer_info[n];
    text += each.window > 0 ? ", window " + std::to_string(each.window) : "";
    text += each.chunk > 0 ? ", chunk " + std::to_string(each.chunk) : "";
    text += each.sink ? ", sink" : "";
    text += each.kv_heads > 0 ? ", key heads: " + std::to_string(each.kv_heads) : "";
    text += each.head_width > 0 ? ", " + std::to_string(each.head_width) + " a head" : "";
    text += each.source >= 0 ? ", keys of layer " + std::to_string(each.source) : "";
    text += mixer.empty() ? "" : ", beside a " + mixer;
  }
  return text;
}

Result<Field> Trace::preview(const MapRequest& /*request*/, std::int64_t /*height*/, std::int64_t /*width*/,
                             StopToken /*stop*/) const {
  return unsupported("this trace has no single cells");
}

Result<Field> Trace::overview_band(const MapRequest& /*request*/, std::int64_t /*height*/, std::int64_t /*width*/,
                                   Reduction /*reduction*/, Range /*band*/, StopToken /*stop*/) const {
  return unsupported("this trace has no bands of an overview");
}

std::string picture_name(const std::vector<ImageSpan>& pictures, std::size_t n) {
  if (n < pictures.size() && pictures[n].video >= 0) {
    return "video " + std::to_string(pictures[n].video + 1) + ", frame " + std::to_string(pictures[n].frame);
  }
  const bool whole = n < pictures.size() && pictures[n].whole;
  std::int64_t number = whole && pictures.front().whole ? 1 : 0;  // in front of its tiles
  for (std::size_t each = 0; each <= n && each < pictures.size(); ++each) {
    number += pictures[each].whole || pictures[each].video >= 0 ? 0 : 1;
  }
  return "image " + std::to_string(number) + (whole ? " whole" : "");
}

const std::vector<ImageSpan>& Trace::images() const {
  static const std::vector<ImageSpan> none;
  return none;
}

Result<Field> Trace::sink(std::int64_t layer, std::int64_t /*head*/, Range /*rows*/, StopToken /*stop*/) const {
  return unsupported("layer " + std::to_string(layer) + " has no sink");
}

Result<Field> Trace::state_numbers(std::int64_t layer, StateNumber /*number*/, StopToken /*stop*/) const {
  return unsupported("layer " + std::to_string(layer) + " has no mixer here");
}

const Edits& Trace::edits() const {
  static const Edits none;
  return none;
}

const Edits& Model::edits() const {
  static const Edits none;
  return none;
}

// By value, as those that can be edited keep them.
// NOLINTNEXTLINE(performance-unnecessary-value-param)
Result<std::shared_ptr<const Model>> Model::edited(Edits /*edits*/) const {
  return unsupported("this model cannot be edited", info().name);
}

Estimate Model::estimate(std::int64_t /*length*/, const RunOptions& /*options*/) const {
  return {};
}

std::string duration_text(double ms) {
  const double seconds = ms / 1000;
  return seconds < 1       ? fixed_text(ms, 0) + " ms"
         : seconds < 120   ? fixed_text(seconds, 0) + " s"
         : seconds < 7200  ? fixed_text(seconds / 60, 0) + " min"
         : seconds < 36000 ? fixed_text(seconds / 3600, 1) + " h"
                           : fixed_text(seconds / 3600, 0) + " h";
}

std::string memory_text(double megabytes) {
  return megabytes < 10'000 ? fixed_text(megabytes, 0) + " MB" : fixed_text(megabytes / 1000, 1) + " GB";
}

std::string to_text(const Estimate& estimate) {
  return "about " + duration_text(estimate.time_ms) + " and " + memory_text(estimate.memory_mb);
}

Result<std::shared_ptr<const PositionTable>> Model::position_table(const PositionRequest& /*request*/,
                                                                   std::int64_t /*layer*/) const {
  return unsupported(info().name + " cannot encode positions without a run");
}

Result<Generation> Model::generate(const Input& /*input*/, const GenerateOptions& /*options*/,
                                   const RunOptions& /*run_options*/, StopToken /*stop*/,
                                   const Progress& /*progress*/) const {
  return unsupported("this model does not continue texts", info().name);
}

Estimate run_estimate(const Model& model, std::int64_t length, const RunOptions& options, std::int64_t taken_over) {
  Estimate estimate = model.estimate(length, options);
  estimate.memory_mb += estimate.weights_mb;
  if (taken_over > 0) {
    estimate.time_ms = std::max(estimate.time_ms - model.estimate(taken_over, options).time_ms, 0.0);
  }
  return estimate;
}

Estimate with_pictures(Estimate run, const Estimate& pictures) {
  const double beside_weights = run.memory_mb - run.weights_mb + pictures.memory_mb;
  run.fits = run.fits && (run.available_mb <= 0 || beside_weights <= run.available_mb);
  run.memory_mb += pictures.memory_mb;
  run.time_ms += pictures.time_ms;
  return run;
}

double left_ms(double expected_ms, double fraction, double elapsed_ms, double sure) {
  if (fraction <= 0) {
    return std::max(expected_ms - elapsed_ms, 0.0);
  }
  const double trust = sure > 0 ? std::min(fraction / sure, 1.0) : 1;
  const double seen = elapsed_ms / fraction;
  return ((1 - trust) * std::max(expected_ms, elapsed_ms) + trust * seen) * (1 - std::min(fraction, 1.0));
}

std::vector<std::int64_t> suggested_lengths(std::int64_t tokens) {
  constexpr std::int64_t kLongestStart = 32;
  std::vector<std::int64_t> lengths;
  std::int64_t length = kShortestLength;
  while (length < kLongestStart && length * 16 < tokens) {
    length *= 2;
  }
  for (; length <= tokens; length *= 2) {
    lengths.push_back(length);
  }
  return lengths;
}

std::string with_layers(const std::string& text, const std::string& layers) {
  return text + (layers.empty() ? "" : "@" + layers);
}

Result<std::vector<PairScore>> pair_scores(const ModelInfo& model, const std::vector<float>& picture,
                                           const std::vector<std::vector<float>>& texts) {
  if (!model.logit_scale) {
    return bad_input("expected a half of a model that compares pictures with texts, found none", model.name);
  }
  std::vector<PairScore> scores;
  double largest = -std::numeric_limits<double>::infinity();
  for (const std::vector<float>& text : texts) {
    if (picture.empty() || text.size() != picture.size()) {
      return bad_input("expected vectors of the same length of a picture and a text, found " +
                           std::to_string(picture.size()) + " and " + std::to_string(text.size()) + " numbers",
                       model.name);
    }
    PairScore& score = scores.emplace_back();
    score.cosine = cosine_similarity(picture, text);
    score.logit = *model.logit_scale * score.cosine + model.logit_bias.value_or(0);
    largest = std::max(largest, score.logit);
  }
  double sum = 0;
  for (const PairScore& score : scores) {
    sum += std::exp(score.logit - largest);
  }
  for (PairScore& score : scores) {
    score.probability = model.logit_bias ? 1 / (1 + std::exp(-score.logit)) : std::exp(score.logit - largest) / sum;
  }
  return scores;
}

std::string label_of(const Overrides& overrides) {
  std::string label;
  if (overrides.rope_base) {
    label += " base " + with_layers(locus::to_text(SettingValue(*overrides.rope_base)), overrides.rope_base_layers);
  }
  if (!overrides.rope_scaling.empty()) {
    label += " " + with_layers(overrides.rope_scaling, overrides.rope_scaling_layers);
  }
  label += overrides.fast ? " fast products" : "";
  label += overrides.half.empty() ? "" : " " + overrides.half + " half";
  return label + (overrides.stage != 0 ? " stage " + std::to_string(overrides.stage) : "");
}

int bounded_threads(std::int64_t threads) {
  const auto cores = static_cast<std::int64_t>(std::max(1U, std::thread::hardware_concurrency()));
  const std::int64_t wanted = threads > 0 ? threads : openmp_threads();
  return static_cast<int>(wanted > 0 ? std::min(wanted, cores) : cores);
}

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

std::string describe(const ProcessGroup* group) {
  return group == nullptr
             ? "1 process"
             : "rank " + std::to_string(group->rank()) + " of " + std::to_string(group->size()) + " on " + host_name();
}

Status check_frames(const VideoFrames& frames) {
  if (frames.fps && frames.count) {
    return bad_input("video_fps: expected it or video_frames, found both");
  }
  if (frames.fps && !(*frames.fps >= kMinVideoFps && *frames.fps <= kMaxVideoFps)) {
    return bad_input("video_fps: expected frames a second from " + general_text(kMinVideoFps, 4) + " to " +
                     general_text(kMaxVideoFps, 4) + ", found " + general_text(*frames.fps, 4));
  }
  if (frames.count && (*frames.count < 1 || *frames.count > kMaxTakenFrames)) {
    return bad_input("video_frames: expected frames from 1 to " + std::to_string(kMaxTakenFrames) + ", found " +
                     std::to_string(*frames.count));
  }
  return {};
}

}  // namespace locus::models

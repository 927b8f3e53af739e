// A made-up atlas with numbers that a test can tell: three layers of four heads, 40 windows of 64 tokens.
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/views/shared/view.h"
#include "models/api/atlas_trace.h"

namespace locus::test {

class FakeAtlas : public models::Atlas {
 public:
  static constexpr std::int64_t kLayers = 3;
  static constexpr std::int64_t kHeads = 4;
  static constexpr std::int64_t kLength = 64;
  static constexpr std::int64_t kSide = 16;
  static constexpr std::int64_t kNeedleDepths = 3;
  static constexpr std::int64_t kNeedleLengths = 2;

  // Heads learn with the steps: what they do is `share` of what a trained one does. Without `nulls` of losses and maps
  // it is like older files.
  explicit FakeAtlas(std::optional<std::int64_t> step = {}, double share = 1, bool nulls = true)
      : share_(share), nulls_(nulls) {
    info_.checkpoint = "made-up";
    info_.encoding = "rope";
    info_.layers = kLayers;
    info_.heads = kHeads;
    info_.windows = info_.done = 40;
    info_.length = kLength;
    info_.map_size = kSide;
    info_.replicates = 100;
    info_.step = step;
    info_.examples = models::ExampleOptions{.activation = "largest", .top = 3, .sample = 1, .levels = 2};
    for (std::int64_t edge = 0; edge <= 32; ++edge) {
      axes_["profile.edges"].push_back(static_cast<double>(edge));
    }
    axes_["retrieval.depths"] = {0, 0.5, 1};
    axes_["retrieval.lengths"] = {32, 64};
    axes_["profile.edges"].insert(axes_["profile.edges"].end(), {48, 64});
  }

  const models::AtlasInfo& info() const override { return info_; }
  const std::vector<std::string>& statistics() const override {
    static const std::vector<std::string> kNames{
        "profile.weight",   "profile.logit",   "mean-map",       "heads.entropy",   "heads.previous",
        "heads.first",      "heads.self",      "heads.distance", "heads.induction", "heads.bias-mean",
        "heads.place",      "heads.word",      "heads.both",     "sinks.weight",    "loss",
        "retrieval.answer", "retrieval.score", "spans.needle"};
    return kNames;
  }
  bool of_model(const std::string& statistic) const override {
    return statistic == "loss" || statistic == "retrieval.answer";
  }
  bool has(const std::string& statistic, models::AtlasNull null) const override {
    const bool without =
        null == models::AtlasNull::kShuffled && !nulls_ && (statistic == "loss" || statistic == "mean-map");
    return std::ranges::find(statistics(), statistic) != statistics().end() && !without;
  }
  // One entry: the mean of a trained head, or of shuffled tokens.
  double mean_of(const std::string& statistic, std::int64_t layer, std::int64_t head, std::int64_t entry,
                 bool shuffled) const {
    const auto place = static_cast<double>(layer * kHeads + head);
    const auto n = static_cast<double>(entry);
    if (statistic == "loss") {
      return shuffled ? 5.5 : 2 + 3 / std::sqrt(n + 1);
    }
    if (statistic == "mean-map") {
      const std::int64_t query = entry / kSide;
      const std::int64_t key = entry % kSide;
      const double uniform = 1 / static_cast<double>(query + 1);
      const bool chosen = key == std::max<std::int64_t>(query - head, 0);
      return key > query ? std::nan("") : shuffled ? uniform / 4 : (0.5 * (chosen ? 1 : 0) + 0.5 * uniform) / 4;
    }
    if (statistic.starts_with("profile.")) {
      const double decay = std::exp(-n / (4 + place));
      return shuffled ? 0.02 : statistic == "profile.logit" ? 2 * decay - 1 : 0.3 * decay;
    }
    if (is_of_needles(statistic)) {  // deeper sentences and shorter texts are found better
      const auto depth = entry / kNeedleLengths;
      const double found = 0.1 + 0.15 * static_cast<double>(depth) / (1 + n) + (head == 1 ? 0.4 : 0);
      return shuffled ? 0.1 : found;
    }
    const double base = statistic == "heads.entropy" ? 3.0 : statistic == "heads.distance" ? 20.0 : 0.05;
    const double own = statistic == "heads.induction"  ? (head == 1 && layer > 0 ? 0.8 : 0.0)
                       : statistic == "heads.previous" ? (head == 2 ? 0.6 / (1 + static_cast<double>(layer)) : 0.0)
                                                       : 0.02 * place;
    return base + (shuffled ? 0.0 : share_ * own);
  }
  static bool is_of_needles(const std::string& statistic) {
    return statistic.starts_with("retrieval.") || statistic.starts_with("spans.");
  }
  static double half_of(std::int64_t head) { return 0.01 * static_cast<double>(1 + head); }
  Result<models::AtlasValues> values(const std::string& statistic, std::int64_t layer,
                                     models::AtlasNull null) const override {
    if (!has(statistic, null)) {
      return bad_input("no statistic " + statistic);
    }
    models::AtlasValues values;
    values.samples = 40;
    const bool model = of_model(statistic);
    const bool needles = is_of_needles(statistic);
    const std::int64_t entries = needles                             ? kNeedleDepths * kNeedleLengths
                                 : model                             ? kLength - 1
                                 : statistic == "mean-map"           ? kSide * kSide
                                 : statistic.starts_with("profile.") ? 34
                                 : statistic.starts_with("sinks.")   ? 16
                                                                     : 1;
    values.shape = needles && model          ? std::vector<std::int64_t>{kNeedleDepths, kNeedleLengths}
                   : needles                 ? std::vector<std::int64_t>{kHeads, kNeedleDepths, kNeedleLengths}
                   : model                   ? std::vector<std::int64_t>{entries}
                   : statistic == "mean-map" ? std::vector<std::int64_t>{kHeads, kSide, kSide}
                   : entries > 1             ? std::vector<std::int64_t>{kHeads, entries}
                                             : std::vector<std::int64_t>{kHeads};
    for (std::int64_t head = 0; head < (model ? 1 : kHeads); ++head) {
      for (std::int64_t entry = 0; entry < entries; ++entry) {
        const double mean = mean_of(statistic, layer, head, entry, null == models::AtlasNull::kShuffled);
        values.mean.push_back(mean);
        values.low.push_back(mean - half_of(head));
        values.high.push_back(mean + half_of(head));
        values.deviation.push_back(0.1);
      }
    }
    return values;
  }
  // Six windows of a made-up text; a head reads the token `head` + 1 before the query most, and more in every next window.
  Result<models::HeadExamples> examples(std::int64_t layer, std::int64_t head) const override {
    if (layer < 0 || layer >= kLayers || head < 0 || head >= kHeads) {
      return Atlas::examples(layer, head);
    }
    static const std::vector<std::string> kWords{"the", " boat", " left",  " the", " harbour",
                                                 ",",   " and",  " slept", ".\n"};
    models::HeadExamples made;
    for (std::int64_t window = 5; window >= 0; --window) {
      models::Example example;
      example.window = window;
      example.activation = activation_of(layer, window);
      example.level = window < 3 ? 1 : 2;
      example.top = window >= 3;
      example.sampled = window == 0 || window == 4;
      for (std::int64_t t = 0; t < kLength; ++t) {
        example.ids.push_back((t + window) % std::ssize(kWords));
        example.tokens.push_back(kWords[static_cast<std::size_t>(example.ids.back())]);
      }
      const auto query = static_cast<std::int32_t>(20 + 5 * window);
      const auto key = query - static_cast<std::int32_t>(head) - 1;
      example.cells = {
          {query, key, static_cast<float>(example.activation)}, {query, query, 0.0625F}, {query + 1, query, 0.03125F}};
      made.windows.push_back(std::move(example));
    }
    made.bounds = {activation_of(layer, 3)};
    made.query_tokens = models::example_tokens(made.windows, true);
    made.key_tokens = models::example_tokens(made.windows, false);
    made.edges = {0, 0.25, 0.5, 0.75, 1};
    made.histogram = {4, 16, 12, 8};
    return made;
  }
  static double activation_of(std::int64_t layer, std::int64_t window) {
    return 0.25 + 0.125 * static_cast<double>(window) - 0.0625 * static_cast<double>(layer);
  }
  const std::vector<double>& axis(const std::string& name) const override {
    static const std::vector<double> kNone;
    const auto found = axes_.find(name);
    return found == axes_.end() ? kNone : found->second;
  }

 private:
  double share_;
  bool nulls_;
  models::AtlasInfo info_;
  std::map<std::string, std::vector<double>> axes_;
};

inline views::Column atlas_column(const std::string& name, std::optional<std::int64_t> step = {}, double share = 1,
                                  bool nulls = true) {
  return {name, nullptr,
          models::trace_of(std::make_shared<const FakeAtlas>(step, share, nulls), name + ".safetensors")};
}

}  // namespace locus::test

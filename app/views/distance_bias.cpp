// `distance-bias`: histograms of short-range minus long-range scores.
#include "models/analyses.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "app/views/controls.h"
#include "app/views/list.h"
#include "app/views/score_map.h"
#include "app/views/series.h"
#include "core/base/atomic_file.h"

namespace locus::analysis {

// What it weighs in the views' cache.
static std::size_t cached_bytes(const DistanceBias& bias) {
  return sizeof bias + views::cached_bytes(bias.differences);
}

}  // namespace locus::analysis

namespace locus::views {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLongestText = std::size_t{16} << 20;
constexpr std::size_t kMostTexts = 1000;

using Bias = analysis::DistanceBias;
using BiasPointer = std::shared_ptr<const Bias>;

// The histogram's bins, shared by all columns.
struct Bins {
  std::vector<double> edges;
  std::vector<std::vector<double>> counts;  // one list a column
};

class DistanceBias final : public View {
 public:
  const ViewInfo& info() const override { return info_; }
  Result<figure::Figure> figure(const ViewInput& input) const override;
  Result<Data> data(const ViewInput& input) const override;

 private:
  Result<std::vector<BiasPointer>> biases(const ViewInput& input) const;

  ViewInfo info_{
      .name = "distance-bias",
      .title = "Distance bias",
      .shows =
          "Δscore = s(λ) − s(Λ): the logit of a near pair of tokens minus that of a far one, over sampled pairs. "
          "Its mean μ, spread σ, μ/σ and the share above 0 tell how much a head prefers the near by itself.",
      .look_for =
          "A histogram right of 0 is a head that prefers near keys whatever they say: RoPE's bias. TAPA's stands at 0 "
          "and is wide. Counterfactual pairs score the same two vectors at both distances, so only the encoding is "
          "left. TAPA, Eq. (4)–(6): RoPE's mean score falls with λ; the paper's figure has μ ≈ 4.1, σ ≈ 0.85 for RoPE "
          "and μ ≈ 0.03, σ ≈ 3.3 for TAPA. The 95 % interval of μ draws whole texts anew (bootstrap): pairs of one "
          "text are not independent, so a single text has none.",
      .paper = "TAPA Fig. 1",
      .uses_layer = true,
      .uses_head = true,
      .needs_text = true,
      .controls = {choice("pairing", "Pairs",
                          "independent: the paper's; same-query: both keys of one query; counterfactual: the same "
                          "vectors scored at both distances",
                          {"independent", "same-query", "counterfactual"}),
                   whole("near-from", "λ from", "The smallest near distance", 0, 0, 1 << 20),
                   whole("near-to", "λ to", "The largest near distance", 100, 0, 1 << 20),
                   whole("far-from", "Λ from", "The smallest far distance", 10000, 1, 1 << 20),
                   whole("far-to", "Λ to", "The largest far distance", 10100, 1, 1 << 20),
                   choice("unit", "in", "Distances in tokens, or in percent of the trained length",
                          {"tokens", "percent"}),
                   whole("pairs", "Sampled pairs", "Over all texts together", 10000, 10, 1000000),
                   whole("skip-first", "Leave out first keys", "Keys at the start of every text: attention sinks", 0, 0,
                         64, "none"),
                   whole("seed", "Seed", "Of the sample", 1, 0, 1000000),
                   words("texts", "Folder of texts",
                         "Its .txt files are read instead of the input; two or more give "
                         "the mean a 95 % interval"),
                   whole("bins", "Bins", "Of the histogram", 60, 5, 500),
                   choice("export", "Export", "What Export data writes: the histogram, or every sampled difference",
                          {"histogram", "pairs"})},
  };
};

Result<std::int64_t> whole_of(const ViewInput& input, const View& view, const std::string& name) {
  for (const Control& control : view.info().controls) {
    if (control.name == name) {
      return input.options.integer(name, std::get<std::int64_t>(control.fallback));
    }
  }
  return internal("no control is called " + name);
}

// A bound in tokens.
std::int64_t tokens_of(std::int64_t bound, bool percent, const models::ModelInfo& model) {
  return percent ? bound * model.trained_length / 100 : bound;
}

Result<analysis::DistanceBiasOptions> options_of(const ViewInput& input, const Column& column, const View& view) {
  const models::ModelInfo& model = column.trace->model();
  LOCUS_TRY(const std::string unit, input.options.text("unit", "tokens"));
  LOCUS_TRY(const std::string pairing, input.options.text("pairing", "independent"));
  const bool percent = unit == "percent";
  if (percent && model.trained_length <= 0) {
    return unsupported("the trained length is not known: give the distances in tokens", column.name);
  }
  if (input.head == kMean) {
    return usage("distance bias is of one head: expected a head from 0, found the mean of all");
  }
  analysis::DistanceBiasOptions options;
  LOCUS_TRY(const std::int64_t near_from, whole_of(input, view, "near-from"));
  LOCUS_TRY(const std::int64_t near_to, whole_of(input, view, "near-to"));
  LOCUS_TRY(const std::int64_t far_from, whole_of(input, view, "far-from"));
  LOCUS_TRY(const std::int64_t far_to, whole_of(input, view, "far-to"));
  options.near = {tokens_of(near_from, percent, model), tokens_of(near_to, percent, model) + 1};
  options.far = {tokens_of(far_from, percent, model), tokens_of(far_to, percent, model) + 1};
  options.pairing = pairing == "same-query"       ? analysis::Pairing::kSameQuery
                    : pairing == "counterfactual" ? analysis::Pairing::kCounterfactual
                                                  : analysis::Pairing::kIndependent;
  options.head = input.head;
  LOCUS_TRY(options.pairs, whole_of(input, view, "pairs"));
  LOCUS_TRY(options.skip_keys, whole_of(input, view, "skip-first"));
  LOCUS_TRY(const std::int64_t seed, whole_of(input, view, "seed"));
  options.seed = static_cast<std::uint64_t>(seed);
  return options;
}

Result<std::vector<fs::path>> texts_in(const std::string& folder) {
  std::vector<fs::path> files;
  std::error_code code;
  for (fs::directory_iterator entry(folder, code), end; !code && entry != end; entry.increment(code)) {
    if (entry->path().extension() == ".txt") {
      files.push_back(entry->path());
    }
  }
  if (code || files.empty() || files.size() > kMostTexts) {
    return bad_input(
        code ? code.message()
             : "expected 1 to " + std::to_string(kMostTexts) + " .txt files, found " + std::to_string(files.size()),
        folder);
  }
  std::sort(files.begin(), files.end());
  return files;
}

Result<Traces> run_texts(const ViewInput& input, const Column& column, const std::string& folder,
                         const Progress& progress) {
  LOCUS_CHECK(needs_model(column, "A folder of texts"));
  LOCUS_TRY(const std::vector<fs::path> files, texts_in(folder));
  Traces traces;
  for (std::size_t n = 0; n < files.size(); ++n) {
    report(progress, static_cast<double>(n) / static_cast<double>(files.size()), files[n].filename().string());
    models::Input text;
    LOCUS_TRY(text.text, read_file(files[n], kLongestText));
    auto trace = column.model->run(text, {}, input.stop);
    if (!trace) {
      return trace.error().within(files[n].string());
    }
    traces.push_back(*std::move(trace));
  }
  return traces;
}

Result<std::vector<BiasPointer>> DistanceBias::biases(const ViewInput& input) const {
  LOCUS_CHECK(check(*this, input));
  LOCUS_TRY(const std::string folder, input.options.text("texts", ""));
  std::vector<BiasPointer> list;
  for (std::size_t n = 0; n < input.columns.size(); ++n) {
    const Column& column = input.columns[n];
    const Progress progress = column_progress(input, n);
    LOCUS_TRY(const analysis::DistanceBiasOptions options, options_of(input, column, *this));
    Traces texts{column.trace};
    if (!folder.empty()) {
      LOCUS_TRY(const auto read, analysed<Traces>(input, column, {column.trace}, "texts " + folder,
                                                  [&] { return run_texts(input, column, folder, progress); }));
      texts = *read;
    }
    std::string key = "distance bias " + std::to_string(input.layer);
    for (const std::int64_t part :
         {options.head, options.near.begin, options.near.end, options.far.begin, options.far.end, options.pairs,
          options.skip_keys, static_cast<std::int64_t>(options.seed), static_cast<std::int64_t>(options.pairing)}) {
      key += " " + std::to_string(part);
    }
    LOCUS_TRY(auto bias, analysed<Bias>(input, column, texts, key, [&] {
                return models::distance_bias(texts, input.layer, options, input.stop, progress);
              }));
    list.push_back(std::move(bias));
  }
  return list;
}

Bins bins_of(const std::vector<BiasPointer>& list, std::int64_t count) {
  Extent extent;
  for (const BiasPointer& bias : list) {
    for (const float value : bias->differences) {
      extent.add(static_cast<double>(value));
    }
  }
  const figure::Interval range = extent.padded(0);
  const double width = std::max(range.high - range.low, 1e-12) / static_cast<double>(count);
  Bins bins;
  for (std::int64_t n = 0; n <= count; ++n) {
    bins.edges.push_back(range.low + width * static_cast<double>(n));
  }
  for (const BiasPointer& bias : list) {
    std::vector<double>& counts = bins.counts.emplace_back(static_cast<std::size_t>(count), 0.0);
    for (const float value : bias->differences) {
      const auto bin = static_cast<std::int64_t>((static_cast<double>(value) - range.low) / width);
      counts[static_cast<std::size_t>(std::clamp<std::int64_t>(bin, 0, count - 1))] += 1;
    }
  }
  return bins;
}

// "μ 4.12 [4.05, 4.20], σ 0.853, μ/σ 4.83, P(>0) 1.00"
std::string statistics_line(const Bias& bias) {
  std::string line = "μ " + short_number(bias.mean);
  if (bias.interval) {
    line += " [" + short_number(bias.interval->first) + ", " + short_number(bias.interval->second) + "]";
  }
  line += ", σ " + short_number(bias.deviation);
  line += ", μ/σ " + short_number(bias.deviation > 0 ? bias.mean / bias.deviation : std::nan(""));
  return line + ", P(>0) " + short_number(bias.positive_share);
}

std::string range_text(const Range& range) {
  return std::to_string(range.begin) + "–" + std::to_string(range.end - 1);
}

Result<figure::Figure> DistanceBias::figure(const ViewInput& input) const {
  LOCUS_TRY(const auto list, biases(input));
  LOCUS_TRY(const std::int64_t count, whole_of(input, *this, "bins"));
  const Bins bins = bins_of(list, count);
  figure::Panel panel;
  panel.title = head_label(input.columns[0].trace->model(), input.layer, input.head);
  panel.x.label = "Δscore = s(λ) − s(Λ)";
  panel.x.view = {bins.edges.front(), bins.edges.back()};
  panel.y.label = "pairs";
  Extent heights;
  const bool alike = std::all_of(list.begin(), list.end(), [&](const BiasPointer& bias) {
    return bias->near == list[0]->near && bias->far == list[0]->far;
  });
  const auto ranges = [&](const Bias& bias) {
    return "λ " + range_text(bias.near) + ", Λ " + range_text(bias.far) +
           (bias.shortened ? " (the largest that fit)" : "");
  };
  for (std::size_t n = 0; n < list.size(); ++n) {
    for (const double height : bins.counts[n]) {
      heights.add(height);
    }
    panel.layers.emplace_back(
        figure::Bars{input.columns[n].name + ": " + statistics_line(*list[n]) + (alike ? "" : "; " + ranges(*list[n])),
                     bins.edges, bins.counts[n]});
  }
  panel.layers.emplace_back(figure::Marker{figure::Marker::Direction::kVertical, 0, "", 0, true});
  panel.y.view = heights.from_zero();
  const bool interval = std::any_of(list.begin(), list.end(), [](const auto& bias) { return bias->interval; });
  panel.note = (alike ? ranges(*list[0]) + "; " : "") + std::to_string(list[0]->differences.size()) + " pairs" +
               (interval ? "; [95 % over texts]" : "; one text: no interval");
  figure::Figure figure;
  figure.panels.push_back(std::move(panel));
  return figure;
}

Result<Data> DistanceBias::data(const ViewInput& input) const {
  LOCUS_TRY(const auto list, biases(input));
  LOCUS_TRY(const std::int64_t count, whole_of(input, *this, "bins"));
  LOCUS_TRY(const std::string what, input.options.text("export", "histogram"));
  std::vector<Series> series;
  if (what == "pairs") {
    for (std::size_t n = 0; n < list.size(); ++n) {
      series.push_back({input.columns[n].name, {list[n]->differences.begin(), list[n]->differences.end()}});
    }
    return table_of(series);
  }
  const Bins bins = bins_of(list, count);
  series.push_back({"bin_left", {bins.edges.begin(), bins.edges.end() - 1}});
  series.push_back({"bin_right", {bins.edges.begin() + 1, bins.edges.end()}});
  for (std::size_t n = 0; n < list.size(); ++n) {
    series.push_back({input.columns[n].name, bins.counts[n]});
  }
  return table_of(series);
}

}  // namespace

const View& distance_bias_view() {
  static const DistanceBias view;
  return view;
}

}  // namespace locus::views

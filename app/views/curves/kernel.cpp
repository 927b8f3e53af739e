// `kernel`: what a head prefers by distance from its weights alone, beside what it does in a text.
#include "models/api/kernel.h"

#include <algorithm>
#include <cmath>

#include "app/views/curves/atlas_profile.h"
#include "app/views/curves/distance_curves.h"
#include "app/views/curves/kernel_curves.h"
#include "app/views/curves/token_pairs.h"
#include "app/views/shared/measured/atlas_values.h"
#include "app/views/shared/measured/measured_view.h"
#include "app/views/shared/measured/pair_rows.h"
#include "app/views/shared/plots/trained_length.h"
#include "app/views/shared/score_maps/score_map.h"
#include "app/views/shared/view.h"
#include "core/base/controls.h"
#include "models/api/analyses.h"

namespace locus::views {

namespace {

constexpr std::int64_t kShortestText = 16;      // tokens, below which a text measures nothing
constexpr std::int64_t kMeasuredQueries = 512;  // that are read of a longer text
constexpr std::int64_t kListed = 20;            // pairs of tokens

// The measurement of a column: the kernel and, with a text, its profile; of an atlas the profile; or the pairs of
// tokens at one distance.
struct KernelKey {
  models::KernelRequest head;
  std::int64_t at = kNone;
  bool measured = false;

  friend bool operator==(const KernelKey&, const KernelKey&) = default;
};

struct KernelNumbers {
  models::HeadKernel kernel;
  analysis::DistanceProfile text;  // without entries where nothing was measured
  double sink = 0;                 // mean weight of the first token, where the text's profile leaves it out as a sink
  std::vector<models::TokenPair> pairs;
};
std::size_t cached_bytes(const KernelNumbers& numbers) {
  std::size_t bytes = sizeof numbers + views::cached_bytes(numbers.kernel.parts) + pair_bytes(numbers.kernel.pairs);
  bytes +=
      sizeof(double) * (3 * numbers.kernel.mean.size() + numbers.kernel.share.size() + 5 * numbers.text.mean.size());
  for (const models::TokenPair& pair : numbers.pairs) {
    bytes += sizeof pair + pair.query_label.size() + pair.key_label.size();
  }
  return bytes;
}

// The columns that have weights.
std::vector<std::size_t> kernels_of(const ViewInput& input) {
  std::vector<std::size_t> list;
  for (std::size_t n = 0; n < input.columns.size(); ++n) {
    if (models::atlas_of(*input.columns[n].trace) == nullptr) {
      list.push_back(n);
    }
  }
  return list;
}

class KernelView final : public MeasuredView<KernelKey, KernelNumbers> {
 public:
  const ViewInfo& info() const override { return info_; }
  Status fits(const Column& column) const override {
    return models::atlas_of(*column.trace) != nullptr ? Status() : needs_model(column, info_.title);
  }
  // A distance of the curves: the pairs of tokens there are listed.
  Selection pick(const ViewInput& input, const Hit& hit) const override;

 protected:
  Result<KernelKey> measure_key(const ViewInput& input, std::size_t column) const override {
    if (input.layer == kAll || input.head == kAll || input.head == kMean) {
      return usage("kernel: expected one layer and one head");
    }
    const HeadRef head = head_of_column(input, column);
    return KernelKey{
        {head.layer, head.head, option<std::int64_t>(input, "reach"), option<std::int64_t>(input, "sample")},
        kNone,
        option<bool>(input, "measured")};
  }
  Result<KernelNumbers> measure(const KernelKey& key, const MeasureContext& context) const override;
  Result<figure::Figure> draw(const ViewInput& input, const Numbers& numbers) const override;
  Result<Data> table(const ViewInput& input, const Numbers& numbers) const override;

 private:
  Result<Pointer> pairs_at(const ViewInput& input, std::size_t column, std::int64_t distance) const {
    LOCUS_TRY(KernelKey key, measure_key(input, column));
    key.at = distance;
    key.measured = false;
    return measured(input, column, key);
  }
  figure::Panel curves(const ViewInput& input, std::size_t column, const Numbers& numbers) const;

  ViewInfo info_ = described({
      .name = "kernel",
      .caption = "The distances that this head prefers before it has read any text, from its weights alone.",
      .shows =
          "The mean logit over all pairs of tokens in the vocabulary by the distance between query and key, computed "
          "from the embedding, the norm and the projections of the layer and its encoding, with a band of one standard "
          "deviation over the pairs. It is exact in layer 0 and an approximation in deeper layers, whose input is then "
          "the embedding alone. Dashed: the mean logit in the text, or of an atlas beside it, with R². Below: the "
          "contribution of each rotary "
          "pair. A click on a distance lists the pairs of tokens with the highest logits there instead.",
      .uses_layer = true,
      .uses_head = true,
      .of_atlases = true,
      .controls = {whole("reach", "Longest distance", "The largest distance, in tokens", 4096, 16, 65536),
                   toggle("log-distance", "Logarithmic Δ", "A logarithmic distance axis"),
                   whole("at", "Pairs of tokens at",
                         "The distance at which the 20 pairs of tokens with the highest logits are listed; -1: none",
                         -1, -1, 65536, "none"),
                   whole(
                       "sample", "Tokens read",
                       "How many tokens, at equal steps of their ids, are read of a vocabulary of more than four times "
                       "as many; 0: every token",
                       16384, 0, 1 << 20, "all"),
                   toggle("measured", "Measured", "The mean logit by distance in the text, with R²", true),
                   toggle("spread", "Spread", "The band of one standard deviation over the pairs of tokens", true),
                   choice("data", "Data",
                          "What is exported: the curves, the contributions of rotary pairs, or the pairs of tokens",
                          {"curves", "parts", "tokens"}),
                   band_control()},
  });
};

Result<KernelNumbers> KernelView::measure(const KernelKey& key, const MeasureContext& context) const {
  const models::Trace& trace = *context.column.trace;
  KernelNumbers made;
  if (const models::Atlas* const atlas = models::atlas_of(trace)) {
    LOCUS_TRY(made.text, atlas_profile(*atlas, {key.head.layer, key.head.head}, models::Quantity::kLogit));
    return made;
  }
  const models::Model& model = *context.column.model;
  if (key.at != kNone) {
    LOCUS_TRY(made.pairs,
              models::strongest_token_pairs(model, trace, key.head, key.at, kListed, context.stop, context.progress));
    return made;
  }
  LOCUS_TRY(made.kernel, models::head_kernel(model, trace, key.head, context.stop, context.progress));
  if (key.measured && trace.length() >= kShortestText) {
    analysis::DistanceProfileOptions options;
    options.quantity = models::Quantity::kLogit;
    options.head = key.head.head;
    options.bins = trace.length();  // every distance for itself
    options.cell_limit = kMeasuredQueries * trace.length();
    LOCUS_TRY(made.sink, sink_weight(trace, {key.head.layer, key.head.head}, context.stop));
    options.skip_keys = made.sink > 0 ? 1 : 0;
    LOCUS_TRY(made.text, models::distance_profile(trace, key.head.layer, options, context.stop, context.progress));
  }
  return made;
}

Selection KernelView::pick(const ViewInput& input, const Hit& hit) const {
  const std::vector<std::size_t> shown = kernels_of(input);
  const std::size_t columns = shown.size();
  Selection selection;
  if (columns == 0) {
    return selection;
  }
  const std::size_t column = shown[hit.panel % columns];
  const auto numbers = kept(input, column);
  const auto distance = static_cast<std::int64_t>(std::llround(hit.x));
  if (!numbers || distance < 0 || distance > numbers->kernel.reach) {
    return selection;
  }
  if (hit.panel < columns) {
    selection.option = {"at", distance};
    selection.column = static_cast<std::int64_t>(column);
    return selection;
  }
  return hit.panel < 2 * columns && option<std::int64_t>(input, "at") < 0
             ? pick_pair(hit.y, numbers->kernel.parts.rows, column)
             : selection;
}

// "exact", or what is not.
std::string how_exact(const models::HeadKernel& kernel, const models::Trace& trace) {
  std::string text = kernel.exact ? "exact: layer 0 reads the embeddings"
                                  : "approximation: the embeddings alone, without what lower layers add";
  text += "; " + std::to_string(kernel.tokens);
  if (kernel.tokens < kernel.vocabulary) {
    text += " of " + std::to_string(kernel.vocabulary);
  }
  text += " tokens";
  if (!kernel.error.empty()) {
    text += ", standard error up to " + short_number(*std::max_element(kernel.error.begin(), kernel.error.end()));
  }
  if (kernel.shortened) {
    text += "; positions end at " + std::to_string(kernel.reach);
  }
  if (kernel.windowed) {
    text += "; " + window_note(kernel.reach);
  }
  return trace.edits().empty() ? text : text + "; without the edits";
}

// The profile without distances of too few queries.
analysis::DistanceProfile without_rare(analysis::DistanceProfile measured) {
  for (std::size_t n = 0; n < measured.mean.size(); ++n) {
    measured.mean[n] = is_rare(static_cast<double>(measured.cells[n]), measured.rows_used) ? kNaN : measured.mean[n];
  }
  return measured;
}

figure::Panel KernelView::curves(const ViewInput& input, std::size_t column, const Numbers& numbers) const {
  const Column& of = input.columns[column];
  const models::HeadKernel& kernel = numbers[column]->kernel;
  const HeadRef head = head_of_column(input, column);
  const bool logarithmic = option<bool>(input, "log-distance");
  figure::Panel panel;
  name_after(of, panel, " · " + head_label(of.trace->model(), head.layer, head.head));
  Extent extent;
  panel.layers.emplace_back(kernel_curve(
      kernel.mean, option<bool>(input, "spread") ? kernel.spread : std::vector<double>(), logarithmic, extent));
  panel.note = how_exact(kernel, *of.trace);
  for (std::size_t n = 0; n < numbers.size(); ++n) {
    const bool atlas = models::atlas_of(*input.columns[n].trace) != nullptr;
    const analysis::DistanceProfile measured = atlas ? numbers[n]->text : without_rare(numbers[n]->text);
    if ((n != column && !atlas) || measured.mean.empty()) {
      continue;
    }
    const Explained by = kernel_explains(kernel.mean, measured);
    const std::string less = " less " + short_number(by.shift);
    panel.layers.emplace_back(
        measured_curve((atlas ? input.columns[n].name : "in the text") + less, by, measured, logarithmic, extent));
    panel.note += "; dashed" + less + ", which no soft-max sees";
    if (!atlas && numbers[n]->sink > 0) {
      panel.note += ", " + sink_note(numbers[n]->sink);
    }
    if (!atlas && std::isnan(measured.mean.back())) {
      panel.note += ", " + rare_note();
    }
  }
  panel.x.label = of.trace->model().causal ? "distance Δ (tokens)" : "distance |Δ| (tokens)";
  panel.x.view = {logarithmic ? 1.0 : 0.0, static_cast<double>(kernel.reach + 1)};
  panel.x.logarithmic = logarithmic;
  panel.y.label = "mean logit";
  panel.y.view = extent.padded();
  if (const auto at = option<std::int64_t>(input, "at"); at >= (logarithmic ? 1 : 0) && at <= kernel.reach) {
    panel.layers.emplace_back(vertical_line(static_cast<double>(at)));
  }
  mark_trained_distance({&of, 1}, panel);
  return panel;
}

Result<figure::Figure> KernelView::draw(const ViewInput& input, const Numbers& numbers) const {
  LOCUS_TRY(const std::optional<Range> band, band_of(input));
  const std::vector<std::size_t> shown = kernels_of(input);
  if (shown.empty()) {
    return usage("kernel: expected a checkpoint, whose weights are read, beside its atlas");
  }
  figure::Figure figure = figure_across(shown.size());
  Fields fields;
  for (const std::size_t n : shown) {
    const models::HeadKernel& kernel = numbers[n]->kernel;
    figure.panels.push_back(curves(input, n, numbers));
    if (kernel.parts.rows > 0) {
      fields.push_back(parts_on_screen(kernel.parts, std::vector<double>(kernel.mean.size(), 1.0)));
    }
  }
  const auto at = option<std::int64_t>(input, "at");  // whose list takes the place of the pairs
  std::size_t place = 0;
  for (std::size_t n = 0; n < shown.size() && !fields.empty() && at < 0; ++n) {
    const models::HeadKernel& kernel = numbers[shown[n]]->kernel;
    figure::Panel panel;
    if (kernel.parts.rows == 0) {
      panel.show_axes = false;
      panel.title = "no rotary pairs";
    } else {
      panel = pair_map(kernel.pairs, fields[place], scale_of(input, Sign::kZeroCentred, fields, place));
      ++place;
      panel.x.label = "distance Δ (tokens)";
      panel.x.view = {0, static_cast<double>(kernel.reach + 1)};
      panel.color_bar_label = "mean part of the logit";
      frame_band(band, kernel.parts.rows, false, panel);
    }
    figure.panels.push_back(std::move(panel));
  }
  for (std::size_t n = 0; n < shown.size() && at >= 0; ++n) {
    LOCUS_TRY(const Pointer listed, pairs_at(input, shown[n], at));
    figure.panels.push_back(token_pairs_panel(input, listed->pairs, at));
  }
  return figure;
}

Result<Data> KernelView::table(const ViewInput& input, const Numbers& numbers) const {
  const auto what = option<std::string>(input, "data");
  const std::vector<std::size_t> shown = kernels_of(input);
  if (shown.empty()) {
    return usage("kernel: expected a checkpoint, whose weights are read, beside its atlas");
  }
  if (what == "tokens") {
    LOCUS_TRY(const Pointer listed,
              pairs_at(input, shown.front(), std::max<std::int64_t>(option<std::int64_t>(input, "at"), 0)));
    return token_pairs_table(listed->pairs);
  }
  if (what == "parts") {
    const Field& parts = numbers[shown.front()]->kernel.parts;
    if (parts.rows == 0) {
      return unsupported("kernel: the encoding of this layer turns no rotary pairs", input.columns[shown.front()].name);
    }
    return Data{{parts.rows, parts.columns}, parts.values, {}};
  }
  std::vector<Series> series;
  for (std::size_t n = 0; n < numbers.size(); ++n) {
    const std::string& name = input.columns[n].name;
    const KernelNumbers& own = *numbers[n];
    if (!own.kernel.mean.empty()) {
      series.push_back({name + " kernel", own.kernel.mean});
    }
    if (!own.kernel.spread.empty()) {
      series.push_back({name + " spread", own.kernel.spread});
    }
    if (!own.kernel.error.empty()) {
      series.push_back({name + " error", own.kernel.error});
    }
    if (!own.text.mean.empty()) {
      if (models::atlas_of(*input.columns[n].trace) != nullptr) {  // whose rows are bins
        series.push_back({name + " from", {own.text.edges.begin(), own.text.edges.end() - 1}});
      }
      series.push_back({name + " measured", own.text.mean});
      series.push_back({name + " count", {own.text.cells.begin(), own.text.cells.end()}});
    }
  }
  return table_of(std::move(series), "distance");
}

}  // namespace

const View& kernel_view() {
  return made_once<KernelView>();
}

}  // namespace locus::views

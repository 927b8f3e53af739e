// `addressing`: whether heads look at places or at words; of one head by wavelength, and of one query token by token.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include "app/views/heads/atlas_points.h"
#include "app/views/shared/alignment.h"
#include "app/views/shared/measured/atlas_values.h"
#include "app/views/shared/measured/measured_view.h"
#include "app/views/shared/measured/pair_rows.h"
#include "app/views/shared/plots/text_strip.h"
#include "app/views/shared/score_maps/score_map.h"
#include "app/views/shared/view.h"
#include "core/base/controls.h"
#include "core/base/listed.h"
#include "core/base/numbers.h"
#include "models/api/addressing.h"

namespace locus::views {

namespace {

constexpr double kFlatSpread = 0.5;  // standard deviation of logits below which a head is flat
constexpr double kMaxSwaps = 1 << 21;
constexpr std::int64_t kMaxSwapQueries = 24;
constexpr std::size_t kNamedHeads = 3;
constexpr double kNamedShare = 0.9;  // of place or word, that a sentence counts

struct AddressingKey {
  std::string of;
  std::string weights;
  std::int64_t queries = 0;
  double temperature = 0;  // 0: shares, not the scores of swaps
  HeadRef head;            // of one head, and of one query
  std::int64_t query = 0;

  friend bool operator==(const AddressingKey&, const AddressingKey&) = default;
};

// One of all heads.
struct AddressedHead {
  HeadInterval place, word, both;
  double spread = 0;

  bool known() const { return !std::isnan(place.mean) && !std::isnan(word.mean); }
  bool flat() const { return spread < kFlatSpread; }  // of an atlas without a spread: no
};

struct Addressed {
  std::vector<AddressedHead> heads;  // (L·H), layer by layer; NaN where a layer cannot be split
  std::vector<analysis::AddressingWay> ways;
  std::int64_t queries = 0;
  std::optional<analysis::AddressingSpectrum> spectrum;
  std::optional<analysis::AddressingRow> row;
};
std::size_t cached_bytes(const Addressed& made) {
  const std::size_t numbers =
      (made.spectrum ? 3 * made.spectrum->place.size() : 0) + (made.row ? 5 * made.row->place.size() : 0);
  return sizeof made + made.heads.size() * sizeof(AddressedHead) + numbers * sizeof(double) +
         (made.spectrum ? pair_bytes(made.spectrum->pairs) : 0);
}

class AddressingView final : public MeasuredView<AddressingKey, Addressed> {
 public:
  const ViewInfo& info() const override { return info_; }
  Selection pick(const ViewInput& input, const Hit& hit) const override;
  Selection drag(const ViewInput& input, const Hit& from, const Hit& to) const override {
    return of_pairs(input) ? pick_band(pick(input, from), pick(input, to)) : Selection{};
  }
  std::vector<Place> places(const ViewInput& input, const Selection& selection) const override;
  std::vector<std::string> said_of(const ViewInput& input, const Hit& hit) const override;

 protected:
  Result<AddressingKey> measure_key(const ViewInput& input, std::size_t column) const override;
  Result<Addressed> measure(const AddressingKey& key, const MeasureContext& context) const override;
  Result<figure::Figure> draw(const ViewInput& input, const Numbers& numbers) const override;
  Result<Data> table(const ViewInput& input, const Numbers& numbers) const override;

 private:
  bool of_pairs(const ViewInput& input) const { return option<std::string>(input, "of") == "pairs"; }
  bool of_query(const ViewInput& input) const { return option<std::string>(input, "of") == "query"; }
  bool of_heads(const ViewInput& input) const { return !of_pairs(input) && !of_query(input); }
  bool of_swaps(const ViewInput& input) const { return option<std::string>(input, "score") == "swaps"; }
  Result<figure::Figure> draw_heads(const ViewInput& input, const Numbers& numbers) const;
  Result<figure::Figure> draw_pairs(const ViewInput& input, const Numbers& numbers) const;
  Result<figure::Figure> draw_query(const ViewInput& input, const Numbers& numbers) const;
  std::int64_t head_at(const ViewInput& input, const Hit& hit) const;

  ViewInfo info_ = described({
      .name = "addressing",
      .caption = "Whether a head looks at the place of a token, at the word there, or at both at once.",
      .shows =
          "Every logit is split into what the place of the key gives, what its content gives whatever the place, and "
          "what only both together give; the three shares of the variance add up to 1. Heads are points by their "
          "shares of place and word, one is hollow where its logits hardly vary. Of one head, the shares by rotary "
          "pair; of one query, what place and word say of each token.",
      .uses_layer = true,
      .uses_head = true,
      .uses_query = true,
      .needs_text = true,
      .of_atlases = true,
      .controls =
          {choice("of", "Of", "All heads as points; one head by rotary pair; or one query, token by token",
                  {"heads", "pairs", "query"}),
           choice("weights", "Cells weigh",
                  "What the cells of a row weigh: half as many as there are and half as the row attends, all alike, or "
                  "as the row attends",
                  {"half", "cells", "attention"}),
           choice("score", "Score",
                  "Of heads: shares of the variance; or swaps, the positional and symbolic scores of "
                  "arXiv:2511.11579",
                  {"shares", "swaps"}),
           number("temperature", "Temperature", "Of the scores of swaps: how much the swaps of large weights count",
                  1e-4, 1e-6, 10),
           toggle("intervals", "Intervals", "The 95 % intervals of the shares, as crosses", true),
           whole("queries", "Queries", "The size of the sample of queries; 0: all", 128, 0, 4096, "all"),
           words("heads", "Heads",
                 "The heads that are named in every column, by layer and head (1.2) or by layer (1); none: the "
                 "largest of place",
                 "the largest of place; 1.2 3"),
           band_control()},
  });
};

analysis::CellWeights weights_named(const std::string& name) {
  return name == "cells"       ? analysis::CellWeights::kCells
         : name == "attention" ? analysis::CellWeights::kAttention
                               : analysis::CellWeights::kHalf;
}

std::string way_text(analysis::AddressingWay way) {
  switch (way) {
    case analysis::AddressingWay::kPairs:
      return "exact, from the rotary pairs";
    case analysis::AddressingWay::kSum:
      return "exact, since places add to the content";
    case analysis::AddressingWay::kTable:
      return "exact, every content at every place";
    case analysis::AddressingWay::kPermutations:
      return "estimated from 64 permutations of the contents";
  }
  return {};
}

Result<AddressingKey> AddressingView::measure_key(const ViewInput& input, std::size_t column) const {
  LOCUS_CHECK(band_of(input));
  AddressingKey key;
  key.of = option<std::string>(input, "of");
  key.weights = option<std::string>(input, "weights");
  if (of_heads(input)) {
    key.queries = option<std::int64_t>(input, "queries");
    key.temperature = of_swaps(input) ? option<double>(input, "temperature") : 0;
    return key;
  }
  if (of_swaps(input)) {
    return usage("addressing: the scores of swaps are those of heads: expected of=heads, found of=" + key.of);
  }
  if (input.layer == kAll || input.head == kAll || input.head == kMean) {
    return usage("addressing: expected one layer and one head with of=" + key.of);
  }
  key.head = head_of_column(input, column);
  if (of_pairs(input)) {
    key.queries = option<std::int64_t>(input, "queries");
    return key;
  }
  const Column& own = input.columns[column];
  key.query = input.query.chosen() ? query_of(input, own) : own.trace->length() - 1;
  if (key.query == kNone) {
    return usage("addressing: " + own.name + " has tokens 0 to " + std::to_string(own.trace->length() - 1) +
                 ", none of them for query " + std::to_string(input.query.index));
  }
  return key;
}

AddressedHead without_numbers() {
  const HeadInterval none{kNaN, kNaN, kNaN, kNaN};
  return {none, none, none, kNaN};
}

Result<Addressed> heads_of_atlas(const models::Atlas& atlas) {
  Addressed made;
  LOCUS_TRY(const auto place, head_intervals(atlas, "place"));
  LOCUS_TRY(const auto word, head_intervals(atlas, "word"));
  LOCUS_TRY(const auto both, head_intervals(atlas, "both"));
  for (std::size_t n = 0; n < place.size(); ++n) {
    made.heads.push_back({place[n], word[n], both[n], kNaN});
  }
  return made;
}

Result<Addressed> heads_of_run(const AddressingKey& key, const analysis::AddressingOptions& options,
                               const MeasureContext& context) {
  LOCUS_TRY(const auto layers, models::addressing(*context.column.trace, options, context.stop, context.progress));
  Addressed made;
  const auto heads = static_cast<std::size_t>(context.column.trace->model().heads);
  for (const analysis::LayerAddressing& layer : layers) {
    for (std::size_t head = 0; head < heads; ++head) {
      if (head >= layer.heads.size()) {
        made.heads.push_back(without_numbers());
        continue;
      }
      const analysis::Addressing& own = layer.heads[head];
      const auto interval = [](double mean, double half) { return HeadInterval{mean, mean - half, mean + half, kNaN}; };
      made.heads.push_back({interval(own.place, own.place_half), interval(own.word, own.word_half),
                            interval(own.both, own.both_half), own.spread});
    }
    if (!layer.heads.empty()) {
      made.queries = layer.queries;
      if (std::ranges::find(made.ways, layer.way) == made.ways.end()) {
        made.ways.push_back(layer.way);
      }
    }
  }
  if (!(key.temperature > 0)) {
    return made;
  }
  const auto length = static_cast<double>(context.column.trace->length());
  analysis::AddressingOptions few = options;
  few.queries = std::clamp<std::int64_t>(static_cast<std::int64_t>(kMaxSwaps / (length * length)), 4, kMaxSwapQueries);
  LOCUS_TRY(const auto swaps,
            models::swap_scores(*context.column.trace, key.temperature, few, context.stop, context.progress));
  made.queries = few.queries;
  for (std::size_t n = 0; n < made.heads.size(); ++n) {
    const auto& layer = swaps[n / heads];
    const double place = layer.empty() ? kNaN : layer[n % heads].positional;
    const double word = layer.empty() ? kNaN : layer[n % heads].symbolic;
    made.heads[n].place = {place, place, place, kNaN};
    made.heads[n].word = {word, word, word, kNaN};
    made.heads[n].both = {kNaN, kNaN, kNaN, kNaN};
  }
  return made;
}

Result<Addressed> AddressingView::measure(const AddressingKey& key, const MeasureContext& context) const {
  const models::Trace& trace = *context.column.trace;
  const models::Atlas* const atlas = models::atlas_of(trace);
  if (atlas != nullptr && (key.of != "heads" || key.temperature > 0)) {
    return unsupported("an atlas has shares of heads alone: of=heads, score=shares");
  }
  if (atlas != nullptr) {
    return heads_of_atlas(*atlas);
  }
  analysis::AddressingOptions options;
  options.weights = weights_named(key.weights);
  options.queries = key.queries;
  Addressed made;
  if (key.of == "heads") {
    return heads_of_run(key, options, context);
  }
  if (key.of == "pairs") {
    LOCUS_TRY(made.spectrum, models::addressing_spectrum(trace, key.head.layer, key.head.head, options, context.stop));
    return made;
  }
  LOCUS_TRY(made.row, models::addressing_row(trace, key.head.layer, key.head.head, key.query, options, context.stop));
  return made;
}

// ---- in words

// "0.98 place, 0.01 word, 0.01 both".
std::string shares_text(double place, double word, double both) {
  return short_number(place) + " place, " + short_number(word) + " word, " + short_number(both) + " both";
}

// "looks at places", "looks at words", "looks at both at once".
std::string looks_at(double place, double word, double both) {
  return place >= std::max(word, both) ? "looks at places" : word >= both ? "looks at words" : "looks at both at once";
}

// The heads with numbers, those of the largest `share` first; flat ones come last.
std::vector<std::size_t> by_share(const std::vector<AddressedHead>& heads, HeadInterval AddressedHead::*share) {
  std::vector<std::size_t> order;
  for (std::size_t n = 0; n < heads.size(); ++n) {
    if (heads[n].known()) {
      order.push_back(n);
    }
  }
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    return heads[a].flat() != heads[b].flat() ? heads[b].flat() : (heads[a].*share).mean > (heads[b].*share).mean;
  });
  return order;
}

// "most place: head 2.1, 0.95 [0.93, 0.97]; most word: head 3.0, 1.0; means of 16 heads 0.3 place, 0.6 word, 0.1 both".
std::string heads_line(const Addressed& made, std::int64_t count, bool swaps) {
  std::string line;
  for (const auto& [share, name] : {std::pair(&AddressedHead::place, swaps ? "positional" : "place"),
                                    std::pair(&AddressedHead::word, swaps ? "symbolic" : "word")}) {
    const std::vector<std::size_t> order = by_share(made.heads, share);
    if (order.empty()) {
      return {};
    }
    const HeadInterval& most = made.heads[order.front()].*share;
    line += "most " + std::string(name) + ": head " + head_name_at(order.front(), count) + ", " +
            (swaps ? short_number(most.mean) : with_interval(most.mean, most.low, most.high)) + "; ";
  }
  double place = 0;
  double word = 0;
  double both = 0;
  const std::vector<std::size_t> all = by_share(made.heads, &AddressedHead::place);
  for (const std::size_t n : all) {
    place += made.heads[n].place.mean / static_cast<double>(all.size());
    word += made.heads[n].word.mean / static_cast<double>(all.size());
    both += made.heads[n].both.mean / static_cast<double>(all.size());
  }
  return line + "means of " + std::to_string(all.size()) + " heads " +
         (swaps ? short_number(place) + " positional, " + short_number(word) + " symbolic"
                : shares_text(place, word, both));
}

// The wavelengths that most of the larger of both comes from: "90 % of place from wavelengths up to 40 tokens", the
// fastest first, "90 % of word from wavelengths of 8000 tokens and more", the slowest first. Empty where there is none of
// it, or no wave.
std::string waves_line(const analysis::AddressingSpectrum& spectrum) {
  const bool words = spectrum.head.word > spectrum.head.place;
  const std::vector<double>& parts = words ? spectrum.word : spectrum.place;
  const double share = words ? spectrum.head.word : spectrum.head.place;
  double sum = 0;
  std::vector<std::size_t> order;
  for (std::size_t row = 0; row < spectrum.pairs.rows.size(); ++row) {
    if (std::isfinite(spectrum.pairs.rows[row].wavelength)) {
      order.push_back(row);
    } else if (words) {  // what never turns is slower than all waves
      sum += parts[row];
    }
  }
  std::ranges::stable_sort(order, {}, [&](std::size_t row) { return spectrum.pairs.rows[row].wavelength; });
  if (words) {
    std::ranges::reverse(order);
  }
  if (!(share > 0) || sum >= kNamedShare * share) {
    return {};
  }
  for (const std::size_t row : order) {
    sum += parts[row];
    if (sum >= kNamedShare * share) {
      const std::string wave = short_number(spectrum.pairs.rows[row].wavelength) + " " + units(spectrum.pairs);
      return std::to_string(static_cast<int>(100 * kNamedShare)) + " % of " +
             (words ? "word from wavelengths of " + wave + " and more" : "place from wavelengths up to " + wave);
    }
  }
  return {};
}

std::string head_line(const HeadRef& head, const std::string& shares, const std::string& what) {
  return "head " + head_name(head.layer, head.head) + " " + what + ": " + shares;
}

// ---- heads

struct HeadsLook {
  bool swaps = false;
  bool intervals = true;
  std::vector<std::size_t> named;
  figure::Interval spreads;  // over all columns
};

figure::Panel heads_panel(const Addressed& made, std::int64_t layers, const HeadsLook& look) {
  constexpr std::size_t kMany = 100;  // heads, of which each is smaller
  constexpr double kSmallest = 4;
  const double largest = made.heads.size() > kMany ? 11 : 18;
  const auto alike = static_cast<float>(largest / 2);
  const bool swaps = look.swaps;
  figure::Points points;
  const auto add = [&](HeadInterval AddressedHead::*share, std::vector<double>& at, std::vector<double>& low,
                       std::vector<double>& high) {
    for (const AddressedHead& head : made.heads) {
      at.push_back((head.*share).mean);
      if (!swaps && look.intervals) {
        low.push_back((head.*share).low);
        high.push_back((head.*share).high);
      }
    }
  };
  add(&AddressedHead::place, points.x, points.x_low, points.x_high);
  add(&AddressedHead::word, points.y, points.y_low, points.y_high);
  points.scale.colormap = "viridis";
  points.scale.whole = true;
  points.scale.high = static_cast<float>(std::max<std::int64_t>(layers - 1, 1));
  points.names.resize(made.heads.size());
  const auto heads = static_cast<std::int64_t>(made.heads.size()) / std::max<std::int64_t>(layers, 1);
  for (std::size_t n = 0; n < made.heads.size(); ++n) {
    const AddressedHead& head = made.heads[n];
    const std::int64_t layer = static_cast<std::int64_t>(n) / heads;
    points.values.push_back(static_cast<float>(layer));
    const bool plain = swaps || std::isnan(head.spread);
    points.hollow.push_back(!swaps && head.flat() ? figure::Points::kRing : figure::Points::kDisc);
    // By the root, so that the few largest spreads leave the others apart.
    const double share = look.spreads.high > 0 ? std::sqrt(std::min(head.spread / look.spreads.high, 1.0)) : 0;
    points.sizes_px.push_back(plain ? alike : static_cast<float>(kSmallest + (largest - kSmallest) * share));
  }
  for (const std::size_t n : look.named) {
    points.names[n] = head_name_at(n, heads);
  }
  figure::Panel panel;
  panel.follows_camera = false;
  panel.equal_aspect = true;
  panel.x.label = swaps ? "positional score" : "share of place";
  panel.y.label = swaps ? "symbolic score" : "share of word";
  panel.x.view = {-0.03, 1.03};
  panel.y.view = {-0.03, 1.03};
  if (!swaps) {  // beyond it no head is, but for the error of an estimate
    figure::Curve edge = curve_through("", {0, 1}, {1, 0});
    edge.dashed = true;
    edge.color = 0x808080FF;
    panel.layers.emplace_back(std::move(edge));
  }
  panel.layers.emplace_back(std::move(points));
  panel.color_bar_label = "layer";
  return panel;
}

std::string heads_note(const Column& column, const Addressed& made, bool swaps, const std::string& weights) {
  if (const models::Atlas* const atlas = models::atlas_of(*column.trace)) {
    return windows_text(atlas->info()) + ", 95 % intervals of the means";
  }
  if (swaps) {
    return std::to_string(made.queries) + " queries or all, all swaps of two keys before each";
  }
  const auto flat = std::ranges::count_if(made.heads, [](const auto& head) { return head.known() && head.flat(); });
  return std::to_string(made.queries) + " queries, weights " + weights + "; " + listed(made.ways, way_text, " or ") +
         "; size: spread of the logits" + (flat > 0 ? "; hollow: spread below " + short_number(kFlatSpread) : "");
}

Result<figure::Figure> AddressingView::draw_heads(const ViewInput& input, const Numbers& numbers) const {
  const bool swaps = of_swaps(input);
  std::vector<HeadGrid> grids;
  Extent spreads;
  for (std::size_t n = 0; n < numbers.size(); ++n) {
    const models::ModelInfo& model = input.columns[n].trace->model();
    grids.push_back({model.layers, model.heads});
    for (const AddressedHead& head : numbers[n]->heads) {
      spreads.add(head.spread);
    }
  }
  LOCUS_TRY(auto chosen, heads_named_in(option<std::string>(input, "heads"), grids));
  const bool any = std::ranges::any_of(chosen, [](const auto& list) { return !list.empty(); });
  figure::Figure figure = figure_across(numbers.size());
  for (std::size_t n = 0; n < numbers.size(); ++n) {
    if (!any) {
      chosen[n] = by_share(numbers[n]->heads, &AddressedHead::place);
      chosen[n].resize(std::min(chosen[n].size(), kNamedHeads));
    }
    figure::Panel panel = heads_panel(*numbers[n], grids[n].layers,
                                      {swaps, option<bool>(input, "intervals"), chosen[n], spreads.from_zero(0)});
    name_after(input.columns[n], panel);
    panel.note = heads_note(input.columns[n], *numbers[n], swaps, option<std::string>(input, "weights"));
    figure.panels.push_back(std::move(panel));
  }
  figure.statement =
      about_columns(input, [&](std::size_t n) { return heads_line(*numbers[n], grids[n].heads, swaps); });
  return figure;
}

// ---- pairs

Result<figure::Figure> AddressingView::draw_pairs(const ViewInput& input, const Numbers& numbers) const {
  LOCUS_TRY(const std::optional<Range> band, band_of(input));
  figure::Figure figure = figure_across(numbers.size());
  Extent extent;
  extent.add(0);
  for (const Pointer& made : numbers) {
    extent.add(made->spectrum->place);
    extent.add(made->spectrum->word);
    extent.add(made->spectrum->both);
  }
  for (std::size_t n = 0; n < numbers.size(); ++n) {
    const analysis::AddressingSpectrum& spectrum = *numbers[n]->spectrum;
    const HeadRef head = head_of_column(input, n);
    const auto rows = std::ssize(spectrum.place);
    figure::Panel panel;
    panel.follows_camera = false;
    panel.x = cells_across(pair_label(spectrum.pairs), rows, pair_names(spectrum.pairs));
    panel.y.label = "share of the variance";
    panel.y.view = extent.padded();
    std::vector<double> at = counted(static_cast<std::size_t>(rows));
    std::ranges::for_each(at, [](double& x) { x += 0.5; });
    for (const auto& [name, values] :
         {std::pair("place", &spectrum.place), std::pair("word", &spectrum.word), std::pair("both", &spectrum.both)}) {
      figure::Curve curve = curve_through(name, at, *values);
      curve.dashed = values == &spectrum.both;
      curve.hollow.assign(values->size(), 0);
      panel.layers.emplace_back(std::move(curve));
    }
    panel.layers.emplace_back(figure::Marker{figure::Marker::Direction::kHorizontal, 0, "", 0, false});
    if (const auto longer = crossing(spectrum.pairs, spectrum.pairs.span)) {
      panel.layers.emplace_back(vertical_line(*longer, spanned(spectrum.pairs)));
    }
    frame_band(band, rows, true, panel);
    name_after(input.columns[n], panel, " · " + head_label(input.columns[n].trace->model(), head.layer, head.head));
    panel.note = std::to_string(spectrum.queries) + " queries; " +
                 shares_text(spectrum.head.place, spectrum.head.word, spectrum.head.both);
    figure.panels.push_back(std::move(panel));
  }
  figure.statement = about_columns(input, [&](std::size_t n) {
    const analysis::AddressingSpectrum& own = *numbers[n]->spectrum;
    const std::string waves = waves_line(own);
    return head_line(head_of_column(input, n), shares_text(own.head.place, own.head.word, own.head.both),
                     looks_at(own.head.place, own.head.word, own.head.both)) +
           (waves.empty() ? "" : "; " + waves);
  });
  return figure;
}

// ---- one query

// A number for each token, NaN for those that the query does not see.
std::vector<float> over_tokens(const analysis::AddressingRow& row, const std::vector<double>& values,
                               std::int64_t length) {
  std::vector<float> all(static_cast<std::size_t>(length), std::numeric_limits<float>::quiet_NaN());
  for (std::size_t n = 0; n < row.keys.size(); ++n) {
    all[static_cast<std::size_t>(row.keys[n])] = static_cast<float>(values[n]);
  }
  return all;
}

// "“Alice” (12) +3.1": the token of the largest value.
std::string largest_text(const models::Trace& trace, const analysis::AddressingRow& row,
                         const std::vector<double>& values) {
  const auto most = static_cast<std::size_t>(std::ranges::max_element(values) - values.begin());
  const std::int64_t key = row.keys[most];
  return "\"" + trace.tokens()[static_cast<std::size_t>(key)].label + "\" (" + std::to_string(key) + ", " +
         (values[most] > 0 ? "+" : "") + short_number(values[most]) + ")";
}

Result<figure::Figure> AddressingView::draw_query(const ViewInput& input, const Numbers& numbers) const {
  const std::array<std::pair<const char*, std::vector<double> analysis::AddressingRow::*>, 2> strips{
      {{"place", &analysis::AddressingRow::place}, {"word", &analysis::AddressingRow::word}}};
  Fields fields;  // of all strips: place and word share their colours
  for (const Pointer& made : numbers) {
    std::vector<double> joined = made->row->place;
    joined.insert(joined.end(), made->row->word.begin(), made->row->word.end());
    fields.push_back(strip_of(joined));
  }
  figure::Figure figure = figure_across(numbers.size());
  for (const auto& [name, values] : strips) {
    for (std::size_t n = 0; n < numbers.size(); ++n) {
      const analysis::AddressingRow& row = *numbers[n]->row;
      const Column& column = input.columns[n];
      LOCUS_TRY(const AddressingKey key, measure_key(input, n));
      figure::Panel panel = text_strip(input, column, over_tokens(row, row.*values, column.trace->length()),
                                       scale_of(input, Sign::kZeroCentred, fields, n), key.query);
      name_after(column, panel,
                 " · " + head_label(column.trace->model(), key.head.layer, key.head.head) + " · query " +
                     std::to_string(key.query) + " · " + name);
      panel.color_bar_label = std::string("what the ") + name + " says (logit)";
      const double share = values == &analysis::AddressingRow::place ? row.place_share : row.word_share;
      panel.note = short_number(share) + " of the variance; most for " + largest_text(*column.trace, row, row.*values);
      figure.panels.push_back(std::move(panel));
    }
  }
  std::vector<AddressingKey> keys;
  for (std::size_t n = 0; n < numbers.size(); ++n) {
    LOCUS_TRY(keys.emplace_back(), measure_key(input, n));
  }
  figure.statement = about_columns(input, [&](std::size_t n) {
    const analysis::AddressingRow& own = *numbers[n]->row;
    double left = 0;
    for (const double each : own.both) {
      left = std::max(left, std::abs(each));
    }
    return head_line(keys[n].head, shares_text(own.place_share, own.word_share, own.both_share),
                     "at query " + std::to_string(keys[n].query)) +
           "; logits are " + short_number(own.mean) + " and both strips, within " + short_number(left);
  });
  return figure;
}

Result<figure::Figure> AddressingView::draw(const ViewInput& input, const Numbers& numbers) const {
  return of_pairs(input)   ? draw_pairs(input, numbers)
         : of_query(input) ? draw_query(input, numbers)
                           : draw_heads(input, numbers);
}

Result<Data> AddressingView::table(const ViewInput& input, const Numbers& numbers) const {
  const Addressed& first = *numbers.front();
  if (first.spectrum) {
    return table_of({{"wavelength", numbers_of(first.spectrum->pairs.rows, &analysis::PairRow::wavelength)},
                     {"place", first.spectrum->place},
                     {"word", first.spectrum->word},
                     {"both", first.spectrum->both}},
                    "pair");
  }
  if (first.row) {
    const analysis::AddressingRow& row = *first.row;
    return table_of({{"key", {row.keys.begin(), row.keys.end()}},
                     {"logit", row.logit},
                     {"mean", std::vector<double>(row.keys.size(), row.mean)},
                     {"place", row.place},
                     {"word", row.word},
                     {"both", row.both}});
  }
  const std::int64_t heads = input.columns.front().trace->model().heads;
  std::vector<Series> series{{"layer", {}}, {"head", {}}};
  for (std::int64_t n = 0; n < std::ssize(first.heads); ++n) {
    const std::int64_t layer = n / heads;
    series[0].values.push_back(static_cast<double>(layer));
    series[1].values.push_back(static_cast<double>(n % heads));
  }
  const auto add = [&](const std::string& name, HeadInterval AddressedHead::*share) {
    const auto number = [&](double HeadInterval::*part) {
      return numbers_of(first.heads, [&](const AddressedHead& head) { return (head.*share).*part; });
    };
    series.push_back({name, number(&HeadInterval::mean)});
    if (!of_swaps(input)) {
      series.push_back({name + " low", number(&HeadInterval::low)});
      series.push_back({name + " high", number(&HeadInterval::high)});
    }
    if (std::ranges::any_of(first.heads, [&](const AddressedHead& head) { return (head.*share).has_null(); })) {
      series.push_back({name + " shuffled", number(&HeadInterval::null)});
    }
  };
  add(of_swaps(input) ? "positional" : "place", &AddressedHead::place);
  add(of_swaps(input) ? "symbolic" : "word", &AddressedHead::word);
  if (!of_swaps(input)) {
    add("both", &AddressedHead::both);
  }
  series.push_back({"spread", numbers_of(first.heads, &AddressedHead::spread)});
  return table_of(std::move(series));
}

// ---- under the pointer

std::int64_t AddressingView::head_at(const ViewInput& input, const Hit& hit) const {
  const Pointer made = hit.panel < input.columns.size() ? kept(input, hit.panel) : nullptr;
  double best = 0.03;
  std::int64_t found = -1;
  for (std::size_t n = 0; made && n < made->heads.size(); ++n) {
    const double apart = std::hypot(made->heads[n].place.mean - hit.x, made->heads[n].word.mean - hit.y);
    if (apart < best) {
      best = apart;
      found = static_cast<std::int64_t>(n);
    }
  }
  return found;
}

Selection AddressingView::pick(const ViewInput& input, const Hit& hit) const {
  const std::size_t column = hit.panel % input.columns.size();
  Selection selection;
  if (of_pairs(input)) {
    const Pointer made = kept(input, column);
    return made && made->spectrum ? pick_pair(hit.x, std::ssize(made->spectrum->place), column) : selection;
  }
  if (of_query(input)) {
    const Column& own = input.columns[column];
    const std::int64_t token = hit.token;
    selection.query = token >= 0 ? token_at(input, own, token) : std::nullopt;
    selection.column = static_cast<std::int64_t>(column);
    return selection.query ? selection : Selection{};
  }
  if (const std::int64_t head = head_at(input, hit); head >= 0) {
    const std::int64_t count = input.columns[column].trace->model().heads;
    selection.layer = head / count;
    selection.head = head % count;
    selection.column = static_cast<std::int64_t>(column);
    selection.open = true;
  }
  return selection;
}

std::vector<Place> AddressingView::places(const ViewInput& input, const Selection& selection) const {
  std::vector<Place> places;
  if (!of_heads(input) || !selection.layer || !selection.head || *selection.head < 0) {
    return places;
  }
  for (std::size_t n = 0; n < input.columns.size(); ++n) {
    const Pointer made = kept(input, n);
    const models::ModelInfo& model = input.columns[n].trace->model();
    const auto at = static_cast<std::size_t>(*selection.layer * model.heads + *selection.head);
    if (made && *selection.head < model.heads && at < made->heads.size() && made->heads[at].known()) {
      const double x = made->heads[at].place.mean;
      const double y = made->heads[at].word.mean;
      places.push_back({n, {x - 0.015, x + 0.015}, {y - 0.015, y + 0.015}});
    }
  }
  return places;
}

std::vector<std::string> AddressingView::said_of(const ViewInput& input, const Hit& hit) const {
  const std::int64_t head = of_heads(input) ? head_at(input, hit) : -1;
  if (head < 0) {
    return {};
  }
  const Pointer made = kept(input, hit.panel);
  if (made == nullptr) {
    return {};
  }
  const AddressedHead& own = made->heads[static_cast<std::size_t>(head)];
  const auto share = [](const std::string& name, const HeadInterval& at) {
    return name + " " + with_interval(at.mean, at.low, at.high);
  };
  std::vector<std::string> lines;
  if (of_swaps(input)) {
    lines = {"positional " + short_number(own.place.mean), "symbolic " + short_number(own.word.mean)};
  } else {
    lines = {share("place", own.place), share("word", own.word), share("both", own.both)};
  }
  if (!std::isnan(own.spread)) {
    lines.push_back("spread of the logits " + short_number(own.spread));
  }
  return lines;
}

}  // namespace

const View& addressing_view() {
  return made_once<AddressingView>();
}

}  // namespace locus::views

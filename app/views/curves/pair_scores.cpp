// `pair-scores`: what each rotary pair gives to the logit of one query and one key.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "app/views/shared/alignment.h"
#include "app/views/shared/measured/measured_view.h"
#include "app/views/shared/measured/pair_rows.h"
#include "app/views/shared/score_maps/score_map.h"
#include "app/views/shared/view.h"
#include "core/base/controls.h"
#include "models/api/pairs.h"

namespace locus::views {

namespace {

constexpr std::int64_t kMaxDistances = 512;  // that the same query and key are asked for

struct PairScoresKey {
  std::int64_t layer = 0;
  std::int64_t head = 0;
  std::int64_t query = 0;
  std::int64_t key = 0;

  friend bool operator==(const PairScoresKey&, const PairScoresKey&) = default;
};

struct Cell : analysis::CellParts {
  analysis::PairList pairs;
};
std::size_t cached_bytes(const Cell& cell) {
  return sizeof cell + views::cached_bytes(cell.elsewhere) + pair_bytes(cell.pairs) +
         cell.parts.size() * sizeof(double);
}

class PairScores final : public MeasuredView<PairScoresKey, Cell> {
 public:
  const ViewInfo& info() const override { return info_; }
  Selection pick(const ViewInput& input, const Hit& hit) const override;
  Selection drag(const ViewInput& input, const Hit& from, const Hit& to) const override {
    return pick_band(pick(input, from), pick(input, to));
  }

 protected:
  Result<PairScoresKey> measure_key(const ViewInput& input, std::size_t column) const override {
    LOCUS_CHECK(band_of(input));
    LOCUS_CHECK(needs_one_head(input));
    const HeadRef head = head_of_column(input, column);
    const std::int64_t last = input.columns[column].trace->length() - 1;
    const Column& own = input.columns[column];
    PairScoresKey at{head.layer, head.head, input.query.chosen() ? query_of(input, own) : last, 0};
    at.key = input.key.chosen() ? own_key(input, input.key, own) : std::max<std::int64_t>(at.query - 1, 0);
    if (at.query == kNone || at.key == kNone) {
      return usage("pair-scores: " + own.name + " has tokens 0 to " + std::to_string(last) +
                   ", none of them for query " + std::to_string(input.query.index) + " and key " +
                   std::to_string(input.key.index));
    }
    return at;
  }
  Result<Cell> measure(const PairScoresKey& at, const MeasureContext& context) const override {
    const std::int64_t length = context.column.trace->length();
    const std::int64_t step = std::max<std::int64_t>(1, (length + kMaxDistances - 1) / kMaxDistances);
    std::vector<double> distances;
    for (std::int64_t n = 0; n < length; n += step) {
      distances.push_back(static_cast<double>(n));
    }
    Cell cell;
    LOCUS_TRY(static_cast<analysis::CellParts&>(cell),
              models::pair_parts(*context.column.trace, at.layer, at.head, at.query, at.key, distances));
    LOCUS_TRY(cell.pairs, models::pair_list(*context.column.trace, at.layer, at.head));
    return cell;
  }
  Result<figure::Figure> draw(const ViewInput& input, const Numbers& numbers) const override;
  Result<Data> table(const ViewInput& /*input*/, const Numbers& numbers) const override {
    const std::vector<double>& parts = numbers.front()->parts;
    Data data;
    data.shape = {static_cast<std::int64_t>(parts.size())};
    data.values.assign(parts.begin(), parts.end());
    return data;
  }

 private:
  ViewInfo info_ = described({
      .name = "pair-scores",
      .caption = "One score, split into the contributions of the rotary frequencies.",
      .shows =
          "One query and one key: the contribution of each rotary pair to their logit, from the fastest pair to the "
          "slowest, and the running sum, which ends at the logit. Below: what the same query and key would give at "
          "other distances, pair by pair and in total. By default, the query is the last token, and the key the token "
          "before the query.",
      .uses_layer = true,
      .uses_head = true,
      .uses_query = true,
      .controls = {band_control()},
  });
};

// Rows from the fastest to the slowest; rows without a wave keep their place at the end.
std::vector<std::size_t> by_frequency(const analysis::PairList& list) {
  std::vector<std::size_t> order(list.rows.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const double x = list.rows[a].wavelength;
    const double y = list.rows[b].wavelength;
    return std::isnan(x) || std::isnan(y) ? !std::isnan(x) && std::isnan(y) : x < y;
  });
  return order;
}

// A band of rows, where they stand in that order: from the first to the last of them.
std::optional<Range> placed(const std::optional<Range>& band, const std::vector<std::size_t>& order) {
  std::optional<Range> place;
  for (std::size_t at = 0; band && at < order.size(); ++at) {
    if (band->contains(static_cast<std::int64_t>(order[at]))) {
      const auto n = static_cast<std::int64_t>(at);
      place = place ? Range{place->begin, n + 1} : Range{n, n + 1};
    }
  }
  return place;
}

figure::Panel bars_panel(const Cell& cell, const std::vector<std::size_t>& order) {
  std::vector<double> heights;
  figure::Curve sum;
  sum.name = "running sum";
  Extent extent;
  extent.add(0);
  double total = 0;
  std::vector<std::string> names;
  const Names all = pair_names(cell.pairs);
  for (std::size_t at = 0; at < order.size(); ++at) {
    heights.push_back(cell.parts[order[at]]);
    total += heights.back();
    sum.x.push_back(static_cast<double>(at) + 0.5);
    sum.y.push_back(total);
    extent.add(heights.back());
    extent.add(total);
    names.push_back((*all)[order[at]]);
  }
  figure::Panel panel;
  panel.follows_camera = false;
  panel.x = cells_across(pair_label(cell.pairs), std::ssize(order), shared_names(std::move(names)));
  panel.y.label = "part of the logit";
  panel.y.view = extent.padded();
  panel.layers.emplace_back(grouped_bars("parts", heights, 0, 1));
  panel.layers.emplace_back(std::move(sum));
  panel.layers.emplace_back(figure::Marker{figure::Marker::Direction::kHorizontal, 0, "", 0, false});
  panel.note = "logit " + short_number(cell.logit);
  return panel;
}

figure::Panel elsewhere_panel(const ViewInput& input, const Cell& cell, double distance) {
  const auto field = std::make_shared<const Field>(cell.elsewhere);
  figure::Panel panel = pair_map(cell.pairs, field, scale_of(input, Sign::kZeroCentred, {field}));
  panel.follows_camera = false;
  const double end = field->column_axis.first + field->column_axis.step * static_cast<double>(field->columns);
  panel.x.label = "distance Δ (tokens)";
  panel.x.view = {0, end};
  panel.y.label = "pair";  // the bars above say what stands beside its number
  panel.layers.emplace_back(vertical_line(distance, "here"));
  panel.color_bar_label = "part at that distance";
  return panel;
}

figure::Panel sum_panel(const Cell& cell, double distance) {
  figure::Curve curve;
  Extent extent;
  for (std::int64_t n = 0; n < cell.elsewhere.columns; ++n) {
    double sum = 0;
    for (std::int64_t row = 0; row < cell.elsewhere.rows; ++row) {
      sum += static_cast<double>(cell.elsewhere.at(row, n));
    }
    curve.x.push_back(cell.elsewhere.column_axis.first + cell.elsewhere.column_axis.step * static_cast<double>(n));
    curve.y.push_back(sum);
    extent.add(sum);
  }
  figure::Panel panel;
  panel.follows_camera = false;
  panel.x.label = "distance Δ (tokens)";
  panel.x.view = {0, std::max(curve.x.back(), 1.0)};
  panel.y.label = "logit at that distance";
  panel.y.view = extent.padded();
  panel.layers.emplace_back(std::move(curve));
  panel.layers.emplace_back(vertical_line(distance, "here"));
  return panel;
}

// "logit 16.7, of it 6.18 from pair 0 (λ 6.28), 2.42 from pair 1 (λ 11.2) and 2.24 from pair 7 (λ 353)".
std::string parts_line(const Cell& cell) {
  std::vector<std::size_t> order(cell.parts.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::ranges::greater(), [&](std::size_t n) { return std::abs(cell.parts[n]); });
  const std::size_t said = std::min<std::size_t>(3, order.size());
  std::string line = "logit " + short_number(cell.logit);
  for (std::size_t n = 0; n < said; ++n) {
    const analysis::PairRow& row = cell.pairs.rows[order[n]];
    line += (n == 0         ? ", of it "
             : n + 1 < said ? ", "
                            : " and ") +
            short_number(cell.parts[order[n]]) + " from " +
            (order[n] < static_cast<std::size_t>(cell.pairs.pairs) ? "pair " : "") + row.name +
            (std::isfinite(row.wavelength) ? " (λ " + short_number(row.wavelength) + ")" : "");
  }
  return line;
}

Result<figure::Figure> PairScores::draw(const ViewInput& input, const Numbers& numbers) const {
  LOCUS_TRY(const std::optional<Range> band, band_of(input));
  figure::Figure figure = figure_across(numbers.size());
  const bool elsewhere =
      std::all_of(numbers.begin(), numbers.end(), [](const Pointer& cell) { return !cell->elsewhere.values.empty(); });
  std::vector<double> distances;
  for (std::size_t n = 0; n < numbers.size(); ++n) {
    LOCUS_TRY(const PairScoresKey at, measure_key(input, n));
    const models::Trace& trace = *input.columns[n].trace;
    const auto token = [&](std::int64_t at) {
      return std::to_string(at) + " \"" + trace.tokens()[static_cast<std::size_t>(at)].label + "\"";
    };
    const std::vector<std::size_t> order = by_frequency(numbers[n]->pairs);
    figure::Panel panel = bars_panel(*numbers[n], order);
    name_after(input.columns[n], panel,
               " · " + head_label(trace.model(), at.layer, at.head) + " · query " + token(at.query) + ", key " +
                   token(at.key));
    frame_band(placed(band, order), std::ssize(order), true, panel);
    figure.panels.push_back(std::move(panel));
    distances.push_back(static_cast<double>(std::abs(at.query - at.key)));
  }
  for (std::size_t n = 0; elsewhere && n < numbers.size(); ++n) {
    figure.panels.push_back(elsewhere_panel(input, *numbers[n], distances[n] + 0.5));
    frame_band(band, numbers[n]->elsewhere.rows, false, figure.panels.back());
  }
  for (std::size_t n = 0; elsewhere && n < numbers.size(); ++n) {
    figure.panels.push_back(sum_panel(*numbers[n], distances[n]));
  }
  figure.statement = about_columns(input, [&](std::size_t n) { return parts_line(*numbers[n]); });
  return figure;
}

Selection PairScores::pick(const ViewInput& input, const Hit& hit) const {
  const std::size_t columns = input.columns.size();
  const std::size_t column = hit.panel % columns;
  const auto cell = kept(input, column);
  if (!cell || hit.panel >= 2 * columns) {
    return {};
  }
  const auto rows = static_cast<std::int64_t>(cell->parts.size());
  if (hit.panel >= columns) {
    return pick_pair(hit.y, rows, column);
  }
  const auto at = static_cast<std::int64_t>(std::floor(hit.x));
  const auto order = by_frequency(cell->pairs);
  return at >= 0 && at < rows ? pick_pair(static_cast<double>(order[static_cast<std::size_t>(at)]), rows, column)
                              : Selection{};
}

}  // namespace

const View& pair_scores_view() {
  return made_once<PairScores>();
}

}  // namespace locus::views

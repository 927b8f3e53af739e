// `heads`: one number a head for each habit a reader looks for, as a table or as a map over layers and heads.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "app/views/controls.h"
#include "app/views/head_map.h"
#include "app/views/list.h"
#include "app/views/score_map.h"
#include "app/views/series.h"
#include "models/analyses.h"

namespace locus::views {

namespace {

constexpr std::size_t kStatistics = 9;

// A statistic's name on the command line and in data, above its column, and in full.
struct Statistic {
  const char* name;
  const char* label;
  const char* meaning;
};
constexpr std::array<Statistic, kStatistics> kAll9{{
    {"entropy", "entropy", "entropy (nats)"},
    {"relative-entropy", "rel. entropy", "entropy / ln of the keys seen"},
    {"mean-distance", "distance", "mean distance (tokens)"},
    {"previous-token", "previous", "weight on the previous token"},
    {"first-token", "first", "weight on the first token"},
    {"self", "self", "weight on the token itself"},
    {"induction", "induction", "induction score"},
    {"gate-selectivity", "gates", "gate selectivity"},
    {"distance-bias", "bias", "counterfactual distance bias"},
}};

// One head's numbers, in the order above; NaN where there is none.
struct Row {
  std::int64_t layer = 0;
  std::int64_t head = 0;
  std::array<double, kStatistics> values{};
};
using Rows = std::vector<Row>;

std::vector<std::string> statistic_names() {
  std::vector<std::string> names;
  for (const Statistic& each : kAll9) {
    names.emplace_back(each.name);
  }
  std::rotate(names.begin(), names.begin() + 3, names.begin() + 4);  // what is looked for most comes first
  return names;
}

class Heads final : public View {
 public:
  const ViewInfo& info() const override { return info_; }
  Result<figure::Figure> figure(const ViewInput& input) const override;
  Result<Data> data(const ViewInput& input) const override;
  Selection pick(const ViewInput& input, const Hit& hit) const override;
  std::vector<Place> places(const ViewInput& input, const Selection& selection) const override;
  std::optional<Selection> step(const ViewInput& input, std::int64_t by) const override;

 private:
  ViewInfo info_{
      .name = "heads",
      .title = "Table of heads",
      .shows =
          "Every head's numbers, sorted by the chosen one, or the chosen one as a map of layers × heads. Means over "
          "the queries of this text; induction is measured on random tokens given twice. A click opens the head.",
      .look_for =
          "previous: A(i, i−1), a previous-token head. first: A(i, 0), a sink. induction: in a text that repeats, the "
          "weight on the token after the earlier occurrence. distance: Σ A |i − j|. rel. entropy: 1 is an even "
          "average. gates: the deviation of CoPE's gates, ½ at most: decided gates count some tokens only. bias: the "
          "mean of s(λ) − s(Λ) with the same vectors at a near and a far distance, which is the encoding alone.",
      .paper = "",
      .needs_text = true,
      .controls = {choice("as", "As", "A table of heads, or a map of layers × heads", {"table", "map"}),
                   choice("statistic", "Sorted by", "The statistic of the map, and what the table is sorted by",
                          statistic_names()),
                   toggle("ascending", "Smallest first", "The other way round"),
                   whole("rows", "Rows", "Heads shown in the table at a time", 24, 1, 4096),
                   whole("from", "From row", "The first row shown; the wheel, arrows and page keys scroll", 0, 0, 4095),
                   whole("repeats", "Induction inputs", "Random inputs for the induction score; 0: none", 4, 0, 64,
                         "none")},
  };
};

struct Options {
  bool table = true;
  std::size_t statistic = 0;
  bool ascending = false;
  std::int64_t rows = 24;
  std::int64_t from = 0;
  std::int64_t repeats = 4;
};

Result<Options> options_of(const ViewInput& input) {
  Options options;
  LOCUS_TRY(const std::string as, input.options.text("as", "table"));
  LOCUS_TRY(const std::string name, input.options.text("statistic", statistic_names().front()));
  LOCUS_TRY(options.ascending, input.options.boolean("ascending", false));
  LOCUS_TRY(options.rows, input.options.integer("rows", 24));
  LOCUS_TRY(options.from, input.options.integer("from", 0));
  LOCUS_TRY(options.repeats, input.options.integer("repeats", 4));
  options.table = as == "table";
  options.statistic = static_cast<std::size_t>(
      std::find_if(kAll9.begin(), kAll9.end(), [&](const Statistic& each) { return each.name == name; }) -
      kAll9.begin());
  return options;
}

std::string key_of(const Options& options) {
  return "heads " + std::to_string(options.repeats);
}

Result<Rows> measure(const ViewInput& input, const Column& column, const Options& options, const Progress& progress) {
  LOCUS_TRY(const auto table, models::head_table(*column.trace, {}, input.stop, progress));
  std::optional<Field> induction;
  if (column.model && options.repeats > 0) {
    models::InductionOptions random;
    random.repeats = options.repeats;
    auto map = models::induction_map(*column.model, random, input.stop, progress);
    // A table of positions may be too short for the random tokens; the rest of the table still stands.
    if (!map && map.error().code != ErrorCode::kBadInput) {
      return map.error();
    }
    if (map) {
      induction = *std::move(map);
    }
  }
  Rows rows;
  for (const models::HeadRow& each : table) {
    const analysis::HeadStatistics& s = each.statistics;
    const double repeated = induction ? static_cast<double>(induction->at(each.layer, each.head))
                                      : std::numeric_limits<double>::quiet_NaN();
    rows.push_back({each.layer,
                    each.head,
                    {s.entropy, s.relative_entropy, s.mean_distance, s.previous_token, s.first_token, s.self, repeated,
                     s.gate_selectivity, each.distance_bias}});
  }
  return rows;
}

Result<std::vector<std::shared_ptr<const Rows>>> measure_all(const View& view, const ViewInput& input,
                                                             const Options& options) {
  LOCUS_CHECK(check(view, input));
  std::vector<std::shared_ptr<const Rows>> all;
  for (std::size_t n = 0; n < input.columns.size(); ++n) {
    const Column& column = input.columns[n];
    LOCUS_TRY(auto rows, analysed<Rows>(input, column, {column.trace}, key_of(options),
                                        [&] { return measure(input, column, options, column_progress(input, n)); }));
    all.push_back(std::move(rows));
  }
  return all;
}

// Indices of all rows, sorted; heads without the statistic come last.
std::vector<std::size_t> sorted(const Rows& rows, const Options& options) {
  std::vector<std::size_t> order(rows.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const double x = rows[a].values[options.statistic];
    const double y = rows[b].values[options.statistic];
    if (std::isnan(x) || std::isnan(y)) {
      return std::isnan(y) && !std::isnan(x);
    }
    return options.ascending ? x < y : x > y;
  });
  return order;
}

// The first row that is shown of `count`: no empty row at the end while there are others above.
std::size_t first_row(std::size_t count, const Options& options) {
  const auto rows = static_cast<std::size_t>(options.rows);
  return std::min(static_cast<std::size_t>(options.from), count > rows ? count - rows : 0);
}

// Indices of the rows as the table shows them.
std::vector<std::size_t> order_of(const Rows& rows, const Options& options) {
  const std::vector<std::size_t> all = sorted(rows, options);
  const std::size_t first = first_row(all.size(), options);
  const std::size_t last = std::min(all.size(), first + static_cast<std::size_t>(options.rows));
  return {all.begin() + static_cast<std::ptrdiff_t>(first), all.begin() + static_cast<std::ptrdiff_t>(last)};
}

// The statistics that some head has.
std::vector<std::size_t> shown_statistics(const std::vector<std::shared_ptr<const Rows>>& all) {
  std::vector<std::size_t> shown;
  for (std::size_t n = 0; n < kStatistics; ++n) {
    const bool any = std::any_of(all.begin(), all.end(), [n](const auto& rows) {
      return std::any_of(rows->begin(), rows->end(), [n](const Row& row) { return !std::isnan(row.values[n]); });
    });
    if (any) {
      shown.push_back(n);
    }
  }
  return shown;
}

// Each statistic's share of its own largest size, so that columns of different units can be read together.
figure::Panel table_panel(const Rows& rows, const std::vector<std::size_t>& order,
                          const std::vector<std::size_t>& shown) {
  Field field = Field::zeros(static_cast<std::int64_t>(order.size()), static_cast<std::int64_t>(shown.size()));
  auto texts = std::make_shared<std::vector<std::string>>(field.values.size());
  auto names = std::make_shared<std::vector<std::string>>();
  auto labels = std::make_shared<std::vector<std::string>>();
  for (std::size_t c = 0; c < shown.size(); ++c) {
    labels->emplace_back(kAll9[shown[c]].label);
    double largest = 0;
    for (const Row& row : rows) {
      largest = std::max(largest, std::isnan(row.values[shown[c]]) ? 0 : std::abs(row.values[shown[c]]));
    }
    for (std::size_t r = 0; r < order.size(); ++r) {
      const double value = rows[order[r]].values[shown[c]];
      const std::size_t cell = r * shown.size() + c;
      field.values[cell] = static_cast<float>(largest > 0 ? std::max(value, 0.0) / largest : 0.0);
      field.values[cell] = std::isnan(value) ? std::numeric_limits<float>::quiet_NaN() : field.values[cell];
      (*texts)[cell] = short_number(value);
    }
  }
  for (const std::size_t index : order) {
    names->push_back(std::to_string(rows[index].layer) + "." + std::to_string(rows[index].head));
  }
  figure::Panel panel;
  panel.x.view = {0, static_cast<double>(shown.size())};
  panel.x.cell_names = labels;
  panel.y = {.label = "layer.head", .view = {static_cast<double>(order.size()), 0}, .cell_names = names};
  figure::HeatMap map;
  map.field = std::make_shared<const Field>(std::move(field));
  map.texts = texts;
  map.scale.colormap = "viridis";
  panel.layers.emplace_back(std::move(map));
  return panel;
}

std::shared_ptr<const Field> map_of(const Rows& rows, const models::ModelInfo& model, std::size_t statistic) {
  Field field = Field::zeros(model.layers, model.heads);
  field.row_axis.name = "layer";
  field.column_axis.name = "head";
  for (const Row& row : rows) {
    field.at(row.layer, row.head) = static_cast<float>(row.values[statistic]);
  }
  return std::make_shared<const Field>(std::move(field));
}

// "16 heads", "rows 24 to 47 of 144 heads".
std::string rows_text(std::size_t shown, std::size_t count, const Options& options) {
  if (shown == count) {
    return std::to_string(count) + " heads";
  }
  const std::size_t first = first_row(count, options);
  return "rows " + std::to_string(first) + " to " + std::to_string(first + shown - 1) + " of " + std::to_string(count) +
         " heads";
}

Result<figure::Figure> Heads::figure(const ViewInput& input) const {
  LOCUS_TRY(const Options options, options_of(input));
  LOCUS_TRY(const auto all, measure_all(*this, input, options));
  figure::Figure figure;
  figure.columns = static_cast<int>(all.size());
  if (options.table) {
    const std::vector<std::size_t> shown = shown_statistics(all);
    for (std::size_t n = 0; n < all.size(); ++n) {
      const auto order = order_of(*all[n], options);
      figure::Panel panel = table_panel(*all[n], order, shown);
      panel.title = input.columns[n].name;
      panel.note = rows_text(order.size(), all[n]->size(), options) + " by " + kAll9[options.statistic].meaning +
                   "; colours: share of the column's largest";
      figure.panels.push_back(std::move(panel));
    }
    return figure;
  }
  std::vector<std::shared_ptr<const Field>> fields;
  for (std::size_t n = 0; n < all.size(); ++n) {
    fields.push_back(map_of(*all[n], input.columns[n].trace->model(), options.statistic));
  }
  const Sign sign = options.statistic + 1 == kStatistics ? Sign::kZeroCentred : Sign::kPositive;
  for (std::size_t n = 0; n < all.size(); ++n) {
    figure::Panel panel = head_map(fields[n], head_scale(input, sign, fields, n));
    panel.title = input.columns[n].name;
    panel.color_bar_label = kAll9[options.statistic].meaning;
    figure.panels.push_back(std::move(panel));
  }
  return figure;
}

// The first column's heads in layer order, unless the table is sorted.
Result<Data> Heads::data(const ViewInput& input) const {
  LOCUS_TRY(const Options options, options_of(input));
  LOCUS_TRY(const auto all, measure_all(*this, input, options));
  const Rows& rows = *all.front();
  if (!options.table) {
    const auto field = map_of(rows, input.columns.front().trace->model(), options.statistic);
    return Data{{field->rows, field->columns}, field->values, {}};
  }
  std::vector<Series> series{{"layer", {}}, {"head", {}}};
  for (const Statistic& each : kAll9) {
    series.push_back({each.name, {}});
  }
  for (const std::size_t index : sorted(rows, options)) {
    series[0].values.push_back(static_cast<double>(rows[index].layer));
    series[1].values.push_back(static_cast<double>(rows[index].head));
    for (std::size_t n = 0; n < kStatistics; ++n) {
      series[n + 2].values.push_back(rows[index].values[n]);
    }
  }
  return table_of(series);
}

// Only what is in the cache is looked at: this runs on the window's thread.
Selection Heads::pick(const ViewInput& input, const Hit& hit) const {
  const auto options = options_of(input);
  const std::size_t column = std::min(hit.panel, input.columns.size() - 1);
  if (!options) {
    return {};
  }
  if (!options->table) {
    return pick_head(input.columns[column].trace->model(), hit, column);
  }
  const auto rows = input.cache ? input.cache->peek<Rows>({input.columns[column].trace}, key_of(*options)) : nullptr;
  if (!rows || hit.y < 0) {
    return {};
  }
  const auto order = order_of(*rows, *options);
  const auto line = static_cast<std::size_t>(hit.y);
  if (line >= order.size()) {
    return {};
  }
  Selection selection;
  selection.column = static_cast<std::int64_t>(column);
  selection.layer = (*rows)[order[line]].layer;
  selection.head = (*rows)[order[line]].head;
  selection.open = true;
  return selection;
}

std::vector<Place> Heads::places(const ViewInput& input, const Selection& selection) const {
  const auto options = options_of(input);
  std::vector<Place> places;
  if (!options || !selection.layer || !selection.head || *selection.head < 0) {
    return places;
  }
  for (std::size_t panel = 0; panel < input.columns.size(); ++panel) {
    if (!options->table) {
      places.push_back(head_place(panel, *selection.layer, *selection.head));
      continue;
    }
    const auto rows = input.cache ? input.cache->peek<Rows>({input.columns[panel].trace}, key_of(*options)) : nullptr;
    if (!rows) {
      continue;
    }
    const auto order = order_of(*rows, *options);
    const auto found = std::find_if(order.begin(), order.end(), [&](std::size_t index) {
      return (*rows)[index].layer == *selection.layer && (*rows)[index].head == *selection.head;
    });
    if (found != order.end()) {
      const auto line = static_cast<double>(found - order.begin());
      places.push_back({panel, {0, static_cast<double>(kStatistics)}, {line, line + 1}});
    }
  }
  return places;
}

std::optional<Selection> Heads::step(const ViewInput& input, std::int64_t by) const {
  const auto options = options_of(input);
  if (!options || !options->table || !input.cache) {
    return std::nullopt;
  }
  const auto rows = input.cache->peek<Rows>({input.columns.front().trace}, key_of(*options));
  if (!rows || rows->empty()) {
    return std::nullopt;
  }
  const auto order = sorted(*rows, *options);
  const auto found = std::find_if(order.begin(), order.end(), [&](std::size_t index) {
    return (*rows)[index].layer == input.layer && (*rows)[index].head == input.head;
  });
  const auto last = static_cast<std::int64_t>(order.size()) - 1;
  const std::int64_t now = found == order.end() ? 0 : found - order.begin();
  const std::int64_t line = found == order.end() ? 0 : std::clamp<std::int64_t>(now + by, 0, last);
  Selection selection;
  selection.layer = (*rows)[order[static_cast<std::size_t>(line)]].layer;
  selection.head = (*rows)[order[static_cast<std::size_t>(line)]].head;
  const auto first = static_cast<std::int64_t>(first_row(order.size(), *options));
  if (line < first || line >= first + options->rows) {
    selection.option = {"from", line < first ? line : line - options->rows + 1};
  }
  return selection;
}

}  // namespace

const View& heads_view() {
  static const Heads view;
  return view;
}

}  // namespace locus::views

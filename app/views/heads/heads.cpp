// `heads`: one number per head for each habit a reader looks for, as a table or as a map over layers and heads.
#include <algorithm>
#include <cmath>
#include <limits>

#include "app/views/heads/heads_table.h"
#include "app/views/list.h"
#include "app/views/measured/measured_view.h"
#include "app/views/score_maps/head_map.h"
#include "app/views/score_maps/score_map.h"
#include "core/base/controls.h"

namespace locus::views {

namespace {

struct HeadsKey {
  std::int64_t repeats = 0;  // random inputs for the induction score

  friend bool operator==(const HeadsKey&, const HeadsKey&) = default;
};

class Heads final : public MeasuredView<HeadsKey, HeadRows> {
 public:
  const ViewInfo& info() const override { return info_; }
  Selection pick(const ViewInput& input, const Hit& hit) const override;
  std::vector<Place> places(const ViewInput& input, const Selection& selection) const override;
  std::optional<Selection> step(const ViewInput& input, std::int64_t by) const override;

 protected:
  Result<HeadsKey> measure_key(const ViewInput& input, std::size_t /*column*/) const override {
    LOCUS_TRY(const HeadsOptions options, heads_options(input));
    return HeadsKey{options.repeats};
  }
  Result<HeadRows> measure(const HeadsKey& key, const MeasureContext& context) const override {
    return measure_heads(context.column, key.repeats, context.stop, context.progress);
  }
  Result<figure::Figure> draw(const ViewInput& input, const Numbers& all) const override;
  Result<Data> table(const ViewInput& input, const Numbers& all) const override;

 private:
  ViewInfo info_{
      .name = "heads",
      .title = "Table of heads",
      .group = Group::kMeasure,
      .caption = "Every head in numbers: how far back it looks, how sharply, and at what.",
      .shows =
          "The statistics of every head: a table sorted by one of them, or one of them as a map of layers × heads. "
          "They are means over the queries of this text; induction is measured on random tokens given twice. A click "
          "chooses a head, a double click or Enter opens it.",
      .needs_text = true,
      .controls = {choice("as", "As", "A table of heads, or a map of layers × heads", {"table", "map"}),
                   choice("statistic", "Sorted by", "The statistic of the map, and the one that the table is sorted by",
                          statistic_names()),
                   toggle("ascending", "Smallest first", "Sort the smallest first"),
                   whole("rows", "Rows", "Number of heads that the table shows at a time", 24, 1, 4096),
                   whole("from", "From row", "The first row to show; the wheel, arrows and page keys scroll", 0, 0,
                         4095),
                   whole("repeats", "Induction inputs", "Number of random inputs for the induction score; 0: none", 4,
                         0, 64, "none")},
  };
};

// Each statistic's share of its own largest size, so that columns of different units can be read together.
figure::Panel table_panel(const HeadRows& rows, const std::vector<std::size_t>& order,
                          const std::vector<std::size_t>& shown) {
  Field field = Field::zeros(static_cast<std::int64_t>(order.size()), static_cast<std::int64_t>(shown.size()));
  auto texts = std::make_shared<std::vector<std::string>>(field.values.size());
  auto names = std::make_shared<std::vector<std::string>>();
  auto labels = std::make_shared<std::vector<std::string>>();
  for (std::size_t c = 0; c < shown.size(); ++c) {
    labels->emplace_back(kHeadStatisticList[shown[c]].label);
    double largest = 0;
    for (const HeadRow& row : rows) {
      largest = std::max(largest, std::isnan(row.values[shown[c]]) ? 0 : std::abs(row.values[shown[c]]));
    }
    for (std::size_t r = 0; r < order.size(); ++r) {
      const double value = rows[order[r]].values[shown[c]];
      const std::size_t cell = r * shown.size() + c;
      field.values[cell] = static_cast<float>(largest > 0 ? std::abs(value) / largest : 0.0);
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

std::shared_ptr<const Field> map_of(const HeadRows& rows, const models::ModelInfo& model, std::size_t statistic) {
  Field field = Field::zeros(model.layers, model.heads);
  field.row_axis.name = "layer";
  field.column_axis.name = "head";
  for (const HeadRow& row : rows) {
    field.at(row.layer, row.head) = static_cast<float>(row.values[statistic]);
  }
  return std::make_shared<const Field>(std::move(field));
}

Result<figure::Figure> Heads::draw(const ViewInput& input, const Numbers& all) const {
  LOCUS_TRY(const HeadsOptions options, heads_options(input));
  figure::Figure figure;
  figure.columns = static_cast<int>(all.size());
  if (options.table) {
    const std::vector<std::size_t> shown = shown_statistics(all);
    for (std::size_t n = 0; n < all.size(); ++n) {
      const auto order = shown_heads(*all[n], options);
      figure::Panel panel = table_panel(*all[n], order, shown);
      panel.names = {input.columns[n].name};
      panel.title = input.columns[n].name;
      panel.note = rows_text(order.size(), all[n]->size(), options) + " by " +
                   kHeadStatisticList[options.statistic].meaning + "; colours: size as a share of the column's largest";
      figure.panels.push_back(std::move(panel));
    }
    return figure;
  }
  std::vector<std::shared_ptr<const Field>> fields;
  for (std::size_t n = 0; n < all.size(); ++n) {
    fields.push_back(map_of(*all[n], input.columns[n].trace->model(), options.statistic));
  }
  const Sign sign = kHeadStatisticList[options.statistic].has_sign ? Sign::kZeroCentred : Sign::kPositive;
  for (std::size_t n = 0; n < all.size(); ++n) {
    figure::Panel panel = head_map(fields[n], head_scale(input, sign, fields, n));
    panel.names = {input.columns[n].name};
    panel.title = input.columns[n].name;
    panel.color_bar_label = kHeadStatisticList[options.statistic].meaning;
    figure.panels.push_back(std::move(panel));
  }
  return figure;
}

// The first column's heads in layer order, unless the table is sorted.
Result<Data> Heads::table(const ViewInput& input, const Numbers& all) const {
  LOCUS_TRY(const HeadsOptions options, heads_options(input));
  const HeadRows& rows = *all.front();
  if (!options.table) {
    const auto field = map_of(rows, input.columns.front().trace->model(), options.statistic);
    return Data{{field->rows, field->columns}, field->values, {}};
  }
  std::vector<Series> series{{"layer", {}}, {"head", {}}};
  for (const HeadStatistic& each : kHeadStatisticList) {
    series.push_back({each.name, {}});
  }
  for (const std::size_t index : sorted_heads(rows, options)) {
    series[0].values.push_back(static_cast<double>(rows[index].layer));
    series[1].values.push_back(static_cast<double>(rows[index].head));
    for (std::size_t n = 0; n < kHeadStatistics; ++n) {
      series[n + 2].values.push_back(rows[index].values[n]);
    }
  }
  return table_of(series);
}

// Only what is in the cache is looked at: this runs on the window's thread.
Selection Heads::pick(const ViewInput& input, const Hit& hit) const {
  const auto options = heads_options(input);
  const std::size_t column = std::min(hit.panel, input.columns.size() - 1);
  if (!options) {
    return {};
  }
  if (!options->table) {
    return pick_head(input.columns[column].trace->model(), hit, column);
  }
  const auto rows = kept(input, column);
  if (!rows || hit.y < 0) {
    return {};
  }
  const auto order = shown_heads(*rows, *options);
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
  const auto options = heads_options(input);
  std::vector<Place> places;
  if (!options || !selection.layer || !selection.head || *selection.head < 0) {
    return places;
  }
  if (!options->table) {
    return head_places(selection, input.columns.size());
  }
  for (std::size_t panel = 0; panel < input.columns.size(); ++panel) {
    const auto rows = kept(input, panel);
    if (!rows) {
      continue;
    }
    const auto order = shown_heads(*rows, *options);
    const auto found = std::find_if(order.begin(), order.end(), [&](std::size_t index) {
      return (*rows)[index].layer == *selection.layer && (*rows)[index].head == *selection.head;
    });
    if (found != order.end()) {
      const auto line = static_cast<double>(found - order.begin());
      places.push_back({panel, {0, static_cast<double>(kHeadStatistics)}, {line, line + 1}});
    }
  }
  return places;
}

std::optional<Selection> Heads::step(const ViewInput& input, std::int64_t by) const {
  const auto options = heads_options(input);
  if (!options || !options->table) {
    return std::nullopt;
  }
  const auto rows = kept(input, 0);
  if (!rows || rows->empty()) {
    return std::nullopt;
  }
  const auto order = sorted_heads(*rows, *options);
  const auto found = std::find_if(order.begin(), order.end(), [&](std::size_t index) {
    return (*rows)[index].layer == input.layer && (*rows)[index].head == input.head;
  });
  const auto last = static_cast<std::int64_t>(order.size()) - 1;
  const std::int64_t now = found == order.end() ? 0 : found - order.begin();
  const std::int64_t line = found == order.end() ? 0 : std::clamp<std::int64_t>(now + by, 0, last);
  Selection selection;
  selection.layer = (*rows)[order[static_cast<std::size_t>(line)]].layer;
  selection.head = (*rows)[order[static_cast<std::size_t>(line)]].head;
  const auto first = static_cast<std::int64_t>(first_shown(order.size(), *options));
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

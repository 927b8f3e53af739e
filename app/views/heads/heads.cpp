// `heads`: one number per head for each habit a reader looks for, as a table or as a map over layers and heads.
#include <algorithm>
#include <cmath>
#include <limits>

#include "app/views/heads/heads_table.h"
#include "app/views/shared/measured/atlas_values.h"
#include "app/views/shared/measured/measured_view.h"
#include "app/views/shared/score_maps/head_map.h"
#include "app/views/shared/score_maps/score_map.h"
#include "app/views/shared/view.h"
#include "core/base/controls.h"
#include "core/base/numbers.h"

namespace locus::views {

namespace {

// The key: how many random inputs for the induction score.
class Heads final : public MeasuredView<std::int64_t, HeadRows> {
 public:
  const ViewInfo& info() const override { return info_; }
  Selection pick(const ViewInput& input, const Hit& hit) const override;
  std::vector<Place> places(const ViewInput& input, const Selection& selection) const override;
  std::optional<Selection> step(const ViewInput& input, std::int64_t by) const override;

 protected:
  Result<std::int64_t> measure_key(const ViewInput& input, std::size_t /*column*/) const override {
    return option<std::int64_t>(input, "repeats");
  }
  Result<HeadRows> measure(const std::int64_t& repeats, const MeasureContext& context) const override {
    if (const models::Atlas* const atlas = models::atlas_of(*context.column.trace)) {
      return atlas_heads(*atlas);
    }
    return measure_heads(context.column, repeats, context.stop, context.progress);
  }
  Result<figure::Figure> draw(const ViewInput& input, const Numbers& all) const override;
  Result<Data> table(const ViewInput& input, const Numbers& all) const override;

 private:
  HeadsOptions options_of(const ViewInput& input) const {
    return {.table = option<std::string>(input, "as") == "table",
            .statistic = statistic_named(option<std::string>(input, "statistic")),
            .ascending = option<bool>(input, "ascending"),
            .rows = option<std::int64_t>(input, "rows"),
            .from = option<std::int64_t>(input, "from")};
  }

  ViewInfo info_ = described({
      .name = "heads",
      .caption = "Every head in numbers: how far back it looks, how sharply, and at what.",
      .shows =
          "The statistics of every head: a table sorted by one of them, or one of them as a map of layers × heads. "
          "They are means over the queries of this text; induction is measured on random tokens given twice. An atlas "
          "shows the means over "
          "its windows with half of their 95 % intervals, in parentheses where shuffled tokens give the same. A click "
          "chooses a head, a double click or Enter opens it.",
      .needs_text = true,
      .of_atlases = true,
      .controls = {choice("as", "As", "A table of heads, or a map of layers × heads", {"table", "map"}),
                   choice("statistic", "Sorted by", "The statistic of the map, and the one that the table is sorted by",
                          statistic_names()),
                   toggle("ascending", "Smallest first", "Sort the smallest first"),
                   whole("rows", "Rows", "Number of heads that the table shows at a time", 24, 1, 4096),
                   whole("from", "From row", "The first row to show; the wheel, arrows and page keys scroll", 0, 0,
                         4095),
                   whole("repeats", "Induction inputs", "Number of random inputs for the induction score; 0: none", 4,
                         0, 64, "none")},
  });
};

// A cell's number with the digits that tooltips have, of an atlas as the table has it; "none" where there is none.
std::string said_text(const HeadRow& row, std::size_t statistic) {
  const double value = row.values[statistic];
  return std::isnan(value) ? "none" : row.of_atlas ? cell_text(row, statistic) : general_text(value, 5);
}

// The texts of cells, their intervals apart from them: numbers stay where there is no room for both.
void set_texts(const std::vector<std::string>& all, figure::HeatMap& map) {
  const std::string between = " ± ";
  std::vector<std::string> texts;
  std::vector<std::string> details;
  for (const std::string& text : all) {
    const std::size_t at = text.find(between);
    const bool closed = at != std::string::npos && text.ends_with(')');  // "(0.05 ± 0.01)"
    texts.push_back(text.substr(0, at) + (closed ? ")" : ""));
    details.push_back(at == std::string::npos ? "" : text.substr(at + 1, text.size() - at - (closed ? 2 : 1)));
  }
  const bool any = std::ranges::any_of(details, [](const std::string& detail) { return !detail.empty(); });
  map.texts = shared_names(std::move(texts));
  map.details = any ? shared_names(std::move(details)) : nullptr;
}

// Each statistic's share of its own largest size, so that columns of different units can be read together.
figure::Panel table_panel(const HeadRows& rows, const std::vector<std::size_t>& order,
                          const std::vector<std::size_t>& shown) {
  Field field = Field::zeros(static_cast<std::int64_t>(order.size()), static_cast<std::int64_t>(shown.size()));
  Field numbers = field;
  std::vector<std::string> texts(field.values.size());
  std::vector<std::string> said(field.values.size());
  std::vector<std::string> names;
  names.reserve(order.size());
  std::vector<std::string> labels;
  for (std::size_t c = 0; c < shown.size(); ++c) {
    labels.emplace_back(kHeadStatisticList[shown[c]].label);
    double largest = 0;
    for (const HeadRow& row : rows) {
      largest = std::max(largest, std::isnan(row.values[shown[c]]) ? 0 : std::abs(row.values[shown[c]]));
    }
    for (std::size_t r = 0; r < order.size(); ++r) {
      const double value = rows[order[r]].values[shown[c]];
      const std::size_t cell = r * shown.size() + c;
      field.values[cell] = static_cast<float>(largest > 0 ? std::abs(value) / largest : 0.0);
      field.values[cell] = std::isnan(value) ? std::numeric_limits<float>::quiet_NaN() : field.values[cell];
      texts[cell] = cell_text(rows[order[r]], shown[c]);
      numbers.values[cell] = static_cast<float>(value);
      said[cell] = kHeadStatisticList[shown[c]].meaning + std::string(" ") + said_text(rows[order[r]], shown[c]);
    }
  }
  for (const std::size_t index : order) {
    names.push_back(head_name(rows[index].layer, rows[index].head));
  }
  figure::Panel panel;
  panel.x = cells_across("", field.columns, shared_names(std::move(labels)));
  panel.y = cells_down("layer.head", field.rows, shared_names(std::move(names)));
  panel.layers.emplace_back(figure::HeatMap{.field = std::make_shared<const Field>(std::move(field)),
                                            .scale = {.colormap = "viridis"},
                                            .numbers = std::make_shared<const Field>(std::move(numbers)),
                                            .said = shared_names(std::move(said))});
  set_texts(texts, std::get<figure::HeatMap>(panel.layers.back()));
  return panel;
}

// The corpus of an atlas, as a note.
std::string atlas_note_of(const Column& column) {
  const models::Atlas* const atlas = models::atlas_of(*column.trace);
  return atlas == nullptr ? "" : windows_text(atlas->info()) + ", ± half of the 95 % interval; ";
}

FieldPointer map_of(const HeadRows& rows, const models::ModelInfo& model, std::size_t statistic) {
  Field field = head_field(model.layers, model.heads);
  for (const HeadRow& row : rows) {
    field.at(row.layer, row.head) = static_cast<float>(row.values[statistic]);
  }
  return std::make_shared<const Field>(std::move(field));
}

// The order of an atlas is that of layers; a run has none, so that the numbers stand there.
std::vector<std::string> map_texts(const HeadRows& rows, std::size_t statistic) {
  std::vector<std::string> texts;
  for (const HeadRow& row : rows) {
    if (row.of_atlas) {
      texts.push_back(cell_text(row, statistic));
    }
  }
  return texts;
}

// "weight on the previous token from 0.028 (head 3.3) to 0.568 (head 0.3)": colours of a table are shares.
// Heads of an atlas that are as with shuffled tokens, which stand in parentheses, are no end.
std::string ends_line(const HeadRows& rows, std::size_t statistic) {
  const HeadRow* low = nullptr;
  const HeadRow* high = nullptr;
  bool any = false;
  for (const HeadRow& row : rows) {
    const double value = row.values[statistic];
    any = any || std::isfinite(value);
    if (std::isfinite(value) && row.like_null[statistic] == 0) {
      low = low == nullptr || value < low->values[statistic] ? &row : low;
      high = high == nullptr || value > high->values[statistic] ? &row : high;
    }
  }
  const std::string meaning = kHeadStatisticList[statistic].meaning;
  if (low == nullptr) {
    return any ? "no head's " + meaning + " is other than with shuffled tokens" : std::string();
  }
  const auto end = [&](const HeadRow& row) {
    const auto ties = std::ranges::count_if(
        rows, [&](const HeadRow& other) { return other.values[statistic] == row.values[statistic]; });
    return short_number(row.values[statistic]) + " (" +
           (ties > 1 ? std::to_string(ties) + " of " + std::to_string(rows.size()) + " heads"
                     : "head " + head_name(row.layer, row.head)) +
           ")";
  };
  return meaning + " from " + end(*low) + " to " + end(*high);
}

Result<figure::Figure> Heads::draw(const ViewInput& input, const Numbers& all) const {
  const HeadsOptions options = options_of(input);
  figure::Figure figure = figure_across(all.size());
  figure.statement = about_columns(input, [&](std::size_t n) { return ends_line(*all[n], options.statistic); });
  if (options.table) {
    const std::vector<std::size_t> shown = shown_statistics(all);
    for (std::size_t n = 0; n < all.size(); ++n) {
      const auto order = shown_heads(*all[n], options);
      figure::Panel panel = table_panel(*all[n], order, shown);
      name_after(input.columns[n], panel);
      panel.note = atlas_note_of(input.columns[n]) + rows_text(order.size(), all[n]->size(), options) + " by " +
                   kHeadStatisticList[options.statistic].meaning + "; colours: size as a share of the column's largest";
      figure.panels.push_back(std::move(panel));
    }
    return figure;
  }
  Fields fields;
  for (std::size_t n = 0; n < all.size(); ++n) {
    fields.push_back(map_of(*all[n], input.columns[n].trace->model(), options.statistic));
  }
  const Sign sign = kHeadStatisticList[options.statistic].has_sign ? Sign::kZeroCentred : Sign::kPositive;
  for (std::size_t n = 0; n < all.size(); ++n) {
    figure::Panel panel = head_map(fields[n], scale_of(input, sign, fields, n));
    if (const std::vector<std::string> texts = map_texts(*all[n], options.statistic); !texts.empty()) {
      set_texts(texts, std::get<figure::HeatMap>(panel.layers.front()));
    }
    name_after(input.columns[n], panel);
    panel.color_bar_label = kHeadStatisticList[options.statistic].meaning;
    panel.note = atlas_note_of(input.columns[n]);
    figure.panels.push_back(std::move(panel));
  }
  return figure;
}

// The first column's heads in layer order, unless the table is sorted.
Result<Data> Heads::table(const ViewInput& input, const Numbers& all) const {
  const HeadsOptions options = options_of(input);
  const HeadRows& rows = *all.front();
  if (!options.table) {
    const auto field = map_of(rows, input.columns.front().trace->model(), options.statistic);
    return Data{{field->rows, field->columns}, field->values, {}};
  }
  const std::vector<std::size_t> order = sorted_heads(rows, options);
  std::vector<Series> series{{"layer", numbers_of(order, [&](std::size_t index) { return rows[index].layer; })},
                             {"head", numbers_of(order, [&](std::size_t index) { return rows[index].head; })}};
  for (std::size_t n = 0; n < kHeadStatistics; ++n) {
    series.push_back(
        {kHeadStatisticList[n].name, numbers_of(order, [&](std::size_t index) { return rows[index].values[n]; })});
    if (rows.front().of_atlas) {
      series.push_back({std::string(kHeadStatisticList[n].name) + " ±",
                        numbers_of(order, [&](std::size_t index) { return rows[index].half[n]; })});
    }
  }
  return table_of(series);
}

// Where a head stands in that order; its end where it does not.
std::vector<std::size_t>::const_iterator line_of(const HeadRows& rows, const std::vector<std::size_t>& order,
                                                 std::int64_t layer, std::int64_t head) {
  return std::find_if(order.begin(), order.end(),
                      [&](std::size_t index) { return rows[index].layer == layer && rows[index].head == head; });
}

// Only what is in the cache is looked at: this runs on the window's thread.
Selection Heads::pick(const ViewInput& input, const Hit& hit) const {
  const HeadsOptions options = options_of(input);
  const std::size_t column = std::min(hit.panel, input.columns.size() - 1);
  if (!options.table) {
    return pick_head(input.columns[column].trace->model(), hit, column);
  }
  const auto rows = kept(input, column);
  if (!rows || hit.y < 0) {
    return {};
  }
  const auto order = shown_heads(*rows, options);
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
  const HeadsOptions options = options_of(input);
  std::vector<Place> places;
  if (!selection.layer || !selection.head || *selection.head < 0) {
    return places;
  }
  if (!options.table) {
    return head_places(selection, input.columns.size());
  }
  for (std::size_t panel = 0; panel < input.columns.size(); ++panel) {
    const auto rows = kept(input, panel);
    if (!rows) {
      continue;
    }
    const auto order = shown_heads(*rows, options);
    const auto found = line_of(*rows, order, *selection.layer, *selection.head);
    if (found != order.end()) {
      places.push_back({panel, {0, static_cast<double>(kHeadStatistics)}, cell_interval(found - order.begin())});
    }
  }
  return places;
}

std::optional<Selection> Heads::step(const ViewInput& input, std::int64_t by) const {
  const HeadsOptions options = options_of(input);
  if (!options.table) {
    return std::nullopt;
  }
  const auto rows = kept(input, 0);
  if (!rows || rows->empty()) {
    return std::nullopt;
  }
  const auto order = sorted_heads(*rows, options);
  const HeadRef shown = head_of_column(input, 0);
  const auto found = line_of(*rows, order, shown.layer, shown.head);
  const auto last = static_cast<std::int64_t>(order.size()) - 1;
  const std::int64_t now = found == order.end() ? 0 : found - order.begin();
  const std::int64_t line = found == order.end() ? 0 : std::clamp<std::int64_t>(now + by, 0, last);
  Selection selection;
  selection.layer = (*rows)[order[static_cast<std::size_t>(line)]].layer;
  selection.head = (*rows)[order[static_cast<std::size_t>(line)]].head;
  const auto first = static_cast<std::int64_t>(first_shown(order.size(), options));
  if (line < first || line >= first + options.rows) {
    selection.option = {"from", line < first ? line : line - options.rows + 1};
  }
  return selection;
}

}  // namespace

const View& heads_view() {
  return made_once<Heads>();
}

}  // namespace locus::views

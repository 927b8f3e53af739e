#include "app/views/shared/statement.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "app/views/shared/findings.h"
#include "app/views/shared/plots/map_lines.h"
#include "app/views/shared/plots/panel.h"
#include "app/views/shared/plots/series.h"
#include "app/views/shared/score_maps/score_map.h"
#include "core/base/numbers.h"

namespace locus::views {

namespace {

constexpr std::int64_t kFarBack = 32;  // tokens
constexpr std::size_t kMaxSeries = 3;  // that a statement names; of the others it gives the number

std::string plain_head(const ViewInput& input, std::size_t column) {
  const HeadRef head = head_of_column(input, column);
  return head.head < 0 ? "the mean of layer " + std::to_string(head.layer) + "'s heads"
                       : "head " + std::to_string(head.layer) + "." + std::to_string(head.head);
}

template <class Layer>
const Layer* first_layer(const figure::Panel& panel) {
  for (const figure::Layer& layer : panel.layers) {
    if (const auto* found = std::get_if<Layer>(&layer)) {
      return found;
    }
  }
  return nullptr;
}

// Where a query's weight goes, as means over the queries from 1.
struct WeightShares {
  double self = 0;
  double previous = 0;
  double first = 0;
  double far = 0;
};

bool is_whole_map(const Field& field, const models::Trace& trace) {
  const auto starts = [](const FieldAxis& axis) { return axis.first == 0 && axis.step == 1; };
  return field.rows == trace.length() && field.columns == trace.length() && field.rows > 1 && !trace.crosses() &&
         starts(field.row_axis) && starts(field.column_axis);
}

WeightShares shares_of(const Field& field) {
  WeightShares sum;
  const auto value = [&](std::int64_t row, std::int64_t column) {
    const float weight = field.at(row, column);
    return std::isfinite(weight) ? static_cast<double>(weight) : 0;
  };
  for (std::int64_t row = 1; row < field.rows; ++row) {
    sum.self += value(row, row);
    sum.previous += value(row, row - 1);
    sum.first += value(row, 0);
    for (std::int64_t column = 0; column < row - kFarBack; ++column) {
      sum.far += value(row, column);
    }
  }
  const auto queries = static_cast<double>(field.rows - 1);
  return {sum.self / queries, sum.previous / queries, sum.first / queries, sum.far / queries};
}

std::string shares_line(const std::string& head, double self, double previous, double first) {
  return head + " gives its own token " + fixed_text(self, 2) + ", the one before " + fixed_text(previous, 2) +
         ", the first " + fixed_text(first, 2);
}

std::string measured_line(const ViewInput& input, std::size_t column, const Fingerprint& head) {
  if (std::isnan(head.self)) {  // of a layer without a map
    return {};
  }
  const std::string who = plain_head(input, column);
  const std::string found = words_of(findings_of(head), true);
  return found.empty() ? shares_line(who, head.self, head.previous, head.first) + ", looks " +
                             fixed_text(head.distance, 1) + " tokens back on average"
                       : who + " " + found;
}

// What is found in a whole map of weights, and what the head is known to do beyond this text.
std::string weights_line(const ViewInput& input, std::size_t column, const Field& field, const Fingerprint* known) {
  if (std::none_of(field.values.begin(), field.values.end(), [](float value) { return value > 0; })) {
    return {};  // of a layer without a map
  }
  const std::string who = plain_head(input, column);
  std::vector<Finding> found = findings_of(field, key_labels(*input.columns[column].trace));
  if (known != nullptr) {
    const std::vector<Finding> more = findings_of(*known);
    std::ranges::copy_if(more, std::inserter(found, found.begin()),
                         [](const Finding& each) { return each.kind == Finding::Kind::kInduction; });
  }
  const std::string words = words_of(found, head_of_column(input, column).head >= 0);
  if (!words.empty() && found.front().kind != Finding::Kind::kPeak) {
    return who + " " + words;
  }
  const WeightShares shares = shares_of(field);
  std::string line = shares_line(who, shares.self, shares.previous, shares.first);
  if (field.rows > kFarBack + 1) {
    line += ", tokens more than " + std::to_string(kFarBack) + " back " + fixed_text(shares.far, 2);
  }
  return line + (words.empty() ? "" : ", " + words);  // a peak alone
}

// The quantity of a panel's colours: its map's own word, or the label of the colour bar, which stands beside the last
// of the panels that share it.
std::string shown_quantity(const figure::Figure& figure, std::size_t panel, const std::string& own) {
  std::string label;
  for (std::size_t n = panel; n < figure.panels.size() && label.empty(); ++n) {
    label = figure.panels[n].color_bar_label;
  }
  return own.empty() || label.starts_with(own) ? label : own;
}

// Where a cell of a map stands on an axis: in the map's own words ("query 5"), else by the name on the panel's axis
// ("split in", "flip-flop-rope"), which layers have too ("layer out").
std::string cell_place(const FieldAxis& cells, const figure::Axis& axis, std::int64_t cell) {
  const bool named = axis.cell_names && axis.label == cells.name && cells.unit != "token" && cells.step == 1;
  return cells.name.empty() || named ? place_text(axis, cells.first + cells.step * (static_cast<double>(cell) + 0.5))
                                     : cell_text(cells, cell);
}

// The cells of the smallest and of the largest value, and how many have them; none where there are no numbers.
struct Ends {
  std::int64_t least = 0;
  std::int64_t largest = 0;
  std::int64_t count_of_least = 0;
  std::int64_t count_of_largest = 0;
};
std::optional<Ends> ends_of(const Field& field) {
  std::optional<Ends> ends;
  const auto value_at = [&](std::int64_t cell) { return field.values[static_cast<std::size_t>(cell)]; };
  for (std::int64_t cell = 0; cell < std::ssize(field.values); ++cell) {
    const float value = value_at(cell);
    if (!std::isfinite(value)) {
      continue;
    }
    Ends found = ends.value_or(Ends{cell, cell, 0, 0});
    if (value < value_at(found.least)) {
      found.least = cell;
      found.count_of_least = 0;
    }
    if (value > value_at(found.largest)) {
      found.largest = cell;
      found.count_of_largest = 0;
    }
    found.count_of_least += value == value_at(found.least) ? 1 : 0;
    found.count_of_largest += value == value_at(found.largest) ? 1 : 0;
    ends = found;
  }
  return ends;
}

// Says where the rows of a map have their maximum, where each is scaled to a maximum of 1, which says nothing itself.
std::string maxima_line(const std::string& quantity, const std::string& least, const RowMaxima& maxima) {
  return quantity + " down to " + least + ", the largest of a row at distance " + std::to_string(maxima.distance) +
         " in " + std::to_string(maxima.rows) + " of " + std::to_string(maxima.all) + " rows";
}

// "logit from −2 to 5, the largest at query 5, key 3", or "logit depends on i − j alone, from −2 to 5, the largest at
// distance 0"; of a table, whose cells have names alone, both places: "error (%) from 0 (flip-flop-cope, split in) to
// 40 (flip-flop-learned, split sparse)". Of places that tie, how many there are.
std::string range_line(const figure::Panel& panel, const Field& field, const std::string& quantity) {
  const std::optional<Ends> ends = ends_of(field);
  if (!ends) {
    return {};
  }
  const auto number = [&](std::int64_t cell) {
    return short_number(static_cast<double>(field.values[static_cast<std::size_t>(cell)]));
  };
  const auto place = [&](std::int64_t cell) {
    return cell_place(field.row_axis, panel.y, cell / field.columns) + ", " +
           cell_place(field.column_axis, panel.x, cell % field.columns);
  };
  const std::string what = quantity.empty() ? "values" : quantity;
  const bool table = field.row_axis.name.empty() && panel.y.cell_names;
  if (table) {
    const auto end = [&](std::int64_t cell, std::int64_t count) {
      return number(cell) + " (" + (count > 1 ? std::to_string(count) + " cells" : place(cell)) + ")";
    };
    return what + " from " + end(ends->least, ends->count_of_least) + " to " +
           end(ends->largest, ends->count_of_largest);
  }
  if (const auto maxima = row_maxima(field)) {
    return maxima_line(what, number(ends->least), *maxima);
  }
  const std::string range = " from " + number(ends->least) + " to " + number(ends->largest);
  if (depends_on_distance(field)) {
    const auto distance = largest_distance(field);
    return what + " depends on i − j alone," + range +
           (distance ? ", the largest at distance " + std::to_string(*distance) : "");
  }
  return what + range +
         (ends->count_of_largest > 1 ? ", the largest in " + std::to_string(ends->count_of_largest) + " cells"
                                     : ", the largest at " + place(ends->largest));
}

// The map of a head in a grid whose thumbnails have a cell for each of the text's.
Field thumbnail_of(const Field& grid, std::int64_t layer, std::int64_t head, std::int64_t size) {
  Field field = Field::zeros(size, size);
  for (std::int64_t row = 0; row < size; ++row) {
    for (std::int64_t column = 0; column < size; ++column) {
      field.at(row, column) = grid.at(layer * size + row, head * size + column);
    }
  }
  return field;
}

// The heads of a grid by what they do; empty where a head is not measured, and the grid is too coarse to tell.
std::string grid_line(const ViewInput& input, std::size_t column, const Field& grid, const KnownHeads& known) {
  const models::ModelInfo& model = input.columns[column].trace->model();
  const std::int64_t length = input.columns[column].trace->length();
  const bool whole = grid.rows == model.layers * length && grid.columns == model.heads * length;
  std::map<Finding::Kind, std::vector<std::string>> heads;
  for (std::int64_t layer = 0; layer < model.layers; ++layer) {
    for (std::int64_t head = 0; head < model.heads; ++head) {
      const Fingerprint* const measured = known ? known(column, {layer, head}) : nullptr;
      if (measured == nullptr && !whole) {
        return {};
      }
      const std::vector<Finding> found =
          measured != nullptr ? findings_of(*measured) : findings_of(thumbnail_of(grid, layer, head, length), {});
      if (!found.empty() && found.front().kind != Finding::Kind::kPeak) {
        heads[found.front().kind].push_back("head " + head_name(layer, head));
      }
    }
  }
  using Kind = Finding::Kind;
  const std::pair<Kind, const char*> kinds[] = {{Kind::kInduction, "induction heads"},
                                                {Kind::kPrevious, "previous-token heads"},
                                                {Kind::kFirst, "read the first token"},
                                                {Kind::kSelf, "read the token itself"}};
  std::string line;
  for (const auto& [kind, words] : kinds) {
    const std::vector<std::string>& list = heads[kind];
    if (list.empty()) {
      continue;
    }
    std::string names;
    for (std::size_t n = 0; n < std::min(list.size(), kMaxSeries); ++n) {
      names += (n == 0 ? "" : ", ") + list[n];
    }
    const bool are = kind == Kind::kInduction || kind == Kind::kPrevious;
    line += (line.empty() ? "" : ", ") + std::to_string(list.size()) + " of " +
            std::to_string(model.layers * model.heads) + " heads " + (are ? "are " : "") + words + " (" + names +
            (list.size() > kMaxSeries ? ", …)" : ")");
  }
  return line.empty() ? "none of the " + std::to_string(model.layers * model.heads) +
                            " heads gives a third of its weight to one place"
                      : line;
}

// The highest point of a curve where it stands out: inside, alone, above both ends by a fifth of the range, with a band
// above theirs, and not a ring, which marks what a null has too.
std::optional<std::size_t> summit_of(const figure::Curve& curve, std::size_t first, std::size_t last) {
  constexpr double kStandsOut = 0.2;
  std::size_t best = first;
  double least = curve.y[first];
  bool tied = false;
  for (std::size_t n = first; n <= last; ++n) {
    if (std::isfinite(curve.y[n])) {
      tied = n != best && (curve.y[n] == curve.y[best] || (tied && curve.y[n] < curve.y[best]));
      best = curve.y[n] > curve.y[best] ? n : best;
      least = std::min(least, curve.y[n]);
    }
  }
  const double ends = std::max(curve.y[first], curve.y[last]);
  const bool above = curve.y[best] - ends > kStandsOut * (curve.y[best] - least);
  const bool ring = best < curve.hollow.size() && curve.hollow[best] != 0;
  const auto high = [&](std::size_t n) { return n < curve.high.size() ? curve.high[n] : curve.y[n]; };
  const bool told = best >= curve.low.size() || curve.low[best] > std::max(high(first), high(last));
  return best != first && best != last && above && !tied && !ring && told ? std::optional(best) : std::nullopt;
}

std::string curve_text(const figure::Curve& curve, const figure::Axis& axis) {
  std::optional<std::size_t> first;
  std::size_t last = 0;
  for (std::size_t n = 0; n < std::min(curve.x.size(), curve.y.size()); ++n) {
    if (std::isfinite(curve.y[n])) {
      first = first.value_or(n);
      last = n;
    }
  }
  if (!first) {
    return {};
  }
  const auto point = [&](std::size_t n) { return short_number(curve.y[n]) + " at " + place_text(axis, curve.x[n]); };
  const auto summit = summit_of(curve, *first, last);
  return curve.name + ": " + point(*first) + (last == *first ? "" : ", " + point(last)) +
         (summit ? ", most " + point(*summit) : "");
}

// The largest bar, up or down, where each stands for one thing (a layer, a pair).
std::string largest_bar_text(const figure::Bars& bars, const figure::Axis& axis) {
  std::optional<std::size_t> most;
  for (std::size_t n = 0; n < bars.heights.size() && n + 1 < bars.edges.size(); ++n) {
    if (std::isfinite(bars.heights[n]) && (!most || std::abs(bars.heights[n]) > std::abs(bars.heights[*most]))) {
      most = n;
    }
  }
  const auto ties = [&](double height) { return std::abs(height) == std::abs(bars.heights[*most]); };
  const bool alone = most && std::ranges::count_if(bars.heights, ties) == 1;
  return most && !alone ? bars.name + ": " + short_number(std::abs(bars.heights[*most])) + " in " +
                              std::to_string(std::ranges::count_if(bars.heights, ties)) + " places"
         : most ? bars.name + ": " + short_number(bars.heights[*most]) + " at " +
                      place_text(axis, (bars.edges[*most] + bars.edges[*most + 1]) / 2)
                : std::string();
}

std::string bars_text(const figure::Bars& bars, const figure::Axis& axis) {
  if (axis.cell_names) {
    return largest_bar_text(bars, axis);
  }
  double count = 0;
  double sum = 0;
  double above = 0;
  for (std::size_t n = 0; n < bars.heights.size() && n + 1 < bars.edges.size(); ++n) {
    const double low = bars.edges[n];
    const double high = bars.edges[n + 1];
    count += bars.heights[n];
    sum += bars.heights[n] * (low + high) / 2;
    above += bars.heights[n] * (high <= 0 ? 0 : low >= 0 ? 1 : high / (high - low));
  }
  if (!(count > 0)) {
    return {};
  }
  const std::string name = bars.name.substr(0, bars.name.find(": "));
  return name + ": mean " + short_number(sum / count) + ", " + fixed_text(100 * above / count, 0) + " % above 0";
}

// Those that bear a column's name are all named, of others a few.
std::string series_line(const ViewInput& input, const figure::Panel& panel) {
  std::vector<std::string> all;
  std::size_t of_columns = 0;
  for (const figure::Layer& layer : panel.layers) {
    const auto* curve = std::get_if<figure::Curve>(&layer);
    const auto* bars = std::get_if<figure::Bars>(&layer);
    const std::string text = curve != nullptr && !curve->name.empty() ? curve_text(*curve, panel.x)
                             : bars != nullptr && !bars->name.empty() ? bars_text(*bars, panel.x)
                                                                      : std::string();
    if (!text.empty()) {
      const std::string& name = curve != nullptr ? curve->name : bars->name;
      of_columns += std::ranges::any_of(input.columns, [&](const Column& each) { return name.starts_with(each.name); });
      all.push_back(text);
    }
  }
  const std::size_t most = std::max(kMaxSeries, of_columns == all.size() ? all.size() : 0);
  std::string line = all.empty() || panel.y.label.empty() ? "" : panel.y.label + ", ";
  for (std::size_t n = 0; n < std::min(all.size(), most); ++n) {
    line += (n == 0 ? "" : "; ") + all[n];
  }
  return all.size() > most ? line + "; and " + std::to_string(all.size() - most) + " more" : line;
}

std::string strip_line(const figure::TokenStrip& strip, const std::string& quantity) {
  std::optional<std::size_t> most;
  for (std::size_t n = 0; n < strip.values.size(); ++n) {
    if (std::isfinite(strip.values[n]) && (!most || strip.values[n] > strip.values[*most])) {
      most = n;
    }
  }
  if (!most || *most >= strip.tokens.size()) {
    return {};
  }
  const auto ties = std::ranges::count(strip.values, strip.values[*most]);
  const std::string to = (ties > 1 ? " " + std::to_string(ties) + " tokens"
                                   : " token " + std::to_string(*most) + " \"" + strip.tokens[*most] + "\"") +
                         ": " + short_number(static_cast<double>(strip.values[*most]));
  const std::string from = strip.selected >= 0 ? "token " + std::to_string(strip.selected) : "";
  if (!from.empty() && (quantity.empty() || quantity == quantity_label(models::Quantity::kWeight))) {
    return from + " gives most to" + to;
  }
  return (from.empty() ? "" : from + ": ") + "the largest " + (quantity.empty() ? "value" : quantity) + " is at" + to;
}

// "attention weight", and "attention weight, 40 % exact" while a map is being computed.
bool is_weight(const std::string& quantity) {
  const std::string own = quantity.substr(0, quantity.find(", "));
  return own == quantity_label(models::Quantity::kWeight) || own == kShareOfImplied;
}

// A line about the first panel, and whether it names the head itself.
struct PanelLine {
  std::string text;
  bool names_head = false;
};

PanelLine panel_line(const ViewInfo& info, const ViewInput& input, const figure::Figure& figure, std::size_t at,
                     std::size_t column, const KnownHeads& known) {
  const figure::Panel& panel = figure.panels[at];
  if (const auto* map = first_layer<figure::HeatMap>(panel); map != nullptr && map->field) {
    const Field& field = *map->field;
    const std::string quantity = shown_quantity(figure, at, field.quantity);
    const bool of_tokens = field.row_axis.name == "query" && field.column_axis.name == "key";
    const bool weights = info.uses_quantity && is_weight(quantity);
    const HeadRef head = head_of_column(input, column);
    const Fingerprint* const measured = known && head.head >= 0 ? known(column, head) : nullptr;
    if (weights && info.uses_head && of_tokens && is_whole_map(field, *input.columns[column].trace)) {
      return {weights_line(input, column, field, measured), true};
    }
    if (weights && info.uses_head && of_tokens && measured != nullptr) {
      return {measured_line(input, column, *measured), true};
    }
    const bool of_heads = (field.row_axis.name == "layer" && field.column_axis.name == "head") ||
                          field.column_axis.name == "column of heads";
    const std::string grid =
        weights && !info.uses_head && of_heads ? grid_line(input, column, field, known) : std::string();
    return {grid.empty() ? range_line(panel, field, quantity) : grid, !grid.empty()};
  }
  if (const auto* strip = first_layer<figure::TokenStrip>(panel)) {
    return {strip_line(*strip, shown_quantity(figure, at, ""))};
  }
  return {series_line(input, panel)};
}

// The panels that a figure has one of for each column: for each column the next that bears its name. Empty where not
// every column has one.
std::vector<std::size_t> panels_of_columns(const ViewInput& input, const figure::Figure& figure) {
  std::vector<std::size_t> panels;
  for (const Column& column : input.columns) {
    const auto is_its_own = [&](std::size_t n) {
      const std::vector<std::string>& names = figure.panels[n].names;
      return !names.empty() && names.front() == column.name && std::ranges::find(panels, n) == panels.end();
    };
    std::size_t n = 0;
    while (n < figure.panels.size() && !is_its_own(n)) {
      ++n;
    }
    if (n == figure.panels.size()) {
      return {};
    }
    panels.push_back(n);
  }
  return panels;
}

// Names which of several panels with titles a line is about: "text-rope · layer 1, head 2: ", as the panel's title
// says, of which a line that names the head itself takes the names alone. Empty where one panel alone has a title.
std::string subject_of(const figure::Figure& figure, std::size_t at, bool names_head) {
  const auto titled = std::ranges::count_if(figure.panels, [](const auto& panel) { return !panel.title.empty(); });
  const figure::Panel& panel = figure.panels[at];
  if (titled < 2 || panel.title.empty()) {
    return {};
  }
  if (panel.names.empty()) {
    return panel.title + ": ";
  }
  const std::string& name = panel.names.front();
  const bool named = panel.title.find(name) != std::string::npos;  // else it is written beside the panel
  return (names_head ? name : (named ? "" : name + " ") + panel.title) + ": ";
}

}  // namespace

std::string statement(const ViewInfo& info, const ViewInput& input, const figure::Figure& figure,
                      const KnownHeads& known) {
  if (figure.panels.empty() || input.columns.empty()) {
    return {};
  }
  if (!figure.statement.empty()) {
    return figure.statement;
  }
  std::vector<std::size_t> panels = panels_of_columns(input, figure);
  if (panels.size() < 2) {
    panels = {0};
  }
  std::string all;
  const auto add = [&](std::size_t panel, std::size_t column) {
    const PanelLine line = panel_line(info, input, figure, panel, column, known);
    if (!line.text.empty()) {
      all += (all.empty() ? "" : "; ") + subject_of(figure, panel, line.names_head) + line.text;
    }
  };
  for (std::size_t column = 0; column < panels.size(); ++column) {
    add(panels[column], column);
  }
  // A single column has no difference; the figure may still be that of an earlier input with two columns.
  const std::vector<std::size_t> compared = compared_columns(input);
  for (std::size_t n = 0; n < figure.panels.size() && !compared.empty(); ++n) {
    if (figure.panels[n].color_bar_label.starts_with("difference of ") &&
        std::ranges::find(panels, n) == panels.end()) {
      add(n, compared.front());
    }
  }
  return all;
}

}  // namespace locus::views

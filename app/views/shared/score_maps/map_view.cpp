#include "app/views/shared/score_maps/map_view.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>

#include "app/views/shared/alignment.h"
#include "app/views/shared/plots/flat_columns.h"
#include "app/views/shared/plots/picture_blocks.h"
#include "app/views/shared/plots/trained_length.h"
#include "app/views/shared/score_maps/hidden_cells.h"
#include "core/base/controls.h"

namespace locus::views {

namespace {

// The places left of key 0, named.
void add_sink_column(const ViewInput& input, const FieldPointer& left, const figure::ColorScale& scale,
                     figure::Panel& panel) {
  panel.layers.emplace_back(figure::HeatMap{left, scale, input.reduction});
  panel.layers.emplace_back(figure::Marker{.label = {}, .dashed = false});
  panel.note = joined_notes(panel.note, "left of key 0: the " + left->column_axis.unit);
  if (!input.camera) {
    panel.x.view.low = left->column_axis.first;
  }
}

}  // namespace

Status needs_dot_product(const Column& column) {
  const models::ModelInfo& model = column.trace->model();
  if (!model.has_dot_product()) {
    const std::string& encoding = model.first_encoding().name;
    return unsupported("the encoding of " + column.name + " (" + (encoding.empty() ? "not named" : encoding) +
                       ") has no vector for a position");
  }
  return {};
}

std::string positions_label(const ViewInput& input, const Column& column) {
  constexpr std::int64_t kCompared = 64;  // positions
  const models::ModelInfo& model = column.trace->model();
  const auto alike = [&]() -> Result<bool> {
    const Range row{column.trace->length() - 1, column.trace->length()};
    const Range some{std::max<std::int64_t>(0, row.end - kCompared), row.end};
    LOCUS_TRY(const Field first, column.trace->dot_product(input.layer, 0, row, some, {}));
    for (std::int64_t head = 1; head < model.heads; ++head) {
      LOCUS_TRY(const Field other, column.trace->dot_product(input.layer, head, row, some, {}));
      if (other.values != first.values) {
        return false;
      }
    }
    return true;
  };
  const auto found =
      analysed<bool>(input, column, {column.trace}, {"heads with the same positions", input.layer}, alike);
  const bool told_apart = !found.ok() || !**found || model.heads == 1;
  return told_apart ? head_label(model, input.layer, input.head)
                    : "layer " + std::to_string(input.layer) + ", every head";
}

Control cosine_control() {
  return toggle("cosine", "Cosine", "Divide by the lengths of both states");
}

Control centred_control() {
  return toggle("centred", "Centred",
                "Subtract the mean state of all shown positions first: what they have in common hides how they differ");
}

models::Similarity similarity_of(const ViewInput& input, Range positions) {
  const auto cosine = input.options.boolean("cosine", false);
  const auto centred = input.options.boolean("centred", false);
  return {cosine && *cosine, centred && *centred ? positions : Range{}};
}

std::string similarity_label(const models::Similarity& similarity, const std::string& first,
                             const std::string& second) {
  const std::string less = similarity.centred.empty() ? "" : " − ē";
  return similarity.cosine ? "cosine of " + first + less + " and " + second + less
                           : "⟨" + first + less + ", " + second + less + "⟩";
}

MapWindow whole_window(std::int64_t length) {
  return {{0, length}, {0, length}, length, length};
}

MapAxes MapView::axes_of(const ViewInput& input, const Column& column) const {
  const Column& first = input.columns.front();
  const bool tokens = length(input, column) == column.trace->length() && length(input, first) == first.trace->length();
  return tokens ? MapAxes{key_axis(input, column), query_axis(input, column)} : MapAxes{};
}

ViewInput MapView::on_axes(ViewInput input, const MapAxes& axes) {
  if (input.camera) {
    figure::Axis x;
    figure::Axis y;
    x.of_camera = axes.x;
    y.of_camera = axes.y;
    input.camera = Camera{figure::from_camera(x, input.camera->x), figure::from_camera(y, input.camera->y)};
  }
  return input;
}

std::optional<Camera> MapView::home(const ViewInput& input) const {
  std::int64_t longest = 1;
  std::int64_t widest = 1;
  double begin = 0;
  for (std::size_t n = 0; n < input.columns.size(); ++n) {
    const MapAxes axes = axes_of(input, input.columns[n]);
    longest = std::max(longest, axes.y ? 1 : length(input, input.columns[n]));
    widest = std::max(widest, axes.x ? 1 : keys(input, input.columns[n]));
    begin = std::min(begin, -sink_width(of_column(input, n), input.columns[n]));
  }
  return Camera{{begin, static_cast<double>(widest)}, {static_cast<double>(longest), 0}};
}

Result<std::optional<DrawnValue>> MapView::drawn_at(const ViewInput& input, std::size_t column, std::int64_t query,
                                                    std::int64_t key) const {
  const Column& own = input.columns[column];
  if (info().of_scores || query < 0 || query >= length(input, own) || key < 0 || key >= keys(input, own)) {
    return std::optional<DrawnValue>();
  }
  ViewInput one = of_column(input, column);
  one.cache.reset();  // a cell is not worth a place
  one.step_ms.reset();
  LOCUS_TRY(const RefinedMap map, field(one, own, {{query, query + 1}, {key, key + 1}, 1, 1}));
  return std::optional(DrawnValue{quantity(input), map.field->values.front()});
}

figure::Panel MapView::panel_of(const ViewInput& input, const Column& column, const MapWindow& window,
                                const RefinedMap& map, const figure::ColorScale& scale) const {
  const MapAxes axes = axes_of(input, column);
  figure::Panel panel = map_panel(on_axes(input, axes), *column.trace, window, map, scale);
  panel.x.of_camera = axes.x;
  panel.y.of_camera = axes.y;
  const std::int64_t cells = length(input, column);
  if (cells == column.trace->length()) {
    panel.y.blocks = picture_blocks(input, column);
    panel.x.blocks = column.trace->crosses() ? nullptr : panel.y.blocks;
  } else {  // not of the run's tokens: numbers instead of names
    panel.x.cell_names = panel.y.cell_names = nullptr;
    if (!input.camera) {
      panel.x.view = {0, static_cast<double>(cells)};
      panel.y.view = {static_cast<double>(cells), 0};
    }
  }
  return panel;
}

// Where rows and columns are the run's tokens, what its mask hides.
void MapView::explain_hidden(const ViewInput& input, std::size_t column, figure::Panel& panel) const {
  const Column& own = input.columns[column];
  if (length(input, own) == own.trace->length() && names_tokens()) {
    say_hidden(own, head_of_column(input, column).layer, std::get<figure::HeatMap>(panel.layers.front()));
  }
}

Result<figure::Figure> MapView::figure(const ViewInput& input) const {
  LOCUS_CHECK(check(*this, input));
  const int panels = static_cast<int>(input.columns.size() + difference_panels(input));
  std::vector<MapWindow> windows;
  std::vector<RefinedMap> maps;
  Fields left;  // of each map; null: nothing
  for (const Column& column : input.columns) {
    LOCUS_CHECK(available(column));
    LOCUS_TRY(left.emplace_back(), sink_column(of_column(input, maps.size()), column));
    const ViewInput seen = on_axes(input, axes_of(input, column));
    windows.push_back(visible_window(seen, length(input, column), keys(input, column), panels));
    LOCUS_TRY(auto made, field(of_column(input, maps.size()), column, windows.back()));
    maps.push_back(std::move(made));
  }
  const Fields colored = colored_by(maps);
  Fields all = colored;
  std::copy_if(left.begin(), left.end(), std::back_inserter(all), [](const auto& field) { return field != nullptr; });
  const std::string done = exactness(maps);
  figure::Figure figure = figure_across(panels);
  for (std::size_t n = 0; n < maps.size(); ++n) {
    Fields own{colored[n], left[n]};
    if (left[n] == nullptr) {
      own.pop_back();
    }
    const auto scale = color_scale(input, sign(input), input.scale.shared ? all : own,
                                   largest_of(maps[n], input.reduction, windows[n].share()));
    const Column& column = input.columns[n];
    figure::Panel panel = panel_of(input, column, windows[n], maps[n], scale);
    explain_hidden(input, n, panel);
    name_after(column, panel, (has_own_head(input, n) ? " ⚮ " : " · ") + subtitle(of_column(input, n), column));
    strike_silent(column, head_of_column(input, n), panel);
    // Words that all columns share stand once, so that the maps get the room.
    if (!input.scale.shared || n + 1 == maps.size()) {
      panel.color_bar_label = quantity(input) + (done.empty() ? "" : ", " + done);
    }
    if (n > 0) {
      panel.y.label.clear();
    }
    if (left[n] != nullptr) {
      add_sink_column(input, left[n], scale, panel);
    }
    if (length(input, column) == column.trace->length() && names_tokens()) {
      mark_trained_length(*column.trace, panel);
    }
    decorate(of_column(input, n), column, panel);
    figure.panels.push_back(std::move(panel));
  }
  if (shows_difference(input)) {
    LOCUS_CHECK(add_differences(input, windows, maps, figure));
  }
  LOCUS_CHECK(append_rows(input, figure));
  note_flat_columns(input, figure);
  return figure;
}

Result<std::vector<float>> MapView::map_values(const ViewInput& input) const {
  const auto of = [&](const ViewInput& one, const Column& column) -> Result<std::vector<float>> {
    auto map = whole(one, column);
    if (!map) {
      return map.error().context.empty() ? map.error().within(column.name) : map.error();
    }
    return std::move(map->values);
  };
  if (!shows_difference(input)) {
    return of(of_column(input, 0), input.columns[0]);
  }
  const std::size_t own = compared_columns(input).front();
  const std::size_t from = reference_of(input);
  const Column& column = input.columns[own];
  const Column& other = input.columns[from];
  LOCUS_TRY(std::vector<float> values, of(of_column(input, own), column));
  const std::int64_t cells = length(input, column);
  std::vector<float> second;
  if (cells == column.trace->length() && !same_tokens(*column.trace, *other.trace)) {
    LOCUS_TRY(Field laid, reference_laid_out(input, own, whole_window(cells)));
    second = std::move(laid.values);
    if (additive(input)) {  // a masked weight is 0 in data
      std::replace_if(
          second.begin(), second.end(), [](float value) { return std::isnan(value); }, 0.0F);
    }
  } else {
    LOCUS_TRY(second, of(of_column(input, from), other));
  }
  if (second.size() != values.size()) {
    return unsupported("a difference needs maps of one size: " + column.name + " and " + other.name);
  }
  std::transform(values.begin(), values.end(), second.begin(), values.begin(), std::minus<>());
  return values;
}

Result<DataParts> MapView::data_parts(const ViewInput& input) const {
  LOCUS_CHECK(check(*this, input));
  const std::size_t own = shows_difference(input) ? compared_columns(input).front() : 0;
  const Column& column = input.columns[own];
  LOCUS_CHECK(available(column));
  const models::ModelInfo& model = column.trace->model();
  const std::int64_t cells = length(input, column);
  const bool all_layers = input.layer == kAll;
  const bool all_heads = input.head == kAll;
  if (shows_difference(input) && (all_layers || all_heads)) {
    const Column& other = input.columns[reference_of(input)];
    const models::ModelInfo& second = other.trace->model();
    if (cells == column.trace->length() && !same_tokens(*column.trace, *other.trace)) {
      return unsupported("a difference of all heads needs the same tokens: " + column.name + " and " + other.name +
                         " split this text into " + std::to_string(cells) + " and " +
                         std::to_string(other.trace->length()));
    }
    if (((all_layers || input.by_depth) && second.layers != model.layers) ||
        (all_heads && second.heads != model.heads)) {
      return unsupported("a difference needs as many layers and heads: " + column.name + " and " + other.name);
    }
  }
  DataParts parts;
  const std::int64_t layer = all_heads ? head_of_column(input, own).layer : input.layer;
  const Range layers = all_layers ? Range{0, model.layers} : Range{layer, layer + 1};
  const Range heads = all_heads ? Range{0, model.heads} : Range{input.head, input.head + 1};
  if (all_layers) {
    parts.shape.push_back(layers.size());
  }
  if (all_heads) {
    parts.shape.push_back(heads.size());
  }
  parts.shape.insert(parts.shape.end(), {cells, keys(input, column)});
  parts.count = layers.size() * heads.size();
  if (cells == column.trace->length()) {
    parts.tokens = key_labels(*column.trace);
  }
  for (std::int64_t n = 0; n < parts.count; ++n) {
    const HeadRef each = !all_layers && !all_heads
                             ? head_of_column(input, own)
                             : HeadRef{layers.begin + n / heads.size(), heads.begin + n % heads.size()};
    const std::string head = ", " + head_label(model, each.layer, each.head);
    if (!shows_difference(input)) {
      parts.titles.push_back(column.name + head + ": " + quantity(input));
      continue;
    }
    const Column& other = input.columns[reference_of(input)];
    const HeadRef from = !all_layers && !all_heads ? head_of_column(input, reference_of(input)) : each;
    const std::string less = ", " + head_label(other.trace->model(), from.layer, from.head);
    parts.titles.push_back(column.name + (head == less ? "" : head) + " − " + other.name + less + ": difference of " +
                           quantity(input));
  }
  parts.part = [this, input, layers, heads](std::int64_t n) {
    ViewInput one = layers.size() * heads.size() > 1 ? of_column(input, 0) : input;  // partners are of one head
    one.layer = layers.begin + n / heads.size();
    one.head = heads.begin + n % heads.size();
    return map_values(one);
  };
  return parts;
}

Result<Data> MapView::data(const ViewInput& input) const {
  LOCUS_TRY(const DataParts parts, data_parts(input));
  return collected(parts);
}

}  // namespace locus::views

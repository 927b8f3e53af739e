// Differences of the maps of columns, as panels.
#include "app/views/shared/alignment.h"
#include "app/views/shared/score_maps/map_metrics.h"
#include "app/views/shared/score_maps/map_view.h"

namespace locus::views {

namespace {

// The note below the panel of a difference: over all that is shown, and of the pinned query.
std::string difference_note(const ViewInput& input, std::size_t column, const MapWindow& window, const RefinedMap& map,
                            const RefinedMap& from, bool shares) {
  const Field& a = *map.field;
  const Field& b = *from.field;
  if (!map.complete() || !from.complete() || a.rows != b.rows || a.columns != b.columns) {
    return {};
  }
  const bool whole = !window.reduced();  // else a row of the field is none of the map
  std::string text =
      metrics_text(map_metrics(a, b, {0, a.rows}, shares), shares && whole) + (whole ? "" : " of what is shown");
  const std::int64_t query = query_of(input, input.columns[column]);
  if (whole && window.rows.contains(query)) {
    const std::int64_t row = query - window.rows.begin;
    text += "; query " + std::to_string(query) + ": " + metrics_text(map_metrics(a, b, {row, row + 1}, shares), shares);
  }
  return text;
}

}  // namespace

// "A − B · layer 1, head 2", and where they show other heads "A · layer 1, head 2 − B · layer 0, head 3".
std::string MapView::difference_title(const ViewInput& input, std::size_t column) const {
  const std::size_t from = reference_of(input);
  const std::string own = " · " + subtitle(of_column(input, column), input.columns[column]);
  const std::string other = " · " + subtitle(of_column(input, from), input.columns[from]);
  return input.columns[column].name + (own == other ? "" : own) + " − " + input.columns[from].name + other;
}

void MapView::name_difference(const ViewInput& input, std::size_t column, figure::Panel& panel) const {
  panel.names = {input.columns[column].name, input.columns[reference_of(input)].name};
  panel.title = difference_title(input, column);
}

// Where a difference cannot be shown, why.
figure::Panel MapView::reason_panel(const ViewInput& input, std::size_t column, const Error& reason) const {
  figure::Panel panel;
  name_difference(input, column, panel);
  panel.show_axes = false;
  panel.note = reason.message;
  return panel;
}

// The reference's map on another column's tokens. Errors: kUnsupported where the screen does not show single cells.
Result<Field> MapView::reference_laid_out(const ViewInput& input, std::size_t on, const MapWindow& window) const {
  const std::size_t from = reference_of(input);
  const Column& own = input.columns[on];
  const Column& reference = input.columns[from];
  if (own.trace->crosses() || reference.trace->crosses()) {
    return unsupported("no difference: " + own.name + " and " + reference.name +
                       " have other tokens, which cross-attention is not aligned by");
  }
  if (own.trace->text() != reference.trace->text() || own.trace->text().empty()) {
    return unsupported("no difference: " + own.name + " and " + reference.name + " have " +
                       std::to_string(length(input, own)) + " and " + std::to_string(length(input, reference)) +
                       " tokens and no text in common to align them by");
  }
  const std::int64_t cells = reference.trace->length();
  if (window.reduced() || cells * cells > kAtOnceCells) {
    return unsupported("no difference: " + reference.name +
                       " splits the text into other tokens; zoom in to single cells, or shorten the text, to see it "
                       "aligned");
  }
  LOCUS_TRY(const auto map, field(of_column(input, from), reference, whole_window(cells)));
  return laid_out(*map.field, *reference.trace, *own.trace, window.rows, window.columns, additive(input));
}

Result<MapView::Difference> MapView::difference_of(const ViewInput& input, std::size_t column, const MapWindow& window,
                                                   const std::vector<RefinedMap>& maps) const {
  const std::size_t from = reference_of(input);
  const Column& own = input.columns[column];
  const Column& reference = input.columns[from];
  const std::int64_t cells = length(input, own);
  const bool of_tokens = cells == own.trace->length() && length(input, reference) == reference.trace->length();
  Difference made;
  made.column = column;
  made.aligned_by_text = of_tokens && !same_tokens(*own.trace, *reference.trace);
  RefinedMap second = maps[from];
  if (made.aligned_by_text) {
    LOCUS_TRY(Field laid, reference_laid_out(input, column, window));
    second = {std::make_shared<const Field>(std::move(laid)), nullptr, {}, {}};
  } else if (cells != length(input, reference)) {
    return unsupported("no difference: the maps have " + std::to_string(cells) + " and " +
                       std::to_string(length(input, reference)) + " positions");
  }
  // A token without a counterpart in the text of another tokenizer has no weight of 0.
  const bool masked_is_zero = additive(input) && !made.aligned_by_text;
  LOCUS_TRY(made.map, difference(input, {own, maps[column]}, {reference, second}, masked_is_zero));
  made.note = difference_note(input, column, window, maps[column], second, additive(input));
  return made;
}

figure::Panel MapView::difference_panel(const ViewInput& input, const Difference& made, const MapWindow& window,
                                        const figure::ColorScale& scale) const {
  const Column& column = input.columns[made.column];
  figure::Panel panel = panel_of(input, column, window, made.map, scale);
  explain_hidden(input, made.column, panel);
  name_difference(input, made.column, panel);
  panel.note = joined_notes(panel.note, made.note);
  if (made.aligned_by_text) {
    panel.note = joined_notes(panel.note, "aligned by text, on the tokens of " + column.name);
  }
  panel.y.label.clear();
  return panel;
}

// The difference of two columns stands behind their maps; differences of more stand in place of them.
Status MapView::add_differences(const ViewInput& input, const std::vector<MapWindow>& windows,
                                const std::vector<RefinedMap>& maps, figure::Figure& figure) const {
  std::vector<Difference> list;
  std::vector<RefinedMap> shown;
  std::vector<std::pair<std::size_t, figure::Panel>> panels;
  for (const std::size_t column : compared_columns(input)) {
    auto made = difference_of(input, column, windows[column], maps);
    if (!made && made.error().code != ErrorCode::kUnsupported) {
      return made.error();
    }
    if (!made) {
      panels.emplace_back(column, reason_panel(input, column, made.error()));
      continue;
    }
    shown.push_back(made->map);
    list.push_back(*std::move(made));
  }
  ViewInput own = input;  // differences have their own colours
  own.scale.low.reset();
  own.scale.high.reset();
  own.scale.colormap.clear();
  own.scale.transfer = figure::Transfer::kLinear;
  const Fields colored = colored_by(shown);
  const std::string done = exactness(shown);
  for (std::size_t n = 0; n < list.size(); ++n) {
    const auto scale = color_scale(own, Sign::kZeroCentred, colored_with(input, colored, n));
    figure::Panel panel = difference_panel(input, list[n], windows[list[n].column], scale);
    if (!input.scale.shared || n + 1 == list.size()) {
      panel.color_bar_label = "difference of " + quantity(input) + (done.empty() ? "" : ", " + done);
    }
    panels.emplace_back(list[n].column, std::move(panel));
  }
  for (auto& [column, panel] : panels) {
    if (difference_panels(input) > 0) {
      figure.panels.push_back(std::move(panel));
    } else {
      panel.y.label = column == 0 ? figure.panels[column].y.label : "";
      figure.panels[column] = std::move(panel);
    }
  }
  if (difference_panels(input) == 0) {  // the reference's map is the only one left of its kind
    figure.panels[reference_of(input)].color_bar_label = quantity(input);
  }
  return {};
}

}  // namespace locus::views

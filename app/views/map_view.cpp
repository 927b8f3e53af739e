#include "app/views/map_view.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "app/views/alignment.h"
#include "app/views/controls.h"

namespace locus::views {

namespace {

bool with_difference(const ViewInput& input) {
  return input.difference && input.columns.size() > 1;
}

figure::Panel difference_panel(const ViewInput& input, const MapWindow& window, const RefinedMap& map) {
  ViewInput own = input;  // a difference has its own colours
  own.scale.low.reset();
  own.scale.high.reset();
  own.scale.colormap.clear();
  own.scale.transfer = figure::Transfer::kLinear;
  const figure::ColorScale scale = color_scale(own, Sign::kZeroCentred, colored_by({&map, 1}));
  figure::Panel panel = map_panel(input, *input.columns[0].trace, window, map, scale);
  panel.title = input.columns[0].name + " − " + input.columns[1].name;
  return panel;
}

// Maps that are not of the run's tokens: their own size, and numbers instead of names.
void show_length(const ViewInput& input, const models::Trace& trace, std::int64_t length, figure::Panel& panel) {
  if (length == trace.length()) {
    return;
  }
  panel.x.cell_names = panel.y.cell_names = nullptr;
  if (!input.camera) {
    panel.x.view = {0, static_cast<double>(length)};
    panel.y.view = {static_cast<double>(length), 0};
  }
}

// Where a difference cannot be shown, why.
figure::Panel reason_panel(const ViewInput& input, const Error& reason) {
  figure::Panel panel;
  panel.title = input.columns[0].name + " − " + input.columns[1].name;
  panel.show_axes = false;
  panel.note = reason.message;
  return panel;
}

}  // namespace

Status needs_dot_product(const Column& column) {
  const models::ModelInfo& model = column.trace->model();
  if (!model.has_dot_product) {
    return unsupported("the encoding of " + column.name + " (" + model.encoding + ") has no vector for a position");
  }
  return {};
}

Control cosine_control() {
  return toggle("cosine", "Cosine", "Divided by the lengths of the two vectors");
}

Control centred_control() {
  return toggle("centred", "Centred",
                "The mean state of all shown positions is subtracted first: what they have in common hides how they "
                "differ");
}

models::Similarity similarity_of(const ViewInput& input, Range positions) {
  const auto cosine = input.options.boolean("cosine", false);
  const auto centred = input.options.boolean("centred", false);
  return {cosine && *cosine, centred && *centred ? positions : Range{}};
}

std::string key_of(const models::Similarity& similarity) {
  return std::string(similarity.cosine ? "cosine" : "raw") + " " + std::to_string(similarity.centred.begin) + " " +
         std::to_string(similarity.centred.end);
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

std::string MapView::subtitle(const ViewInput& input, const Column& column) const {
  return head_label(column.trace->model(), input.layer, input.head);
}

std::vector<Place> MapView::places(const ViewInput& input, const Selection& selection) const {
  return cell_places(input, selection, with_difference(input) ? 1 : 0);
}

std::optional<Camera> MapView::home(const ViewInput& input) const {
  std::int64_t longest = 1;
  for (const Column& column : input.columns) {
    longest = std::max(longest, length(input, column));
  }
  const auto end = static_cast<double>(longest);
  return Camera{{0, end}, {end, 0}};
}

Result<figure::Figure> MapView::figure(const ViewInput& input) const {
  LOCUS_CHECK(check(*this, input));
  const int panels = static_cast<int>(input.columns.size()) + (with_difference(input) ? 1 : 0);
  std::vector<MapWindow> windows;
  std::vector<RefinedMap> maps;
  for (const Column& column : input.columns) {
    LOCUS_CHECK(available(column));
    windows.push_back(visible_window(input, length(input, column), panels));
    LOCUS_TRY(auto made, field(of_column(input, maps.size()), column, windows.back()));
    maps.push_back(std::move(made));
  }
  const std::vector<std::shared_ptr<const Field>> colored = colored_by(maps);
  const std::string done = exactness(maps);
  figure::Figure figure;
  figure.columns = panels;
  for (std::size_t n = 0; n < maps.size(); ++n) {
    const std::span<const std::shared_ptr<const Field>> all(colored);
    const auto scale = color_scale(input, sign(input), input.scale.shared ? all : all.subspan(n, 1));
    const Column& column = input.columns[n];
    figure::Panel panel = map_panel(input, *column.trace, windows[n], maps[n], scale);
    show_length(input, *column.trace, length(input, column), panel);
    panel.title = column.name + " · " + subtitle(of_column(input, n), column);
    // What all columns share is said once, so that the maps get the room.
    if (!input.scale.shared || n + 1 == maps.size()) {
      panel.color_bar_label = quantity(input) + (done.empty() ? "" : ", " + done);
    }
    if (n > 0) {
      panel.y.label.clear();
    }
    decorate(input, column, panel);
    figure.panels.push_back(std::move(panel));
  }
  if (with_difference(input)) {
    LOCUS_CHECK(append_difference(input, windows[0], maps, figure));
  }
  LOCUS_CHECK(append_rows(input, figure));
  return figure;
}

// The second column's map on the first column's tokens. Errors: kUnsupported where the screen does not show single
// cells.
Result<Field> MapView::second_laid_out(const ViewInput& input, const MapWindow& window) const {
  const models::Trace& first = *input.columns[0].trace;
  const Column& second = input.columns[1];
  if (first.text() != second.trace->text() || first.text().empty()) {
    return unsupported("no difference: " + input.columns[0].name + " and " + second.name + " have " +
                       std::to_string(length(input, input.columns[0])) + " and " +
                       std::to_string(length(input, second)) + " tokens and no text in common to align them by");
  }
  const std::int64_t cells = second.trace->length();
  if (window.reduced() || cells * cells > kAtOnceCells) {
    return unsupported("no difference: " + second.name +
                       " splits the text into other tokens; zoom in to single cells, or shorten the text, to see it "
                       "aligned");
  }
  LOCUS_TRY(const auto map, field(of_column(input, 1), second, whole_window(cells)));
  return laid_out(*map.field, *second.trace, first, window.rows, window.columns, additive(input));
}

Status MapView::append_difference(const ViewInput& input, const MapWindow& window, const std::vector<RefinedMap>& maps,
                                  figure::Figure& figure) const {
  const Column& column = input.columns[0];
  const std::int64_t own = length(input, column);
  const bool of_tokens =
      own == column.trace->length() && length(input, input.columns[1]) == input.columns[1].trace->length();
  const bool aligned_by_text = of_tokens && !same_tokens(*column.trace, *input.columns[1].trace);
  const Result<RefinedMap> made = [&]() -> Result<RefinedMap> {
    if (aligned_by_text) {
      LOCUS_TRY(Field second, second_laid_out(input, window));
      return difference(input, maps[0], {std::make_shared<const Field>(std::move(second)), nullptr, {}, {}});
    }
    if (own != length(input, input.columns[1])) {
      return unsupported("no difference: the maps have " + std::to_string(own) + " and " +
                         std::to_string(length(input, input.columns[1])) + " positions");
    }
    return difference(input, maps[0], maps[1]);
  }();
  if (!made && made.error().code == ErrorCode::kUnsupported) {
    figure.panels.push_back(reason_panel(input, made.error()));
    return {};
  }
  if (!made) {
    return made.error();
  }
  figure.panels.push_back(difference_panel(input, window, *made));
  figure::Panel& panel = figure.panels.back();
  show_length(input, *column.trace, own, panel);
  const std::string done = exactness({&*made, 1});
  panel.color_bar_label = "difference of " + quantity(input) + (done.empty() ? "" : ", " + done);
  panel.y.label.clear();
  if (aligned_by_text) {
    panel.note += (panel.note.empty() ? "" : "; ") + std::string("aligned by text, on the tokens of ") + column.name;
  }
  return {};
}

Result<std::vector<float>> MapView::map_values(const ViewInput& input) const {
  const auto of = [&](const ViewInput& one, const Column& column) -> Result<std::vector<float>> {
    auto map = whole(one, column);
    if (!map) {
      return map.error().context.empty() ? map.error().within(column.name) : map.error();
    }
    return std::move(map->values);
  };
  const Column& column = input.columns[0];
  LOCUS_TRY(std::vector<float> values, of(input, column));
  if (!with_difference(input)) {
    return values;
  }
  const Column& other = input.columns[1];
  const std::int64_t cells = length(input, column);
  std::vector<float> second;
  if (cells == column.trace->length() && !same_tokens(*column.trace, *other.trace)) {
    LOCUS_TRY(Field laid, second_laid_out(input, whole_window(cells)));
    second = std::move(laid.values);
    if (additive(input)) {  // a masked weight is 0 in data
      std::replace_if(
          second.begin(), second.end(), [](float value) { return std::isnan(value); }, 0.0F);
    }
  } else {
    LOCUS_TRY(second, of(of_column(input, 1), other));
  }
  if (second.size() != values.size()) {
    return unsupported("a difference needs maps of one size: " + column.name + " and " + other.name);
  }
  std::transform(values.begin(), values.end(), second.begin(), values.begin(), std::minus<>());
  return values;
}

Result<DataParts> MapView::data_parts(const ViewInput& input) const {
  LOCUS_CHECK(check(*this, input));
  const Column& column = input.columns[0];
  LOCUS_CHECK(available(column));
  const models::ModelInfo& model = column.trace->model();
  const std::int64_t cells = length(input, column);
  const bool all_layers = input.layer == kAll;
  const bool all_heads = input.head == kAll;
  if (with_difference(input) && (all_layers || all_heads)) {
    const Column& other = input.columns[1];
    const models::ModelInfo& second = other.trace->model();
    if (cells == column.trace->length() && !same_tokens(*column.trace, *other.trace)) {
      return unsupported("a difference of all heads needs the same tokens: " + column.name + " and " + other.name +
                         " split this text into " + std::to_string(cells) + " and " +
                         std::to_string(other.trace->length()));
    }
    if ((all_layers && second.layers != model.layers) || (all_heads && second.heads != model.heads)) {
      return unsupported("a difference needs as many layers and heads: " + column.name + " and " + other.name);
    }
  }
  DataParts parts;
  const Range layers = all_layers ? Range{0, model.layers} : Range{input.layer, input.layer + 1};
  const Range heads = all_heads ? Range{0, model.heads} : Range{input.head, input.head + 1};
  if (all_layers) {
    parts.shape.push_back(layers.size());
  }
  if (all_heads) {
    parts.shape.push_back(heads.size());
  }
  parts.shape.insert(parts.shape.end(), {cells, cells});
  parts.count = layers.size() * heads.size();
  parts.part = [this, input, layers, heads](std::int64_t n) {
    ViewInput one = input;
    if (layers.size() * heads.size() > 1) {
      one.partners.clear();  // of one head
    }
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

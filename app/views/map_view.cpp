#include "app/views/map_view.h"

#include <algorithm>

namespace locus::views {

namespace {

bool with_difference(const ViewInput& input) {
  return input.difference && input.columns.size() > 1;
}

figure::Panel difference_panel(const ViewInput& input, const MapWindow& window, Field field) {
  auto shared = std::make_shared<const Field>(std::move(field));
  ViewInput own = input;  // a difference has its own colours
  own.scale.low.reset();
  own.scale.high.reset();
  own.scale.colormap.clear();
  own.scale.transfer = figure::Transfer::kLinear;
  const figure::ColorScale scale = color_scale(own, Sign::kZeroCentred, {&shared, 1});
  figure::Panel panel = map_panel(input, *input.columns[0].trace, window, shared, scale);
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

Error differ(const ViewInput& input) {
  return unsupported("a difference needs the same tokens: " + input.columns[0].name + " and " + input.columns[1].name +
                     " split this text into " + std::to_string(input.columns[0].trace->length()) + " and " +
                     std::to_string(input.columns[1].trace->length()));
}

}  // namespace

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
  std::vector<std::shared_ptr<const Field>> fields;
  for (const Column& column : input.columns) {
    LOCUS_CHECK(available(column));
    windows.push_back(visible_window(input, length(input, column), panels));
    LOCUS_TRY(auto made, field(input, column, windows.back()));
    fields.push_back(std::move(made));
  }
  figure::Figure figure;
  figure.columns = panels;
  for (std::size_t n = 0; n < fields.size(); ++n) {
    const std::span<const std::shared_ptr<const Field>> all(fields);
    const auto scale = color_scale(input, sign(input), input.scale.shared ? all : all.subspan(n, 1));
    const Column& column = input.columns[n];
    figure::Panel panel = map_panel(input, *column.trace, windows[n], fields[n], scale);
    show_length(input, *column.trace, length(input, column), panel);
    panel.title = column.name + " · " + subtitle(input, column);
    // What all columns share is said once, so that the maps get the room.
    if (!input.scale.shared || n + 1 == fields.size()) {
      const bool sampled =
          std::any_of(fields.begin(), fields.end(), [](const auto& each) { return is_sampled(*each); });
      panel.color_bar_label = quantity(input) + (sampled ? ", sampled" : "");
    }
    if (n > 0) {
      panel.y.label.clear();
    }
    decorate(input, column, panel);
    figure.panels.push_back(std::move(panel));
  }
  if (with_difference(input)) {
    if (length(input, input.columns[0]) != length(input, input.columns[1])) {
      return differ(input);
    }
    LOCUS_TRY(Field made, difference(*fields[0], *fields[1]));
    figure.panels.push_back(difference_panel(input, windows[0], std::move(made)));
    show_length(input, *input.columns[0].trace, length(input, input.columns[0]), figure.panels.back());
    figure.panels.back().color_bar_label = "difference of " + quantity(input);
    figure.panels.back().y.label.clear();
  }
  LOCUS_CHECK(append_rows(input, figure));
  return figure;
}

Status MapView::append_maps(const ViewInput& input, const Column& column, std::vector<float>& out) const {
  const models::ModelInfo& model = column.trace->model();
  const Range layers = input.layer == kAll ? Range{0, model.layers} : Range{input.layer, input.layer + 1};
  const Range heads = input.head == kAll ? Range{0, model.heads} : Range{input.head, input.head + 1};
  ViewInput one = input;
  for (one.layer = layers.begin; one.layer < layers.end; ++one.layer) {
    for (one.head = heads.begin; one.head < heads.end; ++one.head) {
      const auto map = whole(one, column);
      if (!map) {
        return map.error().context.empty() ? map.error().within(column.name) : map.error();
      }
      out.insert(out.end(), map->values.begin(), map->values.end());
    }
  }
  return {};
}

Result<Data> MapView::data(const ViewInput& input) const {
  LOCUS_CHECK(check(*this, input));
  const Column& column = input.columns[0];
  LOCUS_CHECK(available(column));
  const std::int64_t cells = length(input, column);
  Data data;
  if (input.layer == kAll) {
    data.shape.push_back(column.trace->model().layers);
  }
  if (input.head == kAll) {
    data.shape.push_back(column.trace->model().heads);
  }
  data.shape.insert(data.shape.end(), {cells, cells});
  LOCUS_CHECK(append_maps(input, column, data.values));
  if (with_difference(input)) {
    std::vector<float> second;
    LOCUS_CHECK(append_maps(input, input.columns[1], second));
    if (second.size() != data.values.size()) {
      return differ(input);
    }
    for (std::size_t n = 0; n < second.size(); ++n) {
      data.values[n] -= second[n];
    }
  }
  return data;
}

}  // namespace locus::views

// `attention`: one head's map, or the mean over the heads of a layer, of any quantity.
#include "app/views/list.h"
#include "app/views/score_map.h"

namespace locus::views {

namespace {

class Attention final : public View {
 public:
  const ViewInfo& info() const override { return info_; }
  Result<figure::Figure> figure(const ViewInput& input) const override;
  Result<Data> data(const ViewInput& input) const override;
  Selection pick(const ViewInput& input, const Hit& hit) const override { return pick_cell(input, hit); }
  std::vector<Place> places(const ViewInput& input, const Selection& selection) const override {
    return cell_places(selection, input.columns.size() + (input.difference && input.columns.size() > 1 ? 1 : 0));
  }
  std::optional<Camera> home(const ViewInput& input) const override { return map_home(input); }

 private:
  ViewInfo info_{
      .name = "attention",
      .title = "Attention",
      .shows =
          "One head, or the mean over the heads of a layer: rows are queries, columns are keys, query 0 on top. "
          "Grey cells are masked.",
      .look_for =
          "A bright diagonal is attention to the token itself, one just below it to the previous token; a bright "
          "first column is a sink; stripes parallel to the diagonal are distances that the head prefers "
          "whatever the text says.",
      .paper = "TAPE Fig. 7b",
      .uses_layer = true,
      .uses_head = true,
      .uses_query = true,
      .uses_quantity = true,
      .uses_camera = true,
      .controls = {},
  };
};

models::MapRequest request_of(const ViewInput& input) {
  models::MapRequest request;
  request.layer = input.layer;
  request.head = input.head;
  request.quantity = input.quantity;
  return request;
}

figure::Panel difference_panel(const ViewInput& input, const MapWindow& window, Field field) {
  auto shared = std::make_shared<const Field>(std::move(field));
  ViewInput own = input;
  own.scale.low.reset();
  own.scale.high.reset();
  own.scale.colormap.clear();
  own.scale.transfer = figure::Transfer::kLinear;
  const figure::ColorScale scale = color_scale(own, Sign::kZeroCentred, {&shared, 1});
  figure::Panel panel = map_panel(input, *input.columns[0].trace, window, shared, scale);
  panel.title = input.columns[0].name + " − " + input.columns[1].name;
  panel.color_bar_label = "difference of " + quantity_label(input.quantity);
  return panel;
}

Result<figure::Figure> Attention::figure(const ViewInput& input) const {
  LOCUS_CHECK(check(*this, input));
  const bool with_difference = input.difference && input.columns.size() > 1;
  const int panels = static_cast<int>(input.columns.size()) + (with_difference ? 1 : 0);
  std::vector<MapWindow> windows;
  std::vector<std::shared_ptr<const Field>> fields;
  for (const Column& column : input.columns) {
    windows.push_back(visible_window(input, column.trace->length(), panels));
    LOCUS_TRY(auto field, fetch(input, column, request_of(input), windows.back()));
    fields.push_back(std::move(field));
  }
  figure::Figure figure;
  figure.columns = panels;
  for (std::size_t n = 0; n < fields.size(); ++n) {
    const std::span<const std::shared_ptr<const Field>> all(fields);
    const auto scale = color_scale(input, sign_of(input.quantity), input.scale.shared ? all : all.subspan(n, 1));
    figure::Panel panel = map_panel(input, *input.columns[n].trace, windows[n], fields[n], scale);
    panel.title = input.columns[n].name + " · " + head_label(input.columns[n].trace->model(), input.layer, input.head);
    panel.color_bar_label = quantity_label(input.quantity);
    figure.panels.push_back(std::move(panel));
  }
  if (with_difference) {
    LOCUS_TRY(Field field, difference(*fields[0], *fields[1]));
    figure.panels.push_back(difference_panel(input, windows[0], std::move(field)));
  }
  return figure;
}

// [layers of `layer`] × [heads of `head`] whole maps of one column, appended to `out`.
Status append_maps(const ViewInput& input, const Column& column, std::vector<float>& out) {
  const models::ModelInfo& model = column.trace->model();
  const Range layers = input.layer == kAll ? Range{0, model.layers} : Range{input.layer, input.layer + 1};
  const Range heads = input.head == kAll ? Range{0, model.heads} : Range{input.head, input.head + 1};
  for (std::int64_t layer = layers.begin; layer < layers.end; ++layer) {
    for (std::int64_t head = heads.begin; head < heads.end; ++head) {
      models::MapRequest request = request_of(input);
      request.layer = layer;
      request.head = head;
      auto field = column.trace->map(request, input.stop);
      if (!field) {
        return field.error().within(column.name);
      }
      out.insert(out.end(), field->values.begin(), field->values.end());
    }
  }
  return {};
}

Result<Data> Attention::data(const ViewInput& input) const {
  LOCUS_CHECK(check(*this, input));
  const Column& column = input.columns[0];
  const std::int64_t length = column.trace->length();
  Data data;
  if (input.layer == kAll) {
    data.shape.push_back(column.trace->model().layers);
  }
  if (input.head == kAll) {
    data.shape.push_back(column.trace->model().heads);
  }
  data.shape.insert(data.shape.end(), {length, length});
  LOCUS_CHECK(append_maps(input, column, data.values));
  if (input.difference && input.columns.size() > 1) {
    std::vector<float> second;
    LOCUS_CHECK(append_maps(input, input.columns[1], second));
    if (second.size() != data.values.size()) {
      return unsupported("a difference needs maps of one size: " + column.name + " and " + input.columns[1].name +
                         " split this text into different tokens");
    }
    for (std::size_t n = 0; n < second.size(); ++n) {
      data.values[n] -= second[n];
    }
  }
  return data;
}

}  // namespace

const View& attention_view() {
  static const Attention view;
  return view;
}

}  // namespace locus::views

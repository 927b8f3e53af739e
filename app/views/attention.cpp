// `attention`: one head's map, or the mean over the heads of a layer, of any quantity.
#include <algorithm>
#include <cmath>
#include <memory>

#include "app/views/list.h"
#include "app/views/map_view.h"

namespace locus::views {

namespace {

constexpr double kMapsASink = 40;  // the map is so many times as wide as its sink

class Attention final : public MapView {
 public:
  const ViewInfo& info() const override { return info_; }

 protected:
  static models::MapRequest request(const ViewInput& input) {
    models::MapRequest request;
    request.layer = input.layer;
    request.head = input.head;
    request.quantity = input.quantity;
    return request;
  }
  Result<RefinedMap> field(const ViewInput& input, const Column& column, const MapWindow& window) const override {
    return fetch_refined(input, column, request(input), window);
  }
  Result<Field> whole(const ViewInput& input, const Column& column) const override {
    return column.trace->map(request(input), input.stop);
  }
  // The share of a sink that the layer has, wide enough to be seen beside many keys.
  Result<std::shared_ptr<const Field>> beside(const ViewInput& input, const Column& column) const override {
    const std::vector<models::LayerInfo>& layers = column.trace->model().layer_info;
    const auto layer = static_cast<std::size_t>(input.layer);
    if (input.quantity != models::Quantity::kWeight || input.layer < 0 || layer >= layers.size() ||
        !layers[layer].sink) {
      return std::shared_ptr<const Field>();
    }
    return cached(input, column, "sink", HeadRef{input.layer, input.head}, [&]() -> Result<Field> {
      LOCUS_TRY(Field field, column.trace->sink(input.layer, input.head, {}, input.stop));
      const double width = std::max(1.0, std::ceil(static_cast<double>(field.rows) / kMapsASink));
      field.column_axis = {"key", "sink", -width, width};
      return field;
    });
  }
  Sign sign(const ViewInput& input) const override { return sign_of(input.quantity); }
  bool additive(const ViewInput& input) const override { return input.quantity == models::Quantity::kWeight; }
  std::string quantity(const ViewInput& input) const override { return quantity_label(input.quantity); }

 private:
  ViewInfo info_{
      .name = "attention",
      .title = "Attention",
      .shows =
          "One head, or the mean over the heads of a layer: rows are queries, columns are keys, query 0 on top. "
          "Grey cells are masked. Left of key 0 stands a layer's sink.",
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
      .uses_difference = true,
      .controls = {},
  };
};

}  // namespace

const View& attention_view() {
  static const Attention view;
  return view;
}

}  // namespace locus::views

// `attention`: one head's map, or the mean over the heads of a layer, of any quantity.
#include "app/views/list.h"
#include "app/views/map_view.h"

namespace locus::views {

namespace {

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
  Sign sign(const ViewInput& input) const override { return sign_of(input.quantity); }
  bool additive(const ViewInput& input) const override { return input.quantity == models::Quantity::kWeight; }
  std::string quantity(const ViewInput& input) const override { return quantity_label(input.quantity); }

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

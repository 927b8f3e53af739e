// `transform`: how far the tokens between a key and a query have turned the key, for every query and key.
#include <algorithm>
#include <string>

#include "app/views/shared/plots/series.h"
#include "app/views/shared/score_maps/map_view.h"
#include "app/views/shared/view.h"
#include "core/base/controls.h"

namespace locus::views {

namespace {

class Transform final : public MapView {
 public:
  const ViewInfo& info() const override { return info_; }

 protected:
  Status fits(const Column& column) const override {
    LOCUS_CHECK(View::fits(column));
    return needs_transforms(column, info_.title);
  }
  Result<RefinedMap> field(const ViewInput& input, const Column& column, const MapWindow& window) const override {
    return fetch_refined(input, column, request(input), window);
  }
  Result<Field> whole(const ViewInput& input, const Column& column) const override {
    return column.trace->map(request(input), input.stop);
  }
  Sign sign(const ViewInput& input) const override { return sign_of(shown(input)); }
  std::string quantity(const ViewInput& input) const override { return quantity_label(shown(input)); }
  std::string subtitle(const ViewInput& input, const Column& column) const override {
    return head_label(column.trace->model(), input.layer, request(input).head);
  }

 private:
  models::Quantity shown(const ViewInput& input) const {
    return option<std::string>(input, "of") == "carried" ? models::Quantity::kCarried : models::Quantity::kDeviation;
  }
  // A head's mean is not defined: head 0 stands for it.
  models::MapRequest request(const ViewInput& input) const {
    return {input.layer, std::max<std::int64_t>(input.head, 0), shown(input), {}, {}};
  }

  ViewInfo info_ = described({
      .name = "transform",
      .caption = "How far the tokens between a key and a query have turned the key away.",
      .shows =
          "What stands between each query and key in PaTH, the product P of the changes by all tokens behind the key "
          "up to the query: its distance ‖P − I‖ from a product that changes nothing, or the cosine between the key as "
          "it arrives and as it was. A head's mean is not defined; head 0 is shown instead.",
      .uses_layer = true,
      .uses_head = true,
      .uses_query = true,
      .uses_camera = true,
      .uses_difference = true,
      .controls = {choice("of", "Shown",
                          "deviation: ‖P − I‖ for each query and key; carried: the cosine of the key behind P with the "
                          "key before it",
                          {"deviation", "carried"})},
  });
};

}  // namespace

const View& transform_view() {
  return made_once<Transform>();
}

}  // namespace locus::views

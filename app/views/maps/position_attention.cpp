// `position-attention`: the attention that position alone would cause.
#include <algorithm>
#include <cmath>
#include <limits>

#include "app/views/maps/contextual_map.h"
#include "app/views/shared/score_maps/map_view.h"
#include "app/views/shared/view.h"

namespace locus::views {

namespace {

// A head's mean is not defined: head 0 stands for it.
models::MapRequest request_of(const ViewInput& input) {
  return {input.layer, std::max<std::int64_t>(input.head, 0), models::Quantity::kContribution, {}, {}};
}

// soft-max over j of the position contribution, divided by its row's maximum: exp(c_ij − max_j c_ij).
Result<Field> position_rows(const ViewInput& input, const Column& column, Range rows) {
  models::MapRequest request = request_of(input);
  request.rows = rows;
  LOCUS_TRY(Field field, column.trace->map(request, input.stop));
  for (std::int64_t r = 0; r < field.rows; ++r) {
    float largest = -std::numeric_limits<float>::infinity();
    for (std::int64_t c = 0; c < field.columns; ++c) {
      const float value = field.at(r, c);
      largest = std::isnan(value) ? largest : std::max(largest, value);
    }
    for (std::int64_t c = 0; c < field.columns; ++c) {
      field.at(r, c) = std::exp(field.at(r, c) - largest);
    }
  }
  field.quantity = "attention from position alone";
  return field;
}

class PositionAttention final : public MapView {
 public:
  const ViewInfo& info() const override { return info_; }
  Status fits(const Column& column) const override {
    LOCUS_CHECK(View::fits(column));
    if (column.trace->model().content().empty()) {
      const std::string& encoding = column.trace->model().first_encoding().name;
      return unsupported("position alone cannot be told from the content in " + column.name + " (" +
                         (encoding.empty() ? "no encoding is named" : encoding) + ")");
    }
    return {};
  }

 protected:
  Result<RefinedMap> field(const ViewInput& input, const Column& column, const MapWindow& window) const override {
    const MapKey key{request_of(input), window, input.reduction};
    return exact_map(cached(input, column, {info_.name, key}, [&] {
      return fetch_blocks(
          window, input.reduction,
          [&](Range rows) -> Result<Field> {
            LOCUS_TRY(const Field whole_rows, position_rows(input, column, rows));
            Field part = Field::zeros(rows.size(), window.columns.size());
            for (std::int64_t r = 0; r < part.rows; ++r) {
              for (std::int64_t c = 0; c < part.columns; ++c) {
                part.at(r, c) = whole_rows.at(r, window.columns.begin + c);
              }
            }
            return part;
          },
          input.stop);
    }));
  }
  Result<Field> whole(const ViewInput& input, const Column& column) const override {
    return position_rows(input, column, {0, column.trace->length()});
  }
  Sign sign(const ViewInput& /*input*/) const override { return Sign::kPositive; }
  std::string quantity(const ViewInput& /*input*/) const override { return "attention from position, row max 1"; }
  std::string subtitle(const ViewInput& input, const Column& column) const override {
    return head_label(column.trace->model(), input.layer, request_of(input).head);
  }
  void decorate(const ViewInput& input, const Column& column, figure::Panel& panel) const override {
    mark_boundaries(marked_tokens(*column.trace, option<std::string>(input, "boundary")), panel);
  }

 private:
  ViewInfo info_ = described({
      .name = "position-attention",
      .caption = "Where this head would look if it knew only the positions of tokens, not what they are.",
      .shows =
          "The soft-max of only the position's part of the logit, with each row scaled to a maximum of 1. A head's "
          "mean is not defined; head 0 is shown instead.",
      .uses_layer = true,
      .uses_head = true,
      .uses_query = true,
      .uses_camera = true,
      .uses_difference = true,
      .controls = {boundary_control("")},
  });
};

}  // namespace

const View& position_attention_view() {
  return made_once<PositionAttention>();
}

}  // namespace locus::views

#include "app/session/view_input.h"

#include "app/session/pins.h"

namespace locus::session {

std::vector<views::Column> on_side(std::vector<views::Column> columns, models::Side side) {
  for (views::Column& column : columns) {
    if (auto other = column.trace->side(side)) {
      column.trace = std::move(other);
      column.name += " (" + to_text(side) + ")";
    }
  }
  return columns;
}

views::ViewInput view_input(const ViewState& state, std::vector<views::Column> columns, const views::View& view) {
  views::ViewInput input;
  input.columns = on_side(std::move(columns), state.side);
  ViewState settled = state;
  if (!input.columns.empty()) {
    settle_tokens(settled, *input.columns.front().trace);
  }
  input.difference = state.difference && view.info().uses_difference;
  input.reference = state.reference;
  input.layer = state.layer;
  input.head = state.head;
  input.partners = state.partners;
  input.query = settled.query;
  input.key = settled.key;
  input.quantity = state.quantity;
  input.reduction = state.reduction;
  input.ignore_first = state.ignore_first;
  input.scale = state.scale;
  input.camera = view.info().uses_camera ? state.camera : std::nullopt;
  if (const auto options = state.options.find(view.info().name); options != state.options.end()) {
    input.options = options->second;
  }
  return input;
}

}  // namespace locus::session

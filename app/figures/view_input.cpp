#include "app/figures/view_input.h"

#include <algorithm>

#include "app/session/pins.h"

namespace locus::session {

bool any_has_side(const std::vector<views::Column>& columns, models::Side side) {
  return std::any_of(columns.begin(), columns.end(),
                     [side](const views::Column& column) { return column.trace->side(side) != nullptr; });
}

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
  static_cast<views::ViewParameters&>(input) = state;
  input.columns = on_side(std::move(columns), state.side);
  if (!input.columns.empty()) {
    resolve_tokens(input, *input.columns.front().trace);
  }
  input.difference = state.difference && view.info().uses_difference;
  if (!view.info().uses_camera) {
    input.camera.reset();
  }
  if (const auto options = state.options.find(view.info().name); options != state.options.end()) {
    input.options = options->second;
  }
  return input;
}

}  // namespace locus::session

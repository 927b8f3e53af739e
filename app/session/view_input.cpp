#include "app/session/view_input.h"

namespace locus::session {

views::ViewInput view_input(const ViewState& state, std::vector<views::Column> columns, const views::View& view) {
  views::ViewInput input;
  input.columns = std::move(columns);
  input.difference = state.difference && view.info().uses_difference;
  input.reference = state.reference;
  input.layer = state.layer;
  input.head = state.head;
  input.partners = state.partners;
  input.unlinked = state.unlinked;
  input.query = state.query;
  input.key = state.key;
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

#include "app/figures/fitting.h"

#include <algorithm>

#include "app/figures/view_input.h"

namespace locus::session {

void fit_to(const std::vector<views::Column>& columns, const views::View& view, Session& session) {
  ViewState& state = session.state;
  models::Input& input = session.input;
  if (!any_has_side(columns, state.side)) {
    state.side = models::Side::kDecoder;
  }
  if (!any_has_side(columns, models::Side::kEncoder) && !any_has_side(columns, models::Side::kCross)) {
    input.decoder_text.reset();
    input.decoder_ids.reset();
  }
  const bool traces = std::none_of(columns.begin(), columns.end(), [](const auto& column) { return column.model; });
  if (traces) {
    input = {};
  }
  if (input.text && input.text->empty()) {
    input.text.reset();
  }
  if (state.partners.empty() || state.partners.front() != views::HeadRef{state.layer, state.head}) {
    state.partners.clear();
  }
  std::erase_if(state.options, [&](const auto& options) { return options.first != view.info().name; });
}

}  // namespace locus::session

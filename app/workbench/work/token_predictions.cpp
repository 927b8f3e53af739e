#include "app/workbench/work/token_predictions.h"

#include <algorithm>
#include <utility>

#include "app/views/shared/alignment.h"
#include "models/api/logit_lens.h"

namespace locus::workbench {

bool TokenPredictions::predicts_everywhere(const models::Trace& trace) {
  return !trace.model().causal && !trace.model().image && trace.image_grid().rows == 0 && !trace.crosses();
}

std::int64_t TokenPredictions::token_of(const views::ViewInput& input, const views::Column& column) {
  if (input.query.chosen()) {
    return views::own_token(input, input.query, column);
  }
  const auto& tokens = column.trace->tokens();
  const auto mask = std::ranges::find_if(
      tokens, [](const models::TokenInfo& token) { return token.label == "[MASK]" || token.label == "<mask>"; });
  return mask == tokens.end() ? views::kNone : mask - tokens.begin();
}

const std::vector<models::Prediction>* TokenPredictions::of(const models::Trace& trace, std::int64_t token) const {
  const auto found = std::ranges::find_if(
      known_, [&](const Known& each) { return each.trace.lock().get() == &trace && each.token == token; });
  return found == known_.end() ? nullptr : &found->top;
}

void TokenPredictions::ask(const views::ViewInput& input, std::int64_t count) {
  constexpr const char* kSlot = "predictions";
  std::vector<Wanted> wanted;
  bool any_new = false;
  for (const views::Column& column : input.columns) {
    const std::int64_t token = predicts_everywhere(*column.trace) ? token_of(input, column) : views::kNone;
    if (token != views::kNone && column.model) {
      wanted.push_back({column, token});
      any_new = any_new || of(*column.trace, token) == nullptr;
    }
  }
  if (!any_new) {
    worker_.drop(kSlot);
    return;
  }
  worker_.submit<std::vector<Known>>(
      Priority::kPreview, kSlot, "",
      [wanted = std::move(wanted), count](StopToken stop, const Progress&) -> Result<std::vector<Known>> {
        std::vector<Known> made;
        for (const Wanted& each : wanted) {
          auto top = models::predictions_at(*each.column.model, *each.column.trace, each.token, count, stop);
          if (!top && top.error().code == ErrorCode::kCancelled) {
            return top.error();
          }
          made.push_back({each.column.trace, each.token, top ? *std::move(top) : std::vector<models::Prediction>()});
        }
        return made;
      },
      [this](Result<std::vector<Known>> made) {
        if (made) {
          known_ = *std::move(made);
          Q_EMIT changed();
        }
      });
}

}  // namespace locus::workbench

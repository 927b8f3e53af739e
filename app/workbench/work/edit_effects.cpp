#include "app/workbench/work/edit_effects.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

#include "app/views/shared/plots/series.h"
#include "core/base/numbers.h"

namespace locus::workbench {

namespace {

constexpr const char* kEffectSlot = "effects of edits";

std::string choice_text(const models::Prediction& choice) {
  return "“" + choice.token + "” " + fixed_text(static_cast<double>(choice.probability), 2);
}

std::string first_layer_text(std::int64_t first, std::int64_t layers) {
  return first < 0         ? "differs from the input of layer 0 on"
         : first >= layers ? "no layer differs"
                           : "differs from layer " + std::to_string(first) + " on";
}

}  // namespace

void EditEffects::ask(const CheckpointList& columns) {
  std::vector<Wanted> wanted;
  std::vector<Known> kept;
  for (const Checkpoint* column : columns.shown()) {
    if (!column->model || !column->trace || column->trace->edits().empty() || column->behind()) {
      continue;
    }
    if (const auto* known = of(*column->trace)) {
      kept.push_back({column->trace, *known});
    } else {
      wanted.push_back({column->model, column->trace});
    }
  }
  known_ = std::move(kept);
  const bool same = std::ranges::equal(
      wanted, asked_, [](const Wanted& now, const auto& before) { return now.trace == before.lock(); });
  if (wanted.empty() || same) {
    return;
  }
  asked_.clear();
  for (const Wanted& each : wanted) {
    asked_.emplace_back(each.trace);
  }
  worker_.submit<std::vector<Known>>(
      Priority::kForward, kEffectSlot, "Effect of edits",
      [wanted = std::move(wanted)](const StopToken& stop, const Progress& progress) -> Result<std::vector<Known>> {
        std::vector<Known> made;
        for (const Wanted& each : wanted) {
          auto effect = models::effect_on(*each.model, *each.trace, stop, progress);
          if (!effect && effect.error().code == ErrorCode::kCancelled) {
            return effect.error();
          }
          made.push_back({each.trace, std::move(effect)});
        }
        return made;
      },
      [this](Result<std::vector<Known>> made) {
        if (made) {
          std::ranges::move(*made, std::back_inserter(known_));
          Q_EMIT changed();
        }
      });
}

void EditEffects::hold() {
  asked_.clear();
  worker_.drop(kEffectSlot);
}

const Result<models::EffectOnTrace>* EditEffects::of(const models::Trace& trace) const {
  const auto found = std::ranges::find_if(known_, [&](const Known& each) { return each.trace.lock().get() == &trace; });
  return found == known_.end() ? nullptr : &found->effect;
}

std::vector<std::string> effect_lines(const models::EffectOnTrace& effect, const models::Trace& trace,
                                      std::int64_t token) {
  const std::size_t count = std::min({effect.kl.size(), effect.top.size(), effect.top_edited.size()});
  if (count == 0) {
    return {};
  }
  const bool classes = count == 1 && trace.length() != 1;
  const std::size_t at = token < 0 || classes ? count - 1 : std::min(static_cast<std::size_t>(token), count - 1);
  std::size_t changes = 0;
  for (std::size_t n = 0; n < count; ++n) {
    changes += effect.top[n].id != effect.top_edited[n].id ? 1 : 0;
  }
  const double mean = std::accumulate(effect.kl.begin(), effect.kl.end(), 0.0) / static_cast<double>(count);
  std::vector<std::string> lines{(classes ? "" : "after token " + std::to_string(at) + ": ") +
                                     choice_text(effect.top[at]) + " → " + choice_text(effect.top_edited[at]),
                                 "KL " + views::short_number(effect.kl[at]) + " nats" +
                                     (classes ? "" : " (mean " + views::short_number(mean) + ")")};
  if (!classes) {
    lines.push_back(std::to_string(changes) + " of " + std::to_string(count) + " first choices change");
  }
  lines.push_back(first_layer_text(effect.first_layer, trace.model().layers));
  return lines;
}

}  // namespace locus::workbench

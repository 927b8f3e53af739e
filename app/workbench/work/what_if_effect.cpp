#include "app/workbench/work/what_if_effect.h"

#include <QPointer>
#include <cmath>
#include <numeric>
#include <utility>

#include "app/views/shared/plots/series.h"

namespace locus::workbench {

namespace {

// A job of its own for each dialog.
std::string new_slot() {
  static int count = 0;
  return "effect of what if " + std::to_string(++count);
}

}  // namespace

WhatIfEffect::WhatIfEffect(Worker& worker) : worker_(worker), slot_(new_slot()) {}

void WhatIfEffect::ask(const Checkpoint& own, const Checkpoint& changed_column) {
  const auto& trace = changed_column.trace;
  if (!own.model || !changed_column.model || !trace || trace->input() == nullptr || changed_column.waiting() ||
      changed_column.behind() || trace == asked_.lock()) {
    return;
  }
  asked_ = trace;
  effect_.reset();
  const models::Input input = *trace->input();
  const bool known = own_run_ && own_model_.lock() == own.model && own_input_ == input;
  own_run_ = known ? own_run_ : nullptr;
  own_model_ = own.model;
  own_input_ = input;
  worker_.submit<models::Effect>(
      Priority::kForward, slot_, "Effect of what if",
      [input, before = own.model, after = changed_column.model, kept = own_run_](const StopToken& stop,
                                                                                 const Progress& progress) {
        return models::effect_of_change(*before, *after, input, kept ? std::optional(kept) : std::nullopt, stop,
                                        progress);
      },
      [self = QPointer<WhatIfEffect>(this)](Result<models::Effect> made) {
        if (!self) {
          return;
        }
        if (made) {
          self->own_run_ = made->unedited;
          self->effect_.emplace(std::move(*made));
        } else if (made.error().code == ErrorCode::kCancelled) {
          return;
        } else {
          self->effect_.emplace(made.error());
        }
        Q_EMIT self->changed();
      });
}

const Result<models::EffectNumbers>* WhatIfEffect::of(const Checkpoint& changed) const {
  return effect_ && changed.trace && changed.trace == asked_.lock() && !changed.waiting() ? &*effect_ : nullptr;
}

void WhatIfEffect::hold() {
  if (!effect_) {
    asked_.reset();
    worker_.drop(slot_);
  }
}

std::string effect_text(const models::EffectNumbers& effect) {
  if (effect.kl.empty()) {
    return {};
  }
  std::string text = "KL " + views::short_number(effect.kl.back()) + " nats";
  if (effect.kl.size() > 1) {
    const double sum = std::accumulate(effect.kl.begin(), effect.kl.end(), 0.0);
    text += " behind the last token, " + views::short_number(sum / static_cast<double>(effect.kl.size())) +
            " on average over " + std::to_string(effect.kl.size()) + " tokens";
  }
  if (std::isfinite(effect.loss) && std::isfinite(effect.loss_edited)) {
    text += "; loss " + views::short_number(effect.loss) + " to " + views::short_number(effect.loss_edited);
  }
  return text;
}

}  // namespace locus::workbench

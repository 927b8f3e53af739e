// WhatIfEffect: what another base or scaling changes in a checkpoint's predictions. The worker runs the column's input
// with both, behind the figure, and compares the output of every token; the checkpoint's own run is kept for the next
// value of a slider.
#pragma once

#include <QObject>
#include <memory>
#include <optional>
#include <string>

#include "app/workbench/work/checkpoint_list.h"
#include "app/workbench/work/worker.h"
#include "models/api/effect.h"

namespace locus::workbench {

class WhatIfEffect : public QObject {
  Q_OBJECT

 public:
  explicit WhatIfEffect(Worker& worker);

  // Requests the effect of `changed` against `own` on the input of its run, unless it is known or on its way; changed()
  // follows. Nothing while it has not run.
  void ask(const Checkpoint& own, const Checkpoint& changed);
  // Stops measuring: a run is about to begin, or nobody looks any more.
  void hold();
  // The effect on the run of that column, or the error instead; null: not measured yet.
  const Result<models::EffectNumbers>* of(const Checkpoint& changed) const;

 Q_SIGNALS:
  void changed();

 private:
  Worker& worker_;
  const std::string slot_;
  std::weak_ptr<const models::Trace> asked_;      // the run of the changed column
  std::weak_ptr<const models::Model> own_model_;  // that `own_run_` is of
  models::Input own_input_;                       // likewise
  std::shared_ptr<const models::Trace> own_run_;  // as models::effect_of_change() takes it
  std::optional<Result<models::EffectNumbers>> effect_;
};

// "KL 0.42 nats behind the last token, 0.08 on average over 52 tokens; loss 2.31 to 2.45"; of an image's classes "KL
// 0.42 nats".
std::string effect_text(const models::EffectNumbers& effect);

}  // namespace locus::workbench

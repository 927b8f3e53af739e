// EditEffects: what the edits of each shown column change in its predictions. The worker measures it behind the figure,
// and again when a run or the edits have changed.
#pragma once

#include <QObject>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "app/workbench/work/checkpoint_list.h"
#include "app/workbench/work/worker.h"
#include "models/api/effect.h"

namespace locus::workbench {

class EditEffects : public QObject {
  Q_OBJECT

 public:
  explicit EditEffects(Worker& worker) : worker_(worker) {}

  // Requests the effect of each edited column that has run, unless it is known or on its way; changed() follows. One
  // that was cancelled is not measured again before its run has changed.
  void ask(const CheckpointList& columns);
  // Stops measuring: a run is about to begin.
  void hold();

  // The effect on a run, or the error instead; null: it is not edited, or not measured yet.
  const Result<models::EffectOnTrace>* of(const models::Trace& trace) const;

 Q_SIGNALS:
  void changed();

 private:
  struct Known {
    std::weak_ptr<const models::Trace> trace;
    Result<models::EffectOnTrace> effect;
  };
  struct Wanted {
    std::shared_ptr<const models::Model> model;
    std::shared_ptr<const models::Trace> trace;
  };

  Worker& worker_;
  std::vector<Known> known_;
  std::vector<std::weak_ptr<const models::Trace>> asked_;  // by the latest request
};

// "“the” 0.31 → “a” 0.22", "KL 0.42 nats (mean 0.08)", "14 of 52 first choices change", "differs from layer 3 on": the
// effect at a token of the run, kNone: the last one, and over all of them. Of an image's classes alone.
std::vector<std::string> effect_lines(const models::EffectOnTrace& effect, const models::Trace& trace,
                                      std::int64_t token);

}  // namespace locus::workbench

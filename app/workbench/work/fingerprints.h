// Fingerprints: measurements of what the heads of the columns do, layer by layer on request. They have the lowest
// priority: a run or figure stops the measurement, and the next request continues it.
#pragma once

#include <QObject>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/views/shared/measured/fingerprint.h"
#include "app/workbench/work/worker.h"

namespace locus::workbench {

// Measurements of the heads of one run.
struct HeadSurvey {
  std::int64_t layers = 0;
  std::int64_t heads = 0;                  // per layer
  std::int64_t measured = 0;               // finished layers, from the first
  bool done = false;                       // all layers, and induction
  std::vector<views::Fingerprint> prints;  // (L·H), head (l, h) at l·H + h; NaN: not measured
  std::optional<Error> error;              // reason why the run cannot be measured

  const views::Fingerprint& at(std::int64_t layer, std::int64_t head) const {
    return prints[static_cast<std::size_t>(layer * heads + head)];
  }
};

class Fingerprints : public QObject {
  Q_OBJECT

 public:
  explicit Fingerprints(Worker& worker) : worker_(worker) {}

  // A head's fingerprint or the reason why there is none; empty: it is being measured, and changed() follows.
  std::optional<Result<views::Fingerprint>> of(const views::Column& column, std::int64_t layer, std::int64_t head);
  // The measurements so far; starts the rest, with changed() after each layer.
  const HeadSurvey& survey(const views::Column& column);
  // The same without starting the rest; null: nothing was requested.
  const HeadSurvey* known(const views::Column& column) const;
  // Stops measuring until the next request.
  void hold();
  // Stops measuring until resume(): the user cancelled what runs.
  void pause();
  void resume() { paused_ = false; }

 Q_SIGNALS:
  void changed();

 private:
  struct Kept {
    std::weak_ptr<const models::Trace> trace;  // weak: does not keep the run alive
    std::shared_ptr<HeadSurvey> survey;
  };
  std::shared_ptr<HeadSurvey> kept(const views::Column& column);
  void measure(const views::Column& column, const std::shared_ptr<HeadSurvey>& survey);
  void measure_layer(const views::Column& column, const std::shared_ptr<HeadSurvey>& survey);
  void measure_induction(const views::Column& column, const std::shared_ptr<HeadSurvey>& survey);
  void end_step(const views::Column& column, const std::shared_ptr<HeadSurvey>& survey, const Error* error);

  Worker& worker_;
  std::vector<Kept> kept_;  // newest last
  bool measuring_ = false;  // a step is with the worker
  bool paused_ = false;
};

// "previous 0.82, first 0.05, induction 0.61, distance 3.2 tokens".
std::string words_of(const views::Fingerprint& head);
// Formats a share: "0.82"; "–": not measured.
std::string share_text(double share);

}  // namespace locus::workbench

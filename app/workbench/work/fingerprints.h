// Fingerprints: what the heads of the columns do, measured layer by layer when somebody asks. They are the worker's
// last care: a run or a figure that is asked for ends the layer that is being measured, and who still asks goes on
// there.
#pragma once

#include <QObject>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/views/shared/measured/fingerprint.h"
#include "app/workbench/work/worker.h"

namespace locus::workbench {

// The heads of one run: what is measured so far.
struct HeadSurvey {
  std::int64_t layers = 0;
  std::int64_t heads = 0;                  // of a layer
  std::int64_t measured = 0;               // layers that are done, from the first
  bool done = false;                       // all of them, and induction
  std::vector<views::Fingerprint> prints;  // that of (l, h) at l·H + h; NaN where it is not measured
  std::optional<Error> error;              // why there is nothing to measure

  const views::Fingerprint& at(std::int64_t layer, std::int64_t head) const {
    return prints[static_cast<std::size_t>(layer * heads + head)];
  }
};

class Fingerprints : public QObject {
  Q_OBJECT

 public:
  explicit Fingerprints(Worker& worker) : worker_(worker) {}

  // A head's fingerprint, or why there is none; empty while it is measured: changed() follows.
  std::optional<Result<views::Fingerprint>> of(const views::Column& column, std::int64_t layer, std::int64_t head);
  // What is measured of a run's heads so far; the rest follows, with changed() after each layer.
  const HeadSurvey& survey(const views::Column& column);
  // The same without asking for the rest; null: nobody has asked for it.
  const HeadSurvey* known(const views::Column& column) const;
  // Something else is wanted first.
  void hold();

 Q_SIGNALS:
  void changed();

 private:
  struct Kept {
    std::weak_ptr<const models::Trace> trace;  // does not keep a run alive
    std::shared_ptr<HeadSurvey> survey;
  };
  std::shared_ptr<HeadSurvey> kept(const views::Column& column);
  void measure(const views::Column& column, const std::shared_ptr<HeadSurvey>& survey);
  void measure_layer(const views::Column& column, const std::shared_ptr<HeadSurvey>& survey);
  void measure_induction(const views::Column& column, const std::shared_ptr<HeadSurvey>& survey);
  void end_step(const views::Column& column, const std::shared_ptr<HeadSurvey>& survey, const Error* error);

  Worker& worker_;
  std::vector<Kept> kept_;  // the latest last
  bool measuring_ = false;  // a step of one of them
};

// "previous 0.82, first 0.05, induction 0.61, distance 3.2 tokens".
std::string words_of(const views::Fingerprint& head);
// "0.82": as a tooltip shows a share; "–" for what is not measured.
std::string share_text(double share);

}  // namespace locus::workbench

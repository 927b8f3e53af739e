// Fingerprints: what the heads of the columns do, measured when one is pointed at. They are the worker's last care: a
// run or a figure that is asked for ends them, and they begin again where the pointer still is.
#pragma once

#include <QObject>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/views/measured/fingerprint.h"
#include "app/workbench/studio/worker.h"

namespace locus::workbench {

class Fingerprints : public QObject {
  Q_OBJECT

 public:
  explicit Fingerprints(Worker& worker) : worker_(worker) {}

  // A head's fingerprint, or why there is none; empty while it is measured: changed() follows.
  std::optional<Result<views::Fingerprint>> of(const views::Column& column, std::int64_t layer, std::int64_t head);
  // Something else is wanted first.
  void hold();

 Q_SIGNALS:
  void changed();

 private:
  struct Kept {
    std::weak_ptr<const models::Trace> trace;  // does not keep a run alive
    Result<std::vector<views::Fingerprint>> heads;
  };

  Worker& worker_;
  std::vector<Kept> kept_;                        // the latest last
  std::weak_ptr<const models::Trace> measuring_;  // whose heads
};

// "previous 0.82, first 0.05, induction 0.61, distance 3.2 tokens".
std::string words_of(const views::Fingerprint& head);
// "0.82": as a tooltip shows a share; "–" for what is not measured.
std::string share_text(double share);

}  // namespace locus::workbench

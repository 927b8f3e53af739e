// TokenPredictions: predictions of masked language models at the chosen token. Other models predict only the token
// after their text. The worker computes them when the token or the runs change.
#pragma once

#include <QObject>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/views/shared/view.h"
#include "app/workbench/work/worker.h"
#include "models/api/model.h"

namespace locus::workbench {

class TokenPredictions : public QObject {
  Q_OBJECT

 public:
  explicit TokenPredictions(Worker& worker) : worker_(worker) {}

  // Whether the run is of a masked language model.
  static bool predicts_everywhere(const models::Trace& trace);
  // The token predicted in a column: the chosen one, else the first mask of its text; kNone: none.
  static std::int64_t token_of(const views::ViewInput& input, const views::Column& column);

  // Requests the `count` most likely tokens for each column of a masked language model; changed() follows new ones.
  void ask(const views::ViewInput& input, std::int64_t count);
  // Predictions of a column at its token; null: there are none, or they are being computed.
  const std::vector<models::Prediction>* of(const models::Trace& trace, std::int64_t token) const;

 Q_SIGNALS:
  void changed();

 private:
  struct Known {
    std::weak_ptr<const models::Trace> trace;
    std::int64_t token = 0;
    std::vector<models::Prediction> top;
  };
  struct Wanted {
    views::Column column;
    std::int64_t token = 0;
  };

  Worker& worker_;
  std::vector<Known> known_;  // of the latest request
};

}  // namespace locus::workbench

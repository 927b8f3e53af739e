// TokenPredictions: what masked language models predict at the chosen token, which other models do behind their text
// alone. Computed by the worker when the token or the runs change.
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

  // Whether a run is that of a masked language model, which predicts at every token.
  static bool predicts_everywhere(const models::Trace& trace);
  // The token of a column that is asked about: the chosen one, else the first mask of its text; kNone: none.
  static std::int64_t token_of(const views::ViewInput& input, const views::Column& column);

  // Asks for the likeliest `count` of each column that predicts everywhere; changed() follows when one of them is new.
  void ask(const views::ViewInput& input, std::int64_t count);
  // Predictions of a column's run at its token; null while they are computed, and where there are none.
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
  std::vector<Known> known_;  // of the columns as they were asked about last
};

}  // namespace locus::workbench

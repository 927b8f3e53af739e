// FigureScheduler: keeps the figure, and the values of the cell that is pointed at, up to date with the columns and the
// view's state. Both are made by the worker; large maps come sampled first and become exact in steps.
#pragma once

#include <QObject>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/session/history.h"
#include "app/views/shared/view.h"
#include "app/workbench/work/cell_values.h"
#include "app/workbench/work/checkpoint_list.h"
#include "app/workbench/work/worker.h"
#include "renderers/figure/figure.h"

namespace locus::workbench {

class FigureScheduler : public QObject {
  Q_OBJECT

 public:
  // `step_ms`: of a large map that becomes exact, between two pictures of it.
  FigureScheduler(Worker& worker, const CheckpointList& columns, const History& history, double step_ms);

  const views::View& view() const;
  // The input of the current view; no column when nothing has run.
  views::ViewInput view_input() const;
  void set_canvas_size(int width_px, int height_px);

  // Asks for the figure of the present state; changed() follows. Waits while a shown column runs: columns of two
  // inputs are never mixed, and update() is called again when the run ends.
  void update();
  // More layers of a run that goes on are done: shows the chosen one or, until that is done, the last that is, in views
  // of one layer.
  void update_early();
  // What is being made is of an older input, and a long analysis would keep the run waiting.
  void hold();
  // A step that has finished is shown, and no other follows it.
  void stop_refining() { refining_ = false; }
  bool pending() const { return pending_; }

  // The latest figure and the state it shows; null before the first, and when the view reports an error.
  const std::shared_ptr<const figure::Figure>& figure() const { return figure_; }
  const session::ViewState& figure_state() const { return figure_state_; }
  const std::optional<Error>& error() const { return error_; }
  // The figure shows the finished layers of an unfinished run: points of it are no places of view_input().
  bool is_early() const { return early_layer_ >= 0; }
  // Another figure is being made, and is not of a run that goes on.
  bool is_stale() const { return drawing_; }

  // Asks for every value of a cell in all columns, or of the pinned cell; cells_changed follows. The values keep up
  // with the runs, the layer and the head.
  void inspect(const views::Token& query, const views::Token& key);
  void inspect_pinned();
  void update_cells();
  const std::vector<Cell>& cells() const { return cells_; }
  std::int64_t memory_mb() const;  // of fields that are kept
  static std::int64_t memory_limit_mb();

 Q_SIGNALS:
  void drawn();  // before changed(): a figure was made, or the reason why there is none
  void changed();
  void cells_changed();

 private:
  using Made = Result<std::shared_ptr<const figure::Figure>>;
  // Large maps come sampled first (step_ms 0), and are asked for again until they are exact.
  void draw(double step_ms, Worker::Clock::time_point since);
  void draw_early(bool again);
  void show(Made made, const session::ViewState& state, const std::vector<int>& ids);

  Worker& worker_;
  const CheckpointList& columns_;
  const History& history_;
  const double step_ms_;
  std::shared_ptr<const figure::Figure> figure_;
  session::ViewState figure_state_;
  std::vector<int> figure_ids_;  // its columns
  std::optional<Error> error_;
  std::vector<Cell> cells_;
  std::optional<std::pair<views::Token, views::Token>> hovered_;  // query and key; empty: the pinned cell
  std::shared_ptr<views::FieldCache> cache_;
  int width_px_ = 1024;
  int height_px_ = 768;
  bool pending_ = false;
  bool drawing_ = false;           // nothing of what was asked for is shown yet
  std::int64_t early_layer_ = -1;  // that is shown of a run that goes on
  std::int64_t early_asked_ = -1;  // or will be
  bool refining_ = false;          // a map of the figure is to become exact
  std::int64_t rows_left_ = 0;     // of that map, in the last picture
};

}  // namespace locus::workbench

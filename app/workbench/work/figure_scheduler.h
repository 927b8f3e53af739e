// FigureScheduler: keeps the figure and the values of the inspected cell up to date with the columns and the view's
// state. The worker computes both; large maps are sampled first and become exact in steps.
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
  // `step_ms`: time between two pictures of a large map that becomes exact; `so_far_ms`: between two of a measurement
  // that shows what it has.
  FigureScheduler(Worker& worker, const CheckpointList& columns, const History& history, double step_ms,
                  double so_far_ms = 300);

  const views::View& view() const;
  // The input of the current view; without columns if nothing has run.
  views::ViewInput view_input() const;
  void set_canvas_size(int width_px, int height_px);

  // Requests the figure of the present state; changed() follows. Does nothing while a shown column runs, since columns
  // of two inputs are never mixed: call it again when the run ends.
  void update();
  // Shows finished layers of an unfinished run in views of one layer: the chosen layer, or the last finished one before
  // it.
  void update_early();
  // Stops what is being drawn: its input is out of date, and a long analysis would delay the run.
  void hold();
  // Stops after the present step towards an exact map.
  void stop_refining() { refining_ = false; }
  bool pending() const { return pending_; }

  // The latest figure and the state it shows; null before the first one and after an error of the view.
  const std::shared_ptr<const figure::Figure>& figure() const { return figure_; }
  const session::ViewState& figure_state() const { return figure_state_; }
  const std::optional<Error>& error() const { return error_; }
  // The work on that figure, in all its steps so far, without the time that they waited; 0 after an error.
  double drawing_ms() const { return drawing_ms_; }
  // Whether the figure is of an unfinished run: its points are no places of view_input().
  bool is_early() const { return early_layer_ >= 0; }
  // Whether another figure is being computed, not counting those of unfinished runs.
  bool is_stale() const { return drawing_; }

  // Requests all values of a cell in all columns, or of the pinned cell; cells_changed() follows, also after later
  // changes of runs, layer or head.
  void inspect(const views::Token& query, const views::Token& key);
  void inspect_pinned();
  void update_cells();
  const std::vector<Cell>& cells() const { return cells_; }
  std::int64_t memory_mb() const;  // of cached fields
  static std::int64_t memory_limit_mb();

 Q_SIGNALS:
  void drawn();  // before changed(): there is a new figure, or an error
  void changed();
  void cells_changed();

 private:
  struct Drawn {
    std::shared_ptr<const figure::Figure> figure;
    Worker::Clock::time_point begun;
    double ms = 0;
  };
  using Made = Result<Drawn>;
  // The view's figure, on the worker: of columns that all have what the view shows.
  static Made figure_of(const views::View& view, views::ViewInput input, StopToken stop, const Progress& progress);
  // Samples large maps (step_ms 0), then repeats until they are exact. `since`: when the first of these steps began.
  void draw(double step_ms, std::optional<Worker::Clock::time_point> since);
  void draw_early(bool again);
  // What a measurement under way has so far, in place of the figure.
  void show_part(std::shared_ptr<const figure::Figure> part, const session::ViewState& state,
                 const std::vector<int>& ids);
  void show(Made made, const session::ViewState& state, const std::vector<int>& ids);

  Worker& worker_;
  const CheckpointList& columns_;
  const History& history_;
  const double step_ms_;
  const double so_far_ms_;
  std::shared_ptr<const figure::Figure> figure_;
  session::ViewState figure_state_;
  std::vector<int> figure_ids_;  // ids of its columns
  std::optional<Error> error_;
  double drawing_ms_ = 0;
  std::vector<Cell> cells_;
  std::optional<std::pair<views::Token, views::Token>> hovered_;  // query and key; empty: the pinned cell
  std::shared_ptr<views::FieldCache> cache_;
  int width_px_ = 1024;
  int height_px_ = 768;
  bool pending_ = false;
  bool drawing_ = false;           // the requested figure has not been shown at all
  std::int64_t early_layer_ = -1;  // layer shown of an unfinished run
  std::int64_t early_asked_ = -1;  // layer requested of an unfinished run
  bool refining_ = false;          // maps of the figure continue towards exactness
  std::int64_t rows_left_ = 0;     // of its maps, in the last picture
};

}  // namespace locus::workbench

#include "app/workbench/canvas/canvas_link.h"

#include <QKeyEvent>
#include <algorithm>
#include <cmath>
#include <utility>

#include "app/views/shared/alignment.h"
#include "app/views/shared/plots/map_lines.h"
#include "app/views/shared/plots/patch_grid.h"
#include "app/views/shared/score_maps/score_map.h"
#include "app/views/shared/statement.h"
#include "app/workbench/work/cell_values.h"
#include "app/workbench/work/token_words.h"
#include "core/base/numbers.h"

namespace locus::workbench {

namespace {

constexpr int kPatienceMs = 300;  // then the figure is dimmed, under word of what is computed
constexpr int kMoveMs = 700;      // the camera rests: the next move is another step for undo()

}  // namespace

CanvasLink::CanvasLink(Studio& studio, viewport::Canvas& canvas)
    : studio_(studio), canvas_(canvas), instruments_(studio, canvas) {
  connect(&studio_, &Studio::figure_changed, this, &CanvasLink::refresh);
  connect(&studio_, &Studio::state_changed, this, [this] {
    if (const views::ViewInput input = studio_.view_input(); hover_.query && !hover_.key && !input.columns.empty()) {
      inspect(input);  // a token of a tinted text, which may be that of another query now
    }
    refresh();
  });
  connect(&studio_, &Studio::cells_changed, this, &CanvasLink::refresh);
  connect(&studio_, &Studio::runs_changed, this, [this] {
    follow_column();
    refresh();
  });
  connect(&studio_, &Studio::fingerprints_changed, this, &CanvasLink::refresh);
  connect(&studio_, &Studio::pointed_changed, this, [this] {
    if (!hover_hit_) {
      refresh();  // it was pointed at elsewhere
    }
  });
  connect(&studio_, &Studio::checkpoints_changed, this, &CanvasLink::refresh);
  connect(&studio_, &Studio::work_changed, this, [this] {
    if (!studio_.scheduler().figure() || late_ || is_stale() != stale_.isValid()) {
      refresh();
    }
  });
  patience_.setInterval(kPatienceMs);  // and again, since what is said counts the time
  connect(&patience_, &QTimer::timeout, this, &CanvasLink::refresh);
  connect(&canvas_, &viewport::Canvas::hovered, this, &CanvasLink::hover);
  connect(&canvas_, &viewport::Canvas::left, this, &CanvasLink::leave);
  connect(&canvas_, &viewport::Canvas::clicked, this, &CanvasLink::click);
  connect(&canvas_, &viewport::Canvas::dragged, this, &CanvasLink::drag);
  connect(&canvas_, &viewport::Canvas::lassoed, this, &CanvasLink::lasso);
  connect(&canvas_, &viewport::Canvas::boxed, this, &CanvasLink::box);
  connect(&canvas_, &viewport::Canvas::lined, &instruments_, &InstrumentSet::pull_measure);
  connect(&canvas_, &viewport::Canvas::context_requested, this, &CanvasLink::ask_menu);
  connect(&canvas_, &viewport::Canvas::camera_moved, this,
          [this](const views::Camera& camera, bool /*finished*/) { set_camera(camera); });
  connect(&canvas_, &viewport::Canvas::fit_requested, this, [this] {
    if (!press_in_list(Qt::Key_Return)) {  // a double click on a row, which the first click chose
      fit();
    }
  });
  connect(&canvas_, &viewport::Canvas::key_pressed, this, &CanvasLink::press);
  connect(&canvas_, &viewport::Canvas::key_released, this, &CanvasLink::release);
  connect(&canvas_, &viewport::Canvas::resized, &studio_.scheduler(), &FigureScheduler::set_canvas_size);
  connect(&instruments_, &InstrumentSet::unused, this, &CanvasLink::press_unused);
  connect(&instruments_, &InstrumentSet::room_changed, this, &CanvasLink::refresh);
  canvas_.installEventFilter(this);
  moving_.setSingleShot(true);
  moving_.setInterval(kMoveMs);
  connect(&studio_, &Studio::state_changed, &moving_, &QTimer::stop);  // what is done next is a step of its own
  refresh();
}

void CanvasLink::set_dark(bool dark) {
  dark_ = dark;
  refresh();
}

void CanvasLink::set_captions(bool shown) {
  captions_ = shown;
  refresh();
}

void CanvasLink::set_instruments(bool shown) {
  instruments_.set_hidden(!shown);
  refresh();
}

void CanvasLink::set_scale(double scale) {
  scale_ = scale;
  refresh();
}

void CanvasLink::set_column(std::size_t column) {
  const std::size_t columns = studio_.checkpoints().shown().size();
  if (column < columns && column != column_) {
    column_ = column;
    column_id_ = studio_.checkpoints().shown()[column]->id;
    Q_EMIT column_changed(column);
    refresh();
  }
}

// The chosen column has another place once one before it has come or gone.
void CanvasLink::follow_column() {
  const auto columns = studio_.checkpoints().shown();
  const auto there =
      std::find_if(columns.begin(), columns.end(), [this](const Checkpoint* each) { return each->id == column_id_; });
  if (there != columns.end()) {
    set_column(static_cast<std::size_t>(there - columns.begin()));
  } else if (!columns.empty() && (studio_.checkpoints().find(column_id_) == nullptr ||
                                  !studio_.checkpoints().find(column_id_)->entry.shown)) {
    column_id_ = columns[std::min(column_, columns.size() - 1)]->id;
    set_column(std::min(column_, columns.size() - 1));
  }
}

// ---- what is shown

bool CanvasLink::is_stale() const {
  if (!studio_.scheduler().figure() || studio_.scheduler().is_early() || studio_.checkpoints().all().empty()) {
    return false;
  }
  return studio_.scheduler().is_stale() || studio_.checkpoints().waiting();
}

bool CanvasLink::can_point() const {
  return studio_.scheduler().figure() && !studio_.scheduler().is_early() &&
         studio_.scheduler().figure_state().view == studio_.state().view;
}

std::shared_ptr<const figure::Figure> CanvasLink::chosen_figure() {
  constexpr double kRoom = 3.6;  // in heights of text
  const auto& made = studio_.scheduler().figure();
  const session::PlotChoices& plots = studio_.state().plots;
  const bool room = instruments_.wants_room();
  if (!made || (plots.empty() && !room) || studio_.scheduler().figure_state().view != studio_.state().view) {
    return made;
  }
  if (chosen_.of != made || chosen_.plots != plots || chosen_.room != room) {
    figure::Figure figure = session::as_chosen(*made, plots, true);
    for (figure::Panel& panel : figure.panels) {
      const bool beside = room && panel.equal_aspect && views::map_of(panel) != nullptr;
      panel.room_above = panel.room_right = beside ? kRoom : 0;
    }
    chosen_ = {made, plots, room, std::make_shared<const figure::Figure>(std::move(figure))};
  }
  return chosen_.figure;
}

// With Shift held every column shows the reference: what moves is what differs.
std::shared_ptr<const figure::Figure> CanvasLink::shown_figure() {
  const auto made = chosen_figure();
  const std::size_t panels = made ? made->panels.size() : 0;
  std::shared_ptr<figure::Figure> copy;
  for (std::size_t n = 0; n < panels; ++n) {
    if (const auto reference = reference_panel(n)) {
      copy = copy ? copy : std::make_shared<figure::Figure>(*made);
      figure::Panel& panel = copy->panels[n];
      panel = made->panels[*reference];
      panel.y.label = made->panels[n].y.label;  // every plot stays where it is
      panel.color_bar_label = made->panels[n].color_bar_label;
    }
  }
  return copy ? copy : made;
}

// Measured heads come later than the figure: what they add is said then.
void CanvasLink::state_figure(const views::ViewInput& input) {
  const HeadSurvey* survey = studio_.fingerprints().known(input.columns.front());
  const views::HeadRef head = views::head_of_column(input, 0);
  const bool measured = survey != nullptr && head.layer >= 0 && head.head >= 0 && head.layer < survey->measured;
  const auto figure = chosen_figure();
  if (stated_of_ == figure && stated_measured_ == measured) {
    return;
  }
  stated_of_ = figure;
  stated_measured_ = measured;
  stated_ =
      views::statement(studio_.view().info(), input, *figure, measured ? &survey->at(head.layer, head.head) : nullptr);
}

void CanvasLink::refresh() {
  if (!is_stale()) {
    stale_.invalidate();
    patience_.stop();
  } else if (!stale_.isValid()) {
    stale_.start();
    patience_.start();
  }
  late_ = stale_.isValid() && stale_.elapsed() >= kPatienceMs;
  const views::ViewInput input = studio_.view_input();
  const views::View& view = studio_.view();
  viewport::Content content;
  content.figure = drawn_ = shown_figure();
  content.message = message();
  content.note = note();
  content.dim = late_;
  content.dark = dark_;
  content.scale = scale_;
  if (captions_ && studio_.scheduler().figure_state().view == studio_.state().view) {
    content.caption = view.info().caption;
  }
  if (!input.columns.empty() && can_point()) {
    content.home = view.home(input);
    content.camera = input.camera;
    content.lasso = view.info().uses_lasso;
    content.outlines = outlines(input);
    content.tooltip = tooltip(input);
    content.bars = bars(input);
  }
  if (flicker_ && input.columns.size() > 1) {
    content.badge = "reference: " + input.columns[views::reference_of(input)].name;
  }
  CanvasSight sight;
  sight.home = content.home;
  sight.column = column_;
  if (!input.columns.empty() && can_point()) {
    sight.input = input;
    sight.hit = hover_hit_;
    sight.hover = hover_;
    state_figure(input);
    sight.statement = stated_;
  }
  canvas_.set_content(std::move(content));
  instruments_.show(std::move(sight));
}

}  // namespace locus::workbench

#include "app/workbench/canvas/canvas_link.h"

#include <QKeyEvent>
#include <algorithm>
#include <cmath>
#include <utility>

#include "app/views/alignment.h"
#include "app/views/images/patch_grid.h"
#include "app/views/plots/map_lines.h"
#include "app/views/score_maps/score_map.h"
#include "app/views/statement.h"
#include "app/workbench/studio/cell_values.h"
#include "app/workbench/studio/token_words.h"
#include "core/base/numbers.h"

namespace locus::workbench {

namespace {

constexpr int kPatienceMs = 300;  // then the figure is dimmed, under word of what is computed
constexpr int kMoveMs = 700;      // the camera rests: the next move is another step for undo()
constexpr std::uint32_t kHoverColor = 0xFFFFFFFF;
constexpr std::uint32_t kPinColor = 0xFF9D2EFF;
constexpr std::uint32_t kBoxColor = 0xFF4040FF;

// The inspector has the others.
bool in_tooltip(Quantity quantity) {
  return quantity == Quantity::kLogit || quantity == Quantity::kWeight || quantity == Quantity::kGate ||
         quantity == Quantity::kPosition;
}

std::string token_line(const char* role, std::int64_t token, const std::string& shown) {
  return std::string(role) + " " + std::to_string(token) + "  \"" + shown + "\"";
}

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

std::string CanvasLink::work() const {
  if (const auto question = studio_.question()) {
    return question_text(*question) + ".\nRun them, or only the first of them, below.";
  }
  const Worker::State work = studio_.worker().state();
  const std::string what = work.what.empty() ? "Drawing " + studio_.view().info().title : work.what;
  if (!work.progress.what.empty() && work.progress.fraction >= 0) {
    return what + "\n" + work.progress.what;
  }
  constexpr double kWorthCountingMs = 2000;
  return what + (work.elapsed_ms > kWorthCountingMs ? "\nfor " + models::duration_text(work.elapsed_ms) : " …");
}

std::string CanvasLink::message() const {
  if (late_) {
    return work();
  }
  if (studio_.scheduler().figure()) {
    return {};
  }
  if (studio_.question()) {
    return work();
  }
  if (studio_.scheduler().error() && !studio_.checkpoints().waiting()) {
    return studio_.scheduler().error()->describe();
  }
  if (studio_.checkpoints().all().empty()) {
    return "Open a checkpoint: drop a folder here, or press Ctrl+O.";
  }
  if (studio_.checkpoints().waiting()) {
    return work();
  }
  for (const Checkpoint& each : studio_.checkpoints().all()) {
    if (each.entry.shown && each.error) {
      return each.error->code == ErrorCode::kCancelled
                 ? "The run was cancelled. Press R to start it again, or change the input."
                 : each.error->describe();
    }
  }
  if (!studio_.checkpoints().shown().empty()) {
    return work();  // the first figure of these runs
  }
  const bool any = std::any_of(studio_.checkpoints().all().begin(), studio_.checkpoints().all().end(),
                               [](const Checkpoint& each) { return each.entry.shown; });
  const auto& text = studio_.input().text;
  if (any && text && !text->empty()) {
    return work();  // it has just been typed
  }
  return any ? "Type a text below: the model runs on it as you type."
             : "Check a checkpoint on the left to see it here.";
}

// Says what in the figure is not as it seems.
std::string CanvasLink::note() const {
  if (!studio_.scheduler().figure() || late_) {
    return {};
  }
  if (studio_.scheduler().is_early()) {
    const Worker::State work = studio_.worker().state();
    return "layer " + std::to_string(studio_.scheduler().figure_state().layer) +
           " of a run that goes on: " + work.progress.what;
  }
  return studio_.checkpoints().behind() && !studio_.checkpoints().waiting()
             ? "the map of the input before: the run was cancelled, R starts it again"
             : "";
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
  const std::size_t columns = studio_.checkpoints().shown().size();
  const auto across = static_cast<std::size_t>(made ? made->columns : 0);  // one more where a difference is shown
  if (!made || !flicker_ || columns < 2 || made->panels.size() < columns || across < columns || across > columns + 1) {
    return made;
  }
  const std::size_t reference = views::reference_of(studio_.view_input());
  auto copy = std::make_shared<figure::Figure>(*made);
  for (std::size_t n = 0; n < copy->panels.size(); ++n) {
    if (n % across >= columns) {
      continue;
    }
    figure::Panel& panel = copy->panels[n];
    panel = made->panels[std::min(n / across * across + reference, made->panels.size() - 1)];
    panel.y.label = made->panels[n].y.label;  // every plot stays where it is
    panel.color_bar_label = made->panels[n].color_bar_label;
  }
  return copy;
}

std::vector<viewport::Outline> CanvasLink::outlines(const views::ViewInput& input) const {
  std::vector<viewport::Outline> list;
  const views::View& view = studio_.view();
  const auto add = [&](const views::Selection& selection, std::uint32_t color, bool cross) {
    for (const views::Place& place : view.places(input, selection)) {
      list.push_back({place.panel, place.x, place.y, color, cross});
    }
  };
  // A token alone is where its row and its column meet.
  const auto cell = [](const views::Token& query, const views::Token& key) {
    views::Selection selection;
    selection.query = query;
    selection.key = key.chosen() ? key : query;
    return selection;
  };
  if (hover_hit_) {
    add(hover_, kHoverColor, true);
  } else if (const Pointed& at = studio_.pointed(); at.query.chosen()) {
    add(cell(at.query, at.key), kHoverColor, true);
  }
  views::Selection pinned;
  pinned.layer = input.layer;
  pinned.head = input.head;
  if (input.query.chosen()) {
    const views::Selection at = cell(input.query, input.key);
    pinned.query = at.query;
    pinned.key = at.key;
  }
  add(pinned, kPinColor, input.query.chosen() && !input.key.chosen());
  if (box_) {
    const auto from = view.places(input, box_->from);
    const auto to = view.places(input, box_->to);
    const auto both = [](const figure::Interval& a, const figure::Interval& b) {
      return figure::Interval{std::min({a.low, a.high, b.low, b.high}), std::max({a.low, a.high, b.low, b.high})};
    };
    for (std::size_t n = 0; n < std::min(from.size(), to.size()); ++n) {
      list.push_back({from[n].panel, both(from[n].x, to[n].x), both(from[n].y, to[n].y), kBoxColor, false});
    }
  }
  return list;
}

// The raw value that the figure shows at the pointer, whatever its colours do.
std::optional<float> CanvasLink::value_under_pointer() const {
  const auto& figure = studio_.scheduler().figure();
  if (!figure || !hover_hit_ || hover_hit_->panel >= figure->panels.size()) {
    return std::nullopt;
  }
  for (const figure::Layer& layer : figure->panels[hover_hit_->panel].layers) {
    const auto* map = std::get_if<figure::HeatMap>(&layer);
    if (map == nullptr || !map->field) {
      continue;
    }
    const Field& field = *map->field;
    const auto row =
        static_cast<std::int64_t>(std::floor((hover_hit_->y - field.row_axis.first) / field.row_axis.step));
    const auto column =
        static_cast<std::int64_t>(std::floor((hover_hit_->x - field.column_axis.first) / field.column_axis.step));
    if (row >= 0 && row < field.rows && column >= 0 && column < field.columns) {
      return field.at(row, column);
    }
  }
  return std::nullopt;
}

std::vector<std::string> CanvasLink::tooltip(const views::ViewInput& input) const {
  std::vector<std::string> lines;
  if (!hover_hit_ || input.columns.empty()) {
    return lines;
  }
  const auto column = static_cast<std::size_t>(
      std::clamp<std::int64_t>(hover_.column.value_or(0), 0, static_cast<std::int64_t>(input.columns.size()) - 1));
  const models::Trace& trace = *input.columns[column].trace;
  if (hover_.layer && hover_.head) {
    lines.push_back(views::head_label(trace.model(), *hover_.layer, *hover_.head));
  }
  for (std::size_t n = 1; n < std::min(hover_.partners.size(), input.columns.size()); ++n) {
    lines.push_back(
        "partner in " + input.columns[n].name + ": " +
        views::head_label(input.columns[n].trace->model(), hover_.partners[n].layer, hover_.partners[n].head));
  }
  // Tokens as the column under the pointer counts them.
  std::optional<views::Token> asked_query = hover_.query;
  std::optional<views::Token> asked_key = hover_.key;
  const views::Token shown = studio_.view().tinting_query(input);
  if (shown.chosen() && asked_query && trace.image_grid().rows == 0) {
    asked_key = std::exchange(asked_query, shown);  // a token of a tinted text
  }
  const std::int64_t query = asked_query ? views::own_token(input, *asked_query, input.columns[column]) : views::kNone;
  const std::int64_t key = asked_key ? views::own_key(input, *asked_key, input.columns[column]) : views::kNone;
  if (trace.image_grid().rows > 0 && query != views::kNone && (key == views::kNone || key == query)) {
    lines.push_back(views::patch_label(trace.image_grid(), query));
  } else if (query != views::kNone) {
    lines.push_back(token_line("query", query, shown_token(trace, query)));
  }
  if (key != views::kNone && (query != key || trace.image_grid().rows == 0)) {
    lines.push_back(token_line("key", key, shown_key(trace, key)));
  }
  if (query != views::kNone && key != views::kNone && trace.image_grid().rows == 0 && !trace.crosses()) {
    lines.push_back("Δ = " + std::to_string(query - key));
    if (key > query && trace.model().causal) {
      lines.emplace_back("masked: the key comes after the query");
      return lines;
    }
  }
  const auto value = value_under_pointer();
  bool exact = false;
  for (const Cell& cell : studio_.scheduler().cells()) {
    if (asked_query != cell.asked_query || asked_key != cell.asked_key) {
      continue;
    }
    exact = true;
    std::string line = studio_.scheduler().cells().size() > 1 ? cell.column + ": " : "";
    bool first = true;
    for (const Cell::Value& each : cell.values) {
      if (each.value && each.quantity && in_tooltip(*each.quantity)) {
        line += (first ? "" : ", ") + to_text(*each.quantity) + " " + value_text(*each.value);
        first = false;
      }
    }
    lines.push_back(line);
  }
  if (value && !exact && !lines.empty()) {
    lines.push_back("value " + value_text(*value));
  }
  return lines;
}

std::vector<viewport::Bar> CanvasLink::bars(const views::ViewInput& input) const {
  if (!hover_hit_ || !hover_.layer || hover_.head.value_or(views::kNone) < 0 || input.columns.empty()) {
    return {};
  }
  const auto index = static_cast<std::size_t>(std::max<std::int64_t>(0, hover_.column.value_or(0)));
  const views::Column& column = input.columns[std::min(index, input.columns.size() - 1)];
  const auto print = studio_.fingerprints().of(column, *hover_.layer, *hover_.head);
  if (!print) {
    return {{"measuring what it does", 0, "…"}};
  }
  if (!*print) {
    return {};  // nothing that can be measured
  }
  const views::Fingerprint& head = **print;
  const auto share = [](const char* label, double part) {
    return viewport::Bar{label, std::isnan(part) ? 0 : std::clamp(part, 0.0, 1.0), share_text(part)};
  };
  const double longest = std::max<double>(1, static_cast<double>(column.trace->length() - 1));
  return {share("previous", head.previous),
          share("first", head.first),
          share("induction", head.induction),
          {"distance", std::clamp(head.distance / longest, 0.0, 1.0), fixed_text(head.distance, 1) + " tokens"}};
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
  content.figure = shown_figure();
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
    content.outlines = outlines(input);
    if (instruments_.areas_of("lens").empty()) {  // which says the cell's value itself
      content.tooltip = tooltip(input);
      content.bars = bars(input);
    }
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
    if (const auto figure = chosen_figure(); stated_of_ != figure) {
      stated_of_ = figure;
      stated_ = views::statement(view.info(), input, *stated_of_);
    }
    sight.statement = stated_;
  }
  canvas_.set_content(std::move(content));
  instruments_.show(std::move(sight));
}

}  // namespace locus::workbench

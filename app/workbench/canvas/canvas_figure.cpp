#include "app/workbench/canvas/canvas_figure.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "app/views/shared/alignment.h"
#include "app/views/shared/plots/map_lines.h"
#include "app/views/shared/statement.h"
#include "app/workbench/canvas/instruments/wipe_line.h"
#include "core/base/numbers.h"

namespace locus::workbench {

namespace {

const std::string kChosen = "▸ ";  // before the title of the chosen column

// "text-rope | text-alibi · layer 0, head 0": what both titles say behind the columns' names stands once.
std::string wiped_title(const figure::Panel& own, const figure::Panel& reference) {
  const auto end_of_name = [](const figure::Panel& panel) {
    const std::size_t at = panel.names.empty() ? std::string::npos : panel.title.find(panel.names.front());
    return at == std::string::npos ? panel.title.size() : at + panel.names.front().size();
  };
  const std::size_t own_end = end_of_name(own);
  const bool alike = own.title.substr(own_end) == reference.title.substr(end_of_name(reference));
  const std::string other = reference.title.substr(reference.title.starts_with(kChosen) ? kChosen.size() : 0);
  return own.title.substr(0, alike ? own_end : own.title.size()) + " | " + other;
}

}  // namespace

bool CanvasFigure::is_stale() const {
  const FigureScheduler& scheduler = studio_.scheduler();
  if (!scheduler.figure() || scheduler.is_early() || studio_.checkpoints().all().empty()) {
    return false;
  }
  return scheduler.is_stale() || studio_.checkpoints().waiting();
}

bool CanvasFigure::can_point() const {
  const FigureScheduler& scheduler = studio_.scheduler();
  return scheduler.figure() && !scheduler.is_early() && scheduler.figure_state().view == studio_.state().view;
}

// The figure with the user's choices of plots, and room for profiles.
std::shared_ptr<const figure::Figure> CanvasFigure::chosen() {
  constexpr double kRoom = 3.6;  // in heights of text
  const auto& made = studio_.scheduler().figure();
  const session::PlotChoices& plots = studio_.state().plots;
  if (!made || (plots.empty() && !room_) || studio_.scheduler().figure_state().view != studio_.state().view) {
    return made;
  }
  if (chosen_.of != made || chosen_.plots != plots || chosen_.room != room_) {
    figure::Figure figure = session::as_chosen(*made, plots, true);
    for (figure::Panel& panel : figure.panels) {
      const bool beside = room_ && panel.equal_aspect && views::map_of(panel) != nullptr;
      panel.room_above = panel.room_right = beside ? kRoom : 0;
    }
    chosen_ = {made, plots, room_, std::make_shared<const figure::Figure>(std::move(figure))};
  }
  return chosen_.figure;
}

// One more panel in each row if a difference is shown. Panels of one row that are heads of one checkpoint are no columns.
std::optional<std::size_t> CanvasFigure::column_of(const figure::Figure& made, std::size_t panel) const {
  const std::size_t columns = studio_.checkpoints().shown().size();
  const auto across = static_cast<std::size_t>(made.columns);
  if (columns < 2 || made.panels.size() < columns || across < columns || across > columns + 1 ||
      panel % across >= columns) {
    return std::nullopt;
  }
  const auto name_of = [&](std::size_t n) {
    return made.panels[n].names.empty() ? std::string() : made.panels[n].names.front();
  };
  for (std::size_t n = 1; n < columns; ++n) {
    if (!name_of(n).empty() && name_of(n) == name_of(n - 1)) {
      return std::nullopt;
    }
  }
  return panel % across;
}

// With the mark of the chosen column, which is no part of what is said or exported.
std::shared_ptr<const figure::Figure> CanvasFigure::marked(const std::shared_ptr<const figure::Figure>& made) {
  if (!made || column_ >= made->panels.size() || column_of(*made, column_) != column_) {
    return made;
  }
  if (marked_.of != made || marked_.column != column_) {
    figure::Figure figure = *made;
    for (std::size_t n = 0; n < figure.panels.size(); ++n) {
      std::string& title = figure.panels[n].title;
      title = column_of(figure, n) == column_ && !title.empty() ? kChosen + title : title;
    }
    marked_ = {made, column_, std::make_shared<const figure::Figure>(std::move(figure))};
  }
  return marked_.figure;
}

std::shared_ptr<const figure::Figure> CanvasFigure::shown() {
  const auto made = chosen();
  const std::size_t panels = made ? made->panels.size() : 0;
  std::shared_ptr<figure::Figure> copy;
  for (std::size_t n = 0; n < panels; ++n) {
    if (const auto reference = reference_panel(n)) {
      copy = copy ? copy : std::make_shared<figure::Figure>(*made);
      figure::Panel& panel = copy->panels[n];
      panel = made->panels[*reference];
      panel.y.label = made->panels[n].y.label;  // labels take the same room, so that no plot moves
      panel.color_bar_label = made->panels[n].color_bar_label;
    }
  }
  return copy ? copy : with_wipe(marked(made));
}

std::optional<std::size_t> CanvasFigure::beside(const figure::Figure& made, std::size_t panel) const {
  const auto column = column_of(made, panel);
  if (!column) {
    return std::nullopt;
  }
  const auto across = static_cast<std::size_t>(made.columns);
  const std::size_t reference = views::reference_of(studio_.view_input());
  const std::size_t other = panel / across * across + reference;
  return *column == reference || other >= made.panels.size() ? std::nullopt : std::optional(other);
}

std::shared_ptr<const figure::Figure> CanvasFigure::with_wipe(const std::shared_ptr<const figure::Figure>& made) {
  if (!made || !wipe_) {
    return made;
  }
  std::vector<double> edges(made->panels.size(), kNaN);
  for (std::size_t n = 0; n < edges.size(); ++n) {
    const figure::HeatMap* map = beside(*made, n) ? views::map_of(made->panels[n]) : nullptr;
    edges[n] = map == nullptr ? kNaN : wipe_edge(*map->field, figure::from_camera(made->panels[n].x, *wipe_));
  }
  const auto same = [](double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); };
  if (wiped_.of != made || !std::ranges::equal(wiped_.edges, edges, same)) {
    figure::Figure figure = *made;
    for (std::size_t n = 0; n < edges.size(); ++n) {
      const auto other = beside(*made, n);
      auto panel = other && !std::isnan(edges[n]) ? wiped(made->panels[n], made->panels[*other], edges[n])
                                                  : std::optional<figure::Panel>();
      if (panel) {
        panel->title = wiped_title(made->panels[n], made->panels[*other]);
        panel->names.insert(panel->names.end(), made->panels[*other].names.begin(), made->panels[*other].names.end());
        figure.panels[n] = *std::move(panel);
      }
    }
    wiped_ = {made, edges, std::make_shared<const figure::Figure>(std::move(figure))};
  }
  return wiped_.figure;
}

std::optional<std::size_t> CanvasFigure::reference_at(const figure::Hit& hit) const {
  if (const auto whole = reference_panel(hit.panel)) {
    return whole;
  }
  const auto& made = wiped_.figure;
  if (!wipe_ || made == nullptr || hit.panel >= made->panels.size() || hit.panel >= wiped_.edges.size() ||
      !(hit.x >= wiped_.edges[hit.panel])) {
    return std::nullopt;
  }
  const figure::HeatMap* own = views::map_of(wiped_.of->panels[hit.panel]);
  const figure::HeatMap* shown = views::map_of(made->panels[hit.panel]);
  return own != nullptr && shown != nullptr && own->field != shown->field ? beside(*wiped_.of, hit.panel)
                                                                          : std::nullopt;
}

std::optional<std::size_t> CanvasFigure::reference_panel(std::size_t panel) const {
  const auto& made = studio_.scheduler().figure();
  if (!made || !shows_reference_ || !column_of(*made, panel)) {
    return std::nullopt;
  }
  const auto across = static_cast<std::size_t>(made->columns);
  const std::size_t reference = views::reference_of(studio_.view_input());
  return std::min(panel / across * across + reference, made->panels.size() - 1);
}

views::ViewInput CanvasFigure::with_reference_only(const views::ViewInput& input) {
  const std::size_t reference = views::reference_of(input);
  views::ViewInput alone = input;
  for (views::Column& column : alone.columns) {
    column = input.columns[reference];
    column.own = views::head_of_column(input, reference);
  }
  return alone;
}

views::Selection CanvasFigure::pick(const views::ViewInput& input, const figure::Hit& hit) const {
  if (!reference_at(hit)) {
    return studio_.view().pick(input, hit);
  }
  const views::Column& reference = input.columns[views::reference_of(input)];
  views::Selection picked = studio_.view().pick(with_reference_only(input), hit);
  if (picked.query) {  // token indices are those of the reference
    picked.query = views::token_at(input, reference, picked.query->index);
  }
  if (picked.key) {
    picked.key = views::key_at(input, reference, picked.key->index);
  }
  return picked;
}

std::optional<views::ReadOut> CanvasFigure::read(const figure::Hit& hit) {
  const auto figure = shown();
  return figure ? views::read_out(*figure, hit) : std::nullopt;
}

// Heads are measured after the figure was made: the statement changes once that is done.
const std::string& CanvasFigure::statement(const views::ViewInput& input) {
  std::int64_t measured = 0;  // layers
  for (const views::Column& column : input.columns) {
    const HeadSurvey* survey = studio_.fingerprints().known(column);
    measured += survey == nullptr ? 0 : survey->measured + (survey->done ? 1 : 0);
  }
  const auto known = [&](std::size_t column, const views::HeadRef& head) -> const views::Fingerprint* {
    const HeadSurvey* survey = studio_.fingerprints().known(input.columns[column]);
    const bool there = survey != nullptr && head.layer >= 0 && head.layer < survey->measured && head.head >= 0 &&
                       head.head < survey->heads;
    return there ? &survey->at(head.layer, head.head) : nullptr;
  };
  const auto figure = chosen();
  if (statement_.of != figure || statement_.measured != measured) {
    statement_ = {figure, measured, views::statement(studio_.view().info(), input, *figure, known)};
  }
  return statement_.text;
}

}  // namespace locus::workbench

#include "app/session/plot_choices.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "app/views/shared/plots/series.h"

namespace locus::session {

namespace {

using figure::Interval;

constexpr double kShortestPart = 1e-6;  // of the whole
constexpr double kAll = 0.999;          // of the whole: as much is all of it
constexpr double kMeant = 0.005;        // of the whole: a shorter pull is a click
constexpr double kLogPad = 0.03;        // of its length, beyond the values

// The values that a plot draws along one of its axes.
struct Drawn {
  double least = std::numeric_limits<double>::infinity();
  double most = -std::numeric_limits<double>::infinity();
  double least_above_zero = std::numeric_limits<double>::infinity();
  bool edges_from_zero = false;  // bars begin at 0 or before it

  void add(double value) {
    if (std::isfinite(value)) {
      least = std::min(least, value);
      most = std::max(most, value);
      least_above_zero = value > 0 ? std::min(least_above_zero, value) : least_above_zero;
    }
  }
};

void add_curve(const figure::Curve& curve, bool upright, Drawn& drawn) {
  for (std::size_t n = 0; n < std::min(curve.x.size(), curve.y.size()); ++n) {
    if (std::isfinite(curve.y[n])) {
      drawn.add(upright ? curve.drawn_y(n) : curve.x[n]);
    }
  }
}

void add_bars(const figure::Bars& bars, bool upright, Drawn& drawn) {
  for (const double value : upright ? bars.heights : bars.edges) {
    drawn.add(value);
    drawn.edges_from_zero = drawn.edges_from_zero || (!upright && value <= 0);
  }
}

void add_points(const figure::Points& points, bool upright, Drawn& drawn) {
  for (const std::vector<double>* const list : upright ? std::array{&points.y, &points.y_low, &points.y_high}
                                                       : std::array{&points.x, &points.x_low, &points.x_high}) {
    for (const double value : *list) {
      drawn.add(value);
    }
  }
}

Drawn drawn_along(const figure::Panel& panel, bool upright) {
  Drawn drawn;
  for (const figure::Layer& layer : panel.layers) {
    if (const auto* curve = std::get_if<figure::Curve>(&layer)) {
      add_curve(*curve, upright, drawn);
    } else if (const auto* bars = std::get_if<figure::Bars>(&layer)) {
      add_bars(*bars, upright, drawn);
    } else if (const auto* points = std::get_if<figure::Points>(&layer)) {
      add_points(*points, upright, drawn);
    }
  }
  return drawn;
}

const figure::Axis& axis_of(const figure::Panel& panel, bool upright) {
  return upright ? panel.y : panel.x;
}

// An interval counted as its axis counts, and back.
double counted(double value, bool logarithmic) {
  return logarithmic ? std::log(std::max(value, std::numeric_limits<double>::min())) : value;
}
Interval counted(const Interval& interval, bool logarithmic) {
  return {counted(interval.low, logarithmic), counted(interval.high, logarithmic)};
}
Interval uncounted(const Interval& interval, bool logarithmic) {
  return logarithmic ? Interval{std::exp(interval.low), std::exp(interval.high)} : interval;
}

// A part, counted, moved and shortened so that it lies within the whole; empty: it is all of it.
std::optional<Interval> within(const Interval& part, const Interval& whole, bool logarithmic) {
  const double low = std::min(whole.low, whole.high);
  const double high = std::max(whole.low, whole.high);
  const double length = std::clamp(std::abs(part.high - part.low), kShortestPart * (high - low), high - low);
  if (!(high > low) || !(length < kAll * (high - low))) {
    return std::nullopt;
  }
  const double begin = std::clamp(std::min(part.low, part.high), low, std::max(low, high - length));
  const Interval kept = whole.low <= whole.high ? Interval{begin, begin + length} : Interval{begin + length, begin};
  return uncounted(kept, logarithmic);
}

void drop_points_below_zero(figure::Points& points, bool upright) {
  std::vector<double>& values = upright ? points.y : points.x;
  std::vector<double>& low = upright ? points.y_low : points.x_low;
  for (std::size_t n = 0; n < values.size(); ++n) {
    values[n] = values[n] > 0 ? values[n] : std::nan("");
    if (n < low.size() && low[n] <= 0) {
      low[n] = std::numeric_limits<double>::min();  // the interval goes on beyond the plot
    }
  }
}

// Removes values that a logarithmic axis cannot show: those that are not above 0.
void drop_values_below_zero(figure::Panel& panel, bool upright) {
  for (figure::Layer& layer : panel.layers) {
    if (auto* points = std::get_if<figure::Points>(&layer)) {
      drop_points_below_zero(*points, upright);
    }
    auto* curve = std::get_if<figure::Curve>(&layer);
    for (std::size_t n = 0; curve != nullptr && n < std::min(curve->x.size(), curve->y.size()); ++n) {
      if ((upright ? curve->y[n] : curve->x[n]) <= 0) {
        curve->y[n] = std::nan("");
      }
      if (upright && n < curve->low.size() && curve->low[n] <= 0) {
        curve->low[n] = std::numeric_limits<double>::min();  // the band goes on below the plot
      }
      if (!upright && n < curve->low.size() && curve->x[n] <= 0) {
        curve->low[n] = std::nan("");
      }
    }
  }
}

void hide(figure::Layer& layer, bool keep_name) {
  if (auto* curve = std::get_if<figure::Curve>(&layer)) {
    *curve = {keep_name ? curve->name : "", {}, {}, {}, {}, curve->color, curve->width_px, curve->dashed};
  } else if (auto* bars = std::get_if<figure::Bars>(&layer)) {
    *bars = {keep_name ? bars->name : "", {}, {}, bars->color};
  }
}

void choose_axis(const AxisChoice& choice, figure::Panel& panel) {
  const Interval whole = whole_axis(panel, choice);
  const bool logarithmic = is_logarithmic(panel, choice);
  figure::Axis& axis = choice.upright ? panel.y : panel.x;
  axis.logarithmic = logarithmic;
  axis.view = whole;
  if (choice.seen) {
    const Interval part = counted(*choice.seen, logarithmic);
    axis.view = within(part, counted(whole, logarithmic), logarithmic).value_or(whole);
  }
  if (logarithmic) {
    drop_values_below_zero(panel, choice.upright);
  }
}

}  // namespace

std::string series_name(const figure::Layer& layer) {
  if (const auto* bars = std::get_if<figure::Bars>(&layer)) {
    return bars->name.substr(0, bars->name.find(": "));
  }
  const auto* curve = std::get_if<figure::Curve>(&layer);
  if (curve == nullptr) {
    return {};
  }
  // "text-rope: theory, R² 0.93": what a curve explains changes with every head.
  const std::size_t end = curve->name.rfind(", ");
  const bool number = end != std::string::npos && curve->name.find('.', end) != std::string::npos;
  return number ? curve->name.substr(0, end) : curve->name;
}

bool is_plot(const figure::Panel& panel) {
  bool series = false;
  for (const figure::Layer& layer : panel.layers) {
    const bool marks = std::holds_alternative<figure::Marker>(layer) || std::holds_alternative<figure::Box>(layer);
    const bool drawn = std::holds_alternative<figure::Curve>(layer) || std::holds_alternative<figure::Bars>(layer) ||
                       std::holds_alternative<figure::Points>(layer);
    if (!marks && !drawn) {
      return false;
    }
    series = series || drawn;
  }
  return series && panel.show_axes;
}

AxisChoice choice_of(const PlotChoices& choices, std::size_t panel, bool upright) {
  const auto found = std::ranges::find_if(
      choices.axes, [&](const AxisChoice& each) { return each.panel == panel && each.upright == upright; });
  return found == choices.axes.end() ? AxisChoice{panel, upright, std::nullopt, AxisScale::kAsDrawn} : *found;
}

PlotChoices with_axis(PlotChoices choices, const AxisChoice& choice) {
  std::erase_if(choices.axes,
                [&](const AxisChoice& each) { return each.panel == choice.panel && each.upright == choice.upright; });
  if (choice.seen || choice.scale != AxisScale::kAsDrawn) {
    choices.axes.push_back(choice);
  }
  return choices;
}

PlotChoices with_series(PlotChoices choices, const std::string& name, bool hidden) {
  std::erase(choices.hidden, name);
  if (hidden && !name.empty()) {
    choices.hidden.push_back(name);
  }
  return choices;
}

bool is_hidden(const PlotChoices& choices, const std::string& name) {
  return std::ranges::find(choices.hidden, name) != choices.hidden.end();
}

std::string why_not_logarithmic(const figure::Panel& panel, bool upright) {
  if (axis_of(panel, upright).cell_names) {
    return "no logarithmic axis: it has names, not numbers";
  }
  const Drawn drawn = drawn_along(panel, upright);
  if (drawn.least < 0 || drawn.edges_from_zero) {
    return "no logarithmic axis: its values begin at " + views::short_number(drawn.least);
  }
  return std::isfinite(drawn.least_above_zero) ? "" : "no logarithmic axis: no value is above 0";
}

bool is_logarithmic(const figure::Panel& panel, const AxisChoice& choice) {
  const figure::Axis& axis = axis_of(panel, choice.upright);
  return choice.scale == AxisScale::kAsDrawn
             ? axis.logarithmic
             : choice.scale == AxisScale::kLogarithmic &&
                   (axis.logarithmic || why_not_logarithmic(panel, choice.upright).empty());
}

Interval whole_axis(const figure::Panel& panel, const AxisChoice& choice) {
  const figure::Axis& axis = axis_of(panel, choice.upright);
  if (axis.logarithmic || !is_logarithmic(panel, choice)) {
    return axis.view;
  }
  const Drawn drawn = drawn_along(panel, choice.upright);
  const double pad = std::max(std::pow(drawn.most / drawn.least_above_zero, kLogPad), 1.05);
  const Interval whole{drawn.least_above_zero / pad, drawn.most * pad};
  return axis.view.low <= axis.view.high ? whole : Interval{whole.high, whole.low};
}

std::optional<Interval> zoomed(const Interval& now, const Interval& whole, double around, double factor,
                               bool logarithmic) {
  const Interval part = counted(now, logarithmic);
  const double fixed = counted(around, logarithmic);
  return within({fixed + (part.low - fixed) * factor, fixed + (part.high - fixed) * factor},
                counted(whole, logarithmic), logarithmic);
}

std::optional<Interval> part_between(double a, double b, const Interval& whole, bool logarithmic) {
  const Interval all = counted(whole, logarithmic);
  const double low = std::min(all.low, all.high);
  const double high = std::max(all.low, all.high);
  const double from = std::clamp(counted(a, logarithmic), low, high);
  const double to = std::clamp(counted(b, logarithmic), low, high);
  return std::abs(to - from) < kMeant * (high - low) ? std::nullopt : within({from, to}, all, logarithmic);
}

std::optional<Interval> moved_along(const Interval& now, const Interval& whole, double share, bool logarithmic) {
  const Interval part = counted(now, logarithmic);
  const double by = share * (part.high - part.low);
  return within({part.low + by, part.high + by}, counted(whole, logarithmic), logarithmic);
}

figure::Figure as_chosen(figure::Figure figure, const PlotChoices& choices, bool keep_names) {
  // Axes first: hiding a series does not move the others.
  for (const AxisChoice& choice : choices.axes) {
    if (choice.panel < figure.panels.size() && is_plot(figure.panels[choice.panel])) {
      choose_axis(choice, figure.panels[choice.panel]);
    }
  }
  for (figure::Panel& panel : figure.panels) {
    for (figure::Layer& layer : panel.layers) {
      if (is_hidden(choices, series_name(layer)) && is_plot(panel)) {
        hide(layer, keep_names);
      }
    }
  }
  return figure;
}

}  // namespace locus::session

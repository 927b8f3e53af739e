// PlotChoices: what a person chooses of plots of curves and bars beyond what their view draws: series that are hidden,
// the part of an axis that is seen, and how it counts. The canvas and exports apply them to the view's figure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "renderers/figure/figure.h"

namespace locus::session {

enum class AxisScale { kAsDrawn, kLinear, kLogarithmic };

// One axis of one panel. Panels count from 0.
struct AxisChoice {
  std::size_t panel = 0;
  bool upright = false;                  // the vertical one
  std::optional<figure::Interval> seen;  // empty: all of it
  AxisScale scale = AxisScale::kAsDrawn;

  friend bool operator==(const AxisChoice&, const AxisChoice&) = default;
};

struct PlotChoices {
  std::vector<std::string> hidden;  // series, as series_name() calls them
  std::vector<AxisChoice> axes;     // at most one per axis

  bool empty() const { return hidden.empty() && axes.empty(); }
  friend bool operator==(const PlotChoices&, const PlotChoices&) = default;
};

// The name of a curve or of bars, without the numbers that follow it in a legend; empty: not named, or neither.
std::string series_name(const figure::Layer& layer);
// Whether a panel draws curves or bars over numbers, and no map, image or text.
bool is_plot(const figure::Panel& panel);

// The choices for an axis; by default none.
AxisChoice choice_of(const PlotChoices& choices, std::size_t panel, bool upright);
// The same choices with this one in place of the axis's; one that chooses nothing is left out.
PlotChoices with_axis(PlotChoices choices, const AxisChoice& choice);
// Hides a series, or shows it again.
PlotChoices with_series(PlotChoices choices, const std::string& name, bool hidden);
bool is_hidden(const PlotChoices& choices, const std::string& name);

// Why an axis of a panel cannot be logarithmic; empty: it can.
std::string why_not_logarithmic(const figure::Panel& panel, bool upright);
// Whether the axis is logarithmic under that choice, and the whole of it: of a panel as its view draws it.
bool is_logarithmic(const figure::Panel& panel, const AxisChoice& choice);
figure::Interval whole_axis(const figure::Panel& panel, const AxisChoice& choice);

// The part of `whole` that is seen once the part `now` is `factor` times as long, with `around` where it was; parts
// keep the direction of the whole. Empty: all of it.
std::optional<figure::Interval> zoomed(const figure::Interval& now, const figure::Interval& whole, double around,
                                       double factor, bool logarithmic);
// The part between two places, in the direction of the whole; empty where that is too short to be meant, or all.
std::optional<figure::Interval> part_between(double a, double b, const figure::Interval& whole, bool logarithmic);
// The part `now` moved along by that share of its length.
std::optional<figure::Interval> moved_along(const figure::Interval& now, const figure::Interval& whole, double share,
                                            bool logarithmic);

// The figure under these choices. A hidden series keeps its colour, so that the others keep theirs; with `keep_names`
// it stays in the legend, where it can be shown again. Axes that cannot be logarithmic are as the view draws them.
figure::Figure as_chosen(figure::Figure figure, const PlotChoices& choices, bool keep_names);

}  // namespace locus::session

#include <algorithm>
#include <limits>

#include "app/session/state_fields.h"
#include "core/base/controls.h"

namespace locus::session {

namespace {

constexpr double kMaxPanel = 1e6;  // that a file may name; figures have fewer

// A list of numbers by groups that stand for something else; none of them: not in files.
template <class Get, class Put>
StateField listed_field(const char* name, const char* label, const char* flag, const char* help, std::size_t group,
                        Get get, Put put) {
  const auto value = [get](const ViewState& state) -> std::optional<SettingValue> {
    std::vector<double> list = get(state);
    return list.empty() ? std::nullopt : std::optional<SettingValue>(std::move(list));
  };
  const auto set = [put, group](ViewState& state, const std::optional<SettingValue>& typed) {
    const auto* list = list_in(typed);
    put(state, list == nullptr ? std::vector<double>() : *list, group);
  };
  return {numbers(name, label, help, -std::numeric_limits<double>::infinity()),
          flag,
          StateField::Place::kCanvas,
          group,
          false,
          value,
          set};
}

// Names of series, "; " between them.
StateField hidden_field() {
  const auto get = [](const ViewState& state) -> std::optional<SettingValue> {
    std::string words;
    for (const std::string& name : state.plots.hidden) {
      words += (words.empty() ? "" : "; ") + name;
    }
    return words.empty() ? std::nullopt : std::optional<SettingValue>(words);
  };
  const auto put = [](ViewState& state, const std::optional<SettingValue>& value) {
    std::string words;
    from_value(value, words);
    state.plots.hidden.clear();
    for (std::size_t begin = 0; begin < words.size();) {
      const std::size_t end = std::min(words.find("; ", begin), words.size());
      state.plots = with_series(std::move(state.plots), words.substr(begin, end - begin), true);
      begin = end + 2;
    }
  };
  return {words("hidden", "Hidden series",
                "Curves and histograms that are not drawn, by name; a semicolon and a space between several", "none"),
          "--hide",
          StateField::Place::kCanvas,
          0,
          false,
          get,
          put};
}

StateField axes_field() {
  const auto get = [](const ViewState& state) {
    std::vector<double> list;
    for (const AxisChoice& each : state.plots.axes) {
      const figure::Interval seen = each.seen.value_or(figure::Interval{0, 0});
      list.insert(list.end(), {static_cast<double>(each.panel), each.upright ? 1.0 : 0.0, seen.low, seen.high,
                               static_cast<double>(each.scale)});
    }
    return list;
  };
  const auto put = [](ViewState& state, const std::vector<double>& list, std::size_t group) {
    state.plots.axes.clear();
    for (std::size_t n = 0; n + group <= list.size(); n += group) {
      AxisChoice choice{static_cast<std::size_t>(std::clamp(list[n], 0.0, kMaxPanel)), list[n + 1] == 1, std::nullopt,
                        AxisScale::kAsDrawn};
      if (list[n + 2] != list[n + 3]) {
        choice.seen = figure::Interval{list[n + 2], list[n + 3]};
      }
      choice.scale = static_cast<AxisScale>(static_cast<int>(std::clamp(list[n + 4], 0.0, 2.0)));
      state.plots = with_axis(std::move(state.plots), choice);
    }
  };
  return listed_field(
      "axes", "Axes of plots", "--axes",
      "Parts and scales of single axes of plots, five numbers each: the plot, counted from 0; 0 for the "
      "horizontal or 1 for the vertical axis; both ends of its visible part, 0,0 for all of it; 0 for "
      "the view's own scale, 1 for linear, 2 for logarithmic",
      5, get, put);
}

StateField profiles_field() {
  const auto get = [](const ViewState& state) {
    std::vector<double> list;
    for (const MarkedCell& cell : state.marks.profiles) {
      list.insert(list.end(), {cell.x, cell.y});
    }
    return list;
  };
  const auto put = [](ViewState& state, const std::vector<double>& list, std::size_t group) {
    state.marks.profiles.clear();
    for (std::size_t n = 0; n + group <= list.size(); n += group) {
      state.marks = with_profile(std::move(state.marks), {list[n], list[n + 1]});
    }
  };
  return listed_field("profiles", "Profiles", "--profiles",
                      "Cells of maps whose row and column stay as profiles: key and query of each", 2, get, put);
}

StateField measures_field() {
  const auto get = [](const ViewState& state) {
    std::vector<double> list;
    for (const Measure& each : state.marks.measures) {
      list.insert(list.end(), {static_cast<double>(each.panel), each.from.x, each.from.y, each.to.x, each.to.y});
    }
    return list;
  };
  const auto put = [](ViewState& state, const std::vector<double>& list, std::size_t group) {
    state.marks.measures.clear();
    for (std::size_t n = 0; n + group <= list.size(); n += group) {
      const auto panel = static_cast<std::size_t>(std::clamp(list[n], 0.0, kMaxPanel));
      state.marks =
          with_measure(std::move(state.marks), {panel, {list[n + 1], list[n + 2]}, {list[n + 3], list[n + 4]}});
    }
  };
  return listed_field("measures", "Measures", "--measures",
                      "Measures between two cells of a map, five numbers each: the map, counted from 0; key and query "
                      "of one cell; key and query of the other",
                      5, get, put);
}

StateFields navigator_fields() {
  constexpr auto kCanvas = StateField::Place::kCanvas;
  using Fold = NavigatorChoice::Fold;
  std::vector<std::pair<std::string, std::string>> statistics;
  statistics.reserve(std::size(kHeadStatistics));
  for (const char* name : kHeadStatistics) {
    statistics.emplace_back(name, name);
  }
  return {unless_default(enumerated<std::string>(
              "navigator.statistic", "Colour of the heads", "What colours the squares of the matrix of heads", "",
              statistics, [](auto& s) -> auto& { return s.navigator.statistic; }, kCanvas)),
          unless_default(state_field(
              toggle("navigator.difference", "Heads by difference",
                     "The matrix of heads shows the chosen column minus the reference"),
              "", [](auto& s) -> auto& { return s.navigator.difference; }, kCanvas)),
          unless_default(enumerated<Fold>(
              "navigator.fold", "Matrix of heads", "Whether the matrix of heads is folded to a line", "",
              {{"automatic", Fold::kAutomatic}, {"open", Fold::kOpen}, {"folded", Fold::kFolded}},
              [](auto& s) -> auto& { return s.navigator.fold; }, kCanvas))};
}

}  // namespace

StateFields canvas_fields() {
  StateFields fields{hidden_field(), axes_field(), profiles_field(), measures_field()};
  for (StateField& field : navigator_fields()) {
    fields.push_back(std::move(field));
  }
  return fields;
}

}  // namespace locus::session

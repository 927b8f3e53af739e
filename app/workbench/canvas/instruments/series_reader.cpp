#include "app/workbench/canvas/instruments/instruments.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "app/views/shared/plots/series.h"
#include "app/workbench/canvas/instruments/paint.h"
#include "app/workbench/canvas/instruments/series_values.h"

namespace locus::workbench {

namespace {

// "distance Δ (tokens) 6.50", "layer 2".
std::string place_on(const figure::Axis& axis, double at) {
  const std::string place = views::place_text(axis, at);
  return axis.cell_names == nullptr ? axis.label + " " + place : place;
}

// The quantity of a plot's series, with its unit, and where the values are. Plots of a row have its label once, at the
// first.
std::vector<std::string> head_lines(const figure::Figure& figure, std::size_t panel, double at) {
  std::string quantity;
  for (std::size_t n = panel + 1; n > 0 && quantity.empty(); --n) {
    quantity = figure.panels[n - 1].y.label;
  }
  const std::string place = place_on(figure.panels[panel].x, at);
  return quantity.empty() ? std::vector{place} : std::vector{quantity, place};
}

class SeriesReader final : public Instrument {
 public:
  std::string name() const override { return "series"; }
  std::string title() const override { return "Values of the series"; }
  bool offered(const InstrumentFrame& frame) const override { return panel_of(frame).has_value(); }

  // None of the screen is its own, yet Tab comes to it.
  std::vector<figure::Rect> areas(const InstrumentFrame& /*frame*/,
                                  const std::vector<figure::Rect>& /*taken*/) override {
    return {{}};
  }
  void draw(const InstrumentFrame& /*frame*/, std::size_t /*n*/, const figure::Rect& /*area*/) override {}

  void draw_below(const InstrumentFrame& frame) override {
    const std::size_t n = *panel_of(frame);
    const bool pointed = points_at(frame, n);
    if (!pointed && !frame.focused) {
      return;
    }
    const figure::Panel& panel = frame.figure()->panels[n];
    const figure::PanelLayout& place = frame.layout()->panels[n];
    double at = pointed ? frame.hit->x : place_in(panel);
    const std::vector<SeriesValue> values = values_at(panel, at);
    if (values.empty()) {
      return;
    }
    // Values that all are of one place say that place, not the pointer's.
    if (std::ranges::all_of(values, [&](const SeriesValue& each) { return each.x == values.front().x; })) {
      at = values.front().x;
    }
    ImDrawList& list = *ImGui::GetBackgroundDrawList();
    const double x = place.x.place(at);
    list.AddLine(paint::at(x, place.plot.y), paint::at(x, place.plot.bottom()), ImGui::GetColorU32(ImGuiCol_Border));
    std::vector<std::string> lines = head_lines(*frame.figure(), n, at);
    for (const SeriesValue& value : values) {
      lines.push_back(value.name + "  " + views::short_number(value.y) + value.interval);
      const figure::Point point{place.x.place(value.x), place.y.place(value.drawn_y)};
      if (place.plot.grown(1).contains(point.x, point.y)) {
        list.AddCircleFilled(paint::at(point), static_cast<float>(3 * frame.canvas.dpr),
                             viewport::imgui_color(figure::layer_color(panel, value.layer, frame.layout()->style)));
      }
    }
    const figure::Point beside = pointed ? frame.canvas.pointer : figure::Point{x, place.plot.center_y()};
    figure::Rect box = paint::box_of(frame, lines);
    box = viewport::box_beside(beside, {box.width, box.height},
                               {place.plot, {0, 0, frame.canvas.width, frame.canvas.height}});
    paint::box(frame, list, box, lines);
  }

  std::string said(const InstrumentFrame& frame) const override {
    const auto n = panel_of(frame);
    if (!n) {
      return {};
    }
    const figure::Panel& panel = frame.figure()->panels[*n];
    const double at = place_in(panel);
    std::string words;
    for (const std::string& line : head_lines(*frame.figure(), *n, at)) {
      words += (words.empty() ? "" : ", ") + line;
    }
    for (const SeriesValue& value : values_at(panel, at)) {
      words += "; " + value.name + " " + views::short_number(value.y) + value.interval;
    }
    return words;
  }

  // Left and right go from value to value.
  bool press(const InstrumentFrame& frame, const InstrumentKey& key) override {
    const auto n = panel_of(frame);
    const auto places = n ? places_of(frame.figure()->panels[*n]) : std::vector<double>();
    if (places.empty()) {
      return false;
    }
    constexpr std::ptrdiff_t kPage = 10;
    const auto last = static_cast<std::ptrdiff_t>(places.size()) - 1;
    const auto now = std::ranges::lower_bound(places, place_in(frame.figure()->panels[*n])) - places.begin();
    std::ptrdiff_t next = now;
    switch (key.key) {
      case Qt::Key_Left:
        next = now - 1;
        break;
      case Qt::Key_Right:
        next = now + 1;
        break;
      case Qt::Key_PageUp:
        next = now - kPage;
        break;
      case Qt::Key_PageDown:
        next = now + kPage;
        break;
      case Qt::Key_Home:
        next = 0;
        break;
      case Qt::Key_End:
        next = last;
        break;
      default:
        return false;
    }
    at_ = places[static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(next, 0, last))];
    return true;
  }

 private:
  static bool points_at(const InstrumentFrame& frame, std::size_t panel) {
    return frame.hit && frame.hit->panel == panel;
  }
  // The pointed plot, else the first.
  static std::optional<std::size_t> panel_of(const InstrumentFrame& frame) {
    if (frame.layout() == nullptr || frame.input.columns.empty()) {
      return std::nullopt;
    }
    const auto& panels = frame.figure()->panels;
    if (frame.hit && frame.hit->panel < panels.size() && has_series(panels[frame.hit->panel])) {
      return frame.hit->panel;
    }
    const auto found = std::ranges::find_if(panels, [](const figure::Panel& panel) { return has_series(panel); });
    return found == panels.end() ? std::nullopt : std::optional(static_cast<std::size_t>(found - panels.begin()));
  }
  // Where the keyboard reads: the value that is nearest to where it was.
  double place_in(const figure::Panel& panel) const {
    const auto places = places_of(panel);
    const auto nearest = std::ranges::min_element(places, {}, [this](double at) { return std::abs(at - at_); });
    return nearest == places.end() ? at_ : *nearest;
  }

  double at_ = 0;
};

}  // namespace

std::unique_ptr<Instrument> make_series_reader() {
  return std::make_unique<SeriesReader>();
}

}  // namespace locus::workbench

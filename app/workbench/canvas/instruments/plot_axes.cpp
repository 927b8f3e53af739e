#include "app/workbench/canvas/instruments/instruments.h"

#include <QElapsedTimer>
#include <QTimer>
#include <algorithm>
#include <cmath>

#include "app/views/shared/plots/series.h"
#include "app/workbench/canvas/instruments/paint.h"

namespace locus::workbench {

namespace {

constexpr double kAxisWheelStep = 1.2;  // a notch
constexpr double kZoomStep = 1.25;
constexpr double kAxisMove = 0.2;    // of what is seen, a press of an arrow
constexpr double kSmallestAxis = 4;  // an axis that is zoomed, in heights of text
constexpr double kPullThreshold = 4;
constexpr int kRefusedMs = 2500;  // why an axis cannot be logarithmic

// An axis of the figure, as it is drawn and as it is chosen.
struct PlotAxis {
  session::AxisChoice choice;
  figure::Interval whole;
  bool logarithmic = false;
  std::string label;
  std::string refused;  // why it cannot be logarithmic
  figure::Rect area;

  figure::Interval seen() const { return choice.seen.value_or(whole); }
};

class PlotAxes final : public Instrument {
 public:
  std::string name() const override { return "axes"; }
  std::string title() const override { return "Axes"; }
  std::size_t focused_area() const override { return chosen_; }

  bool offered(const InstrumentFrame& frame) const override { return !axes_of(frame).empty(); }

  std::vector<figure::Rect> areas(const InstrumentFrame& frame, const std::vector<figure::Rect>& /*taken*/) override {
    axes_ = axes_of(frame);
    chosen_ = std::min(chosen_, axes_.size() - 1);
    std::vector<figure::Rect> list;
    for (const PlotAxis& axis : axes_) {
      list.push_back(axis.area);
    }
    return list;
  }

  void draw(const InstrumentFrame& frame, std::size_t n, const figure::Rect& area) override {
    const PlotAxis& axis = axes_[n];
    ImGui::SetCursorScreenPos(paint::from(area));
    ImGui::InvisibleButton("axis", paint::at(area.width, area.height));
    const bool hovered = ImGui::IsItemHovered();
    const figure::PanelLayout& place = frame.layout()->panels[axis.choice.panel];
    const double at = axis.choice.upright ? paint::pointer().y : paint::pointer().x;
    if (ImGui::IsItemActivated()) {
      pull_ = AxisPull{n, at, false};
      chosen_ = n;
    }
    const bool held = pull_ && pull_->axis == n;
    if (held) {
      follow_pull(frame, axis, place, at);
    }
    if (hovered || held) {
      ImGui::GetWindowDrawList()->AddRectFilled(paint::from(area), paint::to(area),
                                                ImGui::GetColorU32(ImGuiCol_HeaderHovered, 0.4F), 3);
    }
    if (hovered && ImGui::GetIO().MouseWheel != 0) {
      const double factor = std::pow(kAxisWheelStep, -static_cast<double>(ImGui::GetIO().MouseWheel));
      see(frame, axis, session::zoomed(axis.seen(), axis.whole, value_at(axis, place, at), factor, axis.logarithmic));
    }
    if (hovered && !held) {
      draw_hint(frame, axis);
    }
  }

  std::string said(const InstrumentFrame& frame) const override {
    const std::vector<PlotAxis> axes = axes_of(frame);
    if (axes.empty()) {
      return {};
    }
    const PlotAxis& axis = axes[std::min(chosen_, axes.size() - 1)];
    const figure::Interval seen = axis.seen();
    return axis.label + (axis.choice.upright ? ", vertical, " : ", horizontal, ") + views::short_number(seen.low) +
           " to " + views::short_number(seen.high) + (axis.logarithmic ? ", logarithmic" : "") +
           (is_refused() ? "; " + axis.refused : "");
  }

  // Up and down zoom, left and right move along, Page Up and Page Down choose an axis.
  bool press(const InstrumentFrame& frame, const InstrumentKey& key) override {
    const std::vector<PlotAxis> axes = axes_of(frame);
    if (axes.empty()) {
      return false;
    }
    chosen_ = std::min(chosen_, axes.size() - 1);
    const PlotAxis& axis = axes[chosen_];
    const auto zoom = [&](double factor) {
      see(frame, axis, session::zoomed(axis.seen(), axis.whole, middle_of(axis), factor, axis.logarithmic));
    };
    const auto move = [&](double share) {
      see(frame, axis, session::moved_along(axis.seen(), axis.whole, share, axis.logarithmic));
    };
    switch (key.key) {
      case Qt::Key_PageUp:
        chosen_ = chosen_ == 0 ? axes.size() - 1 : chosen_ - 1;
        return true;
      case Qt::Key_PageDown:
        chosen_ = (chosen_ + 1) % axes.size();
        return true;
      case Qt::Key_Up:
        zoom(1 / kZoomStep);
        return true;
      case Qt::Key_Down:
        zoom(kZoomStep);
        return true;
      case Qt::Key_Left:
        move(-kAxisMove);
        return true;
      case Qt::Key_Right:
        move(kAxisMove);
        return true;
      case Qt::Key_Return:
      case Qt::Key_Enter:
        turn_scale(frame, axis);
        return true;
      case Qt::Key_Home:
        choose(frame, {axis.choice.panel, axis.choice.upright, std::nullopt, session::AxisScale::kAsDrawn});
        return true;
      default:
        return false;
    }
  }

 private:
  struct AxisPull {
    std::size_t axis = 0;
    double began = 0;  // along the axis
    bool moved = false;
  };

  // Axes of plots that do not follow the camera.
  static std::vector<PlotAxis> axes_of(const InstrumentFrame& frame) {
    std::vector<PlotAxis> list;
    const auto& drawn = frame.studio.scheduler().figure();
    const std::size_t panels = frame.layout() == nullptr || !drawn || frame.input.columns.empty()
                                   ? 0
                                   : std::min(frame.layout()->panels.size(), drawn->panels.size());
    for (std::size_t n = 0; n < panels; ++n) {
      const figure::Panel& panel = drawn->panels[n];
      const figure::PanelLayout& place = frame.layout()->panels[n];
      const double least = kSmallestAxis * frame.canvas.text;
      if (!session::is_plot(panel) || (frame.home && panel.follows_camera) || place.plot.width < least ||
          place.plot.height < least) {
        continue;
      }
      for (const bool upright : {false, true}) {
        const session::AxisChoice choice = session::choice_of(frame.state().plots, n, upright);
        const std::string& label = upright ? panel.y.label : panel.x.label;
        list.push_back({choice, session::whole_axis(panel, choice), session::is_logarithmic(panel, choice),
                        label.empty() ? "axis" : label, session::why_not_logarithmic(panel, upright),
                        area_of(frame, place, upright)});
      }
    }
    return list;
  }

  // Where its numbers stand.
  static figure::Rect area_of(const InstrumentFrame& frame, const figure::PanelLayout& place, bool upright) {
    const double text = frame.canvas.text;
    if (upright) {
      const double left = std::max({0.0, place.slot.x, place.plot.x - 4 * text});
      return {left, place.plot.y, place.plot.x - left, place.plot.height};
    }
    const double bottom = std::min(frame.canvas.height, place.plot.bottom() + 2 * text);
    return {place.plot.x, place.plot.bottom() + 1, place.plot.width, std::max(1.0, bottom - place.plot.bottom())};
  }

  static double value_at(const PlotAxis& axis, const figure::PanelLayout& place, double at) {
    return axis.choice.upright ? place.y.value(at) : place.x.value(at);
  }
  static double middle_of(const PlotAxis& axis) {
    const figure::Interval seen = axis.seen();
    return axis.logarithmic ? std::sqrt(seen.low * seen.high) : (seen.low + seen.high) / 2;
  }

  void follow_pull(const InstrumentFrame& frame, const PlotAxis& axis, const figure::PanelLayout& place, double at) {
    pull_->moved = pull_->moved || std::abs(at - pull_->began) > kPullThreshold * frame.canvas.dpr;
    if (pull_->moved) {
      const figure::Rect& plot = place.plot;
      const double from = std::min(at, pull_->began);
      const double length = std::abs(at - pull_->began);
      const figure::Rect part = (axis.choice.upright ? figure::Rect{plot.x, from, plot.width, length}
                                                     : figure::Rect{from, plot.y, length, plot.height})
                                    .intersected(plot);
      ImGui::GetForegroundDrawList()->AddRectFilled(paint::from(part), paint::to(part),
                                                    ImGui::GetColorU32(ImGuiCol_Header, 0.5F));
    }
    if (ImGui::IsMouseDoubleClicked(0)) {
      choose(frame, {axis.choice.panel, axis.choice.upright, std::nullopt, session::AxisScale::kAsDrawn});
      pull_.reset();
    } else if (!ImGui::IsItemActive()) {
      if (pull_->moved) {
        see(frame, axis,
            session::part_between(value_at(axis, place, pull_->began), value_at(axis, place, at), axis.whole,
                                  axis.logarithmic));
      } else {
        turn_scale(frame, axis);
      }
      pull_.reset();
    }
  }

  void turn_scale(const InstrumentFrame& frame, const PlotAxis& axis) {
    if (!axis.logarithmic && !axis.refused.empty()) {
      refused_.start();
      QTimer::singleShot(kRefusedMs + 50, &frame.gesture, frame.redraw);
      return;
    }
    session::AxisChoice choice = axis.choice;
    const bool usual = choice.scale != session::AxisScale::kAsDrawn;
    choice.scale = usual              ? session::AxisScale::kAsDrawn
                   : axis.logarithmic ? session::AxisScale::kLinear
                                      : session::AxisScale::kLogarithmic;
    choice.seen.reset();
    choose(frame, choice);
  }
  bool is_refused() const { return refused_.isValid() && refused_.elapsed() < kRefusedMs; }

  static void see(const InstrumentFrame& frame, const PlotAxis& axis, const std::optional<figure::Interval>& part) {
    session::AxisChoice choice = axis.choice;
    choice.seen = part;
    choose(frame, choice);
  }
  static void choose(const InstrumentFrame& frame, const session::AxisChoice& choice) {
    session::ViewState state = frame.state();
    state.plots = session::with_axis(std::move(state.plots), choice);
    frame.gesture.change(state);
  }

  void draw_hint(const InstrumentFrame& frame, const PlotAxis& axis) const {
    std::vector<std::string> lines;
    if (is_refused()) {
      lines.push_back(axis.refused);
    } else {
      lines.emplace_back("wheel: zoom; drag: a part");
      lines.emplace_back(axis.logarithmic       ? "click: linear; double click: all"
                         : axis.refused.empty() ? "click: logarithmic; double click: all"
                                                : "double click: all");
    }
    figure::Rect box = paint::box_of(frame, lines);
    box.x = axis.choice.upright ? axis.area.right() + frame.pad() : axis.area.center_x() - box.width / 2;
    box.y = axis.choice.upright ? axis.area.center_y() - box.height / 2 : axis.area.y - box.height - frame.pad();
    box.x = std::clamp(box.x, 0.0, std::max(0.0, frame.canvas.width - box.width));
    paint::box(frame, *ImGui::GetForegroundDrawList(), box, lines);
  }

  std::vector<PlotAxis> axes_;
  std::size_t chosen_ = 0;
  std::optional<AxisPull> pull_;
  QElapsedTimer refused_;
};

}  // namespace

std::unique_ptr<Instrument> make_plot_axes() {
  return std::make_unique<PlotAxes>();
}

}  // namespace locus::workbench

#include "app/workbench/canvas/instruments/profiles.h"

#include <algorithm>
#include <cmath>

#include "app/views/plots/map_lines.h"
#include "app/views/plots/series.h"
#include "app/workbench/canvas/instruments/paint.h"

namespace locus::workbench {

namespace {

constexpr double kProfileDepth = 0.2;  // of the plot

// A band along one side of a plot, in which curves are drawn.
struct Band {
  figure::Rect rect;
  const figure::AxisMap* along = nullptr;
  bool upright = false;  // the curve runs down, its values to the right
};

class Profiles final : public Instrument {
 public:
  std::string name() const override { return "profiles"; }
  std::string title() const override { return "Profiles"; }
  bool takes_keys() const override { return false; }
  int toggle_key() const override { return Qt::Key_P; }
  void toggle(const InstrumentFrame& /*frame*/) override { shown_ = !shown_; }

  bool offered(const InstrumentFrame& frame) const override {
    return shown_ && frame.layout() != nullptr && !frame.input.columns.empty();
  }
  std::vector<figure::Rect> areas(const InstrumentFrame& /*frame*/,
                                  const std::vector<figure::Rect>& /*taken*/) override {
    return {};
  }
  void draw(const InstrumentFrame& /*frame*/, std::size_t /*n*/, const figure::Rect& /*area*/) override {}

  // Of the pointed cell, or the pinned one.
  void draw_below(const InstrumentFrame& frame) override {
    const auto at = place_of(frame);
    if (!at) {
      return;
    }
    const figure::PanelLayout& panel = frame.layout()->panels[at->panel];
    std::vector<views::Profile> rows;
    std::vector<views::Profile> columns;
    for (std::size_t n = 0; n < std::min(frame.figure()->panels.size(), frame.input.columns.size()); ++n) {
      const figure::HeatMap* map = views::map_of(frame.figure()->panels[n]);
      const auto cell = map == nullptr ? std::nullopt : views::cell_at(*map->field, at->x, at->y);
      rows.push_back(cell ? views::row_profile(*map->field, cell->row) : views::Profile());
      columns.push_back(cell ? views::column_profile(*map->field, cell->column) : views::Profile());
    }
    const figure::Point pointer = frame.canvas.pointer;
    const double high = kProfileDepth * panel.plot.height;
    const double wide = kProfileDepth * panel.plot.width;
    // Along the upper and the right side, or the other one where the pointer is there.
    const bool below = frame.hit && pointer.y < panel.plot.y + 1.2 * high;
    const bool left = frame.hit && pointer.x > panel.plot.right() - 1.2 * wide;
    const figure::Rect over{panel.plot.x, below ? panel.plot.bottom() - high : panel.plot.y, panel.plot.width, high};
    const figure::Rect beside{left ? panel.plot.x : panel.plot.right() - wide, panel.plot.y, wide, panel.plot.height};
    draw_band(frame, {over, &panel.x, false}, rows, at->x);
    draw_band(frame, {beside, &panel.y, true}, columns, at->y);
  }

  std::string said(const InstrumentFrame& /*frame*/) const override { return shown_ ? "shown" : "hidden"; }

 private:
  static std::optional<figure::Hit> place_of(const InstrumentFrame& frame) {
    if (frame.hit && frame.hit->panel < frame.figure()->panels.size() &&
        views::map_of(frame.figure()->panels[frame.hit->panel]) != nullptr) {
      return frame.hit;
    }
    views::Selection pinned;
    pinned.query = frame.input.query;
    pinned.key = frame.input.key.chosen() ? frame.input.key : frame.input.query;
    if (!frame.input.query.chosen()) {
      return std::nullopt;
    }
    for (const views::Place& place : frame.view.places(frame.input, pinned)) {
      if (place.panel < frame.figure()->panels.size() &&
          views::map_of(frame.figure()->panels[place.panel]) != nullptr) {
        return figure::Hit{place.panel, (place.x.low + place.x.high) / 2, (place.y.low + place.y.high) / 2, -1};
      }
    }
    return std::nullopt;
  }

  static void draw_band(const InstrumentFrame& frame, const Band& band, const std::vector<views::Profile>& profiles,
                        double pointed) {
    ImDrawList& list = *ImGui::GetBackgroundDrawList();
    paint::ground(list, band.rect, 0.8);
    list.PushClipRect(paint::from(band.rect), paint::to(band.rect), true);
    const figure::Interval range = views::range_of(profiles);
    const double depth = band.upright ? band.rect.width : band.rect.height;
    const auto place = [&](double at, double value) {
      const double along = band.along->place(at);
      const double part = (value - range.low) / (range.high - range.low) * depth * 0.92;
      return band.upright ? paint::at(band.rect.x + part, along) : paint::at(along, band.rect.bottom() - part);
    };
    std::vector<std::string> values;
    for (std::size_t n = 0; n < profiles.size(); ++n) {
      const views::Profile& profile = profiles[n];
      const ImU32 color =
          viewport::imgui_color(frame.layout()->style.palette[n % frame.layout()->style.palette.size()]);
      std::vector<ImVec2> points;
      points.reserve(profile.at.size());
      for (std::size_t i = 0; i < profile.at.size(); ++i) {
        points.push_back(place(profile.at[i], profile.values[i]));
      }
      list.AddPolyline(points.data(), static_cast<int>(points.size()), color, 0,
                       static_cast<float>(1.4 * frame.canvas.dpr));
      const auto nearest = std::ranges::min_element(profile.at, {}, [&](double at) { return std::abs(at - pointed); });
      if (nearest != profile.at.end()) {
        const auto i = static_cast<std::size_t>(nearest - profile.at.begin());
        list.AddCircleFilled(points[i], static_cast<float>(2.5 * frame.canvas.dpr), color);
        values.push_back(views::short_number(profile.values[i]));
      }
    }
    double top = band.rect.y + frame.pad() / 2;
    for (const std::string& value : values) {
      paint::text(frame, list, {band.rect.right() - paint::text_size(value).x - frame.pad(), top}, value);
      top += frame.line();
    }
    list.PopClipRect();
  }

  bool shown_ = false;
};

}  // namespace

std::unique_ptr<Instrument> make_profiles() {
  return std::make_unique<Profiles>();
}

}  // namespace locus::workbench

#include "app/workbench/canvas/instruments/instruments.h"

#include <algorithm>
#include <cmath>

#include "app/workbench/canvas/instruments/free_places.h"
#include "app/workbench/canvas/instruments/head_thumbnails.h"
#include "app/workbench/canvas/instruments/map_window.h"
#include "app/workbench/canvas/instruments/paint.h"
#include "core/base/numbers.h"
#include "renderers/figure/colormap.h"

namespace locus::workbench {

namespace {

constexpr double kMinimapSize = 8;  // of the longer side, in heights of text
constexpr double kShift = 0.25;     // of what is visible, a press of an arrow

class Minimap final : public Instrument {
 public:
  std::string name() const override { return "minimap"; }
  std::string title() const override { return "Minimap"; }

  bool offered(const InstrumentFrame& frame) const override {
    return frame.home && frame.layout() != nullptr && !frame.input.columns.empty() && frame.state().camera &&
           is_zoomed(*frame.home, *frame.state().camera) && !shows_text(*frame.figure());
  }

  std::vector<figure::Rect> areas(const InstrumentFrame& frame, const std::vector<figure::Rect>& taken) override {
    const double wide = std::abs(frame.home->x.high - frame.home->x.low);
    const double high = std::abs(frame.home->y.high - frame.home->y.low);
    const figure::Point canvas{frame.canvas.width, frame.canvas.height};
    const auto size = [&](double part) {
      const double scale = part * kMinimapSize * frame.canvas.text / std::max({wide, high, 1.0});
      return figure::Point{std::max(scale * wide, frame.canvas.text) + frame.pad(),
                           std::max(scale * high, frame.canvas.text) + frame.pad()};
    };
    for (const double part : {1.0, 0.8, 0.65}) {
      if (const auto place = free_place(size(part), canvas, frame.pad(), taken)) {
        return {*place};
      }
    }
    return {place_or_corner(size(1), canvas, frame.pad(), taken)};
  }

  void draw(const InstrumentFrame& frame, std::size_t /*n*/, const figure::Rect& area) override {
    ImDrawList& list = *ImGui::GetWindowDrawList();
    paint::ground(list, area);
    const figure::Rect picture = area.grown(-frame.pad() / 2);
    draw_map(frame, picture, list);
    const views::Camera camera = *frame.state().camera;
    const figure::Rect seen = visible_part(*frame.home, camera, picture);
    list.AddRect(paint::from(seen), paint::to(seen), viewport::imgui_color(0xFF9D2EFF), 0, 0,
                 static_cast<float>(1.5 * frame.canvas.dpr));
    ImGui::SetCursorScreenPos(paint::from(area));
    ImGui::InvisibleButton("map", paint::at(area.width, area.height));
    const figure::Point at = paint::pointer();
    if (ImGui::IsItemActivated()) {
      grip_ = seen.contains(at.x, at.y) ? figure::Point{at.x - seen.center_x(), at.y - seen.center_y()}
                                        : figure::Point{};  // the middle jumps to the pointer
    }
    if (ImGui::IsItemActive()) {
      session::ViewState state = frame.state();
      state.camera = centred_at(*frame.home, camera, picture, {at.x - grip_.x, at.y - grip_.y});
      frame.gesture.change(state);
    }
  }

  std::string said(const InstrumentFrame& frame) const override {
    const auto end = [](double value) { return fixed_text(value, 0); };
    const views::Camera camera = frame.state().camera.value_or(*frame.home);
    return "keys " + end(camera.x.low) + " to " + end(camera.x.high) + ", queries " +
           end(std::min(camera.y.low, camera.y.high)) + " to " + end(std::max(camera.y.low, camera.y.high));
  }

  bool press(const InstrumentFrame& frame, const InstrumentKey& key) override {
    if (!frame.home || !frame.state().camera) {
      return false;
    }
    double across = 0;
    double down = 0;
    switch (key.key) {
      case Qt::Key_Left:
        across = -kShift;
        break;
      case Qt::Key_Right:
        across = kShift;
        break;
      case Qt::Key_Up:
        down = -kShift;
        break;
      case Qt::Key_Down:
        down = kShift;
        break;
      default:
        return false;
    }
    session::ViewState state = frame.state();
    state.camera = shifted(*frame.home, *state.camera, across, down);
    frame.gesture.change(state);
    return true;
  }

 private:
  static bool shows_text(const figure::Figure& figure) {
    return std::ranges::any_of(figure.panels, [](const figure::Panel& panel) {
      return std::ranges::any_of(
          panel.layers, [](const figure::Layer& layer) { return std::holds_alternative<figure::TokenStrip>(layer); });
    });
  }

  // The map in views of one head's weights; other views show only the rectangle.
  void draw_map(const InstrumentFrame& frame, const figure::Rect& picture, ImDrawList& list) {
    if (!frame.view.info().uses_quantity || frame.input.columns.front().trace->image_grid().rows > 0) {
      list.AddRectFilled(paint::from(picture), paint::to(picture), ImGui::GetColorU32(ImGuiCol_FrameBg));
      return;
    }
    const auto map = thumbnails_.of(frame.studio.worker(), frame.input.columns.front(),
                                    views::head_of_column(frame.input, 0), frame.redraw);
    if (map == nullptr || map->rows < 1 || map->columns < 1) {
      return;
    }
    figure::ColorScale scale;
    scale.transfer = figure::Transfer::kGamma;
    scale.gamma = 0.5F;
    const double wide = picture.width / static_cast<double>(map->columns);
    const double high = picture.height / static_cast<double>(map->rows);
    for (std::int64_t row = 0; row < map->rows; ++row) {
      for (std::int64_t column = 0; column < map->columns; ++column) {
        const figure::Rect cell{picture.x + wide * static_cast<double>(column),
                                picture.y + high * static_cast<double>(row), wide, high};
        list.AddRectFilled(paint::from(cell), paint::to(cell),
                           viewport::imgui_color(figure::color_of(scale, map->at(row, column))));
      }
    }
  }

  HeadThumbnails thumbnails_;
  figure::Point grip_;  // from the middle of what is visible to where it is held
};

}  // namespace

std::unique_ptr<Instrument> make_minimap() {
  return std::make_unique<Minimap>();
}

}  // namespace locus::workbench

#include "app/workbench/canvas/instruments/instruments.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "app/views/shared/plots/series.h"
#include "app/workbench/canvas/instruments/bar_scale.h"
#include "app/workbench/canvas/instruments/paint.h"
#include "core/base/numbers.h"
#include "renderers/figure/colormap.h"
#include "renderers/figure/panel_decor.h"

namespace locus::workbench {

namespace {

constexpr int kBins = 48;
constexpr double kKeyStep = 0.04;  // of the bar, a press of an arrow
constexpr int kGradientSteps = 24;
using ChosenTransfer = std::optional<figure::Transfer>;
constexpr std::array<std::pair<ChosenTransfer, const char*>, 4> kTransfers{{{std::nullopt, "auto"},
                                                                            {figure::Transfer::kLinear, "linear"},
                                                                            {figure::Transfer::kLog, "log"},
                                                                            {figure::Transfer::kGamma, "gamma"}}};

const figure::HeatMap* map_of_bar(const figure::Panel& panel) {
  for (const figure::Layer& layer : panel.layers) {
    if (const auto* map = std::get_if<figure::HeatMap>(&layer)) {
      return map;
    }
  }
  return nullptr;
}

bool shows_points(const figure::Panel& panel) {
  return std::ranges::any_of(panel.layers,
                             [](const figure::Layer& layer) { return std::holds_alternative<figure::Points>(layer); });
}

class ColorBar final : public Instrument {
 public:
  std::string name() const override { return "colour-bar"; }
  std::string title() const override { return "Colour bar"; }

  bool offered(const InstrumentFrame& frame) const override { return !panels_of(frame).empty(); }

  std::vector<figure::Rect> areas(const InstrumentFrame& frame, const std::vector<figure::Rect>& /*taken*/) override {
    panels_ = panels_of(frame);
    std::vector<figure::Rect> list;
    for (const std::size_t n : panels_) {
      const figure::Rect& bar = frame.layout()->panels[n].color_bar;
      const double grip = frame.canvas.text * 0.5;
      list.push_back({bar.x - grip / 2, bar.y - grip, bar.width + grip, bar.height + 2 * grip});
    }
    return list;
  }

  void draw(const InstrumentFrame& frame, std::size_t n, const figure::Rect& area) override {
    const std::size_t panel = panels_[n];
    const figure::Rect bar = frame.layout()->panels[panel].color_bar;
    const figure::ColorScale scale = *figure::color_bar_scale(frame.figure()->panels[panel]);
    ImGui::SetCursorScreenPos(paint::from(area));
    ImGui::InvisibleButton("bar", paint::at(area.width, area.height));
    const bool hovered = ImGui::IsItemHovered();
    const bool held = ImGui::IsItemActive();
    ImDrawList& list = *ImGui::GetWindowDrawList();
    if (hovered || held || frame.focused) {
      draw_histogram(frame, panel, scale, bar, list);
    }
    draw_handles(frame, bar, hovered || held || frame.focused, list);
    handle_mouse(frame, panel, scale, bar, hovered, held);
    if (held && pulled_) {
      draw_value(frame, scale, bar);
    }
    draw_menu(frame);
  }

  std::string said(const InstrumentFrame& frame) const override {
    const auto panels = panels_of(frame);
    return panels.empty() ? std::string() : words_of(*figure::color_bar_scale(frame.figure()->panels[panels.front()]));
  }

  bool press(const InstrumentFrame& frame, const InstrumentKey& key) override {
    const auto panels = panels_of(frame);
    if (panels.empty()) {
      return false;
    }
    figure::ColorScale scale = *figure::color_bar_scale(frame.figure()->panels[panels.front()]);
    session::ViewState state = frame.state();
    scale.low =
        state.scale.low.value_or(scale.low);  // as keys before this one left it: the figure may not be there yet
    scale.high = state.scale.high.value_or(scale.high);
    const bool low = key.modifiers.testFlag(Qt::ShiftModifier);
    switch (key.key) {
      case Qt::Key_Up:
      case Qt::Key_Down: {
        const double by = key.key == Qt::Key_Up ? kKeyStep : -kKeyStep;
        state.scale = pulled(state.scale, scale, low ? BarEnd::kLow : BarEnd::kHigh, (low ? 0 : 1) + by);
        break;
      }
      case Qt::Key_Left:
      case Qt::Key_Right:
        state.scale.colormap = next_map(scale.colormap, key.key == Qt::Key_Right ? 1 : -1);
        break;
      case Qt::Key_PageUp:
      case Qt::Key_PageDown:
        state.scale = turned(state.scale, key.key == Qt::Key_PageUp ? 1 : -1);
        break;
      case Qt::Key_Home:
      case Qt::Key_Delete:
        state.scale = automatic(state.scale);
        break;
      case Qt::Key_Return:
      case Qt::Key_Enter:
        state.scale.transfer = next_transfer(state.scale.transfer);
        break;
      default:
        return false;
    }
    frame.gesture.change(state);
    return true;
  }

 private:
  // The panels coloured by the state's scale. Maps of differences and points have scales of their own.
  static std::vector<std::size_t> panels_of(const InstrumentFrame& frame) {
    std::vector<std::size_t> list;
    if (frame.layout() == nullptr || frame.input.columns.empty()) {
      return list;
    }
    for (std::size_t n = 0; n < frame.layout()->panels.size(); ++n) {
      const figure::Panel& panel = frame.figure()->panels[n];
      if (!frame.layout()->panels[n].color_bar.empty() && !panel.color_bar_label.starts_with("difference of") &&
          figure::color_bar_scale(panel) && !shows_points(panel)) {
        list.push_back(n);
      }
    }
    return list;
  }

  static std::string next_map(const std::string& now, int by) {
    const auto count = static_cast<std::ptrdiff_t>(figure::colormaps().size());
    const auto place = (static_cast<std::ptrdiff_t>(figure::colormap_index(now)) + by + count) % count;
    return figure::colormaps()[static_cast<std::size_t>(place)].name;
  }
  static ChosenTransfer next_transfer(ChosenTransfer now) {
    const auto found = std::ranges::find_if(kTransfers, [&](const auto& each) { return each.first == now; });
    const auto next = static_cast<std::size_t>(found - kTransfers.begin() + 1) % kTransfers.size();
    return kTransfers[next].first;
  }

  void handle_mouse(const InstrumentFrame& frame, std::size_t panel, const figure::ColorScale& scale,
                    const figure::Rect& bar, bool hovered, bool held) {
    const double share = (bar.bottom() - paint::pointer().y) / std::max(bar.height, 1.0);
    session::ViewState state = frame.state();
    if (hovered && ImGui::IsMouseDoubleClicked(0)) {
      pulled_.reset();
      state.scale = automatic(state.scale);
    } else if (ImGui::IsItemActivated()) {
      pulled_ = Pull{scale, panel, share < 0.5 ? BarEnd::kLow : BarEnd::kHigh, share};
    } else if (held && pulled_ && std::abs(share - pulled_->began) * bar.height > frame.canvas.dpr) {
      const double from = pulled_->end == BarEnd::kLow ? 0 : 1;
      state.scale = pulled(state.scale, pulled_->scale, pulled_->end, from + share - pulled_->began);
    } else if (hovered && ImGui::GetIO().MouseWheel != 0) {
      state.scale = turned(state.scale, static_cast<double>(ImGui::GetIO().MouseWheel));
    }
    if (!held) {
      pulled_.reset();
    }
    if (hovered && ImGui::IsMouseReleased(1)) {
      ImGui::OpenPopup("colours");
    }
    frame.gesture.change(state);
  }

  void draw_histogram(const InstrumentFrame& frame, std::size_t panel, const figure::ColorScale& scale,
                      const figure::Rect& bar, ImDrawList& list) {
    const figure::HeatMap* map = map_of_bar(frame.figure()->panels[panel]);
    if (map == nullptr || !map->field) {
      return;
    }
    if (map->field != counted_.lock() || !(scale == counted_scale_)) {
      counted_ = map->field;
      counted_scale_ = scale;
      counts_ = histogram_of(*map->field, scale, kBins);
    }
    for (std::size_t n = 0; n < counts_.size(); ++n) {
      const double top = bar.bottom() - bar.height * static_cast<double>(n + 1) / kBins;
      const double wide = bar.width * static_cast<double>(counts_[n]);
      const bool light =
          figure::is_light(figure::color_of(scale, value_at(scale, (static_cast<double>(n) + 0.5) / kBins)));
      list.AddRectFilled(paint::at(bar.right() - wide, top), paint::at(bar.right(), top + bar.height / kBins),
                         light ? IM_COL32(0, 0, 0, 110) : IM_COL32(255, 255, 255, 110));
    }
  }

  static void draw_handles(const InstrumentFrame& frame, const figure::Rect& bar, bool strong, ImDrawList& list) {
    const double size = frame.canvas.text * 0.4;
    const ImU32 color = strong ? viewport::imgui_color(viewport::kFocusColor) : ImGui::GetColorU32(ImGuiCol_Border);
    const double middle = bar.center_x();
    list.AddTriangleFilled(paint::at(middle - size, bar.y - size), paint::at(middle + size, bar.y - size),
                           paint::at(middle, bar.y), color);
    list.AddTriangleFilled(paint::at(middle - size, bar.bottom() + size), paint::at(middle, bar.bottom()),
                           paint::at(middle + size, bar.bottom() + size), color);
  }

  void draw_value(const InstrumentFrame& frame, const figure::ColorScale& scale, const figure::Rect& bar) const {
    const float value = pulled_->end == BarEnd::kLow ? scale.low : scale.high;
    const std::vector<std::string> lines{views::short_number(static_cast<double>(value))};
    figure::Rect place = paint::box_of(frame, lines);
    place.x = std::max(0.0, bar.x - place.width - frame.pad());
    place.y = std::clamp(paint::pointer().y - place.height / 2, 0.0, std::max(0.0, frame.canvas.height - place.height));
    paint::box(frame, *ImGui::GetForegroundDrawList(), place, lines);
  }

  static void draw_menu(const InstrumentFrame& frame) {
    if (!ImGui::BeginPopup("colours")) {
      return;
    }
    if (frame.closes_menus) {
      ImGui::CloseCurrentPopup();
    }
    session::ViewState state = frame.state();
    const auto width = static_cast<float>(frame.canvas.text * 9);
    const float height = ImGui::GetTextLineHeight();
    if (ImGui::Selectable("automatic", state.scale.colormap.empty())) {
      state.scale.colormap.clear();
    }
    for (const figure::Colormap& map : figure::colormaps()) {
      const ImVec2 at = ImGui::GetCursorScreenPos();
      if (ImGui::Selectable(("##" + map.name).c_str(), state.scale.colormap == map.name, 0, ImVec2(2 * width, 0))) {
        state.scale.colormap = map.name;
      }
      ImDrawList& list = *ImGui::GetWindowDrawList();
      for (int step = 0; step < kGradientSteps; ++step) {
        const auto part = [&](int n) { return at.x + width * static_cast<float>(n) / kGradientSteps; };
        const float t = (static_cast<float>(step) + 0.5F) / kGradientSteps;
        list.AddRectFilled(ImVec2(part(step), at.y), ImVec2(part(step + 1), at.y + height),
                           viewport::imgui_color(figure::color_at(map, t)));
      }
      paint::text(frame, list, {static_cast<double>(at.x + width) + frame.pad(), static_cast<double>(at.y)}, map.name);
    }
    ImGui::Separator();
    for (const auto& [transfer, word] : kTransfers) {
      if (ImGui::MenuItem(word, nullptr, state.scale.transfer == transfer)) {
        state.scale.transfer = transfer;
      }
    }
    ImGui::Separator();
    if (ImGui::MenuItem("same for all columns", nullptr, state.scale.shared)) {
      state.scale.shared = !state.scale.shared;
    }
    if (ImGui::MenuItem("from the data")) {
      state.scale = automatic(state.scale);
    }
    frame.gesture.change(state);
    ImGui::EndPopup();
  }

  struct Pull {
    figure::ColorScale scale;  // when it began
    std::size_t panel = 0;
    BarEnd end = BarEnd::kHigh;
    double began = 0;  // share of the bar
  };
  std::vector<std::size_t> panels_;  // one per area
  std::optional<Pull> pulled_;
  std::weak_ptr<const Field> counted_;
  figure::ColorScale counted_scale_;
  std::vector<float> counts_;
};

}  // namespace

std::unique_ptr<Instrument> make_color_bar() {
  return std::make_unique<ColorBar>();
}

}  // namespace locus::workbench

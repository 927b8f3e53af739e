#include "app/workbench/canvas/instruments/instruments.h"

#include <algorithm>
#include <cmath>

#include "app/workbench/canvas/instruments/paint.h"

namespace locus::workbench {

namespace {

constexpr double kLegendEntry = 1.35;  // in heights of its text

class Legend final : public Instrument {
 public:
  std::string name() const override { return "legend"; }
  std::string title() const override { return "Legend"; }
  std::size_t focused_area() const override { return entry_; }

  bool offered(const InstrumentFrame& frame) const override {
    return frame.layout() != nullptr && !frame.input.columns.empty() && !entries_of(frame).empty();
  }

  std::vector<figure::Rect> areas(const InstrumentFrame& frame, const std::vector<figure::Rect>& /*taken*/) override {
    entries_ = entries_of(frame);
    entry_ = std::min(entry_, entries_.size() - 1);
    std::vector<figure::Rect> list;
    for (const Entry& entry : entries_) {
      list.push_back(entry.area);
    }
    return list;
  }

  void draw(const InstrumentFrame& frame, std::size_t n, const figure::Rect& area) override {
    const Entry& entry = entries_[n];
    const bool hidden = session::is_hidden(frame.state().plots, entry.name);
    ImDrawList& list = *ImGui::GetWindowDrawList();
    if (hidden) {
      const figure::Color ground = (frame.layout()->style.background & 0xFFFFFF00U) | 0xA8U;
      list.AddRectFilled(paint::from(area), paint::to(area), viewport::imgui_color(ground));
      list.AddLine(paint::at(area.x, area.center_y()), paint::at(area.right(), area.center_y()),
                   ImGui::GetColorU32(ImGuiCol_Border), static_cast<float>(frame.canvas.dpr));
    }
    ImGui::SetCursorScreenPos(paint::from(area));
    const bool clicked = ImGui::InvisibleButton("entry", paint::at(area.width, area.height));
    if (ImGui::IsItemHovered()) {
      list.AddRect(paint::from(area), paint::to(area), ImGui::GetColorU32(ImGuiCol_Border), 3);
      const std::vector<std::string> lines{hidden ? "a click shows it" : "a click hides it"};
      figure::Rect box = paint::box_of(frame, lines);
      box.x = std::clamp(area.x, 0.0, std::max(0.0, frame.canvas.width - box.width));
      box.y = area.bottom() + frame.pad() / 2;
      paint::box(frame, *ImGui::GetForegroundDrawList(), box, lines);
    }
    if (clicked) {
      entry_ = n;
      show(frame, entry.name, hidden);
    }
  }

  std::string said(const InstrumentFrame& frame) const override {
    const std::vector<Entry> entries = entries_of(frame);
    if (entries.empty()) {
      return {};
    }
    const std::size_t n = std::min(entry_, entries.size() - 1);
    const bool hidden = session::is_hidden(frame.state().plots, entries[n].name);
    return entries[n].name + (hidden ? ", hidden, " : ", shown, ") + std::to_string(n + 1) + " of " +
           std::to_string(entries.size());
  }

  bool press(const InstrumentFrame& frame, const InstrumentKey& key) override {
    const std::vector<Entry> entries = entries_of(frame);
    if (entries.empty()) {
      return false;
    }
    entry_ = std::min(entry_, entries.size() - 1);
    switch (key.key) {
      case Qt::Key_Left:
      case Qt::Key_Up:
        entry_ = entry_ == 0 ? entries.size() - 1 : entry_ - 1;
        return true;
      case Qt::Key_Right:
      case Qt::Key_Down:
        entry_ = (entry_ + 1) % entries.size();
        return true;
      case Qt::Key_Return:
      case Qt::Key_Enter:
      case Qt::Key_Space:
        show(frame, entries[entry_].name, session::is_hidden(frame.state().plots, entries[entry_].name));
        return true;
      case Qt::Key_Home: {
        session::ViewState state = frame.state();
        state.plots.hidden.clear();
        frame.gesture.change(state);
        return true;
      }
      default:
        return false;
    }
  }

 private:
  struct Entry {
    std::string name;
    figure::Rect area;
  };

  static std::vector<Entry> entries_of(const InstrumentFrame& frame) {
    std::vector<Entry> list;
    const std::size_t panels = frame.layout() == nullptr ? 0 : frame.layout()->panels.size();
    for (std::size_t n = 0; n < panels; ++n) {
      const figure::Panel& panel = frame.figure()->panels[n];
      if (!session::is_plot(panel)) {
        continue;
      }
      const figure::PanelLayout& place = frame.layout()->panels[n];
      for (const figure::LegendEntry& entry : place.legend) {
        list.push_back({session::series_name(panel.layers[entry.layer]), area_of(frame, place, entry)});
      }
    }
    return list;
  }

  // The swatch and the name, which ends where the next one begins.
  static figure::Rect area_of(const InstrumentFrame& frame, const figure::PanelLayout& place,
                              const figure::LegendEntry& entry) {
    const double size = frame.layout()->style.tick_text();
    const double height = kLegendEntry * size;
    double right = place.plot.right();
    for (const figure::LegendEntry& other : place.legend) {
      const bool same_row = std::abs(other.swatch.y - entry.swatch.y) < size / 2;
      right = same_row && other.swatch.x > entry.swatch.x ? std::min(right, other.swatch.x - 0.6 * size) : right;
    }
    const bool last = right == place.plot.right();
    const double text = entry.swatch.right() + 0.4 * size;
    if (last) {
      right = std::min(right, text + width_at(frame, place, text, size));
    }
    return {entry.swatch.x - 0.3 * size, entry.swatch.center_y() - height / 2, right - entry.swatch.x + 0.6 * size,
            height};
  }

  // Rectangle of the text that begins there.
  static double width_at(const InstrumentFrame& frame, const figure::PanelLayout& place, double x, double size) {
    for (const figure::PlacedText& text : place.texts) {
      if (!text.vertical && text.align == 0 && text.size == size && std::abs(text.at.x - x) < 1) {
        return paint::text_size(text.text).x * size / frame.canvas.text;
      }
    }
    return 6 * size;
  }

  static void show(const InstrumentFrame& frame, const std::string& name, bool shown) {
    session::ViewState state = frame.state();
    state.plots = session::with_series(std::move(state.plots), name, !shown);
    frame.gesture.change(state);
  }

  std::vector<Entry> entries_;
  std::size_t entry_ = 0;
};

}  // namespace

std::unique_ptr<Instrument> make_legend() {
  return std::make_unique<Legend>();
}

}  // namespace locus::workbench

#include "app/workbench/canvas/instruments/instruments.h"

#include <algorithm>

#include "app/session/shared_options.h"
#include "app/workbench/canvas/instruments/brush_range.h"
#include "app/workbench/canvas/instruments/paint.h"

namespace locus::workbench {

namespace {

constexpr double kRailLetters = 14;  // its length, in heights of text

class RangeBrush final : public Instrument {
 public:
  std::string name() const override { return "ranges"; }
  std::string title() const override { return "Ranges"; }

  bool offered(const InstrumentFrame& frame) const override {
    const bool drawn = frame.layout() != nullptr && !frame.layout()->panels.empty();
    return drawn && !frame.input.columns.empty() && !rails_of(frame.view.info()).empty();  // and the view's own figure
  }

  // In the first plot's upper right corner.
  std::vector<figure::Rect> areas(const InstrumentFrame& frame, const std::vector<figure::Rect>& /*taken*/) override {
    rails_ = rails_of(frame.view.info());
    const bool near = area_.contains(frame.canvas.pointer.x, frame.canvas.pointer.y) || held_ || frame.focused;
    open_ = near && frame.view.info().name == view_;
    view_ = frame.view.info().name;
    const Settings options = options_of(frame);
    double words = 0;
    for (const Rail& rail : rails_) {
      words = std::max(words, paint::text_size(words_of(rail, options)).x);
    }
    const figure::Rect& plot = frame.layout()->panels.front().plot;
    const double rail = open_ ? kRailLetters * frame.canvas.text + frame.pad() : 0;
    const figure::Point size{words + rail + 2 * frame.pad(),
                             frame.line() * static_cast<double>(rails_.size()) + frame.pad()};
    area_ = {std::max(0.0, plot.right() - size.x - frame.pad()), plot.y + frame.pad(), size.x, size.y};
    return {area_};
  }

  void draw(const InstrumentFrame& frame, std::size_t /*n*/, const figure::Rect& area) override {
    ImDrawList& list = *ImGui::GetWindowDrawList();
    paint::ground(list, area, open_ ? 0.95 : 0.6);
    const Settings options = options_of(frame);
    held_ = false;
    for (std::size_t n = 0; n < rails_.size(); ++n) {
      const double top = area.y + frame.pad() / 2 + frame.line() * static_cast<double>(n);
      const ImU32 color = frame.focused && n == row_ ? viewport::imgui_color(viewport::kFocusColor) : 0;
      paint::text(frame, list, {area.x + frame.pad(), top}, words_of(rails_[n], options), color);
      if (open_) {
        const double length = kRailLetters * frame.canvas.text;
        draw_rail(frame, n, {area.right() - length - frame.pad(), top, length, frame.line()}, options, list);
      }
    }
  }

  std::string said(const InstrumentFrame& frame) const override {
    const auto rails = rails_of(frame.view.info());
    return rails.empty() ? std::string() : words_of(rails[std::min(row_, rails.size() - 1)], options_of(frame));
  }

  // Up and down choose a rail, left and right move its high end, with Shift its low one.
  bool press(const InstrumentFrame& frame, const InstrumentKey& key) override {
    const auto rails = rails_of(frame.view.info());
    if (rails.empty()) {
      return false;
    }
    row_ = std::min(row_, rails.size() - 1);
    const bool low = key.modifiers.testFlag(Qt::ShiftModifier);
    switch (key.key) {
      case Qt::Key_Up:
        row_ = row_ == 0 ? rails.size() - 1 : row_ - 1;
        return true;
      case Qt::Key_Down:
        row_ = (row_ + 1) % rails.size();
        return true;
      case Qt::Key_Left:
      case Qt::Key_Right:
        change(frame, stepped(rails[row_], options_of(frame), low, key.key == Qt::Key_Right ? 1 : -1));
        return true;
      default:
        return false;
    }
  }

 private:
  static Settings options_of(const InstrumentFrame& frame) {
    const auto& all = frame.state().options;
    const auto own = all.find(frame.view.info().name);
    return own == all.end() ? Settings() : own->second;
  }

  static void change(const InstrumentFrame& frame, const std::vector<std::pair<std::string, SettingValue>>& changes) {
    session::ViewState state = frame.state();
    for (const auto& [name, value] : changes) {
      session::set_option(state, frame.view.info().name, name, value);
    }
    frame.gesture.change(state);
  }

  void draw_rail(const InstrumentFrame& frame, std::size_t n, const figure::Rect& place, const Settings& options,
                 ImDrawList& list) {
    const Rail& rail = rails_[n];
    const double low = rail.low == nullptr ? 0 : share_of(*rail.low, number_of(*rail.low, options));
    const double high = share_of(*rail.high, number_of(*rail.high, options));
    const double middle = place.center_y();
    const auto wide = static_cast<float>(3 * frame.canvas.dpr);
    const auto x = [&](double share) { return place.x + share * place.width; };
    list.AddLine(paint::at(place.x, middle), paint::at(place.right(), middle), ImGui::GetColorU32(ImGuiCol_Border),
                 wide);
    list.AddLine(paint::at(x(low), middle), paint::at(x(high), middle), ImGui::GetColorU32(ImGuiCol_CheckMark), wide);
    const auto handle = static_cast<float>(frame.canvas.text * 0.42);
    if (rail.low != nullptr) {
      list.AddCircleFilled(paint::at(x(low), middle), handle, ImGui::GetColorU32(ImGuiCol_CheckMark));
    }
    list.AddCircleFilled(paint::at(x(high), middle), handle, ImGui::GetColorU32(ImGuiCol_CheckMark));
    ImGui::SetCursorScreenPos(paint::from(place));
    ImGui::InvisibleButton(rail.label.c_str(), paint::at(place.width, place.height));
    const double share = (paint::pointer().x - place.x) / place.width;
    if (ImGui::IsItemActivated()) {
      low_end_ = takes_low_end(rail, options, share);
      row_ = n;
    }
    if (ImGui::IsItemActive()) {
      held_ = true;
      change(frame, pulled_to(rail, options, low_end_, share));
    }
  }

  std::vector<Rail> rails_;
  figure::Rect area_;
  std::string view_;
  bool open_ = false;
  bool held_ = false;
  bool low_end_ = false;
  std::size_t row_ = 0;
};

}  // namespace

std::unique_ptr<Instrument> make_range_brush() {
  return std::make_unique<RangeBrush>();
}

}  // namespace locus::workbench

#include "app/workbench/canvas/instruments/series_reader.h"

#include <algorithm>

#include "app/views/plots/series.h"
#include "app/workbench/canvas/instruments/paint.h"
#include "app/workbench/canvas/instruments/series_values.h"

namespace locus::workbench {

namespace {

class SeriesReader final : public Instrument {
 public:
  std::string name() const override { return "series"; }
  std::string title() const override { return "Values of the series"; }
  bool takes_keys() const override { return false; }
  std::string said(const InstrumentFrame& /*frame*/) const override { return {}; }

  bool offered(const InstrumentFrame& frame) const override {
    return frame.hit && frame.layout() != nullptr && frame.hit->panel < frame.figure()->panels.size() &&
           has_series(frame.figure()->panels[frame.hit->panel]);
  }
  std::vector<figure::Rect> areas(const InstrumentFrame& /*frame*/,
                                  const std::vector<figure::Rect>& /*taken*/) override {
    return {};
  }
  void draw(const InstrumentFrame& /*frame*/, std::size_t /*n*/, const figure::Rect& /*area*/) override {}

  void draw_below(const InstrumentFrame& frame) override {
    const figure::Panel& panel = frame.figure()->panels[frame.hit->panel];
    const figure::PanelLayout& place = frame.layout()->panels[frame.hit->panel];
    const std::vector<SeriesValue> values = values_at(panel, frame.hit->x);
    if (values.empty()) {
      return;
    }
    ImDrawList& list = *ImGui::GetBackgroundDrawList();
    const double x = place.x.place(frame.hit->x);
    list.AddLine(paint::at(x, place.plot.y), paint::at(x, place.plot.bottom()), ImGui::GetColorU32(ImGuiCol_Border));
    std::vector<std::string> lines{panel.x.label + " " + views::short_number(frame.hit->x)};
    for (const SeriesValue& value : values) {
      lines.push_back(value.name + "  " + views::short_number(value.y));
      const figure::Point point{place.x.place(value.x), place.y.place(value.y)};
      if (place.plot.grown(1).contains(point.x, point.y)) {
        list.AddCircleFilled(paint::at(point), static_cast<float>(3 * frame.canvas.dpr),
                             viewport::imgui_color(figure::layer_color(panel, value.layer, frame.layout()->style)));
      }
    }
    figure::Rect box = paint::box_of(frame, lines);
    box = viewport::box_beside(frame.canvas.pointer, {box.width, box.height},
                               {place.plot, {0, 0, frame.canvas.width, frame.canvas.height}});
    paint::box(frame, list, box, lines);
  }
};

}  // namespace

std::unique_ptr<Instrument> make_series_reader() {
  return std::make_unique<SeriesReader>();
}

}  // namespace locus::workbench

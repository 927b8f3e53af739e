#include "app/workbench/canvas/instruments/instruments.h"

#include <algorithm>
#include <cmath>

#include "app/views/shared/plots/map_lines.h"
#include "app/views/shared/plots/series.h"
#include "app/workbench/canvas/instruments/paint.h"

namespace locus::workbench {

namespace {

constexpr double kProfileGap = 0.4;   // between a map and its profiles, in heights of text
constexpr int kKeptStrength = 110;    // of 255: how strong the curves of cells are that are not pointed at
constexpr double kProfileMark = 0.3;  // half a mark of a row or column, in heights of text

// A band along one side of a plot, in which curves are drawn.
struct Band {
  figure::Rect rect;
  const figure::AxisMap* along = nullptr;
  bool upright = false;  // the curve runs down, its values to the right
};

// A cell whose row and column are drawn.
struct ShownCell {
  session::MarkedCell cell;
  bool pointed = false;  // else it stays while others are pointed at
};

class Profiles final : public Instrument {
 public:
  std::string name() const override { return "profiles"; }
  std::string title() const override { return "Profiles"; }
  bool takes_keys() const override { return false; }
  int toggle_key() const override { return Qt::Key_P; }
  void toggle(const InstrumentFrame& /*frame*/) override { shown_ = !shown_; }

  // Keeps those of the pointed cell, or the pinned one; again: no longer.
  bool toggle_with_shift(const InstrumentFrame& frame) override {
    const std::vector<ShownCell> cells = cells_of(frame, true);
    session::ViewState state = frame.state();
    if (cells.empty()) {
      state.marks.profiles.clear();
    } else {
      state.marks = session::with_profile(std::move(state.marks), cells.back().cell);
    }
    frame.gesture.change(state);
    return true;
  }

  bool wants_room(const session::ViewState& state) const override { return shown_ || !state.marks.profiles.empty(); }

  bool offered(const InstrumentFrame& frame) const override {
    return frame.layout() != nullptr && !frame.input.columns.empty() && wants_room(frame.state());
  }
  std::vector<figure::Rect> areas(const InstrumentFrame& /*frame*/,
                                  const std::vector<figure::Rect>& /*taken*/) override {
    return {};
  }
  void draw(const InstrumentFrame& /*frame*/, std::size_t /*n*/, const figure::Rect& /*area*/) override {}

  void draw_below(const InstrumentFrame& frame) override {
    const std::vector<ShownCell> cells = cells_of(frame, shown_);
    for (std::size_t n = 0; n < frame.figure()->panels.size(); ++n) {
      const figure::Panel& panel = frame.figure()->panels[n];
      if (panel.room_above > 0 && views::map_of(panel) != nullptr) {
        draw_beside(frame, n, cells);
      }
    }
  }

  std::string said(const InstrumentFrame& frame) const override {
    const std::vector<ShownCell> cells = cells_of(frame, shown_);
    const figure::HeatMap* map = frame.figure() == nullptr || frame.figure()->panels.empty()
                                     ? nullptr
                                     : views::map_of(frame.figure()->panels[0]);
    const auto cell = cells.empty() || map == nullptr
                          ? std::nullopt
                          : views::cell_at(*map->field, cells.back().cell.x, cells.back().cell.y);
    if (!cell) {
      return shown_ ? "shown; point at a cell, or pin one" : "none";
    }
    return "row of " + views::cell_text(map->field->row_axis, cell->row) + ": " +
           largest_text(views::row_profile(*map->field, cell->row)) + "; column of " +
           views::cell_text(map->field->column_axis, cell->column) + ": " +
           largest_text(views::column_profile(*map->field, cell->column)) + "; " +
           std::to_string(frame.state().marks.profiles.size()) + " kept";
  }

 private:
  static std::string largest_text(const views::Profile& profile) {
    const auto most = std::ranges::max_element(profile.values);
    if (most == profile.values.end()) {
      return "no value";
    }
    const double at = profile.at[static_cast<std::size_t>(most - profile.values.begin())];
    return "largest " + views::short_number(*most) + " at " + std::to_string(static_cast<std::int64_t>(at));
  }

  // Kept ones, then with `pointed` the pinned one and the pointed one, each once.
  static std::vector<ShownCell> cells_of(const InstrumentFrame& frame, bool pointed) {
    std::vector<ShownCell> list;
    for (const session::MarkedCell& cell : frame.state().marks.profiles) {
      list.push_back({cell, false});
    }
    const auto add = [&](const std::optional<session::MarkedCell>& cell) {
      if (cell) {
        std::erase_if(list, [&](const ShownCell& each) { return each.cell == *cell; });
        list.push_back({*cell, true});
      }
    };
    if (!pointed || frame.figure() == nullptr) {
      return list;
    }
    const auto pinned = pinned_cell(frame);
    const auto here = frame.hit ? map_cell(frame, frame.hit->panel, frame.hit->x, frame.hit->y) : std::nullopt;
    add(pinned);
    if (here && pinned && *here != *pinned) {
      list.back().pointed = false;
    }
    add(here);
    return list;
  }

  static std::optional<session::MarkedCell> map_cell(const InstrumentFrame& frame, std::size_t panel, double x,
                                                     double y) {
    const figure::HeatMap* map =
        panel < frame.figure()->panels.size() ? views::map_of(frame.figure()->panels[panel]) : nullptr;
    return map != nullptr && views::cell_at(*map->field, x, y)
               ? std::optional(session::MarkedCell{std::floor(x), std::floor(y)})
               : std::nullopt;
  }

  static std::optional<session::MarkedCell> pinned_cell(const InstrumentFrame& frame) {
    if (!frame.input.query.chosen()) {
      return std::nullopt;
    }
    views::Selection pinned;
    pinned.query = frame.input.query;
    pinned.key = frame.input.key.chosen() ? frame.input.key : frame.input.query;
    for (const views::Place& place : frame.view.places(frame.input, pinned)) {
      if (const auto cell =
              map_cell(frame, place.panel, (place.x.low + place.x.high) / 2, (place.y.low + place.y.high) / 2)) {
        return cell;
      }
    }
    return std::nullopt;
  }

  static void draw_beside(const InstrumentFrame& frame, std::size_t n, const std::vector<ShownCell>& cells) {
    const figure::Panel& panel = frame.figure()->panels[n];
    const figure::PanelLayout& place = frame.layout()->panels[n];
    const double text = frame.layout()->style.text_size;
    const double gap = kProfileGap * text;
    const figure::Rect& plot = place.plot;
    const double high = panel.room_above * text - 2 * gap;
    const double wide = panel.room_right * text - 2 * gap;
    draw_band(frame, n, {{plot.x, plot.y - gap - high, plot.width, high}, &place.x, false}, cells);
    draw_band(frame, n, {{plot.right() + gap, plot.y, wide, plot.height}, &place.y, true}, cells);
  }

  static views::Profile profile_of(const Field& field, const session::MarkedCell& marked, bool upright) {
    const auto cell = views::cell_at(field, marked.x, marked.y);
    return !cell     ? views::Profile()
           : upright ? views::column_profile(field, cell->column)
                     : views::row_profile(field, cell->row);
  }

  // All columns overlaid; the map's own is the thickest.
  static void draw_band(const InstrumentFrame& frame, std::size_t own, const Band& band,
                        const std::vector<ShownCell>& cells) {
    ImDrawList& list = *ImGui::GetBackgroundDrawList();
    list.AddRectFilled(paint::from(band.rect), paint::to(band.rect), ImGui::GetColorU32(ImGuiCol_FrameBg));
    struct Line {
      views::Profile profile;
      std::size_t column = 0;
      const ShownCell* shown = nullptr;
    };
    std::vector<Line> lines;
    std::vector<views::Profile> profiles;
    const std::size_t columns = std::min(frame.figure()->panels.size(), frame.input.columns.size());
    for (const ShownCell& shown : cells) {
      for (std::size_t c = 0; c < columns; ++c) {
        if (const figure::HeatMap* map = views::map_of(frame.figure()->panels[c])) {
          lines.push_back({profile_of(*map->field, shown.cell, band.upright), c, &shown});
          profiles.push_back(lines.back().profile);
        }
      }
    }
    const figure::Interval range = views::range_of(profiles);
    const double depth = band.upright ? band.rect.width : band.rect.height;
    const auto place = [&](double at, double value) {
      const double along = band.along->place(at);
      const double part = (value - range.low) / (range.high - range.low) * depth * 0.94;
      return band.upright ? paint::at(band.rect.x + part, along) : paint::at(along, band.rect.bottom() - part);
    };
    const auto& palette = frame.layout()->style.palette;
    list.PushClipRect(paint::from(band.rect), paint::to(band.rect), true);
    for (const Line& line : lines) {
      const figure::Color plain = palette[line.column % palette.size()];
      const figure::Color color =
          line.shown->pointed ? plain : (plain & 0xFFFFFF00U) | static_cast<unsigned>(kKeptStrength);
      std::vector<ImVec2> points;
      points.reserve(line.profile.at.size());
      for (std::size_t i = 0; i < line.profile.at.size(); ++i) {
        points.push_back(place(line.profile.at[i], line.profile.values[i]));
      }
      const double width = line.column == own ? 1.7 : 1.0;
      list.AddPolyline(points.data(), static_cast<int>(points.size()), viewport::imgui_color(color), 0,
                       static_cast<float>(width * frame.canvas.dpr));
    }
    list.PopClipRect();
    draw_values(frame, band, list, cells, range);
    for (const ShownCell& shown : cells) {
      draw_mark(frame, band, shown, list);
    }
  }

  // The ends of the band's scale: of the row above the map, beside which there is room.
  static void draw_values(const InstrumentFrame& frame, const Band& band, ImDrawList& list,
                          const std::vector<ShownCell>& cells, const figure::Interval& range) {
    if (cells.empty() || band.upright) {
      return;
    }
    const std::string most = "max " + views::short_number(range.high);
    paint::text(frame, list, {band.rect.right() + frame.pad() / 2, band.rect.y}, most,
                viewport::imgui_color(frame.layout()->style.muted));
  }

  // Where the row or the column of a cell lies, at the map's edge.
  static void draw_mark(const InstrumentFrame& frame, const Band& band, const ShownCell& shown, ImDrawList& list) {
    const double at = band.along->place((band.upright ? shown.cell.y : shown.cell.x) + 0.5);
    const double size = kProfileMark * frame.canvas.text;
    const figure::Rect& rect = band.rect;
    const bool inside = band.upright ? at >= rect.y && at <= rect.bottom() : at >= rect.x && at <= rect.right();
    if (!inside) {
      return;
    }
    const ImU32 color = shown.pointed ? IM_COL32(255, 157, 46, 255) : IM_COL32(255, 157, 46, kKeptStrength);
    if (band.upright) {
      list.AddTriangleFilled(paint::at(rect.x - size, at), paint::at(rect.x, at - size), paint::at(rect.x, at + size),
                             color);
    } else {
      list.AddTriangleFilled(paint::at(at, rect.bottom() + size), paint::at(at - size, rect.bottom()),
                             paint::at(at + size, rect.bottom()), color);
    }
  }

  bool shown_ = false;
};

}  // namespace

std::unique_ptr<Instrument> make_profiles() {
  return std::make_unique<Profiles>();
}

}  // namespace locus::workbench

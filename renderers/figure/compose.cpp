#include <algorithm>
#include <cmath>

#include "renderers/figure/hatch.h"
#include "renderers/figure/layer_marks.h"
#include "renderers/figure/panel_decor.h"
#include "renderers/figure/scene.h"

namespace locus::figure {
namespace {

// t = 0 at the left of the first row, 1 at the right: what a colour bar shows of its colormap.
const std::shared_ptr<const Field>& ramp() {
  static const std::shared_ptr<const Field> kRamp = [] {
    Field field = Field::zeros(256, 1);
    for (std::int64_t n = 0; n < 256; ++n) {
      field.at(n, 0) = static_cast<float>(n) / 255.0F;
    }
    return std::make_shared<const Field>(std::move(field));
  }();
  return kRamp;
}

bool has_layer_of_data(const Panel& panel) {
  return has_map(panel) || std::any_of(panel.layers.begin(), panel.layers.end(),
                                       [](const Layer& layer) { return std::holds_alternative<ImageLayer>(layer); });
}

void add_grid(const Panel& panel, const PanelLayout& place, const Style& style, MarkList& marks) {
  if (!place.frame || has_layer_of_data(panel)) {
    return;
  }
  const double line = style.line();
  for (const Tick& tick : place.x_ticks) {
    const double x = style.aligned(place.x.place(tick.at) - line / 2);
    marks.fill({x, place.plot.y, line, place.plot.height}, style.grid, place.plot);
  }
  for (const Tick& tick : place.y_ticks) {
    const double y = style.aligned(place.y.place(tick.at) - line / 2);
    marks.fill({place.plot.x, y, place.plot.width, line}, style.grid, place.plot);
  }
}

void add_box(const Rect& rect, double line, Color color, MarkList& marks) {
  marks.fill({rect.x - line, rect.y - line, rect.width + 2 * line, line}, color);
  marks.fill({rect.x - line, rect.bottom(), rect.width + 2 * line, line}, color);
  marks.fill({rect.x - line, rect.y, line, rect.height}, color);
  marks.fill({rect.right(), rect.y, line, rect.height}, color);
}

void add_frame(const Panel& panel, const PanelLayout& place, const Style& style, MarkList& marks) {
  const double line = style.line();
  const Rect& plot = place.plot;
  if (place.frame) {
    const double tick_length = style.tick_length();
    if (has_layer_of_data(panel)) {
      add_box(plot, line, style.frame, marks);
    } else {
      marks.fill({plot.x - line, plot.y, line, plot.height + line}, style.frame);
      marks.fill({plot.x - line, plot.bottom(), plot.width + line, line}, style.frame);
    }
    for (const Tick& tick : place.x_ticks) {
      if (tick.mark) {
        const double x = style.aligned(place.x.place(tick.at) - line / 2);
        marks.fill({x, plot.bottom(), line, tick_length}, style.frame);
      }
    }
    for (const Tick& tick : place.y_ticks) {
      if (tick.mark) {
        const double y = style.aligned(place.y.place(tick.at) - line / 2);
        marks.fill({plot.x - tick_length, y, tick_length, line}, style.frame);
      }
    }
  }
  if (!place.color_bar.empty()) {
    add_box(place.color_bar, line, style.frame, marks);
    for (const Tick& tick : place.bar_ticks) {
      const double y = style.aligned(place.color_bar.bottom() - tick.at * place.color_bar.height - line / 2);
      marks.fill({place.color_bar.right(), y, style.tick_length(), line}, style.frame);
    }
  }
}

// The bar of a text's tints, which are no colormap's: the ground shows through.
void add_tint_bar(const ColorScale& scale, const Rect& bar, const Style& style, MarkList& marks) {
  constexpr int kSteps = 96;
  ColorScale whole;
  whole.colormap = scale.colormap;
  for (int n = 0; n < kSteps; ++n) {
    const double top = bar.bottom() - bar.height * (n + 1) / kSteps;
    const float t = (static_cast<float>(n) + 0.5F) / kSteps;
    marks.fill({bar.x, top, bar.width, bar.bottom() - bar.height * n / kSteps - top},
               tint_of(whole, t, style.background, style.palette[0]));
  }
}

void add_color_bar(const Panel& panel, const PanelLayout& place, const Style& style, MarkList& marks) {
  const auto scale = color_bar_scale(panel);
  if (scale && is_text(panel)) {
    add_tint_bar(*scale, place.color_bar, style, marks);
  } else if (scale) {
    MapMark bar;
    bar.field = ramp();
    bar.scale.colormap = scale->colormap;
    bar.x_begin = place.color_bar.x;
    bar.x_end = place.color_bar.right();
    bar.y_begin = place.color_bar.bottom();
    bar.y_end = place.color_bar.y;
    marks.add(bar, place.color_bar);
  }
}

void add_legend(const Panel& panel, const PanelLayout& place, const Style& style, MarkList& marks) {
  for (const LegendEntry& entry : place.legend) {
    const Rect& swatch = entry.swatch;
    const auto* curve = std::get_if<Curve>(&panel.layers[entry.layer]);
    if (const auto* map = std::get_if<HeatMap>(&panel.layers[entry.layer])) {
      const Color mask = map->scale.mask_color == kDefaultMask ? style.mask : map->scale.mask_color;
      marks.fill(swatch, mask);
      for (LineMark& line : hatch_lines(swatch, hatch_of(mask, style))) {
        marks.add(std::move(line), swatch);
      }
    } else if (curve != nullptr && curve->base.empty()) {
      const double width = curve_width(*curve, style);
      marks.line({{swatch.x, swatch.center_y()}, {swatch.right(), swatch.center_y()}}, entry.color, width,
                 dash_of(*curve, width));
    } else {
      marks.fill(swatch, faded(entry.color, curve != nullptr ? kAreaOpacity : bar_opacity(panel)));
    }
  }
}

// The strips of pictures beside an axis.
void add_blocks(const Axis& axis, const std::vector<PlacedBlock>& blocks, const Style& style, MarkList& marks) {
  for (const PlacedBlock& block : blocks) {
    marks.fill(block.line, style.frame);
    if (!block.picture.empty()) {
      add_box(block.picture, style.line(), style.frame, marks);
    }
  }
  for (const PlacedBlock& block : blocks) {
    if (const Rect& at = block.picture; !at.empty()) {
      const AxisBlock& shown = (*axis.blocks)[block.block];
      marks.add(ImageMark{shown.rgba, shown.width, shown.height, 1, at.x, at.right(), at.y, at.bottom()}, at);
    }
  }
}

MarkList compose_panel(const Panel& panel, const PanelLayout& place, const Style& style, const Rect& canvas) {
  MarkList marks(canvas);
  if (place.frame && !has_map(panel)) {
    marks.fill(place.plot, style.plot_background);
  }
  add_grid(panel, place, style, marks);
  add_color_bar(panel, place, style, marks);
  add_layers(panel, place, style, marks);
  add_frame(panel, place, style, marks);
  add_legend(panel, place, style, marks);
  for (const PlacedText& text : place.texts) {
    marks.text(text);
  }
  for (const Rect& line : place.strikes) {
    marks.fill(line, style.foreground);
  }
  add_blocks(panel.x, place.x_blocks, style, marks);
  add_blocks(panel.y, place.y_blocks, style, marks);
  return marks;
}

int kind_of(const Mark& mark) {
  return std::holds_alternative<MapMark>(mark.shape) ? 1 : (std::holds_alternative<ImageMark>(mark.shape) ? 2 : 0);
}

}  // namespace

Scene compose(const Figure& figure, const Layout& layout) {
  Scene scene{layout.width, layout.height, layout.style.background, {}};
  const Rect canvas{0, 0, layout.width, layout.height};
  // strata[n]: the n-th run of marks of one kind of every panel. Panels do not overlap, so runs may be drawn together.
  std::vector<std::vector<Mark>> strata;
  for (std::size_t n = 0; n < figure.panels.size(); ++n) {
    MarkList list = compose_panel(figure.panels[n], layout.panels[n], layout.style, canvas);
    std::size_t stratum = 0;
    int kind = 0;
    for (Mark& mark : list.marks()) {
      stratum += kind_of(mark) != kind ? 1 : 0;
      kind = kind_of(mark);
      if (strata.size() <= stratum) {
        strata.resize(stratum + 1);
      }
      strata[stratum].push_back(std::move(mark));
    }
  }
  for (std::vector<Mark>& stratum : strata) {
    std::move(stratum.begin(), stratum.end(), std::back_inserter(scene.marks));
  }
  for (const PlacedText& text : layout.texts) {
    scene.marks.push_back({TextMark{text}, canvas});
  }
  return scene;
}

}  // namespace locus::figure

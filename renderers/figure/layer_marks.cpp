#include "renderers/figure/layer_marks.h"

#include <algorithm>
#include <cmath>

#include "core/base/shown.h"
#include "renderers/figure/hatch.h"
#include "renderers/figure/layer_marks.h"
#include "renderers/figure/panel_decor.h"

namespace locus::figure {
namespace {

constexpr double kSmallestCellText = 0.5;  // in text sizes; smaller numbers are left out
constexpr double kDetailGap = 0.64;        // between a cell's text and its detail on one line, in text sizes

// Whether the panel has another vertical marker between two places of the canvas.
bool has_marker_between(const Panel& panel, const PanelLayout& place, double low, double high) {
  return std::any_of(panel.layers.begin(), panel.layers.end(), [&](const Layer& layer) {
    const auto* marker = std::get_if<Marker>(&layer);
    const double at = marker != nullptr ? place.x.place(marker->at) : low;
    return marker != nullptr && marker->direction == Marker::Direction::kVertical && at > low && at < high;
  });
}

// Facts of a panel that every layer needs.
struct Context {
  const Panel& panel;
  const PanelLayout& place;
  const Style& style;
  MarkList& marks;
  std::vector<Rect> labels;  // of markers so far, so that the next does not cover them
};

// Estimates a number's width, in text sizes, without metrics: in the figures' typeface a digit is 0.636 wide and a
// point 0.318; signs and letters are taken as wide as a minus. Nothing longer is written in cells.
double number_width(const std::string& text) {
  double width = 0;
  for (const char byte : text) {
    width += continues_character(byte)    ? 0
             : byte >= '0' && byte <= '9' ? 0.64
             : byte == '.' || byte == ',' ? 0.32
                                          : 0.84;
  }
  return width;
}

double longest_width(const std::vector<std::string>& texts) {
  double longest = 0.64;
  for (const std::string& text : texts) {
    longest = std::max(longest, number_width(text));
  }
  return longest;
}

void add_cell_texts(const HeatMap& map, const ColorScale& scale, const Context& context) {
  const PanelLayout& place = context.place;
  const Field& field = *map.field;
  const FieldAxis& rows = field.row_axis;
  const FieldAxis& columns = field.column_axis;
  const double width = 0.9 * std::abs(place.x.place(columns.first + columns.step) - place.x.place(columns.first));
  const double height = std::abs(place.y.place(rows.first + rows.step) - place.y.place(rows.first));
  const double smallest = context.style.readable(kSmallestCellText * context.style.text_size);
  const double longest = longest_width(*map.texts);
  double size = std::min({context.style.tick_text(), 0.7 * height, width / longest});
  const bool has_details = map.details && map.details->size() == map.texts->size();
  const bool few = size < smallest;  // have room: of numbers with details those that have are written alone
  if (few && (!has_details || 0.7 * height < smallest)) {
    return;
  }
  size = std::max(size, smallest);
  const double detail = has_details ? longest_width(*map.details) : 0;
  const double beside = has_details ? std::min(size, width / (longest + kDetailGap + detail)) : 0;
  const double below = has_details ? std::min({size, 0.36 * height, width / std::max(longest, detail)}) : 0;
  const bool detailed = !few && std::max(beside, below) >= smallest;
  const bool one_line = detailed && beside >= below;
  size = detailed ? std::max(beside, below) : size;
  for (std::int64_t r = 0; r < field.rows; ++r) {
    for (std::int64_t c = 0; c < field.columns; ++c) {
      const auto cell = static_cast<std::size_t>(r * field.columns + c);
      const std::string& text = (*map.texts)[cell];
      const Point at{place.x.place(columns.first + columns.step * (static_cast<double>(c) + 0.5)),
                     place.y.place(rows.first + rows.step * (static_cast<double>(r) + 0.5))};
      if (text.empty() || !place.plot.contains(at.x, at.y) || (few && number_width(text) * size > width)) {
        continue;
      }
      const Color tint = blended(color_of(scale, field.at(r, c)), context.style.background);
      const Color ink = is_light(tint) ? 0x101010FFU : 0xFAFAFAFFU;
      const double baseline = at.y + 0.36 * size;
      const auto write = [&](const std::string& words, double y) {
        context.marks.add(TextMark{{words, {at.x, y}, 0.5, size, false, ink}}, place.plot);
      };
      if (one_line) {
        write(text + "  " + (*map.details)[cell], baseline);
      } else if (detailed) {
        write(text, baseline - 0.6 * size);
        write((*map.details)[cell], baseline + 0.6 * size);
      } else {
        write(text, baseline);
      }
    }
  }
}

void add_layer(const Box& box, Color color, const Context& context) {
  const PanelLayout& place = context.place;
  const double x0 = std::min(place.x.place(box.x.low), place.x.place(box.x.high));
  const double x1 = std::max(place.x.place(box.x.low), place.x.place(box.x.high));
  const double y0 = std::min(place.y.place(box.y.low), place.y.place(box.y.high));
  const double y1 = std::max(place.y.place(box.y.low), place.y.place(box.y.high));
  const double line = 2 * context.style.line();
  for (const Rect& side :
       {Rect{x0 - line, y0 - line, x1 - x0 + 2 * line, line}, Rect{x0 - line, y1, x1 - x0 + 2 * line, line},
        Rect{x0 - line, y0, line, y1 - y0}, Rect{x1, y0, line, y1 - y0}}) {
    context.marks.fill(side, color, place.plot.grown(line));
  }
}

// The edge of what a mask hides.
void add_edge(const HeatMap& map, const Context& context) {
  std::vector<Point> points;
  const auto end_piece = [&] {
    if (points.size() > 1) {
      context.marks.add(LineMark{points, context.style.foreground, context.style.line(), 0}, context.place.plot);
    }
    points.clear();
  };
  for (std::size_t n = 0; n < std::min(map.edge_x.size(), map.edge_y.size()); ++n) {
    if (std::isnan(map.edge_x[n]) || std::isnan(map.edge_y[n])) {
      end_piece();
    } else {
      points.push_back({context.place.x.place(map.edge_x[n]), context.place.y.place(map.edge_y[n])});
    }
  }
  end_piece();
}

void add_layer(const HeatMap& map, Color /*color*/, const Context& context) {
  if (!map.field || map.field->rows <= 0 || map.field->columns <= 0) {
    return;
  }
  const FieldAxis& rows = map.field->row_axis;
  const FieldAxis& columns = map.field->column_axis;
  MapMark mark;
  mark.field = map.field;
  mark.base = map.base;
  mark.refined = map.refined;
  mark.scale = map.scale;
  mark.scale.mask_color = map.scale.mask_color == kDefaultMask ? context.style.mask : map.scale.mask_color;
  mark.reduction = map.reduction;
  mark.opacity = static_cast<double>(map.opacity);
  const PanelLayout& place = context.place;
  mark.x_begin = place.x.place(columns.first);
  mark.x_end = place.x.place(columns.first + columns.step * static_cast<double>(map.field->columns));
  mark.y_begin = place.y.place(rows.first);
  mark.y_end = place.y.place(rows.first + rows.step * static_cast<double>(map.field->rows));
  const ColorScale scale = mark.scale;
  mark.hatch = map.masked ? hatch_of(scale.mask_color, context.style) : Hatch();
  if (map.opacity > 0) {
    context.marks.add(std::move(mark), place.plot);
  }
  add_edge(map, context);
  if (map.texts && map.texts->size() == map.field->values.size()) {
    add_cell_texts(map, scale, context);
  }
}

void add_layer(const Bars& bars, Color color, const Context& context) {
  const PanelLayout& place = context.place;
  const double opacity = bar_opacity(context.panel);
  const double base = std::clamp(place.y.place(0), place.plot.y, place.plot.bottom());
  std::vector<Point> outline;
  for (std::size_t n = 0; n < bars.heights.size() && n + 1 < bars.edges.size(); ++n) {
    const double left = place.x.place(bars.edges[n]);
    const double right = place.x.place(bars.edges[n + 1]);
    const double top = std::isfinite(bars.heights[n]) ? place.y.place(bars.heights[n]) : base;
    context.marks.fill({std::min(left, right), std::min(top, base), std::abs(right - left), std::abs(top - base)},
                       faded(color, opacity), place.plot);
    outline.insert(outline.end(), {{left, top}, {right, top}});
  }
  if (!outline.empty()) {
    outline.insert(outline.begin(), {outline.front().x, base});
    outline.push_back({outline.back().x, base});
    context.marks.add(LineMark{std::move(outline), color, context.style.line(), 0}, place.plot);
  }
}

// At most four points a pixel column (first, lowest, highest, last), when x ascends.
std::vector<Point> thinned(const std::vector<Point>& points, double pixel) {
  std::vector<Point> kept;
  std::size_t n = 0;
  while (n < points.size()) {
    const double column = std::floor(points[n].x / pixel);
    const std::size_t first = n;
    std::size_t low = n;
    std::size_t high = n;
    for (; n < points.size() && std::floor(points[n].x / pixel) == column; ++n) {
      low = points[n].y < points[low].y ? n : low;
      high = points[n].y > points[high].y ? n : high;
    }
    std::size_t previous = points.size();
    for (const std::size_t index : {first, std::min(low, high), std::max(low, high), n - 1}) {
      if (index != previous) {
        kept.push_back(points[index]);
      }
      previous = index;
    }
  }
  return kept;
}

void add_curve_piece(std::vector<Point> points, const Curve& curve, Color color, const Context& context) {
  if (points.empty()) {
    return;
  }
  const double width = curve_width(curve, context.style);
  if (points.size() == 1) {  // a lonely value is a dot
    points.push_back(points.front());
    context.marks.add(LineMark{std::move(points), color, 2.5 * width, 0}, context.place.plot);
    return;
  }
  if (static_cast<double>(points.size()) > 4 * context.place.plot.width) {
    points = thinned(points, context.style.pixel > 0 ? context.style.pixel : context.style.text_size / 24);
  }
  context.marks.add(LineMark{std::move(points), color, width, dash_of(curve, width)}, context.place.plot);
}

// The areas between two lines, in pieces where one of them has no value.
void add_areas(const Curve& curve, const std::vector<double>& low, const std::vector<double>& high, Color color,
               const Context& context) {
  AreaMark area;
  area.color = color;
  const auto flush = [&] {
    if (area.x.size() > 1) {
      context.marks.add(area, context.place.plot);
    }
    area.x.clear();
    area.low.clear();
    area.high.clear();
  };
  for (std::size_t n = 0; n < std::min({curve.x.size(), low.size(), high.size()}); ++n) {
    if (!std::isfinite(low[n]) || !std::isfinite(high[n])) {
      flush();
      continue;
    }
    area.x.push_back(context.place.x.place(curve.x[n]));
    area.low.push_back(context.place.y.place(low[n]));
    area.high.push_back(context.place.y.place(high[n]));
  }
  flush();
}

void add_layer(const Curve& curve, Color color, const Context& context) {
  const AxisMap& x = context.place.x;
  const AxisMap& y = context.place.y;
  std::vector<double> drawn;
  drawn.reserve(curve.y.size());
  for (std::size_t n = 0; n < curve.y.size(); ++n) {
    drawn.push_back(curve.drawn_y(n));
  }
  add_areas(curve, curve.low, curve.high, faded(color, 0.2), context);
  add_areas(curve, curve.base, drawn, faded(color, kAreaOpacity), context);
  std::vector<Point> points;
  for (std::size_t n = 0; n < std::min(curve.x.size(), drawn.size()); ++n) {
    if (!std::isfinite(curve.x[n]) || !std::isfinite(drawn[n])) {
      add_curve_piece(std::exchange(points, {}), curve, color, context);
      continue;
    }
    points.push_back({x.place(curve.x[n]), y.place(drawn[n])});
  }
  add_curve_piece(std::move(points), curve, color, context);
  add_dots(curve, color, context.place, context.style, context.marks);
}

void add_layer(const Points& points, Color /*color*/, const Context& context) {
  add_points(points, context.place, context.style, context.marks);
}

// Behind lines on a map, whose colours may be theirs.
Color contrast_to(Color color) {
  return is_light(color) ? 0x00000040 : 0xFFFFFF40;
}

// Behind words, which have to be read on any of its colours.
Color ground_of(Color words) {
  return is_light(words) ? 0x00000090 : 0xFFFFFF90;
}

// A label on one line, or on two where the room across is less; empty where that is too little for both.
std::vector<std::string> label_lines(const std::string& label, double letters) {
  const auto fits = [letters](const std::string& line) { return static_cast<double>(line.size()) <= letters; };
  if (fits(label)) {
    return {label};
  }
  const std::size_t blank = label.find(' ', label.size() / 4);
  if (blank == std::string::npos || !fits(label.substr(0, blank)) || !fits(label.substr(blank + 1))) {
    return {};
  }
  return {label.substr(0, blank), label.substr(blank + 1)};
}

void add_marker_label(const Marker& marker, double at, Color color, Context& context) {
  const Rect& plot = context.place.plot;
  const double size = context.style.note_text();
  const double pad = 0.35 * size;
  // No metrics here: a generous guess of the width decides the lines, the side and which labels step down.
  const double letter = 0.6 * size;
  const std::vector<std::string> lines = label_lines(marker.label, (plot.width - 2 * pad) / letter);
  if (lines.empty()) {
    return;
  }
  const std::size_t longest = std::max(lines.front().size(), lines.back().size());
  const double width = letter * static_cast<double>(longest) + 2 * pad;
  const double height = TextMetrics::line_height(size) * static_cast<double>(lines.size());
  Rect box{at + pad, plot.y + pad, width, height};
  const bool vertical = marker.direction == Marker::Direction::kVertical;
  const bool crosses = has_marker_between(context.panel, context.place, at + 0.5, box.right());
  const bool left_is_free =
      at - width > plot.x && !has_marker_between(context.panel, context.place, at - width, at - 0.5);
  bool at_end = vertical && (box.right() > plot.right() || crosses) && left_is_free;
  if (vertical) {
    // Where neither side has room, across the line.
    box.x = at_end ? at - pad - width : std::max(plot.x, std::min(at + pad, plot.right() - width));
  } else {
    at_end = true;
    box = {plot.right() - pad - width, at - height - pad / 2, width, height};
    if (box.y < plot.y) {
      box.y = at + pad / 2;
    }
  }
  for (const Rect& other : context.labels) {
    if (vertical && !other.intersected(box).empty()) {
      box.y = other.bottom();
    }
  }
  context.labels.push_back(box);
  if (has_map(context.panel)) {
    context.marks.fill(box.intersected(plot), ground_of(color), plot);
  }
  Point baseline{at_end ? box.right() : box.x, box.y + TextMetrics::ascent(size)};
  for (const std::string& line : lines) {
    context.marks.text({line, baseline, at_end ? 1.0 : 0.0, size, false, color});
    baseline.y += TextMetrics::line_height(size);
  }
}

void add_layer(const Marker& marker, Color color, Context& context) {
  const PanelLayout& place = context.place;
  const bool vertical = marker.direction == Marker::Direction::kVertical;
  const double at = vertical ? place.x.place(marker.at) : place.y.place(marker.at);
  const Rect& plot = place.plot;
  const double slack = 0.5;
  if (vertical ? at < plot.x - slack || at > plot.right() + slack : at < plot.y - slack || at > plot.bottom() + slack) {
    return;
  }
  const double width = 1.2 * context.style.line();
  const double dash = marker.dashed ? dash_length(width) : 0;
  const std::vector<Point> line = vertical ? std::vector<Point>{{at, plot.y}, {at, plot.bottom()}}
                                           : std::vector<Point>{{plot.x, at}, {plot.right(), at}};
  if (has_map(context.panel)) {
    context.marks.add(LineMark{line, contrast_to(color), 1.6 * width, 0}, plot);
  }
  context.marks.add(LineMark{line, color, width, dash}, plot);
  if (!marker.label.empty()) {
    add_marker_label(marker, at, color, context);
  }
}

// How much of a text is above and below what is seen.
void add_cut_off(const Context& context) {
  const PanelLayout& place = context.place;
  const Style& style = context.style;
  const double size = style.note_text();
  const auto say = [&](double lines, const std::string& words, double y) {
    if (lines < 1) {
      return;
    }
    const auto count = static_cast<std::int64_t>(std::llround(lines));
    const std::string text = std::to_string(count) + (count == 1 ? " line " : " lines ") + words;
    const double width = 0.62 * size * static_cast<double>(text.size());
    context.marks.fill({place.plot.right() - width, y, width, 1.5 * size}, style.background, place.plot);
    context.marks.add(TextMark{{text, {place.plot.right() - 0.3 * size, y + 1.1 * size}, 1, size, false, style.muted}},
                      place.plot);
  };
  say(place.first_line, "above ↑", place.plot.y);
  say(place.lines - place.first_line - place.lines_seen, "below ↓", place.plot.bottom() - 1.5 * size);
}

void add_layer(const TokenStrip& strip, Color /*color*/, const Context& context) {
  const Style& style = context.style;
  const double line = 2 * style.line();
  for (const TokenBox& token : context.place.tokens) {
    const auto n = static_cast<std::size_t>(token.token);
    const Rect& box = token.box;
    if (box.intersected(context.place.plot).empty()) {
      continue;
    }
    Color ink = style.foreground;
    if (n < strip.values.size() && !std::isnan(strip.values[n])) {
      const Color tint = tint_of(strip.scale, strip.values[n], style.background, style.palette[0]);
      context.marks.fill(box, tint, context.place.plot);
      ink = is_light(tint) ? 0x101010FF : 0xFAFAFAFF;
    }
    const double size = context.place.token_size;
    const double baseline = box.y + (box.height + 0.72 * size) / 2;
    context.marks.add(TextMark{{token.text, {box.center_x(), baseline}, 0.5, size, false, ink}}, context.place.plot);
    if (token.token == strip.selected) {
      const Rect clip = context.place.plot.grown(line);
      const Color color = style.palette[1];  // against dark and light tints alike
      for (const Rect& side :
           {Rect{box.x, box.y, box.width, line}, Rect{box.x, box.bottom() - line, box.width, line},
            Rect{box.x, box.y, line, box.height}, Rect{box.right() - line, box.y, line, box.height}}) {
        context.marks.fill(side, color, clip);
      }
    }
  }
  add_cut_off(context);
}

void add_layer(const ImageLayer& image, Color /*color*/, const Context& context) {
  if (!image.rgba || image.width <= 0 || image.height <= 0 ||
      image.rgba->size() < static_cast<std::size_t>(image.width * image.height) * 4) {
    return;
  }
  const PanelLayout& place = context.place;
  context.marks.add(
      ImageMark{image.rgba, image.width, image.height, static_cast<double>(image.opacity), place.x.place(image.x.low),
                place.x.place(image.x.high), place.y.place(image.y.low), place.y.place(image.y.high)},
      place.plot);
}

}  // namespace

double curve_width(const Curve& curve, const Style& style) {
  return static_cast<double>(curve.width_px) * style.text_size / 12;
}

double dash_length(double width) {
  return 4 * width;
}

double dash_of(const Curve& curve, double width) {
  return curve.dashed ? dash_length(width) * static_cast<double>(curve.dash) : 0;
}

double bar_opacity(const Panel& panel) {
  const auto count = std::count_if(panel.layers.begin(), panel.layers.end(),
                                   [](const Layer& layer) { return std::holds_alternative<Bars>(layer); });
  return count > 1 ? 0.4 : 0.75;
}

void add_layers(const Panel& panel, const PanelLayout& place, const Style& style, MarkList& marks) {
  Context context{panel, place, style, marks, {}};
  for (std::size_t n = 0; n < panel.layers.size(); ++n) {
    const Color color = layer_color(panel, n, style);
    std::visit([&](const auto& layer) { add_layer(layer, color, context); }, panel.layers[n]);
  }
}

}  // namespace locus::figure

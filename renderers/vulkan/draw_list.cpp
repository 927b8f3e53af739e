#include "renderers/vulkan/draw_list.h"

#include <algorithm>
#include <cmath>

#include "renderers/figure/hatch.h"

namespace locus::vulkan {
namespace {

using namespace figure;

float to_float(double value) {
  return static_cast<float>(value);
}

void set_corner(float* corner, double x, double y) {
  corner[0] = to_float(x);
  corner[1] = to_float(y);
}

void set4(float* out, double a, double b, double c, double d) {
  out[0] = to_float(a);
  out[1] = to_float(b);
  out[2] = to_float(c);
  out[3] = to_float(d);
}

void set_quad(ShapeInstance& instance, const Rect& rect) {
  set4(instance.top, rect.x, rect.y, rect.right(), rect.y);
  set4(instance.bottom, rect.x, rect.bottom(), rect.right(), rect.bottom());
}

Rect rounded(const Rect& rect) {
  const double left = std::round(rect.x);
  const double top = std::round(rect.y);
  return {left, top, std::round(rect.right()) - left, std::round(rect.bottom()) - top};
}

// The pixels whose centres lie in `rect`: parts that touch share no pixel and leave none out.
Rect pixels_of(const Rect& rect) {
  const double left = std::ceil(rect.x - 0.5);
  const double top = std::ceil(rect.y - 0.5);
  return {left, top, std::ceil(rect.right() - 0.5) - left, std::ceil(rect.bottom() - 0.5) - top};
}

void set_scale(const ColorScale& scale, double opacity, MapInstance& instance) {
  const bool logs = scale.transfer == Transfer::kLog;
  const auto bound = [&](float value) { return logs ? std::log(std::max(value, 1e-30F)) : value; };
  const Magnitudes sides = magnitudes(scale);
  const float low = bound(scale.centred ? sides.least : scale.low);
  const float range = bound(scale.centred ? sides.largest : scale.high) - low;
  instance.scale[0] = low;
  instance.scale[1] = range > 0 ? 1 / range : 0;
  instance.scale[2] = scale.gamma;
  instance.scale[3] = to_float(opacity);
  instance.choices[0] = static_cast<std::uint32_t>(colormap_index(scale.colormap));
  instance.colors[0] = scale.mask_color;
}

// The pieces of a polyline that dashes cover.
template <class Draw>
void dashes(const std::vector<Point>& points, double dash, const Draw& draw) {
  const double period = 1.6 * dash;
  double walked = 0;
  for (std::size_t n = 0; n + 1 < points.size(); ++n) {
    const Point& from = points[n];
    const Point& to = points[n + 1];
    const double length = std::hypot(to.x - from.x, to.y - from.y);
    const auto at = [&](double distance) {
      const double t = length > 0 ? distance / length : 0;
      return Point{from.x + t * (to.x - from.x), from.y + t * (to.y - from.y)};
    };
    for (double start = std::floor(walked / period) * period; start < walked + length; start += period) {
      const double begin = std::max(start - walked, 0.0);
      const double end = std::min(start + dash - walked, length);
      if (end > begin) {
        draw(at(begin), at(end));
      }
    }
    walked += length;
  }
}

}  // namespace

Status SceneBuilder::add(const PlacedScene& placed) {
  place_ = placed;
  const Scene& scene = *placed.scene;
  clip_ = {placed.x_px, placed.y_px, scene.width * placed.scale, scene.height * placed.scale};
  add_background(scene);
  for (const Mark& mark : scene.marks) {
    clip_ = rounded({x(mark.clip.x), y(mark.clip.y), mark.clip.width * placed.scale, mark.clip.height * placed.scale});
    LOCUS_CHECK(std::visit(*this, mark.shape));
  }
  return {};
}

ShapeInstance SceneBuilder::shape(ShapeInstance::Kind kind, Color color) const {
  ShapeInstance instance;
  for (int n = 0; n < 4; ++n) {
    instance.color[n] = static_cast<float>(color >> (24 - 8 * n) & 0xFF) / 255.0F;
  }
  set4(instance.kind, kind, 0, 0, 1);
  set4(instance.clip, clip_.x, clip_.y, clip_.right(), clip_.bottom());
  return instance;
}

void SceneBuilder::add_background(const Scene& scene) {
  const Rect place = rounded(clip_).intersected({0, 0, 65536, 65536});
  if (!place.empty()) {
    list_.backgrounds.push_back({{{static_cast<std::int32_t>(place.x), static_cast<std::int32_t>(place.y)},
                                  {static_cast<std::uint32_t>(place.width), static_cast<std::uint32_t>(place.height)}},
                                 scene.background});
  }
}

// Continues the last batch when it is of the same pipeline and texture.
void SceneBuilder::batch(const Batch& wanted, std::size_t index) {
  const Batch* last = list_.batches.empty() ? nullptr : &list_.batches.back();
  if (last == nullptr || last->kind != wanted.kind || last->set != wanted.set || last->map != wanted.map) {
    list_.batches.push_back(wanted);
    list_.batches.back().first = static_cast<std::uint32_t>(index);
  }
  ++list_.batches.back().count;
}

void SceneBuilder::push(const ShapeInstance& instance, VkDescriptorSet set) {
  Batch wanted;
  wanted.kind = set == VK_NULL_HANDLE ? Batch::Kind::kFills : Batch::Kind::kShapes;
  wanted.set = set;
  batch(wanted, list_.shapes.size());
  list_.shapes.push_back(instance);
}

void SceneBuilder::push(const MapInstance& instance, const ColorScale& scale, VkDescriptorSet set) {
  Batch wanted;
  wanted.kind = Batch::Kind::kMaps;
  const bool square = instance.choices[2] == instance.choices[3];
  wanted.map.taps = square && instance.choices[2] <= 2 ? instance.choices[2] : 0;
  wanted.map.transfer = scale.transfer;
  wanted.map.centred = scale.centred;
  wanted.map.opaque = instance.scale[3] >= 1 && (instance.colors[0] & 0xFFU) == 0xFF;
  wanted.set = set;
  batch(wanted, list_.maps.size());
  list_.maps.push_back(instance);
}

Status SceneBuilder::operator()(const FillMark& mark) {
  const Rect rect =
      Rect{x(mark.rect.x), y(mark.rect.y), mark.rect.width * place_.scale, mark.rect.height * place_.scale};
  if (!rect.intersected(clip_).empty()) {
    ShapeInstance instance = shape(ShapeInstance::kClipped, mark.color);
    set_quad(instance, rect.intersected(clip_));
    push(instance, VK_NULL_HANDLE);
  }
  return {};
}

void SceneBuilder::segment(Point from, Point to, double width, Color color, bool flat) {
  const double half = width / 2;
  const double reach = half + 1;
  const Rect box =
      Rect{std::min(from.x, to.x), std::min(from.y, to.y), std::abs(to.x - from.x), std::abs(to.y - from.y)}.grown(
          reach);
  if (box.intersected(clip_).empty()) {
    return;
  }
  const double length = std::hypot(to.x - from.x, to.y - from.y);
  const Point along = length > 0 ? Point{(to.x - from.x) / length, (to.y - from.y) / length} : Point{1, 0};
  const auto corner = [&](float* out, double distance, double across) {
    set_corner(out, from.x + along.x * distance - along.y * across, from.y + along.y * distance + along.x * across);
  };
  ShapeInstance instance = shape(flat ? ShapeInstance::kFlat : ShapeInstance::kRound, color);
  corner(instance.top, -reach, -reach);
  corner(instance.top + 2, length + reach, -reach);
  corner(instance.bottom, -reach, reach);
  corner(instance.bottom + 2, length + reach, reach);
  set4(instance.uv, -reach, -reach, length + reach, reach);
  instance.kind[1] = to_float(half);
  instance.kind[2] = to_float(length);
  push(instance, labels_.texture().set());
}

Status SceneBuilder::operator()(const LineMark& mark) {
  std::vector<Point> points;
  points.reserve(mark.points.size());
  for (const Point& point : mark.points) {
    points.push_back({x(point.x), y(point.y)});
  }
  const double width = std::max(1.0, mark.width * place_.scale);
  if (mark.dash > 0) {
    dashes(points, mark.dash * place_.scale, [&](Point from, Point to) { segment(from, to, width, mark.color, true); });
    return {};
  }
  for (std::size_t n = 0; n + 1 < points.size(); ++n) {
    segment(points[n], points[n + 1], width, mark.color, false);
  }
  return {};
}

Status SceneBuilder::operator()(const AreaMark& mark) {
  for (std::size_t n = 0; n + 1 < mark.x.size(); ++n) {
    ShapeInstance instance = shape(ShapeInstance::kClipped, mark.color);
    set_corner(instance.top, x(mark.x[n]), y(mark.high[n]));
    set_corner(instance.top + 2, x(mark.x[n + 1]), y(mark.high[n + 1]));
    set_corner(instance.bottom, x(mark.x[n]), y(mark.low[n]));
    set_corner(instance.bottom + 2, x(mark.x[n + 1]), y(mark.low[n + 1]));
    push(instance, labels_.texture().set());
  }
  return {};
}

Status SceneBuilder::operator()(const TextMark& mark) {
  const PlacedText& text = mark.text;
  const double size = text.size * place_.scale;
  if (text.text.empty() || size < 1) {
    return {};
  }
  LOCUS_TRY(const Label label, labels_.find(text.text, size, text.color));
  const double shift = text.align * typeface_.width(text.text, size);
  ShapeInstance instance = shape(ShapeInstance::kTexture, label.colored ? (text.color | 0xFFFFFF00U) : text.color);
  // Whole pixels, so that texels fall on pixels.
  if (text.vertical) {
    const double left = std::round(x(text.at.x)) - label.ascent;
    const double bottom = std::round(y(text.at.y) + shift) + label.left;
    set_corner(instance.top, left, bottom);
    set_corner(instance.top + 2, left, bottom - label.width);
    set_corner(instance.bottom, left + label.height, bottom);
    set_corner(instance.bottom + 2, left + label.height, bottom - label.width);
  } else {
    set_quad(instance, {std::round(x(text.at.x) - shift) - label.left, std::round(y(text.at.y)) - label.ascent,
                        static_cast<double>(label.width), static_cast<double>(label.height)});
  }
  constexpr double kSize = LabelAtlas::kSize;
  set4(instance.uv, label.x / kSize, label.y / kSize, (label.x + label.width) / kSize,
       (label.y + label.height) / kSize);
  push(instance, labels_.texture().set());
  return {};
}

void SceneBuilder::add_part(const MapMark& mark, const FieldPart& part) {
  const double begin_x = x(mark.x_begin);
  const double begin_y = y(mark.y_begin);
  const double column_px = (x(mark.x_end) - begin_x) / static_cast<double>(mark.field->columns);
  const double row_px = (y(mark.y_end) - begin_y) / static_cast<double>(mark.field->rows);
  const double x0 = begin_x + column_px * static_cast<double>(part.part.column);
  const double x1 = x0 + column_px * static_cast<double>(part.part.columns);
  const double y0 = begin_y + row_px * static_cast<double>(part.part.row);
  const double y1 = y0 + row_px * static_cast<double>(part.rows_ready);
  const Rect place =
      pixels_of({std::min(x0, x1), std::min(y0, y1), std::abs(x1 - x0), std::abs(y1 - y0)}).intersected(clip_);
  if (place.empty()) {
    return;
  }
  MapInstance instance;
  set4(instance.place, place.x, place.y, place.right(), place.bottom());
  const double left = place.x + kSampleShift - x0;
  const double top = place.y + kSampleShift - y0;
  const Sampling sampling = sampling_of(std::abs(1 / row_px), std::abs(1 / column_px), part.levels_ready);
  const StripLevel& level = part.levels[static_cast<std::size_t>(sampling.level)];
  const double level_cell = std::ldexp(1.0, sampling.level);
  const double column = level_cell * column_px;  // pixels of a cell of the level
  const double row = level_cell * row_px;
  set4(instance.cells, left / column, top / row, (left + place.width) / column, (top + place.height) / row);
  instance.texels[0] = static_cast<std::int32_t>(level.first);
  instance.texels[1] = static_cast<std::int32_t>(level.strip);
  instance.texels[2] = static_cast<std::int32_t>(level.columns) - 1;
  instance.texels[3] = static_cast<std::int32_t>(level_size(part.rows_ready, sampling.level)) - 1;
  set_scale(mark.scale, mark.opacity, instance);
  const PixelHatch hatch = pixel_hatch(mark.hatch, place_.scale);
  instance.colors[1] = mark.hatch.color;
  instance.hatch[0] = to_float(hatch.period);
  instance.hatch[1] = to_float(hatch.width);
  instance.choices[1] = static_cast<std::uint32_t>(mark.reduction);
  instance.choices[2] = static_cast<std::uint32_t>(sampling.column_taps);
  instance.choices[3] = static_cast<std::uint32_t>(sampling.row_taps);
  instance.extent[0] = to_float(std::abs(1 / column));
  instance.extent[1] = to_float(std::abs(1 / row));
  push(instance, mark.scale, part.texels->set());
}

Status SceneBuilder::operator()(const MapMark& mark) {
  LOCUS_TRY(const std::vector<FieldPart>* parts, fields_.find(mark));
  for (const FieldPart& part : *parts) {
    add_part(mark, part);
  }
  return {};
}

Status SceneBuilder::operator()(const ImageMark& mark) {
  LOCUS_TRY(const std::shared_ptr<Texture> texture, images_.find(mark));
  ShapeInstance instance = shape(ShapeInstance::kTexture, 0xFFFFFFFF);
  instance.kind[3] = to_float(mark.opacity);
  set_quad(instance,
           {x(mark.x_begin), y(mark.y_begin), x(mark.x_end) - x(mark.x_begin), y(mark.y_end) - y(mark.y_begin)});
  set4(instance.uv, 0, 0, 1, 1);
  push(instance, texture->set());
  return {};
}

}  // namespace locus::vulkan

#include "renderers/paper/scene_painter.h"

#include <QPainterPath>
#include <QPolygonF>

#include "renderers/paper/map_image.h"

namespace locus::paper {
namespace {

using namespace figure;

QRectF to_qrect(const Rect& rect) {
  return {rect.x, rect.y, rect.width, rect.height};
}

bool inside(const Rect& inner, const Rect& outer) {
  return inner.x >= outer.x && inner.y >= outer.y && inner.right() <= outer.right() && inner.bottom() <= outer.bottom();
}

// Draws one mark of any kind.
struct Drawer {
  QPainter& painter;
  const text::Typeface& typeface;
  const MapDrawer& draw_map;
  const Rect& clip;
  const Rect& canvas;
  bool emoji_as_images;

  template <class Draw>
  void clipped(const Draw& draw) const {
    const bool clips = !inside(canvas, clip);
    if (clips) {
      painter.save();
      painter.setClipRect(to_qrect(clip));
    }
    draw();
    if (clips) {
      painter.restore();
    }
  }

  void operator()(const FillMark& mark) const {
    const Rect rect = mark.rect.intersected(clip);
    if (!rect.empty()) {
      painter.fillRect(to_qrect(rect), to_qcolor(mark.color));
    }
  }

  void operator()(const LineMark& mark) const {
    QPolygonF points;
    for (const Point& point : mark.points) {
      points << QPointF(point.x, point.y);
    }
    QPen pen(to_qcolor(mark.color), mark.width, Qt::SolidLine, mark.dash > 0 ? Qt::FlatCap : Qt::RoundCap,
             Qt::RoundJoin);
    if (mark.dash > 0) {
      pen.setDashPattern({mark.dash / mark.width, 0.6 * mark.dash / mark.width});
    }
    clipped([&] {
      painter.setPen(pen);
      painter.setBrush(Qt::NoBrush);
      if (points.size() == 2 && points[0] == points[1]) {
        painter.drawPoint(points[0]);  // as a polyline it has no length, and nothing would be drawn
      } else {
        painter.drawPolyline(points);
      }
    });
  }

  void operator()(const AreaMark& mark) const {
    QPolygonF outline;
    for (std::size_t n = 0; n < mark.x.size(); ++n) {
      outline << QPointF(mark.x[n], mark.high[n]);
    }
    for (std::size_t n = mark.x.size(); n-- > 0;) {
      outline << QPointF(mark.x[n], mark.low[n]);
    }
    clipped([&] {
      painter.setPen(Qt::NoPen);
      painter.setBrush(to_qcolor(mark.color));
      painter.drawPolygon(outline);
    });
  }

  void operator()(const TextMark& mark) const {
    clipped(
        [&] { emoji_as_images ? typeface.draw_with_pictures(painter, mark.text) : typeface.draw(painter, mark.text); });
  }

  void operator()(const MapMark& mark) const {
    const Rect visible = extent(mark.x_begin, mark.x_end, mark.y_begin, mark.y_end).intersected(clip);
    if (!visible.empty()) {
      draw_map(painter, mark, visible);
    }
  }

  void operator()(const ImageMark& mark) const {
    clipped([&] {
      painter.save();
      painter.setOpacity(mark.opacity);
      painter.setRenderHint(QPainter::SmoothPixmapTransform);
      painter.drawImage(to_qrect(extent(mark.x_begin, mark.x_end, mark.y_begin, mark.y_end)), photo(mark));
      painter.restore();
    });
  }
};

}  // namespace

void paint(const Scene& scene, const text::Typeface& typeface, const MapDrawer& draw_map, QPainter& painter,
           bool emoji_as_images) {
  const Rect canvas{0, 0, scene.width, scene.height};
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setRenderHint(QPainter::TextAntialiasing);
  // Pages are whole points: the background goes on to their edge.
  painter.fillRect(to_qrect(canvas).adjusted(0, 0, 2, 2), to_qcolor(scene.background));
  for (const Mark& mark : scene.marks) {
    std::visit(Drawer{painter, typeface, draw_map, mark.clip, canvas, emoji_as_images}, mark.shape);
  }
}

}  // namespace locus::paper

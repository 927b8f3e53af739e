#include <QBuffer>
#include <QImageWriter>
#include <cmath>

#include "renderers/paper/formats.h"
#include "renderers/paper/map_image.h"
#include "renderers/paper/png_chunks.h"
#include "renderers/paper/scene_painter.h"

namespace locus::paper {
namespace {

constexpr const char* kRecipeKey = "locus.recipe";

// Draws maps pixel for pixel: the painter's scale is `scale` and nothing else.
MapDrawer pixel_drawer(double scale) {
  return [scale](QPainter& painter, const figure::MapMark& mark, const figure::Rect& clip) {
    figure::MapMark pixels = mark;
    pixels.x_begin *= scale;
    pixels.x_end *= scale;
    pixels.y_begin *= scale;
    pixels.y_end *= scale;
    pixels.hatch.period *= scale;
    pixels.hatch.width *= scale;
    const double left = std::round(clip.x * scale);
    const double top = std::round(clip.y * scale);
    const figure::Rect area{left, top, std::round(clip.right() * scale) - left,
                            std::round(clip.bottom() * scale) - top};
    if (area.empty()) {
      return;
    }
    painter.save();
    painter.resetTransform();
    painter.drawImage(QPointF(left, top), pixel_image(pixels, area));
    painter.restore();
  };
}

}  // namespace

QImage rasterise(const Page& page, double dpi) {
  const double scale = dpi / 72;
  QImage image(static_cast<int>(std::ceil(page.scene.width * scale - 1e-6)),
               static_cast<int>(std::ceil(page.scene.height * scale - 1e-6)), QImage::Format_ARGB32_Premultiplied);
  image.fill(to_qcolor(page.scene.background));
  QPainter painter(&image);
  painter.scale(scale, scale);
  paint(page.scene, page.typeface, pixel_drawer(scale), painter);
  painter.end();
  return image;
}

Result<QByteArray> encode_png(const Page& page, double dpi) {
  QImage image = rasterise(page, dpi).convertToFormat(QImage::Format_RGB888);
  image.setDotsPerMeterX(static_cast<int>(std::lround(dpi / 0.0254)));
  image.setDotsPerMeterY(image.dotsPerMeterX());
  QBuffer buffer;
  buffer.open(QIODevice::WriteOnly);
  QImageWriter writer(&buffer, "png");
  if (!page.recipe.empty()) {
    writer.setText(kRecipeKey, QString::fromStdString(page.recipe));
  }
  if (!page.description.empty()) {
    writer.setText("Description", QString::fromStdString(page.description));
  }
  if (!writer.write(image)) {
    return internal("cannot encode a PNG: " + writer.errorString().toStdString());
  }
  return buffer.data();
}

// libpng, which Qt's reader is, says of a damaged file on standard error what it likes.
std::optional<std::string> recipe_of_png(const QByteArray& bytes) {
  return text_of_png({bytes.constData(), static_cast<std::size_t>(bytes.size())}, kRecipeKey);
}

}  // namespace locus::paper

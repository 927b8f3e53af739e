#include <QBuffer>
#include <QPageSize>
#include <QPdfWriter>

#include "renderers/figure/hatch.h"
#include "renderers/paper/formats.h"
#include "renderers/paper/map_image.h"
#include "renderers/paper/pdf_images.h"
#include "renderers/paper/scene_painter.h"

namespace locus::paper {
namespace {

// Device units a point: positions in the file are whole device units.
constexpr double kUnitsPerPoint = 100;

// What the figure shows in words, for readers who cannot see it.
QByteArray description_element(const std::string& description) {
  return description.empty() ? QByteArray()
                             : "<dc:description xmlns:dc=\"http://purl.org/dc/elements/1.1/\"><rdf:Alt><rdf:li "
                               "xml:lang=\"x-default\">" +
                                   QString::fromStdString(description).toHtmlEscaped().toUtf8() +
                                   "</rdf:li></rdf:Alt></dc:description>";
}

QByteArray xmp(const std::string& recipe, const std::string& description) {
  return "<?xpacket begin=\"\xEF\xBB\xBF\" id=\"W5M0MpCehiHzreSzNTczkc9d\"?>\n"
         "<x:xmpmeta xmlns:x=\"adobe:ns:meta/\"><rdf:RDF xmlns:rdf=\"http://www.w3.org/1999/02/22-rdf-syntax-ns#\">"
         "<rdf:Description rdf:about=\"\">" +
         (recipe.empty() ? QByteArray() : recipe_element(recipe)) + description_element(description) +
         "</rdf:Description></rdf:RDF></x:xmpmeta>\n<?xpacket end=\"r\"?>";
}

}  // namespace

Result<QByteArray> encode_pdf(const Page& page) {
  QBuffer buffer;
  buffer.open(QIODevice::WriteOnly);
  QPdfWriter writer(&buffer);
  writer.setResolution(static_cast<int>(72 * kUnitsPerPoint));
  writer.setPageSize(
      QPageSize(QSizeF(page.scene.width, page.scene.height), QPageSize::Point, QString(), QPageSize::ExactMatch));
  writer.setPageMargins(QMarginsF(0, 0, 0, 0));
  writer.setTitle(QString::fromStdString(page.title));
  writer.setCreator(QStringLiteral("Locus"));
  // Without a recipe too: from Qt 6.8 on Qt would write the time there.
  writer.setDocumentXmpMetadata(xmp(page.recipe, page.description));
  QPainter painter(&writer);
  if (!painter.isActive()) {
    return internal("cannot paint a PDF");
  }
  painter.setRenderHint(QPainter::LosslessImageRendering);
  painter.scale(kUnitsPerPoint, kUnitsPerPoint);
  std::vector<IndexedMap> maps;
  const MapDrawer draw_map = [&](QPainter& target, const figure::MapMark& mark, const figure::Rect& clip) {
    IndexedMap map = data_image(mark, clip);
    if (map.cells.empty()) {
      return;
    }
    const QRectF place(map.place.x, map.place.y, map.place.width, map.place.height);
    target.save();
    target.setClipRect(QRectF(clip.x, clip.y, clip.width, clip.height));
    target.setOpacity(mark.opacity);
    if ((map.palette[255] & 0xFF) != 0xFF && (map.palette[255] & 0xFF) != 0) {
      target.fillRect(place, to_qcolor(map.palette[255]));
    }
    target.drawImage(place, placeholder(maps.size()));
    QPen pen(to_qcolor(mark.hatch.color), mark.hatch.width);
    pen.setCapStyle(Qt::FlatCap);
    target.setPen(pen);
    for (const figure::LineMark& line : figure::hatch_lines(mark, clip)) {
      target.drawLine(QPointF(line.points[0].x, line.points[0].y), QPointF(line.points[1].x, line.points[1].y));
    }
    target.restore();
    maps.push_back(std::move(map));
  };
  paint(page.scene, page.typeface, draw_map, painter, true);
  painter.end();
  return with_maps(buffer.data(), maps);
}

}  // namespace locus::paper

#include <QBuffer>
#include <QImageWriter>
#include <QXmlStreamReader>
#include <QXmlStreamWriter>
#include <cmath>
#include <map>

#include "core/base/xml_text.h"
#include "renderers/figure/hatch.h"
#include "renderers/paper/formats.h"
#include "renderers/paper/map_image.h"

namespace locus::paper {
namespace {

using namespace figure;

QByteArray escaped(const std::string& words) {
  return QString::fromStdString(xml_text(words)).toHtmlEscaped().toUtf8();
}

constexpr double kMmPerPoint = 25.4 / 72;
constexpr int kPngQuality = 70;  // of Qt's 0 to 100: zlib's level 2, as losslessly as any

// A number without needless digits; a thousandth of a point is finer than any printer.
QByteArray number(double value) {
  QByteArray text = QByteArray::number(std::round(value * 1000) / 1000, 'f', 3);
  while (text.endsWith('0')) {
    text.chop(1);
  }
  if (text.endsWith('.')) {
    text.chop(1);
  }
  return text == "-0" ? QByteArray("0") : text;
}

QByteArray attribute(const char* name, double value) {
  return QByteArray(" ") + name + "=\"" + number(value) + "\"";
}

// The colour as `property`, with its opacity beside it where it is translucent.
QByteArray paint_of(const char* property, Color color) {
  QByteArray text =
      QByteArray(" ") + property + "=\"#" + QByteArray::number(color >> 8, 16).rightJustified(6, '0') + "\"";
  if ((color & 0xFF) != 0xFF) {
    text += QByteArray(" ") + property + "-opacity=\"" + number((color & 0xFF) / 255.0) + "\"";
  }
  return text;
}

QByteArray rect_of(const Rect& rect) {
  return attribute("x", rect.x) + attribute("y", rect.y) + attribute("width", rect.width) +
         attribute("height", rect.height);
}

QByteArray png_data(const QImage& image) {
  QBuffer buffer;
  buffer.open(QIODevice::WriteOnly);
  QImageWriter writer(&buffer, "png");
  writer.setQuality(kPngQuality);
  writer.write(image);
  return "data:image/png;base64," + buffer.data().toBase64();
}

QImage to_image(const IndexedMap& map) {
  QImage image(map.cells.data(), static_cast<int>(map.width), static_cast<int>(map.height),
               static_cast<qsizetype>(map.width), QImage::Format_Indexed8);
  QList<QRgb> colors;
  for (const Color color : map.palette) {
    colors << qRgba(static_cast<int>(color >> 24), static_cast<int>(color >> 16 & 0xFF),
                    static_cast<int>(color >> 8 & 0xFF), static_cast<int>(color & 0xFF));
  }
  image.setColorTable(colors);
  return image;
}

// Writes marks as elements, each clipped through a shared <clipPath>.
class Writer {
 public:
  explicit Writer(const Page& page) : page_(page), canvas_{0, 0, page.scene.width, page.scene.height} {}

  void add(const Mark& mark) {
    clip_ = mark.clip;
    std::visit(*this, mark.shape);
  }

  void operator()(const FillMark& mark) {
    const Rect rect = mark.rect.intersected(clip_);
    if (!rect.empty()) {
      body_ += "<rect" + rect_of(rect) + paint_of("fill", mark.color) + "/>\n";
    }
  }

  void operator()(const LineMark& mark) {
    body_ += "<polyline fill=\"none\"" + paint_of("stroke", mark.color) + attribute("stroke-width", mark.width) +
             " stroke-linejoin=\"round\"";
    if (mark.dash > 0) {
      body_ += " stroke-dasharray=\"" + number(mark.dash) + " " + number(0.6 * mark.dash) + "\"";
    } else {
      body_ += " stroke-linecap=\"round\"";
    }
    body_ += clip_attribute() + " points=\"";
    for (const Point& point : mark.points) {
      append(point.x, point.y);
    }
    body_ += "\"/>\n";
  }

  void operator()(const AreaMark& mark) {
    body_ += "<polygon" + paint_of("fill", mark.color) + clip_attribute() + " points=\"";
    for (std::size_t n = 0; n < mark.x.size(); ++n) {
      append(mark.x[n], mark.high[n]);
    }
    for (std::size_t n = mark.x.size(); n-- > 0;) {
      append(mark.x[n], mark.low[n]);
    }
    body_ += "\"/>\n";
  }

  void operator()(const TextMark& mark) {
    const PlacedText& text = mark.text;
    const char* anchor = text.align == 0 ? "" : (text.align == 1 ? " text-anchor=\"end\"" : " text-anchor=\"middle\"");
    body_ += "<text";
    if (text.vertical) {
      body_ += " transform=\"translate(" + number(text.at.x) + " " + number(text.at.y) + ") rotate(-90)\"";
    } else {
      body_ += attribute("x", text.at.x) + attribute("y", text.at.y);
    }
    body_ += attribute("font-size", text.size) + paint_of("fill", text.color) + anchor + clip_attribute() + ">" +
             escaped(text.text) + "</text>\n";
  }

  void operator()(const MapMark& mark) {
    const Rect visible = extent(mark.x_begin, mark.x_end, mark.y_begin, mark.y_end).intersected(clip_);
    const IndexedMap map = data_image(mark, visible);
    if (map.cells.empty()) {
      return;
    }
    image(map.place, png_data(to_image(map)), mark.opacity, "pixelated");
    hatch(mark, visible);
  }

  // One path of all lines.
  void hatch(const MapMark& mark, const Rect& visible) {
    const std::vector<LineMark> lines = hatch_lines(mark, visible);
    if (lines.empty()) {
      return;
    }
    body_ += "<path fill=\"none\"" + paint_of("stroke", mark.hatch.color) +
             attribute("stroke-width", mark.hatch.width) + clip_attribute() + " d=\"";
    for (const LineMark& line : lines) {
      body_ += "M" + number(line.points[0].x) + " " + number(line.points[0].y) + "L" + number(line.points[1].x) + " " +
               number(line.points[1].y);
    }
    body_ += "\"/>\n";
  }

  void operator()(const ImageMark& mark) {
    image(extent(mark.x_begin, mark.x_end, mark.y_begin, mark.y_end), png_data(photo(mark)), mark.opacity, "auto");
  }

  QByteArray document() const {
    const Scene& scene = page_.scene;
    QByteArray text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\"";
    text += " width=\"" + number(scene.width * kMmPerPoint) + "mm\" height=\"" + number(scene.height * kMmPerPoint) +
            "mm\" viewBox=\"0 0 " + number(scene.width) + " " + number(scene.height) + "\" font-family=\"'" +
            page_.typeface.family().toUtf8() + "', Verdana, sans-serif\" xml:space=\"preserve\">\n";
    if (!page_.title.empty()) {
      text += "<title>" + escaped(page_.title) + "</title>\n";
    }
    if (!page_.description.empty()) {
      text += "<desc>" + escaped(page_.description) + "</desc>\n";
    }
    if (!page_.recipe.empty()) {
      text += "<metadata>" + recipe_element(page_.recipe) + "</metadata>\n";
    }
    text += "<defs>\n" + defs_ + "</defs>\n";
    text += "<rect" + rect_of(canvas_) + paint_of("fill", scene.background) + "/>\n" + body_ + "</svg>\n";
    return text;
  }

 private:
  void append(double x, double y) { body_ += number(x) + "," + number(y) + " "; }

  void image(const Rect& place, const QByteArray& data, double opacity, const char* rendering) {
    body_ += "<g" + clip_attribute() + "><image" + rect_of(place) + " preserveAspectRatio=\"none\" image-rendering=\"" +
             rendering + "\"" + (opacity < 1 ? attribute("opacity", opacity) : QByteArray()) + " href=\"" + data +
             "\"/></g>\n";
  }

  // clip-path of the current mark; empty when it is the whole canvas. Rotated text is never clipped: the path would
  // turn with it.
  QByteArray clip_attribute() {
    if (clip_.x <= canvas_.x && clip_.y <= canvas_.y && clip_.right() >= canvas_.right() &&
        clip_.bottom() >= canvas_.bottom()) {
      return {};
    }
    const QByteArray shape = rect_of(clip_);
    const auto [found, is_new] = clips_.try_emplace(shape, clips_.size());
    const QByteArray name = "clip" + QByteArray::number(static_cast<qulonglong>(found->second));
    if (is_new) {
      defs_ += "<clipPath id=\"" + name + "\"><rect" + shape + "/></clipPath>\n";
    }
    return " clip-path=\"url(#" + name + ")\"";
  }

  const Page& page_;
  Rect canvas_;
  Rect clip_;
  std::map<QByteArray, std::size_t> clips_;
  QByteArray defs_;
  QByteArray body_;
};

}  // namespace

Result<QByteArray> encode_svg(const Page& page) {
  Writer writer(page);
  for (const Mark& mark : page.scene.marks) {
    writer.add(mark);
  }
  return writer.document();
}

namespace {

constexpr const char* kNamespace = "urn:locus:figure:1";

}  // namespace

QByteArray recipe_element(const std::string& recipe) {
  QByteArray bytes;
  if (recipe.empty()) {
    return bytes;
  }
  QXmlStreamWriter writer(&bytes);
  writer.writeNamespace(kNamespace, "locus");
  writer.writeTextElement(kNamespace, "recipe", QString::fromStdString(xml_json(recipe)));
  return bytes;
}

std::optional<std::string> recipe_of_xml(const QByteArray& bytes) {
  const qsizetype begin = bytes.indexOf("<locus:recipe");
  const QByteArray closing = "</locus:recipe>";
  const qsizetype end = begin < 0 ? -1 : bytes.indexOf(closing, begin);
  if (end < 0) {
    return std::nullopt;
  }
  QXmlStreamReader reader(bytes.mid(begin, end + closing.size() - begin));
  if (!reader.readNextStartElement()) {
    return std::nullopt;
  }
  const QString recipe = reader.readElementText();
  return reader.hasError() ? std::nullopt : std::optional(recipe.toStdString());
}

}  // namespace locus::paper

#include "renderers/text/typeface.h"

#include <QFile>
#include <QFontDatabase>
#include <QFontMetricsF>
#include <QImage>
#include <QPainter>
#include <cmath>
#include <mutex>
#include <vector>

// At global scope, as the macro demands.
static void register_font_resource() {
  Q_INIT_RESOURCE(fonts);
}

namespace locus::text {
namespace {

constexpr int kDesignSize = 100;
constexpr std::size_t kMaxCachedWidths = 50000;

// The family of the bundled font, which is registered with Qt where it is not: in Qt 6.8 an application takes its fonts
// with it, and the next one of the process starts without.
QString bundled_family() {
  static std::mutex mutex;
  static int id = -1;
  const std::lock_guard lock(mutex);
  if (QFontDatabase::applicationFontFamilies(id).isEmpty()) {
    register_font_resource();
    QFile file(QStringLiteral(":/fonts/DejaVuSans.ttf"));
    id = file.open(QIODevice::ReadOnly) ? QFontDatabase::addApplicationFontFromData(file.readAll()) : -1;
  }
  return QFontDatabase::applicationFontFamilies(id).value(0, QStringLiteral("sans-serif"));
}

// Planes where colour fonts have their pictures, and what joins and varies them.
bool is_picture(char32_t code) {
  return (code >= 0x1F000 && code <= 0x1FBFF) || code == 0xFE0F || code == 0x200D || code == 0x20E3 ||
         (code >= 0xE0020 && code <= 0xE007F);
}

// Runs of text and of pictures in turn; the first is text, perhaps empty.
std::vector<QString> runs_of(const QString& text) {
  std::vector<QString> runs(1);
  bool pictures = false;
  for (const char32_t code : text.toUcs4()) {
    if (is_picture(code) != pictures) {
      pictures = !pictures;
      runs.emplace_back();
    }
    runs.back() += QString::fromUcs4(&code, 1);
  }
  return runs;
}

}  // namespace

QColor to_qcolor(figure::Color color) {
  return QColor(static_cast<int>(color >> 24), static_cast<int>(color >> 16 & 0xFF),
                static_cast<int>(color >> 8 & 0xFF), static_cast<int>(color & 0xFF));
}

Typeface::Typeface() {
  family_ = bundled_family();
  font_ = QFont(family_);
  font_.setPixelSize(kDesignSize);
  font_.setHintingPreference(QFont::PreferNoHinting);
  font_.setKerning(true);
}

double Typeface::width(const std::string& text, double size) const {
  auto found = widths_.find(text);
  if (found == widths_.end()) {
    if (widths_.size() >= kMaxCachedWidths) {
      widths_.clear();
    }
    const double width = QFontMetricsF(font_).horizontalAdvance(QString::fromStdString(text));
    found = widths_.emplace(text, width).first;
  }
  return found->second * size / kDesignSize;
}

void Typeface::draw(QPainter& painter, const figure::PlacedText& text) const {
  painter.save();
  painter.translate(text.at.x, text.at.y);
  if (text.vertical) {
    painter.rotate(-90);
  }
  const double scale = text.size / kDesignSize;
  painter.translate(-text.align * width(text.text, text.size), 0);
  painter.scale(scale, scale);
  painter.setFont(font_);
  painter.setPen(to_qcolor(text.color));
  painter.drawText(QPointF(0, 0), QString::fromStdString(text.text));
  painter.restore();
}

void Typeface::draw_with_pictures(QPainter& painter, const figure::PlacedText& text) const {
  const std::vector<QString> runs = runs_of(QString::fromStdString(text.text));
  if (runs.size() < 2) {
    draw(painter, text);
    return;
  }
  constexpr double kPicturePx = 128;  // of a picture's type: sharp at any size a label has
  double along = -text.align * width(text.text, text.size);
  for (std::size_t n = 0; n < runs.size(); ++n) {
    figure::PlacedText part = text;
    part.text = runs[n].toStdString();
    part.align = 0;
    part.at = text.vertical ? figure::Point{text.at.x, text.at.y - along} : figure::Point{text.at.x + along, text.at.y};
    const double advance = width(part.text, text.size);
    along += advance;
    if (n % 2 == 0 || advance <= 0) {
      draw(painter, part);
      continue;
    }
    const double scale = kPicturePx / text.size;
    const double height = figure::TextMetrics::line_height(text.size);
    QImage picture(static_cast<int>(std::ceil(advance * scale)), static_cast<int>(std::ceil(height * scale)),
                   QImage::Format_ARGB32_Premultiplied);
    picture.fill(Qt::transparent);
    QPainter inner(&picture);
    figure::PlacedText large = part;
    large.at = {0, figure::TextMetrics::ascent(kPicturePx)};
    large.size = kPicturePx;
    large.vertical = false;
    draw(inner, large);
    inner.end();
    painter.save();
    painter.translate(part.at.x, part.at.y);
    if (text.vertical) {
      painter.rotate(-90);
    }
    painter.drawImage(QRectF(0, -figure::TextMetrics::ascent(text.size), advance, height), picture);
    painter.restore();
  }
}

}  // namespace locus::text

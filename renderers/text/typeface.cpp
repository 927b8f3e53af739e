#include "renderers/text/typeface.h"

#include <QFile>
#include <QFontDatabase>
#include <QFontMetricsF>

// At global scope, as the macro demands.
static void register_font_resource() {
  Q_INIT_RESOURCE(fonts);
}

namespace locus::text {
namespace {

constexpr int kDesignSize = 100;
constexpr std::size_t kMaxCachedWidths = 50000;

QColor to_qcolor(figure::Color color) {
  return QColor(static_cast<int>(color >> 24), static_cast<int>(color >> 16 & 0xFF),
                static_cast<int>(color >> 8 & 0xFF), static_cast<int>(color & 0xFF));
}

// Registers the bundled font with Qt; the family is the same however often this is called.
QString bundled_family() {
  register_font_resource();
  QFile file(QStringLiteral(":/fonts/DejaVuSans.ttf"));
  if (file.open(QIODevice::ReadOnly)) {
    const int id = QFontDatabase::addApplicationFontFromData(file.readAll());
    const QStringList families = QFontDatabase::applicationFontFamilies(id);
    if (!families.isEmpty()) {
      return families.front();
    }
  }
  return QStringLiteral("sans-serif");
}

}  // namespace

Typeface::Typeface() {
  static const QString kFamily = bundled_family();
  family_ = kFamily;
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

}  // namespace locus::text

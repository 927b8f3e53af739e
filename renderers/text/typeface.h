// Typeface: the bundled DejaVu Sans, shaped by Qt, for every label on screen and on paper. Characters it lacks (CJK,
// emoji) come from the system's fonts. Needs a QGuiApplication (its offscreen platform is enough); one thread at a
// time.
#pragma once

#include <QFont>
#include <QPainter>
#include <QString>
#include <string>
#include <unordered_map>

#include "renderers/figure/layout.h"

namespace locus::text {

QColor to_qcolor(figure::Color color);

class Typeface : public figure::TextMetrics {
 public:
  Typeface();

  double width(const std::string& text, double size) const override;

  // Draws one line; canvas units are the painter's.
  void draw(QPainter& painter, const figure::PlacedText& text) const;
  // The same for a device that drops coloured glyphs (Qt's PDF engine): emoji are drawn as images among the text.
  void draw_with_pictures(QPainter& painter, const figure::PlacedText& text) const;

  // The family's name, as SVG files name it.
  const QString& family() const { return family_; }

 private:
  QString family_;
  QFont font_;  // of kDesignSize; every size is a scaled drawing of it, so that metrics are linear
  mutable std::unordered_map<std::string, double> widths_;  // of texts at kDesignSize, bounded
};

}  // namespace locus::text

#include "app/workbench/widgets/theme.h"

#include <QAbstractScrollArea>
#include <QApplication>
#include <QDockWidget>
#include <QPainter>
#include <QPalette>
#include <QProxyStyle>
#include <QStyleFactory>
#include <QStyleOption>
#include <algorithm>

namespace locus::workbench {

namespace {

struct Colors {
  QColor window, base, alternate, text, muted, button, accent, accent_text, tip;
};

Colors colors(bool dark) {
  if (dark) {
    return {{0x25, 0x27, 0x2B}, {0x1B, 0x1D, 0x20}, {0x22, 0x24, 0x28}, {0xE6, 0xE6, 0xE6}, {0x8A, 0x8F, 0x98},
            {0x33, 0x36, 0x3C}, {0x3D, 0x7E, 0xC2}, {0xFF, 0xFF, 0xFF}, {0x33, 0x36, 0x3C}};
  }
  return {{0xF3, 0xF4, 0xF6}, {0xFF, 0xFF, 0xFF}, {0xF7, 0xF8, 0xFA}, {0x1A, 0x1A, 0x1A}, {0x6B, 0x72, 0x80},
          {0xE8, 0xEA, 0xEE}, {0x2F, 0x6F, 0xB5}, {0xFF, 0xFF, 0xFF}, {0xFF, 0xFF, 0xF0}};
}

constexpr int kFocusPx = 2;                        // the frame of what has the keyboard
constexpr const char* kMadeWith = "title-height";  // of a panel: the line that Qt takes its title for

// Fusion outlines its check boxes and fields darker than the window, which cannot be seen on a dark one.
class Style final : public QProxyStyle {
 public:
  Style() : QProxyStyle(QStyleFactory::create(QStringLiteral("Fusion"))) {}

  void drawPrimitive(PrimitiveElement element, const QStyleOption* option, QPainter* painter,
                     const QWidget* widget) const override {
    if (element != PE_IndicatorCheckBox && element != PE_IndicatorItemViewItemCheck) {
      QProxyStyle::drawPrimitive(element, option, painter, widget);
      if (element == PE_FrameLineEdit || (element == PE_Frame && is_sunken(option))) {
        outline(*option, painter);
      }
      if (element == PE_Frame && is_sunken(option) && (option->state & State_HasFocus) != 0) {
        painter->save();  // Fusion says nothing of the focus of lists, tables and texts
        painter->setPen(QPen(option->palette.highlight(), kFocusPx));
        painter->setBrush(Qt::NoBrush);
        const double inside = kFocusPx / 2.0;
        painter->drawRect(QRectF(option->rect).adjusted(inside, inside, -inside, -inside));
        painter->restore();
      }
      return;
    }
    const QPalette& palette = option->palette;
    const bool on = (option->state & State_On) != 0;
    const bool enabled = (option->state & State_Enabled) != 0;
    const double side = std::min({option->rect.width(), option->rect.height(), 16}) - 2;
    const QRectF box(option->rect.center().x() + 0.5 - side / 2, option->rect.center().y() + 0.5 - side / 2, side,
                     side);
    painter->save();
    painter->setRenderHint(QPainter::Antialiasing);
    painter->setPen(QPen(palette.color(enabled ? QPalette::Active : QPalette::Disabled, QPalette::PlaceholderText),
                         (option->state & State_HasFocus) != 0 ? 2 : 1.2));
    painter->setBrush(on && enabled ? palette.highlight() : palette.base());
    painter->drawRoundedRect(box, 2.5, 2.5);
    if (on) {
      painter->setPen(
          QPen(enabled ? palette.color(QPalette::HighlightedText) : palette.color(QPalette::Disabled, QPalette::Text),
               1.8, Qt::SolidLine, Qt::RoundCap, Qt::RoundJoin));
      painter->setBrush(Qt::NoBrush);
      painter->drawPolyline(
          QPolygonF({box.topLeft() + QPointF(0.22, 0.52) * side, box.topLeft() + QPointF(0.42, 0.72) * side,
                     box.topLeft() + QPointF(0.78, 0.28) * side}));
    }
    painter->restore();
  }

  int pixelMetric(PixelMetric metric, const QStyleOption* option, const QWidget* widget) const override {
    if (metric == PM_DockWidgetTitleMargin && widget != nullptr && widget->property(kMadeWith).isValid()) {
      const int more = QFontMetrics(QApplication::font()).height() - widget->property(kMadeWith).toInt();
      return QProxyStyle::pixelMetric(metric, option, widget) + std::max(0, (more + 1) / 2);
    }
    const bool frame = metric == PM_DefaultFrameWidth && qobject_cast<const QAbstractScrollArea*>(widget) != nullptr;
    return frame ? kFocusPx : QProxyStyle::pixelMetric(metric, option, widget);
  }

  // Draws disabled text without its light copy, which would make it the brightest text of a dark menu.
  int styleHint(StyleHint hint, const QStyleOption* option, const QWidget* widget,
                QStyleHintReturn* result) const override {
    return hint == SH_EtchDisabledText ? 0 : QProxyStyle::styleHint(hint, option, widget, result);
  }

  void drawComplexControl(ComplexControl control, const QStyleOptionComplex* option, QPainter* painter,
                          const QWidget* widget) const override {
    QProxyStyle::drawComplexControl(control, option, painter, widget);
    if (control == CC_SpinBox) {
      outline(*option, painter);
    } else if (control == CC_ToolButton || control == CC_ComboBox || control == CC_Slider) {
      frame_focus(*option, painter);
    }
  }

  void drawControl(ControlElement element, const QStyleOption* option, QPainter* painter,
                   const QWidget* widget) const override {
    if (element == CE_DockWidgetTitle) {
      painter->setFont(QApplication::font());  // Qt's is of the time when the panel was made
    }
    QProxyStyle::drawControl(element, option, painter, widget);
    if (element == CE_PushButton || element == CE_CheckBox || element == CE_RadioButton) {
      frame_focus(*option, painter);
    }
  }

 private:
  // Fusion frames some of them, after a Tab, in a line that is hardly seen.
  static void frame_focus(const QStyleOption& option, QPainter* painter) {
    if ((option.state & State_HasFocus) == 0) {
      return;
    }
    painter->save();
    painter->setRenderHint(QPainter::Antialiasing);
    painter->setBrush(Qt::NoBrush);
    painter->setPen(QPen(option.palette.highlight(), kFocusPx));
    const double inside = kFocusPx / 2.0;
    painter->drawRoundedRect(QRectF(option.rect).adjusted(inside, inside, -inside, -inside), 2, 2);
    painter->restore();
  }

  static bool is_sunken(const QStyleOption* option) {
    const auto* frame = qstyleoption_cast<const QStyleOptionFrame*>(option);
    return frame != nullptr && frame->lineWidth > 0;
  }

  // Fields on a dark window; where there is the focus, Fusion has drawn its own.
  static void outline(const QStyleOption& option, QPainter* painter) {
    const bool dark = option.palette.color(QPalette::Window).lightness() < 128;
    if (!dark || (option.state & State_HasFocus) != 0) {
      return;
    }
    painter->save();
    painter->setRenderHint(QPainter::Antialiasing);
    painter->setPen(QPen(option.palette.color(QPalette::PlaceholderText), 1));
    painter->setOpacity((option.state & State_Enabled) != 0 ? 0.55 : 0.3);
    painter->drawRoundedRect(QRectF(option.rect).adjusted(0.5, 0.5, -0.5, -0.5), 2, 2);
    painter->restore();
  }
};

}  // namespace

void grow_title_with_text(QDockWidget& dock) {
  dock.setProperty(kMadeWith, QFontMetrics(QApplication::font("QDockWidgetTitle")).height());
}

void apply_theme(QApplication& application, bool dark) {
  application.setStyle(new Style);
  const Colors c = colors(dark);
  QPalette palette;
  palette.setColor(QPalette::Window, c.window);
  palette.setColor(QPalette::WindowText, c.text);
  palette.setColor(QPalette::Base, c.base);
  palette.setColor(QPalette::AlternateBase, c.alternate);
  palette.setColor(QPalette::Text, c.text);
  palette.setColor(QPalette::PlaceholderText, c.muted);
  palette.setColor(QPalette::Button, c.button);
  palette.setColor(QPalette::ButtonText, c.text);
  palette.setColor(QPalette::BrightText, c.accent_text);
  palette.setColor(QPalette::Highlight, c.accent);
  palette.setColor(QPalette::HighlightedText, c.accent_text);
  palette.setColor(QPalette::Link, c.accent);
  palette.setColor(QPalette::ToolTipBase, c.tip);
  palette.setColor(QPalette::ToolTipText, c.text);
  for (const QPalette::ColorRole role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText}) {
    palette.setColor(QPalette::Disabled, role, c.muted);
  }
  application.setPalette(palette);
}

}  // namespace locus::workbench

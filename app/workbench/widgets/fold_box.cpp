#include "app/workbench/widgets/fold_box.h"

#include <QEvent>
#include <QStyle>
#include <QStyleOptionGroupBox>
#include <QStylePainter>
#include <utility>

#include "app/workbench/widgets/build.h"

namespace locus::workbench {

FoldBox::FoldBox(const char* object_name, const QString& title, QWidget* parent) : QGroupBox(title, parent) {
  give_name(this, object_name);
  setCheckable(true);
  connect(this, &QGroupBox::toggled, this, &FoldBox::fit);
}

// Folded, it is as high as its title.
void FoldBox::fit() {
  for (QWidget* child : findChildren<QWidget*>(QString(), Qt::FindDirectChildrenOnly)) {
    child->setVisible(!is_folded());
  }
  setMaximumHeight(is_folded() ? fontMetrics().height() + 6 : QWIDGETSIZE_MAX);
  setFlat(is_folded());
  updateGeometry();
}

void FoldBox::changeEvent(QEvent* event) {
  QGroupBox::changeEvent(event);
  if (event->type() == QEvent::FontChange) {
    fit();
  }
}

// An arrow in the place of the check box.
void FoldBox::paintEvent(QPaintEvent* /*event*/) {
  QStylePainter painter(this);
  QStyleOptionGroupBox option;
  initStyleOption(&option);
  option.state.setFlag(QStyle::State_Enabled, true);  // folded is not disabled
  option.textColor = palette().color(QPalette::Active, QPalette::WindowText);
  const QRect check = style()->subControlRect(QStyle::CC_GroupBox, &option, QStyle::SC_GroupBoxCheckBox, this);
  option.subControls.setFlag(QStyle::SC_GroupBoxCheckBox, false);
  // The title keeps its place, which depends on whether there is a check box.
  const QRect label = style()->subControlRect(QStyle::CC_GroupBox, &option, QStyle::SC_GroupBoxLabel, this);
  const QString text = std::exchange(option.text, QString());
  option.subControls.setFlag(QStyle::SC_GroupBoxLabel, false);
  painter.drawComplexControl(QStyle::CC_GroupBox, option);
  QStyleOption arrow;
  arrow.initFrom(this);
  arrow.state.setFlag(QStyle::State_Enabled, true);
  arrow.rect = QRect(check.left(), label.center().y() - 5, 10, 10);
  painter.drawPrimitive(is_folded() ? QStyle::PE_IndicatorArrowRight : QStyle::PE_IndicatorArrowDown, arrow);
  const QRect words(check.left() + 14, label.top(), width() - check.left() - 14, label.height());
  painter.setPen(option.textColor);
  painter.drawText(words, Qt::AlignLeft | Qt::AlignVCenter,
                   fontMetrics().elidedText(text, Qt::ElideRight, words.width()));
  if (hasFocus()) {
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(palette().color(QPalette::Highlight), 2));
    const int width = 14 + fontMetrics().horizontalAdvance(text) + 6;
    painter.drawRoundedRect(QRectF(check.left() + 1, label.top() + 1, width, label.height() - 2), 2, 2);
  }
}

void unfold_around(QWidget& control) {
  for (QWidget* parent = control.parentWidget(); parent != nullptr; parent = parent->parentWidget()) {
    if (auto* box = dynamic_cast<FoldBox*>(parent)) {
      box->set_folded(false);
    }
  }
}

}  // namespace locus::workbench

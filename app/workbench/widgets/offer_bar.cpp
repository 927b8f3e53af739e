#include "app/workbench/widgets/offer_bar.h"

#include <QLabel>
#include <QPushButton>

#include "app/workbench/widgets/build.h"
#include "app/workbench/widgets/flow_layout.h"

namespace locus::workbench {

OfferBar::OfferBar(QWidget* parent, const char* object_name, const QString& accessible)
    : QFrame(parent), says_(new QLabel(this)) {
  give_name(this, object_name, accessible);
  setFrameShape(QFrame::StyledPanel);
  setBackgroundRole(QPalette::ToolTipBase);
  setForegroundRole(QPalette::ToolTipText);
  setAutoFillBackground(true);
  auto* layout = new FlowLayout(this);
  layout->setContentsMargins(8, 4, 8, 4);
  says_->setObjectName(objectName() + QStringLiteral("-says"));
  says_->setForegroundRole(QPalette::ToolTipText);
  layout->addWidget(says_);
  QSizePolicy policy(QSizePolicy::Preferred, QSizePolicy::Minimum);
  policy.setHeightForWidth(true);
  setSizePolicy(policy);
}

QPushButton* OfferBar::add_button(const QString& object_name, const QString& words, const QString& tip) {
  auto* button = make_button<QPushButton>(this, object_name.toUtf8().constData(), words, tip);
  button->setAutoDefault(false);
  button->setFocusPolicy(Qt::TabFocus);  // a click leaves the keyboard where it is
  layout()->addWidget(button);
  return button;
}

}  // namespace locus::workbench

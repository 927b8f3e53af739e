#include "app/workbench/window/welcome.h"
#include "app/workbench/widgets/build.h"

#include <QDialogButtonBox>
#include <QEvent>
#include <QLabel>
#include <QPushButton>
#include <QScreen>
#include <QVBoxLayout>
#include <algorithm>

namespace locus::workbench {

namespace {

constexpr int kLetters = 55;  // of a line

}  // namespace

Welcome::Welcome(bool has_figures, QWidget* parent) : QDialog(parent) {
  make_lasting(this, "welcome", QStringLiteral("Getting started"));
  auto* layout = new QVBoxLayout(this);
  const auto write = [&](const QString& text) { layout->addWidget(make_label(this, "", text)); };
  write(
      QStringLiteral("Locus shows how transformers address positions: what each head attends to, and what its position "
                     "encoding contributes. To begin with:"));
  const auto step = [&](const char* name, const QString& title, const QString& text, void (Welcome::*wanted)()) {
    auto* button = make_button<QPushButton>(this, name, title);
    button->setAccessibleDescription(text);
    layout->addSpacing(layout->spacing());
    layout->addWidget(button);
    write(text);
    // Closes first, so that dialogs opened by the choice are not below this one.
    connect(button, &QPushButton::clicked, this, [this, wanted] {
      hide();
      Q_EMIT(this->*wanted)();
      close();
    });
  };
  if (has_figures) {
    step("welcome-figure", QStringLiteral("Show a figure of the papers"),
         QStringLiteral("The bundled session: small trained checkpoints, and a figure of each paper in the list on the "
                        "left. One click shows it."),
         &Welcome::figure_wanted);
  }
  step("welcome-text", QStringLiteral("Type a text"),
       QStringLiteral("Below the map. The models run as you type; point at a cell to see its values on the right."),
       &Welcome::text_wanted);
  step("welcome-checkpoint", QStringLiteral("Open your own checkpoint"),
       QStringLiteral("A folder in the Hugging Face format; or drop one on the window. A second checkpoint is shown "
                      "beside the first."),
       &Welcome::checkpoint_wanted);
  step("welcome-manual", QStringLiteral("Read the manual"),
       QStringLiteral("F1 opens the page of what is shown, Ctrl+K finds everything by its name, ? lists the keys."),
       &Welcome::manual_wanted);
  layout->addWidget(make_close_box(this));
}

// Lines of some 50 letters, as high as they need, no larger than the screen.
QSize Welcome::sizeHint() const {
  const QSize room = screen()->availableGeometry().size();
  const int width = std::min(fontMetrics().averageCharWidth() * kLetters, room.width());
  return {width, std::min(layout()->totalHeightForWidth(width), room.height())};
}

void Welcome::fit() {
  resize(sizeHint());
  const QRect room = screen()->availableGeometry();
  const QRect now = frameGeometry();
  move(std::max(room.x(), std::min(now.x(), room.right() + 1 - now.width())),
       std::max(room.y(), std::min(now.y(), room.bottom() + 1 - now.height())));
}

// The text has another size: its labels have it only when they have had the same event.
void Welcome::changeEvent(QEvent* event) {
  QDialog::changeEvent(event);
  if (event->type() == QEvent::FontChange && isVisible()) {
    QMetaObject::invokeMethod(this, &Welcome::fit, Qt::QueuedConnection);
  }
}

}  // namespace locus::workbench

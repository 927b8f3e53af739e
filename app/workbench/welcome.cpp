#include "app/workbench/welcome.h"

#include <QCommandLinkButton>
#include <QDialogButtonBox>
#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>

namespace locus::workbench {

Welcome::Welcome(bool has_figures, QWidget* parent) : QDialog(parent) {
  setObjectName(QStringLiteral("welcome"));
  setAttribute(Qt::WA_DeleteOnClose);
  setWindowTitle(QStringLiteral("Getting started"));
  auto* layout = new QVBoxLayout(this);
  auto* about = new QLabel(QStringLiteral("Locus shows how transformers address positions: what each head attends to, "
                                          "and what its position encoding contributes. To begin with:"),
                           this);
  about->setWordWrap(true);
  layout->addWidget(about);
  const auto step = [&](const char* name, const QString& title, const QString& text, void (Welcome::*wanted)()) {
    auto* button = new QCommandLinkButton(title, text, this);
    button->setObjectName(QLatin1String(name));
    button->setAccessibleDescription(text);
    layout->addWidget(button);
    connect(button, &QCommandLinkButton::clicked, this, wanted);
  };
  if (has_figures) {
    step("welcome-figure", QStringLiteral("Look at a figure of the papers"),
         QStringLiteral("The bundled session: small trained checkpoints, and a figure of each paper in the list on the "
                        "left. One click shows it."),
         &Welcome::figure_wanted);
  }
  step("welcome-text", QStringLiteral("Type a text"),
       QStringLiteral("Below the map. The models run as you type; point at a cell to see its values on the right."),
       &Welcome::text_wanted);
  step("welcome-checkpoint", QStringLiteral("Open your own checkpoint"),
       QStringLiteral("A folder as Hugging Face writes it, or drop one on the window. A second one stands beside it."),
       &Welcome::checkpoint_wanted);
  step("welcome-manual", QStringLiteral("Read the manual"),
       QStringLiteral("F1 opens the page of what is shown, Ctrl+K finds everything by its name, ? lists the keys."),
       &Welcome::manual_wanted);
  auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close, this);
  connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::close);
  layout->addWidget(buttons);
}

}  // namespace locus::workbench

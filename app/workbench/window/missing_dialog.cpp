#include "app/workbench/window/missing_dialog.h"

#include <QDialogButtonBox>
#include <QFileDialog>
#include <QLabel>
#include <QListWidget>
#include <QPushButton>
#include <QVBoxLayout>

#include "app/workbench/widgets/build.h"
#include "app/workbench/widgets/qt_text.h"

namespace locus::workbench {

MissingDialog::MissingDialog(const std::vector<std::filesystem::path>& missing, QWidget* parent) : QDialog(parent) {
  make_lasting(this, "missing-checkpoints", QStringLiteral("Missing checkpoints"));
  resize(560, 320);
  auto* layout = new QVBoxLayout(this);
  text_ = make_label(this, "");
  layout->addWidget(text_);
  list_ = new QListWidget(this);
  list_->setAccessibleName(QStringLiteral("Missing checkpoints"));
  list_->setTextElideMode(Qt::ElideLeft);  // paths differ at their ends
  layout->addWidget(list_, 1);
  auto* buttons = make_close_box(this);
  layout->addWidget(buttons);
  locate_ = buttons->addButton(QStringLiteral("&Where is it?…"), QDialogButtonBox::ActionRole);
  locate_->setObjectName(QStringLiteral("locate"));
  connect(locate_, &QPushButton::clicked, this, &MissingDialog::locate);
  connect(list_, &QListWidget::itemActivated, this, &MissingDialog::locate);
  set_missing(missing);
}

void MissingDialog::set_missing(const std::vector<std::filesystem::path>& missing) {
  if (missing.empty()) {
    close();
    return;
  }
  text_->setText(
      QStringLiteral("This session names %1 that %2 not there. Choose one and say where it is now: the others "
                     "are then looked for beside it. Everything else of the session works without.")
          .arg(missing.size() == 1 ? QStringLiteral("a checkpoint")
                                   : QStringLiteral("%1 checkpoints").arg(missing.size()),
               missing.size() == 1 ? QStringLiteral("is") : QStringLiteral("are")));
  list_->clear();
  for (const auto& path : missing) {
    auto* item = new QListWidgetItem(qt(path.string()), list_);
    item->setToolTip(item->text());
  }
  list_->setCurrentRow(0);
}

void MissingDialog::locate() {
  const QListWidgetItem* item = list_->currentItem();
  if (item == nullptr) {
    return;
  }
  const QString from = item->text();
  const QString to =
      QFileDialog::getExistingDirectory(this, QStringLiteral("Where is %1?").arg(from.section(QLatin1Char('/'), -1)));
  if (!to.isEmpty()) {
    Q_EMIT located(from, to);
  }
}

}  // namespace locus::workbench

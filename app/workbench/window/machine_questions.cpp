#include "app/workbench/window/machine_questions.h"

#include <QMessageBox>
#include <QPushButton>
#include <QSettings>

#include "app/workbench/state/studio.h"
#include "app/workbench/widgets/build.h"
#include "app/workbench/widgets/qt_text.h"
#include "app/workbench/window/message_bar.h"
#include "models/api/machine.h"
#include "models/remote/address.h"

namespace locus::workbench {

namespace {

const QString kMachinesKey = QStringLiteral("machines");

// Any path there.
std::filesystem::path path_on(const QString& machine) {
  return QStringLiteral("ssh://%1/any").arg(machine).toStdString();
}

}  // namespace

MachineQuestions::MachineQuestions(QWidget& window, Studio& studio, MessageBar& messages, QSettings& settings)
    : window_(window), studio_(studio), messages_(messages), settings_(settings) {
  for (const QString& machine : settings_.value(kMachinesKey).toStringList()) {
    models::allow_machine_of(path_on(machine));
  }
  connect(&studio_.columns().opener(), &CheckpointOpener::machine_wanted, this, &MachineQuestions::wanted);
}

void MachineQuestions::named(const std::filesystem::path& path) {
  if (!remote::is_remote(path.native())) {
    return;
  }
  models::allow_machine_of(path);
  const auto address = remote::parse_address(path.native());
  QStringList machines = settings_.value(kMachinesKey).toStringList();
  if (address.ok() && !machines.contains(qt(address->peer()))) {
    settings_.setValue(kMachinesKey, machines << qt(address->peer()));
  }
}

void MachineQuestions::wanted(const QString& machine) {
  if (asked_.insert(machine).second) {
    ask(machine);
  } else {
    messages_.show_action(QStringLiteral("Connect…"), [this, machine] { ask(machine); });
  }
}

void MachineQuestions::ask(const QString& machine) {
  auto* box = new QMessageBox(QMessageBox::Question, QStringLiteral("Locus"),
                              QStringLiteral("The opened file names checkpoints on the machine %1.\n\nConnect to it? "
                                             "This starts ssh with your keys.")
                                  .arg(machine),
                              QMessageBox::NoButton, &window_);
  make_lasting(box, "machine-question", QStringLiteral("Locus"));
  box->setTextFormat(Qt::PlainText);
  box->setModal(false);
  const QPushButton* connect_button = box->addButton(QStringLiteral("&Connect"), QMessageBox::AcceptRole);
  box->setDefaultButton(box->addButton(QStringLiteral("&Not now"), QMessageBox::RejectRole));
  connect(connect_button, &QPushButton::clicked, this, [this, machine] { agree(machine); });
  box->show();
}

void MachineQuestions::agree(const QString& machine) {
  named(path_on(machine));
  studio_.columns().open_allowed();
}

}  // namespace locus::workbench

// How the main window keeps sessions: their file, the journal, the earlier states, and what is asked before one goes.
#include <QDir>
#include <QFileDialog>
#include <QMenu>
#include <QMessageBox>
#include <QPushButton>
#include <QSettings>
#include <algorithm>

#include "app/session/input_paths.h"
#include "app/workbench/window/main_window.h"

namespace locus::workbench {

// ---- its file

void MainWindow::show_title() {
  const QString name = QString::fromStdString(studio_->document().name());
  setWindowTitle(QStringLiteral("%1[*] — Locus").arg(name));
  setWindowModified(studio_->has_changes());
}

bool MainWindow::save_session() {
  const std::filesystem::path& file = studio_->document().path();
  return file.empty() ? save_session_as() : save_session_to(file);
}

bool MainWindow::save_session_as() {
  const std::filesystem::path& own = studio_->document().path();
  QString path = QFileDialog::getSaveFileName(
      this, QStringLiteral("Save the session"),
      own.empty() ? QDir::homePath() + QStringLiteral("/session.locus.json") : QString::fromStdString(own.string()),
      QStringLiteral("Sessions (*.locus.json)"));
  if (path.isEmpty()) {
    return false;
  }
  if (!path.endsWith(QStringLiteral(".locus.json"))) {
    path += QStringLiteral(".locus.json");
  }
  return save_session_to(path.toStdString());
}

bool MainWindow::save_session_to(const std::filesystem::path& path) {
  const session::Session session = studio_->session();
  InputFiles inputs;
  session::add_inputs(session, inputs);
  const Status free = inputs.check(path, "session");
  const Status saved = free ? session::save_session(session, path) : free;
  if (saved) {
    studio_->set_saved(path);
    remember(path);
    show_title();
  }
  say(saved ? QStringLiteral("saved: %1").arg(QString::fromStdString(path.string()))
            : QString::fromStdString(saved.error().describe()),
      !saved);
  if (!saved) {
    offer(QStringLiteral("Save elsewhere…"), [this] { save_session_as(); });
  }
  return saved.ok();
}

void MainWindow::new_session() {
  if (may_replace()) {
    const bool kept = !studio_->checkpoints().empty() || !studio_->bookmarks().empty();
    studio_->restore({});
    show_title();
    if (kept) {
      say(QStringLiteral("a new session; the one before is under File > Earlier states"));
    }
  }
}

// ---- before it goes

Answer MainWindow::ask(const std::string& question, bool can_save) {
  if (options_.ask) {
    return options_.ask(question, can_save);
  }
  QMessageBox box(QMessageBox::Question, QStringLiteral("Locus"), QString::fromStdString(question),
                  QMessageBox::Discard | QMessageBox::Cancel, this);
  box.setObjectName(QStringLiteral("changes"));
  if (can_save) {
    box.addButton(QMessageBox::Save);
    box.setDefaultButton(QMessageBox::Save);
  } else {
    box.button(QMessageBox::Discard)->setText(QStringLiteral("&Go on without it"));
    box.setDefaultButton(QMessageBox::Cancel);
  }
  switch (box.exec()) {
    case QMessageBox::Save:
      return Answer::kSave;
    case QMessageBox::Discard:
      return Answer::kDiscard;
    default:
      return Answer::kCancel;
  }
}

// Changes of a file; a session without one is kept by itself.
bool MainWindow::ask_changes() {
  const Document& document = studio_->document();
  if (document.path().empty() || !studio_->has_changes()) {
    return true;
  }
  const Answer answer = ask("Save the changes to " + document.name() + "?", true);
  return answer == Answer::kDiscard || (answer == Answer::kSave && save_session());
}

bool MainWindow::may_replace() {
  if (!ask_changes()) {
    return false;
  }
  const session::Session session = studio_->session();
  if (session.checkpoints.empty() && session.bookmarks.empty()) {
    return true;
  }
  if (const Status kept = journal_->keep(session, studio_->document().path()); !kept) {
    return ask("This session cannot be kept as an earlier state: " + kept.error().describe() + ". Go on without it?",
               false) == Answer::kDiscard;
  }
  return true;
}

// What opened neither now nor, surely, at the next start is not restored then.
bool MainWindow::keep_last_session() {
  session::Session session = studio_->session();
  std::erase_if(session.checkpoints, [this](const session::CheckpointEntry& entry) {
    std::error_code code;
    const auto& all = studio_->checkpoints();
    return std::any_of(all.begin(), all.end(), [&](const Checkpoint& each) {
      return each.entry == entry && each.error && !each.model && std::filesystem::exists(entry.path, code);
    });
  });
  const Status saved = session::save_session(session, config_file(kLastSession));
  settings_->setValue(QStringLiteral("session-file"), QString::fromStdString(studio_->document().path().string()));
  return saved.ok() ||
         ask("This session cannot be kept for the next start: " + saved.error().describe() + ". Close without it?",
             false) == Answer::kDiscard;
}

bool MainWindow::may_close() {
  return ask_changes() && keep_last_session();
}

// ---- the journal, and earlier states

void MainWindow::keep_journal() {
  show_title();
  if (const Status written = journal_->write(studio_->session(), studio_->document().path()); !written) {
    say(QString::fromStdString(written.error().describe()), true);
  }
}

void MainWindow::offer_recovery() {
  const auto left = journal_->take_left_behind();
  if (!left) {
    return;
  }
  const auto states = journal_->states();
  const auto own = std::find_if(states.begin(), states.end(), [&](const auto& each) { return each.file == *left; });
  auto* box = new QMessageBox(
      QMessageBox::Question, QStringLiteral("Locus"),
      QStringLiteral("Locus ended without closing. What it showed was kept:\n\n%1\n\nIt stays under File > Earlier "
                     "states.")
          .arg(QString::fromStdString(own == states.end() ? std::string() : summary_of(*own))),
      QMessageBox::NoButton, this);
  box->setObjectName(QStringLiteral("recovery"));
  box->setAttribute(Qt::WA_DeleteOnClose);
  box->setModal(false);
  const QPushButton* restore = box->addButton(QStringLiteral("&Restore it"), QMessageBox::AcceptRole);
  box->addButton(QStringLiteral("&Not now"), QMessageBox::RejectRole);
  connect(restore, &QPushButton::clicked, this, [this, file = *left] { return_to(file); });
  show_at_start(box);
}

void MainWindow::return_to(const std::filesystem::path& state) {
  const auto session = session::load_session(state);  // read before it may make room for the present one
  if (!session) {
    say(QString::fromStdString(session.error().describe()), true);
  } else if (may_replace()) {
    const std::filesystem::path file = file_of(state);
    studio_->restore(*session);
    if (!file.empty()) {
      const auto saved = session::load_session(file);  // what the state has and it has not are changes
      studio_->set_saved(file, saved ? *saved : session::Session());
    }
    show_title();
  }
}

void MainWindow::fill_states() {
  states_menu_->clear();
  for (const Journal::State& state : journal_->states()) {
    if (const std::string summary = summary_of(state); !summary.empty()) {
      QAction* action =
          states_menu_->addAction(QString::fromStdString(summary).replace(QLatin1Char('&'), QStringLiteral("&&")), this,
                                  [this, file = state.file] { return_to(file); });
      action->setToolTip(QString::fromStdString(state.file.string()));
    }
  }
  if (states_menu_->isEmpty()) {
    states_menu_->addAction(QStringLiteral("none yet"))->setEnabled(false);
  }
}

}  // namespace locus::workbench

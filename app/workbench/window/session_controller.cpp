#include "app/workbench/window/session_controller.h"

#include <QDir>
#include <QFileDialog>
#include <QMenu>
#include <QMessageBox>
#include <QPushButton>
#include <QSettings>
#include <algorithm>

#include "app/figures/assets.h"
#include "app/figures/input_paths.h"
#include "app/session/portable.h"
#include "app/workbench/state/studio.h"
#include "app/workbench/widgets/build.h"
#include "app/workbench/widgets/qt_text.h"
#include "app/workbench/window/message_bar.h"
#include "app/workbench/window/missing_dialog.h"

namespace locus::workbench {

namespace {

constexpr int kJournalMs = 1500;  // from a change to its journal
const QString kFileKey = QStringLiteral("session-file");

}  // namespace

SessionController::SessionController(QWidget& window, Studio& studio, MessageBar& messages, QSettings& settings,
                                     const std::filesystem::path& folder, Ask ask)
    : window_(window),
      studio_(studio),
      messages_(messages),
      settings_(settings),
      last_(folder / "last.locus.json"),
      ask_(std::move(ask)),
      journal_(folder) {
  call_after(journal_timer_, kJournalMs, this, &SessionController::write_journal);
  for (const auto signal : {&Studio::state_changed, &Studio::input_changed, &Studio::checkpoints_changed}) {
    connect(&studio_, signal, this, [this] {
      if (!journal_timer_.isActive()) {
        journal_timer_.start();
      }
    });
  }
}

void SessionController::show_title() {
  window_.setWindowTitle(QStringLiteral("%1[*] — Locus").arg(qt(studio_.sessions().document().name())));
  window_.setWindowModified(studio_.sessions().has_changes());
}

// ---- its file

bool SessionController::open(const std::filesystem::path& path) {
  const auto session = session::load_session(path);
  if (!session) {
    messages_.show_error(session.error());
    return false;
  }
  if (!may_replace()) {
    return false;
  }
  std::error_code code;
  const bool own = !std::filesystem::equivalent(path, figures::bundled_session(), code) && path != last_;
  studio_.sessions().restore(*session, own ? std::filesystem::absolute(path, code) : std::filesystem::path());
  show_title();
  if (!session::missing_checkpoints(*session, false).empty()) {
    find_missing();
  }
  return true;
}

bool SessionController::open_last() {
  std::error_code code;
  if (!std::filesystem::exists(last_, code)) {
    return false;
  }
  open(last_);
  // It may be of a file, which it may differ from.
  const std::filesystem::path file = settings_.value(kFileKey).toString().toStdString();
  if (const auto saved = session::load_session(file); !file.empty() && saved) {
    studio_.sessions().document().set_saved(file, *saved);
  }
  return true;
}

void SessionController::open_new() {
  if (may_replace()) {
    const bool kept = !studio_.checkpoints().all().empty() || !studio_.sessions().document().figures().empty();
    studio_.sessions().restore({});
    show_title();
    Q_EMIT emptied();
    if (kept) {
      messages_.show_message(QStringLiteral("a new session; the one before is under File > Earlier states"));
    }
  }
}

bool SessionController::save() {
  const std::filesystem::path& file = studio_.sessions().document().path();
  return file.empty() ? save_as() : save_to(file);
}

bool SessionController::save_as() {
  const std::filesystem::path& own = studio_.sessions().document().path();
  QString path = QFileDialog::getSaveFileName(
      &window_, QStringLiteral("Save the session"),
      own.empty() ? QDir::homePath() + QStringLiteral("/session.locus.json") : qt(own.string()),
      QStringLiteral("Sessions (*.locus.json)"));
  if (path.isEmpty()) {
    return false;
  }
  if (!path.endsWith(QStringLiteral(".locus.json"))) {
    path += QStringLiteral(".locus.json");
  }
  return save_to(path.toStdString());
}

bool SessionController::save_to(const std::filesystem::path& path) {
  const session::Session session = studio_.sessions().session();
  InputFiles inputs;
  session::add_inputs(session, inputs);
  const Status free = inputs.check(path, "session");
  if (const Status written = free ? session::save_session(session, path) : free; !written) {
    messages_.show_error(written.error());
    messages_.show_action(QStringLiteral("Save elsewhere…"), [this] { save_as(); });
    return false;
  }
  studio_.sessions().set_saved(path);
  Q_EMIT saved(qt(path.string()));
  show_title();
  messages_.show_message(QStringLiteral("saved: %1").arg(qt(path.string())));
  return true;
}

void SessionController::relocate(const std::filesystem::path& from, const std::filesystem::path& to) {
  studio_.sessions().restore(session::relocated(studio_.sessions().session(), from, to),
                             studio_.sessions().document().path());
  const auto missing = session::missing_checkpoints(studio_.sessions().session());
  messages_.show_message(QStringLiteral("%1 is %2").arg(qt(from.filename().string()), qt(to.string())) +
                         (missing.empty() ? QString() : QStringLiteral("; still missing: %1").arg(missing.size())));
}

void SessionController::find_missing() {
  const auto missing = session::missing_checkpoints(studio_.sessions().session());
  if (missing.empty()) {
    messages_.show_message(QStringLiteral("all checkpoints of this session were found"));
    return;
  }
  auto* dialog = new MissingDialog(missing, &window_);
  connect(dialog, &MissingDialog::located, this, [this, dialog](const QString& from, const QString& to) {
    relocate(from.toStdString(), to.toStdString());
    dialog->set_missing(session::missing_checkpoints(studio_.sessions().session()));
  });
  dialog->show();
}

// ---- before it goes

Answer SessionController::ask(const std::string& question, bool can_save) {
  if (ask_) {
    return ask_(question, can_save);
  }
  QMessageBox box(QMessageBox::Question, QStringLiteral("Locus"), qt(question),
                  QMessageBox::Discard | QMessageBox::Cancel, &window_);
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

// A session without a file is kept by itself: only changes of a file are asked for.
bool SessionController::ask_changes() {
  const Document& document = studio_.sessions().document();
  if (document.path().empty() || !studio_.sessions().has_changes()) {
    return true;
  }
  const Answer answer = ask("Save the changes to " + document.name() + "?", true);
  return answer == Answer::kDiscard || (answer == Answer::kSave && save());
}

// Whether another session may take the place of this one, which is kept as an earlier state.
bool SessionController::may_replace() {
  if (!ask_changes()) {
    return false;
  }
  const session::Session session = studio_.sessions().session();
  if (session.checkpoints.empty() && session.bookmarks.empty()) {
    return true;
  }
  if (const Status kept = journal_.keep(session, studio_.sessions().document().path()); !kept) {
    return ask("This session cannot be kept as an earlier state: " + kept.error().describe() + ". Go on without it?",
               false) == Answer::kDiscard;
  }
  return true;
}

// A checkpoint that failed to open would surely fail at the next start: it is not restored then.
Status SessionController::store_for_next_start() {
  session::Session session = studio_.sessions().session();
  std::erase_if(session.checkpoints, [this](const session::CheckpointEntry& entry) {
    std::error_code code;
    const auto& all = studio_.checkpoints().all();
    return std::any_of(all.begin(), all.end(), [&](const Checkpoint& each) {
      return each.entry == entry && each.error && !each.model && std::filesystem::exists(entry.path, code);
    });
  });
  settings_.setValue(kFileKey, qt(studio_.sessions().document().path().string()));
  return session::save_session(session, last_);
}

// Unsaved changes of a file's session are kept beside it, as an earlier state too.
void SessionController::keep_unasked() {
  if (studio_.sessions().has_changes()) {
    static_cast<void>(journal_.keep(studio_.sessions().session(), studio_.sessions().document().path()).ok());
  }
  static_cast<void>(store_for_next_start().ok());
}

bool SessionController::keep_for_next_start() {
  const Status kept = store_for_next_start();
  return kept.ok() ||
         ask("This session cannot be kept for the next start: " + kept.error().describe() + ". Close without it?",
             false) == Answer::kDiscard;
}

bool SessionController::may_close() {
  return ask_changes() && keep_for_next_start();
}

void SessionController::end() {
  journal_timer_.stop();
  journal_.discard();
}

// ---- the journal, and earlier states

void SessionController::write_journal() {
  show_title();
  if (const Status written = journal_.write(studio_.sessions().session(), studio_.sessions().document().path());
      !written) {
    messages_.show_error(written.error());
  }
}

void SessionController::offer_recovery() {
  const auto left = journal_.take_left_behind();
  if (!left) {
    return;
  }
  const auto states = journal_.states();
  const auto own = std::find_if(states.begin(), states.end(), [&](const auto& each) { return each.file == *left; });
  auto* box = new QMessageBox(
      QMessageBox::Question, QStringLiteral("Locus"),
      QStringLiteral("Locus ended unexpectedly. Its session was kept:\n\n%1\n\nIt stays under File > Earlier "
                     "states.")
          .arg(qt(own == states.end() ? std::string() : summary_of(*own))),
      QMessageBox::NoButton, &window_);
  make_lasting(box, "recovery", QStringLiteral("Locus"));
  box->setModal(false);
  const QPushButton* restore = box->addButton(QStringLiteral("&Restore it"), QMessageBox::AcceptRole);
  box->addButton(QStringLiteral("&Not now"), QMessageBox::RejectRole);
  connect(restore, &QPushButton::clicked, this, [this, file = *left] { return_to(file); });
  show_at_start(*box, window_);
}

void SessionController::return_to(const std::filesystem::path& state) {
  const auto session = session::load_session(state);  // read before it may make room for the present one
  if (!session) {
    messages_.show_error(session.error());
  } else if (may_replace()) {
    const std::filesystem::path file = file_of(state);
    studio_.sessions().restore(*session);
    if (!file.empty()) {
      const auto saved = session::load_session(file);  // what the state has and it has not are changes
      studio_.sessions().document().set_saved(file, saved ? *saved : session::Session());
    }
    show_title();
  }
}

void SessionController::fill_states(QMenu& menu) {
  menu.clear();
  for (const Journal::State& state : journal_.states()) {
    if (const std::string summary = summary_of(state); !summary.empty()) {
      QAction* action = menu.addAction(qt(summary).replace(QLatin1Char('&'), QStringLiteral("&&")), this,
                                       [this, file = state.file] { return_to(file); });
      action->setToolTip(qt(state.file.string()));
    }
  }
  if (menu.isEmpty()) {
    menu.addAction(QStringLiteral("none yet"))->setEnabled(false);
  }
}

}  // namespace locus::workbench

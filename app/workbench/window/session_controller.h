// SessionController: the session of the window: its file and title, the session of the next start, the journal and
// earlier states, and the question about unsaved changes.
#pragma once

#include <QObject>
#include <QTimer>
#include <filesystem>
#include <string>

#include "app/workbench/state/journal.h"
#include "app/workbench/window/run_workbench.h"

class QMenu;
class QSettings;
class QWidget;

namespace locus::workbench {

class MessageBar;
class Studio;

class SessionController : public QObject {
  Q_OBJECT

 public:
  using Ask = decltype(WorkbenchOptions::ask);

  // `folder`: an existing folder for its files; `ask`: see WorkbenchOptions.
  SessionController(QWidget& window, Studio& studio, MessageBar& messages, QSettings& settings,
                    const std::filesystem::path& folder, Ask ask);

  // False: the file is no session, or the user chose to keep the present one.
  bool open(const std::filesystem::path& path);
  // Opens the session of the previous run of the program. False: there is none.
  bool open_last();
  void open_new();
  // False: nothing was saved.
  bool save();
  bool save_as();  // asks for a file
  // Sets the new path of a missing checkpoint; others are searched beside it.
  void relocate(const std::filesystem::path& from, const std::filesystem::path& to);
  // Asks for the paths of missing checkpoints.
  void find_missing();
  // Offers to restore the session of a program that crashed.
  void offer_recovery();
  void fill_states(QMenu& menu);
  void show_title();
  // Stores the session for the next start, after asking about unsaved changes. False: the window stays open.
  bool may_close();
  // Stores the session for the next start without a question: the program is asked to end.
  void keep_unasked();
  // Removes the journal when the window closes.
  void end();

 Q_SIGNALS:
  void saved(const QString& path);
  void emptied();  // a new session has begun

 private:
  bool save_to(const std::filesystem::path& path);
  bool may_replace();
  bool ask_changes();
  Answer ask(const std::string& question, bool can_save);
  bool keep_for_next_start();
  Status store_for_next_start();
  void write_journal();
  void return_to(const std::filesystem::path& state);

  QWidget& window_;
  Studio& studio_;
  MessageBar& messages_;
  QSettings& settings_;
  const std::filesystem::path last_;  // file of the session of the previous run
  const Ask ask_;
  Journal journal_;
  QTimer journal_timer_;
};

}  // namespace locus::workbench

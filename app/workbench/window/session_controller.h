// SessionController: the session of the window. Its file, its title, what the next start shows, the journal and the
// earlier states, and what is asked before one session takes the place of another.
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

  // Keeps its files in `folder`, which exists; `ask` as in WorkbenchOptions.
  SessionController(QWidget& window, Studio& studio, MessageBar& messages, QSettings& settings,
                    const std::filesystem::path& folder, Ask ask);

  // False: it is no session, or the user keeps the one that is there.
  bool open(const std::filesystem::path& path);
  // The session of the last end. False: there is none.
  bool open_last();
  void open_new();
  // False: nothing was saved.
  bool save();
  bool save_as();  // asks for the file
  // Tells where a checkpoint that was not found is now; others that lie beside it are found too.
  void relocate(const std::filesystem::path& from, const std::filesystem::path& to);
  // Asks where the checkpoints are that the session names and that were not found.
  void find_missing();
  // Offers what a program that ended without closing has left.
  void offer_recovery();
  void fill_states(QMenu& menu);
  void show_title();
  // Keeps the session for the next start. False: the window stays.
  bool may_close();
  // The window closes: there is nothing to recover.
  void end();

 Q_SIGNALS:
  void saved(const QString& path);

 private:
  bool save_to(const std::filesystem::path& path);
  bool may_replace();
  bool ask_changes();
  Answer ask(const std::string& question, bool can_save);
  bool keep_for_next_start();
  void write_journal();
  void return_to(const std::filesystem::path& state);

  QWidget& window_;
  Studio& studio_;
  MessageBar& messages_;
  QSettings& settings_;
  const std::filesystem::path last_;  // the session of the last end
  const Ask ask_;
  Journal journal_;
  QTimer journal_timer_;
};

}  // namespace locus::workbench

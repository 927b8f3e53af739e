// Nothing is lost: the journal of a program that was killed, earlier states, files and their changes, typed texts,
// figures of a session.
#include "tests/support/window.h"

#include <QAction>
#include <QListWidget>
#include <QMenu>
#include <QMessageBox>
#include <QProcess>
#include <QProcessEnvironment>
#include <QPushButton>
#include <QSettings>
#include <csignal>
#include <fstream>

#include "app/workbench/state/journal.h"
#include "core/base/atomic_file.h"
#include "tests/support/paths.h"

namespace locus::workbench {
namespace {

class WindowKept : public WindowTest {
 protected:
  std::filesystem::path folder() { return config_.path().toStdString(); }
  std::filesystem::path make_folder(const char* name) {
    std::filesystem::create_directories(folder() / name);
    return folder() / name;
  }
  std::string text() { return window_->studio().input().text.value_or("(none)"); }
  void press_save() { press(window_->canvas(), Qt::Key_S, {}, Qt::ControlModifier); }
  QListWidget& figures() { return *window_->findChild<QListWidget*>(QStringLiteral("figures")); }
  void trigger(const char* action) { window_->findChild<QAction*>(QLatin1String(action))->trigger(); }
  std::string figure_names() {
    std::string names;
    for (const session::Bookmark& each : window_->studio().sessions().document().figures()) {
      names += each.name + " ";
    }
    return names;
  }
};

TEST_F(WindowKept, WhatAKilledProgramShowedIsOfferedAndRestored) {
  const auto checkpoint = std::filesystem::path(test::source_dir()) / "assets/checkpoints/flip-flop-cope";
  const auto typed = folder() / "typed.txt";
  std::ofstream(typed) << "w 1 i 0 r 1";
  window_.reset();
  QProcess program;
  // What a graphics driver leaks has no name to suppress it by once the driver is unloaded.
  QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
  environment.insert(QStringLiteral("ASAN_OPTIONS"), QStringLiteral("detect_leaks=0"));
  program.setProcessEnvironment(environment);
  program.start(QString::fromStdString(test::binary()),
                {QStringLiteral("--config-dir"), config_.path(), QString::fromStdString(checkpoint.string()),
                 QString::fromStdString(typed.string())});
  ASSERT_TRUE(program.waitForStarted());
  // Its journal appears a moment after the change, whole at any time.
  std::filesystem::path journal;
  const bool written = wait([&] {
    std::error_code code;
    for (const auto& entry : std::filesystem::directory_iterator(folder() / "journal", code)) {
      if (!entry.path().string().ends_with(".locus.json")) {
        continue;
      }
      const auto bytes = read_file(entry.path(), 1 << 20);
      if (bytes.ok() && bytes->find("w 1 i 0 r 1") != std::string::npos &&
          bytes->find("flip-flop-cope") != std::string::npos) {
        journal = entry.path();
      }
    }
    return !journal.empty();
  });
  ::kill(static_cast<pid_t>(program.processId()), SIGKILL);
  program.waitForFinished();
  ASSERT_TRUE(written) << program.readAllStandardError().toStdString();

  make_window();
  window_->open_first();
  auto* box = window_->findChild<QMessageBox*>(QStringLiteral("recovery"));
  ASSERT_NE(box, nullptr);
  EXPECT_NE(box->text().indexOf(QStringLiteral("w 1 i 0 r 1")), -1) << box->text().toStdString();
  EXPECT_NE(text(), "w 1 i 0 r 1");
  for (QAbstractButton* button : box->buttons()) {
    if (box->buttonRole(button) == QMessageBox::AcceptRole) {
      button->click();
    }
  }
  EXPECT_EQ(text(), "w 1 i 0 r 1");
  ASSERT_EQ(window_->studio().checkpoints().all().size(), 1U);
  EXPECT_EQ(window_->studio().checkpoints().all().front().entry.path.filename(), "flip-flop-cope");
  // Offered once.
  window_->close();
  window_.reset();
  make_window();
  window_->open_first();
  EXPECT_EQ(window_->findChild<QMessageBox*>(QStringLiteral("recovery")), nullptr);
}

// The end of a desktop's session, or of a terminal's program, is no crash: nothing is asked, and nothing is lost.
TEST_F(WindowKept, AProgramThatIsAskedToEndKeepsItsSession) {
  const auto checkpoint = std::filesystem::path(test::source_dir()) / "assets/checkpoints/flip-flop-cope";
  const auto typed = folder() / "typed.txt";
  std::ofstream(typed) << "w 1 i 0 r 1";
  window_.reset();
  QProcess program;
#if defined(__SANITIZE_ADDRESS__)
  // The program unloads the software Vulkan driver, whose own allocations then count as lost.
  QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
  environment.insert(QStringLiteral("LSAN_OPTIONS"), QStringLiteral("detect_leaks=0"));
  program.setProcessEnvironment(environment);
#endif
  program.start(QString::fromStdString(test::binary()),
                {QStringLiteral("--config-dir"), config_.path(), QString::fromStdString(checkpoint.string()),
                 QString::fromStdString(typed.string())});
  ASSERT_TRUE(program.waitForStarted());
  const auto journals = [this] {
    std::error_code code;
    int count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder() / "journal", code)) {
      count += entry.path().string().ends_with(".locus.json") ? 1 : 0;
    }
    return count;
  };
  ASSERT_TRUE(wait([&] { return journals() == 1; }));
  ::kill(static_cast<pid_t>(program.processId()), SIGTERM);
  ASSERT_TRUE(program.waitForFinished(kLimitMs));
  EXPECT_EQ(program.exitStatus(), QProcess::NormalExit);
  EXPECT_EQ(program.exitCode(), 0);
  EXPECT_EQ(journals(), 0);
  make_window();
  window_->open_first();
  EXPECT_EQ(window_->findChild<QMessageBox*>(QStringLiteral("recovery")), nullptr);
  EXPECT_EQ(text(), "w 1 i 0 r 1");
}

// Save goes to the file that the session was of, and what that file has not is a change.
TEST_F(WindowKept, ARecoveredSessionKnowsItsFile) {
  const auto file = folder() / "own.locus.json";
  session::Session saved;
  saved.input.text = "as saved";
  ASSERT_TRUE(session::save_session(saved, file).ok());
  {
    Journal journal(folder());
    session::Session typed = saved;
    typed.input.text = "typed since";
    ASSERT_TRUE(journal.keep(typed, file).ok());
  }
  for (QMenu* menu : window_->findChildren<QMenu*>()) {
    if (menu->title().startsWith(QStringLiteral("Earlier"))) {
      Q_EMIT menu->aboutToShow();
      ASSERT_EQ(menu->actions().size(), 1);
      menu->actions().front()->trigger();
    }
  }
  ASSERT_TRUE(settle());
  EXPECT_EQ(text(), "typed since");
  EXPECT_EQ(window_->studio().sessions().document().path(), file);
  EXPECT_TRUE(window_->studio().sessions().has_changes());
  press_save();
  EXPECT_EQ(session::load_session(file)->input.text, "typed since");
  EXPECT_FALSE(window_->studio().sessions().has_changes());
}

TEST_F(WindowKept, AProgramThatClosedLeavesNoJournal) {
  open(make_folder("steep").c_str());
  type("one two");
  ASSERT_TRUE(wait([this] { return !std::filesystem::is_empty(folder() / "journal"); }));
  window_->close();
  int journals = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder() / "journal")) {
    journals += entry.path().string().ends_with(".locus.json") ? 1 : 0;
  }
  EXPECT_EQ(journals, 0);
}

TEST_F(WindowKept, ChangesOfAFileAreAskedForAndNeverLost) {
  open(make_folder("steep").c_str());
  type("first");
  const auto file = folder() / "a.locus.json";
  const auto other = folder() / "b.locus.json";
  ASSERT_TRUE(session::save_session(window_->studio().sessions().session(), file).ok());
  ASSERT_TRUE(session::save_session(window_->studio().sessions().session(), other).ok());
  window_->open_path(file);
  ASSERT_TRUE(settle());
  EXPECT_FALSE(window_->isWindowModified());
  EXPECT_NE(window_->windowTitle().indexOf(QStringLiteral("a.locus.json")), -1);
  EXPECT_TRUE(questions_.empty());  // there was no file before

  window_->studio().inputs().set_text("second");
  ASSERT_TRUE(wait([this] { return window_->isWindowModified(); }));
  answer_ = Answer::kCancel;
  window_->open_path(other);
  EXPECT_EQ(questions_.size(), 1U);
  EXPECT_EQ(text(), "second");
  EXPECT_FALSE(window_->close());
  EXPECT_TRUE(window_->isVisible());

  answer_ = Answer::kSave;
  window_->open_path(other);
  EXPECT_EQ(text(), "first");
  EXPECT_EQ(session::load_session(file)->input.text, "second");

  window_->studio().inputs().set_text("third");
  answer_ = Answer::kDiscard;
  window_->open_path(file);
  EXPECT_EQ(text(), "second");
  // What was discarded can be returned to.
  bool found = false;
  for (QAction* menu : window_->findChildren<QAction*>()) {
    if (menu->text() == QStringLiteral("Earlier s&tates")) {
      Q_EMIT menu->menu()->aboutToShow();
      ASSERT_FALSE(menu->menu()->actions().isEmpty());
      QAction* newest = menu->menu()->actions().front();
      EXPECT_NE(newest->text().indexOf(QStringLiteral("third")), -1) << newest->text().toStdString();
      newest->trigger();
      found = true;
    }
  }
  ASSERT_TRUE(found);
  EXPECT_EQ(text(), "third");
}

TEST_F(WindowKept, SavingThatFailsKeepsTheSessionOpen) {
  open("gentle");
  type("first");
  const auto file = make_folder("gone") / "a.locus.json";
  ASSERT_TRUE(session::save_session(window_->studio().sessions().session(), file).ok());
  window_->open_path(file);
  window_->studio().inputs().set_text("second");
  std::filesystem::remove_all(folder() / "gone");
  answer_ = Answer::kSave;
  EXPECT_FALSE(window_->close());
  EXPECT_TRUE(window_->isVisible());
  EXPECT_EQ(text(), "second");
  press(window_->canvas(), Qt::Key_N, {}, Qt::ControlModifier);  // New asks too
  EXPECT_EQ(text(), "second");
  answer_ = Answer::kDiscard;
  press(window_->canvas(), Qt::Key_N, {}, Qt::ControlModifier);
  EXPECT_EQ(text(), "(none)");
  EXPECT_NE(window_->windowTitle().indexOf(QStringLiteral("untitled")), -1);
}

TEST_F(WindowKept, SaveWritesToTheSessionsFileAndARestartKnowsIt) {
  open(make_folder("steep").c_str());
  type("first");
  const auto file = folder() / "a.locus.json";
  ASSERT_TRUE(session::save_session(window_->studio().sessions().session(), file).ok());
  window_->open_path(file);
  ASSERT_TRUE(settle());
  window_->studio().inputs().set_text("second");
  ASSERT_TRUE(settle());
  press_save();
  EXPECT_EQ(session::load_session(file)->input.text, "second");
  EXPECT_FALSE(window_->isWindowModified());
  window_->studio().inputs().set_text("third");
  EXPECT_TRUE(window_->close());
  EXPECT_EQ(questions_.size(), 1U);
  window_.reset();
  make_window();
  window_->open_first();
  EXPECT_EQ(text(), "third");
  EXPECT_NE(window_->windowTitle().indexOf(QStringLiteral("a.locus.json")), -1);
  EXPECT_TRUE(window_->isWindowModified());
}

TEST_F(WindowKept, ChoosingAFigureKeepsTheTypedText) {
  open("gentle");
  type("typed");
  ASSERT_TRUE(settle());
  session::Bookmark figure = window_->studio().sessions().present("Figure");
  figure.input->text = "of the figure";
  figure.columns = {{"steep", {}, true}};
  window_->studio().sessions().show(figure);
  ASSERT_TRUE(settle());
  EXPECT_EQ(text(), "of the figure");
  EXPECT_EQ(window_->studio().checkpoints().shown().front()->name, "steep");
  window_->studio().undo();
  ASSERT_TRUE(settle());
  EXPECT_EQ(text(), "typed");
  ASSERT_EQ(window_->studio().checkpoints().shown().size(), 1U);
  EXPECT_EQ(window_->studio().checkpoints().shown().front()->name, "gentle");
  window_->studio().redo();
  ASSERT_TRUE(settle());
  EXPECT_EQ(text(), "of the figure");
  EXPECT_EQ(window_->studio().checkpoints().shown().front()->name, "steep");
  // A text file is a step too, and the editor's own undo comes back as well.
  window_->studio().undo();
  std::ofstream(folder() / "file.txt") << "of a file";
  window_->open_path(folder() / "file.txt");
  EXPECT_EQ(text(), "of a file");
  window_->findChild<QPlainTextEdit*>(QStringLiteral("editor"))->undo();
  EXPECT_EQ(text(), "typed");
}

TEST_F(WindowKept, FiguresAreRenamedReplacedMovedAndDeletedWithUndo) {
  open("gentle");
  type("one");
  for (const char* name : {"a", "b", "c"}) {
    window_->studio().sessions().add_bookmark(name);
  }
  ASSERT_EQ(figures().count(), 3);
  figures().setCurrentRow(0);
  trigger("figure-down");
  EXPECT_EQ(figure_names(), "b a c ");
  EXPECT_EQ(figures().currentRow(), 1);
  trigger("figure-delete");
  EXPECT_EQ(figure_names(), "b c ");
  press(window_->canvas(), Qt::Key_Delete);  // a key of the list alone
  EXPECT_EQ(figure_names(), "b c ");
  press(window_->canvas(), Qt::Key_Z, {}, Qt::ControlModifier);
  EXPECT_EQ(figure_names(), "b a c ");
  figures().item(2)->setText(QStringLiteral("renamed"));
  ASSERT_TRUE(wait([this] { return figure_names() == "b a renamed "; })) << figure_names();
  EXPECT_EQ(figures().item(2)->text(), QStringLiteral("renamed"));
  window_->studio().inputs().set_text("two");
  figures().setCurrentRow(0);
  trigger("figure-update");
  EXPECT_EQ(window_->studio().sessions().document().figures().front().input->text, "two");
  window_->studio().undo();
  EXPECT_EQ(window_->studio().sessions().document().figures().front().input->text, "one");
  EXPECT_EQ(text(), "two");
}

TEST_F(WindowKept, RecentFilesAreAbsoluteAndHoldNothingThatFailed) {
  const auto recent = [this] {
    return QSettings(QString::fromStdString((folder() / "workbench.ini").string()), QSettings::IniFormat)
        .value(QStringLiteral("recent"))
        .toStringList();
  };
  const auto before = std::filesystem::current_path();
  make_folder("steep");
  make_folder("broken");
  std::ofstream(folder() / "bad.locus.json") << "{";
  std::filesystem::current_path(folder());
  window_->open_path("broken");
  window_->open_path("bad.locus.json");
  window_->open_path("nowhere");
  window_->open_path("steep");
  std::filesystem::current_path(before);
  ASSERT_TRUE(settle());
  // What does not open leaves the list, and says why in the line below.
  ASSERT_TRUE(wait([this] { return window_->studio().checkpoints().all().size() == 1; }));
  EXPECT_TRUE(window_->last_message().contains(QStringLiteral("expected a header of 120 bytes, found 8")))
      << window_->last_message().toStdString();
  window_->close();
  EXPECT_EQ(recent(), QStringList(QString::fromStdString((folder() / "steep").string())));
  // Nor is what failed restored at the next start.
  const auto last = session::load_session(folder() / "last.locus.json");
  ASSERT_TRUE(last.ok());
  ASSERT_EQ(last->checkpoints.size(), 1U);
  EXPECT_EQ(last->checkpoints.front().path.filename(), "steep");
}

}  // namespace
}  // namespace locus::workbench

// A checkpoint on another machine in the window: its latency, a line that is lost, and a machine that does not answer.
#include <signal.h>

#include <QInputDialog>
#include <QLabel>
#include <QMessageBox>
#include <QPushButton>
#include <QTimer>
#include <filesystem>
#include <fstream>

#include "core/base/atomic_file.h"
#include "models/api/machine.h"
#include "models/remote/frames.h"
#include "tests/support/far.h"
#include "tests/support/window.h"

namespace locus::workbench {
namespace {

class WindowRemote : public WindowTest {
 protected:
  ~WindowRemote() override { models::allow_all_machines(); }
  WindowRemote() : machine_("sh -c 'echo $$ > " + pid_file() + "; PATH=%s:$PATH exec %c'") { opener_ = models::open; }

  std::string pid_file() const { return folder_.path().toStdString() + "/pid"; }
  pid_t pid() const {
    pid_t number = 0;
    std::ifstream(pid_file()) >> number;
    return number;
  }
  template <class T>
  T* find(const char* name) {
    return window_->findChild<T*>(QString::fromLatin1(name));
  }
  // As File > Open on another machine… would.
  void open_there() {
    window_->open_path(test::FarMachine::path(test::source_dir() + "/assets/checkpoints/text-rope"));
    ASSERT_TRUE(settle());
  }
  const Checkpoint& column() { return window_->studio().checkpoints().all().front(); }

  QTemporaryDir folder_;
  test::FarMachine machine_;
};

TEST_F(WindowRemote, ALostLineLosesNothingAndIsMadeAgain) {
  type("The ship left");
  open_there();
  ASSERT_EQ(window_->studio().checkpoints().shown().size(), 1U);
  EXPECT_TRUE(models::machine_of(*column().model));
  auto* machines = find<QLabel>("machines");
  EXPECT_TRUE(machines->isVisible());
  EXPECT_TRUE(machines->text().startsWith(QStringLiteral("here ")) && machines->text().endsWith(QStringLiteral(" ms")))
      << machines->text().toStdString();
  const auto trace = column().trace;
  const std::string shown = title();
  const pid_t first = pid();
  ::kill(first, SIGKILL);
  auto* action = find<QPushButton>("help-with-it");
  // It is noticed without any work.
  ASSERT_TRUE(wait([&] { return action->isVisible() && action->text() == QStringLiteral("Reconnect"); }));
  EXPECT_NE(window_->last_message().indexOf(QStringLiteral("here: the connection ended")), -1)
      << window_->last_message().toStdString();
  EXPECT_EQ(machines->text(), QStringLiteral("here: no connection"));
  // What is shown stays, also where a run fails.
  type(" now");
  ASSERT_TRUE(settle());
  EXPECT_EQ(column().trace, trace);
  EXPECT_EQ(title(), shown);
  ASSERT_TRUE(wait([&] { return action->isVisible() && action->text() == QStringLiteral("Reconnect"); }));
  action->click();
  ASSERT_TRUE(settle());
  EXPECT_NE(pid(), first);
  ASSERT_EQ(window_->studio().checkpoints().shown().size(), 1U);
  EXPECT_FALSE(column().error);
  EXPECT_EQ(column().trace->length(), 17);
  EXPECT_FALSE(models::machine_of(*column().model)->lost());
  EXPECT_TRUE(machines->text().endsWith(QStringLiteral(" ms"))) << machines->text().toStdString();
}

TEST_F(WindowRemote, AMachineThatDoesNotAnswerStopsNothingHere) {
  type("The ship left");
  open_there();
  ::kill(pid(), SIGSTOP);
  int beats = 0;
  QTimer heart;
  QObject::connect(&heart, &QTimer::timeout, [&] { ++beats; });
  heart.start(10);
  type(" the harbour");
  wait([] { return false; }, 1000);
  EXPECT_GT(beats, 20);  // the window lives
  EXPECT_FALSE(window_->studio().settled());
  find<QPushButton>("cancel")->click();
  ASSERT_TRUE(settle());  // though the machine still says nothing
  EXPECT_EQ(column().trace->length(), 13);
  ::kill(pid(), SIGCONT);
  type("!");
  ASSERT_TRUE(settle());
  EXPECT_EQ(column().trace->length(), 26);
}

TEST_F(WindowRemote, ATraceThereStandsBesideACheckpointHere) {
  const std::string checkpoint = test::source_dir() + "/assets/checkpoints/text-rope";
  const std::filesystem::path file = folder_.path().toStdString() + "/run.safetensors";
  models::Input input;
  input.text = "The ship left";
  ASSERT_TRUE((*(*models::open(checkpoint))->run(input))->write(file, {"q", "k"}).ok());
  type("The ship left the harbour");
  window_->open_path(checkpoint);
  window_->open_path(test::FarMachine::path(file));
  ASSERT_TRUE(settle());
  const auto shown = window_->studio().checkpoints().shown();
  ASSERT_EQ(shown.size(), 2U) << window_->last_message().toStdString();
  EXPECT_FALSE(models::machine_of(*shown[0]->trace));
  EXPECT_TRUE(models::machine_of(*shown[1]->trace));
  EXPECT_EQ(shown[1]->trace->length(), 13);
  // What is asked of both goes to each, and what one needs of the other is refused in one line.
  for (const char* view : {"distance-profile", "heads", "head-difference"}) {
    session::ViewState state;
    state.view = view;
    window_->studio().column_actions().reset_view(state);
    ASSERT_TRUE(settle()) << view;
    const std::optional<Error>& error = window_->studio().scheduler().error();
    EXPECT_EQ(error.has_value(), std::string(view) == "head-difference") << view;
    EXPECT_TRUE(!error || error->describe().find("of one machine") != std::string::npos) << error->describe();
  }
}

TEST_F(WindowRemote, AnotherProtocolIsOneLine) {
  remote::Message greeting = remote::greeting();
  greeting.protocol = 9;
  greeting.version = "0.1";
  const std::string file = folder_.path().toStdString() + "/greeting";
  ASSERT_TRUE(write_file(file, *remote::frame_of(greeting)).ok());
  const test::FarMachine old("sh -c 'cat " + file + "; : %c'");
  open_there();
  EXPECT_TRUE(window_->studio().checkpoints().shown().empty());
  EXPECT_NE(window_->last_message().indexOf(QStringLiteral("0.1 there speaks protocol 9")), -1)
      << window_->last_message().toStdString();
  EXPECT_EQ(window_->last_message().indexOf(QLatin1Char('\n')), -1);
}

TEST_F(WindowRemote, AMachineThatAFileNamesIsAskedForOnce) {
  models::allow_only_machines_of({});
  const std::string there = test::FarMachine::path(test::source_dir() + "/assets/checkpoints/text-rope");
  const std::string state = R"("input": {"text": "The ship"}, "state": {"view": "attention", "layer": 0, "head": 0})";
  const std::string file = folder_.path().toStdString() + "/stranger.locus.json";
  std::ofstream(file) << R"({"locus": "session/1", "checkpoints": [{"path": ")" << there << R"(", "shown": true}], )"
                      << state << R"(, "bookmarks": []})";
  window_->open_path(file);
  ASSERT_TRUE(settle());
  EXPECT_EQ(pid(), 0);  // nothing was started
  EXPECT_TRUE(window_->studio().checkpoints().shown().empty());
  auto* box = find<QMessageBox>("machine-question");
  ASSERT_NE(box, nullptr);
  EXPECT_TRUE(box->text().contains(QStringLiteral("the machine here"))) << box->text().toStdString();
  const auto press_button = [](QMessageBox* shown, const QString& words) {
    for (QAbstractButton* button : shown->buttons()) {
      if (button->text().remove(QLatin1Char('&')) == words) {
        button->click();
      }
    }
  };
  press_button(box, QStringLiteral("Not now"));
  ASSERT_TRUE(wait([&] { return find<QMessageBox>("machine-question") == nullptr; }));
  // It does not ask again by itself, but says how.
  window_->open_path(file);
  ASSERT_TRUE(settle());
  EXPECT_EQ(pid(), 0);
  EXPECT_EQ(find<QMessageBox>("machine-question"), nullptr);
  auto* action = find<QPushButton>("help-with-it");
  ASSERT_TRUE(action->isVisible());
  EXPECT_EQ(action->text(), QStringLiteral("Connect…"));
  action->click();
  box = find<QMessageBox>("machine-question");
  ASSERT_NE(box, nullptr);
  press_button(box, QStringLiteral("Connect"));
  ASSERT_TRUE(wait([&] { return window_->studio().checkpoints().shown().size() == 1; }));
  EXPECT_NE(pid(), 0);
  // The next window remembers it.
  window_.reset();
  models::allow_only_machines_of({});
  std::filesystem::remove(pid_file());
  make_window();
  window_->open_path(file);
  ASSERT_TRUE(wait([&] { return window_->studio().checkpoints().shown().size() == 1; }));
  EXPECT_EQ(find<QMessageBox>("machine-question"), nullptr);
}

TEST_F(WindowRemote, APathIsTypedInTheMenusDialog) {
  QTimer::singleShot(0, [] {
    for (QWidget* widget : QApplication::topLevelWidgets()) {
      if (auto* dialog = qobject_cast<QInputDialog*>(widget); dialog != nullptr && dialog->isVisible()) {
        EXPECT_EQ(dialog->textValue(), QStringLiteral("ssh://"));
        dialog->setTextValue(QStringLiteral("-F/model"));
        dialog->accept();
      }
    }
  });
  window_->findChild<QAction*>(QStringLiteral("open-remote"))->trigger();
  EXPECT_NE(window_->last_message().indexOf(QStringLiteral("the name of a host")), -1)
      << window_->last_message().toStdString();
}

}  // namespace
}  // namespace locus::workbench

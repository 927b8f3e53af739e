// Comparing columns in the window: against a reference that is picked, with heads and texts of their own.
#include "tests/support/window.h"

#include <QCheckBox>
#include <QComboBox>

namespace locus::workbench {
namespace {

class WindowComparison : public WindowTest {
 protected:
  void open_three() {
    for (const char* name : {"gentle", "steep", "third"}) {
      open(name);
    }
    type("one two three");
    ASSERT_TRUE(settle());
  }
  std::vector<std::string> titles() {
    std::vector<std::string> list;
    for (const figure::Panel& panel : window_->studio().scheduler().figure()->panels) {
      list.push_back(panel.title);
    }
    return list;
  }
};

// On the canvas alone: exports and what is said have no mark.
TEST_F(WindowComparison, TheTitleOfTheChosenColumnIsMarked) {
  open_three();
  const auto marked = [this] {
    std::vector<std::size_t> list;
    const auto& shown = window_->canvas()->content().figure;
    for (std::size_t n = 0; shown && n < shown->panels.size(); ++n) {
      if (shown->panels[n].title.rfind("▸ ", 0) == 0) {
        list.push_back(n);
      }
    }
    return list;
  };
  EXPECT_TRUE(wait([&] { return marked() == std::vector<std::size_t>{0}; }));
  press(window_->canvas(), Qt::Key_3);
  EXPECT_TRUE(wait([&] { return marked() == std::vector<std::size_t>{2}; }));
  EXPECT_EQ(titles()[2], "third · layer 0, head 0");
  for (int n = 0; n < 2; ++n) {
    window_->studio().columns().set_shown(window_->studio().checkpoints().all()[static_cast<std::size_t>(n)].id, false);
  }
  ASSERT_TRUE(settle());
  EXPECT_TRUE(wait([&] { return marked().empty(); }));  // there is one alone
}

TEST_F(WindowComparison, TheReferenceIsPickedByItsName) {
  open_three();
  auto* reference = window_->findChild<QComboBox*>(QStringLiteral("reference"));
  ASSERT_TRUE(reference->isVisible());
  ASSERT_EQ(reference->count(), 3);
  EXPECT_EQ(reference->currentIndex(), 2);
  window_->findChild<QCheckBox*>(QStringLiteral("difference"))->click();
  ASSERT_TRUE(settle());
  EXPECT_EQ(titles(), (std::vector<std::string>{"gentle − third · layer 0, head 0", "steep − third · layer 0, head 0",
                                                "third · layer 0, head 0"}));
  press(reference, Qt::Key_Up);
  press(reference, Qt::Key_Up);
  ASSERT_TRUE(settle());
  EXPECT_EQ(titles(), (std::vector<std::string>{"gentle · layer 0, head 0", "steep − gentle · layer 0, head 0",
                                                "third − gentle · layer 0, head 0"}));
  QKeyEvent shift(QEvent::KeyPress, Qt::Key_Shift, Qt::ShiftModifier);
  QCoreApplication::sendEvent(window_->canvas(), &shift);
  EXPECT_EQ(window_->canvas()->content().badge, "reference: gentle");
}

TEST_F(WindowComparison, AnUnlinkedColumnMovesAlone) {
  open_three();
  const auto key = [this](int which) {
    press(window_->canvas(), which);
    return settle();
  };
  ASSERT_TRUE(key(Qt::Key_2));
  ASSERT_TRUE(key(Qt::Key_U));
  ASSERT_TRUE(key(Qt::Key_Right));
  ASSERT_TRUE(key(Qt::Key_Down));
  ASSERT_TRUE(key(Qt::Key_Up));
  ASSERT_TRUE(key(Qt::Key_Up));  // layer 0 is the first
  EXPECT_EQ(titles(), (std::vector<std::string>{"gentle · layer 0, head 0", "steep ⚮ layer 0, head 1",
                                                "third · layer 0, head 0"}));
  ASSERT_TRUE(key(Qt::Key_1));
  ASSERT_TRUE(key(Qt::Key_Down));
  EXPECT_EQ(titles(), (std::vector<std::string>{"gentle · layer 1, head 0", "steep ⚮ layer 0, head 1",
                                                "third · layer 1, head 0"}));
  ASSERT_TRUE(key(Qt::Key_2));
  ASSERT_TRUE(key(Qt::Key_U));
  EXPECT_EQ(titles()[1], "steep · layer 1, head 0");
  EXPECT_FALSE(window_->studio().checkpoints().shown()[1]->entry.own);
}

// Columns of different depth: the arrow keys reach every layer of the deeper one once either has a layer of its own.
TEST_F(WindowComparison, EveryLayerOfADeeperColumnIsReached) {
  opener_ = [](const std::filesystem::path& path, const models::OpenOptions&, const StopToken&, const Progress&) {
    test::FakeShape shape;
    shape.name = path.filename().string();
    shape.layers = shape.name == "deep" ? 6 : 3;
    return Result(std::shared_ptr<const models::Model>(std::make_shared<test::FakeModel>(shape)));
  };
  window_.reset();
  make_window();
  open("deep");
  open("gentle");
  type("one two three");
  ASSERT_TRUE(settle());
  const auto key = [this](int which, int times = 1) {
    for (int n = 0; n < times; ++n) {
      press(window_->canvas(), which);
    }
    return settle();
  };
  using Titles = std::vector<std::string>;
  ASSERT_TRUE(key(Qt::Key_Down, 2));
  EXPECT_EQ(window_->last_message().toStdString(), "");
  ASSERT_TRUE(key(Qt::Key_Down));
  EXPECT_EQ(titles(), (Titles{"deep · layer 2, head 0", "gentle · layer 2, head 0"}));
  EXPECT_EQ(window_->last_message().toStdString(),
            "gentle has no layer 3; U gives the chosen column a layer and head of its own, Shift+U links by depth");
  ASSERT_TRUE(key(Qt::Key_2));  // the shallow one keeps its place
  ASSERT_TRUE(key(Qt::Key_U));
  ASSERT_TRUE(key(Qt::Key_1));
  ASSERT_TRUE(key(Qt::Key_Down, 9));
  EXPECT_EQ(titles(), (Titles{"deep · layer 5, head 0", "gentle ⚮ layer 2, head 0"}));
  ASSERT_TRUE(key(Qt::Key_2));
  ASSERT_TRUE(key(Qt::Key_U));  // it follows again, as far as it goes
  EXPECT_EQ(titles(), (Titles{"deep · layer 2, head 0", "gentle · layer 2, head 0"}));
  ASSERT_TRUE(key(Qt::Key_1));
  ASSERT_TRUE(key(Qt::Key_U));
  ASSERT_TRUE(key(Qt::Key_Down, 9));
  EXPECT_EQ(titles(), (Titles{"deep ⚮ layer 5, head 0", "gentle · layer 2, head 0"}));
}

TEST_F(WindowComparison, AColumnReadsATextOfItsOwn) {
  open("gentle");
  session::CheckpointEntry own;
  own.path = "gentle";
  own.text = "four";
  const int id = window_->studio().column_actions().open(own);
  type("one two three");
  ASSERT_TRUE(settle());
  ASSERT_EQ(window_->studio().checkpoints().shown().size(), 2U);
  EXPECT_EQ(window_->studio().checkpoints().shown()[0]->trace->text(), "one two three");
  EXPECT_EQ(window_->studio().checkpoints().find(id)->trace->text(), "four");
  EXPECT_EQ(titles()[1], "gentle “four” · layer 0, head 0");
  type("!");
  ASSERT_TRUE(settle());
  EXPECT_EQ(window_->studio().checkpoints().shown()[0]->trace->text(), "one two three!");
  EXPECT_EQ(window_->studio().checkpoints().find(id)->trace->text(), "four");
}

}  // namespace
}  // namespace locus::workbench

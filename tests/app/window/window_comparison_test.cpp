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

TEST_F(WindowComparison, TheReferenceIsPickedByItsName) {
  open_three();
  auto* reference = window_->findChild<QComboBox*>(QStringLiteral("reference"));
  ASSERT_TRUE(reference->isVisible());
  ASSERT_EQ(reference->count(), 3);
  EXPECT_EQ(reference->currentIndex(), 2);
  window_->findChild<QCheckBox*>(QStringLiteral("difference"))->click();
  ASSERT_TRUE(settle());
  EXPECT_EQ(titles(), (std::vector<std::string>{"gentle − third", "steep − third", "third · layer 0, head 0"}));
  press(reference, Qt::Key_Up);
  press(reference, Qt::Key_Up);
  ASSERT_TRUE(settle());
  EXPECT_EQ(titles(), (std::vector<std::string>{"gentle · layer 0, head 0", "steep − gentle", "third − gentle"}));
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

TEST_F(WindowComparison, AColumnReadsATextOfItsOwn) {
  open("gentle");
  session::CheckpointEntry own;
  own.path = "gentle";
  own.text = "four";
  const int id = window_->studio().open(own);
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

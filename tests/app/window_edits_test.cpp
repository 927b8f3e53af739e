// Edits in the window: typed in a dialog, chosen in the menu of a place; each is a column beside the untouched one.
#include "tests/support/window.h"

#include <QAction>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QMenu>
#include <QPushButton>

#include "app/workbench/edits_dialog.h"
#include "tests/support/paths.h"

namespace locus::workbench {
namespace {

class WindowEdits : public WindowTest {
 protected:
  void SetUp() override {
    opener_ = [](const std::filesystem::path& path, const models::OpenOptions& options, const StopToken& stop,
                 const Progress& progress) { return models::open(path, options, stop, progress); };
    WindowTest::SetUp();
    if (window_ == nullptr) {
      return;
    }
    open((test::source_dir() + "/assets/checkpoints/text-rope").c_str());
    type("one two three one two");
    ASSERT_TRUE(settle());
  }
  const Checkpoint& column(std::size_t n) { return window_->studio().checkpoints()[n]; }
  float weight(std::size_t n, std::int64_t query, std::int64_t key) {
    models::MapRequest request;
    request.layer = window_->studio().state().layer;
    request.head = window_->studio().state().head;
    return column(n).trace->map(request)->at(query, key);
  }
  template <class Child>
  Child* find(const QObject& parent, const char* name) {
    return parent.findChild<Child*>(QLatin1String(name));
  }
};

TEST_F(WindowEdits, WhatIsTypedRunsBesideTheUntouched) {
  EditsDialog dialog(window_->studio(), column(0).id, window_.get());
  dialog.setAttribute(Qt::WA_DeleteOnClose, false);
  dialog.show();
  auto* line = find<QLineEdit>(dialog, "edits-line");
  auto* says = find<QLabel>(dialog, "edits-error");
  line->setText(QStringLiteral("bias all.all -d*"));
  ASSERT_TRUE(wait([&] { return !says->text().isEmpty(); }));
  EXPECT_EQ(window_->studio().checkpoints().size(), 1U);
  line->setText(QStringLiteral("bias all.all -d*100"));
  ASSERT_TRUE(wait([&] { return window_->studio().checkpoints().size() == 2; }));
  ASSERT_TRUE(settle());
  EXPECT_TRUE(says->text().isEmpty());
  ASSERT_TRUE(column(1).trace != nullptr);
  EXPECT_GT(weight(1, 10, 10), 0.999F);  // nothing but itself is near enough
  EXPECT_LT(weight(0, 10, 10), 0.999F);
  // What goes on being typed is the same column; an edit that is kept can be turned off.
  line->setText(QStringLiteral("bias all.all -d*0"));
  ASSERT_TRUE(wait([&] { return column(1).entry.edits.front().formula == "-d*0"; }));
  ASSERT_TRUE(settle());
  EXPECT_NEAR(weight(1, 10, 4), weight(0, 10, 4), 1e-6F);
  ASSERT_EQ(window_->studio().checkpoints().size(), 2U);
  find<QPushButton>(dialog, "edits-keep")->click();
  auto* list = find<QListWidget>(dialog, "edits-list");
  ASSERT_EQ(list->count(), 1);
  EXPECT_TRUE(line->text().isEmpty());
  list->item(0)->setCheckState(Qt::Unchecked);
  ASSERT_TRUE(wait([&] { return column(1).entry.edits.empty(); }));
}

TEST_F(WindowEdits, AHeadIsSilencedAndAnEdgeCutFromTheMenuOfItsPlace) {
  Q_EMIT window_->canvas()->context_requested(figure::Hit{0, 2.5, 8.5, -1}, QPoint(40, 40));
  auto* menu = window_->findChild<QMenu*>(QStringLiteral("edits-menu"));
  ASSERT_NE(menu, nullptr);
  find<QAction>(*menu, "edit-edge")->trigger();
  ASSERT_TRUE(wait([&] { return window_->studio().checkpoints().size() == 2; }));
  ASSERT_TRUE(settle());
  EXPECT_EQ(weight(1, 8, 2), 0.0F);
  EXPECT_GT(weight(0, 8, 2), 0.0F);
  find<QAction>(*menu, "edit-uniform")->trigger();
  ASSERT_TRUE(wait([&] { return window_->studio().checkpoints().size() == 3; }));
  ASSERT_TRUE(settle());
  EXPECT_NEAR(weight(2, 9, 3), 0.1F, 1e-6F);
  window_->findChild<QMenu*>(QStringLiteral("canvas-menu"))->close();
}

}  // namespace
}  // namespace locus::workbench

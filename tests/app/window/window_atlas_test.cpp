// Making an atlas in the window: in the background, shown while it grows, stopped and gone on with.
#include <QCheckBox>
#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSpinBox>

#include "app/workbench/window/atlas_dialog.h"
#include "models/api/atlas_trace.h"
#include "tests/support/bundled.h"
#include "tests/support/window.h"

namespace locus::workbench {
namespace {

class WindowAtlas : public WindowTest {
 protected:
  QString file() const { return files_.path() + QStringLiteral("/made.safetensors"); }

  AtlasDialog* dialog(int windows) {
    const std::string assets = test::source_dir() + "/assets/";
    auto* made = new AtlasDialog({{"text-rope", assets + "checkpoints/text-rope"}}, files_.path(), window_.get());
    made->show();
    made->findChild<QLineEdit*>(QStringLiteral("atlas-texts"))
        ->setText(QString::fromStdString(assets + "samples/alice.txt"));
    made->findChild<QLineEdit*>(QStringLiteral("atlas-file"))->setText(file());
    made->findChild<QSpinBox*>(QStringLiteral("atlas-windows"))->setValue(windows);
    made->findChild<QSpinBox*>(QStringLiteral("atlas-length"))->setValue(32);
    return made;
  }
  static QPushButton* button(AtlasDialog* of, const char* name) {
    return of->findChild<QPushButton*>(QLatin1String(name));
  }
  static QString said(AtlasDialog* of) { return of->findChild<QLabel*>(QStringLiteral("atlas-says"))->text(); }

  QTemporaryDir files_;
};

TEST_F(WindowAtlas, TheCommandOffersWhatIsOpen) {
  open("gentle");
  ASSERT_TRUE(settle());
  window_->findChild<QAction*>(QStringLiteral("make-atlas"))->trigger();
  auto* made = window_->findChild<QDialog*>(QStringLiteral("atlas"));
  ASSERT_NE(made, nullptr);
  EXPECT_EQ(made->findChild<QComboBox*>(QStringLiteral("atlas-model"))->count(), 1);
  EXPECT_FALSE(made->findChild<QPushButton*>(QStringLiteral("atlas-start"))->isEnabled());  // no texts, no file
  made->close();
}

// What is measured is chosen by name; what a checkpoint does not have is not offered.
TEST_F(WindowAtlas, WhatIsMeasuredIsChosen) {
  AtlasDialog* const made = dialog(2);
  const auto box = [&](const std::string& name) {
    return made->findChild<QCheckBox*>(QStringLiteral("atlas-what-") + QString::fromStdString(name));
  };
  for (const models::AtlasStatistic& each : models::atlas_statistics()) {
    ASSERT_NE(box(each.name), nullptr) << each.name;
    EXPECT_EQ(box(each.name)->isChecked(), each.usual) << each.name;
    EXPECT_TRUE(box(each.name)->isEnabled()) << each.name;
    EXPECT_EQ(box(each.name)->toolTip().toStdString(), each.meaning);
    box(each.name)->setChecked(false);
  }
  EXPECT_FALSE(button(made, "atlas-start")->isEnabled());
  box("loss")->setChecked(true);
  box("sinks")->setChecked(true);
  button(made, "atlas-start")->click();
  EXPECT_FALSE(box("loss")->isEnabled());
  ASSERT_TRUE(wait([&] { return button(made, "atlas-start")->isEnabled(); }));
  const auto atlas = models::open_atlas(file().toStdString());
  ASSERT_TRUE(atlas.ok()) << atlas.error().describe();
  EXPECT_EQ((*atlas)->info().what, (std::vector<std::string>{"sinks", "loss"}));
  made->close();
  AtlasDialog of_runs({{"text-rope", {}, test::bundled("text-rope")}}, files_.path(), window_.get());
  of_runs.setAttribute(Qt::WA_DeleteOnClose, false);
  const auto* mixers = of_runs.findChild<QCheckBox*>(QStringLiteral("atlas-what-mixers"));
  EXPECT_FALSE(mixers->isEnabled());
  EXPECT_NE(mixers->toolTip().indexOf(QStringLiteral("without a softmax")), -1);
}

TEST_F(WindowAtlas, ItIsMadeAndSaysSo) {
  AtlasDialog* const made = dialog(6);
  QString begun;
  QObject::connect(made, &AtlasDialog::begun, [&](const QString& path) { begun = path; });
  ASSERT_TRUE(button(made, "atlas-start")->isEnabled());
  button(made, "atlas-start")->click();
  EXPECT_FALSE(button(made, "atlas-start")->isEnabled());
  ASSERT_TRUE(wait([&] { return button(made, "atlas-start")->isEnabled(); }));
  EXPECT_EQ(said(made), QStringLiteral("All 6 windows are in the file."));
  EXPECT_EQ(begun, file());
  const auto atlas = models::open_atlas(file().toStdString());
  ASSERT_TRUE(atlas.ok()) << atlas.error().describe();
  EXPECT_EQ((*atlas)->info().done, 6);
  EXPECT_EQ((*atlas)->info().length, 32);
  made->close();
}

TEST_F(WindowAtlas, WhatIsStoppedIsKeptAndGoneOnWith) {
  AtlasDialog* made = dialog(20000);
  button(made, "atlas-start")->click();
  ASSERT_TRUE(wait([&] { return said(made).contains(QStringLiteral("a second")); }));
  button(made, "atlas-stop")->click();
  ASSERT_TRUE(wait([&] { return button(made, "atlas-start")->isEnabled(); }));
  EXPECT_TRUE(said(made).startsWith(QStringLiteral("Stopped: "))) << said(made).toStdString();
  const auto atlas = models::open_atlas(file().toStdString());
  ASSERT_TRUE(atlas.ok()) << atlas.error().describe();
  const std::int64_t done = (*atlas)->info().done;
  EXPECT_GT(done, 0);
  EXPECT_LT(done, 20000);
  // Other settings are not mixed with it.
  made->findChild<QSpinBox*>(QStringLiteral("atlas-length"))->setValue(16);
  button(made, "atlas-start")->click();
  ASSERT_TRUE(wait([&] { return button(made, "atlas-start")->isEnabled(); }));
  EXPECT_TRUE(said(made).contains(QStringLiteral("length"))) << said(made).toStdString();
  made->close();
}

TEST_F(WindowAtlas, AFileThatCannotBeReadIsNamed) {
  AtlasDialog* const made = dialog(6);
  made->findChild<QLineEdit*>(QStringLiteral("atlas-texts"))->setText(files_.path() + QStringLiteral("/none.txt"));
  button(made, "atlas-start")->click();
  ASSERT_TRUE(wait([&] { return button(made, "atlas-start")->isEnabled(); }));
  EXPECT_TRUE(said(made).contains(QStringLiteral("none.txt"))) << said(made).toStdString();
  made->close();
}

// A click on an example runs its window in the checkpoint, alone, with that token as the query.
TEST_F(WindowAtlas, AnExampleOpensInItsCheckpoint) {
  opener_ = models::open;
  make_window();
  const std::string assets = test::source_dir() + "/assets/";
  Studio& studio = window_->studio();
  open((assets + "atlases/text-words-rope-1500.safetensors").c_str());
  session::ViewState state = studio.state();
  session::show_view(state, "examples");
  state.layer = 1;
  state.head = 2;
  studio.change(state);
  ASSERT_TRUE(settle());
  figure::Hit hit;
  hit.token = 3;
  const views::Selection picked = studio.view().pick(studio.view_input(), hit);
  ASSERT_TRUE(picked.run);
  EXPECT_EQ(picked.run->checkpoint, "text-words-rope-1500");

  Q_EMIT window_->canvas()->clicked(hit);  // it is not open
  ASSERT_TRUE(settle());
  EXPECT_EQ(studio.state().view, "examples");

  open((assets + "checkpoints/text-words-rope-1500").c_str());
  studio.columns().set_shown(studio.checkpoints().all().back().id, false);
  ASSERT_TRUE(settle());
  Q_EMIT window_->canvas()->clicked(hit);
  ASSERT_TRUE(settle());
  EXPECT_EQ(studio.state().view, "attention-text");
  EXPECT_EQ(studio.state().layer, 1);
  EXPECT_EQ(studio.state().head, 2);
  const views::ViewInput input = studio.view_input();
  ASSERT_EQ(input.columns.size(), 1U);
  ASSERT_EQ(input.columns.front().trace->length(), std::ssize(picked.run->ids));
  EXPECT_EQ(input.columns.front().trace->tokens()[5].id, picked.run->ids[5]);
  EXPECT_EQ(studio.state().query.index, picked.query->index);
}

}  // namespace
}  // namespace locus::workbench

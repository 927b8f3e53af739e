// The fields of a view's state in the window: their widgets, and undo.
#include <QCheckBox>
#include <QComboBox>
#include <QDoubleSpinBox>
#include <QGroupBox>
#include <QLineEdit>

#include "app/workbench/widgets/state_form.h"
#include "tests/support/window.h"

namespace locus::workbench {
namespace {

class WindowState : public WindowTest {
 protected:
  // A widget of the window's own dock.
  template <class Widget>
  Widget* field(const char* name) {
    return window_->findChild<Widget*>(QString::fromLatin1(name));
  }
};

TEST_F(WindowState, AFieldOfOneLineHasItsWidget) {
  session::StateFields fields = session::state_fields();
  fields.push_back(session::state_field(
      {Parameter::Kind::kNumber, "tilt", "Tilt", "How far the map leans", 0.5, 0, 90, {}}, "--tilt",
      [](auto& s) -> auto& { return s.scale.gamma; }));
  StateForm form(fields, session::StateField::Place::kColors, nullptr);
  auto* const tilt = form.findChild<QDoubleSpinBox*>(QStringLiteral("tilt"));
  ASSERT_NE(tilt, nullptr);
  EXPECT_EQ(tilt->toolTip(), QStringLiteral("How far the map leans"));
  session::ViewState state;
  state.scale.gamma = 12;
  form.show_state(state);
  EXPECT_EQ(tilt->value(), 12);
  tilt->setValue(33);
  EXPECT_EQ(form.edited(state).scale.gamma, 33.0F);
  EXPECT_EQ(tilt->maximum(), 90);
}

TEST_F(WindowState, EveryFieldOfTheColoursIsEditedAndUndone) {
  Studio& studio = window_->studio();
  const auto undone = [&](const char* what) {
    studio.undo();
    for (const session::StateField& each : session::state_fields()) {
      EXPECT_EQ(each.get(studio.state()), each.get(session::ViewState{})) << what << ": " << each.parameter.name;
    }
  };
  field<QGroupBox>("colours")->setChecked(true);  // unfolded
  field<QCheckBox>("ignore_first")->setChecked(true);
  EXPECT_TRUE(studio.state().ignore_first);
  undone("ignore_first");
  EXPECT_FALSE(field<QCheckBox>("ignore_first")->isChecked());
  field<QDoubleSpinBox>("scale.percentile")->setValue(95);
  EXPECT_EQ(studio.state().scale.percentile, 95);
  undone("percentile");
  auto* const low = field<QLineEdit>("scale.low");
  low->setText(QStringLiteral("0.25"));
  Q_EMIT low->editingFinished();
  EXPECT_EQ(studio.state().scale.low, 0.25F);
  Q_EMIT low->editingFinished();  // leaving it changes nothing, and is no step
  undone("low");
  EXPECT_EQ(low->text(), QString());
  auto* const transfer = field<QComboBox>("scale.transfer");
  EXPECT_FALSE(field<QDoubleSpinBox>("scale.gamma")->isVisibleTo(window_.get()));
  EXPECT_EQ(transfer->currentText(), QStringLiteral("auto"));
  transfer->setCurrentIndex(transfer->findText(QStringLiteral("gamma")));
  Q_EMIT transfer->activated(transfer->currentIndex());
  EXPECT_EQ(studio.state().scale.transfer, figure::Transfer::kGamma);
  EXPECT_TRUE(field<QDoubleSpinBox>("scale.gamma")->isVisibleTo(field<QWidget>("inspector-dock")));
  undone("transfer");
  auto* const colormap = field<QComboBox>("scale.colormap");
  EXPECT_EQ(colormap->currentText(), QStringLiteral("automatic"));
  colormap->setCurrentIndex(colormap->findText(QStringLiteral("magma")));
  Q_EMIT colormap->activated(colormap->currentIndex());
  EXPECT_EQ(studio.state().scale.colormap, "magma");
  undone("colormap");
  auto* const mask = field<QComboBox>("scale.mask");
  mask->setCurrentIndex(1);
  Q_EMIT mask->activated(1);
  EXPECT_EQ(studio.state().scale.mask_color, 0xFFFFFFFFU);
  undone("mask");
}

}  // namespace
}  // namespace locus::workbench

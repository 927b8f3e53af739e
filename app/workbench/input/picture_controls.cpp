#include "app/workbench/input/picture_controls.h"

#include <QDoubleSpinBox>
#include <QLineEdit>
#include <QSignalBlocker>
#include <QToolButton>
#include <algorithm>
#include <cmath>

#include "app/workbench/input/patch_picture.h"
#include "app/workbench/widgets/build.h"
#include "app/workbench/widgets/flow_layout.h"
#include "app/workbench/widgets/qt_text.h"

namespace locus::workbench {

namespace {

using models::LengthUnit;
using models::PictureStep;

constexpr int kNumberGapPx = 3;
constexpr int kLineLetters = 30;

// Behind a length in a box.
QString suffix_of(LengthUnit unit) {
  return unit == LengthUnit::kPixels    ? QStringLiteral(" px")
         : unit == LengthUnit::kPatches ? QStringLiteral(" p")
                                        : QStringLiteral(" %");
}

}  // namespace

PictureControls::PictureControls(Studio& studio, PatchPicture& picture, QWidget* parent)
    : QWidget(parent), studio_(studio), live_(studio, this) {
  setLayout(new FlowLayout(this, kNumberGapPx));
  layout()->setContentsMargins(0, 0, 0, 0);
  const QString shift = QStringLiteral("Shift by patches (p); drag the picture to move it");
  add_number("picture-x", QStringLiteral("Shift to the right"), shift, PictureStep::kShift, 0, 0.125)
      ->setPrefix(QStringLiteral("→ "));
  add_number("picture-y", QStringLiteral("Shift down"), shift, PictureStep::kShift, 1, 0.125)
      ->setPrefix(QStringLiteral("↓ "));
  auto* degrees = add_number("picture-degrees", QStringLiteral("Rotation"),
                             QStringLiteral("Rotation in degrees, clockwise; drag the picture with Shift"),
                             PictureStep::kRotate, 0, 5);
  degrees->setPrefix(QStringLiteral("↻ "));
  degrees->setSuffix(QStringLiteral("°"));
  add_number("picture-scale", QStringLiteral("Scale"),
             QStringLiteral("Scale about the middle; turn the wheel over the picture with Ctrl"), PictureStep::kScale,
             0, 0.1)
      ->setPrefix(QStringLiteral("× "));
  add_number("picture-blur", QStringLiteral("Blur"), QStringLiteral("Deviation of a Gaussian blur"), PictureStep::kBlur,
             0, 0.5)
      ->setPrefix(QStringLiteral("blur "));
  mirror_ = make_button<QToolButton>(this, "picture-mirror", QStringLiteral("⇋"),
                                     QStringLiteral("Mirror: left becomes right"));
  mirror_->setAccessibleName(QStringLiteral("Mirror"));
  mirror_->setCheckable(true);
  connect(mirror_, &QToolButton::clicked, this, [this](bool on) {
    models::PictureChanges changes = studio_.input().picture;
    const models::PictureChange mirror{PictureStep::kMirror, {}};
    if (on) {
      const bool before_shift = !changes.empty() && changes.back().step == PictureStep::kShift;
      changes.insert(before_shift ? changes.end() - 1 : changes.end(), mirror);
    } else {
      std::erase(changes, mirror);
    }
    live_.make(changes);
  });
  layout()->addWidget(mirror_);
  line_ = make_named<QLineEdit>(
      this, "picture-line", QStringLiteral("Changes of the picture"),
      QStringLiteral(
          "Steps in their order, such as: shift 8 0; rotate 15. Steps are shift, rotate, scale, mirror, crop, "
          "occlude, blur, noise, brightness and border; lengths are in pixels, with p in patches, with % in "
          "percent"));
  line_->setPlaceholderText(QStringLiteral("shift 1p 0; occlude 10% 10% 30% 30%"));
  line_->setMinimumWidth(kLineLetters * fontMetrics().averageCharWidth());
  connect(line_, &QLineEdit::editingFinished, this, &PictureControls::read_line);
  layout()->addWidget(line_);
  reset_ = make_button<QToolButton>(this, "picture-reset", QStringLiteral("Reset"),
                                    QStringLiteral("The picture as it is in its file"));
  connect(reset_, &QToolButton::clicked, this, [this] { live_.make({}); });
  layout()->addWidget(reset_);
  connect_drag(picture);
  connect(&studio_, &Studio::input_changed, this, &PictureControls::show_changes);
  show_changes();
}

QDoubleSpinBox* PictureControls::add_number(const char* name, const QString& accessible, const QString& tip,
                                            PictureStep step, std::size_t index, double step_size) {
  const models::PictureStepNumber& form = models::picture_steps()[static_cast<std::size_t>(step)].numbers[index];
  auto* box = make_spin_box<QDoubleSpinBox>(this, name, accessible, form.low, form.high, form.initial, tip);
  constexpr int kDecimals = 3;
  box->setDecimals(kDecimals);
  box->setSingleStep(step_size);
  box->setKeyboardTracking(false);
  box->setMinimumWidth(0);
  numbers_.push_back({step, index, box});
  connect(box, &QDoubleSpinBox::valueChanged, this, [this, step, index](double value) {
    const models::PictureChanges& changes = studio_.input().picture;
    live_.make(with_number(changes, step, index, {value, number_of(changes, step, index).unit}));
  });
  layout()->addWidget(box);
  return box;
}

void PictureControls::connect_drag(PatchPicture& picture) {
  connect(&picture, &PatchPicture::drag_begun, this, [this] { live_.begin(); });
  connect(&picture, &PatchPicture::drag_ended, this, [this] { live_.end(); });
  connect(&picture, &PatchPicture::moved, this, [this](double right, double down) {
    // Along both sides in patches: a shift that was typed in pixels is followed by one.
    models::PictureChanges changes = live_.before();
    const bool patches = !changes.empty() && changes.back().step == PictureStep::kShift &&
                         changes.back().numbers[0].unit == LengthUnit::kPatches &&
                         changes.back().numbers[1].unit == LengthUnit::kPatches;
    if (!patches) {
      changes.push_back({PictureStep::kShift, {{{0, LengthUnit::kPatches}, {0, LengthUnit::kPatches}}}});
    }
    constexpr double kEighths = 8;
    const auto snapped = [](double value) { return std::round(value * kEighths) / kEighths; };
    auto& numbers = changes.back().numbers;
    numbers[0].value = snapped(numbers[0].value + right);
    numbers[1].value = snapped(numbers[1].value + down);
    if (numbers[0].value == 0 && numbers[1].value == 0) {
      changes.pop_back();
    }
    live_.show(changes);
  });
  connect(&picture, &PatchPicture::turned, this, [this](double degrees) {
    const double whole = std::round(number_of(live_.before(), PictureStep::kRotate).value + degrees);
    live_.show(with_number(live_.before(), PictureStep::kRotate, 0, {whole}));
  });
  connect(&picture, &PatchPicture::scaled, this, [this](double factor) {
    const models::PictureChanges& changes = studio_.input().picture;
    const double scale = std::round(1000 * number_of(changes, PictureStep::kScale).value * factor) / 1000;
    live_.make(with_number(changes, PictureStep::kScale, 0, {scale}));
  });
}

void PictureControls::read_line() {
  const auto changes = models::parse_picture_changes(line_->text().toStdString());
  if (!changes.ok()) {
    Q_EMIT failed(qt(changes.error().describe()));
    return;
  }
  if (*changes != studio_.input().picture) {
    live_.make(*changes);
  }
}

void PictureControls::show_changes() {
  const models::Input& input = studio_.input();
  const models::PictureChanges& changes = input.picture;
  for (const Number& number : numbers_) {
    const models::PictureNumber value = number_of(changes, number.step, number.index);
    const QSignalBlocker blocked(number.box);
    number.box->setValue(value.value);
    if (models::picture_steps()[static_cast<std::size_t>(number.step)].numbers[number.index].length) {
      number.box->setSuffix(suffix_of(value.unit));
    }
  }
  const bool mirrored = std::ranges::count(changes, models::PictureChange{PictureStep::kMirror, {}}) > 0;
  const QSignalBlocker blocked(mirror_);
  mirror_->setChecked(mirrored);
  if (!line_->hasFocus() || !line_->isModified()) {
    line_->setText(qt(models::to_text(changes)));
  }
  reset_->setEnabled(!changes.empty());
  setVisible(input.image || !input.images.empty());
}

}  // namespace locus::workbench

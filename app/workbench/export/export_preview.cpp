#include "app/workbench/export/export_preview.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QImage>
#include <QKeyEvent>
#include <QLabel>
#include <QPixmap>
#include <QPointer>
#include <QScreen>
#include <QScrollArea>
#include <QScrollBar>
#include <QVBoxLayout>
#include <QWheelEvent>
#include <algorithm>
#include <array>

#include "app/workbench/state/studio.h"
#include "app/workbench/widgets/build.h"
#include "app/workbench/widgets/qt_text.h"
#include "renderers/paper/paper.h"

namespace locus::workbench {

namespace {

constexpr const char* kPreviewSlot = "preview";  // of the worker
constexpr std::array kZooms = {0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0};
constexpr int kTrueSize = 1;                // of them
constexpr double kMaxShareOfScreen = 0.94;  // for the dialog and its frame
constexpr double kUsualDpi = 96;

// The dialog grows until the preview is seen whole, or the screen has no more room.
void show_whole(const QLabel& preview) {
  QWidget* dialog = preview.window();
  const QSize hidden = (preview.size() - preview.parentWidget()->size()).expandedTo({0, 0});
  const QRect screen = preview.screen()->availableGeometry();
  dialog->resize((dialog->size() + hidden).boundedTo(screen.size() * kMaxShareOfScreen));
  if (!screen.contains(dialog->geometry())) {
    dialog->move(screen.center() - dialog->rect().center());
  }
}

}  // namespace

ExportPreview::ExportPreview(Studio& studio, QWidget* parent) : QWidget(parent), studio_(studio) {
  auto* column = make_layout<QVBoxLayout>(this, 0);
  scroll_ = new QScrollArea(this);
  scroll_->setAccessibleName(QStringLiteral("Preview"));
  label_ = new QLabel(QStringLiteral("Drawing the preview …"), scroll_);
  label_->setTextFormat(Qt::PlainText);
  give_name(label_, "preview", QStringLiteral("The figure as it will be written"));
  label_->setAlignment(Qt::AlignCenter);
  scroll_->setWidget(label_);
  scroll_->setAlignment(Qt::AlignCenter);
  scroll_->setMinimumSize(420, 360);
  scroll_->viewport()->installEventFilter(this);
  scroll_->installEventFilter(this);
  column->addWidget(scroll_, 1);
  auto* line = new QHBoxLayout;
  zoom_ = make_named<QComboBox>(this, "preview-zoom", QStringLiteral("Zoom of the preview"),
                                QStringLiteral("Ctrl and the wheel, or Ctrl with + and −, do the same"));
  for (const double each : kZooms) {
    const QString percent = QStringLiteral("%1 %").arg(100 * each);
    zoom_->addItem(each == 1 ? percent + QStringLiteral(", the true size") : percent, each);
  }
  zoom_->setCurrentIndex(kTrueSize);
  auto* title = new QLabel(QStringLiteral("&Zoom"), this);
  title->setBuddy(zoom_);
  line->addWidget(title);
  line->addWidget(zoom_);
  line->addStretch(1);
  column->addLayout(line);
  connect(zoom_, &QComboBox::currentIndexChanged, this, &ExportPreview::draw);
}

double ExportPreview::zoom() const {
  return zoom_->currentData().toDouble();
}

void ExportPreview::show_figure(const figures::FigureJob& job, const session::PaperState& paper) {
  job_ = job;
  paper_ = paper;
  draw();
}

void ExportPreview::stop() {
  studio_.worker().drop(kPreviewSlot);
}

void ExportPreview::draw() {
  const double dots = screen()->physicalDotsPerInch();
  const double ratio = devicePixelRatioF();
  figures::FigureJob job = job_;
  job.recipe.paper = paper_;
  job.recipe.paper.dpi = (dots > 0 ? dots : kUsualDpi) * ratio * zoom();
  studio_.worker().submit<paper::Pixels>(
      Priority::kTile, kPreviewSlot, "Drawing the preview",
      [job = std::move(job)](const StopToken& stop, const Progress& /*progress*/) -> Result<paper::Pixels> {
        LOCUS_TRY(const figure::Figure figure, make_figure(job, "preview.png", stop));
        return paper::render(figure, paper_options(job));
      },
      [preview = QPointer<ExportPreview>(this), ratio](const Result<paper::Pixels>& pixels) {
        if (!preview) {
          return;
        }
        if (!pixels) {
          preview->label_->setText(qt(pixels.error().describe()));
          preview->label_->adjustSize();
          return;
        }
        const QImage image(pixels->rgba.data(), pixels->width, pixels->height, QImage::Format_RGBA8888);
        QPixmap picture = QPixmap::fromImage(image);
        picture.setDevicePixelRatio(ratio);
        preview->show_picture(picture);
      });
}

// Scrolls so that the point at `around_` stays in place.
void ExportPreview::show_picture(const QPixmap& picture) {
  const QSizeF before = label_->size();
  const QPoint moved = label_->pos();
  const QSize room = scroll_->viewport()->size();
  const QPointF at(around_.x() * room.width(), around_.y() * room.height());
  const QPointF share((at.x() - moved.x()) / before.width(), (at.y() - moved.y()) / before.height());
  label_->setPixmap(picture);
  label_->adjustSize();
  if (zoom() == 1) {
    show_whole(*label_);
    return;
  }
  scroll_->horizontalScrollBar()->setValue(static_cast<int>(share.x() * label_->width() - at.x()));
  scroll_->verticalScrollBar()->setValue(static_cast<int>(share.y() * label_->height() - at.y()));
}

void ExportPreview::step_zoom(int by, const QPointF& around) {
  around_ = around;
  zoom_->setCurrentIndex(std::clamp(zoom_->currentIndex() + by, 0, zoom_->count() - 1));
}

bool ExportPreview::eventFilter(QObject* object, QEvent* event) {
  if (event->type() == QEvent::Wheel && object == scroll_->viewport()) {
    const auto* wheel = static_cast<QWheelEvent*>(event);
    if (wheel->modifiers().testFlag(Qt::ControlModifier) && wheel->angleDelta().y() != 0) {
      const QSizeF room = scroll_->viewport()->size();
      step_zoom(wheel->angleDelta().y() > 0 ? 1 : -1,
                {wheel->position().x() / room.width(), wheel->position().y() / room.height()});
      return true;
    }
  }
  if (event->type() == QEvent::KeyPress) {
    const auto* key = static_cast<QKeyEvent*>(event);
    const bool nearer = key->key() == Qt::Key_Plus || key->key() == Qt::Key_Equal;
    if (key->modifiers().testFlag(Qt::ControlModifier) && (nearer || key->key() == Qt::Key_Minus)) {
      step_zoom(nearer ? 1 : -1, {0.5, 0.5});
      return true;
    }
  }
  return QWidget::eventFilter(object, event);
}

}  // namespace locus::workbench

// ExportPreview: the figure as it will be written, initially in true size; zoomed by the list below it, Ctrl and the
// wheel, or Ctrl with + and −. Every zoom draws it again, so that type and cells look as on paper.
#pragma once

#include <QPointF>
#include <QWidget>

#include "app/figures/figure_job.h"

class QComboBox;
class QLabel;
class QScrollArea;

namespace locus::workbench {

class Studio;

class ExportPreview : public QWidget {
  Q_OBJECT

 public:
  ExportPreview(Studio& studio, QWidget* parent);

  // Draws the job's figure on that paper; replaces a drawing under way.
  void show_figure(const figures::FigureJob& job, const session::PaperState& paper);
  // Stops drawing.
  void stop();
  double zoom() const;  // 1: true size

 protected:
  bool eventFilter(QObject* object, QEvent* event) override;

 private:
  void draw();
  void step_zoom(int by, const QPointF& around);
  void show_picture(const QPixmap& picture);

  Studio& studio_;
  figures::FigureJob job_;
  session::PaperState paper_;
  QScrollArea* scroll_ = nullptr;
  QLabel* label_ = nullptr;
  QComboBox* zoom_ = nullptr;
  QPointF around_{0.5, 0.5};  // centre of the visible part, fixed while the zoom changes
};

}  // namespace locus::workbench

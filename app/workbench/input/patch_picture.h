// PatchPicture: the image of the input with its patch grid, a tooltip for the patch under the pointer, and pinning by
// click. Dragging moves the image, with Shift turns it; the wheel with Ctrl scales it.
#pragma once

#include <QImage>
#include <QWidget>
#include <memory>
#include <optional>

#include "models/api/model.h"

namespace locus::workbench {

class PatchPicture : public QWidget {
  Q_OBJECT

 public:
  explicit PatchPicture(QWidget* parent);

  // Shows the file, until there is a run of it; the file that is shown already stays as it is.
  void set_file(const QString& path);
  // The reason why the file cannot be shown; empty: it can.
  const QString& error() const { return error_; }
  // Shows the image as the model received it, with its grid; null: the file.
  void set_trace(std::shared_ptr<const models::Trace> trace);
  void set_pinned(std::int64_t token);  // −1: none
  QSize sizeHint() const override;
  QSize minimumSizeHint() const override;

 Q_SIGNALS:
  void clicked(std::int64_t token);
  void drag_begun();
  // Between drag_begun() and drag_ended(), since it began: by so many patches; by so many degrees, clockwise.
  void moved(double right, double down);
  void turned(double degrees);
  void drag_ended();
  void scaled(double factor);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  bool event(QEvent* event) override;

 private:
  QRectF place() const;  // rectangle of the image
  std::optional<std::int64_t> token_at(const QPointF& point) const;

  QImage image_;
  QString file_;
  QString error_;
  std::shared_ptr<const models::Trace> trace_;
  std::int64_t pinned_ = -1;
  std::optional<QPointF> pressed_;
  bool dragged_ = false;
  bool turns_ = false;
};

}  // namespace locus::workbench

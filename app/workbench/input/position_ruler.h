// PositionRuler: the tokens of a run where their position ids put them, along a line of ids. A token is pulled to
// another place, with Shift it and all after it (a gap); tokens that were marked by pulling over the line beside them
// are pulled together. Of an image they are its patches, by row-major index. Those that stand elsewhere than the order
// of the tokens says are drawn one line higher. Keys: ← → choose a token, with Ctrl they move it by one, with Shift as
// well it and all after it.
#pragma once

#include <QAbstractScrollArea>
#include <memory>
#include <optional>
#include <vector>

#include "core/base/range.h"
#include "models/api/model.h"

namespace locus::workbench {

class PositionRuler : public QAbstractScrollArea {
  Q_OBJECT

 public:
  explicit PositionRuler(QWidget* parent);

  // `start` is the id of the first token where nothing is moved.
  void set_trace(std::shared_ptr<const models::Trace> trace, std::int64_t start);
  // Whether tokens can be pulled; otherwise why not, as its tooltip.
  void set_editable(bool editable, const QString& why = {});
  // Where token n is drawn now, in pixels of the viewport.
  QPoint place_of(std::int64_t token) const;

 Q_SIGNALS:
  void begun();
  // Since begun(): these tokens (of an image: patches), to ids `by` larger. Ends with ended().
  void moved(const locus::Range& tokens, double by);
  void ended();

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void focusInEvent(QFocusEvent* event) override;
  void focusOutEvent(QFocusEvent* event) override;
  bool viewportEvent(QEvent* event) override;
  QSize sizeHint() const override;
  QSize minimumSizeHint() const override { return sizeHint(); }

 private:
  void measure();
  void set_scale(double scale, int around);
  int line() const;  // height of one
  int x_of(double position) const;
  double position_at(int x) const;
  bool is_moved(std::size_t token) const;
  double step_within(double by) const;    // so that what is pulled keeps to ids that there are
  double place(std::size_t token) const;  // with what is being pulled
  QRect box_of(std::size_t token) const;
  QString text_of(std::size_t token) const;
  std::int64_t token_at(const QPoint& point) const;
  void paint_ids(QPainter& painter) const;
  void paint_trained(QPainter& painter) const;
  void paint_token(QPainter& painter, std::size_t token) const;
  void move_by_key(int by, bool with_rest);
  Range with_rest(std::int64_t token) const;

  std::shared_ptr<const models::Trace> trace_;
  std::int64_t start_ = 0;
  std::int64_t before_ = 0;  // tokens of an image that are no patches
  std::vector<double> places_;
  double low_ = 0;       // the smallest id that is shown
  double high_ = 1;      // the largest
  double scale_ = 16;    // pixels an id
  bool scaled_ = false;  // by the user
  bool editable_ = true;
  Range marked_;
  Range pulled_;
  double by_ = 0;
  std::optional<int> pull_from_;  // x
  std::optional<int> mark_from_;  // x
};

}  // namespace locus::workbench

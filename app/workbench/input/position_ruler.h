// PositionRuler: the tokens of a run at their position ids, along a line of ids. Dragging a token changes its id, with
// Shift also those of all later tokens (a gap); dragging over the line selects tokens that move together. For an image
// the tokens are its patches, by row-major index. Tokens whose id differs from their place in the order are drawn one
// line higher. Keys: ← → choose a token, with Ctrl they move it by one, with Ctrl+Shift it and all later ones.
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

  // `start`: id of the first token if nothing is moved.
  void set_trace(std::shared_ptr<const models::Trace> trace, std::int64_t start);
  // Whether tokens can be moved; otherwise the reason, shown as the tooltip.
  void set_editable(bool editable, const QString& why = {});
  // Where token n is drawn, in pixels of the viewport.
  QPoint place_of(std::int64_t token) const;

 Q_SIGNALS:
  void begun();
  // Between begun() and ended(): these tokens (of an image: patches) are moved to ids `by` larger.
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
  int line() const;  // height of a line
  int x_of(double position) const;
  double position_at(int x) const;
  bool is_moved(std::size_t token) const;
  double step_within(double by) const;    // limited so that moved tokens keep valid ids
  double place(std::size_t token) const;  // including the move under way
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
  std::int64_t before_ = 0;  // number of tokens before the patches of an image
  std::vector<double> places_;
  double low_ = 0;       // smallest shown id
  double high_ = 1;      // largest shown id
  double scale_ = 16;    // pixels per id
  bool scaled_ = false;  // by the user
  bool editable_ = true;
  Range marked_;
  Range pulled_;
  double by_ = 0;
  std::optional<int> pull_from_;  // x
  std::optional<int> mark_from_;  // x
};

}  // namespace locus::workbench

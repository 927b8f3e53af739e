// TokenStrip: the tokens of a run as chips, wrapped, with their position ids below where these do not simply count
// from 0; those beyond the trained length are underlined. The one under the pointer says what it is, a click pins it,
// and with the focus the arrow keys move the pinned one. A picture within the text is its thumbnail, which a click, or
// Enter on one of its cells, opens to its cells and folds again.
#pragma once

#include <QAbstractScrollArea>
#include <QImage>
#include <memory>
#include <set>
#include <vector>

#include "app/views/shared/plots/trained_length.h"
#include "app/workbench/input/token_chips.h"
#include "models/api/model.h"

namespace locus::workbench {

class TokenStrip : public QAbstractScrollArea {
  Q_OBJECT

 public:
  explicit TokenStrip(QWidget* parent);

  void set_trace(std::shared_ptr<const models::Trace> trace);
  void set_pinned(std::int64_t token);  // −1: none
  std::int64_t pinned() const { return pinned_; }
  std::int64_t pointed() const { return query_; }
  // Tokens that are pointed at elsewhere, framed; the query is scrolled to.
  void set_pointed(std::int64_t query, std::int64_t key);
  void set_show_ids(bool show);

 Q_SIGNALS:
  void clicked(std::int64_t token);
  void hovered(std::int64_t token);  // −1: none any more
  void chosen(std::int64_t token);   // by arrow keys, Home and End; −1 by Esc
  void menu_requested(std::int64_t token, const QPoint& global);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void contextMenuEvent(QContextMenuEvent* event) override;
  void changeEvent(QEvent* event) override;  // the font: rows have another height
  void focusInEvent(QFocusEvent* event) override;
  void focusOutEvent(QFocusEvent* event) override;
  bool viewportEvent(QEvent* event) override;

 private:
  void lay_out();
  QString text_of(std::size_t token) const;
  const TokenChip* chip_at(const QPoint& point) const;
  std::int64_t token_at(const QPoint& point) const;  // −1: none, and of a thumbnail
  int width_of(const TokenChip& chip) const;
  int picture_of(std::int64_t token) const;   // −1: it is no cell
  QString thumbnail_text(int picture) const;  // "4 × 4"
  QString thumbnail_help(int picture) const;
  // The part of its picture that a cell shows; null where it is not known.
  QImage cell_picture(std::int64_t token) const;
  void toggle_picture(int picture);
  void toggle_by_key();  // that of the pinned cell; without one all of them
  void paint_chip(QPainter& painter, const TokenChip& chip, const QRect& box) const;
  // A folded picture shows whether the pinned token or one that is pointed at is a cell of it.
  void paint_thumbnail(QPainter& painter, const TokenChip& chip, const QRect& box) const;
  void show_token(std::int64_t token);  // scrolls to it
  int row_height() const;
  QString position_of(std::size_t token) const;
  bool is_beyond(std::size_t token) const;

  std::shared_ptr<const models::Trace> trace_;
  TokenChips chips_;
  std::set<int> open_;            // pictures whose cells are shown
  std::vector<QImage> pictures_;  // of the trace's images(); null where one is not known
  std::int64_t pinned_ = -1;
  std::int64_t query_ = -1;  // pointed at
  std::int64_t key_ = -1;
  bool show_ids_ = false;
  bool show_positions_ = false;
  views::BeyondTrained beyond_;
};

}  // namespace locus::workbench

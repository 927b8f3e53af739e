// TokenStrip: the tokens of a run as wrapped chips, with their position ids below unless these count from 0; tokens
// beyond the trained length are underlined. A tooltip describes the token under the pointer, a click pins it, and arrow
// keys move the pin. Arcs above the rows show what one token reads, and what reads it. A picture in the text is a thumbnail; a click, or Enter on one of its cells, shows or hides its
// cells.
#pragma once

#include <QAbstractScrollArea>
#include <QImage>
#include <memory>
#include <set>
#include <vector>

#include "app/views/shared/plots/trained_length.h"
#include "app/workbench/input/token_chips.h"
#include "app/workbench/work/token_arcs.h"
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
  // Frames the tokens under the pointer elsewhere and scrolls to the query.
  void set_pointed(std::int64_t query, std::int64_t key);
  void set_show_ids(bool show);
  // Greys tokens of a run that another is about to replace.
  void set_old(bool old);
  bool is_old() const { return old_; }
  // Whether rows leave room above for arcs, in a strip that is higher than one row.
  void set_arc_room(bool room);
  bool has_arc_room() const { return arc_room_ > 0; }
  // Draws the arcs of a token; −1: none.
  void set_arcs(std::int64_t token, std::vector<ArcRow> rows);
  // "12 arcs hold 93 %"; empty: none are drawn.
  const QString& arcs_said() const { return arcs_said_; }
  std::size_t arcs_drawn() const;
  // The tokens in the rows that are seen.
  Range seen() const;

 Q_SIGNALS:
  void clicked(std::int64_t token);
  void hovered(std::int64_t token);  // −1: none any more
  void chosen(std::int64_t token);   // by arrow keys, Home and End; −1: Esc
  void menu_requested(std::int64_t token, const QPoint& global);
  void scrolled();  // other tokens are seen

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void contextMenuEvent(QContextMenuEvent* event) override;
  void changeEvent(QEvent* event) override;  // a new font changes the height of rows
  void focusInEvent(QFocusEvent* event) override;
  void focusOutEvent(QFocusEvent* event) override;
  bool viewportEvent(QEvent* event) override;

 private:
  void lay_out();
  QString text_of(std::size_t token) const;
  const TokenChip* chip_at(const QPoint& point) const;
  std::int64_t token_at(const QPoint& point) const;  // −1: none, or a thumbnail
  int width_of(const TokenChip& chip) const;
  int picture_of(std::int64_t token) const;   // −1: no cell of a picture
  QString thumbnail_text(int picture) const;  // "4 × 4"
  QString thumbnail_help(int picture) const;
  // The part of the picture in a cell; null: unknown.
  QImage cell_picture(std::int64_t token) const;
  void toggle_picture(int picture);
  void toggle_by_key();  // the picture of the pinned cell; without one, all pictures
  void paint_chip(QPainter& painter, const TokenChip& chip, const QRect& box) const;
  // Whether a folded picture contains the pinned token or the one under the pointer.
  void paint_thumbnail(QPainter& painter, const TokenChip& chip, const QRect& box) const;
  void show_token(std::int64_t token);  // scrolls to it
  int row_height() const;
  int row_step() const;        // from a row to the next
  int row_top(int row) const;  // of its chips, from the top of all rows
  void choose_arcs();
  void paint_arcs(QPainter& painter) const;
  void paint_arc(QPainter& painter, std::int64_t other, double width, const QColor& color) const;
  QString position_of(std::size_t token) const;
  bool is_beyond(std::size_t token) const;

  std::shared_ptr<const models::Trace> trace_;
  TokenChips chips_;
  std::set<int> open_;            // pictures whose cells are shown
  std::vector<QImage> pictures_;  // of the trace's images(); null: unknown
  std::int64_t pinned_ = -1;
  std::int64_t query_ = -1;  // under the pointer
  std::int64_t key_ = -1;
  bool show_ids_ = false;
  bool old_ = false;
  bool show_positions_ = false;
  views::BeyondTrained beyond_;
  bool wants_arcs_ = false;
  int arc_room_ = 0;  // above every row
  std::int64_t arcs_of_ = -1;
  std::vector<ArcRow> arc_rows_;
  std::vector<ChosenArcs> arcs_;  // of each of arc_rows_
  QString arcs_said_;
};

}  // namespace locus::workbench

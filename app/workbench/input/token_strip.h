// TokenStrip: the tokens of a run as chips, wrapped, with their position ids below where these do not simply count
// from 0; those beyond the trained length are underlined. The one under the pointer says what it is, a click pins it,
// and with the focus the arrow keys move the pinned one.
#pragma once

#include <QAbstractScrollArea>
#include <memory>
#include <vector>

#include "app/views/plots/trained_length.h"
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
  void focusInEvent(QFocusEvent* event) override;
  void focusOutEvent(QFocusEvent* event) override;
  bool viewportEvent(QEvent* event) override;

 private:
  struct Chip {
    int row = 0;
    int x = 0;
    int width = 0;
  };
  void lay_out();
  QString text_of(std::size_t token) const;
  std::int64_t token_at(const QPoint& point) const;
  std::int64_t in_row(int row, int x) const;  // the token of that row nearest to x
  void show_token(std::int64_t token);        // scrolls to it
  int row_height() const;
  QString position_of(std::size_t token) const;
  bool is_beyond(std::size_t token) const;

  std::shared_ptr<const models::Trace> trace_;
  std::vector<Chip> chips_;
  int rows_ = 0;
  std::int64_t pinned_ = -1;
  std::int64_t query_ = -1;  // pointed at
  std::int64_t key_ = -1;
  bool show_ids_ = false;
  bool show_positions_ = false;
  views::BeyondTrained beyond_;
};

}  // namespace locus::workbench

// ArcLink: shows in the token strip what the token under the pointer reads, and what reads it, as arcs; without one of
// the pinned token. The pointer may be on the strip, on the text or on the canvas. Off it asks for nothing.
#pragma once

#include <QObject>
#include <cstddef>

#include "app/workbench/state/studio.h"

class QPoint;

namespace locus::workbench {

class ExactEditor;
class TokenStrip;

class ArcLink : public QObject {
  Q_OBJECT

 public:
  ArcLink(Studio& studio, TokenStrip& strip, ExactEditor& editor, QObject* parent);

  bool is_on() const { return on_; }
  void set_on(bool on);
  // Chooses the column whose tokens the strip shows.
  void set_column(std::size_t column);

 protected:
  bool eventFilter(QObject* object, QEvent* event) override;

 private:
  void update();
  void point_at(const QPoint& place);

  Studio& studio_;
  TokenStrip& strip_;
  ExactEditor& editor_;
  std::size_t column_ = 0;
  bool on_ = false;
  bool points_ = false;  // the pointer is on the text
};

}  // namespace locus::workbench

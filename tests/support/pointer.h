// A fixture for tests of what the window says at the pointer.
#pragma once

#include <QTableWidget>
#include <string>
#include <variant>

#include "tests/support/window.h"

namespace locus::workbench {

// A window whose pointer, Shift and read-outs a test uses.
class PointerTest : public WindowTest {
 protected:
  void show(const std::string& view) {
    session::ViewState state = window_->studio().state();
    state.view = view;
    window_->studio().change(state);
    ASSERT_TRUE(settle());
  }
  void point_at(std::size_t panel, double key, double query) {
    figure::Hit hit;
    hit.panel = panel;
    hit.x = key + 0.5;
    hit.y = query + 0.5;
    Q_EMIT window_->canvas()->hovered(hit);
    ASSERT_TRUE(settle());
  }
  std::string lines() {
    std::string all;
    for (const std::string& line : window_->canvas()->content().tooltip.lines) {
      all += line + "\n";
    }
    return all;
  }
  bool says(const std::string& words) { return lines().find(words) != std::string::npos; }
  void shift(bool down) {
    QKeyEvent key(down ? QEvent::KeyPress : QEvent::KeyRelease, Qt::Key_Shift, Qt::ShiftModifier);
    QCoreApplication::sendEvent(window_->canvas(), &key);
    ASSERT_TRUE(settle());
  }
  const QTableWidget& cell() { return *window_->findChild<QTableWidget*>(QStringLiteral("cell")); }
  int row_named(const char* name) {
    for (int row = 0; row < cell().rowCount(); ++row) {
      if (cell().verticalHeaderItem(row)->text() == QLatin1String(name)) {
        return row;
      }
    }
    return -1;
  }
  double drawn(std::size_t panel, std::int64_t query, std::int64_t key) {
    const auto& figure = *window_->canvas()->content().figure;
    return static_cast<double>(std::get<figure::HeatMap>(figure.panels[panel].layers.front()).field->at(query, key));
  }
};

}  // namespace locus::workbench

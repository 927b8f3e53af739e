// How the main window looks: theme, scale, what is hidden, the layout of the last time.
#include <QApplication>
#include <QDockWidget>
#include <QMenuBar>
#include <QSettings>
#include <QStatusBar>
#include <algorithm>

#include "app/workbench/canvas_link.h"
#include "app/workbench/checkpoints_dock.h"
#include "app/workbench/figures_dock.h"
#include "app/workbench/input_dock.h"
#include "app/workbench/inspector_dock.h"
#include "app/workbench/main_window.h"
#include "app/workbench/preferences.h"
#include "app/workbench/theme.h"
#include "app/workbench/view_bar.h"

namespace locus::workbench {

void MainWindow::set_theme(bool dark) {
  dark_ = dark;
  apply_theme(*static_cast<QApplication*>(QApplication::instance()), dark);
  dark_action_->setChecked(dark);
  settings_->setValue(QStringLiteral("dark"), dark);
  if (link_ != nullptr) {
    link_->set_dark(dark);
  }
}

void MainWindow::set_scale(double scale) {
  scale_ = std::clamp(scale, 0.6, 3.0);
  QFont font = QApplication::font();
  font.setPointSizeF(10 * scale_);
  QApplication::setFont(font);
  settings_->setValue(QStringLiteral("scale"), scale_);
  if (link_ != nullptr) {
    link_->set_scale(scale_);
  }
}

void MainWindow::set_ui_hidden(bool hidden) {
  menuBar()->setVisible(!hidden);
  statusBar()->setVisible(!hidden);
  view_bar_->setVisible(!hidden);
  for (QDockWidget* dock : findChildren<QDockWidget*>()) {
    dock->setVisible(!hidden);
  }
}

void MainWindow::choose_preferences() {
  const Preferences now{models::runtime().threads, studio_->memory_limit_mb(), scale_, dark_};
  const auto wanted = ask_preferences(this, now);
  if (!wanted) {
    return;
  }
  if (wanted->threads != now.threads) {
    models::set_threads(wanted->threads);
    settings_->setValue(QStringLiteral("threads"), wanted->threads);
  }
  studio_->set_memory_limit_mb(wanted->memory_limit_mb);
  settings_->setValue(QStringLiteral("memory-limit-mb"), static_cast<qlonglong>(wanted->memory_limit_mb));
  set_scale(wanted->scale);
  set_theme(wanted->dark);
}

void MainWindow::restore_layout() {
  resize(1440, 900);
  resizeDocks({checkpoints_, inspector_}, {250, 272}, Qt::Horizontal);
  resizeDocks({input_}, {210}, Qt::Vertical);
  resizeDocks({figures_, checkpoints_}, {420, 300}, Qt::Vertical);
  restoreGeometry(settings_->value(QStringLiteral("geometry")).toByteArray());
  restoreState(settings_->value(QStringLiteral("layout")).toByteArray());
  set_theme(settings_->value(QStringLiteral("dark"), false).toBool());
  set_scale(settings_->value(QStringLiteral("scale"), 1.0).toDouble());
  if (const int threads = settings_->value(QStringLiteral("threads"), 0).toInt();
      threads > 0 && options_.threads == 0) {
    models::set_threads(threads);
  }
  if (options_.memory_limit_mb == 0) {
    studio_->set_memory_limit_mb(settings_->value(QStringLiteral("memory-limit-mb"), 0).toLongLong());
  }
}

}  // namespace locus::workbench

#include "app/workbench/window/preferences.h"

#include <QComboBox>
#include <QDialog>
#include <QDialogButtonBox>
#include <QFormLayout>
#include <QSettings>
#include <QSpinBox>
#include <QThread>
#include <cmath>
#include <optional>

#include "app/workbench/widgets/build.h"
#include "app/workbench/window/layout_controller.h"
#include "models/api/model.h"

namespace locus::workbench {

namespace {

constexpr int kMaxMegabytes = 1 << 20;
const QString kThreadsKey = QStringLiteral("threads");
const QString kMemoryKey = QStringLiteral("memory-limit-mb");

struct Preferences {
  int threads = 1;                   // for models
  std::int64_t memory_limit_mb = 0;  // for checkpoints opened from now on and their runs; 0: no limit
  double scale = 1;                  // of text and controls
  bool dark = false;
};

// Empty: the user cancelled.
std::optional<Preferences> ask_preferences(QWidget* parent, const Preferences& now) {
  QDialog dialog(parent);
  dialog.setObjectName(QStringLiteral("preferences"));
  dialog.setWindowTitle(QStringLiteral("Preferences"));
  auto* form = new QFormLayout(&dialog);
  auto* threads = make_spin_box<QSpinBox>(&dialog, "threads", QStringLiteral("Threads"), 1, QThread::idealThreadCount(),
                                          now.threads, QStringLiteral("Number of processor cores used by models"));
  auto* memory = make_spin_box<QSpinBox>(&dialog, "memory-limit", QStringLiteral("Memory limit"), 0, kMaxMegabytes,
                                         static_cast<int>(now.memory_limit_mb));
  memory->setToolTip(QStringLiteral("Limit for checkpoints opened from now on and their runs; 0: no limit"));
  memory->setSuffix(QStringLiteral(" MB"));
  memory->setSpecialValueText(QStringLiteral("no limit"));
  memory->setSingleStep(1024);
  auto* scale = make_spin_box<QSpinBox>(&dialog, "text-size", QStringLiteral("Text size"), 60, 300,
                                        static_cast<int>(std::lround(100 * now.scale)),
                                        QStringLiteral("Size of text and controls; Ctrl and + or −"));
  scale->setSuffix(QStringLiteral(" %"));
  scale->setSingleStep(10);
  auto* theme = make_named<QComboBox>(&dialog, "theme", QStringLiteral("Theme"));
  theme->addItems({QStringLiteral("light"), QStringLiteral("dark")});
  theme->setCurrentIndex(now.dark ? 1 : 0);
  form->addRow(QStringLiteral("&Threads"), threads);
  form->addRow(QStringLiteral("&Memory limit"), memory);
  form->addRow(QStringLiteral("Text &size"), scale);
  form->addRow(QStringLiteral("T&heme"), theme);
  form->addRow(make_answer_box(&dialog));
  if (dialog.exec() != QDialog::Accepted) {
    return std::nullopt;
  }
  return Preferences{threads->value(), memory->value(), scale->value() / 100.0, theme->currentIndex() == 1};
}

}  // namespace

void restore_preferences(const QSettings& settings, Columns& columns, const WorkbenchOptions& options) {
  if (const int threads = settings.value(kThreadsKey, 0).toInt(); threads > 0 && options.threads == 0) {
    models::set_threads(threads);
  }
  if (options.memory_limit_mb == 0) {
    columns.opener().set_memory_limit_mb(settings.value(kMemoryKey, 0).toLongLong());
  }
}

void choose_preferences(QWidget& window, QSettings& settings, Columns& columns, LayoutController& layout) {
  const Preferences now{models::runtime().threads, columns.opener().memory_limit_mb(), layout.scale(), layout.dark()};
  const auto wanted = ask_preferences(&window, now);
  if (!wanted) {
    return;
  }
  if (wanted->threads != now.threads) {
    models::set_threads(wanted->threads);
    settings.setValue(kThreadsKey, wanted->threads);
  }
  columns.opener().set_memory_limit_mb(wanted->memory_limit_mb);
  settings.setValue(kMemoryKey, static_cast<qlonglong>(wanted->memory_limit_mb));
  layout.set_scale(wanted->scale);
  layout.set_dark(wanted->dark);
}

}  // namespace locus::workbench

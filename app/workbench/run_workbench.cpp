#include <QApplication>
#include <QVulkanInstance>

#include "app/workbench/main_window.h"
#include "app/workbench/workbench.h"

namespace locus::workbench {

int run_workbench(int& argc, char** argv, const WorkbenchOptions& options) {
  QApplication application(argc, argv);
  QApplication::setApplicationName(QStringLiteral("Locus"));
  QApplication::setApplicationVersion(QStringLiteral(LOCUS_VERSION));
  QVulkanInstance vulkan;
  const bool drawn = vulkan.create();
  StudioOptions studio;
  studio.device = options.device;
  studio.memory_limit_mb = options.memory_limit_mb;
  MainWindow window(options, drawn ? &vulkan : nullptr, studio);
  window.show();
  window.open_first();
  return QApplication::exec();
}

}  // namespace locus::workbench

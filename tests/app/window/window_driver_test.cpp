// The program on a machine without a Vulkan driver.
#include <QProcess>
#include <csignal>

#include "tests/support/paths.h"
#include "tests/support/window.h"

namespace locus::workbench {
namespace {

class WindowDriver : public WindowTest {};

TEST_F(WindowDriver, OneLineSaysThatThereIsNone) {
  window_.reset();
  QProcessEnvironment without = QProcessEnvironment::systemEnvironment();
  for (const char* const name : {"VK_ICD_FILENAMES", "VK_DRIVER_FILES"}) {
    without.insert(QLatin1String(name), config_.path() + QStringLiteral("/no-such-driver.json"));
  }
  without.insert(QStringLiteral("XDG_RUNTIME_DIR"), config_.path());  // Qt remarks where it is not set
  QProcess program;
  program.setProcessEnvironment(without);
  program.start(QString::fromStdString(test::binary()), {QStringLiteral("--config-dir"), config_.path()});
  ASSERT_TRUE(program.waitForStarted());
  QByteArray said;
  EXPECT_TRUE(wait([&] {
    said += program.readAllStandardError();
    return said.endsWith('\n');
  })) << "the program says nothing";
  EXPECT_TRUE(said.startsWith("locus: warning: no Vulkan driver was found, so the window draws no figures"))
      << said.constData();
  EXPECT_EQ(said.count('\n'), 1) << said.constData();
  EXPECT_EQ(program.state(), QProcess::Running) << "the window is open";
  program.kill();
  program.waitForFinished();
}

}  // namespace
}  // namespace locus::workbench

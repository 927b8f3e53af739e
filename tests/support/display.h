// An X display of its own for windows: Xvfb, on a free number.
#pragma once

#include <QProcess>
#include <QStandardPaths>
#include <memory>

namespace locus::test {

// Starts Xvfb (Debian: xvfb) and makes it this process's DISPLAY; null without Xvfb, and DISPLAY stays what it was.
// Terminate it when the application is gone.
inline std::unique_ptr<QProcess> start_display(const QString& size = QStringLiteral("1600x1000x24")) {
#ifdef __SANITIZE_THREAD__
  if (!qEnvironmentVariableIsEmpty("DISPLAY")) {
    return nullptr;  // a process that Qt has started (clone with CLONE_VM) makes ThreadSanitizer blind to our locks
  }
#endif
  constexpr int kLimitMs = 60'000;
  const QString server = QStandardPaths::findExecutable(QStringLiteral("Xvfb"));
  if (server.isEmpty()) {
    return nullptr;
  }
  auto display = std::make_unique<QProcess>();
  // Xvfb chooses a free number and writes it to its standard output.
  display->start(server, {QStringLiteral("-displayfd"), QStringLiteral("1"), QStringLiteral("-screen"),
                          QStringLiteral("0"), size, QStringLiteral("-nolisten"), QStringLiteral("tcp")});
  QByteArray number;
  while (!number.endsWith('\n') && display->waitForReadyRead(kLimitMs)) {
    number += display->readAllStandardOutput();
  }
  if (!number.endsWith('\n')) {
    return nullptr;
  }
  qputenv("DISPLAY", ":" + number.trimmed());
  return display;
}

}  // namespace locus::test

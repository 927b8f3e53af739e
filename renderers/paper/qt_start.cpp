#include "renderers/paper/qt_start.h"

#include <QString>
#include <QtGlobal>
#include <cstdlib>
#include <utility>
#include <vector>

namespace locus::paper {

namespace {

struct Start {
  std::string what;
  std::string instead;
  QtStart::Fail fail;
  QtMessageHandler before = nullptr;
  std::vector<std::pair<QtMsgType, QString>> kept;
};

Start* the_start = nullptr;  // a message handler is a plain function: what it needs is reached here

// Qt's first word of it is the reason; the last says what might be installed.
std::string reason(const Start& start, const QString& last) {
  if (qEnvironmentVariableIsEmpty("QT_QPA_PLATFORM") && qEnvironmentVariableIsEmpty("DISPLAY") &&
      qEnvironmentVariableIsEmpty("WAYLAND_DISPLAY")) {
    return "there is no display (neither DISPLAY nor WAYLAND_DISPLAY is set)";
  }
  const QString said = start.kept.empty() ? last : start.kept.front().second;
  return said.section(QLatin1Char('\n'), 0, 0).trimmed().toStdString();
}

void keep_or_end(QtMsgType type, const QMessageLogContext& /*context*/, const QString& message) {
  Start& start = *the_start;
  if (type != QtFatalMsg) {
    start.kept.emplace_back(type, message);
    return;
  }
  std::_Exit(start.fail(unsupported(start.what + ": " + reason(start, message) + "; " + start.instead)));
}

}  // namespace

QtStart::QtStart(std::string what, std::string instead, Fail fail) {
  the_start = new Start{std::move(what), std::move(instead), std::move(fail), nullptr, {}};
  the_start->before = qInstallMessageHandler(keep_or_end);
}

QtStart::~QtStart() {
  qInstallMessageHandler(the_start->before);
  const Start* ended = std::exchange(the_start, nullptr);
  for (const auto& [type, message] : ended->kept) {
    qt_message_output(type, QMessageLogContext(), message);
  }
  delete ended;
}

}  // namespace locus::paper

// Converts UTF-8 strings to QString.
#pragma once

#include <QString>
#include <string>

namespace locus::workbench {

inline QString qt(const std::string& text) {
  return QString::fromStdString(text);
}

}  // namespace locus::workbench

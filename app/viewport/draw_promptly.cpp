#include "app/viewport/draw_promptly.h"

#include <QtGlobal>

namespace locus::viewport {

void draw_promptly() {
  constexpr const char* kDelay = "QT_QPA_UPDATE_IDLE_TIME";  // read once, at the first frame
  if (!qEnvironmentVariableIsSet(kDelay)) {
    qputenv(kDelay, "1");
  }
}

}  // namespace locus::viewport

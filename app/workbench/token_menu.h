// What can be done with a token of the input: copied, pinned, shown in the text.
#pragma once

#include <cstdint>

#include "models/model.h"

class QPoint;
class QWidget;

namespace locus::workbench {

class Studio;

// Pops up at `at`, on the screen, and goes when it is done.
void show_token_menu(Studio& studio, const models::Trace& trace, std::int64_t token, const QPoint& at, QWidget* parent);

}  // namespace locus::workbench

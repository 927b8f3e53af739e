// The context menu of a token of the input: copy, pin, show in the text.
#pragma once

#include <cstdint>

#include "app/views/shared/token.h"
#include "models/api/model.h"

class QPoint;
class QWidget;

namespace locus::workbench {

class Studio;

struct TokenPlace {
  views::Token token;       // by its place in the text, for all columns
  std::int64_t pinned = 0;  // index of the chosen query in this run; −1: none
};

// Shows the menu at `at` (screen coordinates). It deletes itself when closed.
void show_token_menu(Studio& studio, const models::Trace& trace, std::int64_t token, const TokenPlace& place,
                     const QPoint& at, QWidget* parent);

}  // namespace locus::workbench

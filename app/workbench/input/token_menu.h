// What can be done with a token of the input: copied, pinned, shown in the text.
#pragma once

#include <cstdint>

#include "app/views/shared/token.h"
#include "models/api/model.h"

class QPoint;
class QWidget;

namespace locus::workbench {

class Studio;

struct TokenPlace {
  views::Token token;       // as all columns know it
  std::int64_t pinned = 0;  // the run's own token that is the chosen query; −1: none
};

// The menu of one token of a run: pops up at `at`, in screen coordinates, and deletes itself when it closes.
void show_token_menu(Studio& studio, const models::Trace& trace, std::int64_t token, const TokenPlace& place,
                     const QPoint& at, QWidget* parent);

}  // namespace locus::workbench

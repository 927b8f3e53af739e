// Preferences: what the user sets once for this machine.
#pragma once

#include <cstdint>
#include <optional>

class QWidget;

namespace locus::workbench {

struct Preferences {
  int threads = 1;                   // for models
  std::int64_t memory_limit_mb = 0;  // of checkpoints opened from now on and their runs; 0: what the machine has
  double scale = 1;                  // of text and controls
  bool dark = false;
};

// Empty when the user thought better of it.
std::optional<Preferences> ask_preferences(QWidget* parent, const Preferences& now);

}  // namespace locus::workbench

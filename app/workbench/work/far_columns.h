// Columns whose checkpoint or trace is on another machine.
#pragma once

#include <memory>

#include "app/workbench/work/checkpoint_list.h"
#include "models/api/machine.h"

namespace locus::workbench {

// The line that a column's model, or what it shows, needs; null: none.
std::shared_ptr<const models::Machine> machine_of(const Checkpoint& checkpoint);

// Whether it is lost: what is shown stays, what is asked fails.
bool is_cut_off(const Checkpoint& checkpoint);

}  // namespace locus::workbench

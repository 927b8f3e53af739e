#include "app/workbench/work/far_columns.h"

namespace locus::workbench {

std::shared_ptr<const models::Machine> machine_of(const Checkpoint& checkpoint) {
  return checkpoint.model   ? models::machine_of(*checkpoint.model)
         : checkpoint.trace ? models::machine_of(*checkpoint.trace)
                            : nullptr;
}

bool is_cut_off(const Checkpoint& checkpoint) {
  const auto machine = machine_of(checkpoint);
  return machine && machine->lost();
}

}  // namespace locus::workbench

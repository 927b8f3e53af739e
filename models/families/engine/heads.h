// Output heads: whether a checkpoint has the head that its family's table describes, and heads of other tasks beside it.
#pragma once

#include "models/families/engine/family.h"

namespace locus::families {

// Decides on the head of a plan by the tensors that the file holds, for all families:
// - A stored head that differs from the embedding is used although the configuration ties them; a warning names it.
// - A file without an output head, or whose `architectures` names only classes without one, has the states as its
//   outcome. A file whose class has a head is damaged instead: the missing tensors are named when weights are bound.
// - Heads of other tasks (classifiers, poolers, value heads) are listed in Plan::task_heads and not unexpected.
void settle_head(const CheckpointFiles& checkpoint, Plan& plan);

// Makes the states the outcome whatever the file holds; tensors of the head are not unexpected.
void leave_out_head(const CheckpointFiles& checkpoint, Plan& plan);

// Lists tensors whose names begin with one of these components, also behind "module.", as parts that nothing reads: the
// decoder of a masked autoencoder, the neck of a depth estimator.
void leave_out_parts(const CheckpointFiles& checkpoint, const std::vector<std::string_view>& parts, Plan& plan);

// Whether tensors with this component in their names belong to the head of another task: "classifier".
bool is_task_head(std::string_view component);

}  // namespace locus::families

// The fused form of attend_streaming() for one query of each head, as a further token has: scores of a head lie side by
// side, and each key and value is read once for the heads that share it.
#pragma once

#include <optional>

#include "core/attention/attend.h"

namespace locus::attention {

// The query `row` of every head, whose scores are dot products: scale·q·k. Nothing where it does not apply: tensors of
// another device or type than float32 on the CPU, vectors whose numbers do not lie side by side, state_values, a query
// that sees no key. Precondition: the mask is not scattered.
std::optional<Attended> attend_one_query(const Attention& attention, std::int64_t row);

}  // namespace locus::attention

// The fused form of attend_streaming(): 64 queries × 64 keys at a time in cache, from product to soft-max to values.
#pragma once

#include <optional>

#include "core/attention/attend.h"

namespace locus::attention {

// Nothing where it does not apply: an encoding whose scores only score() knows, hard attention, another device or type,
// block sizes that were asked for. Errors: kCancelled.
std::optional<Result<Attended>> attend_fused(const Attention& attention, const StreamingOptions& options);

}  // namespace locus::attention

// What a long run will take, told from short ones.
#pragma once

#include <cstdint>

#include "core/base/progress.h"
#include "models/model.h"

namespace locus::models {

// estimate(), whose memory includes the weights and whose time comes from runs over a few hundred tokens of this very
// model, where a run over `length` tokens may be long: products and attention have a rate each, and encodings that add
// more to a score than a product have one that no other measurement tells. Takes a few hundredths of the run's time.
// Where the short runs fail, and where most of the run is taken over from another, estimate()'s own time stands.
Estimate timed_estimate(const Model& model, std::int64_t length, const RunOptions& options, const StopToken& stop = {});

// The time of a run over `length` tokens when `first` and `second` tokens took so many milliseconds: the part that
// grows with the tokens and the part of attention, each scaled by model.macs().
double extrapolated_ms(const Model& model, std::int64_t length, std::int64_t first, double first_ms,
                       std::int64_t second, double second_ms);

}  // namespace locus::models

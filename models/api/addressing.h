// How much of a run's logits is the place of a key, how much its word, and how much both at once; for views and the
// command line. What each number means stands in core/analysis/addressing.h.
//
// Errors of every function: kUnsupported for traces without queries and keys, for layers whose run was edited, and for
// encodings that are part of their keys' content; kBadInput for a layer, head or query that does not exist; kCancelled.
#pragma once

#include <cstdint>
#include <vector>

#include "core/analysis/addressing.h"
#include "core/base/progress.h"
#include "core/base/result.h"
#include "models/api/model.h"

namespace locus::models {

// One entry per layer; one that cannot be split has no heads. Errors: those of the first layer where none can be.
Result<std::vector<analysis::LayerAddressing>> addressing(const Trace& trace,
                                                          const analysis::AddressingOptions& options = {},
                                                          StopToken stop = {}, const Progress& progress = {});

Result<analysis::AddressingSpectrum> addressing_spectrum(const Trace& trace, std::int64_t layer, std::int64_t head,
                                                         const analysis::AddressingOptions& options = {},
                                                         StopToken stop = {});

Result<analysis::AddressingRow> addressing_row(const Trace& trace, std::int64_t layer, std::int64_t head,
                                               std::int64_t query, const analysis::AddressingOptions& options = {},
                                               StopToken stop = {});

// As addressing(): one entry per layer, with one per head or none.
Result<std::vector<std::vector<analysis::SwapScores>>> swap_scores(const Trace& trace, double temperature,
                                                                   const analysis::AddressingOptions& options = {},
                                                                   StopToken stop = {}, const Progress& progress = {});

}  // namespace locus::models

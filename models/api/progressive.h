// Progressive: overviews of a trace's maps that appear at once, from sampled cells, and become exact band by band. No
// ATen type appears here.
#pragma once

#include <cstdint>

#include "models/api/model.h"

namespace locus::models {

class Progressive {
 public:
  virtual ~Progressive() = default;
  // One exact cell for each pixel of Trace::overview(): show it as sampled. Errors: kUnsupported where single cells
  // cannot be had sooner than all of them (stored maps; CoPE with a network or Shaw's term); those of overview().
  virtual Result<Field> preview(const MapRequest& request, std::int64_t height, std::int64_t width,
                                StopToken stop = {}) const = 0;
  // The pixel rows `band` (empty: all) of Trace::overview(): (|band|, width). Errors: those of overview(); kBadInput
  // for a band that is not within its rows; kCancelled.
  virtual Result<Field> overview_band(const MapRequest& request, std::int64_t height, std::int64_t width,
                                      Reduction reduction, Range band, StopToken stop = {}) const = 0;
};

}  // namespace locus::models

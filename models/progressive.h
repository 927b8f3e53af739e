// Progressive: overviews of a trace's maps that appear at once, from sampled cells, and become exact row by row. No
// ATen type appears here.
#pragma once

#include <cstdint>
#include <functional>

#include "models/model.h"

namespace locus::models {

class Progressive {
 public:
  // Pixel rows [0, exact_rows) of `field` are exact, the others sampled. Called on the thread that asked.
  using Update = std::function<void(const Field& field, std::int64_t exact_rows)>;

  virtual ~Progressive() = default;
  // One exact cell for each pixel of Trace::overview(): show it as sampled. Errors: kUnsupported where single cells
  // cannot be had sooner than all of them (stored maps; CoPE with a network or Shaw's term); those of overview().
  virtual Result<Field> preview(const MapRequest& request, std::int64_t height, std::int64_t width,
                                StopToken stop = {}) const = 0;
  // Trace::overview(), with an update after each band of rows. Errors: those of overview(); kCancelled between blocks.
  virtual Result<Field> refine(const MapRequest& request, std::int64_t height, std::int64_t width, Reduction reduction,
                               const Update& update, StopToken stop = {}) const = 0;
};

// That side of a trace; null where it has none.
inline const Progressive* progressive(const Trace& trace) {
  return dynamic_cast<const Progressive*>(&trace);
}

}  // namespace locus::models

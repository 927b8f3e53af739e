// Distances within a token strip, in pixels.
#pragma once

namespace locus::workbench {

inline constexpr int kChipPadding = 3;  // within a chip
inline constexpr int kChipGap = 2;      // between chips
inline constexpr int kStripMargin = 4;  // around all of them

}  // namespace locus::workbench

// Distances within a token strip, in pixels.
#pragma once

namespace locus::workbench {

inline constexpr int kChipPadding = 3;  // within a chip
inline constexpr int kChipGap = 3;      // between chips
inline constexpr int kStripMargin =
    3;  // around all of them; no more than a gap, in which nothing of other rows is seen

}  // namespace locus::workbench

// Reduction of a map's cells to one pixel's value.
#pragma once

namespace locus {

// kMean leaves hidden cells out. The shaders of maps know them by number.
enum class Reduction { kMean, kMax };

}  // namespace locus

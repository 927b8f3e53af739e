// What the 16 numbers of four bits stand for in the formats that have a table (block_formats.h).
#pragma once

#include <array>

namespace locus::blocks {

constexpr std::array<int, 16> kNormalSteps{-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
// Twice the numbers.
constexpr std::array<int, 16> kFourBitFloats{0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

}  // namespace locus::blocks

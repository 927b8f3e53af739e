// The published colours behind colormap.h; see colormap_tables.cpp for their authors and licences.
#pragma once

#include <array>
#include <cstdint>

namespace locus::figure {

extern const std::array<std::uint32_t, 256> kViridis;
extern const std::array<std::uint32_t, 256> kMagma;
extern const std::array<std::uint32_t, 256> kCividis;
extern const std::array<std::uint32_t, 256> kVik;
extern const std::array<std::uint32_t, 256> kRdBu;

}  // namespace locus::figure

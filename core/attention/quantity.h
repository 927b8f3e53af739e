// What a score cell can hold, and how cells are reduced; no ATen, so that headers above the mathematics can name them.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/range.h"
#include "core/base/reduction.h"

namespace locus::attention {

// weight: after the soft-max. logit: before. content: the logit without the encoding's part, as its description says.
// contribution: logit − content. gate, position: CoPE's g_ij and p_ij. c2p, p2c: DeBERTa's parts of the contribution,
// the query's content with the relative position and the key's.
enum class Quantity { kWeight, kLogit, kContent, kContribution, kGate, kPosition, kC2p, kP2c };

// "attention weight", "logit", … as a colour bar says it.
std::string describe(Quantity quantity);

// Pixel p of `count` covers the cells ⌊p·size/count⌋ … ⌊(p+1)·size/count⌋ − 1 of a range; count ≤ size.
struct Pixels {
  Range cells;
  std::int64_t count = 1;

  std::int64_t begin(std::int64_t pixel) const { return cells.begin + pixel * cells.size() / count; }
  // The pixel that covers a cell.
  std::int64_t of(std::int64_t cell) const { return ((cell - cells.begin + 1) * count - 1) / cells.size(); }
};

constexpr std::int64_t kMeanHead = -1;

}  // namespace locus::attention

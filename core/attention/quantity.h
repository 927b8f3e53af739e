// What a score cell can hold, and how cells are reduced; no ATen, so that headers above the mathematics can name them.
#pragma once

#include <cstdint>
#include <string>

namespace locus::attention {

// weight: after the soft-max. logit: before. content: the logit without the encoding's part, as its description says.
// contribution: logit − content. gate, position: CoPE's g_ij and p_ij.
enum class Quantity { kWeight, kLogit, kContent, kContribution, kGate, kPosition };

// "attention weight", "logit", … as a colour bar says it.
std::string describe(Quantity quantity);

enum class Reduction { kMean, kMax };

constexpr std::int64_t kMeanHead = -1;

}  // namespace locus::attention

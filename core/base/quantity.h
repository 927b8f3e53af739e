// Quantity: what a cell of a score map holds.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "core/base/result.h"

namespace locus {

// weight: after the soft-max. logit: before. content: the logit without the encoding's part, as its description says.
// contribution: logit − content. gate, position: CoPE's g_ij and p_ij. c2p, p2c: DeBERTa's parts of the contribution,
// the query's content with the relative position and the key's. implied: of a layer without a soft-max, the signed matrix
// M with y_i = Σ_j M_ij v_j; its weight is |M_ij| / Σ_j |M_ij|, its content M without decay.
// deviation, carried: PaTH's ‖P_ij − I‖_F of what stands between key and query, and the cosine of the key behind it with
// the key as it was.
enum class Quantity {
  kWeight,
  kLogit,
  kContent,
  kContribution,
  kGate,
  kPosition,
  kC2p,
  kP2c,
  kImplied,
  kDeviation,
  kCarried
};

inline constexpr std::array kQuantities{Quantity::kWeight,       Quantity::kLogit,  Quantity::kContent,
                                        Quantity::kContribution, Quantity::kGate,   Quantity::kPosition,
                                        Quantity::kC2p,          Quantity::kP2c,    Quantity::kImplied,
                                        Quantity::kDeviation,    Quantity::kCarried};

// "weight", "logit", …: its name in files and commands; and back. Errors: kUsage for an unknown name, with the known
// ones.
std::string to_text(Quantity quantity);
Result<Quantity> parse_quantity(const std::string& name);

// "attention weight", "logit", …: as a sentence says it.
std::string describe(Quantity quantity);

constexpr std::int64_t kMeanHead = -1;  // as a head: the mean over all heads, of weights alone

}  // namespace locus

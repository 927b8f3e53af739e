// Rotary pairs of channels: how strong each is, its part of a cell's logit, of the mean logit at a
// distance, and how its queries and keys lie in its plane. For the views pair-energy, pair-scores, pair-profile and
// pair-plane.
//
// A row is a pair, numbered as the encoding numbers them, 0 … M−1; behind the last one stands the rest, the channels of
// a partial rotation that do not turn, where there are any. TAPA has two rows, the amplitude and what the cosine takes
// from it. q and k are those the score sees; parts include the attention's scale, and sum to the logit before a soft
// cap. Key heads count for every query head of their group.
//
// Letters: H query heads, T tokens, M pairs, δ = p_i − p_j the difference of positions, Δ = i − j; θ a pair's angle a
// step, 2π/θ its wavelength.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/field.h"
#include "core/base/numbers.h"
#include "core/base/progress.h"
#include "core/base/result.h"

namespace locus::attention {
class ComputedScores;
struct Mask;
}  // namespace locus::attention

namespace locus::analysis {

// One layer of a run.
struct PairSource {
  const attention::ComputedScores& scores;
  const attention::Mask& mask;
};

struct PairRow {
  std::string name;       // "4", "x2", "h5" (M-RoPE: pair 5, turned by the row), "rest", "amplitude"
  double wavelength = 0;  // tokens, patches or cells a turn; ∞ for the rest, NaN where no angle belongs to it
};

struct PairList {
  std::vector<PairRow> rows;  // M, and the rest
  std::int64_t pairs = 0;     // M
  double magnitude = 1;       // of cos and sin (YaRN): parts hold its square
  double span = 0;            // a text in tokens, the longer side of an image or picture: longer waves complete no turn
  bool planes = false;        // pairs are planes of two channels
  bool grid = false;          // of an image, or of a picture in a text: distances are between its patches, or cells
  std::string unit = "token";  // of distances: token, patch, cell

  bool has_rest() const { return static_cast<std::int64_t>(rows.size()) > pairs; }
};

// Errors, of every function here: kUnsupported for an encoding without pairs, saying what it does instead; kBadInput
// for a head, token or pair that does not exist; kCancelled.
Result<PairList> pair_list(const PairSource& source, std::int64_t head);

enum class PairNorm { kQuery, kKey, kProduct };

// (H, M[+1]) means over all tokens t of ‖q_t^m‖, of ‖k_t^m‖, or of their product, without the attention's scale. Reads
// q and k once.
Result<Field> pair_energy(const PairSource& source, PairNorm norm, StopToken stop = {});
// All three in one pass, by PairNorm.
using PairEnergies = std::array<Field, 3>;
Result<PairEnergies> pair_energies(const PairSource& source, StopToken stop = {});

// One cell's logit, part by part.
struct CellParts {
  std::vector<double> parts;  // (M[+1])
  double logit = 0;           // their sum
  // (M[+1], n) what the same query and key would give at other distances; empty where no distance tells it (a state
  // that the text has changed, images, positions that do not count evenly).
  Field elsewhere;
};
Result<CellParts> pair_parts(const PairSource& source, std::int64_t head, std::int64_t query, std::int64_t key,
                             const std::vector<double>& distances = {});

// Every visible cell's parts, averaged by distance; see pair_profile().
struct PairProfile {
  PairList pairs;
  Field parts;                  // (M[+1], distances) float32; NaN where no cell is
  std::vector<double> count;    // visible cells at a distance
  std::vector<double> logit;    // their mean logit: the sum of the parts
  std::vector<double> carrier;  // the part of the mean query and the mean key alone; empty where it has no meaning
  // 1 − Σ n(Δ)(logit − carrier)² / Σ n(Δ)(logit − its mean)², n the count: 1 where the head is position alone, below 0
  // where the carrier is worse than a constant; NaN without a carrier.
  double explained = 0;
  // (M[+1]) a row's share of the variance of the mean logit over distance: cov(part, logit)/var(logit), cells counted
  // alike. They sum to 1; a part that works against the others has a negative one.
  std::vector<double> share;
  double still_share = 0;  // of the pairs that never complete a turn over the text, together; NaN without wavelengths
};

// One head. Distances of a text are Δ = 0 … T−1, |Δ| where queries see both ways; of an image the distances between two
// patches, rounded to whole ones, tokens without position left out. With M-RoPE, whose distances are vectors, those
// between two cells of the text's largest picture, alike. Sums over all cells, by correlation: O(M·T log T)
// time and O(T) memory, no (T, T) map; TAPA's phase goes through all cells in blocks. The carrier turns the mean
// unrotated query and key (of all tokens with a position) by each distance. The first `skip_keys` keys of a text, where
// many heads have a sink, are left out of cells and mean key:
//   scale · Σ_m magnitude²·e^{δ·decay_m} · Re( q̄^m conj(k̄^m) e^{ιδθ_m} ) + the rest's product
Result<PairProfile> pair_profile(const PairSource& source, std::int64_t head, std::int64_t skip_keys = 0,
                                 StopToken stop = {}, const Progress& progress = {});

// One pair's plane: (T) complex numbers each.
struct PairPlane {
  struct Points {
    std::vector<float> real, imaginary;
  };
  Points query, key;                // before the rotation
  Points turned_query, turned_key;  // as the score sees them
  double query_concentration = 0;   // |mean of q/|q|| of the unrotated: 1 where all point one way, 0 where all ways
  double key_concentration = 0;     // alike
};
// Errors: kUnsupported where the pair is no plane (the rest, TAPA, other blocks of TAPE, a trace of TAPE that does not
// hold its unrotated queries and keys).
Result<PairPlane> pair_plane(const PairSource& source, std::int64_t head, std::int64_t pair);

// Shares of Σ e_m over the pairs that turn, by energies (H, M[+1]): of the fastest and of the slowest quarter of these
// pairs, ordered by wavelength. NaN with fewer than four such pairs.
struct PairQuarters {
  double fastest = kNaN;
  double slowest = kNaN;
};
PairQuarters pair_quarters(const PairList& pairs, const Field& energy, std::int64_t head);

// One number per head for what its frequencies do.
struct PairStatistics {
  // exp(Σ e_m ln λ_m / Σ e_m), λ_m the wavelength and e_m the mean of ‖q^m‖·‖k^m‖: the wavelength around which its
  // energy lies, in tokens.
  double centroid = 0;
  double explained = 0;      // PairProfile::explained
  double still_share = 0;    // PairProfile::still_share
  double concentration = 0;  // of queries times of keys, in the pair of the largest e_m
  double fastest = 0;        // PairQuarters of e_m
  double slowest = 0;
};
// One entry per head; NaN where a number has no meaning.
Result<std::vector<PairStatistics>> pair_statistics(const PairSource& source, StopToken stop = {});

}  // namespace locus::analysis

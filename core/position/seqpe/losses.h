// The two losses that shape SeqPE's embeddings, and the positions they are taken at (Li et al. 2025, §3.3, §3.4, App.
// A):
//   L = L_main + α·L_δ + β·L_OOD, α = β = 0.1                                  Eq. 15
// L_δ makes near positions alike, L_OOD makes shifted ones look like trained ones. Positions are (…, n) int64, n = 1 or
// 2; P pivots, m candidates, G groups, d embedding width.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <random>
#include <vector>

namespace locus::position {

// The candidate nearest to its pivot by squared Euclidean distance, the first of equals: (P, n), (P, m, n) -> (P)
// int64.
at::Tensor seqpe_nearest(const at::Tensor& pivots, const at::Tensor& candidates);

// L_δ (Eq. 9): mean over pivots of −log softmax over raw dot products, at the nearest candidate.
// pivots (P, d), candidates (P, m, d), labels (P) int64.
at::Tensor seqpe_distance_loss(const at::Tensor& pivots, const at::Tensor& candidates, const at::Tensor& labels);

// How candidates are drawn (App. A.2). Precondition: limit^dimensions > candidates, limit ≤ base^digits.
struct SeqpeSampling {
  std::int64_t limit = 20000;  // L_max: positions are below it, in every dimension
  std::int64_t dimensions = 1;
  std::int64_t base = 10;
  std::int64_t candidates = 32;  // m
  std::int64_t window = 256;     // the local range holds max(window, m) positions, in 2-D a square of about as many
  double local_share = 0.6;      // of the pivots; the others' candidates are global (the authors' code)
  double digit_edits = 0.25;     // of a global set: the pivot with digits swapped, removed, added or replaced
};

struct SeqpeDistances {
  at::Tensor pivots;      // (P, n)
  at::Tensor candidates;  // (P, m, n), distinct, never the pivot
  at::Tensor labels;      // (P)
};

// `pivots` positions anywhere below the limit. A global set's edited positions are farther than its nearest one, so
// that alike digits are always the wrong answer.
SeqpeDistances sample_distances(const SeqpeSampling& sampling, std::int64_t pivots, std::mt19937_64& random);

enum class SeqpeTransfer {
  kPaper,  // Eq. 10: KL(P‖S), summed over a row, mean over rows, heads and groups; the teacher P carries no gradient
  kCode,   // KL(P‖S) + KL(S‖P), mean over all elements, as the authors' code
};

// L_OOD of teacher and student embeddings (G, m, d), each split into heads, P and S the soft-max of a group's dot
// products. kCode: `student_share` 1 detaches the teacher; below 1, that share of the loss trains the student and the
// rest the teacher. kPaper ignores it.
at::Tensor seqpe_transfer_loss(const at::Tensor& teacher, const at::Tensor& student, std::int64_t heads,
                               SeqpeTransfer form, double student_share = 1.0);

struct SeqpeShifted {
  at::Tensor teacher;  // (G, m, n) distinct positions of the trained range
  at::Tensor student;  // the same, every group moved by its own z
};

// Positions for L_OOD: `trained` is the length a dimension, z is drawn so that the moved range stays below the limit.
// Precondition: the trained range holds at least m positions; trained < limit.
SeqpeShifted sample_shifted(const SeqpeSampling& sampling, std::int64_t trained, std::int64_t groups,
                            std::mt19937_64& random);

// App. A.5: with probability `share` a start z in [0, limit − length) for a training sequence, else 0.
std::int64_t random_start(std::int64_t length, std::int64_t limit, double share, std::mt19937_64& random);

}  // namespace locus::position

// Seqpe's own losses and the positions it is trained at.
#include <algorithm>
#include <cmath>

#include "core/position/seqpe/seqpe.h"

namespace locus::position {

SeqpeSampling Seqpe::sampling() const {
  SeqpeSampling sampling;
  sampling.limit = options_.training.longest;
  sampling.dimensions = options_.encoder.dimensions;
  sampling.base = options_.encoder.base;
  sampling.candidates = options_.training.candidates;
  return sampling;
}

std::int64_t Seqpe::trained_side() const {
  if (options_.encoder.dimensions == 1) {
    return shape_.trained_length;
  }
  // Class and register tokens are few: the patches are the largest square below.
  return static_cast<std::int64_t>(std::sqrt(static_cast<double>(shape_.trained_length)));
}

Result<std::vector<TrainingPositions>> Seqpe::training_positions(const Positions& natural, std::int64_t sequences,
                                                                 std::uint64_t seed) const {
  LOCUS_CHECK(accepts(natural));
  std::mt19937_64 random(seed);
  std::int64_t shifted = 0;
  for (std::int64_t n = 0; n < sequences; ++n) {
    shifted += static_cast<double>(random() >> 11) * 0x1p-53 < options_.training.shift ? 1 : 0;
  }
  at::Tensor moved = natural.ids.clone();
  for (std::int64_t axis = 0; axis < natural.dimensions(); ++axis) {
    const at::Tensor ids = natural.dimensions() == 1 ? moved : moved.select(1, axis);
    const at::Tensor own = ids.slice(0, natural.prefix);
    const std::int64_t length = own.numel() > 0 ? static_cast<std::int64_t>(own.max().item<double>()) + 1 : 0;
    own.add_(static_cast<double>(random_start(length, options_.training.longest, 1, random)));
  }
  std::vector<TrainingPositions> groups;
  if (shifted < sequences) {
    groups.push_back({natural, sequences - shifted});
  }
  if (shifted > 0) {
    groups.push_back({{moved, natural.prefix}, shifted});
  }
  return groups;
}

at::Tensor Seqpe::training_loss(std::uint64_t seed) const {
  const SeqpeTraining& training = options_.training;
  SeqpeSampling draws = sampling();
  const double all = std::pow(static_cast<double>(draws.limit), static_cast<double>(draws.dimensions));
  std::mt19937_64 random(seed);
  at::Tensor loss;
  if (training.distance_loss > 0 && all > static_cast<double>(draws.candidates)) {
    const SeqpeDistances distances = sample_distances(draws, training.loss_batch, random);
    const at::Tensor embedded = encoder_.encode(at::cat({distances.pivots, distances.candidates.flatten(0, 1)}));
    loss = seqpe_distance_loss(embedded.slice(0, 0, training.loss_batch),
                               embedded.slice(0, training.loss_batch).view({training.loss_batch, draws.candidates, -1}),
                               distances.labels.to(embedded.device())) *
           training.distance_loss;
  }
  const std::int64_t trained = trained_side();
  if (training.transfer_loss > 0 && trained > 0 && trained < draws.limit) {
    draws.candidates = std::min(draws.candidates, draws.dimensions == 2 ? trained * trained : trained);
    const SeqpeShifted shifted = sample_shifted(draws, trained, training.loss_batch, random);
    const at::Tensor embedded = encoder_.encode(at::cat({shifted.teacher.flatten(0, 1), shifted.student.flatten(0, 1)}))
                                    .view({2, training.loss_batch, draws.candidates, -1});
    const at::Tensor transfer = seqpe_transfer_loss(embedded.select(0, 0), embedded.select(0, 1),
                                                    options_.single_head ? 1 : shape_.heads, SeqpeTransfer::kPaper) *
                                training.transfer_loss;
    loss = loss.defined() ? loss + transfer : transfer;
  }
  return loss;
}

}  // namespace locus::position

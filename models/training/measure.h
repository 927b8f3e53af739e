// Measuring a model's metric on a task's split.
#pragma once

#include <cstdint>

#include "core/base/progress.h"
#include "core/base/result.h"
#include "models/training/network.h"
#include "models/training/task.h"

namespace locus::training {

// Runs a batch of these examples, possibly edited, without gradients: (B, T) negative log-likelihood of each target in
// nats, 0 where not counted, and whether it is the most likely token (1; also 1 where not counted).
struct Judgement {
  at::Tensor loss;
  at::Tensor right;
};
Judgement judge(const transformer::Transformer& model, const Examples& examples, const transformer::Batch& batch);

// The mean over the split with its 95 % interval: Wilson's for errors, the normal one over sequences for bits.
struct Measurement {
  double value = 0;
  double low = 0;
  double high = 0;
  double perplexity = 0;  // exp of the mean nats a counted target
};

// The 95 % interval of a proportion of `wrong` in `count` (Wilson 1927).
Measurement binomial(double wrong, double count);

struct MeasureOptions {
  std::uint64_t seed = 0;
  std::int64_t samples = 0;  // sequences; 0: the task's own count
  std::int64_t batch = 0;    // sequences at once; 0: about 8192 tokens
  at::Device device{at::kCPU};
  // Edits of the runs, for texts with these pictures; may be empty.
  std::function<Status(transformer::Batch& batch, std::vector<models::ImageSpan> pictures)> edit = {};
  StopToken stop = {};
  Progress progress = {};
};

// Errors: kCancelled, the encoding's for the split's length, and those of `options.edit`.
Result<Measurement> measure(const Network& network, const Task& task, std::size_t split,
                            const MeasureOptions& options = {});

// The same, but NaN for a split that is longer than the encoding supports (a learned table), which is a result too.
Result<Measurement> measure_if_fits(const Network& network, const Task& task, std::size_t split,
                                    const MeasureOptions& options);

// The error of every cell of the task's map, `options.samples` sequences each.
Result<EvaluationMap> measure_map(const Network& network, const Task& task, const MeasureOptions& options);

}  // namespace locus::training

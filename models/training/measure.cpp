#include "models/training/measure.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace locus::training {

namespace {

constexpr std::int64_t kTokensAtOnce = 8192;
constexpr double kNormal95 = 1.959963984540054;  // 97.5 % quantile of the normal distribution

// Running sums of a split, in sequences (errors) or counted targets (bits).
struct Sums {
  double sequences = 0;
  double wrong = 0;
  double targets = 0;
  double nats = 0;
  double nats_squared = 0;  // Σ over sequences of (nats of the sequence)²
  double cross = 0;         // Σ nats · targets
  double targets_squared = 0;

  void add(const Judgement& judgement, const at::Tensor& counted) {
    const at::Tensor loss = judgement.loss.sum(1, false, at::kDouble);
    const at::Tensor count = counted.sum(1, false, at::kDouble);
    sequences += static_cast<double>(loss.size(0));
    wrong += static_cast<double>(loss.size(0)) - judgement.right.amin(1).sum().item<double>();
    targets += count.sum().item<double>();
    nats += loss.sum().item<double>();
    nats_squared += loss.square().sum().item<double>();
    cross += (loss * count).sum().item<double>();
    targets_squared += count.square().sum().item<double>();
  }

  // A ratio of sums; its deviation by linearisation over sequences.
  Measurement bits() const {
    const double mean = nats / targets;
    const double spread = nats_squared - 2 * mean * cross + mean * mean * targets_squared;
    const double deviation = std::sqrt(std::max(spread, 0.0)) / targets;
    const double bit = std::numbers::ln2;
    return {mean / bit, (mean - kNormal95 * deviation) / bit, (mean + kNormal95 * deviation) / bit};
  }

  // Wilson (1927).
  Measurement error() const {
    const double p = wrong / sequences;
    const double z2 = kNormal95 * kNormal95;
    const double centre = (p + z2 / (2 * sequences)) / (1 + z2 / sequences);
    const double half =
        kNormal95 * std::sqrt(p * (1 - p) / sequences + z2 / (4 * sequences * sequences)) / (1 + z2 / sequences);
    return {p, std::max(centre - half, 0.0), std::min(centre + half, 1.0)};
  }
};

}  // namespace

Judgement judge(const transformer::Transformer& model, const Examples& examples, at::Device device) {
  const at::NoGradGuard no_grad;
  transformer::Batch batch;
  batch.ids = examples.ids.to(device);
  batch.positions = model.positions(examples.ids.size(1));
  const at::Tensor logits = model.forward(batch).flatten(0, 1);
  const at::Tensor targets = examples.targets.to(device).flatten();
  const at::Tensor loss = at::cross_entropy_loss(logits, targets, {}, at::Reduction::None, kIgnored);
  const at::Tensor right = at::logical_or(logits.argmax(-1) == targets, targets == kIgnored);
  return {loss.view(examples.ids.sizes()).cpu(), right.view(examples.ids.sizes()).to(at::kCPU, at::kFloat)};
}

Result<Measurement> measure(const transformer::Transformer& model, const Task& task, std::size_t split,
                            const MeasureOptions& options) {
  const std::int64_t own = task.evaluation_count(split);
  const std::int64_t count = options.samples > 0 ? options.samples : own;
  Sums sums;
  std::int64_t batch = options.batch > 0 ? options.batch : 1;
  for (std::int64_t first = 0; first < count;) {
    if (options.stop.stop_requested()) {
      return cancelled();
    }
    report(options.progress, static_cast<double>(first) / static_cast<double>(count), task.splits()[split]);
    const Examples examples = task.evaluation_examples(split, options.seed, first, std::min(batch, count - first));
    if (examples.ids.size(0) == 0) {
      break;
    }
    const std::int64_t length = examples.ids.size(1);
    LOCUS_CHECK(model.encoding().accepts(model.positions(length)));
    sums.add(judge(model, examples, options.device), (examples.targets != kIgnored).to(at::kDouble));
    first += examples.ids.size(0);
    if (options.batch <= 0) {
      batch = std::max<std::int64_t>(kTokensAtOnce / length, 1);
    }
  }
  if (sums.targets == 0) {
    return bad_input("split " + task.splits()[split] + " has nothing to measure");
  }
  return task.metric() == Metric::kBitsPerByte ? sums.bits() : sums.error();
}

}  // namespace locus::training

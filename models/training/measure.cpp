#include "models/training/measure.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/base/numbers.h"

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

  // Errors: kBadInput where a model's output is not a number.
  Status finite(const std::string& what) const {
    return !std::isnan(nats)
               ? Status()
               : Status(bad_input(what + ": expected finite logits, found NaN: a weight is not finite, or "
                                         "values exceed float32"));
  }

  // A ratio of sums; its deviation by linearisation over sequences. `bytes`: text per target.
  Measurement bits(double bytes) const {
    const double mean = nats / targets;
    const double spread = nats_squared - 2 * mean * cross + mean * mean * targets_squared;
    const double deviation = std::sqrt(std::max(spread, 0.0)) / targets;
    const double unit = std::numbers::ln2 * bytes;
    return {mean / unit, (mean - kNormal95 * deviation) / unit, (mean + kNormal95 * deviation) / unit, std::exp(mean)};
  }
};

Result<transformer::Batch> edited_batch(const Network& network, const Examples& examples,
                                        const position::Positions& positions, const MeasureOptions& options) {
  transformer::Batch batch = network.batch(examples, positions, options.device);
  if (options.edit) {
    LOCUS_CHECK(options.edit(batch, network.spans(examples)));
  }
  return batch;
}

// True if a split has sequences that the model's encoding supports, judged by the first. Errors: kBadInput.
Status fits_split(const Network& network, const Task& task, std::size_t split, std::uint64_t seed) {
  const Examples examples = task.evaluation_examples(split, seed, 0, 1);
  if (examples.size() == 0) {
    return bad_input("split " + task.splits()[split] + " has nothing to measure");
  }
  return network.model().accepts(network.natural_positions(examples));
}

}  // namespace

Measurement binomial(double wrong, double count) {
  const double p = wrong / count;
  const double z2 = kNormal95 * kNormal95;
  const double centre = (p + z2 / (2 * count)) / (1 + z2 / count);
  const double half = kNormal95 * std::sqrt(p * (1 - p) / count + z2 / (4 * count * count)) / (1 + z2 / count);
  return {p, std::max(centre - half, 0.0), std::min(centre + half, 1.0)};
}

Judgement judge(const transformer::Transformer& model, const Examples& examples, const transformer::Batch& batch) {
  const at::NoGradGuard no_grad;
  const at::Tensor logits = model.forward(batch).flatten(0, 1);
  const at::Tensor targets = examples.targets.to(logits.device()).flatten();
  const at::Tensor loss = at::cross_entropy_loss(logits, targets, {}, at::Reduction::None, kIgnored);
  const at::Tensor right = at::logical_or(logits.argmax(-1) == targets, targets == kIgnored);
  return {loss.view(examples.targets.sizes()).cpu(), right.view(examples.targets.sizes()).to(at::kCPU, at::kFloat)};
}

Result<Measurement> measure(const Network& network, const Task& task, std::size_t split,
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
    if (examples.size() == 0) {
      break;
    }
    const position::Positions positions = network.natural_positions(examples);
    LOCUS_CHECK(network.model().accepts(positions));
    LOCUS_TRY(const transformer::Batch own, edited_batch(network, examples, positions, options));
    sums.add(judge(network.model(), examples, own), (examples.targets != kIgnored).to(at::kDouble));
    LOCUS_CHECK(sums.finite("split " + task.splits()[split]));
    first += examples.size();
    if (options.batch <= 0) {
      batch = std::max<std::int64_t>(kTokensAtOnce / positions.size(), 1);
    }
  }
  if (sums.targets == 0) {
    return bad_input("split " + task.splits()[split] + " has nothing to measure");
  }
  return task.metric() == Metric::kBitsPerByte ? sums.bits(task.bytes_per_target(split))
                                               : binomial(sums.wrong, sums.sequences);
}

Result<Measurement> measure_if_fits(const Network& network, const Task& task, std::size_t split,
                                    const MeasureOptions& options) {
  Result<Measurement> measured = measure(network, task, split, options);
  if (measured.ok() || measured.error().code != ErrorCode::kBadInput ||
      fits_split(network, task, split, options.seed).ok()) {
    return measured;
  }
  return Measurement{kNaN, kNaN, kNaN, kNaN};
}

Result<EvaluationMap> measure_map(const Network& network, const Task& task, const MeasureOptions& options) {
  const TaskMap cells = task.map();
  EvaluationMap map{cells.row_label, cells.column_label, cells.rows, cells.columns, options.samples, {}, {}};
  const auto count = static_cast<double>(cells.rows.size() * cells.columns.size());
  for (std::size_t row = 0; row < cells.rows.size(); ++row) {
    for (std::size_t column = 0; column < cells.columns.size(); ++column) {
      if (options.stop.stop_requested()) {
        return cancelled();
      }
      report(options.progress, static_cast<double>(map.values.size()) / count, "map");
      const Examples examples = task.map_examples(row, column, options.seed, options.samples);
      const Status accepted = network.model().accepts(network.natural_positions(examples));
      Measurement cell;
      if (accepted.ok()) {
        Sums sums;
        LOCUS_TRY(const transformer::Batch own,
                  edited_batch(network, examples, network.natural_positions(examples), options));
        sums.add(judge(network.model(), examples, own), (examples.targets != kIgnored).to(at::kDouble));
        LOCUS_CHECK(sums.finite("map"));
        cell = binomial(sums.wrong, sums.sequences);
      } else {
        cell = {kNaN, kNaN, kNaN, kNaN};
      }
      map.values.push_back(cell.value);
      map.intervals.emplace_back(cell.low, cell.high);
    }
  }
  return map;
}

}  // namespace locus::training

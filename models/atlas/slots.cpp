#include "models/atlas/slots.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/base/shown.h"
#include "models/training/random.h"

namespace locus::models::atlas {

namespace {

constexpr std::size_t kMaxWaiting = 16;                 // samples: the largest block of windows
constexpr std::uint64_t kReplicateStream = 0x626F6F74;  // random numbers of replicates

constexpr std::array<const char*, kKinds> kSampleNames{"windows",      "null.windows", "repeats",
                                                       "null.repeats", "needles",      "null.needles"};

AtlasNull null_of(std::size_t kind) {
  return kind % 2 == 0 ? AtlasNull::kText : AtlasNull::kShuffled;
}

// P(p ≤ n) of the Poisson distribution with mean 1.
constexpr std::array<double, 10> kPoisson{
    0.36787944117144233, 0.73575888234288464, 0.91969860292860584, 0.98101184312384624, 0.99634015317265632,
    0.99940581518241832, 0.99991675885071199, 0.99998975080332538, 0.99999887479740203, 0.99999988857452156};

void add_squared(const double* numbers, std::size_t begin, std::size_t end, double* sums, double* squares) {
  for (std::size_t n = begin; n < end; ++n) {
    sums[n] += numbers[n];
    squares[n] += numbers[n] * numbers[n];
  }
}

// sums += Σ weights[s] · numbers[s], four samples at a time and in their order.
void add_weighted(const std::vector<std::pair<double, const double*>>& samples, std::size_t count, double* sums) {
  std::size_t s = 0;
  for (; s + 4 <= samples.size(); s += 4) {
    const auto [w0, x0] = samples[s];
    const auto [w1, x1] = samples[s + 1];
    const auto [w2, x2] = samples[s + 2];
    const auto [w3, x3] = samples[s + 3];
    for (std::size_t n = 0; n < count; ++n) {
      sums[n] = (((sums[n] + w0 * x0[n]) + w1 * x1[n]) + w2 * x2[n]) + w3 * x3[n];
    }
  }
  for (; s < samples.size(); ++s) {
    const auto [weight, numbers] = samples[s];
    for (std::size_t n = 0; n < count; ++n) {
      sums[n] += weight * numbers[n];
    }
  }
}

std::ptrdiff_t offset(std::size_t n) {
  return static_cast<std::ptrdiff_t>(n);
}

}  // namespace

std::size_t Slots::add(Kind kind, std::string statistic, std::int64_t layer, std::vector<std::int64_t> shape,
                       bool replicated) {
  OfKind& of = kinds_[static_cast<std::size_t>(kind)];
  const std::int64_t size = std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
  const std::size_t begin = of.size;
  of.size += static_cast<std::size_t>(size);
  of.replicated = replicated ? of.size : of.replicated;
  of.slots.push_back(
      {std::move(statistic), layer, std::move(shape), begin, static_cast<std::size_t>(size), replicated});
  return begin;
}

void draw_weights(std::uint64_t seed, Kind kind, std::int64_t index, std::span<double> weights) {
  // Shuffled samples are replicated like the samples that they were: differences between the two stay paired.
  const std::uint64_t of_kind = static_cast<std::uint64_t>(kind) / 2;
  training::Random random{seed, kReplicateStream, of_kind, static_cast<std::uint64_t>(index)};
  for (double& weight : weights) {
    const double u = random.uniform();
    weight = static_cast<double>(std::upper_bound(kPoisson.begin(), kPoisson.end(), u) - kPoisson.begin());
  }
}

Sums::Sums(const Slots& slots, std::size_t replicates, std::uint64_t seed)
    : slots_(slots), replicates_(replicates), seed_(seed) {
  std::size_t at = 0;
  for (std::size_t n = 0; n < kKinds; ++n) {
    const Kind kind{static_cast<int>(n)};
    Part& part = parts_[n];
    part.count = at;
    part.sums = part.count + 1 + replicates;
    part.squares = part.sums + slots.size(kind);
    part.replicates = part.squares + slots.size(kind);
    at = part.replicates + replicates * slots.replicated(kind);
  }
  numbers_.resize(at);
}

void Sums::clear() {
  std::fill(numbers_.begin(), numbers_.end(), 0);
  for (Waiting& waiting : waiting_) {
    waiting.count = 0;
  }
  runs_ = {};
}

const std::vector<double>& Sums::numbers() {
  settle();
  return numbers_;
}

void Sums::add(Kind kind, std::int64_t index, std::span<const double> numbers) {
  const Part& part = parts_[static_cast<std::size_t>(kind)];
  Waiting& waiting = waiting_[static_cast<std::size_t>(kind)];
  const std::size_t replicated = slots_.replicated(kind);
  waiting.numbers.resize(kMaxWaiting * replicated);
  waiting.weights.resize(kMaxWaiting * replicates_);
  std::copy_n(numbers.begin(), replicated, waiting.numbers.begin() + offset(waiting.count * replicated));
  const std::span<double> weights = std::span(waiting.weights).subspan(waiting.count * replicates_, replicates_);
  draw_weights(seed_, kind, index, weights);
  for (std::size_t b = 0; b < replicates_; ++b) {
    numbers_[part.count + 1 + b] += weights[b];
  }
  add_squared(numbers.data(), 0, replicated, numbers_.data() + part.sums, numbers_.data() + part.squares);
  numbers_[part.count] += 1;
  if (++waiting.count == kMaxWaiting) {
    settle(kind);
  }
}

void Sums::add_to(Kind kind, std::size_t begin, std::span<const double> numbers) {
  const Part& part = parts_[static_cast<std::size_t>(kind)];
  double* const sums = numbers_.data() + part.sums + begin;
  double* const squares = numbers_.data() + part.squares + begin;
  const auto [known, first] = runs_[static_cast<std::size_t>(kind)].try_emplace(begin);
  Runs& runs = known->second;
  if (!first) {
    // What is no number once stays none: half of the cells of maps whose queries see nothing behind them.
    for (const auto& [from, to] : runs) {
      add_squared(numbers.data(), from, to, sums, squares);
    }
    return;
  }
  add_squared(numbers.data(), 0, numbers.size(), sums, squares);
  for (std::size_t n = 0; n < numbers.size(); ++n) {
    if (std::isnan(sums[n])) {
      continue;
    }
    if (!runs.empty() && runs.back().second == n) {
      ++runs.back().second;
    } else {
      runs.emplace_back(n, n + 1);
    }
  }
}

void Sums::settle(Kind kind) {
  constexpr std::size_t kTile = 128;  // numbers: those of the samples and of a replicate are in cache together
  std::vector<std::pair<double, const double*>> samples;
  Waiting& waiting = waiting_[static_cast<std::size_t>(kind)];
  const std::size_t replicated = slots_.replicated(kind);
  double* const replicates = numbers_.data() + parts_[static_cast<std::size_t>(kind)].replicates;
  for (std::size_t begin = 0; begin < replicated; begin += kTile) {
    const std::size_t count = std::min(kTile, replicated - begin);
    for (std::size_t b = 0; b < replicates_; ++b) {
      samples.clear();
      for (std::size_t sample = 0; sample < waiting.count; ++sample) {
        const double weight = waiting.weights[sample * replicates_ + b];
        if (weight != 0) {
          samples.emplace_back(weight, waiting.numbers.data() + sample * replicated + begin);
        }
      }
      add_weighted(samples, count, replicates + b * replicated + begin);
    }
  }
  waiting.count = 0;
}

void Sums::settle() {
  for (std::size_t n = 0; n < kKinds; ++n) {
    settle(Kind{static_cast<int>(n)});
  }
}

void Sums::add(std::span<const double> others) {
  settle();
  for (std::size_t n = 0; n < numbers_.size(); ++n) {
    numbers_[n] += others[n];
  }
}

void Sums::write_to(Contents& contents) {
  settle();
  contents.samples.clear();
  contents.tables.clear();
  for (std::size_t n = 0; n < kKinds; ++n) {
    const Kind kind{static_cast<int>(n)};
    if (slots_.of(kind).empty()) {
      continue;
    }
    const Part& part = parts_[n];
    const auto from = [&](std::size_t at) { return numbers_.begin() + offset(at); };
    contents.samples[kSampleNames[n]] = {numbers_[part.count], {from(part.count + 1), from(part.sums)}};
    for (const Slot& slot : slots_.of(kind)) {
      const std::size_t end = slot.begin + slot.size;
      Table table{slot.statistic, slot.layer, null_of(n), slot.shape, {}, {}, {}};
      table.sum.assign(from(part.sums + slot.begin), from(part.sums + end));
      table.squares.assign(from(part.squares + slot.begin), from(part.squares + end));
      for (std::size_t b = 0; slot.replicated && b < replicates_; ++b) {
        const std::size_t row = part.replicates + b * slots_.replicated(kind);
        table.replicates.insert(table.replicates.end(), from(row + slot.begin), from(row + end));
      }
      contents.tables.push_back(std::move(table));
    }
  }
}

Status Sums::read_from(const Contents& contents, const std::string& file) {
  std::size_t table = 0;
  clear();
  for (std::size_t n = 0; n < kKinds; ++n) {
    const Kind kind{static_cast<int>(n)};
    if (slots_.of(kind).empty()) {
      continue;
    }
    const Part& part = parts_[n];
    const auto samples = contents.samples.find(kSampleNames[n]);
    if (samples == contents.samples.end() || samples->second.replicates.size() != replicates_) {
      return bad_input("expected samples." + std::string(kSampleNames[n]) + " with " + std::to_string(replicates_) +
                           " replicates, found others",
                       file);
    }
    numbers_[part.count] = samples->second.count;
    std::copy(samples->second.replicates.begin(), samples->second.replicates.end(),
              numbers_.begin() + offset(part.count + 1));
    for (const Slot& slot : slots_.of(kind)) {
      const std::size_t kept = slot.replicated ? replicates_ * slot.size : 0;
      const Table* const found = table < contents.tables.size() ? &contents.tables[table++] : nullptr;
      if (found == nullptr || found->statistic != slot.statistic || found->layer != slot.layer ||
          found->null != null_of(n) || found->shape != slot.shape || found->replicates.size() != kept) {
        const std::string name = tensor_name({slot.statistic, slot.layer, null_of(n)});
        return bad_input("expected tensor " + name + ", found another", file);
      }
      std::copy(found->sum.begin(), found->sum.end(), numbers_.begin() + offset(part.sums + slot.begin));
      std::copy(found->squares.begin(), found->squares.end(), numbers_.begin() + offset(part.squares + slot.begin));
      for (std::size_t b = 0; b < (slot.replicated ? replicates_ : 0); ++b) {
        std::copy_n(found->replicates.begin() + offset(b * slot.size), slot.size,
                    numbers_.begin() + offset(part.replicates + b * slots_.replicated(kind) + slot.begin));
      }
    }
  }
  return {};
}

}  // namespace locus::models::atlas

#include "models/atlas/sums.h"

#include <algorithm>
#include <cmath>

#include "core/base/numbers.h"
#include "core/base/shown.h"
#include "models/training/random.h"

namespace locus::models::atlas {

namespace {

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

void add_squared(const double* numbers, std::size_t count, double* sums, double* squares) {
  for (std::size_t n = 0; n < count; ++n) {
    sums[n] += numbers[n];
    squares[n] += numbers[n] * numbers[n];
  }
}

// sums += Σ weights[s] · numbers[s], four samples at a time and in their order; float64 but for the sums.
void add_weighted(const std::vector<std::pair<double, const double*>>& samples, std::size_t count, float* sums) {
  std::size_t s = 0;
  for (; s + 4 <= samples.size(); s += 4) {
    const auto [w0, x0] = samples[s];
    const auto [w1, x1] = samples[s + 1];
    const auto [w2, x2] = samples[s + 2];
    const auto [w3, x3] = samples[s + 3];
    for (std::size_t n = 0; n < count; ++n) {
      const double sum = (((static_cast<double>(sums[n]) + w0 * x0[n]) + w1 * x1[n]) + w2 * x2[n]) + w3 * x3[n];
      sums[n] = static_cast<float>(sum);
    }
  }
  for (; s < samples.size(); ++s) {
    const auto [weight, numbers] = samples[s];
    for (std::size_t n = 0; n < count; ++n) {
      sums[n] = static_cast<float>(static_cast<double>(sums[n]) + weight * numbers[n]);
    }
  }
}

std::ptrdiff_t offset(std::size_t n) {
  return static_cast<std::ptrdiff_t>(n);
}

// Offsets of the maps of each kind in a block, sums before squares; then its samples.
std::array<std::size_t, kKinds + 1> map_parts(const Slots& slots) {
  std::array<std::size_t, kKinds + 1> parts{1};  // after the count of samples
  for (std::size_t n = 0; n < kKinds; ++n) {
    const Kind kind{static_cast<int>(n)};
    parts[n + 1] = parts[n] + 2 * (slots.size(kind) - slots.replicated(kind));
  }
  return parts;
}

std::size_t size_of_map(const Slot& slot) {
  return static_cast<std::size_t>(slot.shape[1] * slot.shape[2]);
}

// (H, M, M) of the cells that have numbers; NaN elsewhere.
std::vector<double> whole_maps(const Slot& slot, const double* cells) {
  const auto heads = static_cast<std::size_t>(slot.shape.front());
  std::vector<double> maps(heads * size_of_map(slot), kNaN);
  for (std::size_t head = 0; head < heads; ++head) {
    for (const std::uint32_t cell : *slot.cells) {
      maps[head * size_of_map(slot) + cell] = *cells++;
    }
  }
  return maps;
}

// The inverse.
void take_cells(const Slot& slot, const std::vector<double>& maps, double* cells) {
  for (std::size_t begin = 0; begin < maps.size(); begin += size_of_map(slot)) {
    for (const std::uint32_t cell : *slot.cells) {
      *cells++ = maps[begin + cell];
    }
  }
}

}  // namespace

void draw_weights(std::uint64_t seed, Kind kind, std::int64_t index, std::span<double> weights) {
  // Shuffled samples have the replicates of their originals, so that differences of the two stay paired.
  const std::uint64_t of_kind = static_cast<std::uint64_t>(kind) / 2;
  training::Random random{seed, kReplicateStream, of_kind, static_cast<std::uint64_t>(index)};
  for (double& weight : weights) {
    const double u = random.uniform();
    weight = static_cast<double>(std::upper_bound(kPoisson.begin(), kPoisson.end(), u) - kPoisson.begin());
  }
}

Block::Block(const Slots& slots, std::size_t samples) : slots_(slots) {
  const std::size_t maps = map_parts(slots).back();
  std::size_t of_each = 0;
  for (std::size_t n = 0; n < kKinds; ++n) {
    of_each += 2 + slots.replicated(Kind{static_cast<int>(n)});  // kind and index
  }
  numbers_.reserve(maps + samples * of_each);
  numbers_.resize(maps);
}

void Block::clear() {
  numbers_.resize(map_parts(slots_).back());
  std::fill(numbers_.begin(), numbers_.end(), 0);
  examples_.clear();
}

void Block::add(Kind kind, std::int64_t index, std::span<const double> numbers) {
  numbers_.front() += 1;
  numbers_.push_back(static_cast<double>(kind));
  numbers_.push_back(static_cast<double>(index));
  numbers_.insert(numbers_.end(), numbers.begin(), numbers.begin() + offset(slots_.replicated(kind)));
}

void Block::add_map(Kind kind, const Slot& slot, std::size_t head, std::span<const double> map) {
  const std::vector<std::uint32_t>& cells = *slot.cells;
  const std::size_t maps = slots_.size(kind) - slots_.replicated(kind);
  const std::size_t own = slot.begin - slots_.replicated(kind) + head * cells.size();
  double* const sums = numbers_.data() + map_parts(slots_)[static_cast<std::size_t>(kind)] + own;
  double* const squares = sums + maps;
  for (std::size_t n = 0; n < cells.size(); ++n) {
    const double number = map[cells[n]];
    sums[n] += number;
    squares[n] += number * number;
  }
}

std::span<const double> Block::numbers(std::size_t size) {
  numbers_.insert(numbers_.end(), examples_.begin(), examples_.end());
  examples_.clear();
  numbers_.resize(std::max(size, numbers_.size()));
  return numbers_;
}

Sums::Sums(const Slots& slots, std::size_t replicates, std::uint64_t seed)
    : slots_(slots), replicates_(replicates), seed_(seed) {
  std::size_t at = 0;
  std::size_t replicated = 0;
  for (std::size_t n = 0; n < kKinds; ++n) {
    const Kind kind{static_cast<int>(n)};
    Part& part = parts_[n];
    part.count = at;
    part.sums = part.count + 1 + replicates;
    part.squares = part.sums + slots.size(kind);
    at = part.squares + slots.size(kind);
    part.replicates = replicated;
    replicated += replicates * slots.replicated(kind);
  }
  numbers_.resize(at);
  replicated_.resize(replicated);
}

std::span<const double> Sums::add(std::span<const double> block) {
  const std::array<std::size_t, kKinds + 1> maps = map_parts(slots_);
  for (std::size_t n = 0; n < kKinds; ++n) {
    const Kind kind{static_cast<int>(n)};
    const std::size_t first = slots_.replicated(kind);
    const std::size_t count = slots_.size(kind) - first;
    for (std::size_t each = 0; each < count; ++each) {
      numbers_[parts_[n].sums + first + each] += block[maps[n] + each];
      numbers_[parts_[n].squares + first + each] += block[maps[n] + count + each];
    }
  }
  std::array<std::vector<const double*>, kKinds> samples;
  std::size_t at = maps.back();
  for (auto left = static_cast<std::size_t>(block.front()); left > 0; --left) {
    const Kind kind{static_cast<int>(block[at])};
    samples[static_cast<std::size_t>(kind)].push_back(&block[at + 1]);
    at += 2 + slots_.replicated(kind);
  }
  for (std::size_t n = 0; n < kKinds; ++n) {
    add_samples(Kind{static_cast<int>(n)}, samples[n]);
  }
  return block.subspan(at);
}

void Sums::add_samples(Kind kind, const std::vector<const double*>& samples) {
  constexpr std::size_t kTile = 128;  // block size: the numbers of samples and of a replicate fit the cache together
  const Part& part = parts_[static_cast<std::size_t>(kind)];
  const std::size_t replicated = slots_.replicated(kind);
  std::vector<double> weights(samples.size() * replicates_);
  for (std::size_t sample = 0; sample < samples.size(); ++sample) {
    const std::span<double> own = std::span(weights).subspan(sample * replicates_, replicates_);
    draw_weights(seed_, kind, static_cast<std::int64_t>(*samples[sample]), own);
    for (std::size_t b = 0; b < replicates_; ++b) {
      numbers_[part.count + 1 + b] += own[b];
    }
    add_squared(samples[sample] + 1, replicated, numbers_.data() + part.sums, numbers_.data() + part.squares);
    numbers_[part.count] += 1;
  }
  std::vector<std::pair<double, const double*>> drawn;
  for (std::size_t begin = 0; begin < replicated; begin += kTile) {
    const std::size_t count = std::min(kTile, replicated - begin);
    for (std::size_t b = 0; b < replicates_; ++b) {
      drawn.clear();
      for (std::size_t sample = 0; sample < samples.size(); ++sample) {
        if (const double weight = weights[sample * replicates_ + b]; weight != 0) {
          drawn.emplace_back(weight, samples[sample] + 1 + begin);
        }
      }
      add_weighted(drawn, count, replicated_.data() + part.replicates + b * replicated + begin);
    }
  }
}

std::map<std::string, SampleCount> Sums::samples() const {
  std::map<std::string, SampleCount> samples;
  for (std::size_t n = 0; n < kKinds; ++n) {
    if (!slots_.of(Kind{static_cast<int>(n)}).empty()) {
      const auto begin = numbers_.begin() + offset(parts_[n].count + 1);
      samples[kSampleNames[n]] = {numbers_[parts_[n].count], {begin, begin + offset(replicates_)}};
    }
  }
  return samples;
}

TableSource Sums::tables() const {
  std::vector<std::pair<Kind, const Slot*>> list;
  for (std::size_t n = 0; n < kKinds; ++n) {
    const Kind kind{static_cast<int>(n)};
    for (const Slot& slot : slots_.of(kind)) {
      list.emplace_back(kind, &slot);
    }
  }
  const std::size_t count = list.size();
  return {count, [this, list = std::move(list)](std::size_t n) { return table(list[n].first, *list[n].second); }};
}

Table Sums::table(Kind kind, const Slot& slot) const {
  const Part& part = parts_[static_cast<std::size_t>(kind)];
  const double* const sums = numbers_.data() + part.sums + slot.begin;
  const double* const squares = numbers_.data() + part.squares + slot.begin;
  Table table{slot.statistic, slot.layer, null_of(static_cast<std::size_t>(kind)), slot.shape, {}, {}, {}};
  if (slot.cells) {
    table.sum = whole_maps(slot, sums);
    table.squares = whole_maps(slot, squares);
    return table;
  }
  table.sum.assign(sums, sums + slot.size);
  table.squares.assign(squares, squares + slot.size);
  table.replicates.reserve(replicates_ * slot.size);
  for (std::size_t b = 0; b < replicates_; ++b) {
    const float* const row = replicated_.data() + part.replicates + b * slots_.replicated(kind) + slot.begin;
    table.replicates.insert(table.replicates.end(), row, row + slot.size);
  }
  return table;
}

Status Sums::read_from(const Contents& contents, const std::string& file) {
  std::size_t table = 0;
  std::fill(numbers_.begin(), numbers_.end(), 0);
  std::fill(replicated_.begin(), replicated_.end(), 0);
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
      const std::size_t kept = slot.cells ? 0 : replicates_ * slot.size;
      const Table* const found = table < contents.tables.size() ? &contents.tables[table++] : nullptr;
      if (found == nullptr || found->statistic != slot.statistic || found->layer != slot.layer ||
          found->null != null_of(n) || found->shape != slot.shape || found->replicates.size() != kept) {
        const std::string name = tensor_name({slot.statistic, slot.layer, null_of(n)});
        return bad_input("expected tensor " + name + ", found another", file);
      }
      if (slot.cells) {
        take_cells(slot, found->sum, &numbers_[part.sums + slot.begin]);
        take_cells(slot, found->squares, &numbers_[part.squares + slot.begin]);
        continue;
      }
      std::copy(found->sum.begin(), found->sum.end(), numbers_.begin() + offset(part.sums + slot.begin));
      std::copy(found->squares.begin(), found->squares.end(), numbers_.begin() + offset(part.squares + slot.begin));
      for (std::size_t b = 0; b < replicates_; ++b) {
        std::copy_n(found->replicates.begin() + offset(b * slot.size), slot.size,
                    replicated_.begin() + offset(part.replicates + b * slots_.replicated(kind) + slot.begin));
      }
    }
  }
  return {};
}

}  // namespace locus::models::atlas

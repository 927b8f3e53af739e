// Sums of an atlas over samples, with bootstrap replicates: a process measures a Block of samples, and Sums adds block
// after block in order, so that any number of processes gives the same bits.
//
// Letters: R replicates.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "models/atlas/slots.h"
#include "models/formats/atlas/contents.h"

namespace locus::models::atlas {

// Draws from the Poisson distribution with mean 1: the weight of sample `index` of a kind in each replicate.
void draw_weights(std::uint64_t seed, Kind kind, std::int64_t index, std::span<double> weights);

// The numbers of some samples, without replicates: 1/R of the size of their sums. One list, so that it can be sent.
class Block {
 public:
  // With room for that many samples of each kind: beyond it the whole block is copied to make more.
  Block(const Slots& slots, std::size_t samples);

  // Adds the numbers of sample `index`: the statistics with replicates.
  void add(Kind kind, std::int64_t index, std::span<const double> numbers);
  // Adds a head's map of a sample, (M · M).
  void add_map(Kind kind, const Slot& slot, std::size_t head, std::span<const double> map);
  // Where items of examples (examples.h) are added.
  std::vector<double>& examples() { return examples_; }
  void clear();
  std::size_t size() const { return numbers_.size() + examples_.size(); }
  // The numbers, the examples last, padded with zeros to `size`. Nothing is added after that until clear().
  std::span<const double> numbers(std::size_t size = 0);

 private:
  const Slots& slots_;
  std::vector<double> numbers_;
  std::vector<double> examples_;
};

// The sums over all samples.
class Sums {
 public:
  Sums(const Slots& slots, std::size_t replicates, std::uint64_t seed);

  // Adds a block with the same slots. Returns what follows its last sample: its examples.
  std::span<const double> add(std::span<const double> block);

  // The sums in the form of the file; the tables must not outlive this, nor a further block.
  std::map<std::string, SampleCount> samples() const;
  TableSource tables() const;
  // The sums from a file with the same slots. Errors: kBadInput naming the statistic that differs.
  Status read_from(const Contents& contents, const std::string& file);

 private:
  // Offsets of a kind's numbers: in numbers_ count, R counts, sums, squares; in replicated_ R × replicated.
  struct Part {
    std::size_t count = 0, sums = 0, squares = 0, replicates = 0;
  };
  Table table(Kind kind, const Slot& slot) const;

  // Each sample is its index and its numbers.
  void add_samples(Kind kind, const std::vector<const double*>& samples);

  const Slots& slots_;
  std::size_t replicates_;
  std::uint64_t seed_;
  std::array<Part, kKinds> parts_;
  std::vector<double> numbers_;
  // float32: of N blocks they are within 6e-8 · √N of their size, and an interval is the spread of R of them.
  std::vector<float> replicated_;
};

}  // namespace locus::models::atlas

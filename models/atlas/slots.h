// Slots: where each statistic's numbers stand in a sample's list of numbers, and the sums over samples.
//
// Letters: R replicates.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "models/api/atlas.h"
#include "models/atlas/file/contents.h"

namespace locus::models::atlas {

// What samples are; each kind has its own statistics.
enum class Kind { kWindow, kShuffledWindow, kRepeats, kShuffledRepeats, kNeedles, kShuffledNeedles };
inline constexpr std::size_t kKinds = 6;

// One statistic of one layer, or of the model.
struct Slot {
  std::string statistic;
  std::int64_t layer = kAtlasOfModel;
  std::vector<std::int64_t> shape;
  std::size_t begin = 0;  // in the list of numbers of its kind
  std::size_t size = 0;
  bool replicated = true;
};

class Slots {
 public:
  // Adds a statistic to a kind and returns where its numbers begin. Those without replicates come last.
  std::size_t add(Kind kind, std::string statistic, std::int64_t layer, std::vector<std::int64_t> shape,
                  bool replicated = true);
  const std::vector<Slot>& of(Kind kind) const { return kinds_[static_cast<std::size_t>(kind)].slots; }
  std::size_t size(Kind kind) const { return kinds_[static_cast<std::size_t>(kind)].size; }
  std::size_t replicated(Kind kind) const { return kinds_[static_cast<std::size_t>(kind)].replicated; }

 private:
  struct OfKind {
    std::vector<Slot> slots;
    std::size_t size = 0;
    std::size_t replicated = 0;  // the first of the numbers
  };
  std::array<OfKind, kKinds> kinds_;
};

// Draws from the Poisson distribution with mean 1: how often each replicate has sample `index` of a kind.
void draw_weights(std::uint64_t seed, Kind kind, std::int64_t index, std::span<double> weights);

// The sums over some samples. One list of numbers, so that it can be sent as it is.
class Sums {
 public:
  Sums(const Slots& slots, std::size_t replicates, std::uint64_t seed);

  // Adds the numbers of sample `index`: those with replicates.
  void add(Kind kind, std::int64_t index, std::span<const double> numbers);
  // Adds some that have none, from `begin` on: every sample gives the same parts, before its add().
  void add_to(Kind kind, std::size_t begin, std::span<const double> numbers);
  // Adds the sums over other samples.
  void add(std::span<const double> others);
  void clear();
  const std::vector<double>& numbers();

  // As the file has them; `contents` keeps its info, axes and notes.
  void write_to(Contents& contents);
  // From a file of the same slots. Errors: kBadInput naming the statistic that differs.
  Status read_from(const Contents& contents, const std::string& file);

 private:
  // Where the numbers of a kind stand: count, R counts, sums, squares, R × replicated.
  struct Part {
    std::size_t count = 0, sums = 0, squares = 0, replicates = 0;
  };

  // Samples that the replicates do not have yet: many at once go through them in cache.
  struct Waiting {
    std::size_t count = 0;
    std::vector<double> numbers, weights;  // (samples, replicated), (samples, R)
  };

  // Adds the samples that wait to their replicates, in their order.
  void settle(Kind kind);
  void settle();

  const Slots& slots_;
  std::size_t replicates_;
  std::uint64_t seed_;
  std::array<Part, kKinds> parts_;
  std::vector<double> numbers_;
  std::array<Waiting, kKinds> waiting_;
  // Of the parts without replicates, by where they begin: [begin, end) of those whose sum is a number.
  using Runs = std::vector<std::pair<std::size_t, std::size_t>>;
  std::array<std::unordered_map<std::size_t, Runs>, kKinds> runs_;
};

}  // namespace locus::models::atlas

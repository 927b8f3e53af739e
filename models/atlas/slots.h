// Slots: positions of the statistics in a sample's list of numbers.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "models/api/atlas.h"

namespace locus::models::atlas {

// Kinds of samples; each has its own statistics.
enum class Kind { kWindow, kShuffledWindow, kRepeats, kShuffledRepeats, kNeedles, kShuffledNeedles };
inline constexpr std::size_t kKinds = 6;

// The cells of a map, (M · M), that have a number, in order. For a causal model these are half of them.
using MapCells = std::shared_ptr<const std::vector<std::uint32_t>>;

// One statistic of one layer, or of the model.
struct Slot {
  std::string statistic;
  std::int64_t layer = kAtlasOfModel;
  std::vector<std::int64_t> shape;
  std::size_t begin = 0;  // offset in the list of numbers of its kind
  std::size_t size = 0;   // for a map: its cells only
  MapCells cells;         // maps only; they have no replicates
};

class Slots {
 public:
  // Adds a statistic to a kind and returns the offset of its numbers. Maps come last.
  std::size_t add(Kind kind, std::string statistic, std::int64_t layer, std::vector<std::int64_t> shape);
  // (H, M, M).
  std::size_t add_map(Kind kind, std::string statistic, std::int64_t layer, std::vector<std::int64_t> shape,
                      MapCells cells);
  const std::vector<Slot>& of(Kind kind) const { return kinds_[static_cast<std::size_t>(kind)].slots; }
  std::size_t size(Kind kind) const { return kinds_[static_cast<std::size_t>(kind)].size; }
  std::size_t replicated(Kind kind) const { return kinds_[static_cast<std::size_t>(kind)].replicated; }

 private:
  std::size_t add(Kind kind, Slot slot, std::size_t size);

  struct OfKind {
    std::vector<Slot> slots;
    std::size_t size = 0;
    std::size_t replicated = 0;  // offset of the next numbers
  };
  std::array<OfKind, kKinds> kinds_;
};

}  // namespace locus::models::atlas

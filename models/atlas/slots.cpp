#include "models/atlas/slots.h"

#include <functional>
#include <numeric>
#include <utility>

namespace locus::models::atlas {

std::size_t Slots::add(Kind kind, Slot slot, std::size_t size) {
  OfKind& of = kinds_[static_cast<std::size_t>(kind)];
  slot.begin = of.size;
  slot.size = size;
  of.size += size;
  of.replicated = slot.cells ? of.replicated : of.size;
  of.slots.push_back(std::move(slot));
  return of.slots.back().begin;
}

std::size_t Slots::add(Kind kind, std::string statistic, std::int64_t layer, std::vector<std::int64_t> shape) {
  const std::int64_t size = std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
  return add(kind, {std::move(statistic), layer, std::move(shape), 0, 0, nullptr}, static_cast<std::size_t>(size));
}

std::size_t Slots::add_map(Kind kind, std::string statistic, std::int64_t layer, std::vector<std::int64_t> shape,
                           MapCells cells) {
  const std::size_t size = static_cast<std::size_t>(shape.front()) * cells->size();
  return add(kind, {std::move(statistic), layer, std::move(shape), 0, 0, std::move(cells)}, size);
}

}  // namespace locus::models::atlas

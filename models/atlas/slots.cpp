#include "models/atlas/slots.h"

#include <functional>
#include <numeric>
#include <utility>

namespace locus::models::atlas {

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

}  // namespace locus::models::atlas

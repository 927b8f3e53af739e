#include "models/training/draw.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace locus::training {

namespace {

// Keys after the run's seed; 2 is the stream of positions.
constexpr std::uint64_t kTrainingStream = 1;
constexpr std::uint64_t kSetStream = 3;
constexpr std::uint64_t kOrderStream = 4;

// Concatenates batches, padded to the longest of them with zeros that are not counted.
Examples joined(const std::vector<Examples>& parts) {
  std::int64_t longest = 0;
  for (const Examples& part : parts) {
    longest = std::max(longest, part.targets.size(1));
  }
  std::vector<at::Tensor> ids;
  std::vector<at::Tensor> targets;
  std::vector<at::Tensor> pixels;
  for (const Examples& part : parts) {
    const std::int64_t missing = longest - part.targets.size(1);
    targets.push_back(at::constant_pad_nd(part.targets, {0, missing}, kIgnored));
    if (part.ids.defined()) {
      ids.push_back(at::constant_pad_nd(part.ids, {0, missing}, 0));
    }
    if (part.pixels.defined()) {
      pixels.push_back(part.pixels);
    }
  }
  const auto all = [](const std::vector<at::Tensor>& list) { return list.empty() ? at::Tensor() : at::cat(list); };
  return {all(ids), all(targets), all(pixels)};
}

}  // namespace

Examples Draw::part(std::int64_t step, std::int64_t part) {
  const std::int64_t count = options_.batch / options_.gradient_parts;
  if (options_.train_size == 0) {
    Random random{options_.seed, kTrainingStream, static_cast<std::uint64_t>(step), static_cast<std::uint64_t>(part)};
    return task_.training_examples(random, count);
  }
  const std::int64_t first = step * options_.batch + part * count;
  std::vector<Examples> drawn;
  for (std::int64_t n = first; n < first + count; ++n) {
    const std::int64_t sequence = sequence_at(n / options_.train_size, n % options_.train_size);
    Random random{options_.seed, kSetStream, static_cast<std::uint64_t>(sequence)};
    drawn.push_back(task_.training_examples(random, 1));
  }
  return joined(drawn);
}

std::int64_t Draw::sequence_at(std::int64_t epoch, std::int64_t place) {
  if (epoch != epoch_) {
    epoch_ = epoch;
    order_.resize(static_cast<std::size_t>(options_.train_size));
    std::iota(order_.begin(), order_.end(), std::int64_t{0});
    Random random{options_.seed, kOrderStream, static_cast<std::uint64_t>(epoch)};
    for (std::int64_t left = options_.train_size; left > 1; --left) {  // Fisher and Yates
      std::swap(order_[static_cast<std::size_t>(random.below(left))], order_[static_cast<std::size_t>(left - 1)]);
    }
  }
  return order_[static_cast<std::size_t>(place)];
}

}  // namespace locus::training

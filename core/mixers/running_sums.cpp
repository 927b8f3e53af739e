#include "core/mixers/running_sums.h"

#include <vector>

#include "core/mixers/decay.h"

namespace locus::mixers {

at::Tensor RunningSums::of(Range tokens, Range some) const {
  const std::int64_t chunk = tokens.begin / kChunk;
  const std::int64_t axis = numbers_.axis();
  const at::Tensor between = decay_sums(numbers_.of({chunk * kChunk, tokens.end}, some), axis);
  const at::Tensor before = starts(chunk)[chunk].slice(0, some.begin, some.end).unsqueeze(axis);
  return (before + between).slice(axis, tokens.begin - chunk * kChunk);
}

at::Tensor RunningSums::starts(std::int64_t chunk) const {
  const std::scoped_lock lock(mutex_);
  if (!starts_.defined()) {
    starts_ = at::zeros({1, numbers_.width()}, numbers_.options().dtype(at::kDouble));
  }
  std::vector<at::Tensor> known{starts_};
  at::Tensor last = starts_[-1];
  for (std::int64_t n = starts_.size(0); n <= chunk; ++n) {
    const at::Tensor sums = decay_sums(numbers_.of({(n - 1) * kChunk, n * kChunk}), numbers_.axis());
    last = last + sums.select(numbers_.axis(), kChunk - 1);
    known.push_back(last.unsqueeze(0));
  }
  starts_ = known.size() == 1 ? starts_ : at::cat(known);
  return starts_;
}

std::shared_ptr<const RunningSums> RunningSums::continued(std::int64_t count, const RunningSums& later) const {
  auto all = std::make_shared<RunningSums>(numbers_.continued(count, later.numbers_));
  const std::scoped_lock lock(mutex_);
  if (starts_.defined()) {
    all->starts_ = starts_.slice(0, 0, count / kChunk + 1);
  }
  return all;
}

}  // namespace locus::mixers

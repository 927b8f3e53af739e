#include "core/position/seqpe/losses.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

namespace locus::position {
namespace {

using Position = std::array<std::int64_t, 2>;  // the second is 0 in 1-D

std::int64_t below(std::int64_t limit, std::mt19937_64& random) {
  return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(limit));
}

double unit(std::mt19937_64& random) {
  return static_cast<double>(random() >> 11) * 0x1p-53;
}

std::int64_t squared_distance(const Position& a, const Position& b) {
  return (a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1]);
}

// One position of the box [corner, corner + side).
Position inside(const Position& corner, const Position& side, std::mt19937_64& random) {
  return {corner[0] + below(side[0], random), corner[1] + below(side[1], random)};
}

Position everywhere(const SeqpeSampling& sampling) {
  return {sampling.limit, sampling.dimensions == 2 ? sampling.limit : 1};
}

// `number` after one to three edits of its digits, or −1 when an edit was impossible.
std::int64_t edited(std::int64_t number, std::int64_t base, std::mt19937_64& random) {
  std::vector<std::int64_t> digits;  // least significant first
  for (std::int64_t rest = number; rest > 0 || digits.empty(); rest /= base) {
    digits.push_back(rest % base);
  }
  for (std::int64_t edit = below(3, random); edit >= 0; --edit) {
    const auto count = static_cast<std::int64_t>(digits.size());
    const auto place = digits.begin() + below(count, random);
    switch (below(4, random)) {
      case 0:
        std::iter_swap(place, digits.begin() + below(count, random));
        break;
      case 1:
        if (count > 1) {
          digits.erase(place);
        }
        break;
      case 2:
        digits.insert(digits.begin() + below(count + 1, random), below(base, random));
        break;
      default:
        *place = below(base, random);
        break;
    }
  }
  std::int64_t value = 0;
  for (std::size_t n = digits.size(); n-- > 0;) {
    if (value > (std::int64_t{1} << 53) / base) {
      return -1;
    }
    value = value * base + digits[n];
  }
  return value;
}

class CandidateSet {
 public:
  CandidateSet(const SeqpeSampling& sampling, const Position& pivot, std::mt19937_64& random)
      : sampling_(sampling), pivot_(pivot), random_(random), seen_{pivot} {}

  // Distinct positions of a box, until `count` are here or the box is exhausted.
  void fill(std::size_t count, const Position& corner, const Position& side) {
    const std::int64_t room = side[0] * side[1];
    for (std::int64_t attempt = 0; chosen_.size() < count && attempt < 64 * room; ++attempt) {
      add(inside(corner, side, random_));
    }
  }

  // Up to `count` edits of the pivot's digits that are farther than everything chosen so far is near.
  void add_edits(std::size_t count) {
    std::int64_t nearest = -1;
    for (const Position& position : chosen_) {
      const std::int64_t distance = squared_distance(pivot_, position);
      nearest = nearest < 0 ? distance : std::min(nearest, distance);
    }
    const std::size_t goal = chosen_.size() + count;
    for (int attempt = 0; chosen_.size() < goal && attempt < 50 * static_cast<int>(count); ++attempt) {
      Position position = pivot_;
      const auto axis = static_cast<std::size_t>(below(sampling_.dimensions, random_));
      position[axis] = edited(pivot_[axis], sampling_.base, random_);
      if (position[axis] >= 0 && position[axis] < sampling_.limit && squared_distance(pivot_, position) > nearest) {
        add(position);
      }
    }
  }

  const std::vector<Position>& chosen() const { return chosen_; }

 private:
  void add(const Position& position) {
    if (seen_.insert(position).second) {
      chosen_.push_back(position);
    }
  }

  const SeqpeSampling& sampling_;
  Position pivot_;
  std::mt19937_64& random_;
  std::set<Position> seen_;
  std::vector<Position> chosen_;
};

std::vector<Position> candidates_of(const SeqpeSampling& sampling, const Position& pivot, std::mt19937_64& random) {
  const auto count = static_cast<std::size_t>(sampling.candidates);
  const Position whole = everywhere(sampling);
  CandidateSet set(sampling, pivot, random);
  if (unit(random) < sampling.local_share) {
    const auto size = static_cast<double>(std::max(sampling.window, sampling.candidates) + 1);
    const auto side = static_cast<std::int64_t>(sampling.dimensions == 2 ? std::ceil(std::sqrt(size)) : size);
    Position corner{0, 0};
    Position box = whole;
    for (std::size_t axis = 0; axis < static_cast<std::size_t>(sampling.dimensions); ++axis) {
      box[axis] = std::min(side, sampling.limit);
      corner[axis] = below(sampling.limit - box[axis] + 1, random);
    }
    set.fill(count, corner, box);
  } else {
    const auto edits = static_cast<std::size_t>(std::floor(sampling.digit_edits * static_cast<double>(count)));
    set.fill(count - edits, {0, 0}, whole);
    set.add_edits(edits);
  }
  set.fill(count, {0, 0}, whole);
  return set.chosen();
}

at::Tensor packed(const std::vector<Position>& positions, std::int64_t dimensions) {
  at::Tensor tensor = at::empty({static_cast<std::int64_t>(positions.size()), dimensions}, at::kLong);
  auto* out = tensor.data_ptr<std::int64_t>();
  for (const Position& position : positions) {
    out = std::copy_n(position.begin(), dimensions, out);
  }
  return tensor;
}

}  // namespace

at::Tensor seqpe_nearest(const at::Tensor& pivots, const at::Tensor& candidates) {
  return (candidates - pivots.unsqueeze(1)).pow(2).sum(-1).argmin(-1);
}

at::Tensor seqpe_distance_loss(const at::Tensor& pivots, const at::Tensor& candidates, const at::Tensor& labels) {
  const at::Tensor logits = at::matmul(candidates, pivots.unsqueeze(-1)).squeeze(-1);
  return at::cross_entropy_loss(logits, labels);
}

SeqpeDistances sample_distances(const SeqpeSampling& sampling, std::int64_t pivots, std::mt19937_64& random) {
  std::vector<Position> chosen;
  std::vector<Position> candidates;
  for (std::int64_t index = 0; index < pivots; ++index) {
    chosen.push_back(inside({0, 0}, everywhere(sampling), random));
    const std::vector<Position> set = candidates_of(sampling, chosen.back(), random);
    candidates.insert(candidates.end(), set.begin(), set.end());
  }
  SeqpeDistances distances;
  distances.pivots = packed(chosen, sampling.dimensions);
  distances.candidates = packed(candidates, sampling.dimensions).view({pivots, sampling.candidates, -1});
  distances.labels = seqpe_nearest(distances.pivots, distances.candidates);
  return distances;
}

at::Tensor seqpe_transfer_loss(const at::Tensor& teacher, const at::Tensor& student, std::int64_t heads,
                               SeqpeTransfer form, double student_share) {
  const auto log_similarity = [&](const at::Tensor& embeddings) {
    const at::Tensor split = embeddings.unflatten(-1, {heads, -1}).transpose(1, 2);  // (G, heads, m, d/heads)
    return at::log_softmax(at::matmul(split, split.transpose(-1, -2)), -1);
  };
  const auto divergence = [](const at::Tensor& log_p, const at::Tensor& log_q) {
    return log_p.exp() * (log_p - log_q);
  };
  const at::Tensor p = log_similarity(teacher);
  const at::Tensor s = log_similarity(student);
  if (form == SeqpeTransfer::kPaper) {
    return divergence(p.detach(), s).sum(-1).mean();
  }
  const auto both = [&](const at::Tensor& a, const at::Tensor& b) {
    return divergence(a, b).mean() + divergence(b, a).mean();
  };
  at::Tensor loss = both(p.detach(), s) * student_share;
  if (student_share < 1) {
    loss = loss + both(p, s.detach()) * (1 - student_share);
  }
  return loss;
}

SeqpeShifted sample_shifted(const SeqpeSampling& sampling, std::int64_t trained, std::int64_t groups,
                            std::mt19937_64& random) {
  std::vector<Position> teacher;
  std::vector<Position> student;
  const bool flat = sampling.dimensions == 1;
  for (std::int64_t group = 0; group < groups; ++group) {
    CandidateSet set(sampling, {-1, -1}, random);
    set.fill(static_cast<std::size_t>(sampling.candidates), {0, 0}, {trained, flat ? 1 : trained});
    const Position shift{below(sampling.limit - trained + 1, random),
                         flat ? 0 : below(sampling.limit - trained + 1, random)};
    for (const Position& position : set.chosen()) {
      teacher.push_back(position);
      student.push_back({position[0] + shift[0], position[1] + shift[1]});
    }
  }
  const auto shaped = [&](const std::vector<Position>& positions) {
    return packed(positions, sampling.dimensions).view({groups, sampling.candidates, sampling.dimensions});
  };
  return {shaped(teacher), shaped(student)};
}

std::int64_t random_start(std::int64_t length, std::int64_t limit, double share, std::mt19937_64& random) {
  return unit(random) < share && limit > length ? below(limit - length, random) : 0;
}

}  // namespace locus::position

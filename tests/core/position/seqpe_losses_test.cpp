// What SeqPE's losses do to its embeddings (Li et al. 2025, §3.3, §3.4, Fig. 2), and the positions they are taken at.
#include "core/position/seqpe/losses.h"

#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "core/position/list.h"
#include "core/position/seqpe/seqpe.h"
#include "tests/support/golden.h"

namespace locus {
namespace {

using position::Positions;

constexpr std::int64_t kWidth = 32;

// Adam (Kingma and Ba 2015) over an encoding's parameters.
class Adam {
 public:
  // Every parameter starts to require gradients.
  Adam(const std::vector<position::Parameter>& parameters, double rate) : rate_(rate) {
    for (const position::Parameter& parameter : parameters) {
      parameter.value->requires_grad_();
      slots_.push_back({*parameter.value, at::zeros_like(*parameter.value), at::zeros_like(*parameter.value)});
    }
  }

  // Back-propagates a loss and moves every parameter that it reaches.
  void step(const at::Tensor& loss) {
    loss.backward();
    const at::NoGradGuard no_gradients;
    ++steps_;
    const double first = 1 - std::pow(0.9, steps_);
    const double second = 1 - std::pow(0.999, steps_);
    for (Slot& slot : slots_) {
      at::Tensor& gradient = slot.value.mutable_grad();
      if (!gradient.defined()) {
        continue;
      }
      slot.mean.mul_(0.9).add_(gradient, 0.1);
      slot.square.mul_(0.999).addcmul_(gradient, gradient, 0.001);
      slot.value.addcdiv_(slot.mean, (slot.square / second).sqrt_().add_(1e-8), -rate_ / first);
      gradient.zero_();
    }
  }

 private:
  struct Slot {
    at::Tensor value, mean, square;
  };
  double rate_;
  int steps_ = 0;
  std::vector<Slot> slots_;
};

// A small SeqPE whose matrices are as large as the authors' at their width of 768: 0.02·√(768/32).
std::unique_ptr<position::PositionEncoding> small_encoding(std::int64_t dimensions = 1) {
  position::ModelShape shape;
  shape.heads = shape.kv_heads = 2;
  shape.width = kWidth;
  shape.head_width = kWidth / 2;
  auto encoding = *position::make_encoding("seqpe", {{"dimensions", dimensions}}, shape);
  for (const position::Parameter& parameter : encoding->parameters()) {
    if (parameter.value->dim() >= 2) {
      *parameter.value = at::randn(parameter.value->sizes()) * 0.1;
    }
  }
  return encoding;
}

const position::SeqpeEncoder& encoder_of(const position::PositionEncoding& encoding) {
  return static_cast<const position::Seqpe&>(encoding).encoder();
}

at::Tensor distance_loss(const position::SeqpeEncoder& encoder, const position::SeqpeDistances& distances) {
  const std::int64_t count = distances.pivots.size(0);
  const at::Tensor all = encoder.encode(at::cat({distances.pivots, distances.candidates.flatten(0, 1)}));
  return position::seqpe_distance_loss(all.slice(0, 0, count), all.slice(0, count).view({count, -1, all.size(1)}),
                                       distances.labels);
}

at::Tensor transfer_loss(const position::SeqpeEncoder& encoder, const position::SeqpeShifted& shifted,
                         position::SeqpeTransfer form) {
  const auto encode = [&](const at::Tensor& positions) {
    return encoder.encode(positions.flatten(0, 1)).view({positions.size(0), positions.size(1), -1});
  };
  return position::seqpe_transfer_loss(encode(shifted.teacher), encode(shifted.student), 2, form);
}

TEST(SeqpeLosses, CandidatesAreDistinctNearAndFar) {
  for (const std::int64_t dimensions : {1, 2}) {
    position::SeqpeSampling sampling;
    sampling.dimensions = dimensions;
    sampling.limit = dimensions == 1 ? 20000 : 100;
    std::mt19937_64 random(3);
    const position::SeqpeDistances distances = position::sample_distances(sampling, 300, random);
    EXPECT_EQ(distances.pivots.sizes(), at::IntArrayRef({300, dimensions}));
    EXPECT_EQ(distances.candidates.sizes(), at::IntArrayRef({300, 32, dimensions}));
    EXPECT_TRUE(distances.candidates.ge(0).logical_and(distances.candidates.lt(sampling.limit)).all().item<bool>());
    std::int64_t local = 0;
    for (std::int64_t pivot = 0; pivot < 300; ++pivot) {
      const at::Tensor set = distances.candidates[pivot];
      std::set<std::vector<std::int64_t>> seen{
          {distances.pivots[pivot][0].item<std::int64_t>(), distances.pivots[pivot][-1].item<std::int64_t>()}};
      for (std::int64_t index = 0; index < 32; ++index) {
        EXPECT_TRUE(seen.insert({set[index][0].item<std::int64_t>(), set[index][-1].item<std::int64_t>()}).second);
      }
      const std::int64_t spread = (std::get<0>(set.max(0)) - std::get<0>(set.min(0))).max().item<std::int64_t>();
      local += spread <= (dimensions == 1 ? 257 : 17) ? 1 : 0;
      const at::Tensor squared = (set - distances.pivots[pivot]).pow(2).sum(-1);
      EXPECT_EQ(squared.min().item<std::int64_t>(),
                squared[distances.labels[pivot].item<std::int64_t>()].item<std::int64_t>());
    }
    EXPECT_NEAR(static_cast<double>(local) / 300, 0.6, 0.12);
  }
}

// Digits of the pivot come back in the edited candidates of a global set far more often than by chance.
TEST(SeqpeLosses, GlobalSetsHoldPositionsWithAlikeDigits) {
  position::SeqpeSampling sampling;
  sampling.local_share = 0;
  const auto shared_digits = [&](double edits) {
    sampling.digit_edits = edits;
    std::mt19937_64 random(5);
    const position::SeqpeDistances distances = position::sample_distances(sampling, 200, random);
    const auto encoding = small_encoding();
    const at::Tensor pivots = encoder_of(*encoding).digits(distances.pivots);
    const at::Tensor candidates = encoder_of(*encoding).digits(distances.candidates.flatten(0, 1)).view({200, 32, 5});
    return candidates.eq(pivots.unsqueeze(1)).slice(2, 1).to(at::kDouble).mean().item<double>();
  };
  EXPECT_GT(shared_digits(0.25), shared_digits(0) + 0.03);
}

TEST(SeqpeLosses, ShiftedGroupsKeepTheirShape) {
  for (const std::int64_t dimensions : {1, 2}) {
    position::SeqpeSampling sampling;
    sampling.dimensions = dimensions;
    sampling.limit = dimensions == 1 ? 20000 : 100;
    const std::int64_t trained = dimensions == 1 ? 512 : 14;
    std::mt19937_64 random(3);
    const position::SeqpeShifted shifted = position::sample_shifted(sampling, trained, 20, random);
    EXPECT_TRUE(shifted.teacher.lt(trained).all().item<bool>());
    EXPECT_TRUE(shifted.student.lt(sampling.limit).all().item<bool>());
    const at::Tensor shift = shifted.student - shifted.teacher;
    EXPECT_TRUE(shift.eq(shift.slice(1, 0, 1)).all().item<bool>());
    EXPECT_GT(shift.max().item<std::int64_t>(), trained);
    EXPECT_TRUE(dimensions == 1 || !shift.select(2, 0).equal(shift.select(2, 1))) << "rows and columns move alike";
  }
}

TEST(SeqpeLosses, StartsAreMovedForTheGivenShare) {
  std::mt19937_64 random(9);
  std::int64_t moved = 0;
  for (int draw = 0; draw < 2000; ++draw) {
    const std::int64_t start = position::random_start(512, 20000, 0.1, random);
    EXPECT_GE(start, 0);
    EXPECT_LT(start, 20000 - 512);
    moved += start > 0 ? 1 : 0;
  }
  EXPECT_NEAR(static_cast<double>(moved) / 2000, 0.1, 0.03);
  EXPECT_EQ(position::random_start(512, 512, 1.0, random), 0);
}

// App. A.5: every shifted sequence of a batch has a start of its own, and those of a batch that is cut are the same.
TEST(SeqpeLosses, EveryShiftedSequenceHasItsOwnStart) {
  constexpr std::int64_t length = 16;
  constexpr std::int64_t count = 400;
  const std::int64_t limit = 5000;
  const auto encoding = [&](double share, std::int64_t dimensions, std::int64_t longest) {
    position::ModelShape shape;
    shape.heads = shape.kv_heads = 2;
    shape.width = kWidth;
    shape.head_width = kWidth / 2;
    return *position::make_encoding("seqpe", {{"dimensions", dimensions}, {"shift", share}, {"longest", longest}},
                                    shape);
  };
  // Positions of each sequence, those that stay first.
  const auto batch = [](const position::PositionEncoding& made, const Positions& natural, Range sequences) {
    std::vector<at::Tensor> rows;
    const auto groups = made.training_positions(natural, sequences, 11);
    EXPECT_TRUE(groups.ok());
    for (const position::TrainingPositions& group : *groups) {
      EXPECT_EQ(group.positions.prefix, natural.prefix);
      rows.insert(rows.end(), static_cast<std::size_t>(group.sequences), group.positions.ids);
    }
    EXPECT_EQ(static_cast<std::int64_t>(rows.size()), sequences.size());
    return at::stack(rows);
  };
  const Positions natural = Positions::sequence(length);
  const at::Tensor rows = batch(*encoding(0.25, 1, limit), natural, {0, count});  // (B, T)
  const at::Tensor starts = rows.select(1, 0);
  EXPECT_TRUE((rows - starts.unsqueeze(1)).equal(natural.ids.expand({count, length})))
      << "the context keeps its length";
  EXPECT_GE(starts.min().item<double>(), 0);
  EXPECT_LT(starts.max().item<double>(), static_cast<double>(limit - length));
  const at::Tensor moved = starts.masked_select(starts > 0);
  EXPECT_NEAR(static_cast<double>(moved.numel()) / static_cast<double>(count), 0.25, 0.07);
  EXPECT_GT(std::get<0>(at::_unique(moved)).numel(), moved.numel() - 5) << "starts are shared";
  const at::Tensor cut = at::cat(
      {batch(*encoding(0.25, 1, limit), natural, {0, 150}), batch(*encoding(0.25, 1, limit), natural, {150, count})});
  EXPECT_TRUE(std::get<0>(cut.select(1, 0).sort()).equal(std::get<0>(starts.sort())));
  EXPECT_TRUE(batch(*encoding(0, 1, limit), natural, {0, 5}).equal(natural.ids.expand({5, length})));
  // Rows and columns of a grid move by themselves; the class token stays.
  const Positions grid = Positions::grid(3, 4);
  const at::Tensor patches = batch(*encoding(1, 2, 50), grid, {0, 40});  // (B, 1 + 12, 2)
  const at::Tensor corner = patches.select(1, 1);
  EXPECT_TRUE((patches.slice(1, 1) - corner.unsqueeze(1)).equal(grid.ids.slice(0, 1).expand({40, 12, 2})));
  EXPECT_EQ(patches.select(1, 0).abs().max().item<double>(), 0);
  EXPECT_FALSE(corner.select(1, 0).equal(corner.select(1, 1)));
  EXPECT_LT(corner.select(1, 0).max().item<double>(), 47);
  EXPECT_LT(corner.select(1, 1).max().item<double>(), 46);
}

TEST(SeqpeLosses, TheTeacherIsNotTrained) {
  const at::Tensor teacher = at::randn({2, 5, 8}).requires_grad_();
  const at::Tensor student = at::randn({2, 5, 8}).requires_grad_();
  for (const auto form : {position::SeqpeTransfer::kPaper, position::SeqpeTransfer::kCode}) {
    position::seqpe_transfer_loss(teacher, student, 2, form).backward();
    EXPECT_FALSE(teacher.grad().defined());
    EXPECT_GT(student.grad().abs().max().item<double>(), 0);
  }
  position::seqpe_transfer_loss(teacher, student, 2, position::SeqpeTransfer::kCode, 0.8).backward();
  EXPECT_TRUE(teacher.grad().defined());
}

TEST(SeqpeLosses, ThePapersTransferLossIsTheDivergenceOfRows) {
  const at::Tensor teacher = at::randn({3, 5, 8});
  const at::Tensor student = at::randn({3, 5, 8});
  double wanted = 0;
  for (std::int64_t group = 0; group < 3; ++group) {
    for (std::int64_t head = 0; head < 2; ++head) {
      const at::Tensor a = teacher[group].slice(1, 4 * head, 4 * head + 4);
      const at::Tensor b = student[group].slice(1, 4 * head, 4 * head + 4);
      const at::Tensor p = at::softmax(at::matmul(a, a.t()), -1);
      const at::Tensor s = at::softmax(at::matmul(b, b.t()), -1);
      wanted += (p * (p / s).log()).sum().item<double>() / 5;
    }
  }
  EXPECT_NEAR(position::seqpe_transfer_loss(teacher, student, 2, position::SeqpeTransfer::kPaper).item<double>(),
              wanted / 6, 1e-4);
  EXPECT_NEAR(position::seqpe_transfer_loss(teacher, teacher, 2, position::SeqpeTransfer::kPaper).item<double>(), 0,
              1e-6);
}

TEST(SeqpeLosses, BothLossesFallWhenTrained) {
  at::manual_seed(1);
  position::SeqpeSampling sampling;
  sampling.limit = 4096;
  std::mt19937_64 random(1);
  const position::SeqpeDistances distances = position::sample_distances(sampling, 6, random);
  const position::SeqpeShifted shifted = position::sample_shifted(sampling, 64, 2, random);
  const auto value = [&](const position::PositionEncoding& encoding, int which) {
    const position::SeqpeEncoder& encoder = encoder_of(encoding);
    return which == 0 ? distance_loss(encoder, distances)
                      : transfer_loss(encoder, shifted,
                                      which == 1 ? position::SeqpeTransfer::kPaper : position::SeqpeTransfer::kCode);
  };
  for (int which = 0; which < 3; ++which) {
    const auto encoding = small_encoding();
    const double before = value(*encoding, which).item<double>();
    Adam adam(encoding->parameters(), 2e-3);
    for (int step = 0; step < 40; ++step) {
      adam.step(value(*encoding, which));
    }
    EXPECT_LT(value(*encoding, which).item<double>(), 0.7 * before) << which;
  }
}

// A main task that needs positions: one causal layer with random tokens has to name the token before each one.
class Recall {
 public:
  explicit Recall(const position::PositionEncoding& encoding) : encoding_(encoding) {}

  void append_parameters(std::vector<position::Parameter>& list) {
    list.insert(list.end(), {{"embedding", &embedding_}, {"q", &query_}, {"k", &key_}, {"v", &value_}, {"o", &head_}});
  }

  // Cross-entropy over 8 sequences of 64, one in ten of them moved to a random start below `limit`.
  at::Tensor loss(std::int64_t limit, std::mt19937_64& random) const {
    constexpr std::int64_t length = 64;
    const auto start = static_cast<double>(position::random_start(length, limit, 0.1, random));
    const at::Tensor ids = at::randint(16, {8, length}, at::kLong);
    const at::Tensor x = at::embedding(embedding_, ids);
    const auto by_head = [&](const at::Tensor& weight) {
      return at::linear(x, weight).unflatten(-1, {2, -1}).transpose(1, 2);
    };
    const position::State state = encoding_.begin(Positions::sequence(length, start), 8);
    const position::Prepared prepared = encoding_.prepare(state, 0, {by_head(query_), by_head(key_), {}, x});
    const at::Tensor logits = encoding_.score(prepared, {0, {0, 2}, {0, length}, {0, length}}).logits;
    const at::Tensor hidden = at::ones({length, length}, at::kBool).triu(1);
    const at::Tensor weights = at::softmax(logits.masked_fill(hidden, -INFINITY), -1);
    const at::Tensor y = at::linear(at::matmul(weights, by_head(value_)).transpose(1, 2).flatten(2), head_);
    return at::cross_entropy_loss(y.slice(1, 1).flatten(0, 1), ids.slice(1, 0, length - 1).flatten());
  }

 private:
  const position::PositionEncoding& encoding_;
  at::Tensor embedding_ = at::randn({16, kWidth});
  at::Tensor query_ = at::randn({kWidth, kWidth}) * 0.1;
  at::Tensor key_ = at::randn({kWidth, kWidth}) * 0.1;
  at::Tensor value_ = at::randn({kWidth, kWidth}) * 0.2;
  at::Tensor head_ = at::randn({16, kWidth}) * 0.2;
};

// How much more alike positions `offset` apart are than positions one to four more or less apart, the mean over all
// positions below 2048, in units of ⟨e_i, e_i⟩ − ⟨e_i, e_j⟩ over all pairs.
double excess(const at::Tensor& products, std::int64_t offset) {
  const auto alike = [&](std::int64_t distance) { return products.diagonal(distance).mean().item<double>(); };
  double neighbours = 0;
  for (std::int64_t step = 1; step <= 4; ++step) {
    neighbours += (alike(offset - step) + alike(offset + step)) / 8;
  }
  return (alike(offset) - neighbours) / (alike(0) - products.mean().item<double>());
}

struct Trained {
  double loss = 0;  // of the main task, the mean of the last steps
  double excess_100 = 0;
  double excess_1000 = 0;
};

Trained train(double alpha, std::uint64_t seed) {
  constexpr int steps = 120;
  at::manual_seed(seed);
  std::mt19937_64 random(seed);
  const auto encoding = small_encoding();
  Recall recall(*encoding);
  std::vector<position::Parameter> parameters = encoding->parameters();
  recall.append_parameters(parameters);
  Adam adam(parameters, 3e-3);
  position::SeqpeSampling sampling;
  sampling.limit = 2048;
  Trained trained;
  for (int step = 0; step < steps; ++step) {
    at::Tensor loss = recall.loss(sampling.limit, random);
    trained.loss += step < steps - 20 ? 0 : loss.item<double>() / 20;
    if (alpha > 0) {
      const auto distances = position::sample_distances(sampling, 4, random);
      loss = loss + alpha * distance_loss(encoder_of(*encoding), distances);
    }
    adam.step(loss);
  }
  const at::NoGradGuard no_gradients;
  const at::Tensor table = encoding->begin(Positions::sequence(2048), 1).table;
  const at::Tensor products = at::matmul(table, table.t());
  trained.excess_100 = excess(products, 100);
  trained.excess_1000 = excess(products, 1000);
  return trained;
}

// Fig. 2: positions 100 or 1000 apart look alike because their digits do, unless L_δ is trained along. α is 1 where the
// authors have 0.1: 120 steps of 4 pivots stand for their 100,000 of 32.
TEST(SeqpeLosses, TheDistanceLossTakesAwayTheLikenessOfDigits) {
  for (const std::uint64_t seed : {0, 1, 2}) {
    const Trained without = train(0.0, seed);
    const Trained with = train(1.0, seed);
    EXPECT_LT(without.loss, 2.6);  // of ln 16 = 2.77: the main task is learned either way
    EXPECT_LT(with.loss, 2.6);
    EXPECT_GT(without.excess_100, 0.05);
    EXPECT_GT(without.excess_1000, 0.05);
    EXPECT_LT(std::abs(with.excess_100), 0.25 * without.excess_100);
    EXPECT_LT(std::abs(with.excess_1000), 0.25 * without.excess_1000);
  }
}

}  // namespace
}  // namespace locus

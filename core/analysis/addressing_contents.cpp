// Addressing of encodings that turn no pairs: those that add to the content, in closed form; all others by scoring
// keys with other contents at their places. Where a cell depends on its place and its content alone, every cell is
// scored: arrangement s = 0 … n − 1 has content (j + s) mod n at place j. Where it depends on what stands between too,
// contents are permuted, and every sum is estimated without bias:
//   • half of the permutations make a guess L0[j, c] = μ0 + α[j] + β[c] of what is place and what is word;
//   • the other half measures the rest R = L − L0, a cell (j, π(j)) of a permutation weighing n p_j p_π(j); of them one
//     quarter each gives a[j] and b[c], and their product is a square without the variance of the mean;
//   • then the halves change their parts.
#include <algorithm>
#include <numeric>
#include <random>

#include "core/analysis/addressing_parts.h"
#include "core/position/shared/adds_to_content.h"

namespace locus::analysis {

namespace {

constexpr std::int64_t kMaxNumbers = std::int64_t{1} << 23;  // of the tensors of one batch of arrangements
constexpr std::int64_t kFolds = 4;

at::Tensor as_tensor(const std::vector<std::int64_t>& list) {
  return at::tensor(at::ArrayRef<std::int64_t>(list), at::kLong);
}

double weighted_sum(const std::vector<double>& p, const std::vector<double>& x) {
  return std::inner_product(p.begin(), p.end(), x.begin(), 0.0);
}

// Σ p x y − (Σ p x)(Σ p y) about the means of the lists.
double covariance_of(const std::vector<double>& p, const std::vector<double>& x, const std::vector<double>& y) {
  const double mx = weighted_sum(p, x);
  const double my = weighted_sum(p, y);
  double sum = 0;
  for (std::size_t n = 0; n < p.size(); ++n) {
    sum += p[n] * (x[n] - mx) * (y[n] - my);
  }
  return sum;
}

// Effects of the keys `seen`, in a row over `keys`; others are NaN.
at::Tensor spread_over(const std::vector<double>& effects, const std::vector<std::int64_t>& seen, Range keys) {
  at::Tensor row = at::full({keys.size()}, std::numeric_limits<double>::quiet_NaN(), at::kDouble);
  for (std::size_t n = 0; n < seen.size(); ++n) {
    row.data_ptr<double>()[seen[n] - keys.begin] = effects[n];
  }
  return row;
}

// What one query's arrangements say.
struct RowSplit {
  double place = 0, word = 0, both = 0, mean = 0;
  std::vector<double> place_effect, word_effect;  // (n)
};

void append_row(QueryParts& parts, const RowSplit& row, const std::vector<std::int64_t>& seen, Range keys,
                bool effects) {
  parts.place.push_back(row.place);
  parts.word.push_back(row.word);
  parts.both.push_back(row.both);
  if (!effects) {
    return;
  }
  const auto below = [](const at::Tensor& rows, const at::Tensor& next) {
    return rows.defined() ? at::cat({rows, next.unsqueeze(0)}) : next.unsqueeze(0);
  };
  parts.place_effect = below(parts.place_effect, spread_over(row.place_effect, seen, keys));
  parts.word_effect = below(parts.word_effect, spread_over(row.word_effect, seen, keys));
  const at::Tensor mean = at::full({1}, row.mean, at::kDouble);
  parts.mean = parts.mean.defined() ? at::cat({parts.mean, mean}) : mean;
}

class SumSplit final : public AddressingSplit {
 public:
  explicit SumSplit(const AddressingSource& source) : source_(source) {}

  AddressingWay way() const override { return AddressingWay::kSum; }
  double cells(std::int64_t /*keys*/) const override { return 0; }

  Result<std::vector<QueryParts>> split(const QueryBlock& block, Range heads, const PartsWanted& wanted,
                                        const StopToken& stop) override {
    std::vector<at::Tensor> places;
    std::vector<at::Tensor> words;
    for (const std::int64_t query : block.queries) {
      if (stop.stop_requested()) {
        return cancelled();
      }
      const auto [place, word] = effects(heads, query, block.keys);
      places.push_back(place);
      words.push_back(word);
    }
    std::vector<QueryParts> all;
    for (std::int64_t n = 0; n < heads.size(); ++n) {
      const at::Tensor weights = block.weights[n];
      const at::Tensor hidden = weights == 0;
      const auto rows = [&](const std::vector<at::Tensor>& list) {
        std::vector<at::Tensor> own;
        std::ranges::transform(list, std::back_inserter(own), [n](const at::Tensor& each) { return each[n]; });
        return at::stack(own).masked_fill(hidden, 0.0);
      };
      const at::Tensor place = rows(places);
      const at::Tensor word = rows(words);
      QueryParts parts;
      const auto list = [](const at::Tensor& numbers) {
        return std::vector<double>(numbers.data_ptr<double>(), numbers.data_ptr<double>() + numbers.numel());
      };
      parts.place = list(weighted_variance(weights, place).contiguous());
      parts.word = list(weighted_variance(weights, word).contiguous());
      parts.both.assign(parts.place.size(), 0.0);
      if (wanted.effects) {
        const at::Tensor of_place = (weights * place).sum(1, true);
        const at::Tensor of_word = (weights * word).sum(1, true);
        parts.place_effect = place - of_place;
        parts.word_effect = word - of_word;
        parts.mean = (of_place + of_word).squeeze(1);
      }
      all.push_back(std::move(parts));
    }
    return all;
  }

  Result<at::Tensor> table(std::int64_t head, std::int64_t query, const std::vector<std::int64_t>& keys) override {
    const auto [place, word] = effects({head, head + 1}, query, {0, keys.back() + 1});
    const at::Tensor which = as_tensor(keys);
    return place[0].index_select(0, which).unsqueeze(1) + word[0].index_select(0, which).unsqueeze(0);
  }

 private:
  // (h, K) float64: what a query's place adds to each key, and the content.
  std::pair<at::Tensor, at::Tensor> effects(Range heads, std::int64_t query, Range keys) const {
    const position::Tile tile{source_.scores.layer(), heads, {query, query + 1}, keys};
    const position::TileScores scores =
        source_.scores.encoding().score(source_.scores.prepared(), tile, {.content = true});
    const at::Tensor content = scores.content.select(0, 0).select(1, 0).to(at::kCPU, at::kDouble);
    return {scores.logits.select(0, 0).select(1, 0).to(at::kCPU, at::kDouble) - content, content};
  }

  AddressingSource source_;
};

// A layer whose keys get other contents.
class Rearranged {
 public:
  explicit Rearranged(const AddressingSource& source)
      : source_(source), prepared_(source.scores.prepared()), again_(source.scores.encoding().description().rotates) {}

  std::int64_t keys() const { return prepared_.key.size(2); }

  // (B, h, n) float64: logits of a query over the keys `seen`, content arranged[b][j] standing at place j, both as
  // numbers within `seen`. arranged (B, n) int64.
  at::Tensor logits(Range heads, std::int64_t query, const std::vector<std::int64_t>& seen,
                    const at::Tensor& arranged) const {
    const std::int64_t end = again_ ? keys() : std::max(seen.back(), query) + 1;
    const std::int64_t heavy =
        end * (prepared_.key.size(1) + (again_ ? prepared_.query.size(1) : 0)) * prepared_.key.size(3);
    const std::int64_t step = std::max<std::int64_t>(kMaxNumbers / std::max<std::int64_t>(heavy, 1), 1);
    std::vector<at::Tensor> parts;
    for (std::int64_t begin = 0; begin < arranged.size(0); begin += step) {
      parts.push_back(some_logits(heads, query, seen, arranged.slice(0, begin, begin + step), end));
    }
    return at::cat(parts);
  }

 private:
  at::Tensor some_logits(Range heads, std::int64_t query, const std::vector<std::int64_t>& seen,
                         const at::Tensor& arranged, std::int64_t end) const {
    const std::int64_t batch = arranged.size(0);
    const at::Tensor places = as_tensor(seen);
    at::Tensor tokens = at::arange(end, at::kLong).expand({batch, -1}).clone();
    tokens.index_copy_(1, places, places.index_select(0, arranged.flatten()).view_as(arranged));
    // (1, X, T, W) -> (B, X, end, W), other contents at each place, or the same.
    const auto moved = [&](const at::Tensor& own) {
      const at::Tensor which = tokens.flatten().to(own.device());
      return own.select(0, 0).index_select(1, which).view({own.size(1), batch, end, own.size(3)}).transpose(0, 1);
    };
    const auto same = [&](const at::Tensor& own) { return own.slice(2, 0, end).expand({batch, -1, -1, -1}); };
    const position::PositionEncoding& encoding = source_.scores.encoding();
    position::Prepared other;
    if (again_) {
      position::Projections projections;
      projections.query = same(prepared_.content_query);
      projections.key = moved(prepared_.content_key);
      // Gates are made of these, and those of the run stand in their place below.
      projections.value = projections.key;
      projections.hidden = at::zeros({batch, end, encoding.shape().width}, projections.key.options());
      other = encoding.prepare(state(batch), source_.scores.layer(), projections);
      other.gate_query = other.gate_key = at::Tensor();
    } else {
      other.query = same(prepared_.query);
      other.key = moved(prepared_.key);
      other.positions = prepared_.positions.slice({0, end});
    }
    const bool own_gates = encoding.description().forgets;  // of the tokens, not of the query
    if (prepared_.gate_query.defined()) {
      other.gate_query = own_gates ? moved(prepared_.gate_query) : same(prepared_.gate_query);
    }
    if (prepared_.gate_key.defined()) {
      other.gate_key = moved(prepared_.gate_key);
    }
    const position::Tile tile{source_.scores.layer(), heads, {query, query + 1}, {0, end}};
    const at::Tensor logits = encoding.score(other, tile).logits.to(at::kCPU, at::kDouble);
    return logits.select(2, 0).index_select(2, places);
  }

  position::State state(std::int64_t batch) const {
    if (source_.state == nullptr) {
      return source_.scores.encoding().begin(prepared_.positions, batch);
    }
    position::State state = *source_.state;
    std::vector<std::int64_t> shape = state.table.sizes().vec();
    shape.front() = batch;
    state.table = state.table.expand(shape);
    return state;
  }

  AddressingSource source_;
  const position::Prepared& prepared_;
  bool again_;  // contents go through prepare(), which gives them the places' part
};

// Splits a table whose cells depend on place and content alone, by the n arrangements that turn it.
class TableSplit : public AddressingSplit {
 public:
  explicit TableSplit(const AddressingSource& source) : source_(source), layer_(source) {}

  AddressingWay way() const override { return AddressingWay::kTable; }
  double cells(std::int64_t keys) const override { return static_cast<double>(keys) * static_cast<double>(keys); }

  Result<std::vector<QueryParts>> split(const QueryBlock& block, Range heads, const PartsWanted& wanted,
                                        const StopToken& stop) override {
    std::vector<QueryParts> all(index(heads.size()));
    for (std::size_t n = 0; n < block.queries.size(); ++n) {
      if (stop.stop_requested()) {
        return cancelled();
      }
      const std::vector<std::int64_t> seen = keys_of(source_.field.mask(), block.queries[n], layer_.keys());
      const std::vector<RowSplit> rows = split_row(heads, block.queries[n], seen, [&](std::size_t head) {
        std::vector<double> weights;
        const at::Tensor row = block.weights[static_cast<std::int64_t>(head)][static_cast<std::int64_t>(n)];
        std::ranges::transform(seen, std::back_inserter(weights),
                               [&](std::int64_t key) { return row.data_ptr<double>()[key - block.keys.begin]; });
        return weights;
      });
      for (std::size_t head = 0; head < all.size(); ++head) {
        append_row(all[head], rows[head], seen, block.keys, wanted.effects);
      }
    }
    return all;
  }

  Result<at::Tensor> table(std::int64_t head, std::int64_t query, const std::vector<std::int64_t>& keys) override {
    const auto count = static_cast<std::int64_t>(keys.size());
    const at::Tensor shifts = shifted(count);  // content of place j in arrangement s
    const at::Tensor logits = layer_.logits({head, head + 1}, query, keys, shifts).select(1, 0);  // (s, j)
    at::Tensor cells = at::empty({count, count}, at::kDouble);
    return cells.scatter_(1, shifts.t().contiguous(), logits.t().contiguous());
  }

 protected:
  using WeightsOf = std::function<std::vector<double>(std::size_t head)>;

  virtual std::vector<RowSplit> split_row(Range heads, std::int64_t query, const std::vector<std::int64_t>& seen,
                                          const WeightsOf& weights_of) const {
    const auto count = static_cast<std::int64_t>(seen.size());
    const at::Tensor shifts = shifted(count);
    const at::Tensor logits = layer_.logits(heads, query, seen, shifts).contiguous();  // (s, h, j)
    std::vector<RowSplit> rows;
    for (std::int64_t head = 0; head < heads.size(); ++head) {
      rows.push_back(
          of_table(logits.data_ptr<double>() + head * count, heads.size() * count, shifts, weights_of(index(head))));
    }
    return rows;
  }

  const AddressingSource source_;
  const Rearranged layer_;

 private:
  // (n, n) int64 (j + s) mod n.
  static at::Tensor shifted(std::int64_t count) {
    const at::Tensor places = at::arange(count, at::kLong);
    return (places.unsqueeze(1) + places).remainder(count);
  }

  // `logits` of arrangement s begin at s · stride.
  static RowSplit of_table(const double* logits, std::int64_t stride, const at::Tensor& shifts,
                           const std::vector<double>& p) {
    const auto count = static_cast<std::int64_t>(p.size());
    const std::int64_t* const content = shifts.data_ptr<std::int64_t>();
    std::vector<double> place(p.size());
    std::vector<double> word(p.size());
    const auto each = [&](const auto& visit) {
      for (std::int64_t s = 0; s < count; ++s) {
        for (std::int64_t j = 0; j < count; ++j) {
          visit(index(j), index(content[s * count + j]), logits[s * stride + j]);
        }
      }
    };
    each([&](std::size_t j, std::size_t c, double logit) {
      place[j] += p[c] * logit;
      word[c] += p[j] * logit;
    });
    RowSplit row;
    row.mean = weighted_sum(p, place);
    row.place = covariance_of(p, place, place);
    row.word = covariance_of(p, word, word);
    each([&](std::size_t j, std::size_t c, double logit) {
      const double rest = logit - place[j] - word[c] + row.mean;
      row.both += p[j] * p[c] * rest * rest;
    });
    for (std::size_t n = 0; n < p.size(); ++n) {
      row.place_effect.push_back(place[n] - row.mean);
      row.word_effect.push_back(word[n] - row.mean);
    }
    return row;
  }
};

// ArrangedSamples of one row: in arrangement s content[s][j] stands at place j and has logits[s][j].
struct ArrangedSamples {
  const std::int64_t* content;
  const double* logits;
  std::int64_t stride;  // of logits, from one arrangement to the next
  std::int64_t count;   // n
  const std::vector<double>& p;

  template <class Visit>
  void each(std::int64_t arrangement, const Visit& visit) const {
    for (std::int64_t j = 0; j < count; ++j) {
      visit(index(j), index(content[arrangement * count + j]), logits[arrangement * stride + j]);
    }
  }
};

// L0[j, c] = mean + place[j] + word[c], from some arrangements.
struct EffectGuess {
  double mean = 0;
  std::vector<double> place, word;

  EffectGuess(const ArrangedSamples& samples, const std::vector<std::int64_t>& arrangements)
      : place(samples.p.size()), word(samples.p.size()) {
    const double share = 1 / static_cast<double>(arrangements.size());
    for (const std::int64_t s : arrangements) {
      samples.each(s, [&](std::size_t j, std::size_t c, double logit) {
        place[j] += share * logit;
        word[c] += share * logit;
      });
    }
    mean = std::accumulate(place.begin(), place.end(), 0.0) / static_cast<double>(samples.count);
    for (std::size_t n = 0; n < place.size(); ++n) {
      place[n] -= mean;
      word[n] -= mean;
    }
  }
  double at(std::size_t j, std::size_t c) const { return mean + place[j] + word[c]; }
};

// What some arrangements say of the sums of L, with a guess of it.
struct EstimatedSums {
  std::vector<double> place, word;  // μ + a[j], μ + b[c]
  double mean = 0;                  // μ
  double squares = 0;               // Σ p p (L² − L0²)

  EstimatedSums(const ArrangedSamples& samples, const std::vector<std::int64_t>& arrangements, const EffectGuess& guess)
      : place(samples.p.size()), word(samples.p.size()) {
    const std::vector<double>& p = samples.p;
    const double share = static_cast<double>(samples.count) / static_cast<double>(arrangements.size());
    const double of_place = guess.mean + weighted_sum(p, guess.word);
    const double of_word = guess.mean + weighted_sum(p, guess.place);
    for (std::size_t n = 0; n < p.size(); ++n) {
      place[n] = of_place + guess.place[n];
      word[n] = of_word + guess.word[n];
    }
    mean = of_place + weighted_sum(p, guess.place);
    for (const std::int64_t s : arrangements) {
      samples.each(s, [&](std::size_t j, std::size_t c, double logit) {
        const double expected = guess.at(j, c);
        const double rest = share * (logit - expected);
        place[j] += p[c] * rest;
        word[c] += p[j] * rest;
        mean += p[j] * p[c] * rest;
        squares += p[j] * p[c] * rest * (logit + expected);
      });
    }
  }
};

RowSplit estimated(const ArrangedSamples& samples, std::int64_t arrangements) {
  std::array<std::vector<std::int64_t>, kFolds> folds;
  for (std::int64_t s = 0; s < arrangements; ++s) {
    folds[index(s % kFolds)].push_back(s);
  }
  const std::vector<double>& p = samples.p;
  RowSplit row;
  row.place_effect.resize(p.size());
  row.word_effect.resize(p.size());
  double variance = 0;
  for (std::size_t half = 0; half < 2; ++half) {
    std::vector<std::int64_t> others = folds[2 - 2 * half];
    others.insert(others.end(), folds[3 - 2 * half].begin(), folds[3 - 2 * half].end());
    const EffectGuess guess(samples, others);
    const EstimatedSums one(samples, folds[2 * half], guess);
    const EstimatedSums two(samples, folds[2 * half + 1], guess);
    const double square = one.mean * two.mean;
    double place = -square;
    double word = -square;
    for (std::size_t n = 0; n < p.size(); ++n) {
      place += p[n] * one.place[n] * two.place[n];
      word += p[n] * one.word[n] * two.word[n];
      row.place_effect[n] += (one.place[n] + two.place[n] - one.mean - two.mean) / kFolds;
      row.word_effect[n] += (one.word[n] + two.word[n] - one.mean - two.mean) / kFolds;
    }
    const double guessed = guess.mean + weighted_sum(p, guess.place) + weighted_sum(p, guess.word);
    variance += (guessed * guessed + covariance_of(p, guess.place, guess.place) +
                 covariance_of(p, guess.word, guess.word) + (one.squares + two.squares) / 2 - square) /
                2;
    row.place += place / 2;
    row.word += word / 2;
    row.mean += (one.mean + two.mean) / kFolds;
  }
  row.both = variance - row.place - row.word;
  return row;
}

class PermutedSplit final : public TableSplit {
 public:
  PermutedSplit(const AddressingSource& source, const AddressingOptions& options)
      : TableSplit(source), permutations_(options.permutations), seed_(options.seed) {}

  AddressingWay way() const override { return AddressingWay::kPermutations; }
  double cells(std::int64_t keys) const override {
    return static_cast<double>(keys) * static_cast<double>(permutations_);
  }
  Result<at::Tensor> table(std::int64_t /*head*/, std::int64_t /*query*/,
                           const std::vector<std::int64_t>& /*keys*/) override {
    return unsupported("the score of " + source_.scores.encoding().description().name +
                       " depends on what stands between query and key: a cell is no number of its own");
  }

 protected:
  std::vector<RowSplit> split_row(Range heads, std::int64_t query, const std::vector<std::int64_t>& seen,
                                  const WeightsOf& weights_of) const override {
    const auto count = static_cast<std::int64_t>(seen.size());
    const at::Tensor arranged = at::empty({permutations_, count}, at::kLong);
    std::mt19937_64 random(seed_ * 1'000'003 + static_cast<std::uint64_t>(query));
    for (std::int64_t s = 0; s < permutations_; ++s) {
      std::int64_t* const row = arranged.data_ptr<std::int64_t>() + s * count;
      std::iota(row, row + count, std::int64_t{0});
      std::shuffle(row, row + count, random);
    }
    const at::Tensor logits = layer_.logits(heads, query, seen, arranged).contiguous();
    std::vector<RowSplit> rows;
    for (std::int64_t head = 0; head < heads.size(); ++head) {
      const std::vector<double> weights = weights_of(index(head));
      rows.push_back(estimated({arranged.data_ptr<std::int64_t>(), logits.data_ptr<double>() + head * count,
                                heads.size() * count, count, weights},
                               permutations_));
    }
    return rows;
  }

 private:
  std::int64_t permutations_;
  std::uint64_t seed_;
};

}  // namespace

Split split_by_sum(const AddressingSource& source) {
  return std::make_unique<SumSplit>(source);
}

Result<Split> split_by_contents(const AddressingSource& source, const AddressingOptions& options, bool permutations) {
  const position::PositionEncoding& encoding = source.scores.encoding();
  const position::Description& about = encoding.description();
  const position::Prepared& prepared = source.scores.prepared();
  if (about.embeds && !prepared.content_key.defined()) {
    return unsupported("encoding " + about.name + " is part of its keys: they have no content apart from their place");
  }
  if (about.rotates && !(prepared.content_key.defined() && prepared.content_query.defined())) {
    return unsupported("this trace does not hold the queries and keys before encoding " + about.name + " changed them");
  }
  if (about.learns_positions) {
    return unsupported("encoding " + about.name +
                       " computes a token's position from its content: the two have no parts of their own");
  }
  if (about.rotates && !about.scores && !encoding.is_linear()) {
    return unsupported("encoding " + about.name +
                       " keeps contents that are not what the layer projects: they cannot be put elsewhere");
  }
  if (about.updates && source.state == nullptr) {
    return unsupported("this trace does not hold the state of encoding " + about.name);
  }
  if (permutations || about.has_gates || about.forgets || encoding.follows_between()) {
    return Split(std::make_unique<PermutedSplit>(source, options));
  }
  return Split(std::make_unique<TableSplit>(source));
}

}  // namespace locus::analysis

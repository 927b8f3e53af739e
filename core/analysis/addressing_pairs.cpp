// Addressing of encodings that turn pairs of channels, in closed form. With the query turned to each place,
//   L[j, c] = ⟨u_j, k_c⟩,  u_j^m = scale · q^m · z_j^m,  z_j^m = e^{−ιφ_j^m} · e^{decay_m·(p_i − p_j)}
// and k_c turned back, so that with p-weighted means ū and k̄
//   μ = ⟨ū, k̄⟩   a[j] = ⟨u_j − ū, k̄⟩   b[c] = ⟨ū, k_c − k̄⟩   e[j, c] = ⟨u_j − ū, k_c − k̄⟩
// and Σ p p e² = tr(A B) of the covariances A of u and B of k. For two pairs m and n these are, as complex numbers,
//   ½ Re( α conj(P) + β conj(N) ),  α = E u_m u_n,  β = E u_m conj(u_n),  P = E k_m k_n,  N = E k_m conj(k_n)
// where the moments of u are q_m q_n times those of z: one matrix product of the weights with all products of two
// columns gives the moments of all queries, O(n·D²) each. Shares alone are computed in tiles (addressing_moments.h);
// rows, spectra and what needs more digits here, in float64.
#include <ATen/Parallel.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include "core/analysis/addressing_moments.h"
#include "core/analysis/addressing_parts.h"
#include "core/attention/tasks.h"

namespace locus::analysis {

namespace {

constexpr std::int64_t kMaxProducts = std::int64_t{1} << 24;  // numbers of a matrix of products
constexpr std::int64_t kMaxKept = std::int64_t{1} << 26;      // of those of all keys that are kept

// (T, M) complex numbers as two float64 matrices.
struct Complexes {
  at::Tensor real, imaginary;

  Complexes slice(Range rows) const {
    return {real.slice(0, rows.begin, rows.end), imaginary.slice(0, rows.begin, rows.end)};
  }
  std::int64_t columns() const { return real.size(1); }
};

// Products of two columns of `values`: for m ≤ n the real and imaginary parts of x_m x_n, then of x_m conj(x_n).
void fill_products(const Complexes& values, double* out) {
  const std::int64_t pairs = values.columns();
  const std::int64_t width = pairs * (pairs + 1) / 2;
  const at::Tensor real = values.real.contiguous();
  const at::Tensor imaginary = values.imaginary.contiguous();
  at::parallel_for(0, values.real.size(0), 16, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t t = begin; t < end; ++t) {
      const double* const x = real.data_ptr<double>() + t * pairs;
      const double* const y = imaginary.data_ptr<double>() + t * pairs;
      double* to = out + t * 4 * width;
      for (std::int64_t m = 0; m < pairs; ++m) {
        const std::int64_t rest = pairs - m;
        for (std::int64_t n = 0; n < rest; ++n) {
          const double xx = x[m] * x[m + n];
          const double yy = y[m] * y[m + n];
          const double xy = x[m] * y[m + n];
          const double yx = y[m] * x[m + n];
          to[n] = xx - yy;
          to[width + n] = xy + yx;
          to[2 * width + n] = xx + yy;
          to[3 * width + n] = yx - xy;
        }
        to += rest;
      }
    }
  });
}

// The products of the columns of a matrix, computed by parts where they are many.
class Products {
 public:
  explicit Products(Complexes values) : values_(std::move(values)) {}

  const Complexes& values() const { return values_; }

  // (Q, 4N) means of the products with weights (Q, K) of the rows `keys`.
  at::Tensor means(const at::Tensor& weights, Range keys) {
    const std::int64_t most = std::max<std::int64_t>(kMaxProducts / width(), 64);
    if (values_.real.size(0) <= most) {  // kept for other heads and queries
      if (!kept_.defined()) {
        kept_ = products({0, values_.real.size(0)});
      }
      return at::matmul(weights, kept_.slice(0, keys.begin, keys.end));
    }
    at::Tensor sum = at::zeros({weights.size(0), width()}, at::kDouble);
    for (std::int64_t begin = keys.begin; begin < keys.end; begin += most) {
      const Range part{begin, std::min(begin + most, keys.end)};
      sum += at::matmul(weights.slice(1, part.begin - keys.begin, part.end - keys.begin), products(part));
    }
    return sum;
  }

 private:
  std::int64_t width() const { return 2 * values_.columns() * (values_.columns() + 1); }
  at::Tensor products(Range rows) const {
    const at::Tensor out = at::empty({rows.size(), width()}, at::kDouble);
    fill_products(values_.slice(rows), out.data_ptr<double>());
    return out;
  }

  Complexes values_;
  at::Tensor kept_;
};

// Central moments of one query: E x_m x_n and E x_m conj(x_n), less the products of the means.
struct Moments {
  const double* products;  // (4N)
  const double* real;      // (M) means
  const double* imaginary;
  std::int64_t pairs;

  // (S, D): real and imaginary part of each; `at` counts m ≤ n.
  std::array<double, 4> of(std::int64_t m, std::int64_t n, std::int64_t at) const {
    const std::int64_t width = pairs * (pairs + 1) / 2;
    const double x = real[m];
    const double y = imaginary[m];
    const double u = real[n];
    const double v = imaginary[n];
    return {products[at] - (x * u - y * v), products[width + at] - (x * v + y * u),
            products[2 * width + at] - (x * u + y * v), products[3 * width + at] - (y * u - x * v)};
  }
};

// Σ p p e² of one query, and where asked for the share of every pair: its covariance with the whole.
double interaction(const Moments& places, const Moments& keys, const double* real, const double* imaginary,
                   double* rows) {
  const std::int64_t pairs = places.pairs;
  double sum = 0;
  std::int64_t at = 0;
  for (std::int64_t m = 0; m < pairs; ++m) {
    for (std::int64_t n = m; n < pairs; ++n, ++at) {
      const auto [sr, si, dr, di] = places.of(m, n, at);
      const auto [pr, pi, nr, ni] = keys.of(m, n, at);
      // α = q_m q_n S, β = q_m conj(q_n) D
      const double qr = real[m] * real[n] - imaginary[m] * imaginary[n];
      const double qi = real[m] * imaginary[n] + imaginary[m] * real[n];
      const double cr = real[m] * real[n] + imaginary[m] * imaginary[n];
      const double ci = imaginary[m] * real[n] - real[m] * imaginary[n];
      const double half = 0.5 * ((qr * sr - qi * si) * pr + (qr * si + qi * sr) * pi + (cr * dr - ci * di) * nr +
                                 (cr * di + ci * dr) * ni);
      sum += n == m ? half : 2 * half;
      if (rows != nullptr) {
        rows[m] += half;
        if (n != m) {
          rows[n] += half;
        }
      }
    }
  }
  return sum;
}

// (Q, K) Re Σ_m w_m z_m, or Re Σ_m w_m conj(z_m).
at::Tensor real_products(const Complexes& queries, const Complexes& keys, bool conjugate) {
  const at::Tensor real = at::matmul(queries.real, keys.real.t());
  const at::Tensor imaginary = at::matmul(queries.imaginary, keys.imaginary.t());
  return conjugate ? real + imaginary : real - imaginary;
}

Complexes times(const Complexes& a, const Complexes& b, bool conjugate) {
  const at::Tensor imaginary = conjugate ? -b.imaginary : b.imaginary;
  return {a.real * b.real - a.imaginary * imaginary, a.real * imaginary + a.imaginary * b.real};
}

class PairSplit final : public AddressingSplit {
 public:
  PairSplit(PairLayer layer, CellWeights weights)
      : layer_(std::move(layer)), exact_(weights == CellWeights::kAttention || decays()) {
    const std::int64_t sets = layer_.form.frequencies.size(0);
    for (std::int64_t set = 0; set < sets; ++set) {
      const at::Tensor angle = angles(set);
      turns_.push_back({angle.cos(), angle.sin()});
    }
    places_.resize(turns_.size());
  }

  AddressingWay way() const override { return AddressingWay::kPairs; }
  double cells(std::int64_t /*keys*/) const override { return 0; }

  Result<std::vector<QueryParts>> split(const QueryBlock& block, Range heads, const PartsWanted& wanted,
                                        const StopToken& stop) override {
    if (!exact_ && !wanted.effects && !wanted.rows) {
      return split_heads(block, heads, stop);
    }
    const double from = decays() ? position(block.queries.back()) : 0;
    const std::int64_t count = std::ssize(block.queries);
    at::Tensor of_places;  // of all heads at once, where they share them
    if (turns_.size() == 1) {
      of_places = places(0, from).means(block.weights.flatten(0, 1), block.keys).contiguous();
    }
    std::vector<QueryParts> parts;
    for (std::int64_t head = heads.begin; head < heads.end; ++head) {
      if (stop.stop_requested()) {
        return cancelled();
      }
      const std::int64_t n = head - heads.begin;
      const at::Tensor weights = block.weights[n];
      const at::Tensor own = of_places.defined() ? of_places.slice(0, n * count, (n + 1) * count)
                                                 : places(head, from).means(weights, block.keys).contiguous();
      parts.push_back(split_head(block, weights, own, head, from, wanted));
    }
    return parts;
  }

  Result<at::Tensor> table(std::int64_t head, std::int64_t query, const std::vector<std::int64_t>& keys) override {
    const at::Tensor which = at::tensor(keys, at::kLong);
    const Keys& own_keys = turned_keys(head);
    const Complexes all = own_keys.products.values();
    const Complexes own{all.real.index_select(0, which), all.imaginary.index_select(0, which)};
    const Complexes place = place_of(head, query);
    const Complexes z{place.real.index_select(0, which), place.imaginary.index_select(0, which)};
    const Complexes q = queries(head, {query}, position(query));
    const Complexes turned = times({q.real.expand_as(z.real), q.imaginary.expand_as(z.real)}, z, false);
    return real_products(turned, own, true) +
           at::matmul(rest_queries(head, {query}), own_keys.rest.index_select(0, which).t());
  }

 private:
  bool decays() const { return layer_.form.decay.defined(); }
  std::size_t set_of(std::int64_t head) const { return turns_.size() == 1 ? 0 : index(head); }
  double position(std::int64_t token) const { return layer_.ids[token][0].item<double>(); }

  // (T, M) φ of every token; of those without a position their own angles, or 0.
  at::Tensor angles(std::int64_t set) const {
    at::Tensor angles = at::matmul(layer_.ids, layer_.form.frequencies[set].t());
    if (layer_.form.offsets.defined()) {
      angles = angles + layer_.form.offsets.to(at::kCPU, at::kDouble);
    }
    if (layer_.prefix > 0) {
      angles.slice(0, 0, layer_.prefix).zero_();
      if (const at::Tensor& own = layer_.form.class_angles; own.defined()) {
        angles.slice(0, 0, own.size(0)).copy_(own);
      }
    }
    return angles;
  }

  // (t, M) of a plane's two channels of `vectors` (t, W) float32.
  Complexes planes(const at::Tensor& vectors) const {
    std::vector<std::int64_t> first;
    std::vector<std::int64_t> second;
    for (const auto& plane : layer_.form.planes) {
      first.push_back(plane[0]);
      second.push_back(plane[1]);
    }
    return {vectors.index_select(1, at::tensor(first, at::kLong)).to(at::kDouble),
            vectors.index_select(1, at::tensor(second, at::kLong)).to(at::kDouble)};
  }
  at::Tensor rest(const at::Tensor& vectors) const {
    return vectors.index_select(1, at::tensor(layer_.form.rest, at::kLong)).to(at::kDouble);
  }

  // Keys turned back: their pairs, and (T, R) the rest.
  struct Keys {
    Products products;
    at::Tensor rest;
  };
  // Those of the head's group; of the head where heads have their own angles. Kept for other queries as far as there is
  // room.
  Keys& turned_keys(std::int64_t head) {
    const std::int64_t group = head / layer_.group;
    const std::int64_t number = turns_.size() == 1 ? group : head;
    if (const auto found = keys_.find(number); found != keys_.end()) {
      return found->second;
    }
    const std::int64_t pairs = layer_.form.pairs();
    const std::int64_t room = kMaxKept / std::max<std::int64_t>(2 * pairs * (pairs + 1) * layer_.length, 1);
    if (std::ssize(keys_) >= std::max<std::int64_t>(room, 1)) {
      keys_.clear();
    }
    Products products(times(planes(layer_.key[group]), turns_[set_of(head)], true));
    return keys_.emplace(number, Keys{std::move(products), rest(layer_.key[group])}).first->second;
  }

  // (T, M) z: without decay; with it, as seen from position `from`.
  Complexes turning(std::int64_t head, double from) const {
    const Complexes& turn = turns_[set_of(head)];
    Complexes z{turn.real, -turn.imaginary};
    if (decays()) {
      const at::Tensor faded = ((from - layer_.ids.select(1, 0)).unsqueeze(1) * layer_.form.decay).exp();
      z = {z.real * faded, z.imaginary * faded};
    }
    return z;
  }
  Complexes place_of(std::int64_t head, std::int64_t query) const { return turning(head, position(query)); }

  Products& places(std::int64_t head, double from) {
    std::unique_ptr<Products>& own = places_[set_of(head)];
    if (own == nullptr || (decays() && from != from_)) {
      if (turns_.size() > 1) {  // one head's products at a time
        std::ranges::for_each(places_, [](auto& each) { each.reset(); });
      }
      own = std::make_unique<Products>(turning(head, from));
      from_ = from;
    }
    return *own;
  }

  // (Q, M) scale · q of these queries, for z as seen from position `from`.
  Complexes queries(std::int64_t head, const std::vector<std::int64_t>& tokens, double from) const {
    const at::Tensor which = at::tensor(tokens, at::kLong);
    Complexes q = planes(layer_.query[head].index_select(0, which));
    at::Tensor factor = at::full({1, 1}, layer_.scale, at::kDouble);
    if (decays()) {
      factor = ((layer_.ids.select(1, 0).index_select(0, which) - from).unsqueeze(1) * layer_.form.decay).exp() *
               layer_.scale;
    }
    return {q.real * factor, q.imaginary * factor};
  }
  at::Tensor rest_queries(std::int64_t head, const std::vector<std::int64_t>& tokens) const {
    return rest(layer_.query[head].index_select(0, at::tensor(tokens, at::kLong))) * layer_.scale;
  }

  // z of every token, and the head's keys turned back with what does not turn.
  PairNumbers place_numbers(std::int64_t head) const {
    const Complexes z = turning(head, 0);
    return {z.real.data_ptr<double>(), z.imaginary.data_ptr<double>(), nullptr, layer_.length, layer_.form.pairs(), 0};
  }
  PairNumbers key_numbers(std::int64_t head) const {
    const at::Tensor& key = layer_.key[head / layer_.group];
    const Complexes k = times(planes(key), turns_[set_of(head)], true);
    const at::Tensor unturned = rest(key);
    return {k.real.data_ptr<double>(),   k.imaginary.data_ptr<double>(),
            unturned.data_ptr<double>(), layer_.length,
            layer_.form.pairs(),         unturned.size(1)};
  }

  // Ranges of heads that are split together: those that share their keys and angles, whose products are then made once,
  // but no more of them than a thread's share of all heads.
  std::vector<Range> shared_heads(Range heads) const {
    const std::int64_t group = turns_.size() == 1 ? layer_.group : 1;
    const std::int64_t threads = at::get_num_threads();
    const std::int64_t most = std::max<std::int64_t>(1, (heads.size() + threads - 1) / threads);
    std::vector<Range> ranges;
    for (std::int64_t head = heads.begin; head < heads.end; head = ranges.back().end) {
      ranges.push_back({head, std::min({head + most, (head / group + 1) * group, heads.end})});
    }
    return ranges;
  }

  // The shares alone, some heads on each thread.
  Result<std::vector<QueryParts>> split_heads(const QueryBlock& block, Range heads, const StopToken& stop) const {
    std::optional<PairNumbers> shared;
    if (turns_.size() == 1) {
      shared = place_numbers(0);
    }
    struct Nothing {};
    const std::int64_t count = std::ssize(block.queries);
    const std::vector<Range> ranges = shared_heads(heads);
    std::vector<QueryParts> parts(index(heads.size()));
    LOCUS_CHECK(attention::run_tasks<Nothing>(std::ssize(ranges), stop, [&](std::int64_t task, Nothing& /*scratch*/) {
      const at::NoGradGuard no_grad;
      const Range own = ranges[index(task)];
      const std::optional<PairNumbers> places = shared ? std::nullopt : std::optional(place_numbers(own.begin));
      std::vector<at::Tensor> real, imaginary, rest_q;
      for (std::int64_t head = own.begin; head < own.end; ++head) {
        const Complexes q = queries(head, block.queries, 0);
        real.push_back(q.real);
        imaginary.push_back(q.imaginary);
        rest_q.push_back(rest_queries(head, block.queries));
      }
      // A query of each head, then the next: queries beside each other see about the same keys.
      const auto in_turns = [](const std::vector<at::Tensor>& of_heads) { return at::stack(of_heads, 1).contiguous(); };
      const at::Tensor all_real = in_turns(real);
      const at::Tensor all_imaginary = in_turns(imaginary);
      const at::Tensor all_rest = in_turns(rest_q);
      const std::int64_t first = own.begin - heads.begin;
      const at::Tensor all_weights = block.weights.slice(0, first, first + own.size()).transpose(0, 1).contiguous();
      const MomentParts moments =
          split_by_moments(shared ? *shared : *places, key_numbers(own.begin),
                           {own.size() * count, block.keys, all_weights.data_ptr<double>(), all_real.data_ptr<double>(),
                            all_imaginary.data_ptr<double>(), all_rest.data_ptr<double>()});
      for (std::int64_t n = 0; n < own.size(); ++n) {
        const auto of_head = [&](const std::vector<double>& all) {
          std::vector<double> one;
          for (std::int64_t query = 0; query < count; ++query) {
            one.push_back(all[index(query * own.size() + n)]);
          }
          return one;
        };
        parts[index(first + n)].place = of_head(moments.place);
        parts[index(first + n)].word = of_head(moments.word);
        parts[index(first + n)].both = of_head(moments.both);
      }
    }));
    return parts;
  }

  QueryParts split_head(const QueryBlock& block, const at::Tensor& weights, const at::Tensor& of_places,
                        std::int64_t head, double from, const PartsWanted& wanted) {
    Keys& own_keys = turned_keys(head);
    const Complexes z = places(head, from).values().slice(block.keys);
    const Complexes k = own_keys.products.values().slice(block.keys);
    const at::Tensor unturned = own_keys.rest.slice(0, block.keys.begin, block.keys.end);
    const Complexes mean_z{at::matmul(weights, z.real), at::matmul(weights, z.imaginary)};
    const Complexes mean_k{at::matmul(weights, k.real), at::matmul(weights, k.imaginary)};
    const at::Tensor mean_rest = at::matmul(weights, unturned);
    const Complexes q = queries(head, block.queries, from);
    const at::Tensor rest_q = rest_queries(head, block.queries);
    const Complexes toward = times(q, mean_k, true);   // ⟨u_j, k̄⟩ = Re(toward · z_j)
    const Complexes mean_u = times(q, mean_z, false);  // ⟨ū, k_c⟩ = Re(mean_u · conj(k_c))
    const at::Tensor place = real_products(toward, z, false);
    const at::Tensor word = real_products(mean_u, k, true) + at::matmul(rest_q, unturned.t());

    QueryParts parts;
    const auto list = [](const at::Tensor& numbers) {
      const at::Tensor own = numbers.contiguous();
      return std::vector<double>(own.data_ptr<double>(), own.data_ptr<double>() + own.numel());
    };
    parts.place = list(weighted_variance(weights, place));
    parts.word = list(weighted_variance(weights, word));
    const at::Tensor rows =
        both_of(parts, {of_places, mean_z}, {own_keys.products.means(weights, block.keys).contiguous(), mean_k}, q,
                wanted.rows);
    if (wanted.effects) {
      const at::Tensor mean = (weights * word).sum(1);
      parts.place_effect = place - (weights * place).sum(1, true);
      parts.word_effect = word - mean.unsqueeze(1);
      parts.mean = mean;
    }
    if (wanted.rows) {
      add_rows(parts, weights, {toward, z, place}, {mean_u, k, word}, {rest_q, unturned}, rows);
    }
    return parts;
  }

  // Means over the keys of a side's products and of its numbers.
  struct SideMeans {
    at::Tensor products;  // (Q, 4N)
    Complexes numbers;    // (Q, M)
  };
  // Fills parts.both; (Q, M) the covariances of every pair with the whole, where asked for.
  static at::Tensor both_of(QueryParts& parts, const SideMeans& place, const SideMeans& key, const Complexes& q,
                            bool by_row) {
    const std::int64_t count = q.real.size(0);
    const std::int64_t pairs = q.columns();
    const auto contiguous = [](const Complexes& x) { return Complexes{x.real.contiguous(), x.imaginary.contiguous()}; };
    const Complexes z = contiguous(place.numbers);
    const Complexes k = contiguous(key.numbers);
    const Complexes own = contiguous(q);
    const at::Tensor rows = by_row ? at::zeros({count, pairs}, at::kDouble) : at::Tensor();
    parts.both.resize(index(count));
    at::parallel_for(0, count, 1, [&](std::int64_t begin, std::int64_t end) {
      const auto row = [](const at::Tensor& matrix, std::int64_t n) {
        return matrix.data_ptr<double>() + n * matrix.size(1);
      };
      for (std::int64_t n = begin; n < end; ++n) {
        const Moments of_place{row(place.products, n), row(z.real, n), row(z.imaginary, n), pairs};
        const Moments of_key{row(key.products, n), row(k.real, n), row(k.imaginary, n), pairs};
        parts.both[index(n)] =
            interaction(of_place, of_key, row(own.real, n), row(own.imaginary, n), by_row ? row(rows, n) : nullptr);
      }
    });
    return rows;
  }

  // What one side's pairs give: Re(factor · values) of each, and their sum.
  struct Side {
    Complexes factor, values;
    at::Tensor sum;  // (Q, K)
  };
  struct RestSide {
    at::Tensor query, key;
  };
  void add_rows(QueryParts& parts, const at::Tensor& weights, const Side& place, const Side& word, const RestSide& rest,
                const at::Tensor& both) const {
    const std::int64_t pairs = place.values.columns();
    std::vector<double> per_query;
    for (std::size_t n = 0; n < parts.both.size(); ++n) {
      const double variance = variance_of(parts, n);
      per_query.push_back(variance > 0 ? 1 / variance : 0);
    }
    const at::Tensor factor = at::tensor(per_query, at::kDouble);
    // Σ over the queries of the covariance of part and whole, over V.
    const auto covariance = [&](const at::Tensor& part, const at::Tensor& whole) {
      const at::Tensor centred = whole - (weights * whole).sum(1, true);
      return ((weights * part * centred).sum(1) * factor).sum().item<double>();
    };
    const auto column = [](const Complexes& values, std::int64_t m) {
      return Complexes{values.real.slice(1, m, m + 1), values.imaginary.slice(1, m, m + 1)};
    };
    for (std::int64_t m = 0; m < pairs; ++m) {
      parts.place_rows.push_back(
          covariance(real_products(column(place.factor, m), column(place.values, m), false), place.sum));
      parts.word_rows.push_back(
          covariance(real_products(column(word.factor, m), column(word.values, m), true), word.sum));
      parts.both_rows.push_back((both.select(1, m) * factor).sum().item<double>());
    }
    if (layer_.rows() > pairs) {
      parts.place_rows.push_back(0);
      parts.word_rows.push_back(covariance(at::matmul(rest.query, rest.key.t()), word.sum));
      parts.both_rows.push_back(0);
    }
  }

  PairLayer layer_;
  bool exact_;                    // V may be far below what varies over the text: no tiles of float32
  std::vector<Complexes> turns_;  // (T, M) e^{ιφ} of all heads, or of each
  std::map<std::int64_t, Keys> keys_;
  std::vector<std::unique_ptr<Products>> places_;  // as turns_
  double from_ = 0;
};

}  // namespace

Result<Split> split_by_pairs(const AddressingSource& source, CellWeights weights) {
  Result<PairLayer> layer = PairLayer::of({source.scores, source.field.mask()});
  if (!layer.ok()) {
    return layer.error().code == ErrorCode::kUnsupported ? Result<Split>(Split()) : layer.error();
  }
  const position::PairForm& form = layer->form;
  if (form.modulation || form.state || form.planes.empty() || !form.frequencies.defined()) {
    return Split();
  }
  return Split(std::make_unique<PairSplit>(*std::move(layer), weights));
}

}  // namespace locus::analysis

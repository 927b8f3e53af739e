#include "core/analysis/addressing_moments.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>

#include "core/products/kernels.h"

namespace locus::analysis {

namespace {

constexpr std::int64_t kKeyChunk = 256;  // keys whose products are made at once
constexpr std::size_t kProducts = 4;     // of two pairs: real and imaginary parts of x y and of x conj(y)

std::size_t place(std::int64_t n) {
  return static_cast<std::size_t>(n);
}

// A few queries, whose weights one tile multiplies with.
struct Strip {
  std::int64_t first = 0;  // query
  std::int64_t count = 0;
  Range keys;                  // that any of them sees, counted from those of the block
  std::vector<float> weights;  // (keys, rows of a tile)
};

// Couples of pairs m and m + d (modulo M) for d ≤ M/2, one d after another: every two once, but for d = M/2 of even M.
struct Couples {
  std::int64_t pairs;

  std::int64_t count() const { return pairs * (pairs / 2 + 1); }
  // How often a couple stands in the sum over both.
  double factor(std::int64_t d) const { return d == 0 || 2 * d == pairs ? 1 : 2; }
  // visit(at, m, n, count, factor) for the runs of `couples` that follow one another in both.
  template <class Visit>
  void each_run(Range couples, const Visit& visit) const {
    for (std::int64_t c = couples.begin; c < couples.end;) {
      const std::int64_t d = c / pairs;
      const std::int64_t m = c % pairs;
      const std::int64_t run = std::min(pairs - m, couples.end - c);
      visit(c - couples.begin, m, m + d, run, factor(d));
      c += run;
    }
  }
};

// The products of one run in one row.
void multiply_run(const float* x, const float* y, const float* u, const float* v, std::int64_t count,
                  const std::array<float*, kProducts>& to) {
  float* __restrict__ const sum_real = to[0];
  float* __restrict__ const sum_imaginary = to[1];
  float* __restrict__ const difference_real = to[2];
  float* __restrict__ const difference_imaginary = to[3];
  for (std::int64_t n = 0; n < count; ++n) {
    const float xu = x[n] * u[n];
    const float yv = y[n] * v[n];
    const float xv = x[n] * v[n];
    const float yu = y[n] * u[n];
    sum_real[n] = xu - yv;
    sum_imaginary[n] = xv + yu;
    difference_real[n] = xu + yv;
    difference_imaginary[n] = yu - xv;
  }
}

// (Q, M and half of them again) of a side's means or of the queries.
struct Rows {
  std::int64_t width;
  std::vector<double> real, imaginary;

  Rows(std::int64_t count, std::int64_t width)
      : width(width), real(place(count * width)), imaginary(place(count * width)) {}
  void extend(std::int64_t pairs) {
    for (std::size_t row = 0; row < real.size(); row += place(width)) {
      for (std::int64_t n = pairs; n < width; ++n) {
        real[row + place(n)] = real[row + place(n - pairs)];
        imaginary[row + place(n)] = imaginary[row + place(n - pairs)];
      }
    }
  }
};

class MomentSplit {
 public:
  MomentSplit(const PairNumbers& places, const PairNumbers& keys, const MomentQueries& queries)
      : places_(places),
        keys_(keys),
        queries_(queries),
        kernels_(products::kernels()),
        couples_{places.pairs()},
        query_(queries.count, places.extended()),
        mean_place_(queries.count, places.extended()),
        mean_key_(queries.count, places.extended()),
        mean_rest_(place(queries.count * keys.rest_width())) {
    pack_weights();
    for (std::int64_t n = 0; n < queries.count; ++n) {
      const std::int64_t pairs = places.pairs();
      std::copy_n(queries.real + n * pairs, pairs, query_.real.data() + n * query_.width);
      std::copy_n(queries.imaginary + n * pairs, pairs, query_.imaginary.data() + n * query_.width);
    }
    query_.extend(places.pairs());
    weigh_side(places, mean_place_);
    weigh_side(keys, mean_key_);
    weigh(keys, keys.rest(0), keys.rest_width(), mean_rest_.data(), keys.rest_width());
  }

  MomentParts parts() {
    MomentParts parts;
    effects(parts);
    interactions(parts.both);
    return parts;
  }

 private:
  std::int64_t tiled_queries() const { return std::ssize(strips_) * kernels_.rows; }

  void pack_weights() {
    const std::int64_t width = queries_.keys.size();
    for (std::int64_t first = 0; first < queries_.count; first += kernels_.rows) {
      Strip strip{first, std::min(kernels_.rows, queries_.count - first), {width, 0}, {}};
      for (std::int64_t n = first; n < first + strip.count; ++n) {
        const double* const row = queries_.weights + n * width;
        const auto seen = [](double weight) { return weight > 0; };
        strip.keys.begin = std::min<std::int64_t>(strip.keys.begin, std::find_if(row, row + width, seen) - row);
        std::int64_t end = width;
        for (; end > strip.keys.end && !seen(row[end - 1]); --end) {
        }
        strip.keys.end = end;
      }
      strip.weights.resize(place(strip.keys.size() * kernels_.rows));
      for (std::int64_t n = 0; n < strip.count; ++n) {
        const double* const row = queries_.weights + (first + n) * width;
        for (std::int64_t key = strip.keys.begin; key < strip.keys.end; ++key) {
          strip.weights[place((key - strip.keys.begin) * kernels_.rows + n)] = static_cast<float>(row[key]);
        }
      }
      strips_.push_back(std::move(strip));
    }
  }

  // sums[s] (rows, columns) += weights · slice of every strip, for the keys `chunk`.
  void add_products(Range chunk, const float* slice, float* sums) const {
    for (std::size_t n = 0; n < strips_.size(); ++n) {
      const Strip& strip = strips_[n];
      const Range both{std::max(chunk.begin, strip.keys.begin), std::min(chunk.end, strip.keys.end)};
      if (!both.empty()) {
        kernels_.tile(strip.weights.data() + (both.begin - strip.keys.begin) * kernels_.rows,
                      slice + (both.begin - chunk.begin) * kernels_.columns, both.size(), strip.count, nullptr,
                      sums + static_cast<std::int64_t>(n) * kernels_.rows * kernels_.columns, kernels_.columns);
      }
    }
  }
  template <class Visit>
  void each_chunk(const Visit& visit) const {
    const std::int64_t width = queries_.keys.size();
    for (std::int64_t begin = 0; begin < width; begin += kKeyChunk) {
      visit(Range{begin, std::min(begin + kKeyChunk, width)});
    }
  }

  // (Q, out_stride) weighted means of `width` numbers of every key, which lie at `first` of token 0.
  void weigh(const PairNumbers& side, const float* first, std::int64_t width, double* out,
             std::int64_t out_stride) const {
    constexpr auto kFloat = static_cast<std::size_t>(products::Format::kFloat);
    std::vector<float> slice(place(kKeyChunk * kernels_.columns));
    std::vector<float> sums(place(tiled_queries() * kernels_.columns));
    for (std::int64_t begin = 0; begin < width; begin += kernels_.columns) {
      const std::int64_t count = std::min(kernels_.columns, width - begin);
      std::ranges::fill(sums, 0.0F);
      each_chunk([&](Range chunk) {
        const float* const from = first + (queries_.keys.begin + chunk.begin) * side.stride() + begin;
        kernels_.pack_transposed[kFloat](from, side.stride(), count, chunk.size(), slice.data());
        add_products(chunk, slice.data(), sums.data());
      });
      for (std::int64_t n = 0; n < queries_.count; ++n) {
        std::copy_n(sums.data() + n * kernels_.columns, count, out + n * out_stride + begin);
      }
    }
  }
  void weigh_side(const PairNumbers& side, Rows& mean) const {
    weigh(side, side.real(0), side.pairs(), mean.real.data(), mean.width);
    weigh(side, side.imaginary(0), side.pairs(), mean.imaginary.data(), mean.width);
    mean.extend(side.pairs());
  }

  // What every query multiplies a side's numbers with, (strips, depth, rows), and the mean of the products.
  struct Factors {
    std::int64_t depth;
    std::vector<float> strips;
    std::vector<double> mean;
  };
  void put(Factors& factors, std::int64_t query, std::int64_t number, double factor) const {
    const std::int64_t strip = query / kernels_.rows;
    factors.strips[place((strip * factors.depth + number) * kernels_.rows + query % kernels_.rows)] =
        static_cast<float>(factor);
  }
  Factors no_factors(std::int64_t depth) const {
    return {depth, std::vector<float>(place(tiled_queries() * depth)), std::vector<double>(place(queries_.count))};
  }

  // ⟨u_j, k̄⟩ = Re(q conj(k̄) z_j)
  Factors toward_places() const {
    const std::int64_t pairs = places_.pairs();
    Factors factors = no_factors(2 * pairs);
    for (std::int64_t n = 0; n < queries_.count; ++n) {
      for (std::int64_t m = 0; m < pairs; ++m) {
        const std::size_t at = place(n * query_.width + m);
        const double key_real = mean_key_.real[at] + keys_.mean()[place(m)];
        const double key_imaginary = mean_key_.imaginary[at] + keys_.mean()[place(pairs + m)];
        const double real = query_.real[at] * key_real + query_.imaginary[at] * key_imaginary;
        const double imaginary = query_.imaginary[at] * key_real - query_.real[at] * key_imaginary;
        put(factors, n, m, real);
        put(factors, n, pairs + m, -imaginary);
        factors.mean[place(n)] += real * mean_place_.real[at] - imaginary * mean_place_.imaginary[at];
      }
    }
    return factors;
  }
  // ⟨ū, k_c⟩ = Re(q z̄ conj(k_c)) + ⟨q, k_c⟩ of the rest
  Factors toward_words() const {
    const std::int64_t pairs = places_.pairs();
    const std::int64_t rest = keys_.rest_width();
    Factors factors = no_factors(2 * pairs + rest);
    for (std::int64_t n = 0; n < queries_.count; ++n) {
      double& mean = factors.mean[place(n)];
      for (std::int64_t m = 0; m < pairs; ++m) {
        const std::size_t at = place(n * query_.width + m);
        const double turn_real = mean_place_.real[at] + places_.mean()[place(m)];
        const double turn_imaginary = mean_place_.imaginary[at] + places_.mean()[place(pairs + m)];
        const double real = query_.real[at] * turn_real - query_.imaginary[at] * turn_imaginary;
        const double imaginary = query_.real[at] * turn_imaginary + query_.imaginary[at] * turn_real;
        put(factors, n, m, real);
        put(factors, n, pairs + m, imaginary);
        mean += real * mean_key_.real[at] + imaginary * mean_key_.imaginary[at];
      }
      for (std::int64_t r = 0; r < rest; ++r) {
        const double own = queries_.rest[n * rest + r];
        put(factors, n, 2 * pairs + r, own);
        mean += own * mean_rest_[place(n * rest + r)];
      }
    }
    return factors;
  }

  // (depth, columns) the numbers of a few keys.
  void pack_keys(const PairNumbers& side, std::int64_t token, std::int64_t count, float* slice) const {
    const auto& pack = kernels_.pack[static_cast<std::size_t>(products::Format::kFloat)];
    const std::int64_t half = side.pairs() * kernels_.columns;
    pack(side.real(token), side.stride(), count, side.pairs(), slice);
    pack(side.imaginary(token), side.stride(), count, side.pairs(), slice + half);
    if (side.rest_width() > 0) {
      pack(side.rest(token), side.stride(), count, side.rest_width(), slice + 2 * half);
    }
  }

  // (Q) Σ p (x − x̄)² of x, the products of a query's factors with the numbers of each key.
  std::vector<double> variances(const PairNumbers& side, const Factors& factors) const {
    const std::int64_t width = queries_.keys.size();
    std::vector<double> variances(place(queries_.count));
    std::vector<float> slice(place(factors.depth * kernels_.columns));
    std::vector<float> tile(place(kernels_.rows * kernels_.columns));
    for (std::int64_t begin = 0; begin < width; begin += kernels_.columns) {
      const std::int64_t end = std::min(begin + kernels_.columns, width);
      pack_keys(side, queries_.keys.begin + begin, end - begin, slice.data());
      for (std::size_t s = 0; s < strips_.size(); ++s) {
        const Strip& strip = strips_[s];
        if (strip.keys.begin >= end || strip.keys.end <= begin) {
          continue;
        }
        std::ranges::fill(tile, 0.0F);
        kernels_.tile(factors.strips.data() + static_cast<std::int64_t>(s) * factors.depth * kernels_.rows,
                      slice.data(), factors.depth, strip.count, nullptr, tile.data(), kernels_.columns);
        for (std::int64_t n = 0; n < strip.count; ++n) {
          const double* const weights = queries_.weights + (strip.first + n) * width + begin;
          const float* const products = tile.data() + n * kernels_.columns;
          const double mean = factors.mean[place(strip.first + n)];
          double sum = 0;
          for (std::int64_t c = 0; c < end - begin; ++c) {
            const double away = static_cast<double>(products[c]) - mean;
            sum += weights[c] * away * away;
          }
          variances[place(strip.first + n)] += sum;
        }
      }
    }
    return variances;
  }

  void effects(MomentParts& parts) const {
    parts.place = variances(places_, toward_places());
    parts.word = variances(keys_, toward_words());
  }

  // (kProducts, Q, columns) means of the products of a few couples.
  void mean_products(const PairNumbers& side, Range couples, float* slices, float* sums) const {
    const std::int64_t slice = kKeyChunk * kernels_.columns;
    const std::int64_t own = tiled_queries() * kernels_.columns;
    std::fill_n(sums, static_cast<std::int64_t>(kProducts) * own, 0.0F);
    each_chunk([&](Range chunk) {
      for (std::int64_t key = chunk.begin; key < chunk.end; ++key) {
        const float* const real = side.real(queries_.keys.begin + key);
        const float* const imaginary = side.imaginary(queries_.keys.begin + key);
        float* const row = slices + (key - chunk.begin) * kernels_.columns;
        couples_.each_run(couples, [&](std::int64_t at, std::int64_t m, std::int64_t n, std::int64_t count, double) {
          float* const to = row + at;
          multiply_run(real + m, imaginary + m, real + n, imaginary + n, count,
                       {to, to + slice, to + 2 * slice, to + 3 * slice});
        });
      }
      for (std::int64_t product = 0; product < static_cast<std::int64_t>(kProducts); ++product) {
        add_products(chunk, slices + product * slice, sums + product * own);
      }
    });
  }

  // tr(A B) of the covariances of u and k (addressing_pairs.cpp).
  void interactions(std::vector<double>& both) const {
    both.assign(place(queries_.count), 0);
    const std::int64_t own = tiled_queries() * kernels_.columns;
    std::vector<float> slices(kProducts * place(kKeyChunk * kernels_.columns));
    std::vector<float> of_places(kProducts * place(own));
    std::vector<float> of_keys(kProducts * place(own));
    for (std::int64_t begin = 0; begin < couples_.count(); begin += kernels_.columns) {
      const Range couples{begin, std::min(begin + kernels_.columns, couples_.count())};
      mean_products(places_, couples, slices.data(), of_places.data());
      mean_products(keys_, couples, slices.data(), of_keys.data());
      for (std::int64_t n = 0; n < queries_.count; ++n) {
        const std::int64_t row = n * kernels_.columns;
        couples_.each_run(
            couples, [&](std::int64_t at, std::int64_t m, std::int64_t other, std::int64_t count, double factor) {
              both[place(n)] +=
                  factor * covariances(n, m, other, count, of_places.data() + row + at, of_keys.data() + row + at, own);
            });
      }
    }
  }

  // Σ ½ Re(α conj(P) + β conj(N)) of one run of a query; products of a kind lie `stride` behind those before.
  double covariances(std::int64_t query, std::int64_t m, std::int64_t n, std::int64_t count, const float* of_places,
                     const float* of_keys, std::int64_t stride) const {
    const std::int64_t row = query * query_.width;
    const double* const qx = query_.real.data() + row + m;
    const double* const qy = query_.imaginary.data() + row + m;
    const double* const qu = query_.real.data() + row + n;
    const double* const qv = query_.imaginary.data() + row + n;
    // Central moments: those of the numbers less the products of their means.
    struct Side {
      const float* products;
      const double *x, *y, *u, *v;
    };
    const auto side = [&](const Rows& mean, const float* products) {
      return Side{products, mean.real.data() + row + m, mean.imaginary.data() + row + m, mean.real.data() + row + n,
                  mean.imaginary.data() + row + n};
    };
    const Side z = side(mean_place_, of_places);
    const Side k = side(mean_key_, of_keys);
    const auto moment = [&](const Side& s, std::int64_t product, std::int64_t i) {
      return static_cast<double>(s.products[product * stride + i]);
    };
    double sum = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      const double sum_real = moment(z, 0, i) - (z.x[i] * z.u[i] - z.y[i] * z.v[i]);
      const double sum_imaginary = moment(z, 1, i) - (z.x[i] * z.v[i] + z.y[i] * z.u[i]);
      const double difference_real = moment(z, 2, i) - (z.x[i] * z.u[i] + z.y[i] * z.v[i]);
      const double difference_imaginary = moment(z, 3, i) - (z.y[i] * z.u[i] - z.x[i] * z.v[i]);
      const double p_real = moment(k, 0, i) - (k.x[i] * k.u[i] - k.y[i] * k.v[i]);
      const double p_imaginary = moment(k, 1, i) - (k.x[i] * k.v[i] + k.y[i] * k.u[i]);
      const double n_real = moment(k, 2, i) - (k.x[i] * k.u[i] + k.y[i] * k.v[i]);
      const double n_imaginary = moment(k, 3, i) - (k.y[i] * k.u[i] - k.x[i] * k.v[i]);
      const double both_real = qx[i] * qu[i] - qy[i] * qv[i];  // q_m q_n
      const double both_imaginary = qx[i] * qv[i] + qy[i] * qu[i];
      const double across_real = qx[i] * qu[i] + qy[i] * qv[i];  // q_m conj(q_n)
      const double across_imaginary = qy[i] * qu[i] - qx[i] * qv[i];
      sum += (both_real * sum_real - both_imaginary * sum_imaginary) * p_real +
             (both_real * sum_imaginary + both_imaginary * sum_real) * p_imaginary +
             (across_real * difference_real - across_imaginary * difference_imaginary) * n_real +
             (across_real * difference_imaginary + across_imaginary * difference_real) * n_imaginary;
    }
    return 0.5 * sum;
  }

  const PairNumbers& places_;
  const PairNumbers& keys_;
  const MomentQueries& queries_;
  const products::Kernels& kernels_;
  Couples couples_;
  Rows query_, mean_place_, mean_key_;  // means less those over the text
  std::vector<double> mean_rest_;       // (Q, R) likewise
  std::vector<Strip> strips_;
};

}  // namespace

PairNumbers::PairNumbers(const double* real, const double* imaginary, const double* rest, std::int64_t tokens,
                         std::int64_t pairs, std::int64_t rest_width)
    : pairs_(pairs), rest_width_(rest_width), mean_(place(2 * pairs + rest_width)) {
  numbers_.resize(place(tokens * stride()));
  const auto centre = [&](const double* values, std::int64_t width, double* mean, std::int64_t offset,
                          std::int64_t copies) {
    for (std::int64_t t = 0; t < tokens; ++t) {
      for (std::int64_t n = 0; n < width; ++n) {
        mean[n] += values[t * width + n] / static_cast<double>(tokens);
      }
    }
    for (std::int64_t t = 0; t < tokens; ++t) {
      float* const row = numbers_.data() + t * stride() + offset;
      for (std::int64_t n = 0; n < width; ++n) {
        row[n] = static_cast<float>(values[t * width + n] - mean[n]);
      }
      std::copy_n(row, copies, row + width);
    }
  };
  centre(real, pairs, mean_.data(), 0, pairs / 2);
  centre(imaginary, pairs, mean_.data() + pairs, extended(), pairs / 2);
  if (rest_width > 0) {
    centre(rest, rest_width, mean_.data() + 2 * pairs, 2 * extended(), 0);
  }
}

MomentParts split_by_moments(const PairNumbers& places, const PairNumbers& keys, const MomentQueries& queries) {
  return MomentSplit(places, keys, queries).parts();
}

}  // namespace locus::analysis

// Maps of mixers of channels: means over bands of channels.
#include <algorithm>
#include <utility>
#include <vector>

#include "core/mixers/decay.h"
#include "core/mixers/half_life.h"
#include "core/mixers/implied_map.h"

namespace locus::mixers {

namespace {

constexpr std::int64_t kHeld = 1 << 21;  // numbers of a tile's rows or columns that are held together

// Sums over tokens of (T, C) numbers, kept for every 64th token.
class RunningSums {
 public:
  explicit RunningSums(at::Tensor numbers) : numbers_(std::move(numbers)) {
    std::vector<at::Tensor> starts{at::zeros({numbers_.size(1)}, at::kDouble)};
    for (std::int64_t begin = 0; begin < numbers_.size(0); begin += kChunk) {
      starts.push_back(starts.back() + decay_sums(numbers_.slice(0, begin, begin + kChunk), 0)[-1]);
    }
    starts_ = at::stack(starts);
  }

  // (n, c) float64.
  at::Tensor of(Range tokens, Range channels) const {
    const std::int64_t start = tokens.begin / kChunk;
    const at::Tensor between = numbers_.slice(0, start * kChunk, tokens.end).slice(1, channels.begin, channels.end);
    return (starts_[start].slice(0, channels.begin, channels.end) + decay_sums(between, 0))
        .slice(0, tokens.begin - start * kChunk);
  }

  const at::Tensor& numbers() const { return numbers_; }

 private:
  at::Tensor numbers_;
  at::Tensor starts_;  // (T / 64, C)
};

class BandedMap : public ImpliedMap {
 public:
  BandedMap(std::int64_t bands, std::int64_t channels) : bands_(bands), width_(channels / bands) {}

  std::int64_t heads() const override { return bands_; }
  at::Tensor value() const override { return {}; }

 protected:
  Range channels(std::int64_t band) const { return {band * width_, (band + 1) * width_}; }
  // (n, C) -> (bands, n)
  at::Tensor means(const at::Tensor& cells) const { return cells.unflatten(1, {bands_, width_}).mean(-1).t(); }
  std::int64_t width() const { return width_; }

 private:
  std::int64_t bands_;
  std::int64_t width_;  // channels of a band
};

// Channels of which each has N states that decay by themselves: M_ij = Σ_n a_in b_jn e^{c_in − c_jn}.
class DecayingBands : public BandedMap {
 public:
  DecayingBands(std::int64_t bands, std::int64_t channels, std::int64_t states)
      : BandedMap(bands, channels), states_(states) {}

  at::Tensor tile(Range heads, Range rows, Range columns, Decay decay) const override {
    const at::NoGradGuard no_grad;
    const std::int64_t most =
        std::max<std::int64_t>(1, kHeld / std::max<std::int64_t>(1, states_ * std::max(rows.size(), columns.size())));
    std::vector<at::Tensor> cells;
    for (std::int64_t band = heads.begin; band < heads.end; ++band) {
      const Range all = channels(band);
      at::Tensor sum = at::zeros({rows.size(), columns.size()}, options());
      for (std::int64_t begin = all.begin; begin < all.end; begin += most) {
        const Range some = Range{begin, begin + most}.clamped(all);
        sum += decayed_products(tokens(row_vectors(rows, some), rows, some, decay),
                                tokens(column_vectors(columns, some), columns, some, decay));
      }
      cells.push_back(sum / static_cast<double>(width()));
    }
    return cells.empty() ? at::zeros({0, rows.size(), columns.size()}, options()) : at::stack(cells);
  }

 protected:
  virtual at::TensorOptions options() const = 0;
  // (n, c · N)
  virtual at::Tensor row_vectors(Range tokens, Range channels) const = 0;
  virtual at::Tensor column_vectors(Range tokens, Range channels) const = 0;
  virtual at::Tensor sums(Range tokens, Range channels) const = 0;

 private:
  DecayingTokens tokens(at::Tensor vectors, Range range, Range channels, Decay decay) const {
    return {range, std::move(vectors),
            decay == Decay::kOff ? at::zeros({range.size(), 1}, at::kDouble) : sums(range, channels)};
  }

  std::int64_t states_;
};

class ScanMap final : public DecayingBands {
 public:
  ScanMap(const ScanInputs& inputs, std::int64_t bands)
      : DecayingBands(bands, inputs.log_rate.size(0), inputs.log_rate.size(1)),
        delta_(inputs.delta.detach()[0]),
        log_rate_(inputs.log_rate.detach()),
        input_(inputs.input.detach()[0]),
        output_(inputs.output.detach()[0]) {
    if (inputs.skip.defined()) {
      skip_ = means(inputs.skip.detach().unsqueeze(0)).squeeze(-1);
    }
  }

  std::int64_t length() const override { return input_.size(0); }

  at::Tensor tile(Range heads, Range rows, Range columns, Decay decay) const override {
    at::Tensor cells = DecayingBands::tile(heads, rows, columns, decay);
    if (skip_.defined()) {
      cells.diagonal(rows.begin - columns.begin, 1, 2).add_(skip_.slice(0, heads.begin, heads.end).unsqueeze(-1));
    }
    return cells;
  }

  at::Tensor half_life() const override {
    const at::NoGradGuard no_grad;
    const at::Tensor lasting = median_of(half_lives(log_rate_));  // (C) where Δ is 1
    return median_of((lasting / delta_.numbers()).unflatten(1, {heads(), width()})).t();
  }

 protected:
  at::TensorOptions options() const override { return input_.options(); }
  at::Tensor row_vectors(Range tokens, Range channels) const override {
    return output_.slice(0, tokens.begin, tokens.end).repeat({1, channels.size()});
  }
  at::Tensor column_vectors(Range tokens, Range channels) const override {
    const at::Tensor delta = delta_.numbers().slice(0, tokens.begin, tokens.end).slice(1, channels.begin, channels.end);
    return (delta.unsqueeze(-1) * input_.slice(0, tokens.begin, tokens.end).unsqueeze(1)).flatten(1);
  }
  at::Tensor sums(Range tokens, Range channels) const override {
    return (delta_.of(tokens, channels).unsqueeze(-1) * log_rate_.slice(0, channels.begin, channels.end)).flatten(1);
  }

 private:
  RunningSums delta_;
  at::Tensor log_rate_;        // (C, N)
  at::Tensor input_, output_;  // (T, N)
  at::Tensor skip_;            // (bands) means, or undefined
};

class RecurrenceMap final : public DecayingBands {
 public:
  RecurrenceMap(const RecurrenceInputs& inputs, const at::Tensor& gate, std::int64_t bands)
      : DecayingBands(bands, gate.size(2), 1), log_decay_(inputs.log_decay.detach()[0]), gate_(gate.detach()[0]) {}

  std::int64_t length() const override { return gate_.size(0); }
  at::Tensor half_life() const override {
    return median_of(half_lives(log_decay_.numbers()).unflatten(1, {heads(), width()})).t();
  }

 protected:
  at::TensorOptions options() const override { return gate_.options(); }
  at::Tensor row_vectors(Range tokens, Range channels) const override {
    return at::ones({tokens.size(), channels.size()}, options());
  }
  at::Tensor column_vectors(Range tokens, Range channels) const override {
    return gate_.slice(0, tokens.begin, tokens.end).slice(1, channels.begin, channels.end);
  }
  at::Tensor sums(Range tokens, Range channels) const override { return log_decay_.of(tokens, channels); }

 private:
  RunningSums log_decay_;
  at::Tensor gate_;  // (T, C)
};

class ConvolutionMap final : public BandedMap {
 public:
  ConvolutionMap(const at::Tensor& before, const at::Tensor& after, const at::Tensor& weight, std::int64_t bands,
                 std::int64_t length)
      : BandedMap(bands, weight.size(0)), weight_(weight.detach()), length_(length) {
    for (const at::Tensor& gate : {before, after}) {
      gates_.push_back(gate.defined() ? gate.detach()[0] : gate);
      length_ = gate.defined() ? gate.size(1) : length_;
    }
  }

  std::int64_t length() const override { return length_; }
  at::Tensor half_life() const override { return {}; }

  at::Tensor tile(Range heads, Range rows, Range columns, Decay /*decay*/) const override {
    const at::NoGradGuard no_grad;
    at::Tensor cells = at::zeros({heads.size(), rows.size(), columns.size()}, weight_.options());
    for (std::int64_t lag = 0; lag < weight_.size(1); ++lag) {
      const Range seeing = rows.clamped({columns.begin + lag, columns.end + lag});
      if (seeing.empty()) {
        continue;
      }
      at::Tensor products = weight_.select(1, weight_.size(1) - 1 - lag).expand({seeing.size(), weight_.size(0)});
      if (gates_[0].defined()) {
        products = products * gates_[0].slice(0, seeing.begin - lag, seeing.end - lag);
      }
      if (gates_[1].defined()) {
        products = products * gates_[1].slice(0, seeing.begin, seeing.end);
      }
      cells.diagonal(rows.begin - lag - columns.begin, 1, 2).copy_(means(products).slice(0, heads.begin, heads.end));
    }
    return cells;
  }

 private:
  at::Tensor weight_;              // (C, K)
  std::vector<at::Tensor> gates_;  // before, after: (T, C) or undefined
  std::int64_t length_;
};

}  // namespace

std::shared_ptr<const ImpliedMap> implied_map(const ScanInputs& inputs, std::int64_t bands) {
  const at::NoGradGuard no_grad;
  return std::make_shared<ScanMap>(inputs, bands);
}

std::shared_ptr<const ImpliedMap> implied_map(const RecurrenceInputs& inputs, const at::Tensor& gate,
                                              std::int64_t bands) {
  const at::NoGradGuard no_grad;
  return std::make_shared<RecurrenceMap>(inputs, gate, bands);
}

std::shared_ptr<const ImpliedMap> implied_map_of_convolution(const at::Tensor& before, const at::Tensor& after,
                                                             const at::Tensor& weight, std::int64_t bands,
                                                             std::int64_t length) {
  const at::NoGradGuard no_grad;
  return std::make_shared<ConvolutionMap>(before, after, weight, bands, length);
}

}  // namespace locus::mixers

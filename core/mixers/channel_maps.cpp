// Maps of mixers of channels: means over bands of channels.
#include <algorithm>
#include <utility>
#include <vector>

#include "core/mixers/decay.h"
#include "core/mixers/half_life.h"
#include "core/mixers/implied_map.h"
#include "core/mixers/running_sums.h"
#include "core/mixers/state_norm.h"

namespace locus::mixers {

namespace {

constexpr std::int64_t kHeld = 1 << 21;  // numbers of a tile's rows or columns that are held together

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
        delta_(std::make_shared<const RunningSums>(
            TokenRows((inputs.decay_delta.defined() ? inputs.decay_delta : inputs.delta)[0], 0))),
        written_(inputs.decay_delta.defined() ? inputs.delta[0] : at::Tensor(), 0),
        x_(inputs.x[0], 0),
        log_rate_(inputs.log_rate.detach()),
        input_(inputs.input[0], 0),
        output_(inputs.output[0], 0) {
    if (inputs.skip.defined()) {
      skip_ = means(inputs.skip.detach().unsqueeze(0)).squeeze(-1);
    }
  }

  std::int64_t length() const override { return input_.length(); }

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
    return median_of((lasting / delta_->numbers().all()).unflatten(1, {heads(), width()})).t();
  }

  at::Tensor state_norm(const StopToken& stop) const override {
    return state_norms(length(), heads(), stop, [&](Range token, at::Tensor& state) {
      const auto row = [&](const TokenRows& all) { return all.of(token).unsqueeze(0); };
      const at::Tensor decay = row(delta_->numbers());
      selective_scan(
          {row(x_), written_.defined() ? row(written_) : decay, log_rate_, row(input_), row(output_), {}, decay},
          state);
    });
  }

  std::shared_ptr<const ImpliedMap> continued(std::int64_t count, const ImpliedMap& later) const override {
    const auto& added = dynamic_cast<const ScanMap&>(later);
    auto all = std::make_shared<ScanMap>(*this);
    all->delta_ = delta_->continued(count, *added.delta_);
    all->written_ = written_.continued(count, added.written_);
    all->x_ = x_.continued(count, added.x_);
    all->input_ = input_.continued(count, added.input_);
    all->output_ = output_.continued(count, added.output_);
    return all;
  }
  std::vector<at::Tensor> inputs() const override {
    return stretches_of({delta_->numbers(), written_, x_, input_, output_});
  }

 protected:
  at::TensorOptions options() const override { return input_.options(); }
  at::Tensor row_vectors(Range tokens, Range channels) const override {
    return output_.of(tokens).repeat({1, channels.size()});
  }
  at::Tensor column_vectors(Range tokens, Range channels) const override {
    const at::Tensor delta = (written_.defined() ? written_ : delta_->numbers()).of(tokens, channels);
    return (delta.unsqueeze(-1) * input_.of(tokens).unsqueeze(1)).flatten(1);
  }
  at::Tensor sums(Range tokens, Range channels) const override {
    return (delta_->of(tokens, channels).unsqueeze(-1) * log_rate_.slice(0, channels.begin, channels.end)).flatten(1);
  }

 private:
  std::shared_ptr<const RunningSums> delta_;  // (T, C) of the decay
  TokenRows written_;                         // (T, C) Δ of the write where that is another one, or undefined
  TokenRows x_;                               // (T, C)
  at::Tensor log_rate_;                       // (C, N)
  TokenRows input_, output_;                  // (T, N)
  at::Tensor skip_;                           // (bands) means, or undefined
};

class RecurrenceMap final : public DecayingBands {
 public:
  RecurrenceMap(const RecurrenceInputs& inputs, const at::Tensor& gate, std::int64_t bands)
      : DecayingBands(bands, gate.size(2), 1),
        log_decay_(std::make_shared<const RunningSums>(TokenRows(inputs.log_decay[0], 0))),
        gate_(gate[0], 0),
        input_(inputs.input[0], 0) {}

  std::int64_t length() const override { return gate_.length(); }
  at::Tensor half_life() const override {
    return median_of(half_lives(log_decay_->numbers().all()).unflatten(1, {heads(), width()})).t();
  }

  at::Tensor state_norm(const StopToken& stop) const override {
    return state_norms(length(), heads(), stop, [&](Range token, at::Tensor& state) {
      gated_recurrence({input_.of(token).unsqueeze(0), log_decay_->numbers().of(token).unsqueeze(0)}, state);
    });
  }

  std::shared_ptr<const ImpliedMap> continued(std::int64_t count, const ImpliedMap& later) const override {
    const auto& added = dynamic_cast<const RecurrenceMap&>(later);
    auto all = std::make_shared<RecurrenceMap>(*this);
    all->log_decay_ = log_decay_->continued(count, *added.log_decay_);
    all->gate_ = gate_.continued(count, added.gate_);
    all->input_ = input_.continued(count, added.input_);
    return all;
  }
  std::vector<at::Tensor> inputs() const override { return stretches_of({log_decay_->numbers(), gate_, input_}); }

 protected:
  at::TensorOptions options() const override { return gate_.options(); }
  at::Tensor row_vectors(Range tokens, Range channels) const override {
    return at::ones({tokens.size(), channels.size()}, options());
  }
  at::Tensor column_vectors(Range tokens, Range channels) const override { return gate_.of(tokens, channels); }
  at::Tensor sums(Range tokens, Range channels) const override { return log_decay_->of(tokens, channels); }

 private:
  std::shared_ptr<const RunningSums> log_decay_;  // (T, C)
  TokenRows gate_, input_;                        // (T, C)
};

class ConvolutionMap final : public BandedMap {
 public:
  ConvolutionMap(const at::Tensor& before, const at::Tensor& after, const at::Tensor& weight, std::int64_t bands,
                 std::int64_t length)
      : BandedMap(bands, weight.size(0)),
        weight_(weight.detach()),
        before_(before.defined() ? before[0] : before, 0),
        after_(after.defined() ? after[0] : after, 0),
        length_(before.defined()  ? before.size(1)
                : after.defined() ? after.size(1)
                                  : length) {}

  std::int64_t length() const override { return length_; }
  at::Tensor half_life() const override { return {}; }
  at::Tensor state_norm(const StopToken& /*stop*/) const override { return {}; }

  at::Tensor tile(Range heads, Range rows, Range columns, Decay /*decay*/) const override {
    const at::NoGradGuard no_grad;
    at::Tensor cells = at::zeros({heads.size(), rows.size(), columns.size()}, weight_.options());
    for (std::int64_t lag = 0; lag < weight_.size(1); ++lag) {
      const Range seeing = rows.clamped({columns.begin + lag, columns.end + lag});
      if (seeing.empty()) {
        continue;
      }
      at::Tensor products = weight_.select(1, weight_.size(1) - 1 - lag).expand({seeing.size(), weight_.size(0)});
      if (before_.defined()) {
        products = products * before_.of({seeing.begin - lag, seeing.end - lag});
      }
      if (after_.defined()) {
        products = products * after_.of(seeing);
      }
      cells.diagonal(rows.begin - lag - columns.begin, 1, 2).copy_(means(products).slice(0, heads.begin, heads.end));
    }
    return cells;
  }

  std::shared_ptr<const ImpliedMap> continued(std::int64_t count, const ImpliedMap& later) const override {
    const auto& added = dynamic_cast<const ConvolutionMap&>(later);
    auto all = std::make_shared<ConvolutionMap>(*this);
    all->before_ = before_.continued(count, added.before_);
    all->after_ = after_.continued(count, added.after_);
    all->length_ = count + added.length_;
    return all;
  }
  std::vector<at::Tensor> inputs() const override { return stretches_of({before_, after_}); }

 private:
  at::Tensor weight_;         // (C, K)
  TokenRows before_, after_;  // (T, C) or undefined
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

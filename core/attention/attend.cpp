#include "core/attention/attend.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "core/attention/attend_fused.h"

namespace locus::attention {

namespace {

using position::Tile;

constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();
constexpr double kLowest = -1e30;
constexpr double kSmallestSum = 1e-30;  // of a row that sees a key it is at least 1
constexpr std::int64_t kRowBlock = 128;
constexpr std::int64_t kColumnBlock = 2048;

// (B, H, R, K) · (B, Hkv, K, E) -> (B, H, R, E): query heads that share a key head are stacked into one product.
at::Tensor grouped_product(const at::Tensor& left, const at::Tensor& right) {
  const std::int64_t batch = left.size(0);
  const std::int64_t heads = left.size(1);
  const std::int64_t rows = left.size(2);
  const std::int64_t kv_heads = right.size(1);
  if (heads == kv_heads) {
    return at::matmul(left, right);
  }
  const at::Tensor stacked = left.reshape({batch, kv_heads, (heads / kv_heads) * rows, left.size(3)});
  return at::matmul(stacked, right).reshape({batch, heads, rows, right.size(3)});
}

// V with the state's columns beside it, so that one product attends over both.
at::Tensor values_of(const Attention& attention) {
  if (!attention.state_values.defined()) {
    return attention.value;
  }
  const std::int64_t group = attention.prepared.query.size(1) / attention.value.size(1);
  const at::Tensor value = group == 1 ? attention.value : attention.value.repeat_interleave(group, 1);
  return at::cat({value, attention.state_values}, -1);
}

// (B, H, R, E): the values of the keys `chosen` (B, H, R).
at::Tensor gathered(const at::Tensor& values, const at::Tensor& chosen) {
  const std::int64_t group = chosen.size(1) / values.size(1);
  const at::Tensor own = group == 1 ? values : values.repeat_interleave(group, 1);
  return own.gather(2, chosen.unsqueeze(-1).expand({-1, -1, -1, values.size(-1)}));
}

// Splits what was attended into the part of V and the part of the state.
Attended split(const Attention& attention, const at::Tensor& attended, at::Tensor log_sum_exp) {
  Attended result;
  result.log_sum_exp = std::move(log_sum_exp);  // of the keys alone; with_sinks() adds the sink
  const std::int64_t width = attention.value.size(-1);
  if (!attention.state_values.defined()) {
    result.output = attended;
    return result;
  }
  result.output = attended.narrow(-1, 0, width);
  result.state_values = attended.narrow(-1, width, attended.size(-1) - width);
  return result;
}

// The sink takes its share of every row: Σ_j exp(l_j) + exp(sink) instead of Σ_j exp(l_j). Differentiable.
Attended with_sinks(const Attention& attention, Attended attended, const at::Tensor& log_sum_exp) {
  if (!attention.sinks.defined()) {
    return attended;
  }
  const at::Tensor sinks = attention.sinks.view({1, -1, 1});
  const at::Tensor left = at::sigmoid(log_sum_exp - sinks).to(attended.output.scalar_type()).unsqueeze(-1);
  attended.output = attended.output * left;
  if (attended.state_values.defined()) {
    attended.state_values = attended.state_values * left;
  }
  if (attended.log_sum_exp.defined()) {
    attended.log_sum_exp = at::logaddexp(attended.log_sum_exp, sinks.to(attended.log_sum_exp.scalar_type()));
  }
  return attended;
}

// Rows without keys: their weights are 0, exp(−∞ − ∞), whatever there is of them.
Attended closed(Attended attended) {
  if (attended.log_sum_exp.defined()) {
    const at::Tensor empty = attended.log_sum_exp == kMinusInfinity;
    attended.log_sum_exp.masked_fill_(empty, -kMinusInfinity);
    if (attended.chosen.defined()) {
      attended.chosen.masked_fill_(empty, -1);
      attended.output.masked_fill_(empty.unsqueeze(-1), 0);
      if (attended.state_values.defined()) {
        attended.state_values.masked_fill_(empty.unsqueeze(-1), 0);
      }
    }
  }
  return attended;
}

// The running largest logit of one row block, for hard attention. Blocks come from right to left, so an equal one in
// the next block is an earlier key.
struct Choice {
  at::Tensor maximum;  // (B, H, R)
  at::Tensor key;      // (B, H, R) int64

  void take(const at::Tensor& logits, std::int64_t first_column) {
    auto [largest, index] = logits.max(-1);
    index.add_(first_column);
    const at::Tensor better = key.defined() ? largest >= maximum : at::Tensor();
    key = key.defined() ? at::where(better, index, key) : index;
    maximum = maximum.defined() ? at::where(better, largest, maximum) : largest;
  }
};

// The running soft-max of one row block.
struct RowBlock {
  at::Tensor maximum;      // (B, H, R, 1)
  at::Tensor sum;          // (B, H, R, 1)
  at::Tensor accumulated;  // (B, H, R, E)

  // Takes in the logits of one more column block; overwrites them.
  void take(at::Tensor logits, const at::Tensor& values) {
    // A row that sees none of these keys (a window to both sides) has nothing to shift by.
    at::Tensor block_maximum = logits.amax(-1, true).clamp_min_(kLowest);
    if (!maximum.defined()) {
      maximum = std::move(block_maximum);
      logits.sub_(maximum).exp_();
      sum = logits.sum(-1, true);
      accumulated = grouped_product(logits, values);
      return;
    }
    const at::Tensor raised = at::maximum(maximum, block_maximum);
    const at::Tensor rescale = (maximum - raised).exp_();
    logits.sub_(raised).exp_();
    sum.mul_(rescale).add_(logits.sum(-1, true));
    accumulated.mul_(rescale).add_(grouped_product(logits, values));
    maximum = raised;
  }
};

class Streaming {
 public:
  Streaming(const Attention& attention, const StreamingOptions& options)
      : attention_(attention),
        options_(options),
        keys_(attention.prepared.key.size(2)),
        heads_(attention.prepared.query.size(1)),
        values_(values_of(attention)) {
    if (attention.encoding.is_dot_product()) {
      scaled_query_ = attention.prepared.query * attention.encoding.scale();
    }
  }

  Result<Attended> run() const {
    const at::Tensor& query = attention_.prepared.query;
    const Range all = options_.rows.empty() ? Range{0, query.size(2)} : options_.rows;
    const std::int64_t step = options_.row_block > 0 ? options_.row_block : kRowBlock;
    at::Tensor attended = at::empty({query.size(0), heads_, all.size(), values_.size(-1)}, query.options());
    at::Tensor log_sum_exp = at::empty({query.size(0), heads_, all.size()}, query.options().dtype(at::kDouble));
    std::vector<at::Tensor> chosen;
    const double whole = options_.progress ? cells(all, step) : 0;
    double done = 0;
    for (std::int64_t begin = all.begin; begin < all.end; begin += step) {
      const Range rows{begin, std::min(begin + step, all.end)};
      RowBlock block;
      Choice choice;
      LOCUS_CHECK(visit(rows, block, choice));
      if (choice.key.defined()) {
        chosen.push_back(choice.key);
      }
      attended.slice(2, rows.begin - all.begin, rows.end - all.begin)
          .copy_(choice.key.defined() ? gathered(values_, choice.key)
                                      : block.accumulated.div_(block.sum.clamp_min(kSmallestSum)));
      log_sum_exp.slice(2, rows.begin - all.begin, rows.end - all.begin)
          .copy_(block.sum.to(at::kDouble).log_().add_(block.maximum).squeeze(-1));
      done += cells(rows, step);
      report(options_.progress, done / std::max(whole, 1.0), {});
    }
    Attended result = split(attention_, attended, log_sum_exp);
    result.chosen = chosen.empty() ? at::Tensor() : at::cat(chosen, 2);
    return closed(with_sinks(attention_, std::move(result), log_sum_exp));
  }

 private:
  // The cells of all tiles that these rows visit.
  double cells(Range rows, std::int64_t step) const {
    double total = 0;
    for (std::int64_t begin = rows.begin; begin < rows.end; begin += step) {
      const Range block{begin, std::min(begin + step, rows.end)};
      total += static_cast<double>(block.size()) * static_cast<double>(attention_.mask.columns(block, keys_).size());
    }
    return total;
  }

  // All key blocks of one row block, from the last key that any row sees leftwards.
  Status visit(Range rows, RowBlock& block, Choice& choice) const {
    const std::int64_t step = std::max(options_.column_block > 0 ? options_.column_block : kColumnBlock, rows.size());
    const Range visible = attention_.mask.columns(rows, keys_);
    at::Tensor carry;
    for (std::int64_t end = visible.end; end > visible.begin; end -= step) {
      if (options_.stop.stop_requested()) {
        return cancelled();
      }
      const Range columns{std::max(visible.begin, end - step), end};
      at::Tensor logits = this->logits(rows, columns, carry);
      if (!attention_.mask.covers(rows, columns)) {
        logits.masked_fill_(attention_.mask.hidden(rows, columns, logits.device()), kMinusInfinity);
      }
      if (attention_.encoding.hard_attention()) {
        choice.take(logits, columns.begin);
      }
      block.take(logits, values_.slice(2, columns.begin, columns.end));
    }
    return {};
  }

  at::Tensor logits(Range rows, Range columns, at::Tensor& carry) const {
    if (scaled_query_.defined()) {
      const at::Tensor scores =
          grouped_product(scaled_query_.slice(2, rows.begin, rows.end),
                          attention_.prepared.key.slice(2, columns.begin, columns.end).transpose(-1, -2));
      return soft_capped(scores, attention_.soft_cap);
    }
    const Tile tile{attention_.layer, {0, heads_}, rows, columns};
    position::TileScores scores = attention_.encoding.score(attention_.prepared, tile, {}, carry);
    carry = scores.carry;
    return soft_capped(scores.logits, attention_.soft_cap);
  }

  const Attention& attention_;
  const StreamingOptions& options_;
  std::int64_t keys_;
  std::int64_t heads_;
  at::Tensor values_;
  at::Tensor scaled_query_;
};

}  // namespace

at::Tensor soft_capped(const at::Tensor& x, double cap) {
  if (cap <= 0) {
    return x;
  }
  return at::GradMode::is_enabled() ? at::tanh(x / cap) * cap : at::Tensor(x).div_(cap).tanh_().mul_(cap);
}

Attended attend_whole_map(const Attention& attention) {
  const position::Prepared& prepared = attention.prepared;
  const Range rows{0, prepared.query.size(2)};
  const Range keys{0, prepared.key.size(2)};
  const Tile tile{attention.layer, {0, prepared.query.size(1)}, rows, keys};
  at::Tensor logits = soft_capped(attention.encoding.score(prepared, tile).logits, attention.soft_cap);
  if (!attention.mask.covers(rows, keys)) {
    const at::Tensor hidden = attention.mask.hidden(rows, keys, logits.device());
    // Products are finite everywhere, so the mask can be added: the gradient then passes through as it is, one (T, T)
    // pass less. Hidden cells of other encodings may hold anything, NaN too.
    logits = attention.encoding.is_dot_product()
                 ? logits + at::zeros(hidden.sizes(), logits.options()).masked_fill_(hidden, kMinusInfinity)
                 : logits.masked_fill(hidden, kMinusInfinity);
  }
  at::Tensor log_sum_exp;
  if (!at::GradMode::is_enabled()) {
    log_sum_exp = at::logsumexp(logits, -1).to(at::kFloat);
    if (attention.encoding.hard_attention()) {
      const at::Tensor chosen = logits.argmax(-1);
      Attended result = split(attention, gathered(values_of(attention), chosen), log_sum_exp);
      result.chosen = chosen;
      return closed(std::move(result));
    }
  }
  at::Tensor weights = at::softmax(logits, -1);
  if (const at::Tensor empty = log_sum_exp.defined() ? log_sum_exp == kMinusInfinity : at::Tensor();
      empty.defined() && empty.any().item<bool>()) {
    weights.masked_fill_(empty.unsqueeze(-1), 0);
  }
  Attended attended = split(attention, grouped_product(weights, values_of(attention)), log_sum_exp);
  return closed(
      with_sinks(attention, std::move(attended), attention.sinks.defined() ? at::logsumexp(logits, -1) : logits));
}

Attended attend_with(const Attention& attention, const at::Tensor& weights) {
  return split(attention, grouped_product(weights.to(attention.value.device()), values_of(attention)), {});
}

Result<Attended> attend_streaming(const Attention& attention, const StreamingOptions& options) {
  const at::NoGradGuard no_grad;
  if (auto fused = attend_fused(attention, options)) {
    if (!fused->ok()) {
      return fused->error();
    }
    const at::Tensor sums = (*fused)->log_sum_exp;
    return with_sinks(attention, **std::move(fused), sums);
  }
  return Streaming(attention, options).run();
}

}  // namespace locus::attention

#include "models/experiments/output_sums.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "models/experiments/exponential_sum.h"
#include "models/transformer/check_numbers.h"

namespace locus::models {

namespace {

constexpr double kNoLogit = -std::numeric_limits<double>::infinity();
constexpr std::int64_t kBlockLogits = std::int64_t{1} << 22;  // 16 MiB of float32
constexpr std::int64_t kLeastOutputs = 1024;

// The blocks of the outputs, that of `token` first, so that its logit is known when others are compared with it.
std::vector<Range> blocks_of(std::int64_t outputs, std::int64_t rows, const OutputSumsOptions& options) {
  const std::int64_t fitting = std::max(kBlockLogits / std::max<std::int64_t>(rows, 1) / 256 * 256, kLeastOutputs);
  const std::int64_t size = options.at_once > 0 ? options.at_once : fitting;
  std::vector<Range> blocks;
  for (std::int64_t begin = 0; begin < outputs; begin += size) {
    blocks.push_back({begin, std::min(begin + size, outputs)});
    if (blocks.back().begin <= options.token && options.token < blocks.back().end) {
      std::swap(blocks.front(), blocks.back());
    }
  }
  return blocks;
}

// −∞ as 0: a number that can be taken from logits.
at::Tensor finite(const at::Tensor& largest) {
  return largest.masked_fill(largest == kNoLogit, 0);
}

// The sums of some rows, one block after the other; `type` is what exponentials are taken in.
class RowSums {
 public:
  RowSums(std::int64_t rows, const OutputSumsOptions& options, at::ScalarType type, const at::Device& device)
      : type_(type), ranked_(options.token >= 0) {
    const auto with = [&](at::ScalarType of) { return at::TensorOptions(of).device(device); };
    made_.largest = at::full({rows}, kNoLogit, with(at::kFloat));
    made_.likeliest = at::zeros({rows}, with(at::kLong));
    sum_ = at::zeros({rows}, with(at::kDouble));
    if (ranked_) {
      ids_ = at::full({rows}, options.token, with(at::kLong));
      made_.rank = at::ones({rows}, with(at::kLong));
    } else if (options.ids.defined()) {
      ids_ = options.ids.to(device);
    }
    if (ids_.defined()) {
      made_.own = at::full({rows}, kNoLogit, with(at::kFloat));
    }
  }

  // Takes logits (R, n) of these outputs: on the CPU in one pass over each row.
  void add(const at::Tensor& logits, Range outputs) {
    if (!logits.device().is_cpu() || type_ != at::kFloat || !logits.is_contiguous()) {
      take(logits, outputs);
      return;
    }
    take_own(logits, outputs);
    const float* const from = logits.data_ptr<float>();
    float* const largest = made_.largest.data_ptr<float>();
    std::int64_t* const likeliest = made_.likeliest.data_ptr<std::int64_t>();
    double* const sum = sum_.data_ptr<double>();
    const std::int64_t count = logits.size(1);
    at::parallel_for(0, logits.size(0), 8, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t r = begin; r < end; ++r) {
        const float* const row = from + r * count;
        const ExponentialSum part = exponential_sum(row, count);
        if (std::isnan(part.largest) || std::isnan(largest[r])) {
          largest[r] = std::numeric_limits<float>::quiet_NaN();
          continue;
        }
        if (part.largest > largest[r] || (part.largest == largest[r] && outputs.begin < likeliest[r])) {
          likeliest[r] = outputs.begin + (std::find(row, row + count, part.largest) - row);
        }
        if (part.largest == -std::numeric_limits<float>::infinity()) {
          continue;
        }
        const float most = std::max(part.largest, largest[r]);
        const auto share = [&](float own) { return std::exp(static_cast<double>(own) - static_cast<double>(most)); };
        sum[r] = sum[r] * share(largest[r]) + part.sum * share(part.largest);
        largest[r] = most;
      }
    });
    if (ranked_) {
      made_.rank += (logits > made_.own.unsqueeze(1)).sum(1);
    }
  }

  // Takes logits (R, n) of these outputs. Returns exp(logits − the largest so far), (R, n), and by what exponentials of
  // earlier blocks shrink to be of the same largest, (R) float64.
  struct Taken {
    at::Tensor exponentials, shrink;
  };
  Taken take(const at::Tensor& logits, Range outputs) {
    take_own(logits, outputs);
    const auto [most, at] = logits.max(1);
    const at::Tensor id = at + outputs.begin;
    const at::Tensor better = (most > made_.largest)
                                  .logical_or_(at::isnan(most))
                                  .logical_or_((most == made_.largest).logical_and_(id < made_.likeliest));
    const at::Tensor before = made_.largest;
    made_.likeliest = at::where(better, id, made_.likeliest);
    made_.largest = at::maximum(made_.largest, most);
    const at::Tensor base = finite(made_.largest);
    Taken taken;
    taken.exponentials = (logits.to(type_) - base.to(type_).unsqueeze(1)).exp_();
    taken.shrink = (before.to(at::kDouble) - base.to(at::kDouble)).exp_();
    sum_ = sum_ * taken.shrink + taken.exponentials.sum(1, false, at::kDouble);
    if (ranked_) {
      made_.rank += (logits > made_.own.unsqueeze(1)).sum(1);
    }
    return taken;
  }

  const at::Tensor& sum() const { return sum_; }  // of exponentials, of the largest
  Result<OutputSums> finish() const {
    LOCUS_CHECK(transformer::check_logits(made_.largest));
    OutputSums done = made_;
    done.log_sum_exp = sum_.log() + finite(made_.largest).to(at::kDouble);
    for (at::Tensor* part : {&done.largest, &done.likeliest, &done.log_sum_exp, &done.own, &done.rank}) {
      *part = part->defined() ? part->to(at::kCPU).contiguous() : *part;
    }
    return done;
  }

 private:
  void take_own(const at::Tensor& logits, Range outputs) {
    if (ids_.defined()) {
      const at::Tensor place = (ids_ - outputs.begin).unsqueeze(1);
      const at::Tensor here = (place >= 0).logical_and_(place < outputs.size()).squeeze(1);
      const at::Tensor found = logits.gather(1, place.clamp(0, outputs.size() - 1)).squeeze(1);
      made_.own = at::where(here, found, made_.own);
    }
  }

  at::ScalarType type_;
  bool ranked_;
  OutputSums made_;
  at::Tensor ids_;
  at::Tensor sum_;
};

OutputSumsOptions of_rows(const OutputSumsOptions& options, std::int64_t begin, std::int64_t end) {
  OutputSumsOptions part = options;
  part.ids = options.ids.defined() ? options.ids.slice(0, begin, end) : options.ids;
  return part;
}

at::Tensor logits_of(const transformer::Transformer& model, const at::Tensor& read, Range outputs) {
  return model.head().logits(read, outputs).select(0, 0).to(at::kFloat);
}

// The rows of parts, each of which has those of `runs` runs one after the other.
OutputSums all_rows(const std::vector<OutputSums>& parts, std::int64_t runs) {
  const auto all = [&](at::Tensor OutputSums::*part) {
    std::vector<at::Tensor> list;
    for (const OutputSums& each : parts) {
      if ((each.*part).defined()) {
        list.push_back((each.*part).view({runs, -1}));
      }
    }
    return list.empty() ? at::Tensor() : at::cat(list, 1).flatten();
  };
  return {all(&OutputSums::largest), all(&OutputSums::likeliest), all(&OutputSums::log_sum_exp), all(&OutputSums::own),
          all(&OutputSums::rank)};
}

}  // namespace

Result<OutputSums> output_sums(const transformer::Transformer& model, const at::Tensor& stream,
                               const OutputSumsOptions& options) {
  const at::NoGradGuard no_grad;
  std::vector<OutputSums> parts;
  std::int64_t begin = 0;
  do {
    const std::int64_t end = std::min(begin + kMaxOutputRows, stream.size(0));
    const at::Tensor read = model.head().read(stream.slice(0, begin, end).unsqueeze(0));
    RowSums sums(end - begin, of_rows(options, begin, end), at::kFloat, stream.device());
    for (const Range& outputs : blocks_of(model.spec().outputs(), end - begin, options)) {
      if (options.stop.stop_requested()) {
        return cancelled();
      }
      sums.add(logits_of(model, read, outputs), outputs);
    }
    LOCUS_TRY(parts.emplace_back(), sums.finish());
    begin = end;
  } while (begin < stream.size(0));
  return all_rows(parts, 1);
}

// KL = Σ p (a − b) − log Σ e^a + log Σ e^b with p = e^a / Σ e^a, in one pass over the blocks.
Result<OutputDivergence> output_divergence(const transformer::Transformer& model, const at::Tensor& first,
                                           const at::Tensor& others, const OutputSumsOptions& options,
                                           const transformer::Transformer* others_by) {
  const at::NoGradGuard no_grad;
  const transformer::Transformer& other_model = others_by != nullptr ? *others_by : model;
  const std::int64_t runs = others.size(0);
  const std::int64_t most = std::max<std::int64_t>(kMaxOutputRows / (runs + 1), 1);
  std::vector<at::Tensor> kl;
  std::vector<OutputSums> of_first;
  std::vector<OutputSums> of_others;
  std::int64_t begin = 0;
  do {
    const std::int64_t end = std::min(begin + most, first.size(0));
    const std::int64_t rows = end - begin;
    const at::Tensor read = model.head().read(first.slice(0, begin, end).unsqueeze(0));
    const at::Tensor other = other_model.head().read(others.slice(1, begin, end).reshape({1, runs * rows, -1}));
    OutputSumsOptions own = of_rows(options, begin, end);
    RowSums sums(rows, own, at::kDouble, first.device());
    own.ids = own.ids.defined() ? own.ids.repeat({runs}) : own.ids;
    RowSums other_sums(runs * rows, own, at::kDouble, first.device());
    at::Tensor differences = at::zeros({runs, rows}, sums.sum().options());
    for (const Range& outputs : blocks_of(model.spec().outputs(), (runs + 1) * rows, options)) {
      if (options.stop.stop_requested()) {
        return cancelled();
      }
      const at::Tensor a = logits_of(model, read, outputs);
      const at::Tensor b = logits_of(other_model, other, outputs);
      const RowSums::Taken taken = sums.take(a, outputs);
      other_sums.take(b, outputs);
      at::Tensor less = a.to(at::kDouble) - b.to(at::kDouble).view({runs, rows, -1});
      // An output of probability 0 adds nothing, whatever another run gives it.
      less = less.masked_fill_(taken.exponentials == 0, 0).mul_(taken.exponentials);
      differences = differences * taken.shrink + less.sum(2);
    }
    LOCUS_TRY(of_first.emplace_back(), sums.finish());
    LOCUS_TRY(of_others.emplace_back(), other_sums.finish());
    const at::Tensor mean = (differences / sums.sum()).to(at::kCPU);
    const at::Tensor log_sums = of_others.back().log_sum_exp.view({runs, rows});
    kl.push_back((mean - of_first.back().log_sum_exp + log_sums).clamp_min(0));
    begin = end;
  } while (begin < first.size(0));
  return OutputDivergence{at::cat(kl, 1), all_rows(of_first, 1), all_rows(of_others, runs)};
}

}  // namespace locus::models

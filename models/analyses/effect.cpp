#include "models/effect.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <utility>

#include "core/base/numbers.h"
#include "models/analyses/fields.h"
#include "models/guard.h"

namespace locus::models {

namespace {

constexpr std::int64_t kRowsAtOnce = 128;  // of logits in float64

double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) {
    sum += value;
  }
  return values.empty() ? kNaN : sum / static_cast<double>(values.size());
}

at::Tensor log_shares(const at::Tensor& logits, std::int64_t begin, std::int64_t end) {
  return logits.slice(0, begin, end).to(at::kCPU, at::kDouble).log_softmax(-1);
}

void append(std::vector<double>& list, const at::Tensor& values) {
  const at::Tensor flat = values.contiguous();
  list.insert(list.end(), flat.data_ptr<double>(), flat.data_ptr<double>() + flat.numel());
}

}  // namespace

Result<Effect> effect_between(std::shared_ptr<const Trace> untouched, std::shared_ptr<const Trace> edited) {
  return guarded([&]() -> Result<Effect> {
    const at::NoGradGuard no_grad;
    LOCUS_TRY(const TraceData* const before, data_of(*untouched));
    LOCUS_TRY(const TraceData* const after, data_of(*edited));
    if (!before->logits.defined() || !after->logits.defined()) {
      return unsupported("an effect needs a model that predicts: this one has no head", untouched->model().name);
    }
    if (before->logits.sizes() != after->logits.sizes()) {
      return bad_input("expected the logits of the same tokens, found those of " +
                       std::to_string(before->logits.size(0)) + " and " + std::to_string(after->logits.size(0)));
    }
    Effect effect;
    const std::int64_t rows = before->logits.size(0);
    const bool next = untouched->model().causal && !untouched->model().image && before->input_ids.defined() &&
                      rows == before->input_ids.size(0);
    std::vector<double> losses;
    std::vector<double> losses_edited;
    for (std::int64_t begin = 0; begin < rows; begin += kRowsAtOnce) {
      const std::int64_t end = std::min(begin + kRowsAtOnce, rows);
      const at::Tensor first = log_shares(before->logits, begin, end);
      const at::Tensor second = log_shares(after->logits, begin, end);
      append(effect.kl, (first.exp() * (first - second)).sum(-1).clamp_min(0));
      const std::int64_t scored = std::min(end, rows - 1) - begin;
      if (next && scored > 0) {
        const at::Tensor ids = before->input_ids.slice(0, begin + 1, begin + 1 + scored).cpu().unsqueeze(1);
        append(losses, -first.slice(0, 0, scored).gather(1, ids).squeeze(1));
        append(losses_edited, -second.slice(0, 0, scored).gather(1, ids).squeeze(1));
      }
    }
    for (std::size_t n = 0; n < losses.size(); ++n) {
      effect.delta.push_back(losses_edited[n] - losses[n]);
    }
    effect.loss = mean_of(losses);
    effect.loss_edited = mean_of(losses_edited);
    effect.untouched = std::move(untouched);
    effect.edited = std::move(edited);
    return effect;
  });
}

Result<Effect> effect_of_edits(const Model& model, const Input& input, StopToken stop, const Progress& progress) {
  if (model.edits().empty()) {
    return usage("effect: expected at least one --edit or --edits FILE");
  }
  LOCUS_TRY(const std::shared_ptr<const Model> plain, model.edited({}));
  RunOptions options;
  options.all_logits = true;
  options.continuable = true;
  options.keep = {"logits", "hidden"};
  LOCUS_TRY(std::shared_ptr<const Trace> untouched, plain->run(input, options, stop, progress));
  options.reuse = untouched;
  LOCUS_TRY(std::shared_ptr<const Trace> edited, model.run(input, options, stop, progress));
  return effect_between(std::move(untouched), std::move(edited));
}

}  // namespace locus::models

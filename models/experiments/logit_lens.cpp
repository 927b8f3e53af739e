#include "models/api/logit_lens.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "core/base/guarded.h"
#include "models/api/local.h"
#include "models/experiments/fields.h"
#include "models/experiments/rerun.h"

namespace locus::models {

namespace {

constexpr std::int64_t kLensRows = 128;  // of logits at once

// Rows begin … of one lens row. One pass for the largest logit and one for the sum of exponentials: the vocabulary is
// read as float32, and summed in float64.
void take_rows(const at::Tensor& given, std::int64_t row, std::int64_t begin, std::int64_t token, LogitLens& lens) {
  const at::Tensor logits = given.to(at::kFloat);
  const auto [largest, likeliest] = logits.max(-1, true);  // (n, 1)
  const at::Tensor sums = (logits - largest).exp_().sum(-1, false, at::kDouble);
  const at::Tensor ids = (token < 0 ? likeliest : at::full_like(likeliest, token)).contiguous();
  const at::Tensor own = logits.gather(-1, ids);
  const at::Tensor shares = ((own - largest).squeeze(-1).to(at::kDouble).exp() / sums).to(at::kCPU);
  const at::Tensor ranks = (token < 0 ? at::ones_like(ids) : (logits > own).sum(-1, true) + 1).squeeze(-1).to(at::kCPU);
  const at::Tensor host_ids = ids.squeeze(-1).to(at::kCPU);
  for (std::int64_t n = 0; n < shares.size(0); ++n) {
    const auto cell = static_cast<std::size_t>(row * lens.probability.columns + begin + n);
    lens.probability.values[cell] = static_cast<float>(shares[n].item<double>());
    lens.ids[cell] = host_ids[n].item<std::int64_t>();
    lens.ranks[cell] = ranks[n].item<std::int64_t>();
  }
}

}  // namespace

Result<LogitLens> local::logit_lens(const Model& model, const Trace& trace, std::int64_t token, StopToken stop,
                                    const Progress& progress) {
  return guarded([&]() -> Result<LogitLens> {
    const at::NoGradGuard no_grad;
    const ModelInfo& info = model.info();
    if (info.image) {
      return unsupported("logit lens: images are read off their class token or all patches together", info.name);
    }
    LOCUS_TRY(const Rerun run, rerun_of(model, trace, "logit lens"));
    if (token >= info.vocabulary) {
      return bad_input("logit lens: expected a token below " + std::to_string(info.vocabulary) + ", found " +
                       std::to_string(token));
    }
    LOCUS_TRY(
        const transformer::Observation seen,
        run.transformer.observe(run.batch, {.hidden = true, .all_logits = true, .stop = stop, .progress = progress}));

    const std::int64_t length = run.data.input_ids.size(0);
    LogitLens lens;
    lens.probability = Field::zeros(info.layers + 1, length);
    lens.probability.quantity = "probability";
    lens.probability.row_axis = {"layer", "", 0, 1};
    lens.probability.column_axis = {"position", "token", 0, 1};
    lens.ids.resize(lens.probability.values.size());
    lens.ranks.resize(lens.ids.size());
    for (std::int64_t row = 0; row <= info.layers; ++row) {
      report_layer(progress, static_cast<std::size_t>(row), static_cast<std::size_t>(info.layers + 1));
      for (std::int64_t begin = 0; begin < length; begin += kLensRows) {
        if (stop.stop_requested()) {
          return cancelled();
        }
        const std::int64_t end = std::min(begin + kLensRows, length);
        const at::Tensor logits =
            row == info.layers
                ? seen.logits[0].slice(0, begin, end)
                : run.transformer.head()(seen.layers[static_cast<std::size_t>(row)].hidden.slice(1, begin, end))
                      .select(0, 0);
        take_rows(logits, row, begin, token, lens);
      }
    }
    std::map<std::int64_t, std::string> names;
    for (const std::int64_t id : lens.ids) {
      auto [known, added] = names.try_emplace(id);
      known->second = added ? (run.data.label ? run.data.label(id) : std::to_string(id)) : known->second;
      lens.labels.push_back(known->second);
    }
    return lens;
  });
}

Result<std::vector<Prediction>> local::predictions_at(const Model& model, const Trace& trace, std::int64_t token,
                                                      std::int64_t count, StopToken stop) {
  return guarded([&]() -> Result<std::vector<Prediction>> {
    const at::NoGradGuard no_grad;
    if (model.info().image) {
      return unsupported("predictions: expected a model of text, found one of images", model.info().name);
    }
    if (token < 0 || token >= trace.length()) {
      return bad_input("predictions: expected a token of 0 to " + std::to_string(trace.length() - 1) + ", found " +
                       std::to_string(token));
    }
    LOCUS_TRY(const Rerun run, rerun_of(model, trace, "predictions"));
    LOCUS_TRY(const transformer::Observation seen,
              run.transformer.observe(run.batch, {.read = {token, token + 1}, .stop = stop}));
    const at::Tensor logits = seen.logits[0].reshape({-1, seen.logits.size(-1)})[-1].to(at::kCPU, at::kFloat);
    const at::Tensor shares = at::softmax(logits, -1);
    const auto [values, ids] = shares.topk(std::min(std::max<std::int64_t>(count, 0), shares.size(0)));
    std::vector<Prediction> list;
    for (std::int64_t n = 0; n < ids.size(0); ++n) {
      const auto id = ids[n].item<std::int64_t>();
      list.push_back({id, run.data.label ? run.data.label(id) : std::to_string(id), values[n].item<float>()});
    }
    return list;
  });
}

}  // namespace locus::models

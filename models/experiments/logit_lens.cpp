#include "models/api/logit_lens.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "core/base/guarded.h"
#include "models/api/local.h"
#include "models/experiments/fields.h"
#include "models/experiments/output_sums.h"
#include "models/experiments/rerun.h"

namespace locus::models {

namespace {

// The labels of ids, each made once.
class LensLabels {
 public:
  explicit LensLabels(const TraceData& data) : data_(data) {}
  const std::string& operator()(std::int64_t id) {
    auto [known, added] = names_.try_emplace(id);
    if (added) {
      known->second = data_.label ? data_.label(id) : std::to_string(id);
    }
    return known->second;
  }

 private:
  const TraceData& data_;
  std::map<std::int64_t, std::string> names_;
};

LogitLens empty_lens(std::int64_t rows, std::int64_t length) {
  LogitLens lens;
  lens.probability = Field::zeros(rows, length);
  lens.probability.quantity = "probability";
  lens.probability.row_axis = {"layer", "", 0, 1};
  lens.probability.column_axis = {"position", "token", 0, 1};
  std::fill(lens.probability.values.begin(), lens.probability.values.end(), std::numeric_limits<float>::quiet_NaN());
  lens.ids.resize(lens.probability.values.size(), -1);
  lens.ranks.resize(lens.ids.size(), 0);
  lens.labels.resize(lens.ids.size());
  return lens;
}

// Takes the sums of whole rows from row `first` on.
void take_rows(const OutputSums& sums, std::int64_t first, LensLabels& labels, LogitLens& lens) {
  const bool likeliest = !sums.own.defined();
  const at::Tensor& logits = likeliest ? sums.largest : sums.own;
  for (std::int64_t n = 0; n < logits.size(0); ++n) {
    const auto cell = static_cast<std::size_t>(first * lens.probability.columns + n);
    const double logit = static_cast<double>(logits.data_ptr<float>()[n]);
    lens.probability.values[cell] = static_cast<float>(std::exp(logit - sums.log_sum_exp.data_ptr<double>()[n]));
    lens.ids[cell] = likeliest ? sums.likeliest.data_ptr<std::int64_t>()[n] : lens.ids[cell];
    lens.ranks[cell] = likeliest ? 1 : sums.rank.data_ptr<std::int64_t>()[n];
    lens.labels[cell] = labels(lens.ids[cell]);
  }
}

// The inputs of the head in rows [first, last], one row after the other: (rows · T, C).
at::Tensor streams_of(const transformer::Observation& seen, std::int64_t first, std::int64_t last) {
  std::vector<at::Tensor> rows;
  for (std::int64_t row = first; row <= last; ++row) {
    const auto n = static_cast<std::size_t>(row);
    rows.push_back(n == seen.layers.size() ? seen.stream[0] : seen.layers[n].hidden[0]);
  }
  return at::cat(rows);
}

}  // namespace

Result<LogitLens> local::logit_lens(const Model& model, const Trace& trace, const LensOptions& options, StopToken stop,
                                    const Progress& progress) {
  return guarded([&]() -> Result<LogitLens> {
    const at::NoGradGuard no_grad;
    const ModelInfo& info = model.info();
    const std::int64_t token = std::max<std::int64_t>(options.token, -1);
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
        run.transformer.observe(run.batch, {.hidden = true, .all_logits = true, .before_head = true, .stop = stop}));

    LogitLens lens = empty_lens(info.layers + 1, run.data.input_ids.size(0));
    std::fill(lens.ids.begin(), lens.ids.end(), token);
    LensLabels labels(run.data);
    const std::int64_t length = lens.probability.columns;
    const std::int64_t sharing = std::max<std::int64_t>(kMaxOutputRows / std::max<std::int64_t>(length, 1), 1);
    // What the model says comes first and alone; other rows share passes over the vocabulary.
    for (std::int64_t last = info.layers; last >= 0;) {
      const std::int64_t first = last == info.layers ? last : std::max<std::int64_t>(last - sharing + 1, 0);
      report(progress, static_cast<double>(info.layers - last) / static_cast<double>(info.layers + 1),
             last == info.layers ? "what the model says" : "before layer " + std::to_string(last));
      LOCUS_TRY(const OutputSums sums,
                output_sums(run.transformer, streams_of(seen, first, last), {.token = token, .stop = stop}));
      take_rows(sums, first, labels, lens);
      last = first - 1;
      if (options.so_far && last >= 0) {
        options.so_far(lens);
      }
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

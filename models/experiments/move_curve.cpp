#include "models/api/move_curve.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <optional>

#include "core/attention/score_field.h"
#include "core/base/guarded.h"
#include "models/api/local.h"
#include "models/edits/run_edits.h"
#include "models/experiments/output_sums.h"
#include "models/experiments/outputs.h"
#include "models/experiments/rerun.h"
#include "models/transformer/check_numbers.h"

namespace locus::models {

namespace {

// Runs of one input with tokens elsewhere.
class Mover {
 public:
  static Result<Mover> begin(const Model& model, const Trace& trace, const MoveOptions& options, StopToken stop);

  // Positions that the encoding cannot take are remembered, and leave NaN.
  Result<MovePoint> moved(Range tokens, double by);
  // The error of the first positions, where none were taken.
  Status outcome() const { return !any_ && refused_ ? Status(*refused_) : Status(); }

 private:
  Mover(Rerun run, const MoveOptions& options) : run_(std::move(run)), options_(&options) {}
  Result<double> weight_of(const transformer::Batch& batch, const transformer::Observation& seen, Range tokens) const;
  // The outputs of `stream` (R, C), the input of the head, against those of the run that moves nothing: the loss of all
  // tokens, the KL of those from `reached` on.
  Status compare(const at::Tensor& stream, std::int64_t reached, MovePoint& point) const;

  Rerun run_;
  const MoveOptions* options_;
  transformer::ObserveOptions observe_;
  at::Tensor before_;  // (R, C) that the head reads in the run that moves nothing
  std::optional<Error> refused_;
  bool any_ = false;
};

Result<Mover> Mover::begin(const Model& model, const Trace& trace, const MoveOptions& options, StopToken stop) {
  LOCUS_TRY(Rerun run, rerun_of(model, trace, "move"));
  const ModelInfo& info = model.info();
  if (options.layer >= info.layers || options.head >= info.heads) {
    return bad_input("move: expected a layer below " + std::to_string(info.layers) + " and a head below " +
                     std::to_string(info.heads) + ", found " + std::to_string(options.layer) + "." +
                     std::to_string(options.head));
  }
  if (options.layer >= 0 && options.head < 0 && options.head != kMeanHead) {
    return bad_input("move: expected a head from 0, or their mean, found " + std::to_string(options.head));
  }
  const std::int64_t tokens = run.batch.positions.placed().size();
  if (options.tokens.begin < 0 || options.tokens.end <= options.tokens.begin || options.tokens.end > tokens) {
    return bad_input("move: expected a range of tokens within 0 to " + std::to_string(tokens) + ", found " +
                     std::to_string(options.tokens.begin) + " to " + std::to_string(options.tokens.end));
  }
  if (!info.layer_info[static_cast<std::size_t>(std::max<std::int64_t>(options.layer, 0))].attends) {
    return unsupported("move: expected a layer with attention, found layer " + std::to_string(options.layer) + " (" +
                       layer_text(info, options.layer) + ")");
  }
  Mover mover(std::move(run), options);
  mover.observe_.all_logits = options.outputs;
  mover.observe_.before_head = true;
  mover.observe_.stop = std::move(stop);
  if (options.outputs) {
    LOCUS_TRY(const transformer::Observation unedited,
              mover.run_.transformer.observe(mover.run_.batch, mover.observe_));
    mover.before_ = unedited.stream.select(0, 0);
  }
  return mover;
}

Status Mover::compare(const at::Tensor& stream, std::int64_t reached, MovePoint& point) const {
  const transformer::Transformer& model = run_.transformer;
  if (model.spec().is_image()) {
    const at::Tensor classes = model.head()(before_.unsqueeze(0)).select(0, 0);
    const at::Tensor moved = model.head()(stream.unsqueeze(0)).select(0, 0);
    LOCUS_CHECK(transformer::check_logits(moved));
    point.kl = mean_divergence(classes, moved);
    return {};
  }
  const at::Tensor& ids = run_.data.input_ids;
  const bool predicts = run_.loaded.info().causal && ids.size(0) > 1;
  OutputSumsOptions options{.stop = observe_.stop};
  if (predicts) {
    options.ids = at::cat({ids.slice(0, 1), ids.slice(0, 0, 1)});  // nothing follows the last one
  }
  LOCUS_TRY(const OutputDivergence found, output_divergence(model, before_, stream.unsqueeze(0), options));
  point.kl = found.kl.slice(1, reached).mean().item<double>();
  if (predicts) {
    const at::Tensor all = found.others.log_sum_exp - found.others.own.to(at::kDouble);
    at::Tensor losses = all.slice(0, 0, ids.size(0) - 1).contiguous();
    leave_out_cells(run_.data.images, losses.data_ptr<double>(), losses.size(0));
    point.loss = losses.nanmean().item<double>();
  }
  return {};
}

Result<double> Mover::weight_of(const transformer::Batch& batch, const transformer::Observation& seen,
                                Range tokens) const {
  const std::int64_t layer = options_->layer;
  const transformer::LayerRecord& record = seen.layers[static_cast<std::size_t>(layer)];
  const attention::ScoreField field(
      std::make_shared<const attention::ComputedScores>(
          run_.transformer.encoding_of(batch, layer), run_.transformer.encoding_layer(layer), record.prepared,
          record.log_sum_exp, record.chosen, run_.transformer.soft_cap_of(batch, layer)),
      run_.transformer.mask(batch, layer));
  const std::int64_t prefix = batch.positions.prefix;
  const std::int64_t query = run_.data.grid.cls > 0 ? 0 : batch.positions.placed().end - 1;
  LOCUS_TRY(const Field row, field.map({attention::Quantity::kWeight,
                                        options_->head,
                                        {query, query + 1},
                                        {tokens.begin + prefix, tokens.end + prefix}}));
  double sum = 0;
  for (const float weight : row.values) {
    sum += static_cast<double>(weight);
  }
  return sum;
}

Result<MovePoint> Mover::moved(Range tokens, double by) {
  const Edit shift{.kind = EditKind::kShift, .tokens = tokens, .by = by};
  MovePoint point;
  point.by = by;
  transformer::Batch batch = run_.batch;
  const auto positions = edited_positions({shift}, batch.positions, run_.layout(), run_.transformer);
  if (!positions.ok()) {
    refused_ = refused_ ? refused_ : positions.error();
    return point;
  }
  batch.positions = *positions;
  LOCUS_CHECK(run_.loaded.runner().edit_layers(batch, run_.layout()));
  LOCUS_TRY(const transformer::Observation seen, run_.transformer.observe(batch, observe_));
  any_ = true;
  if (options_->outputs) {
    const ModelInfo& info = run_.loaded.info();
    const std::int64_t reached = info.causal && !info.image ? tokens.begin + batch.positions.prefix : 0;
    LOCUS_CHECK(compare(seen.stream.select(0, 0), reached, point));
  }
  if (options_->layer >= 0) {
    LOCUS_TRY(point.weight, weight_of(batch, seen, tokens));
  }
  return point;
}

}  // namespace

Result<std::vector<MovePoint>> local::move_curve(const Model& model, const Trace& trace, const MoveOptions& options,
                                                 StopToken stop, const Progress& progress) {
  return guarded([&]() -> Result<std::vector<MovePoint>> {
    const at::NoGradGuard no_grad;
    LOCUS_TRY(Mover mover, Mover::begin(model, trace, options, std::move(stop)));
    std::vector<MovePoint> curve;
    for (const double by : options.by) {
      report(progress, static_cast<double>(curve.size()) / static_cast<double>(options.by.size()),
             "by " + number_text(by));
      LOCUS_TRY(curve.emplace_back(), mover.moved(options.tokens, by));
    }
    LOCUS_CHECK(mover.outcome());
    return curve;
  });
}

Result<std::vector<std::vector<MovePoint>>> local::move_map(const Model& model, const Trace& trace,
                                                            const MoveOptions& options, StopToken stop,
                                                            const Progress& progress) {
  return guarded([&]() -> Result<std::vector<std::vector<MovePoint>>> {
    const at::NoGradGuard no_grad;
    LOCUS_TRY(Mover mover, Mover::begin(model, trace, options, stop));
    std::vector<std::vector<MovePoint>> rows;
    double done = 0;
    const double count = static_cast<double>(options.by.size()) * static_cast<double>(options.tokens.size());
    for (std::int64_t token = options.tokens.begin; token < options.tokens.end; ++token) {
      rows.emplace_back();
      for (const double by : options.by) {
        if (stop.stop_requested()) {
          return cancelled();
        }
        report(progress, done / count, "token " + std::to_string(token) + " by " + number_text(by));
        done += 1;
        LOCUS_TRY(rows.back().emplace_back(), mover.moved({token, token + 1}, by));
      }
    }
    LOCUS_CHECK(mover.outcome());
    return rows;
  });
}

}  // namespace locus::models

#include "models/knock_out.h"

#include <ATen/ATen.h>

#include <utility>

#include "core/base/numbers.h"
#include "models/analyses/fields.h"
#include "models/analyses/layer_reuse.h"
#include "models/analyses/outputs.h"
#include "models/edits/run_edits.h"
#include "models/guard.h"
#include "models/loaded_model.h"

namespace locus::models {

namespace {

constexpr double kMostLogits = 2e9;  // numbers

// What a run's logits (R, V) are asked.
class Probe {
 public:
  Probe(const KnockOutOptions& options, at::Tensor untouched, at::Tensor ids)
      : options_(options), untouched_(std::move(untouched)), ids_(std::move(ids)) {
    if (options_.measure == KnockOutMeasure::kLoss) {
      own_loss_ = mean_loss(untouched_, ids_);
    } else if (options_.measure == KnockOutMeasure::kLogit) {
      const std::int64_t rows = untouched_.size(0);
      row_ = rows == 1 || options_.position < 0 ? rows - 1 : options_.position;
      token_ = options_.token < 0 ? untouched_[row_].argmax().item<std::int64_t>() : options_.token;
      own_share_ = share(untouched_);
    }
  }

  double operator()(const at::Tensor& logits) const {
    switch (options_.measure) {
      case KnockOutMeasure::kLoss:
        return mean_loss(logits, ids_) - own_loss_;
      case KnockOutMeasure::kKl:
        return mean_divergence(untouched_, logits);
      case KnockOutMeasure::kLogit:
        return share(logits) - own_share_;
    }
    return kNaN;
  }

 private:
  double share(const at::Tensor& logits) const {
    return logits[row_].to(at::kDouble).log_softmax(-1)[token_].item<double>();
  }

  KnockOutOptions options_;
  at::Tensor untouched_;
  at::Tensor ids_;  // (T)
  std::int64_t row_ = 0;
  std::int64_t token_ = 0;
  double own_loss_ = 0;
  double own_share_ = 0;
};

Status check(const ModelInfo& info, const TraceData& data, const KnockOutOptions& options) {
  const auto length = static_cast<std::int64_t>(data.tokens.size());
  if (options.measure == KnockOutMeasure::kLoss && (!info.causal || info.image || length < 2)) {
    return info.causal && !info.image
               ? bad_input("knock-out: expected at least two tokens, of which the first predicts, found one")
               : unsupported("knock-out: " + info.name + " does not predict the next token; measure kl or logit");
  }
  if (options.measure == KnockOutMeasure::kLogit && (options.token >= info.vocabulary || options.position >= length)) {
    return bad_input(options.token >= info.vocabulary
                         ? "knock-out: expected a token below " + std::to_string(info.vocabulary) + ", found " +
                               std::to_string(options.token)
                         : "knock-out: expected a position below " + std::to_string(length) + ", found " +
                               std::to_string(options.position));
  }
  if (static_cast<double>(length) * static_cast<double>(info.vocabulary) > kMostLogits &&
      options.measure != KnockOutMeasure::kLogit) {
    return too_large("knock-out: logits of " + std::to_string(length) + " tokens × " + std::to_string(info.vocabulary) +
                     "; measure logit at the last position, or take a shorter text");
  }
  return {};
}

}  // namespace

Result<Field> knock_out(const Model& model, const Trace& trace, const KnockOutOptions& options, StopToken stop,
                        const Progress& progress) {
  return guarded([&]() -> Result<Field> {
    const at::NoGradGuard no_grad;
    LOCUS_TRY(const TraceData* const data, data_of(trace));
    const LoadedModel* const loaded = model.loaded();
    const ModelInfo& info = model.info();
    if (loaded == nullptr || loaded->encoder() != nullptr || (!data->input_ids.defined() && !data->pixels.defined())) {
      return unsupported("knock-out: expected a checkpoint of one side that can be run again", info.name);
    }
    LOCUS_TRY(const transformer::Transformer* const transformer, loaded->ready());
    if (!transformer->spec().head) {
      return unsupported("knock-out: " + info.name + " has no head, so it predicts nothing");
    }
    LOCUS_CHECK(check(info, *data, options));
    transformer::Batch batch;
    if (data->input_ids.defined()) {
      batch.ids = data->input_ids.unsqueeze(0);
    }
    batch.pixels = data->pixels;
    batch.positions = {data->position_ids, data->grid.cls + data->grid.registers};
    LOCUS_CHECK(loaded->edit_layers(batch, data->grid));
    const auto length = static_cast<std::int64_t>(data->tokens.size());
    const bool last_alone =
        options.measure == KnockOutMeasure::kLogit && (options.position < 0 || options.position == length - 1);
    LOCUS_TRY(const LayerReuse runs, LayerReuse::begin(*transformer, info, batch, !last_alone, stop));
    const Probe probe(options, runs.first().logits.select(0, 0), data->input_ids);

    Field field = Field::zeros(info.layers, info.heads);
    field.row_axis = {"layer", "", 0, 1};
    field.column_axis = {"head", "", 0, 1};
    for (std::int64_t layer = 0; layer < info.layers; ++layer) {
      for (std::int64_t head = 0; head < info.heads; ++head) {
        if (stop.stop_requested()) {
          return cancelled();
        }
        report(progress, static_cast<double>(layer * info.heads + head) / static_cast<double>(info.layers * info.heads),
               "head " + std::to_string(layer) + "." + std::to_string(head));
        Edits edits = loaded->edits();
        Edit edit;
        edit.layer.indices = {layer};
        edit.head.indices = {head};
        edit.to = options.to;
        edits.push_back(std::move(edit));
        LOCUS_TRY(const at::Tensor logits, runs.logits(edits, layer, data->grid.columns));
        field.at(layer, head) = static_cast<float>(probe(logits));
      }
    }
    return field;
  });
}

Result<std::int64_t> token_named(const Model& model, const std::string& word) {
  if (const auto id = parse_number<std::int64_t>(word)) {
    return *id;
  }
  Input input;
  input.text = word;
  const auto tokens = model.tokenize(input);
  std::vector<TokenInfo> own;
  for (std::size_t n = 0; tokens.ok() && n < tokens->size(); ++n) {
    if (!(*tokens)[n].bytes.empty()) {
      own.push_back((*tokens)[n]);
    }
  }
  if (own.size() != 1) {
    return usage("token: expected an id or a text of one token, found \"" + word + "\"" +
                 (own.empty() ? "" : ", which is " + std::to_string(own.size())));
  }
  return own.front().id;
}

}  // namespace locus::models

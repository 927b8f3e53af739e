// Parts of an earlier run that a run may reuse.
#include <algorithm>

#include "models/edits/run_edits.h"
#include "models/engine/runner.h"
#include "models/engine/trace/recorded_trace.h"

namespace locus::models {

namespace {

// How many tokens from the first on have the same pictures in both, and see the same tokens beside them.
std::int64_t same_pictures(const TraceData& data, const transformer::Batch& batch) {
  const std::int64_t length = std::min(data.input_ids.size(0), batch.ids.size(1));
  std::int64_t same = length;
  const transformer::ImageRows none{at::empty({0}, at::kLong), {}, {}};
  const transformer::ImageRows& before = data.image_rows ? *data.image_rows : none;
  const transformer::ImageRows& now = batch.images ? *batch.images : none;
  const std::int64_t shorter = std::min(before.tokens.size(0), now.tokens.size(0));
  for (std::int64_t n = 0; n < shorter; ++n) {
    bool equal = at::equal(before.tokens[n], now.tokens[n]) && at::equal(before.vectors[n], now.vectors[n]);
    for (std::size_t k = 0; equal && k < before.added.size(); ++k) {
      equal = at::equal(before.added[k][n], now.added[k][n]);
    }
    if (!equal) {
      same = std::min({same, before.tokens[n].item<std::int64_t>(), now.tokens[n].item<std::int64_t>()});
      break;
    }
  }
  for (const transformer::ImageRows* const rows : {&before, &now}) {
    if (rows->tokens.size(0) > shorter) {
      same = std::min(same, rows->tokens[shorter].item<std::int64_t>());
    }
  }
  // A token may see later ones of its block: those must be the same too.
  for (const attention::Blocks* const blocks : {data.blocks.get(), batch.blocks.get()}) {
    for (std::int64_t n = 0; blocks != nullptr && n < same; ++n) {
      if (const Range& span = blocks->span[static_cast<std::size_t>(n)]; span.end > same) {
        same = std::min(same, span.begin);
      }
    }
  }
  for (std::int64_t n = 0; data.blocks && batch.blocks && n < same; ++n) {
    const auto at = static_cast<std::size_t>(n);
    same = data.blocks->span[at] == batch.blocks->span[at] ? same : std::min(same, n);
  }
  return (data.blocks == nullptr) == (batch.blocks == nullptr) ? same : 0;
}

// Whether the trace is of the same input, at the same positions.
bool same_input(const TraceData& data, const transformer::Batch& batch) {
  if (data.image_rows && batch.images &&
      (!at::equal(data.image_rows->tokens, batch.images->tokens) ||
       !at::equal(data.image_rows->vectors, batch.images->vectors))) {
    return false;
  }
  const bool text = (data.image_rows == nullptr) == (batch.images == nullptr) && batch.ids.defined() &&
                    data.input_ids.defined() && at::equal(batch.ids[0], data.input_ids);
  const bool image = batch.pixels.defined() && data.pixels.defined() && at::equal(batch.pixels, data.pixels);
  return (text || image) && at::equal(batch.positions.ids, data.position_ids);
}

transformer::LayerRecord record_of(const TraceLayer& layer) {
  transformer::LayerRecord record;
  if (layer.computed) {
    record.prepared = layer.computed->prepared();
    record.log_sum_exp = layer.computed->log_sum_exp();
  }
  record.state = layer.state.value_or(position::State());
  record.implied = layer.map;
  record.marks = layer.marks;
  record.chosen = layer.chosen;
  record.hidden = layer.hidden.defined() ? layer.hidden.unsqueeze(0) : at::Tensor();
  record.value = layer.value;
  if (layer.experts.defined()) {
    record.routing = {layer.experts.unsqueeze(0), layer.expert_weights.unsqueeze(0)};
  }
  return record;
}

// Whether the trace has what a run needs of a layer that it reuses.
bool has_record(const TraceLayer& layer, const transformer::LayerSpec& spec) {
  return (!spec.attends || (layer.computed && layer.state && layer.value.defined())) &&
         (!spec.has_mixer() || layer.map);
}

}  // namespace

std::optional<transformer::ReusedTokens> reused_tokens_of(const std::shared_ptr<const Trace>& trace,
                                                          const transformer::Transformer& model,
                                                          const transformer::Batch& batch) {
  const auto* recorded = trace != nullptr ? recorded_of(*trace) : nullptr;
  // An encoding belongs to one model, so it tells whose trace this is.
  if (recorded == nullptr || recorded->data().layers.empty() || recorded->data().of_model != model.layer_encoding(0) ||
      !batch.ids.defined() || !recorded->data().input_ids.defined() || !recorded->data().edits.empty()) {
    return std::nullopt;
  }
  const TraceData& data = recorded->data();
  const std::int64_t shorter = std::min(data.input_ids.size(0), batch.ids.size(1));
  if (batch.positions.ids.dim() != data.position_ids.dim()) {
    return std::nullopt;
  }
  const at::Tensor places = batch.positions.ids.narrow(0, 0, shorter).eq(data.position_ids.narrow(0, 0, shorter)).cpu();
  const at::Tensor same = batch.ids[0].narrow(0, 0, shorter).eq(data.input_ids.narrow(0, 0, shorter)).cpu() &
                          (places.dim() == 2 ? places.all(1) : places);
  transformer::ReusedTokens reused;
  reused.rows = data.rows;
  // The last row is always computed: its logits are not kept with the layers.
  reused.tokens = std::min(
      {same.to(at::kLong).cumprod(0).sum().item<std::int64_t>(), batch.ids.size(1) - 1, same_pictures(data, batch)});
  for (const TraceLayer& layer : data.layers) {
    const auto n = static_cast<std::int64_t>(reused.layers.size());
    if (reused.tokens < 1 || !has_record(layer, model.block(n).spec())) {
      return std::nullopt;
    }
    reused.layers.push_back(record_of(layer));
  }
  return reused;
}

std::optional<transformer::ReusedLayers> reused_layers_of(const std::shared_ptr<const Trace>& trace,
                                                          const transformer::Transformer& model,
                                                          const transformer::Batch& batch, const Edits& edits,
                                                          const RunOptions& options) {
  const auto* recorded = trace != nullptr ? recorded_of(*trace) : nullptr;
  if (recorded == nullptr || recorded->data().of_model != model.layer_encoding(0) || batch.memory.defined()) {
    return std::nullopt;
  }
  const TraceData& data = recorded->data();
  // The last layer may have been run for one row alone, so it is always run.
  const auto depth = static_cast<std::int64_t>(data.layers.size());
  const std::int64_t first = std::min(first_difference(data.edits, edits, depth), depth - 1);
  if (first < 1 || (data.edits.empty() && edits.empty()) || !same_input(data, batch) ||
      !data.layers[static_cast<std::size_t>(first)].hidden.defined()) {
    return std::nullopt;
  }
  const bool routing = options.keep.count("experts") != 0 || options.keep.count("all") != 0;
  transformer::ReusedLayers reused;
  for (std::int64_t n = 0; n < depth; ++n) {
    const TraceLayer& layer = data.layers[static_cast<std::size_t>(n)];
    const bool routed = model.block(n).spec().feed_forward.experts.count > 0;
    if (!has_record(layer, model.block(n).spec()) || (n < first && routing && routed && !layer.experts.defined())) {
      return std::nullopt;
    }
    if (n < first) {
      reused.layers.push_back(record_of(layer));
    } else {
      reused.after.push_back(layer.state.value_or(position::State()));
    }
  }
  reused.hidden = data.layers[static_cast<std::size_t>(first)].hidden.unsqueeze(0);
  return reused;
}

}  // namespace locus::models

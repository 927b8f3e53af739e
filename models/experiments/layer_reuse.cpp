#include "models/experiments/layer_reuse.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "models/edits/run_edits.h"

namespace locus::models {

namespace {

constexpr std::int64_t kMaxTokens = 1024;  // of runs side by side, whose products share what they read of the weights

}  // namespace

Result<LayerReuse> LayerReuse::begin(const transformer::Transformer& model, const ModelInfo& info,
                                     transformer::Batch batch, Range read, const StopToken& stop) {
  LayerReuse made(model, info, std::move(batch), read, stop);
  LOCUS_TRY(made.first_, model.observe(made.batch_, {.hidden = true,
                                                     .values = model.spec().shares_keys(),
                                                     .all_logits = read.empty(),
                                                     .read = read,
                                                     .before_head = true,
                                                     .stop = stop}));
  return made;
}

bool LayerReuse::shares_batches() const {
  const transformer::Spec& spec = model_->spec();
  if (batch_.images || batch_.memory.defined() || batch_.blocks || batch_.tiles || spec.has_rounds() ||
      spec.shares_keys() || spec.has_mixers() || spec.convolution.kernel > 0 || spec.layer_inputs.width > 0) {
    return false;
  }
  const bool renewed = std::any_of(model_->encodings().begin(), model_->encodings().end(),
                                   [](const auto& each) { return each.encoding->description().updates; });
  const bool few = std::any_of(spec.layers.begin(), spec.layers.end(), [](const transformer::LayerSpec& each) {
    return each.feed_forward.experts.capacity > 0;  // experts choose among the tokens of a batch
  });
  return !renewed && !few;
}

std::int64_t LayerReuse::at_once() const {
  return shares_batches() ? std::max<std::int64_t>(kMaxTokens / std::max<std::int64_t>(batch_.positions.size(), 1), 1)
                          : 1;
}

Result<at::Tensor> LayerReuse::batch_of(const std::vector<transformer::LayerEdit>& edits, std::int64_t layer) const {
  const auto count = static_cast<std::int64_t>(edits.size());
  const auto many = [&](const at::Tensor& one) {
    std::vector<std::int64_t> sizes(static_cast<std::size_t>(one.defined() ? one.dim() : 0), -1);
    if (!sizes.empty()) {
      sizes.front() = count;
    }
    return count > 1 && one.defined() ? one.expand(sizes) : one;
  };
  transformer::LayerEdits layers = batch_.edits ? *batch_.edits : transformer::LayerEdits(first_.layers.size());
  transformer::LayerEdit& own = layers[static_cast<std::size_t>(layer)];
  own = edits.front();
  if (count > 1) {
    own.sequences = edits;
  }
  transformer::Batch batch = batch_;
  batch.ids = many(batch.ids);
  batch.pixels = many(batch.pixels);
  batch.edits = std::make_shared<const transformer::LayerEdits>(std::move(layers));
  transformer::ReusedLayers reused;
  reused.layers.assign(first_.layers.begin(), first_.layers.begin() + layer);
  reused.hidden = many(first_.layers[static_cast<std::size_t>(layer)].hidden);
  const std::vector<position::State> states =
      count > 1 ? model_->encodings().states(batch.positions, count) : std::vector<position::State>();
  for (std::size_t n = static_cast<std::size_t>(layer); n < first_.layers.size(); ++n) {
    const auto slot = static_cast<std::size_t>(model_->encodings().slot(static_cast<std::int64_t>(n)));
    reused.after.push_back(count > 1 ? states[slot] : first_.layers[n].state);
  }
  LOCUS_TRY(
      const transformer::Observation seen,
      model_->observe(
          batch,
          {.all_logits = read_.empty(), .read = read_, .before_head = true, .reused_layers = &reused, .stop = stop_}));
  return seen.stream;
}

Result<std::vector<at::Tensor>> LayerReuse::streams(const std::vector<Edits>& runs, std::int64_t layer,
                                                    const Layout& layout) const {
  std::vector<transformer::LayerEdit> edits;
  bool ablated = true;  // heads, and nothing else
  for (const Edits& each : runs) {
    LOCUS_TRY(edits.emplace_back(), edited_layer(each, *info_, layer_to_edit(layer, *model_, batch_, layout)));
    ablated = ablated && !edits.back().encoding && !edits.back().mixer;
  }
  const std::int64_t side_by_side = ablated ? at_once() : 1;
  std::vector<at::Tensor> found;
  for (auto first = edits.begin(); first != edits.end();) {
    const auto last = first + std::min<std::ptrdiff_t>(side_by_side, edits.end() - first);
    LOCUS_TRY(const at::Tensor streams, batch_of({first, last}, layer));
    for (std::int64_t n = 0; n < streams.size(0); ++n) {
      found.push_back(streams[n]);
    }
    first = last;
  }
  return found;
}

}  // namespace locus::models

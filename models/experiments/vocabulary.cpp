#include "models/experiments/vocabulary.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "models/experiments/fields.h"

namespace locus::models {

namespace {

constexpr std::int64_t kTokens = 1024;  // read at once

}  // namespace

Result<VocabularyHead> VocabularyHead::of(const Model& model, const Trace& trace, std::int64_t layer, std::int64_t head,
                                          const StopToken& stop) {
  const LoadedModel* const loaded = loaded_model_of(model);
  LOCUS_TRY(const TraceData* const data, data_of(trace));
  if (loaded == nullptr || !data->input_ids.defined()) {
    return unsupported("kernel: expected a model of texts, whose vocabulary is read", model.info().name);
  }
  LOCUS_TRY(const transformer::Transformer* const transformer, loaded->checkpoint().ready(stop));
  VocabularyHead made;
  const transformer::Transformer* const encoder = loaded->checkpoint().parts().encoder.get();
  made.model_ = encoder != nullptr && !trace.model().causal ? encoder : transformer;
  made.data_ = data;
  made.layer_ = layer;
  made.head_ = head;
  const transformer::Spec& spec = made.model_->spec();
  if (layer < 0 || layer >= spec.depth() || head < 0 || head >= spec.first().attention.heads) {
    return bad_input("kernel: expected a layer of 0 to " + std::to_string(spec.depth() - 1) + " and a head of 0 to " +
                     std::to_string(spec.first().attention.heads - 1) + ", found " + std::to_string(layer) + " and " +
                     std::to_string(head));
  }
  if (const std::int64_t source = made.block().spec().attention.source; source >= 0) {
    return unsupported("kernel: layer " + std::to_string(layer) + " attends to the keys of layer " +
                       std::to_string(source) + ": expected a layer with keys of its own");
  }
  if (made.block().spec().attention.shifts() || made.block().spec().convolution > 0) {
    return unsupported("kernel: layer " + std::to_string(layer) +
                       " gives keys or values a share of the tokens before: expected a layer without a token shift or "
                       "convolution");
  }
  made.encoding_ = made.model_->layer_encoding(layer);
  LOCUS_CHECK(analysis::has_kernel(*made.encoding_, made.model_->encoding_layer(layer)));
  return made;
}

std::int64_t VocabularyHead::key_head() const {
  const transformer::AttentionSpec& attention = block().spec().attention;
  const std::int64_t keys = attention.latent.rank > 0 ? attention.heads : attention.kv_heads;
  return head_ / (attention.heads / keys);
}

Result<std::int64_t> VocabularyHead::longest(std::int64_t reach) const {
  const auto fits = [&](std::int64_t last) { return model_->accepts(position::Positions::sequence(last + 1)).ok(); };
  std::int64_t taken = 0;
  if (!fits(0)) {
    return unsupported("kernel: encoding " + encoding_->description().name + " has no positions of a text");
  }
  for (std::int64_t beyond = reach + 1; beyond - taken > 1;) {
    const std::int64_t middle = taken == 0 ? beyond - 1 : (taken + beyond) / 2;
    (fits(middle) ? taken : beyond) = middle;
  }
  const transformer::AttentionSpec& attention = block().spec().attention;
  const transformer::QueryTuning& tuning = attention.tuning;
  const double free = tuning.whole ? tuning.length - tuning.start : 0;  // positions before any factor
  if (tuning.gain != 0 && static_cast<double>(taken) >= free) {
    return unsupported("kernel: queries from position " + std::to_string(std::llround(free)) +
                       " on are scaled by their position" + (free > 0 ? ": expected a smaller reach" : ""));
  }
  return taken;
}

at::Tensor VocabularyHead::ids(std::int64_t sample) const {
  if (sample <= 0 || tokens() <= 4 * sample) {
    return at::arange(tokens(), at::kLong);
  }
  const double step = static_cast<double>(tokens()) / static_cast<double>(sample);
  return ((at::arange(sample, at::kDouble) + 0.5) * step).to(at::kLong);
}

at::Tensor VocabularyHead::inputs(const at::Tensor& ids, const at::Tensor& place) const {
  at::Tensor x = model_->stem().embedded(ids);
  if (place.defined()) {
    x = x + place.to(x.device());
  }
  return block().attention_input(model_->stem().enter(x).unsqueeze(0));
}

position::Projections VocabularyHead::project(const at::Tensor& inputs) const {
  position::Positions nowhere;
  nowhere.ids = at::zeros({inputs.size(1)}, at::kDouble);
  return block().project(inputs, *encoding_, nowhere);
}

Result<at::Tensor> VocabularyHead::placed_means(const at::Tensor& ids, const at::Tensor& places, const StopToken& stop,
                                                const Progress& progress) const {
  const transformer::Spec& spec = model_->spec();
  const transformer::LayerSpec& layer = block().spec();
  const bool first = spec.embedding_norm && !spec.early_norm;
  const bool second = transformer::before(layer.attention_norm);
  if ((first && second) || (second && spec.embedding_width > 0) ||
      layer.attention.norm.form != transformer::QueryNormForm::kNone) {
    return unsupported(
        "kernel: positions enter before two norms, and a mean over tokens would need every token at "
        "every position");
  }
  const bool normed = first || second;
  const bool centred = normed && spec.norm == transformer::Norm::kLayer;
  const auto centre = [&](const at::Tensor& x) { return centred ? x - x.mean(-1, true) : x; };
  const at::Tensor place = centre(places.to(at::kCPU, at::kDouble));  // (N+1, E)
  const auto width = static_cast<double>(place.size(1));
  // norm(e + p) = (e + p)·r with r of e and p alone: |e + p|² = |e|² + 2 e·p + |p|², so that no token has to be normed
  // at every position.
  at::Tensor sum = at::zeros_like(place);
  at::Tensor weight = at::zeros({place.size(0), 1}, at::kDouble);
  const at::Tensor place_square = place.square().sum(1).unsqueeze(0);
  const std::int64_t count = ids.size(0);
  for (std::int64_t begin = 0; begin < count; begin += kTokens) {
    if (stop.stop_requested()) {
      return cancelled();
    }
    report(progress, static_cast<double>(begin) / static_cast<double>(count), "vocabulary");
    const at::Tensor own = ids.slice(0, begin, begin + kTokens);
    const at::Tensor e = centre(model_->stem().embedded(own).to(at::kCPU, at::kDouble));  // (n, E)
    at::Tensor factor = at::ones({place.size(0), e.size(0)}, at::kDouble);
    if (normed) {
      const at::Tensor square = e.square().sum(1).unsqueeze(0) + 2 * at::matmul(place, e.t()) + place_square.t();
      factor = at::rsqrt(square.clamp_min(0) / width + spec.norm_eps);
    }
    sum += at::matmul(factor, e);
    weight += factor.sum(1, true);
  }
  at::Tensor mean = (sum + weight * place) / static_cast<double>(count);
  const transformer::NormWeights& weights = first ? model_->stem().embedding_norm() : block().weights().attention_norm;
  if (normed && weights.weight.defined()) {
    mean = mean * weights.weight.to(at::kCPU, at::kDouble);
  }
  if (normed && weights.bias.defined()) {
    mean = mean + weights.bias.to(at::kCPU, at::kDouble);
  }
  return model_->stem().widened(mean.to(model_->stem().token_embedding().device(), at::kFloat));
}

Result<analysis::KernelSource> VocabularyHead::means(const at::Tensor& ids, std::int64_t reach, const StopToken& stop,
                                                     const Progress& progress) const {
  const at::NoGradGuard no_grad;
  analysis::KernelSource source;
  source.encoding = encoding_;
  source.layer = model_->encoding_layer(layer_);
  source.causal = model_->spec().causal;
  source.device = model_->stem().token_embedding().device();
  source.reach = reach;
  if (const at::Tensor places = model_->encodings().embedding(position::Positions::sequence(reach + 1));
      places.defined()) {
    LOCUS_TRY(const at::Tensor mean, placed_means(ids, places, stop, progress));
    const position::Projections projected = project(mean.unsqueeze(0));
    source.mean_query = projected.query.select(0, 0).to(at::kCPU, at::kDouble);
    source.mean_key = projected.key.select(0, 0).to(at::kCPU, at::kDouble);
    return source;
  }
  const auto add = [](at::Tensor& sum, const at::Tensor& more) { sum = sum.defined() ? sum + more : more; };
  const std::int64_t count = ids.size(0);
  for (std::int64_t begin = 0; begin < count; begin += kTokens) {
    if (stop.stop_requested()) {
      return cancelled();
    }
    report(progress, static_cast<double>(begin) / static_cast<double>(count), "vocabulary");
    const position::Projections projected = project(inputs(ids.slice(0, begin, begin + kTokens), {}));
    const at::Tensor query = projected.query.select(0, 0).to(at::kCPU, at::kDouble);  // (H, n, D)
    const at::Tensor key = projected.key.select(0, 0).to(at::kCPU, at::kDouble);
    add(source.mean_query, query.sum(1, true));
    add(source.mean_key, key.sum(1, true));
    add(source.query_moment, at::matmul(query[head_].t(), query[head_]));
    add(source.key_moment, at::matmul(key[key_head()].t(), key[key_head()]));
    add(source.cross_moment, at::matmul(query[head_].t(), key[key_head()]));
  }
  for (at::Tensor* part :
       {&source.mean_query, &source.mean_key, &source.query_moment, &source.key_moment, &source.cross_moment}) {
    *part = *part / static_cast<double>(count);
  }
  source.sampling = 1 / static_cast<double>(count) - 1 / static_cast<double>(tokens());
  return source;
}

Result<VocabularyHead::Vectors> VocabularyHead::vectors(double query_at, double key_at, const StopToken& stop) const {
  const at::NoGradGuard no_grad;
  const auto place_of = [&](double at) { return model_->encodings().embedding(position::Positions::sequence(1, at)); };
  const at::Tensor query_place = place_of(query_at);
  const at::Tensor key_place = place_of(key_at);
  std::vector<at::Tensor> queries;
  std::vector<at::Tensor> keys;
  for (std::int64_t begin = 0; begin < tokens(); begin += kTokens) {
    if (stop.stop_requested()) {
      return cancelled();
    }
    const at::Tensor ids = at::arange(begin, std::min(begin + kTokens, tokens()), at::kLong);
    position::Projections projected = project(inputs(ids, query_place));
    queries.push_back(projected.query.select(0, 0)[head_]);
    if (key_place.defined()) {
      projected = project(inputs(ids, key_place));
    }
    keys.push_back(projected.key.select(0, 0)[key_head()]);
  }
  return Vectors{at::cat(queries), at::cat(keys)};
}

}  // namespace locus::models

#include "models/transformer/continued.h"

#include <algorithm>
#include <array>
#include <utility>

namespace locus::transformer {

namespace {

using position::Prepared;

// Slots of a layer's rows: those of kPrepared, followed by these.
constexpr std::array kPrepared{&Prepared::query,       &Prepared::key,        &Prepared::content_query,
                               &Prepared::content_key, &Prepared::gate_query, &Prepared::gate_key};
enum Slot : int { kValue = static_cast<int>(kPrepared.size()), kTable, kHidden, kLogSumExp, kSlots };
static_assert(kSlots <= RowStore::kTensors);

// The token axis of a state's table: (B, H, T, …) where layers update it, otherwise the last but one.
std::int64_t token_axis(const at::Tensor& table, bool updates) {
  return updates ? 2 : table.dim() - 2;
}

// The first `count` tokens of `before`, then those of `after`; undefined where either is.
at::Tensor joined(const at::Tensor& before, std::int64_t count, const at::Tensor& after, std::int64_t axis) {
  return before.defined() && after.defined() ? at::cat({before.narrow(axis, 0, count), after}, axis) : at::Tensor();
}

position::Positions joined(const position::Positions& before, std::int64_t count, const position::Positions& after) {
  return {at::cat({before.ids.narrow(0, 0, count), after.ids}), 0};
}

bool same_values(const at::Tensor& a, const at::Tensor& b) {
  return a.defined() && b.defined() && a.data_ptr() == b.data_ptr() && a.sizes() == b.sizes() &&
         a.strides() == b.strides();
}

const MixerMark* mark_at(const LayerRecord& layer, std::int64_t tokens) {
  const auto found = std::find_if(layer.marks.begin(), layer.marks.end(),
                                  [&](const MixerMark& mark) { return mark.tokens == tokens; });
  return found == layer.marks.end() ? nullptr : &*found;
}

// The most tokens, of those reused, that all mixers have marked: all of them without mixers, 0 without such a mark.
std::int64_t last_mark(const Spec& spec, const ReusedTokens& reused) {
  const auto marked = [&](std::int64_t tokens) {
    for (std::size_t n = 0; n < reused.layers.size(); ++n) {
      if (spec.layers[n].has_mixer() && mark_at(reused.layers[n], tokens) == nullptr) {
        return false;
      }
    }
    return true;
  };
  std::int64_t tokens = reused.tokens;
  while (tokens > 0 && !marked(tokens)) {
    --tokens;
  }
  return tokens;
}

}  // namespace

std::optional<Continued> Continued::begin(const Transformer& model, const ReusedTokens& reused, const Batch& batch,
                                          const ObserveOptions& options) {
  const Spec& spec = model.spec();
  const std::int64_t length = batch.positions.size();
  // The inputs of short convolutions are not kept.
  if (!spec.causal || spec.is_image() || spec.crosses() || spec.convolves() || options.all_logits ||
      reused.tokens < 1 || reused.tokens >= length || static_cast<std::int64_t>(reused.layers.size()) != spec.depth()) {
    return std::nullopt;
  }
  for (std::size_t n = 0; n < reused.layers.size(); ++n) {
    const LayerRecord& layer = reused.layers[n];
    const bool hidden = options.hidden || spec.shifts();
    if ((spec.layers[n].attends && !layer.value.defined()) || (hidden && !layer.hidden.defined()) ||
        (spec.layers[n].has_mixer() && batch.size() == 1 && layer.implied == nullptr)) {
      return std::nullopt;
    }
    const Experts& experts = spec.layers[n].feed_forward.experts;
    if (experts.capacity > 0) {  // which tokens an expert takes depends on those before
      return std::nullopt;
    }
    if (options.routing && experts.count > 0 && !layer.routing.experts.defined()) {
      return std::nullopt;
    }
  }
  const std::int64_t tokens = last_mark(spec, reused);
  if (tokens < 1) {
    return std::nullopt;
  }
  Continued continued(model, reused, tokens, length);
  for (const LayerEncoding& used : model.encodings()) {
    const auto first = std::find_if(used.layers.begin(), used.layers.end(),
                                    [&](std::int64_t layer) { return model.block(layer).spec().attends; });
    // An encoding that no layer attends with was only added to the embeddings, which are not reused.
    if (first == used.layers.end()) {
      continued.after_.push_back(used.encoding->begin(batch.positions.slice({tokens, length}), batch.ids.size(0)));
      continued.shared_.emplace_back();
    } else if (!continued.add(*used.encoding, continued.of(*first), batch)) {
      return std::nullopt;
    }
  }
  return continued;
}

bool Continued::add(const position::PositionEncoding& encoding, const LayerRecord& first, const Batch& batch) {
  const std::int64_t tokens = tokens_;
  const std::int64_t length = batch.positions.size();
  // Begins one token earlier: if the angles depend on the length (dynamic NTK, stretched tables), that token differs.
  const bool updates = encoding.description().updates;
  const position::State& before = first.state;
  const position::State begun = encoding.begin(batch.positions.slice({tokens - 1, length}), batch.ids.size(0));
  if (begun.table.defined() != before.table.defined()) {
    return false;
  }
  position::State after{batch.positions.slice({tokens, length}), {}};
  if (begun.table.defined()) {
    const std::int64_t axis = token_axis(begun.table, updates);
    if (!at::allclose(begun.table.narrow(axis, 0, 1), before.table.narrow(axis, tokens - 1, 1), 1e-6, 1e-6)) {
      return false;
    }
    after.table = begun.table.narrow(axis, 1, length - tokens);
  }
  Shared shared;
  shared.updates = updates;
  if (!updates) {
    shared.whole.positions = joined(before.positions, tokens, after.positions);
    if (after.table.defined()) {
      shared.whole.table = joined(before.table, tokens, after.table, token_axis(after.table, false));
    }
  }
  shared_.push_back(std::move(shared));
  after_.push_back(std::move(after));
  return true;
}

void Continued::reuse_prefix(std::int64_t layer, LayerRecord& now) {
  const LayerRecord& earlier = of(layer);
  const Prepared after = now.prepared;
  for (std::size_t n = 0; n < kPrepared.size(); ++n) {
    const auto member = kPrepared[n];
    // Tensors that share memory (a content that is the query itself) keep sharing it.
    std::size_t first = 0;
    while (first < n && !(same_values(after.*member, after.*kPrepared[first]) &&
                          same_values(earlier.prepared.*member, earlier.prepared.*kPrepared[first]))) {
      ++first;
    }
    now.prepared.*member = first < n
                               ? now.prepared.*kPrepared[first]
                               : rows_.join({layer, static_cast<int>(n)}, earlier.prepared.*member, after.*member, 2);
  }
  now.value = rows_.join({layer, kValue}, earlier.value, now.value, 2);
  const auto slot = static_cast<std::size_t>(model_->encodings().slot(layer));
  const Shared& shared = shared_[slot];
  const bool same_positions = !shared.updates && after.positions.ids.is_same(after_[slot].positions.ids) &&
                              earlier.prepared.positions.ids.is_same(earlier.state.positions.ids);
  now.prepared.positions =
      same_positions ? shared.whole.positions : joined(earlier.prepared.positions, tokens_, after.positions);
  if (!shared.updates) {
    now.state = shared.whole;
    return;
  }
  const position::State own = now.state;
  now.state.positions = joined(earlier.state.positions, tokens_, own.positions);
  now.state.table = own.table.defined()
                        ? rows_.join({layer, kTable}, earlier.state.table, own.table, token_axis(own.table, true))
                        : at::Tensor();
}

void Continued::reuse_prefix_rows(std::int64_t layer, LayerRecord& now) {
  now.log_sum_exp = rows_.join({layer, kLogSumExp}, of(layer).log_sum_exp, now.log_sum_exp, 2);
  now.chosen = joined(of(layer).chosen, tokens_, now.chosen, 2);
}

void Continued::reuse_prefix_routing(std::int64_t layer, Routing& now) const {
  now.experts = joined(of(layer).routing.experts, tokens_, now.experts, 1);
  now.weights = joined(of(layer).routing.weights, tokens_, now.weights, 1);
}

const MixerState& Continued::mixer_state(std::int64_t layer) const {
  return mark_at(of(layer), tokens_)->state;
}

void Continued::reuse_prefix_mixer(std::int64_t layer, LayerRecord& now) const {
  const LayerRecord& earlier = of(layer);
  if (now.implied != nullptr) {
    now.implied = earlier.implied->continued(tokens_, *now.implied);
  }
  if (now.marks.empty()) {
    return;
  }
  std::vector<MixerMark> marks;
  for (const std::int64_t tokens : marks_of(tokens_ + now.marks.back().tokens)) {
    if (const MixerMark* const mark = mark_at(earlier, tokens); mark != nullptr && tokens <= tokens_) {
      marks.push_back(*mark);
    }
  }
  for (MixerMark& mark : now.marks) {
    marks.push_back({tokens_ + mark.tokens, std::move(mark.state)});
  }
  now.marks = std::move(marks);
}

at::Tensor Continued::hidden(std::int64_t layer, const at::Tensor& after) {
  return rows_.join({layer, kHidden}, of(layer).hidden, after, 1);
}

}  // namespace locus::transformer

#include "models/transformer/block.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <initializer_list>
#include <utility>
#include <vector>

#include "core/mixers/causal_convolution.h"
#include "core/products/linear.h"
#include "core/products/norm.h"
#include "models/transformer/continued.h"

namespace locus::transformer {

namespace {

at::Tensor merge_heads(const at::Tensor& x) {
  if (x.size(2) == 1) {  // the heads of a token lie side by side
    return x.reshape({x.size(0), 1, x.size(1) * x.size(3)});
  }
  return x.transpose(1, 2).reshape({x.size(0), x.size(2), x.size(1) * x.size(3)});
}

// Returns sum.stream · x + sum.branch · branch · scale · factor. Without gradients the branch, which the caller has given
// up, is overwritten.
at::Tensor add_branch(const at::Tensor& x, at::Tensor branch, const at::Tensor& scale, double factor,
                      const ResidualSum& sum = {}) {
  factor *= sum.branch;
  if (at::GradMode::is_enabled()) {
    branch = scale.defined() ? branch * scale : branch;
    return (sum.stream == 1 ? x : x * sum.stream) + (factor == 1 ? branch : branch * factor);
  }
  if (scale.defined()) {
    branch.mul_(scale);
  }
  if (factor != 1) {
    branch.mul_(factor);
  }
  return branch.add_(x, sum.stream);
}

// The stream as a sum adds it: times a learned vector, where the sum has one.
at::Tensor streamed(const at::Tensor& x, const at::Tensor& learned) {
  return learned.defined() ? x * learned : x;
}

// x (B, T, channels) plus its causal convolution by `kernel` (channels, K), whose last column meets the token itself; x
// where there is none.
at::Tensor with_convolution(const at::Tensor& x, const at::Tensor& kernel) {
  at::Tensor state;  // of the tokens before x, of which there are none
  return kernel.defined() ? x + mixers::causal_convolution(x, kernel, {}, state) : x;
}

// (T), the factors of the queries at these positions.
at::Tensor tuning_of(const QueryTuning& tuning, const at::Tensor& positions) {
  at::Tensor steps = (positions + tuning.start) / tuning.length;
  steps = tuning.whole ? steps.floor() : steps;
  return tuning.power ? (steps.log1p() * tuning.gain).exp() : steps.log1p() * tuning.gain + 1;
}

}  // namespace

bool before(NormPlace place) {
  return place == NormPlace::kPre || place == NormPlace::kBoth;
}
bool after(NormPlace place) {
  return place == NormPlace::kAfter || place == NormPlace::kBoth;
}

at::Tensor linear(const at::Tensor& x, const Linear& weights) {
  if (!weights.bounds.defined()) {
    return products::linear(x, weights.weight, weights.bias);
  }
  const at::Tensor& bounds = weights.bounds;
  const at::Tensor entering = at::clamp(x, bounds[0], bounds[1]);
  return at::clamp(products::linear(entering, weights.weight, weights.bias), bounds[2], bounds[3]);
}

std::vector<at::Tensor> linears(const at::Tensor& x, std::initializer_list<const Linear*> weights) {
  const bool bounded =
      std::any_of(weights.begin(), weights.end(), [](const Linear* each) { return each->bounds.defined(); });
  std::vector<at::Tensor> results;
  std::vector<products::Matrix> matrices;
  for (const Linear* const each : weights) {
    if (bounded) {
      results.push_back(linear(x, *each));
    } else {
      matrices.push_back({each->weight, each->bias});
    }
  }
  return bounded ? results : products::linears(x, matrices);
}

at::Tensor normalise(const at::Tensor& x, const NormWeights& weights, Norm norm, double eps) {
  if (norm == Norm::kLayer) {
    return at::layer_norm(x, {x.size(-1)}, weights.weight, weights.bias, eps);
  }
  return products::rms_norm(x, weights.weight, eps);
}

at::Tensor split_heads(const at::Tensor& x, std::int64_t heads) {
  if (x.size(1) == 1 && !at::GradMode::is_enabled()) {  // of one token, no copy
    return x.reshape({x.size(0), heads, 1, x.size(2) / heads});
  }
  const at::Tensor split = x.view({x.size(0), x.size(1), heads, x.size(2) / heads}).transpose(1, 2);
  return at::GradMode::is_enabled() ? split : split.contiguous();
}

Block::Block(const Spec& spec, std::int64_t index)
    : index_(index),
      layer_(spec.layers[static_cast<std::size_t>(index)]),
      causal_(spec.causal),
      norm_{spec.norm, spec.norm_eps},
      after_eps_(spec.after_norm_eps > 0 ? spec.after_norm_eps : spec.norm_eps),
      is_source_(spec.is_source(index)),
      residual_scale_(spec.residual_scale),
      mixer_(make_mixer(spec, index)) {}

attention::Mask Block::mask() const {
  return {causal_, layer_.attention.window, layer_.attention.chunk};
}

at::Tensor Block::norm(const at::Tensor& x, const NormWeights& weights) const {
  return normalise(x, weights, norm_.norm, norm_.eps);
}

at::Tensor Block::split_value(const at::Tensor& x) const {
  const AttentionSpec& attention = layer_.attention;
  const at::Tensor heads = split_heads(x, attention.kv_heads);
  if (attention.difference != 0) {
    const at::Tensor both = at::cat(heads.chunk(2, 1), -1);  // (B, Hkv/2, T, 2D)
    return at::cat({both, both}, 1);
  }
  return attention.value_norm ? normalise(heads, {}, Norm::kRms, attention.norm.eps) : heads;
}

at::Tensor Block::differences(const at::Tensor& heads) const {
  const double least = layer_.attention.difference;
  const auto power = [](const at::Tensor& a, const at::Tensor& b) { return (a * b).sum().exp(); };
  const at::Tensor share =
      power(weights_.difference_a, weights_.difference_b) - power(weights_.difference_c, weights_.difference_d) + least;
  const at::Tensor halves = heads.view({heads.size(0), heads.size(1), 2, layer_.attention.heads / 2, -1});
  const at::Tensor rest = halves.select(2, 0) - share * halves.select(2, 1);
  return normalise(rest, {}, Norm::kRms, norm_.eps).mul(1 - least).flatten(2);
}

at::Tensor Block::norm_after(const at::Tensor& x, const NormWeights& weights) const {
  return normalise(x, weights, norm_.norm, after_eps_);
}

at::Tensor Block::output_normed(const at::Tensor& heads) const {
  if (!layer_.attention.output_norm_own) {
    return norm(heads, weights_.output_norm);
  }
  const at::Tensor each = heads.view({heads.size(0), heads.size(1), layer_.attention.heads, -1});
  const at::Tensor scaled = normalise(each, {}, norm_.norm, norm_.eps).flatten(2);
  const NormWeights& own = weights_.output_norm;
  const at::Tensor weighted = own.weight.defined() ? scaled * own.weight : scaled;
  return own.bias.defined() ? weighted + own.bias : weighted;
}

at::Tensor Block::shifted(const at::Tensor& x, const at::Tensor& earlier, const Linear& weights,
                          const Linear& shift) const {
  const at::Tensor own = linear(x, weights);  // (B, T, Hkv·D)
  const at::Tensor first = earlier.defined() ? linear(earlier, weights) : at::zeros_like(own.narrow(1, 0, 1));
  const at::Tensor before = at::cat({first, own.narrow(1, 0, own.size(1) - 1)}, 1);
  const at::Tensor share = at::sigmoid(linear(x, shift)).unsqueeze(-1);  // (B, T, Hkv, 1)
  const std::vector<std::int64_t> split{own.size(0), own.size(1), layer_.attention.kv_heads, -1};
  return (share * before.view(split) + (1 - share) * own.view(split)).flatten(2);
}

at::Tensor Block::gated(const at::Tensor& heads, const at::Tensor& input) const {
  const OutputGate& gate = layer_.attention.gate;
  if (gate.form == GateForm::kNone) {
    return heads;
  }
  const std::vector<std::int64_t> split{heads.size(0), heads.size(1), layer_.attention.heads, -1};
  at::Tensor opened = linear(input, {weights_.gate.weight, {}}).view(split);  // (B, R, H, 1 or Dv)
  if (gate.bias) {
    opened = opened + weights_.gate.bias.unsqueeze(-1);
  }
  return (heads.view(split) * (gate.softplus ? at::softplus(opened) : at::sigmoid(opened))).flatten(2);
}

at::Tensor Block::split_normed(const at::Tensor& x, std::int64_t heads, const std::vector<NormWeights>& weights) const {
  const QueryNorm& norm = layer_.attention.norm;
  switch (weights.empty() ? QueryNormForm::kNone : norm.form) {  // a side that is not normed has none
    case QueryNormForm::kNone:
      return split_heads(x, heads);
    case QueryNormForm::kWhole:
      return split_heads(normalise(x, weights.front(), norm.norm, norm.eps), heads);
    case QueryNormForm::kHead:
      return normalise(split_heads(x, heads), weights.front(), norm.norm, norm.eps);
    case QueryNormForm::kOwn:
      break;
  }
  // (H, 1, D) each: one vector per head.
  std::vector<at::Tensor> scales;
  std::vector<at::Tensor> shifts;
  for (const NormWeights& own : weights) {
    scales.push_back(own.weight);
    if (own.bias.defined()) {
      shifts.push_back(own.bias);
    }
  }
  const at::Tensor scaled = normalise(split_heads(x, heads), {}, norm.norm, norm.eps) * at::stack(scales).unsqueeze(1);
  return shifts.empty() ? scaled : scaled + at::stack(shifts).unsqueeze(1);
}

at::Tensor Block::scaled_query(const at::Tensor& query, const position::PositionEncoding& encoding,
                               const position::Positions& positions) const {
  const AttentionSpec& attention = layer_.attention;
  at::Tensor scaled = attention.scale > 0 ? query * (attention.scale / encoding.scale()) : query;
  if (attention.tuning.gain != 0) {
    const at::Tensor factor = tuning_of(attention.tuning, positions.ids);
    scaled = scaled * factor.to(scaled.scalar_type()).to(scaled.device()).unsqueeze(-1);
  }
  return scaled;
}

position::Projections Block::project(const at::Tensor& x, const position::PositionEncoding& encoding,
                                     const position::Positions& positions, const at::Tensor& earlier) const {
  const AttentionSpec& attention = layer_.attention;
  if (attention.latent.rank > 0) {
    position::Projections latent = project_latent(x);
    latent.query = scaled_query(latent.query, encoding, positions);
    latent.value = attention.value_scale == 1 ? latent.value : latent.value * attention.value_scale;
    return latent;
  }
  const std::int64_t heads = attention.heads;
  const std::int64_t kv_heads = attention.kv_heads;
  const std::int64_t width = attention.head_width;
  position::Projections projections;
  projections.hidden = x;
  at::Tensor query;
  at::Tensor key;
  at::Tensor value;
  if (attention.source >= 0) {
    const at::Tensor own = split_normed(linear(x, weights_.query), heads, weights_.query_norm);
    projections.query = scaled_query(own, encoding, positions);
    return projections;
  }
  const bool plain = !attention.key_shift && !attention.value_shift && !attention.key_as_value;
  if (attention.qkv == QkvLayout::kSeparate && plain) {
    std::vector<at::Tensor> parts = linears(x, {&weights_.query, &weights_.key, &weights_.value});
    query = std::move(parts[0]);
    key = with_convolution(parts[1], weights_.key_convolution);
    value = with_convolution(parts[2], weights_.value_convolution);
  } else if (attention.qkv == QkvLayout::kSeparate) {
    query = linear(x, weights_.query);
    key = attention.key_shift ? shifted(x, earlier, weights_.key, weights_.key_shift) : linear(x, weights_.key);
    value = attention.key_as_value  ? key
            : attention.value_shift ? shifted(x, earlier, weights_.value, weights_.value_shift)
                                    : linear(x, weights_.value);
    key = with_convolution(key, weights_.key_convolution);
    value = with_convolution(value, weights_.value_convolution);
  } else if (attention.qkv == QkvLayout::kPerHead) {
    const std::int64_t group = heads / kv_heads;
    const at::Tensor all = linear(x, weights_.qkv).view({x.size(0), x.size(1), kv_heads, group + 2, width});
    query = all.narrow(3, 0, group).flatten(2);
    key = all.select(3, group).flatten(2);
    value = all.select(3, group + 1).flatten(2);
  } else {
    const std::vector<at::Tensor> parts =
        linear(x, weights_.qkv).split_with_sizes({heads * width, kv_heads * width, kv_heads * attention.values()}, -1);
    query = parts[0];
    key = parts[1];
    value = parts[2];
  }
  const auto clipped = [&](const at::Tensor& part) {
    return attention.clip > 0 ? part.clamp(-attention.clip, attention.clip) : part;
  };
  projections.query = scaled_query(clipped(split_normed(query, heads, weights_.query_norm)), encoding, positions);
  projections.key = clipped(split_normed(key, kv_heads, weights_.key_norm));
  projections.value = clipped(split_value(value));
  if (attention.key_bonus) {
    const at::Tensor step = at::softplus(linear(value, weights_.bonus));  // (B, T, Hkv)
    const at::Tensor bonus = (step * weights_.bonus_rate).exp().transpose(1, 2).unsqueeze(-1);
    projections.key = at::cat({projections.key, bonus}, -1);
    // The scores' factor is of q·k as a whole; a bonus has none.
    const double one = 1 / (attention.scale > 0 ? attention.scale : encoding.scale());
    const at::Tensor ones = at::full({x.size(0), heads, x.size(1), 1}, one, x.options());
    projections.query = at::cat({projections.query, scaled_query(ones, encoding, positions)}, -1);
  }
  projections.value = attention.value_scale == 1 ? projections.value : projections.value * attention.value_scale;
  return projections;
}

position::Projections Block::project_latent(const at::Tensor& x) const {
  const AttentionSpec& attention = layer_.attention;
  const Latent& latent = attention.latent;
  const std::int64_t plain = attention.head_width - latent.rotated;
  // The checkpoint's heads are [plain | rotated]; the encoding rotates the first channels.
  const auto turned_first = [&](const at::Tensor& heads) {
    return at::cat({heads.narrow(-1, plain, latent.rotated), heads.narrow(-1, 0, plain)}, -1);
  };
  const at::Tensor asked =
      latent.query_rank > 0
          ? linear(normalise(linear(x, weights_.query_down), weights_.query_latent_norm, Norm::kRms, latent.eps),
                   weights_.query_up)
          : linear(x, weights_.query);
  const at::Tensor down = linear(x, weights_.latent_down);
  const at::Tensor shared = down.narrow(-1, latent.rank, latent.rotated).unsqueeze(1);  // (B, 1, T, dr)
  const at::Tensor up =
      split_heads(linear(normalise(down.narrow(-1, 0, latent.rank), weights_.latent_norm, Norm::kRms, latent.eps),
                         weights_.latent_up),
                  attention.heads);
  position::Projections projections;
  projections.hidden = x;
  projections.query = turned_first(split_heads(asked, attention.heads));
  projections.key = at::cat({shared.expand({-1, attention.heads, -1, -1}), up.narrow(-1, 0, plain)}, -1);
  projections.value = up.narrow(-1, plain, attention.values()).contiguous();
  return projections;
}

Result<attention::Attended> Block::attend(const at::Tensor& normed, const LayerRun& run, LayerRecord& seen,
                                          at::Tensor& state_values) const {
  const at::Tensor earlier = layer_.attention.shifts() && run.continued != nullptr
                                 ? attention_input(run.continued->last_entering(index_)) * layer_.attention_input
                                 : at::Tensor();
  position::Projections projections = project(normed, run.encoding, run.state.positions, earlier);
  if (layer_.attention.source >= 0) {
    const position::Projections& source = (*run.shared)[static_cast<std::size_t>(layer_.attention.source)];
    projections.key = source.key;
    projections.value = source.value;
  } else if (is_source_) {
    position::Projections& own = (*run.shared)[static_cast<std::size_t>(index_)];
    own.key = projections.key;
    own.value = projections.value;
  }
  seen.prepared = run.encoding.prepare(run.state, run.encoding_layer, projections);
  seen.value = projections.value;
  seen.state = run.state;
  if (run.continued != nullptr) {
    run.continued->reuse_prefix(index_, seen);
  }
  state_values = run.encoding.state_values(seen.state, run.encoding_layer);
  LOCUS_TRY(attention::Attended attended, run.attend(index_, seen.prepared, seen.value, state_values));
  seen.log_sum_exp = attended.log_sum_exp;
  seen.chosen = attended.chosen;
  if (run.record != nullptr) {
    if (run.continued != nullptr) {
      run.continued->reuse_prefix_rows(index_, seen);
    }
    run.record->prepared = seen.prepared;
    run.record->state = seen.state;
    run.record->log_sum_exp = seen.log_sum_exp;
    run.record->chosen = seen.chosen;
  }
  return attended;
}

Result<at::Tensor> Block::cross(const at::Tensor& x, const LayerRun& run) const {
  const AttentionSpec& attention = *layer_.cross;
  const CrossRun& cross = *run.cross;
  const at::Tensor normed = before(layer_.attention_norm) ? norm(x, weights_.cross_norm) : x;
  position::Prepared prepared;
  prepared.query = split_heads(linear(normed, weights_.cross_query), attention.heads);
  if (attention.scale > 0) {
    prepared.query = prepared.query * (attention.scale / cross.encoding.scale());
  }
  prepared.key = split_heads(linear(cross.memory, weights_.cross_key), attention.kv_heads);
  prepared.positions = run.state.positions;
  const at::Tensor value = split_heads(linear(cross.memory, weights_.cross_value), attention.kv_heads);
  LOCUS_TRY(const attention::Attended attended, cross.attend(index_, prepared, value, {}));
  if (cross.record != nullptr) {
    cross.record->prepared = std::move(prepared);
    cross.record->log_sum_exp = attended.log_sum_exp;
  }
  const at::Tensor sum =
      add_branch(x, linear(merge_heads(attended.output), weights_.cross_output), {}, residual_scale_);
  return layer_.attention_norm == NormPlace::kPost ? norm(sum, weights_.cross_norm) : sum;
}

at::Tensor Block::feed(const at::Tensor& x, const LayerRun& run) const {
  if (layer_.feed_forward.experts.count == 0) {
    return transformer::feed_forward(layer_.feed_forward, weights_.feed_forward, x, norm_);
  }
  at::Tensor fed = transformer::feed_forward(layer_.feed_forward, weights_.experts, x, run.routing, norm_);
  if (run.routing != nullptr) {
    for (at::Tensor* part : {&run.routing->experts, &run.routing->weights}) {
      *part = part->view({x.size(0), x.size(1), -1});
    }
    if (run.continued != nullptr) {
      run.continued->reuse_prefix_routing(index_, *run.routing);
    }
  }
  return fed;
}

at::Tensor Block::fed(const at::Tensor& normed, const at::Tensor& x, at::Tensor middle, const LayerRun& run) const {
  const at::Tensor own = layer_.parallel ? wanted(layer_.shared_norm ? normed : x, 1, run) : middle;
  const at::Tensor inner =
      before(layer_.feed_forward_norm) && !layer_.shared_norm ? norm(own, weights_.feed_forward_norm) : own;
  at::Tensor branch = feed(inner, run);
  keep(&LayerWrites::feed_forward, branch, run);
  if (run.output_rows.empty()) {
    run.encoding.after_feed_forward(run.state, run.encoding_layer, branch);
  }
  branch = with_convolution(branch, weights_.feed_forward_convolution);
  if (after(layer_.feed_forward_norm)) {
    branch = norm_after(branch, weights_.feed_forward_after_norm);
  }
  const at::Tensor stream =
      streamed(layer_.residual_from_norm && !layer_.parallel ? inner : middle, weights_.feed_forward_stream);
  const at::Tensor sum =
      add_branch(stream, std::move(branch), weights_.feed_forward_scale, residual_scale_, layer_.feed_forward_sum);
  keep(&LayerWrites::leaving, sum, run);
  return layer_.feed_forward_norm == NormPlace::kPost && !layer_.parallel ? norm(sum, weights_.feed_forward_norm) : sum;
}

at::Tensor Block::read_input(const at::Tensor& x, const at::Tensor& input) const {
  const at::Tensor gate = activate(layer_.feed_forward.activation, linear(x, weights_.input_gate));
  return linear(gate * input, weights_.input_down);
}

at::Tensor Block::wanted(const at::Tensor& x, std::int64_t axis, const LayerRun& run) {
  return run.output_rows.empty() ? x : x.slice(axis, run.output_rows.begin, run.output_rows.end);
}

void Block::keep(at::Tensor LayerWrites::*to, const at::Tensor& rows, const LayerRun& run) {
  if (run.writes != nullptr) {
    const Range& kept = run.writes->rows;
    run.writes->*to = (!run.output_rows.empty() || kept.empty() ? rows : rows.slice(1, kept.begin, kept.end)).clone();
  }
}

at::Tensor Block::through_mixer(const at::Tensor& x, const LayerRun& run) const {
  const std::int64_t before = run.continued != nullptr ? run.continued->tokens() : 0;
  const std::int64_t length = before + x.size(1);
  MixerRun own;
  own.edit = run.mixer_edit;
  own.map = run.record != nullptr && x.size(0) == 1;
  own.positions = run.state.positions.ids;
  if (run.continued != nullptr) {
    own.before = run.continued->mixer_state(index_);
  }
  for (const std::int64_t tokens : run.marks ? marks_of(length) : std::vector{length}) {
    if (tokens > before) {
      own.marks.push_back({tokens - before, {}});
    }
  }
  const Mixed mixed = (*mixer_)(x, own);
  if (run.record != nullptr) {
    run.record->implied = mixed.map;
    if (run.marks) {
      run.record->marks = std::move(own.marks);
    }
    if (run.continued != nullptr) {
      run.continued->reuse_prefix_mixer(index_, *run.record);
    }
  }
  return mixed.output;
}

Result<at::Tensor> Block::mix(const at::Tensor& normed, const LayerRun& run, LayerRecord& seen,
                              attention::Attended& attended, at::Tensor& state_values) const {
  const auto scaled = [](const at::Tensor& x, double factor) { return factor == 1 ? x : x * factor; };
  at::Tensor branch;
  if (layer_.attends) {
    const at::Tensor input = scaled(normed, layer_.attention_input);
    LOCUS_TRY(attended, attend(input, run, seen, state_values));
    at::Tensor heads = merge_heads(wanted(attended.output, 2, run));
    heads = layer_.attention.difference != 0 ? differences(heads) : heads;
    heads = layer_.attention.output_norm ? output_normed(heads) : heads;
    heads = gated(heads, wanted(input, 1, run));
    keep(&LayerWrites::heads, heads, run);
    branch = scaled(linear(heads, weights_.output), layer_.attention_output);
    keep(&LayerWrites::attention, branch, run);
  }
  if (mixer_) {
    const at::Tensor mixed = through_mixer(scaled(normed, layer_.mixer_input), run);
    const at::Tensor written = scaled(wanted(mixed, 1, run), layer_.mixer_output);
    keep(&LayerWrites::mixer, written, run);
    branch = branch.defined() ? branch + written : written;
  }
  return branch;
}

Result<at::Tensor> Block::operator()(const at::Tensor& x, const LayerRun& run) const {
  const bool last = !run.output_rows.empty();  // no later step reads the state
  keep(&LayerWrites::entering, wanted(x, 1, run), run);
  at::Tensor normed = x;
  at::Tensor middle = wanted(x, 1, run);
  if (layer_.mixes()) {
    normed = attention_input(x);
    LayerRecord seen;  // all tokens
    attention::Attended attended;
    at::Tensor state_values;
    LOCUS_TRY(at::Tensor branch, mix(normed, run, seen, attended, state_values));
    branch = with_convolution(branch, weights_.attention_convolution);
    if (after(layer_.attention_norm)) {
      branch = norm_after(branch, weights_.attention_after_norm);
    }
    const at::Tensor stream =
        streamed(wanted(layer_.residual_from_norm ? normed : x, 1, run), weights_.attention_stream);
    middle = add_branch(stream, std::move(branch), weights_.attention_scale, residual_scale_, layer_.attention_sum);
    keep(&LayerWrites::middle, middle, run);
    if (!last && layer_.attends) {
      const std::int64_t length = seen.prepared.query.size(2);
      run.encoding.after_attention(
          run.state, run.encoding_layer,
          {attended.state_values, state_values, &seen.prepared, {length - x.size(1), length}, middle});
    }
    if (layer_.attention_norm == NormPlace::kPost && !layer_.parallel) {
      middle = norm(middle, weights_.attention_norm);
    }
  } else {
    keep(&LayerWrites::middle, middle, run);
  }
  if (layer_.cross) {
    LOCUS_TRY(middle, cross(middle, run));
  }
  if (!layer_.feeds) {
    keep(&LayerWrites::leaving, middle, run);
  }
  at::Tensor left = layer_.feeds ? fed(normed, x, std::move(middle), run) : middle;
  if (run.input.defined()) {
    at::Tensor branch = read_input(left, wanted(run.input, 1, run));
    keep(&LayerWrites::input, branch, run);
    left = left + norm(branch, weights_.input_after_norm);
  }
  return layer_.output_scale ? left * weights_.output_scale : left;
}

}  // namespace locus::transformer

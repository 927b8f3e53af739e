#include "models/transformer/direct_path.h"

#include <algorithm>

#include "core/products/linear.h"
#include "core/products/packed.h"

namespace locus::transformer {

namespace {

at::Tensor doubled(const at::Tensor& x) {
  return x.to(at::kCPU, at::kDouble);
}

double product(const at::Tensor& a, const at::Tensor& b) {
  return (a * b).sum().item<double>();
}

// Norms of a model with their scale frozen at given inputs.
class FrozenNorm {
 public:
  FrozenNorm(Norm norm, double eps) : norm_(norm), eps_(eps) {}

  // The direction before the norm of `stream` (R, C); ⟨direction, its bias⟩ is added to `biases`.
  at::Tensor back(const at::Tensor& direction, const NormWeights& weights, const at::Tensor& stream,
                  double& biases) const {
    if (weights.bias.defined()) {
      biases += product(direction, doubled(weights.bias).expand_as(direction));
    }
    at::Tensor before = weights.weight.defined() ? direction * doubled(weights.weight) : direction;
    before = before / scale(stream);
    return norm_ == Norm::kLayer ? before - before.mean(-1, true) : before;
  }
  // `part` (R, C) of the stream after the norm, without the bias.
  at::Tensor forth(const at::Tensor& part, const NormWeights& weights, const at::Tensor& stream) const {
    at::Tensor after = (norm_ == Norm::kLayer ? part - part.mean(-1, true) : part) / scale(stream);
    return weights.weight.defined() ? after * doubled(weights.weight) : after;
  }

 private:
  at::Tensor scale(const at::Tensor& stream) const {
    const at::Tensor rows = doubled(stream);
    const at::Tensor centred = norm_ == Norm::kLayer ? rows - rows.mean(-1, true) : rows;
    return (centred.square().mean(-1, true) + eps_).sqrt();
  }

  Norm norm_;
  double eps_;
};

// (H), the contributions of the heads (R, H·Dv) through the projection in this direction (R, C).
at::Tensor head_shares(const at::Tensor& heads, std::int64_t count, const Linear& projection,
                       const at::Tensor& direction) {
  const std::int64_t width = heads.size(1) / count;
  const at::Tensor matrix = products::dense(projection.weight);
  at::Tensor shares = at::zeros({count}, at::kDouble);
  for (std::int64_t head = 0; head < count; ++head) {
    const Linear own{matrix.slice(1, head * width, (head + 1) * width), {}};
    shares[head] = product(direction, doubled(linear(heads.slice(1, head * width, (head + 1) * width), own)));
  }
  return shares;
}

// The mean of a (V, C) matrix over its rows, (1, C) float64, block by block: the head of a large vocabulary is stored
// in 16 bits, and its float64 copy would not fit in memory beside it.
at::Tensor mean_row(const at::Tensor& matrix) {
  constexpr std::int64_t kRows = 4096;
  const std::int64_t count = matrix.size(0);
  at::Tensor sum = at::zeros({1, matrix.size(1)}, at::kDouble);
  for (std::int64_t first = 0; first < count; first += kRows) {
    const at::Tensor ids =
        at::arange(first, std::min(count, first + kRows), at::TensorOptions(at::kLong).device(matrix.device()));
    sum += doubled(products::rows(matrix, ids)).sum(0, true);
  }
  return sum / static_cast<double>(count);
}

// The direction in the stream `rows` (R, C) that gives this output; adds the constant terms to `biases`.
at::Tensor read_direction(const Transformer& model, const OutputWeight& output, const at::Tensor& rows,
                          double& biases) {
  const Spec& spec = model.spec();
  const NormWeights& final_norm = model.head().final_norm();
  const FrozenNorm norm(spec.norm, spec.norm_eps);
  // (1, C), a head's direction with this weight.
  const auto weights_of = [&](const Linear& head, double share) {
    const at::Tensor& matrix = head.weight;
    const double weight = output.weight * spec.logit_scale * share;
    if (output.output == kEveryOutput) {
      biases += head.bias.defined() ? weight * head.bias.to(at::kDouble).mean().item<double>() : 0;
      return mean_row(matrix) * weight;
    }
    biases += head.bias.defined() ? weight * head.bias[output.output].item<double>() : 0;
    const at::Tensor id = at::full({1}, output.output, at::TensorOptions(at::kLong).device(matrix.device()));
    return doubled(products::rows(matrix, id)) * weight;
  };
  if (!spec.is_image()) {
    const at::Tensor direction = weights_of(model.head().output(), 1);
    return spec.final_norm ? norm.back(direction, final_norm, rows, biases) : direction;
  }
  const std::int64_t prefix = spec.prefix_tokens();
  const double count = static_cast<double>(rows.size(0));
  at::Tensor direction = at::zeros(rows.sizes(), at::kDouble);
  // Distributes the direction of the pooled vector over the rows that are pooled.
  const auto spread = [&](const at::Tensor& own) {
    switch (spec.pool) {
      case Pool::kClass:
      case Pool::kTwoHeads:
        direction[0] += own[0];
        break;
      case Pool::kPatches:
        direction.slice(0, prefix) += own / (count - static_cast<double>(prefix));
        break;
      case Pool::kAll:
        direction += own / count;
        break;
      case Pool::kClassAndPatches:
        direction[0] += own[0].slice(0, 0, spec.width);
        direction.slice(0, prefix) += own.slice(1, spec.width) / (count - static_cast<double>(prefix));
        break;
    }
  };
  if (spec.final_norm && spec.norm_after_pool) {
    spread(
        norm.back(weights_of(model.head().output(), 1), final_norm, model.head().pooled(rows.unsqueeze(0))[0], biases));
    return direction;
  }
  const bool two = spec.pool == Pool::kTwoHeads;
  spread(weights_of(model.head().output(), two ? 0.5 : 1));
  if (two) {
    direction[1] += weights_of(model.head().distillation(), 0.5)[0];
  }
  return spec.final_norm ? norm.back(direction, final_norm, rows, biases) : direction;
}

// Name of the content of the stem's rows: within a text, a picture's tokens are "picture".
std::string content_name(const Batch& batch, Range rows) {
  if (batch.pixels.defined()) {
    return "patches";
  }
  const bool cell = batch.images && batch.images->tokens.eq(rows.begin).any().item<bool>();
  return cell ? "picture" : "embedding";
}

constexpr const char* kPositions = "positions";

// The vectors that are added before the first layer, for these rows.
std::vector<std::pair<std::string, at::Tensor>> stem_parts(const Transformer& model, const Batch& batch, Range rows) {
  const Spec& spec = model.spec();
  const Stem& stem = model.stem();
  at::Tensor content = stem.content(batch);
  at::Tensor positions = at::zeros_like(content);
  if (spec.is_image()) {
    const std::int64_t height = batch.pixels.size(2) / spec.image.patch;
    const std::int64_t width = batch.pixels.size(3) / spec.image.patch;
    if (const at::Tensor places = stem.patch_positions(batch, height, width); places.defined()) {
      positions.slice(1, spec.prefix_tokens()) += places.flatten(2).transpose(1, 2);
      content = content - positions;
    }
  }
  if (spec.embedding_scale != 1) {
    content = content * spec.embedding_scale;
    positions = positions * spec.embedding_scale;
  }
  content = batch.with_images(0, std::move(content));
  const std::vector<position::State> states = model.encodings().states(batch.positions, content.size(0));
  bool placed = positions.any().item<bool>();
  for (std::size_t n = 0; n < states.size(); ++n) {
    if (const at::Tensor position = model.encodings()[n].encoding->embed(states[n]); position.defined()) {
      positions = positions + position.to(positions.device());
      placed = true;
    }
  }
  const auto wanted = [&](const at::Tensor& x) { return doubled(x[0].slice(0, rows.begin, rows.end)); };
  std::vector<std::pair<std::string, at::Tensor>> parts{{content_name(batch, rows), wanted(content)}};
  if (placed) {
    parts.emplace_back(kPositions, wanted(positions));
  }
  if (stem.token_type().defined()) {
    parts.emplace_back("token type", doubled(stem.token_type()).expand_as(parts.front().second));
  }
  at::Tensor constant = at::zeros_like(parts.front().second);
  if (spec.embedding_norm) {
    const auto normed = [&](const std::string& name) { return !spec.early_norm || name != kPositions; };
    at::Tensor sum = at::zeros_like(constant);
    for (const auto& [name, part] : parts) {
      sum = normed(name) ? sum + part : sum;
    }
    for (auto& [name, part] : parts) {
      part = normed(name) ? FrozenNorm(spec.norm, spec.norm_eps).forth(part, stem.embedding_norm(), sum) : part;
    }
    constant = stem.embedding_norm().bias.defined() ? constant + doubled(stem.embedding_norm().bias) : constant;
  }
  parts.emplace_back("other biases", constant);
  if (spec.embedding_width > 0) {
    for (auto& [name, part] : parts) {
      part = doubled(linear(part.to(content.options()), {stem.embedding_projection().weight, {}}));
    }
    if (stem.embedding_projection().bias.defined()) {
      parts.back().second = parts.back().second + doubled(stem.embedding_projection().bias);
    }
  }
  return parts;
}

// Errors: kUnsupported where a model's layers write no sum; `what` begins them.
Status check_sums(const Transformer& model, const std::string& what, std::int64_t layers) {
  const Spec& spec = model.spec();
  if (model.encodings().cross() != nullptr) {
    return unsupported(what + ": expected a model without an encoder");
  }
  if (spec.convolution.kernel > 0 && layers > 0) {
    return unsupported(what + ": a convolution after the first layer makes the stream no sum");
  }
  if (spec.image.positions_after_layers && layers > 0) {
    return unsupported(what +
                       ": positions are added behind layers, which makes the stream no sum of what layers write");
  }
  if (spec.has_rounds()) {
    return unsupported(what + ": layers run in rounds, which begin with a sum of two states");
  }
  for (std::int64_t n = 0; n < layers; ++n) {
    if (model.block(n).spec().attention.difference != 0) {
      return unsupported(what + ": layer " + std::to_string(n) +
                         " writes the differences of pairs of heads, no sum over its heads");
    }
    if (model.block(n).spec().convolution > 0) {
      return unsupported(what + ": layer " + std::to_string(n) +
                         " convolves what its branches write over the tokens: a token's stream is no sum of its own");
    }
  }
  return {};
}

// The parts of one row of the stream, (S, C) float64.
class StreamParts {
 public:
  StreamParts(const Transformer& model, const Batch& batch, const Observation& seen, Range kept, std::int64_t row)
      : model_(model),
        batch_(batch),
        seen_(seen),
        row_(row),
        at_(row - kept.begin),
        norm_(model.spec().norm, model.spec().norm_eps),
        norm_after_(model.spec().norm,
                    model.spec().after_norm_eps > 0 ? model.spec().after_norm_eps : model.spec().norm_eps) {
    for (const auto& [name, part] : stem_parts(model, batch, {row, row + 1})) {
      add({RunPart::Kind::kEnd, name, -1, -1, {}}, part[0]);
    }
  }

  // Takes the row through a layer.
  void pass(std::int64_t n) {
    const Block& block = model_.block(n);
    const LayerSpec& layer = block.spec();
    const LayerWeights& weights = block.weights();
    const LayerWrites& wrote = seen_.writes[static_cast<std::size_t>(n)];
    StreamParts branches(*this, n);
    if (layer.mixes()) {
      mix(layer, weights, wrote, branches);
    }
    if (layer.feeds) {
      feed(n, layer, weights, wrote);
    }
    if (wrote.input.defined()) {
      StreamParts own(*this, n);
      own.add({RunPart::Kind::kEnd, "per-layer embeddings", -1, -1, {}}, row_of(wrote.input));
      own.through(norm_, weights.input_after_norm, row_of(wrote.input));
      join(own);
    }
    if (weights.output_scale.defined()) {
      vectors_ = vectors_ * doubled(weights.output_scale);
    }
    const at::Tensor picture = batch_.with_images_after(n, row_, at::zeros({1, 1, model_.spec().width}));
    if (picture.any().item<bool>()) {
      add({RunPart::Kind::kEnd, "picture after layer " + std::to_string(n), -1, -1, {}}, doubled(picture[0][0]));
    }
  }
  // Takes the row into a layer's attention.
  void enter(std::int64_t n) {
    const LayerSpec& layer = model_.block(n).spec();
    biases_of(n);
    if (before(layer.attention_norm)) {
      const at::Tensor& hidden = seen_.layers[static_cast<std::size_t>(n)].hidden;
      through(norm_, model_.block(n).weights().attention_norm,
              hidden.defined() ? doubled(hidden[0][row_]) : row_of(seen_.writes[static_cast<std::size_t>(n)].entering));
    }
    vectors_ = vectors_ * layer.attention_input;
  }

  const at::Tensor& vectors() const { return vectors_; }
  std::vector<RunPart>& parts() { return parts_; }

 private:
  // None yet, of the branches of a layer.
  StreamParts(const StreamParts& stream, std::int64_t layer)
      : model_(stream.model_),
        batch_(stream.batch_),
        seen_(stream.seen_),
        row_(stream.row_),
        at_(stream.at_),
        norm_(stream.norm_),
        norm_after_(stream.norm_after_) {
    biases_of(layer);
  }

  at::Tensor row_of(const at::Tensor& rows) const { return doubled(rows[0][at_]); }

  void add(RunPart part, const at::Tensor& vector) {
    parts_.push_back(std::move(part));
    const at::Tensor row = vector.unsqueeze(0);
    vectors_ = vectors_.defined() ? at::cat({vectors_, row}) : row;
  }
  void join(const StreamParts& branch) {
    if (parts_[biases_].layer != branch.parts_[branch.biases_].layer) {
      biases_of(branch.parts_[branch.biases_].layer);
    }
    vectors_.select(0, static_cast<std::int64_t>(biases_)).add_(branch.vectors_[0]);
    vectors_ = at::cat({vectors_, branch.vectors_.slice(0, 1)});
    parts_.insert(parts_.end(), branch.parts_.begin() + 1, branch.parts_.end());
  }
  // Constants go to the biases of this layer from now on.
  void biases_of(std::int64_t layer) {
    biases_ = parts_.size();
    add({RunPart::Kind::kBiases, {}, layer, -1, {}}, at::zeros({model_.spec().width}, at::kDouble));
  }
  void constant(const at::Tensor& vector) {
    vectors_.select(0, static_cast<std::int64_t>(biases_)).add_(doubled(vector));
  }
  void through(const FrozenNorm& norm, const NormWeights& weights, const at::Tensor& stream) {
    vectors_ = norm.forth(vectors_, weights, stream.unsqueeze(0));
    if (weights.bias.defined()) {
      constant(weights.bias);
    }
  }
  // A branch as it is added to the stream.
  void branched(const ResidualSum& sum, const at::Tensor& scale) {
    vectors_ = vectors_ * (model_.spec().residual_scale * sum.branch);
    vectors_ = scale.defined() ? vectors_ * doubled(scale) : vectors_;
  }
  void streamed(const ResidualSum& sum, const at::Tensor& learned) {
    vectors_ = vectors_ * sum.stream;
    vectors_ = learned.defined() ? vectors_ * doubled(learned) : vectors_;
  }

  void mix(const LayerSpec& layer, const LayerWeights& weights, const LayerWrites& wrote, StreamParts& branch) {
    const std::int64_t n = branch.parts_[branch.biases_].layer;
    biases_of(n);
    if (layer.residual_from_norm && before(layer.attention_norm)) {
      through(norm_, weights.attention_norm, row_of(wrote.entering));
    }
    streamed(layer.attention_sum, weights.attention_stream);
    at::Tensor whole = at::zeros({model_.spec().width}, at::kDouble);
    if (layer.attends) {
      whole = whole + row_of(wrote.attention);
      branch.add_heads(n, layer, weights, row_of(wrote.heads));
    }
    if (layer.has_mixer()) {
      whole = whole + row_of(wrote.mixer);
      branch.add({RunPart::Kind::kMixer, {}, n, -1, {}}, row_of(wrote.mixer));
    }
    if (after(layer.attention_norm)) {
      branch.through(norm_after_, weights.attention_after_norm, whole);
    }
    branch.branched(layer.attention_sum, weights.attention_scale);
    join(branch);
    if (layer.attention_norm == NormPlace::kPost && !layer.parallel) {
      through(norm_, weights.attention_norm, row_of(wrote.middle));
    }
  }
  void add_heads(std::int64_t n, const LayerSpec& layer, const LayerWeights& weights, const at::Tensor& heads) {
    const std::int64_t count = layer.attention.heads;
    const std::int64_t width = heads.size(0) / count;
    const at::Tensor matrix = products::dense(weights.output.weight);
    std::vector<at::Tensor> written{vectors_};
    for (std::int64_t head = 0; head < count; ++head) {
      const at::Tensor columns = doubled(matrix.slice(1, head * width, (head + 1) * width));
      const at::Tensor own = at::mv(columns, heads.slice(0, head * width, (head + 1) * width));
      written.push_back((own * layer.attention_output).unsqueeze(0));
      parts_.push_back({RunPart::Kind::kHead, {}, n, head, {}});
    }
    vectors_ = at::cat(written);
    if (weights.output.bias.defined()) {
      constant(doubled(weights.output.bias) * layer.attention_output);
    }
  }
  void feed(std::int64_t n, const LayerSpec& layer, const LayerWeights& weights, const LayerWrites& wrote) {
    StreamParts branch(*this, n);
    branch.add({RunPart::Kind::kFeedForward, {}, n, -1, {}}, row_of(wrote.feed_forward));
    if (after(layer.feed_forward_norm)) {
      branch.through(norm_after_, weights.feed_forward_after_norm, row_of(wrote.feed_forward));
    }
    branch.branched(layer.feed_forward_sum, weights.feed_forward_scale);
    if (layer.residual_from_norm && !layer.parallel && before(layer.feed_forward_norm)) {
      through(norm_, weights.feed_forward_norm, row_of(wrote.middle));
    }
    streamed(layer.feed_forward_sum, weights.feed_forward_stream);
    join(branch);
    if (layer.feed_forward_norm == NormPlace::kPost && !layer.parallel) {
      through(norm_, weights.feed_forward_norm, row_of(wrote.leaving));
    }
  }

  const Transformer& model_;
  const Batch& batch_;
  const Observation& seen_;
  std::int64_t row_;
  std::int64_t at_;  // the row among those that are kept
  FrozenNorm norm_, norm_after_;
  std::vector<RunPart> parts_;
  at::Tensor vectors_;
  std::size_t biases_ = 0;  // the part that constants go to
};

// Rows of a layer's projection that make a head's query or key, of its weight and its bias.
struct ProjectionRows {
  const Linear& projection;
  Range rows;
};
ProjectionRows projection_rows(const AttentionSpec& attention, const LayerWeights& weights, std::int64_t head, bool key,
                               bool whole) {
  const std::int64_t width = attention.projected_width();
  const std::int64_t group = attention.heads / attention.kv_heads;
  const auto rows = [&](std::int64_t first, std::int64_t own, std::int64_t count) {
    return whole ? Range{first, first + count * width} : Range{first + own * width, first + (own + 1) * width};
  };
  const std::int64_t own = key ? head / group : head;
  const std::int64_t count = key ? attention.kv_heads : attention.heads;
  switch (attention.source >= 0 ? QkvLayout::kSeparate : attention.qkv) {
    case QkvLayout::kSeparate:
      return {key ? weights.key : weights.query, rows(0, own, count)};
    case QkvLayout::kFused:
      return {weights.qkv, rows(key ? attention.heads * width : 0, own, count)};
    case QkvLayout::kPerHead:
      break;
  }
  const std::int64_t first = head / group * (group + 2) * width + (key ? group : head % group) * width;
  return {weights.qkv, {first, first + width}};
}

}  // namespace

Result<DirectPath> direct_path(const Transformer& model, const Batch& batch, const Observation& seen, Range rows,
                               const std::vector<OutputWeight>& outputs) {
  const Spec& spec = model.spec();
  if (!spec.head || spec.head_transform) {
    return unsupported(spec.head
                           ? "logit attribution: this head has a transform before the logits, which are therefore "
                             "no sum over the residual stream"
                           : "logit attribution: this model has no head, so it predicts nothing");
  }
  LOCUS_CHECK(check_sums(model, "logit attribution", spec.depth()));
  const FrozenNorm norm(spec.norm, spec.norm_eps);
  const FrozenNorm norm_after(spec.norm, spec.after_norm_eps > 0 ? spec.after_norm_eps : spec.norm_eps);
  const std::int64_t heads = spec.first().attention.heads;
  DirectPath path;
  path.heads = at::zeros({spec.depth(), heads}, at::kDouble);
  path.feed_forwards.resize(static_cast<std::size_t>(spec.depth()));
  path.biases.resize(static_cast<std::size_t>(spec.depth()));
  path.mixers.resize(spec.has_mixers() ? static_cast<std::size_t>(spec.depth()) : 0);
  double ends = 0;
  at::Tensor direction = at::zeros(seen.stream[0].sizes(), at::kDouble);
  for (const OutputWeight& output : outputs) {
    direction = direction + read_direction(model, output, seen.stream[0], ends);
  }
  double inputs = 0;                                  // of the layers' own inputs
  std::vector<std::pair<std::string, double>> added;  // vectors of pictures added after layers, the last first
  for (std::int64_t n = spec.depth() - 1; n >= 0; --n) {
    const auto index = static_cast<std::size_t>(n);
    const at::Tensor picture = batch.with_images_after(n, rows.begin, at::zeros_like(seen.stream))[0];
    if (picture.any().item<bool>()) {
      added.emplace_back("picture after layer " + std::to_string(n), product(direction, doubled(picture)));
    }
    const LayerSpec& layer = model.block(n).spec();
    const LayerWeights& weights = model.block(n).weights();
    const LayerWrites& wrote = seen.writes[index];
    double& biases = path.biases[index];
    if (weights.output_scale.defined()) {
      direction = direction * doubled(weights.output_scale);
    }
    if (wrote.input.defined()) {
      inputs +=
          product(norm.back(direction, weights.input_after_norm, wrote.input[0], biases), doubled(wrote.input[0]));
    }
    // The direction at a branch's output: scaled as the branch is, and through its output norm.
    const auto into = [&](const ResidualSum& sum, const at::Tensor& scale, NormPlace place, const NormWeights& own,
                          const at::Tensor& branch) {
      const at::Tensor scaled =
          direction * (spec.residual_scale * sum.branch) * (scale.defined() ? doubled(scale) : at::ones({1}));
      return after(place) ? norm_after.back(scaled, own, branch, biases) : scaled;
    };
    if (layer.feeds) {
      if (layer.feed_forward_norm == NormPlace::kPost && !layer.parallel) {
        direction = norm.back(direction, weights.feed_forward_norm, wrote.leaving[0], biases);
      }
      const at::Tensor fed = into(layer.feed_forward_sum, weights.feed_forward_scale, layer.feed_forward_norm,
                                  weights.feed_forward_after_norm, wrote.feed_forward[0]);
      path.feed_forwards[index] = product(fed, doubled(wrote.feed_forward[0]));
      direction = direction * layer.feed_forward_sum.stream;
      if (weights.feed_forward_stream.defined()) {
        direction = direction * doubled(weights.feed_forward_stream);
      }
      if (layer.residual_from_norm && !layer.parallel && before(layer.feed_forward_norm)) {
        direction = norm.back(direction, weights.feed_forward_norm, wrote.middle[0], biases);
      }
    }
    if (!layer.mixes()) {
      continue;
    }
    if (layer.attention_norm == NormPlace::kPost && !layer.parallel) {
      direction = norm.back(direction, weights.attention_norm, wrote.middle[0], biases);
    }
    const at::Tensor branch = !layer.has_mixer() ? wrote.attention[0]
                              : !layer.attends   ? wrote.mixer[0]
                                                 : wrote.attention[0] + wrote.mixer[0];
    const at::Tensor mixed =
        into(layer.attention_sum, weights.attention_scale, layer.attention_norm, weights.attention_after_norm, branch);
    if (layer.attends) {
      const at::Tensor attended = mixed * layer.attention_output;
      path.heads.select(0, n).copy_(head_shares(wrote.heads[0], heads, weights.output, attended));
      if (weights.output.bias.defined()) {
        biases += product(attended, doubled(weights.output.bias).expand_as(attended));
      }
    }
    if (layer.has_mixer()) {
      path.mixers[index] = product(mixed, doubled(wrote.mixer[0]));
    }
    direction = direction * layer.attention_sum.stream;
    if (weights.attention_stream.defined()) {
      direction = direction * doubled(weights.attention_stream);
    }
    if (layer.residual_from_norm && before(layer.attention_norm)) {
      direction = norm.back(direction, weights.attention_norm, wrote.entering[0], biases);
    }
  }
  for (const auto& [name, part] : stem_parts(model, batch, rows)) {
    path.ends.emplace_back(name, product(direction, part));
  }
  path.ends.insert(path.ends.end() - 1, added.rbegin(), added.rend());
  if (spec.layer_inputs.width > 0) {
    path.ends.insert(path.ends.end() - 1, {"per-layer embeddings", inputs});
  }
  path.ends.back().second += ends;
  return path;
}

Result<std::vector<RunPart>> score_parts(const Transformer& model, const Batch& batch, const Observation& seen,
                                         Range kept, const ScoreSide& side) {
  constexpr const char* kWhat = "score sources";
  const std::int64_t source = model.block(side.layer).spec().attention.source;
  const std::int64_t layer = side.key && source >= 0 ? source : side.layer;
  LOCUS_CHECK(check_sums(model, kWhat, layer));
  const Block& block = model.block(layer);
  const AttentionSpec& attention = block.spec().attention;
  const std::string place = std::string(kWhat) + ": layer " + std::to_string(layer);
  if (attention.latent.rank > 0) {
    return unsupported(place + " makes queries and keys through a latent vector");
  }
  if (attention.key_bonus) {
    return unsupported(place + " has a learned part of its scores");
  }
  if (side.key && (attention.key_shift || block.spec().convolution > 0)) {
    return unsupported(place + " gives keys a share of the tokens before");
  }
  StreamParts stream(model, batch, seen, kept, side.row);
  for (std::int64_t n = 0; n < layer; ++n) {
    stream.pass(n);
  }
  stream.enter(layer);
  // The run's own vector, from the sum of the parts: what a part's is checked against.
  const position::PositionEncoding& encoding = *model.encodings().of(layer);
  const at::Tensor input = stream.vectors().sum(0).to(at::kFloat).view({1, 1, -1});
  const position::Projections projected =
      block.project(input, encoding, batch.positions.slice({side.row, side.row + 1}));
  const std::int64_t group = attention.heads / attention.kv_heads;
  const at::Tensor whole =
      side.key ? doubled(projected.key[0][side.head / group][0]) : doubled(projected.query[0][side.head][0]);
  const bool normed = side.key ? attention.norm.norms_key() : attention.norm.norms_query();
  const bool all = normed && attention.norm.form == QueryNormForm::kWhole;
  const auto [projection, rows] = projection_rows(attention, block.weights(), side.head, side.key, all);
  const at::Tensor matrix = doubled(products::dense(products::narrow_rows(projection.weight, rows.begin, rows.end)));
  at::Tensor vectors = at::matmul(stream.vectors(), matrix.t());  // (S, D)
  std::vector<RunPart>& parts = stream.parts();
  const auto biases = static_cast<std::int64_t>(parts.size()) - 1;
  if (projection.bias.defined()) {
    vectors.select(0, biases).add_(doubled(projection.bias.slice(0, rows.begin, rows.end)));
  }
  if (normed) {
    const auto& norms = side.key ? block.weights().key_norm : block.weights().query_norm;
    const bool own = attention.norm.form == QueryNormForm::kOwn;
    const std::int64_t number = side.key ? side.head / group : side.head;
    const NormWeights& norm = norms[own ? static_cast<std::size_t>(number) : 0];
    vectors = FrozenNorm(attention.norm.norm, attention.norm.eps).forth(vectors, norm, vectors.sum(0, true));
    if (norm.bias.defined()) {
      vectors.select(0, biases).add_(doubled(norm.bias));
    }
    if (all) {
      const std::int64_t width = attention.projected_width();
      vectors = vectors.slice(1, number * width, (number + 1) * width);
    }
  }
  const at::Tensor sum = vectors.sum(0);
  // Queries are scaled, by their positions too.
  const double length = product(sum, sum);
  const double factor = side.key || length == 0 ? 1 : product(whole, sum) / length;
  constexpr double kRounding = 1e-4;
  if (((sum * factor - whole).norm() > kRounding * whole.norm()).item<bool>()) {
    return unsupported(place +
                       (attention.clip > 0 ? " clips this query or key" : " makes this query or key otherwise") +
                       ", so that it is no sum");
  }
  for (std::size_t n = 0; n < parts.size(); ++n) {
    parts[n].vector = vectors[static_cast<std::int64_t>(n)] * factor;
  }
  return std::move(parts);
}

}  // namespace locus::transformer

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

}  // namespace

Result<DirectPath> direct_path(const Transformer& model, const Batch& batch, const Observation& seen, Range rows,
                               const std::vector<OutputWeight>& outputs) {
  const Spec& spec = model.spec();
  const bool crosses = model.encodings().cross() != nullptr;
  if (!spec.head || spec.head_transform || crosses) {
    return unsupported(crosses ? "logit attribution: expected a model without an encoder"
                       : spec.head
                           ? "logit attribution: this head has a transform before the logits, which are therefore "
                             "no sum over the residual stream"
                           : "logit attribution: this model has no head, so it predicts nothing");
  }
  if (spec.convolution.kernel > 0) {
    return unsupported(
        "logit attribution: with a convolution after the first layer the logits are no sum over the residual stream");
  }
  if (spec.has_rounds()) {
    return unsupported("logit attribution: layers run in rounds, which begin with a sum of two states");
  }
  for (std::int64_t n = 0; n < spec.depth(); ++n) {
    if (model.block(n).spec().attention.difference != 0) {
      return unsupported("logit attribution: layer " + std::to_string(n) +
                         " writes the differences of pairs of heads, no sum over its heads");
    }
  }
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

}  // namespace locus::transformer

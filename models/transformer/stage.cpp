#include "models/transformer/stage.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "core/attention/attend.h"
#include "models/transformer/windows.h"

namespace locus::transformer {

Result<std::unique_ptr<Stage>> Stage::create(const Spec& spec, std::size_t number) {
  auto stage = std::unique_ptr<Stage>(new Stage(stage_spec(spec, number)));
  const std::vector<StageSpec>& all = spec.image.before;
  stage->prefix_ = "before." + std::to_string(number) + ".";
  stage->next_width_ = number + 1 < all.size() ? all[number + 1].width : spec.width;
  stage->next_ = number + 1 < all.size() ? all[number + 1].layers.front() : spec.first();
  // Windows are those of this stage, whose units the pooled patches still are; else the next one's.
  const std::int64_t side = stage->spec_.first().attention.tile;
  stage->next_tile_ = side > 0 ? side : 2 * stage->next_.attention.tile;
  LOCUS_TRY(stage->encodings_, LayerEncodings::create(stage->spec_));
  for (std::int64_t n = 0; n < stage->spec_.depth(); ++n) {
    stage->blocks_.emplace_back(stage->spec_, n);
  }
  return stage;
}

void Stage::collect(ParameterList& list) {
  ParameterList own(spec_);
  for (Block& block : blocks_) {
    own.layer("layers." + std::to_string(block.index()) + ".", block);
  }
  if (spec_.image.stages == Stages::kHiera) {
    const std::int64_t inner = next_.feed_forward.inner;
    own.norm("next.attention_norm", spec_.width, merge_norm_);
    own.linear("next.shortcut", next_width_, spec_.width, true, shortcut_);
    own.linear("next.attention.qkv", 3 * next_width_, spec_.width, true, qkv_);
    own.linear("next.attention.output", next_width_, next_width_, true, output_);
    own.norm("next.feed_forward_norm", next_width_, feed_forward_norm_);
    own.linear("next.feed_forward.up", inner, next_width_, true, feed_forward_.up);
    own.linear("next.feed_forward.down", next_width_, inner, true, feed_forward_.down);
  } else {
    own.norm("merge_norm", spec_.image.stages == Stages::kSwin2 ? next_width_ : 4 * spec_.width, merge_norm_);
    own.linear("merge", next_width_, 4 * spec_.width, false, merge_);
  }
  encodings_.collect(own);
  for (Parameter& parameter : own.take()) {
    if (parameter.product) {
      list.matrix(prefix_ + parameter.name, std::move(parameter.shape), *parameter.value);
    } else {
      list.tensor(prefix_ + parameter.name, std::move(parameter.shape), *parameter.value);
    }
  }
}

at::Tensor Stage::operator()(const at::Tensor& x) const {
  const std::int64_t rows = x.size(1);
  const std::int64_t columns = x.size(2);
  at::Tensor y = x.flatten(1, 2);
  for (const Block& block : blocks_) {
    y = through(block, y, rows, columns);
  }
  y = y.view({y.size(0), rows, columns, spec_.width});
  return spec_.image.stages == Stages::kHiera ? pooled(y) : joined(y);
}

at::Tensor Stage::through(const Block& block, const at::Tensor& x, std::int64_t rows, std::int64_t columns) const {
  const std::vector<std::int64_t> windows = windows_of(block.spec().attention, spec_.image.stages, rows, columns);
  // The patches of a window side by side: a query then reads the keys of its own window alone.
  std::vector<std::int64_t> order(windows.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t left, std::int64_t right) {
    return windows[static_cast<std::size_t>(left)] < windows[static_cast<std::size_t>(right)];
  });
  std::vector<std::int64_t> of;
  of.reserve(order.size());
  for (const std::int64_t patch : order) {
    of.push_back(windows[static_cast<std::size_t>(patch)]);
  }
  const at::Tensor places = at::tensor(at::ArrayRef<std::int64_t>(order), at::kLong);
  position::Positions positions = position::Positions::grid(rows, columns, 0);
  positions.ids = positions.ids.index_select(0, places);
  const attention::Mask mask = block.mask().with(attention::Blocks::make(std::move(of), true));
  const std::int64_t number = encodings_.number(block.index());
  const position::PositionEncoding& encoding = *encodings_.of(block.index());
  std::vector<position::State> states = encodings_.states(positions, x.size(0));
  const Attend attend = [&](std::int64_t /*layer*/, const position::Prepared& prepared, const at::Tensor& value,
                            const at::Tensor& state_values) -> Result<attention::Attended> {
    const attention::Attention attention{encoding, prepared, number, value, state_values, mask};
    return at::GradMode::is_enabled() ? Result<attention::Attended>(attention::attend_whole_map(attention))
                                      : attention::attend_streaming(attention);
  };
  SharedKeys shared(blocks_.size());
  LayerRun run{encoding, number, states[static_cast<std::size_t>(encodings_.slot(block.index()))], attend};
  run.shared = &shared;
  const Result<at::Tensor> left = block(x.index_select(1, places.to(x.device())), run);
  return left->index_select(1, places.argsort().to(x.device()));
}

namespace {

// (B, rows, columns, C) -> (B, rows/2, columns/2, C), the maximum of each 2 × 2 patches.
at::Tensor largest(const at::Tensor& x) {
  return x.view({x.size(0), x.size(1) / 2, 2, x.size(2) / 2, 2, x.size(3)}).amax({2, 4});
}

// (B, rows, columns, H·D) -> (B·windows, H, patches of a window, D).
at::Tensor in_windows(const at::Tensor& x, std::int64_t down, std::int64_t across, std::int64_t heads) {
  return x.reshape({x.size(0), x.size(1) / down, down, x.size(2) / across, across, x.size(3)})
      .permute({0, 1, 3, 2, 4, 5})
      .reshape({-1, down * across, heads, x.size(3) / heads})
      .transpose(1, 2);
}

// Attention of q (W, H, Q, D) over k and v (W, H, K, D), some queries at a time.
at::Tensor mix(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value) {
  constexpr std::int64_t kRows = 256;
  const at::Tensor scaled = query / std::sqrt(static_cast<double>(query.size(-1)));
  std::vector<at::Tensor> parts;
  for (const at::Tensor& rows : scaled.split(kRows, 2)) {
    parts.push_back(at::matmul(at::matmul(rows, key.transpose(2, 3)).softmax(-1), value));
  }
  return at::cat(parts, 2);
}

}  // namespace

at::Tensor Stage::pooled(const at::Tensor& x) const {
  const auto normed = [&](const at::Tensor& y, const NormWeights& weights) {
    return normalise(y, weights, spec_.norm, spec_.norm_eps);
  };
  const std::int64_t heads = next_.attention.heads;
  const std::int64_t down = next_tile_ > 0 ? next_tile_ : x.size(1);
  const std::int64_t across = next_tile_ > 0 ? next_tile_ : x.size(2);
  const at::Tensor read = normed(x, merge_norm_);
  const std::vector<at::Tensor> parts = linear(read, qkv_).chunk(3, -1);
  const at::Tensor query = in_windows(largest(parts[0].contiguous()), down / 2, across / 2, heads);
  const at::Tensor mixed =
      mix(query, in_windows(parts[1], down, across, heads), in_windows(parts[2], down, across, heads));
  const std::int64_t rows = x.size(1) / 2;
  const std::int64_t columns = x.size(2) / 2;
  const at::Tensor attended =
      mixed.transpose(1, 2)
          .reshape({x.size(0), rows / (down / 2), columns / (across / 2), down / 2, across / 2, next_width_})
          .permute({0, 1, 3, 2, 4, 5})
          .reshape({x.size(0), rows, columns, next_width_});
  const at::Tensor y = largest(linear(read, shortcut_)) + linear(attended, output_);
  return y + feed_forward(next_.feed_forward, feed_forward_, normed(y, feed_forward_norm_));
}

at::Tensor Stage::joined(const at::Tensor& x) const {
  const auto cells = [&](std::int64_t row, std::int64_t column) {
    return x.slice(1, row, x.size(1), 2).slice(2, column, x.size(2), 2);
  };
  const at::Tensor four = at::cat({cells(0, 0), cells(1, 0), cells(0, 1), cells(1, 1)}, -1);
  const auto normed = [&](const at::Tensor& y) { return normalise(y, merge_norm_, spec_.norm, spec_.norm_eps); };
  return spec_.image.stages == Stages::kSwin2 ? normed(linear(four, merge_)) : linear(normed(four), merge_);
}

}  // namespace locus::transformer

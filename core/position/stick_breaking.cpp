#include "core/position/stick_breaking.h"

#include <algorithm>

#include "core/position/list.h"

namespace locus::position {

namespace {

constexpr std::int64_t kColumns = 1024;  // summed at once

// (R, K) whether a column is the row's own token or behind it.
at::Tensor not_before(const Tile& tile, c10::Device device) {
  const auto options = at::TensorOptions().dtype(at::kLong).device(device);
  return at::arange(tile.columns.begin, tile.columns.end, options) >=
         at::arange(tile.rows.begin, tile.rows.end, options).unsqueeze(1);
}

}  // namespace

const OptionTable<StickBreakingOptions> StickBreakingOptions::kTable{};

const Description& StickBreaking::about() {
  static const Description description{
      .name = "stick-breaking",
      .title = "Stick-breaking attention",
      .paper = "Tan et al. 2024, arXiv:2410.17980",
      .equation = "ln A_ij, A_ij = σ(s_ij) Π_{j<l<i} (1 − σ(s_il)), s = q·k/√D",
      .content = "s_ij = q·k/√D, 0 of the token itself",
      .scores = true,
      .no_distance = "keys take their share one after the other",
  };
  return description;
}

Status StickBreaking::settle(const StickBreakingOptions& /*options*/, const ModelShape& shape) {
  return shape.causal ? Status()
                      : Status(bad_input("encoding stick-breaking: expected a causal model, found one whose tokens see "
                                         "those after them"));
}

at::Tensor StickBreaking::left_by(const Prepared& prepared, const Tile& tile) const {
  at::Tensor sum = at::zeros({prepared.query.size(0), tile.heads.size(), tile.rows.size()},
                             prepared.query.options().dtype(at::kDouble));
  for (std::int64_t end = tile.columns.end; end > tile.columns.begin; end -= kColumns) {
    const Tile part{tile.layer, tile.heads, tile.rows, {std::max(tile.columns.begin, end - kColumns), end}};
    at::Tensor left = at::log_sigmoid(-scaled_dot(prepared.query, prepared.key, part, scale()));
    if (end > tile.rows.begin) {
      left = left.masked_fill(not_before(part, left.device()), 0);
    }
    sum = sum + left.sum(-1, false, at::kDouble);
  }
  return sum;
}

TileScores StickBreaking::score(const Prepared& prepared, const Tile& tile, const Wanted& wanted,
                                const at::Tensor& carry) const {
  TileScores scores;
  const at::Tensor hidden = not_before(tile, prepared.query.device());
  const at::Tensor odds = scaled_dot(prepared.query, prepared.key, tile, scale());
  const at::Tensor left = at::log_sigmoid(-odds).masked_fill(hidden, 0).to(at::kDouble);
  const at::Tensor behind =
      carry.defined()
          ? carry
          : left_by(prepared,
                    {tile.layer, tile.heads, tile.rows, {tile.columns.end, std::max(tile.columns.end, tile.rows.end)}});
  // Σ_{l≥j} of the tile's columns and of those behind it.
  const at::Tensor sums = left.flip(-1).cumsum(-1).flip(-1) + behind.unsqueeze(-1);
  scores.carry = sums.select(-1, 0);
  scores.logits = at::log_sigmoid(odds) + (sums - left).to(odds.scalar_type());
  if (wanted.content) {
    scores.content = odds;
  }
  if (tile.columns.begin < tile.rows.end && tile.rows.begin < tile.columns.end) {  // has cells of the diagonal
    const at::Tensor whole =
        scores.carry + left_by(prepared, {tile.layer, tile.heads, tile.rows, {0, tile.columns.begin}});
    const auto options = at::TensorOptions().dtype(at::kLong).device(odds.device());
    const at::Tensor own = at::arange(tile.columns.begin, tile.columns.end, options) ==
                           at::arange(tile.rows.begin, tile.rows.end, options).unsqueeze(1);
    scores.logits = at::where(own, whole.to(odds.scalar_type()).unsqueeze(-1), scores.logits);
    scores.content = scores.content.defined() ? scores.content.masked_fill(own, 0) : scores.content;
  }
  return scores;
}

Entry stick_breaking_encoding() {
  return {StickBreaking::about(), StickBreaking::make};
}

}  // namespace locus::position

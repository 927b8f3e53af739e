#include "core/position/selective.h"

#include <algorithm>

#include "core/position/list.h"

namespace locus::position {

namespace {

constexpr std::int64_t kRows = 256;  // summed at once

}  // namespace

const OptionTable<SelectiveOptions> SelectiveOptions::kTable{};

const Description& Selective::about() {
  static const Description description{
      .name = "selective",
      .title = "Selective attention",
      .paper = "Leviathan et al. 2024, arXiv:2410.02703",
      .equation = "q_i·k_j/√D − Σ_{j<m<i} max(0, q⁰_m·k⁰_j/√D), q⁰ and k⁰ of head 0",
      .content = "q·k/√D",
      .scores = true,
      .no_distance = "tokens hide earlier ones, wherever they stand",
  };
  return description;
}

Status Selective::settle(const SelectiveOptions& /*options*/, const ModelShape& shape) {
  return shape.causal
             ? Status()
             : Status(bad_input(
                   "encoding selective: expected a causal model, found one whose tokens see those after them"));
}

double Selective::macs(std::int64_t /*layer*/, std::int64_t length) const {
  const auto tokens = static_cast<double>(length);
  return tokens * tokens * static_cast<double>(shape_.head_width);
}

at::Tensor Selective::hiding(const Prepared& prepared, std::int64_t layer, Range rows, Range columns) const {
  const at::Tensor logits = scaled_dot(prepared.query, prepared.key, {layer, {0, 1}, rows, columns}, scale());
  const auto options = at::TensorOptions().dtype(at::kLong).device(logits.device());
  const at::Tensor key = at::arange(columns.begin, columns.end, options);
  const at::Tensor none = (key >= at::arange(rows.begin, rows.end, options).unsqueeze(1)).logical_or(key == 0);
  return at::relu(logits).masked_fill(none, 0).to(at::kDouble);
}

TileScores Selective::score(const Prepared& prepared, const Tile& tile, const Wanted& wanted,
                            const at::Tensor& /*carry*/) const {
  TileScores scores;
  const at::Tensor content = scaled_dot(prepared.query, prepared.key, tile, scale());
  if (wanted.content) {
    scores.content = content;
  }
  at::Tensor hidden =  // (B, 1, 1, K), by the rows above the tile
      at::zeros({content.size(0), 1, 1, tile.columns.size()}, content.options().dtype(at::kDouble));
  for (std::int64_t begin = std::min(tile.columns.begin, tile.rows.begin); begin < tile.rows.begin; begin += kRows) {
    const Range rows{begin, std::min(begin + kRows, tile.rows.begin)};
    hidden = hidden + hiding(prepared, tile.layer, rows, tile.columns).sum(2, true);
  }
  const at::Tensor own = hiding(prepared, tile.layer, tile.rows, tile.columns);
  scores.logits = content - (hidden + own.cumsum(2) - own).to(content.scalar_type());
  return scores;
}

Entry selective_encoding() {
  return {Selective::about(), Selective::make};
}

}  // namespace locus::position

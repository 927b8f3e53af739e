#include "core/position/xpos.h"

#include <algorithm>
#include <string>
#include <vector>

#include "core/position/list.h"

namespace locus::position {

namespace {

// Columns that share a centre: few enough that no factor leaves float32's range.
constexpr std::int64_t kSpan = 8192;

}  // namespace

const OptionTable<XposOptions> XposOptions::kTable{
    {"layout", &XposOptions::layout, "interleaved: 2m pairs with 2m+1 (torchscale); half: m with m + D/2",
     kLayoutWords},
    {"base", &XposOptions::base, "θ_m = base^(−2m/D)", Above{1}},
    {"scale_base", &XposOptions::scale_base, "tokens over which pair m fades by ζ_m", Above{0}},
};

at::Tensor xpos_zeta(std::int64_t head_width) {
  const double width = static_cast<double>(head_width);
  return (at::arange(0, head_width, 2, at::kDouble) + 0.4 * width) / (1.4 * width);
}

at::Tensor xpos_scales(const at::Tensor& ids, double centre, double sign, std::int64_t head_width,
                       const XposOptions& options) {
  const at::Tensor power = (ids.to(at::kDouble) - centre) * (sign / options.scale_base);
  const at::Tensor pairs = at::exp(power.unsqueeze(-1) * xpos_zeta(head_width).log());
  return options.layout == PairLayout::kHalf ? at::cat({pairs, pairs}, -1) : pairs.repeat_interleave(2, -1);
}

const Description& Xpos::about() {
  static const Description description{
      .name = "xpos",
      .title = "Extrapolatable position embedding (xPos)",
      .paper = "Sun et al. 2022, arXiv:2212.10554",
      .equation = "Σ_m ζ_m^((i−j)/512)·⟨R_i q_i, R_j k_j⟩_m/√D, ζ_m = (2m + 0.4D)/(1.4D)",
      .content = "unrotated q·k/√D, as if Δ = 0",
      .options = XposOptions::kTable.described(),
      .rotates = true,
      .scores = true,
      .has_waves = true,
      .distance = kIndexDistance,
  };
  return description;
}

Status Xpos::settle(XposOptions& /*options*/, const ModelShape& shape) {
  if (shape.head_width % 2 != 0) {
    return bad_input("encoding xpos: expected an even head width, found " + std::to_string(shape.head_width));
  }
  return {};
}

State Xpos::begin(const Positions& positions, std::int64_t /*batch*/) const {
  return {positions, rotation(positions.ids, inverse_frequencies(shape_.head_width, options_.base)).packed()};
}

Prepared Xpos::prepare(const State& state, std::int64_t /*layer*/, const Projections& projections) const {
  return turned(projections, state.positions, Rotation::unpacked(state.table), options_.layout);
}

TileScores Xpos::score(const Prepared& prepared, const Tile& tile, const Wanted& wanted,
                       const at::Tensor& /*carry*/) const {
  std::vector<at::Tensor> bands;
  for (std::int64_t row = tile.rows.begin; row < tile.rows.end; row += kSpan) {
    std::vector<at::Tensor> blocks;
    for (std::int64_t column = tile.columns.begin; column < tile.columns.end; column += kSpan) {
      blocks.push_back(logits(prepared, {tile.layer,
                                         tile.heads,
                                         {row, std::min(row + kSpan, tile.rows.end)},
                                         {column, std::min(column + kSpan, tile.columns.end)}}));
    }
    bands.push_back(blocks.size() == 1 ? blocks.front() : at::cat(blocks, -1));
  }
  TileScores scores;
  if (bands.empty() || !bands.front().defined()) {
    scores.logits = scaled_dot(prepared.query, prepared.key, tile, scale());
  } else {
    scores.logits = bands.size() == 1 ? bands.front() : at::cat(bands, -2);
  }
  if (wanted.content) {
    scores.content = scaled_dot(prepared.content_query, prepared.content_key, tile, scale());
  }
  return scores;
}

Result<PairForm> Xpos::pair_form(const Prepared& /*prepared*/, std::int64_t /*layer*/) const {
  PairForm form;
  form.channels = form.planes = pair_channels(shape_.head_width / 2, options_.layout);
  form.frequencies = inverse_frequencies(shape_.head_width, options_.base).view({1, -1, 1});
  form.decay = xpos_zeta(shape_.head_width).log() / options_.scale_base;
  return form;
}

at::Tensor Xpos::logits(const Prepared& prepared, const Tile& tile) const {
  const at::Tensor row_ids = prepared.positions.ids.slice(0, tile.rows.begin, tile.rows.end);
  const at::Tensor column_ids = prepared.positions.ids.slice(0, tile.columns.begin, tile.columns.end);
  const double centre = (row_ids.mean().item<double>() + column_ids.mean().item<double>()) / 2;
  const at::TensorOptions like = prepared.query.options();
  const at::Tensor rows = tile_rows(prepared.query, tile) *
                          (xpos_scales(row_ids, centre, 1, shape_.head_width, options_) * scale()).to(like);
  const at::Tensor columns = tile_columns(prepared.key, tile, prepared.query.size(1)) *
                             xpos_scales(column_ids, centre, -1, shape_.head_width, options_).to(like);
  return at::matmul(rows, columns.transpose(-1, -2));
}

Entry xpos_encoding() {
  return {Xpos::about(), Xpos::make};
}

}  // namespace locus::position

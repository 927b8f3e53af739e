#include "core/position/cope/tile.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <vector>

#include "core/position/shared/tile_kernels.h"

namespace locus::position {

namespace {

constexpr std::int64_t kTileRows = 16;

// (1 − p + ⌊p⌋)·z[⌊p⌋] + (p − ⌊p⌋)·z[⌈p⌉]   (Eq. 8); indices carry no gradient, p does.
at::Tensor interpolated(const at::Tensor& table, const at::Tensor& positions) {
  const at::Tensor places = positions.detach().nan_to_num(0);  // what is no number has no place, and stays NaN below
  const at::Tensor below = places.floor();
  const at::Tensor low = table.gather(-1, below.to(at::kLong));
  const at::Tensor high = table.gather(-1, places.ceil().to(at::kLong));
  return low + (positions - below) * (high - low);
}

// q_i·(W2 relu(w1·p + b1) + b2) without a (R, K, N) tensor: the network is piecewise linear in p, so each query needs
// one line a segment between the knots −b1/w1, and each cell one look-up of its segment. Exact, and differentiable in
// everything but the knots' places, where the function is continuous.
at::Tensor of_network(const CopeNetwork& network, const at::Tensor& positions) {
  const at::Tensor weight = network.weight.detach().to(at::kDouble);
  const at::Tensor bias = network.bias.detach().to(at::kDouble);
  const at::Tensor bent = weight != 0;
  const at::Tensor knots = std::get<0>((-bias.masked_select(bent) / weight.masked_select(bent)).sort());
  at::Tensor inside = at::zeros({1}, knots.options());
  if (knots.numel() > 0) {
    const at::Tensor middles = (knots.slice(0, 0, -1) + knots.slice(0, 1)) / 2;
    inside = at::cat({knots.slice(0, 0, 1) - 1, middles, knots.slice(0, -1) + 1});
  }
  const at::Tensor on = (inside.unsqueeze(1) * weight + bias > 0).to(network.weight.dtype());  // (S, N)
  const at::Tensor slopes = at::matmul(network.query_output, (on * network.weight).transpose(0, 1));
  const at::Tensor intercepts =
      at::matmul(network.query_output, (on * network.bias).transpose(0, 1)) + network.query_bias.unsqueeze(-1);
  const at::Tensor segment = at::bucketize(positions.detach().to(at::kDouble), knots);
  return slopes.gather(-1, segment) * positions + intercepts.gather(-1, segment);
}

}  // namespace

bool CopeTile::learning() const {
  for (const at::Tensor* part : {&biased, &gate_logits, &carry, &table, &slopes}) {
    if (part->defined() && part->requires_grad()) {
      return at::GradMode::is_enabled();
    }
  }
  return false;
}

at::Tensor visible_gates(const at::Tensor& logits, const Tile& tile) {
  const at::Tensor gates = at::sigmoid(logits);
  if (tile.columns.end - 1 <= tile.rows.begin) {
    return gates;
  }
  const auto index = at::TensorOptions(at::kLong).device(logits.device());
  const at::Tensor row = at::arange(tile.rows.begin, tile.rows.end, index).unsqueeze(1);
  const at::Tensor column = at::arange(tile.columns.begin, tile.columns.end, index).unsqueeze(0);
  return gates.masked_fill(column > row, 0.0);
}

void differentiable_cope(const CopeTile& work, const Tile& tile, TileScores& scores) {
  const at::Tensor gates = visible_gates(work.gate_logits, tile);
  const at::Tensor sums = gates.flip(-1).cumsum(-1, at::kDouble).flip(-1) + work.carry.unsqueeze(-1);
  const at::Tensor positions = (work.table.defined() ? sums.clamp_max(work.p_max) : sums).to(gates.dtype());
  at::Tensor part;
  if (work.table.defined()) {
    part = interpolated(work.table, positions);
  } else if (work.slopes.defined()) {
    part = work.slopes.unsqueeze(1).unsqueeze(1) * positions;
  } else {
    part = of_network(work.network, positions);
  }
  scores.logits = work.biased + part;
  scores.gates = gates;
  scores.positions = positions;
  scores.carry = sums.select(-1, 0);
}

void fused_cope(const CopeTile& work, const Tile& tile, const Wanted& wanted, TileScores& scores) {
  const at::Tensor content = work.biased.contiguous();
  const at::Tensor gate_logits = work.gate_logits.contiguous();
  const at::Tensor table = work.table.defined() ? work.table.contiguous() : at::Tensor();
  const at::Tensor carry = work.carry.to(at::kDouble).contiguous();
  const std::int64_t heads = content.size(1);
  const std::int64_t rows = content.size(2);
  const std::int64_t columns = content.size(3);
  const std::int64_t vectors = table.defined() ? table.size(3) : 0;
  // A row's content is read before its logits are written, so they may share their place.
  scores.logits = wanted.content ? at::empty_like(content) : content;
  scores.carry = at::empty_like(carry);
  scores.gates = wanted.gates ? at::empty_like(content) : at::Tensor();
  scores.positions = wanted.positions ? at::empty_like(content) : at::Tensor();
  const auto at_row = [](const at::Tensor& tensor, std::int64_t offset) {
    return tensor.defined() ? tensor.data_ptr<float>() + offset : nullptr;
  };
  at::parallel_for(0, content.size(0) * heads * rows, kTileRows, [&](std::int64_t begin, std::int64_t end) {
    std::vector<float> gates(static_cast<std::size_t>(columns));
    std::vector<float> positions(static_cast<std::size_t>(columns));
    for (std::int64_t n = begin; n < end; ++n) {
      const std::int64_t token = tile.rows.begin + n % rows;
      kernel::CopeRow row;
      row.content = at_row(content, n * columns);
      row.gate_logits = at_row(gate_logits, n * columns);
      row.z = at_row(table, n * vectors);
      row.slope = work.slopes.defined() ? work.slopes.data_ptr<float>()[n / rows % heads] : 0.0F;
      row.p_max = static_cast<float>(work.p_max);
      row.columns = columns;
      row.visible = std::clamp<std::int64_t>(token + 1 - tile.columns.begin, 0, columns);
      row.logits = at_row(scores.logits, n * columns);
      row.gates = wanted.gates ? at_row(scores.gates, n * columns) : gates.data();
      row.positions = wanted.positions ? at_row(scores.positions, n * columns) : positions.data();
      scores.carry.data_ptr<double>()[n] = kernel::cope_row_exact(row, carry.data_ptr<double>()[n]);
    }
  });
}

}  // namespace locus::position

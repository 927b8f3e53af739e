#include "core/position/shared/additive_bias.h"

#include <ATen/Parallel.h>

#include "core/position/shared/tile_kernels.h"

namespace locus::position {

namespace {

constexpr std::int64_t kRowsPerTask = 64;

// logits (B, h, R, K) contiguous += the diagonals (h, R + K − 1).
void add_diagonals(const at::Tensor& logits, const at::Tensor& diagonals) {
  const std::int64_t heads = logits.size(1);
  const std::int64_t rows = logits.size(2);
  const auto columns = static_cast<std::size_t>(logits.size(3));
  float* const out = logits.data_ptr<float>();
  const float* const bias = diagonals.data_ptr<float>();
  const std::int64_t stride = diagonals.size(1);
  at::parallel_for(0, logits.size(0) * heads * rows, kRowsPerTask, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const std::int64_t head = row / rows % heads;
      kernel::add_bias({out + row * static_cast<std::int64_t>(columns), columns},
                       bias + head * stride + (rows - 1 - row % rows));
    }
  });
}

}  // namespace

at::Tensor diagonal_distances(const Positions& positions, const Tile& tile) {
  const at::Tensor rows = positions.ids.slice(0, tile.rows.begin, tile.rows.end);
  const at::Tensor columns = positions.ids.slice(0, tile.columns.begin, tile.columns.end);
  if (rows.dim() != 1 || rows.numel() == 0 || columns.numel() == 0) {
    return {};
  }
  const auto row = rows.accessor<double, 1>();
  const auto column = columns.accessor<double, 1>();
  const double step = rows.numel() > 1 ? row[1] - row[0] : columns.numel() > 1 ? column[1] - column[0] : 1.0;
  for (std::int64_t r = 0; r < rows.numel(); ++r) {
    if (row[r] != row[0] + step * static_cast<double>(r)) {
      return {};
    }
  }
  for (std::int64_t c = 0; c < columns.numel(); ++c) {
    if (column[c] != column[0] + step * static_cast<double>(c)) {
      return {};
    }
  }
  const double largest = row[rows.numel() - 1] - column[0];
  return largest - step * at::arange(rows.numel() + columns.numel() - 1, at::kDouble);
}

at::Tensor from_diagonals(const at::Tensor& values, std::int64_t rows, std::int64_t columns) {
  return values.narrow(-1, 0, rows + columns - 1).unfold(-1, columns, 1).flip(-2);
}

at::Tensor distance_map(const Positions& positions, const Tile& tile, const DistanceFunction& f) {
  const std::int64_t rows = tile.rows.size();
  const std::int64_t columns = tile.columns.size();
  if (const at::Tensor distances = diagonal_distances(positions, tile); distances.defined()) {
    return from_diagonals(f(distances), rows, columns);
  }
  return f(tile_distances(positions, tile).flatten()).unflatten(-1, {rows, columns});
}

at::Tensor add_bias(const at::Tensor& logits, const Positions& positions, const Tile& tile, const DistanceFunction& f,
                    bool overwrite) {
  if (const at::Tensor distances = diagonal_distances(positions, tile); distances.defined()) {
    const at::Tensor bias = f(distances).to(logits.options());
    if (kernels_apply(logits) && !bias.requires_grad()) {
      const at::Tensor out = overwrite && logits.is_contiguous() ? logits : logits.clone(at::MemoryFormat::Contiguous);
      add_diagonals(out, bias.contiguous());
      return out;
    }
    return logits + from_diagonals(bias, tile.rows.size(), tile.columns.size());
  }
  return logits + distance_map(positions, tile, f).to(logits.options());
}

bool kernels_apply(const at::Tensor& logits) {
  return logits.device().is_cpu() && logits.scalar_type() == at::kFloat && !logits.requires_grad();
}

TileScores score_with_bias(const PositionEncoding& encoding, const Prepared& prepared, const Tile& tile,
                           const Wanted& wanted, const DistanceFunction& f) {
  TileScores scores;
  const at::Tensor content = scaled_dot(prepared.query, prepared.key, tile, encoding.scale());
  scores.logits = add_bias(content, prepared.positions, tile, f, !wanted.content);
  if (wanted.content) {
    scores.content = content;
  }
  return scores;
}

}  // namespace locus::position

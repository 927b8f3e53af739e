#include "core/position/position_encoding.h"

#include <cmath>
#include <utility>

namespace locus::position {

Status PositionEncoding::accepts(const Positions& positions) const {
  if (positions.dimensions() != 1) {
    return bad_input("encoding " + description().name +
                     ": expected positions of a sequence, found those of an image grid");
  }
  return {};
}

State PositionEncoding::begin(const Positions& positions, std::int64_t /*batch*/) const {
  return {positions, {}};
}

Result<std::vector<TrainingPositions>> PositionEncoding::training_positions(const Positions& natural, Range sequences,
                                                                            std::uint64_t /*seed*/) const {
  return std::vector<TrainingPositions>{{natural, sequences.size()}};
}

Positions PositionEncoding::evaluation_positions(const Positions& natural) const {
  return natural;
}

at::Tensor PositionEncoding::training_loss(std::uint64_t /*seed*/) const {
  return {};
}

void PositionEncoding::drop_unseen(const Positions& /*positions*/) {}

at::Tensor PositionEncoding::embed(const State& /*state*/) const {
  return {};
}

at::Tensor PositionEncoding::learned_positions(const Prepared& /*prepared*/) const {
  return {};
}

Prepared PositionEncoding::placed(const Prepared& prepared, const at::Tensor& /*positions*/) const {
  return prepared;
}

at::Tensor PositionEncoding::log_gates(const Prepared& /*prepared*/) const {
  return {};
}

Prepared PositionEncoding::prepare(const State& state, std::int64_t /*layer*/, const Projections& projections) const {
  Prepared prepared;
  prepared.query = projections.query;
  prepared.key = projections.key;
  prepared.positions = state.positions;
  return prepared;
}

TileScores PositionEncoding::score(const Prepared& prepared, const Tile& tile, const Wanted& wanted,
                                   const at::Tensor& /*carry*/) const {
  TileScores scores;
  scores.logits = scaled_dot(prepared.query, prepared.key, tile, scale());
  if (wanted.content && !description().content.empty()) {
    scores.content = prepared.content_query.defined()
                         ? scaled_dot(prepared.content_query, prepared.content_key, tile, scale())
                     : description().rotates ? at::Tensor()
                                             : scores.logits;
  }
  return scores;
}

double PositionEncoding::macs(std::int64_t /*layer*/, std::int64_t /*length*/) const {
  return 0;
}

double PositionEncoding::scale() const {
  return 1.0 / std::sqrt(static_cast<double>(shape_.head_width));
}

at::Tensor PositionEncoding::state_values(const State& /*state*/, std::int64_t /*layer*/) const {
  return {};
}

void PositionEncoding::after_attention(State& /*state*/, std::int64_t /*layer*/, const Attended& /*attended*/) const {}

void PositionEncoding::after_feed_forward(State& /*state*/, std::int64_t /*layer*/,
                                          const at::Tensor& /*output*/) const {}

Result<at::Tensor> PositionEncoding::distances(const State& state, const Prepared& prepared, const Tile& tile) const {
  const Description& what = description();
  const std::int64_t row = tile.rows.begin;
  const std::int64_t head = tile.heads.begin;
  if (what.distance.empty()) {
    return unsupported("encoding " + what.name + " has no distance between tokens: " + what.no_distance);
  }
  if (what.learns_positions) {
    const at::Tensor places = learned_positions(prepared);  // (B, H, T, 1)
    const at::Tensor own = places.select(0, 0).select(0, head).flatten().to(at::kCPU, at::kDouble);
    return own[row] - own.slice(0, tile.columns.begin, tile.columns.end);
  }
  if (what.distance == kVectorDistance) {
    const at::Tensor all = state.table.defined() ? vectors(state, tile.layer) : at::Tensor();
    if (!all.defined()) {
      return unsupported("encoding " + what.name + ": the vectors of the positions are not kept");
    }
    const at::Tensor own = all.select(0, all.size(0) == 1 ? 0 : head).to(at::kCPU, at::kDouble);  // (T, X)
    return (own.slice(0, tile.columns.begin, tile.columns.end) - own[row]).norm(2, -1);
  }
  if (prepared.positions.dimensions() != 1) {
    return unsupported("encoding " + what.name + ": positions of several components have no one distance");
  }
  const at::Tensor ids = prepared.positions.ids.to(at::kCPU, at::kDouble);
  return ids[row] - ids.slice(0, tile.columns.begin, tile.columns.end);
}

at::Tensor PositionEncoding::vectors(const State& /*state*/, std::int64_t /*layer*/) const {
  return {};
}

at::Tensor tile_rows(const at::Tensor& query, const Tile& tile) {
  return query.slice(1, tile.heads.begin, tile.heads.end).slice(2, tile.rows.begin, tile.rows.end);
}

at::Tensor tile_columns(const at::Tensor& key, const Tile& tile, std::int64_t heads) {
  const at::Tensor columns = key.slice(2, tile.columns.begin, tile.columns.end);
  const std::int64_t group = heads / key.size(1);
  if (group == 1) {
    return columns.slice(1, tile.heads.begin, tile.heads.end);
  }
  const Range kv{tile.heads.begin / group, (tile.heads.end + group - 1) / group};
  const std::int64_t first = tile.heads.begin - kv.begin * group;
  return columns.slice(1, kv.begin, kv.end).repeat_interleave(group, 1).slice(1, first, first + tile.heads.size());
}

at::Tensor scaled_dot(const at::Tensor& query, const at::Tensor& key, const Tile& tile, double scale) {
  const at::Tensor rows = tile_rows(query, tile);
  const at::Tensor columns = tile_columns(key, tile, query.size(1));
  return at::matmul(rows * scale, columns.transpose(-1, -2));
}

at::Tensor tile_distances(const Positions& positions, const Tile& tile) {
  const at::Tensor rows = positions.ids.slice(0, tile.rows.begin, tile.rows.end);
  const at::Tensor columns = positions.ids.slice(0, tile.columns.begin, tile.columns.end);
  return rows.unsqueeze(1) - columns.unsqueeze(0);
}

at::Tensor dot_products(const at::Tensor& vectors, Range rows, Range columns, bool cosine) {
  const at::Tensor unit = cosine ? vectors / vectors.norm(2, -1, true).clamp_min(1e-30) : vectors;
  return at::matmul(unit.slice(1, rows.begin, rows.end), unit.slice(1, columns.begin, columns.end).transpose(-1, -2));
}

}  // namespace locus::position

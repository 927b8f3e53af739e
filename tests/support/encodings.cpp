#include "tests/support/encodings.h"

#include <limits>
#include <stdexcept>

#include "core/position/list.h"

namespace locus::test {

position::ModelShape shape_of(std::int64_t heads, std::int64_t head_width, std::int64_t kv_heads) {
  position::ModelShape shape;
  shape.heads = heads;
  shape.kv_heads = kv_heads > 0 ? kv_heads : heads;
  shape.head_width = head_width;
  shape.width = heads * head_width;
  shape.trained_length = 64;
  return shape;
}

std::unique_ptr<position::PositionEncoding> encoding(const std::string& name, const Settings& options,
                                                     const position::ModelShape& shape) {
  auto made = position::make_encoding(name, options, shape);
  if (!made.ok()) {
    throw std::runtime_error(made.error().describe());
  }
  return *std::move(made);
}

bool takes_sequences(const std::string& name) {
  return encoding(name, {}, shape_of(2, 8))->accepts(position::Positions::sequence(5)).ok();
}

at::Tensor& parameter(position::PositionEncoding& encoding, const std::string& name) {
  for (const position::Parameter& parameter : encoding.parameters()) {
    if (parameter.name == name) {
      return *parameter.value;
    }
  }
  throw std::runtime_error("no parameter " + name);
}

position::Projections random_projections(const position::ModelShape& shape, std::int64_t batch, std::int64_t tokens,
                                         at::ScalarType type) {
  return {at::randn({batch, shape.heads, tokens, shape.head_width}, type),
          at::randn({batch, shape.kv_heads, tokens, shape.head_width}, type),
          at::randn({batch, shape.kv_heads, tokens, shape.head_width}, type),
          at::randn({batch, tokens, shape.width}, type)};
}

position::TileScores whole_map(const position::PositionEncoding& encoding, const position::Prepared& prepared,
                               std::int64_t layer, const position::Wanted& wanted) {
  const Range all{0, prepared.query.size(2)};
  return encoding.score(prepared, {layer, {0, prepared.query.size(1)}, all, all}, wanted);
}

position::Prepared prepare(const position::PositionEncoding& encoding, const position::Positions& positions,
                           const at::Tensor& query, const at::Tensor& key) {
  position::Projections projections;
  projections.query = query;
  projections.key = key;
  projections.value = key;
  return encoding.prepare(encoding.begin(positions, query.size(0)), 0, projections);
}

at::Tensor causal_softmax(const at::Tensor& logits) {
  const at::Tensor ahead = at::ones({logits.size(-2), logits.size(-1)}, at::kBool).triu(1);
  return at::softmax(logits.masked_fill(ahead, -std::numeric_limits<double>::infinity()), -1);
}

at::Tensor causal_cells(const at::Tensor& map) {
  return at::where(at::ones({map.size(-2), map.size(-1)}, at::kBool).tril(), map, at::zeros_like(map));
}

}  // namespace locus::test

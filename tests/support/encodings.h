// Encodings under test: built from the list, with random parameters and projections.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/position/position_encoding.h"

namespace locus::test {

// layers 1, H query heads of D channels, as many key heads unless said otherwise, trained on 64 tokens, causal.
position::ModelShape shape_of(std::int64_t heads, std::int64_t head_width, std::int64_t kv_heads = 0);

// The encoding; throws std::runtime_error with the Error's text.
std::unique_ptr<position::PositionEncoding> encoding(const std::string& name, const Settings& options,
                                                     const position::ModelShape& shape);

// Whether the encoding, as it is without options, takes positions of a sequence; others need an image grid.
bool takes_sequences(const std::string& name);

// The parameter called `name`; throws when there is none.
at::Tensor& parameter(position::PositionEncoding& encoding, const std::string& name);

// Gaussian q, k, v and hidden states of T tokens.
position::Projections random_projections(const position::ModelShape& shape, std::int64_t batch, std::int64_t tokens,
                                         at::ScalarType type = at::kFloat);

// Scores of all T × T cells.
position::TileScores whole_map(const position::PositionEncoding& encoding, const position::Prepared& prepared,
                               std::int64_t layer = 0, const position::Wanted& wanted = {});

// Same as prepare() after begin(), for q and k alone.
position::Prepared prepare(const position::PositionEncoding& encoding, const position::Positions& positions,
                           const at::Tensor& query, const at::Tensor& key);

// (…, T, T) soft-max over the keys j ≤ i; 0 elsewhere.
at::Tensor causal_softmax(const at::Tensor& logits);
// The cells j ≤ i of (…, T, T), others 0.
at::Tensor causal_cells(const at::Tensor& map);

}  // namespace locus::test

#include "core/position/relative.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/position/list.h"
#include "core/position/shared/additive_bias.h"

namespace locus::position {

namespace {

Description described_relative(const char* name, const char* title, const char* paper) {
  return {
      .name = name,
      .title = title,
      .paper = paper,
      .equation = "q_i·(k_j + e[i − j])/√D",
      .content = "q·k/√D",
      .parameters = {{"position_embedding", "(length, D); (2·length − 1, D) when bidirectional",
                      "e, one vector a distance, shared by heads"}},
      .options = RelativeOptions::kTable.described(),
      .scores = true,
      .distance = kIndexDistance,
  };
}

Result<RelativeOptions> options_for(const Settings& settings, const ModelShape& shape) {
  LOCUS_TRY(RelativeOptions options, RelativeOptions::from(settings));
  options.length = options.length > 0 ? options.length : shape.trained_length;
  if (options.length < 1) {
    return bad_input("option length: expected at least 1, found 0 and no trained length");
  }
  LOCUS_CHECK(check_table("length", 2 * options.length, shape.head_width));
  return options;
}

}  // namespace

const OptionTable<RelativeOptions> RelativeOptions::kTable{
    {"length", &RelativeOptions::length, "distances with an own vector; 0: the trained length",
     Whole{0, std::int64_t{1} << 31}},
    {"per_layer", &RelativeOptions::per_layer, "every layer has its own: layers.N.position_embedding"},
};

const Description& Relative::about() {
  static const Description description =
      described_relative("relative", "Relative positions (Shaw, key side)", "Shaw et al. 2018, arXiv:1803.02155");
  return description;
}

const Description& Relative::about_capped() {
  static const Description description =
      described_relative("relative-capped", "Relative positions, capped",
                         "Shaw et al. 2018, arXiv:1803.02155; Golovneva et al. 2024, arXiv:2405.18719, §5.5");
  return description;
}

Result<std::unique_ptr<PositionEncoding>> Relative::make(const Settings& options, const ModelShape& shape) {
  LOCUS_TRY(const RelativeOptions typed, options_for(options, shape));
  return std::unique_ptr<PositionEncoding>(std::make_unique<Relative>(shape, typed, BeyondTable::kNothing));
}

Result<std::unique_ptr<PositionEncoding>> Relative::make_capped(const Settings& options, const ModelShape& shape) {
  LOCUS_TRY(const RelativeOptions typed, options_for(options, shape));
  return std::unique_ptr<PositionEncoding>(std::make_unique<Relative>(shape, typed, BeyondTable::kLast));
}

namespace {

std::int64_t rows_of(const ModelShape& shape, const RelativeOptions& options) {
  return shape.causal ? options.length : 2 * options.length - 1;
}

}  // namespace

Relative::Relative(const ModelShape& shape, const RelativeOptions& options, BeyondTable beyond)
    : WithOptions(shape, options),
      beyond_(beyond),
      embedding_("position_embedding", shape.layers, options.per_layer, {rows_of(shape, options), shape.head_width},
                 [&] {
                   const std::int64_t rows = rows_of(shape, options);
                   return (at::rand({rows, shape.head_width}) * 2 - 1) *
                          std::sqrt(6.0 / static_cast<double>(rows + shape.head_width));
                 }) {}

namespace {

// relative_term() for a tile of consecutive positions: the vectors of its R + K − 1 distances are multiplied in the
// order of the diagonals, and row r of the term is columns R−1−r … of the product, a view.
at::Tensor along_diagonals(const at::Tensor& rows, const at::Tensor& embedding, const at::Tensor& distances,
                           const Tile& tile, BeyondTable beyond, bool causal) {
  const std::int64_t last = embedding.size(0) - 1;
  const at::Tensor distance = distances.round().to(at::kLong);
  const at::Tensor index = causal ? distance : distance + last / 2;
  const at::Tensor inside = index.clamp(0, last);
  at::Tensor band = embedding.index_select(0, inside);
  if (beyond == BeyondTable::kNothing) {
    band = band.masked_fill((index != inside).unsqueeze(1), 0.0);
  }
  const at::Tensor products = at::matmul(rows, band.transpose(0, 1).to(rows.dtype())).contiguous();
  const std::int64_t width = products.size(3);
  return products.as_strided({products.size(0), products.size(1), tile.rows.size(), tile.columns.size()},
                             {products.stride(0), products.stride(1), width - 1, 1}, tile.rows.size() - 1);
}

}  // namespace

at::Tensor relative_term(const at::Tensor& rows, const at::Tensor& embedding, const Positions& positions,
                         const Tile& tile, BeyondTable beyond, bool causal) {
  if (const at::Tensor distances = diagonal_distances(positions, tile);
      distances.defined() && kernels_apply(rows) && !(at::GradMode::is_enabled() && embedding.requires_grad())) {
    return along_diagonals(rows, embedding, distances, tile, beyond, causal);
  }
  const std::int64_t last = embedding.size(0) - 1;
  const at::Tensor distance = tile_distances(positions, tile).round().to(at::kLong);
  const at::Tensor index = causal ? distance : distance + last / 2;
  const at::Tensor inside = index.clamp(0, last);
  if (index.numel() == 0) {
    return at::zeros({rows.size(0), rows.size(1), rows.size(2), tile.columns.size()}, rows.options());
  }
  // Only the distances of this tile are multiplied.
  const std::int64_t first = inside.min().item<std::int64_t>();
  const std::int64_t end = inside.max().item<std::int64_t>() + 1;
  const at::Tensor products = at::matmul(rows, embedding.slice(0, first, end).transpose(0, 1).to(rows.dtype()));
  const at::Tensor picked =
      (inside - first).to(rows.device()).expand({rows.size(0), rows.size(1), index.size(0), index.size(1)});
  const at::Tensor term = products.gather(-1, picked);
  if (beyond == BeyondTable::kLast) {
    return term;
  }
  const at::Tensor known = (index == inside).to(rows.device());
  return at::where(known, term, at::zeros_like(term));
}

TileScores Relative::score(const Prepared& prepared, const Tile& tile, const Wanted& wanted,
                           const at::Tensor& /*carry*/) const {
  TileScores scores;
  const at::Tensor content = scaled_dot(prepared.query, prepared.key, tile, scale());
  const at::Tensor rows = tile_rows(prepared.query, tile) * scale();
  scores.logits =
      content + relative_term(rows, embedding_.of(tile.layer), prepared.positions, tile, beyond_, shape_.causal);
  if (wanted.content) {
    scores.content = content;
  }
  return scores;
}

Result<at::Tensor> Relative::distances(const State& state, const Prepared& prepared, const Tile& tile) const {
  LOCUS_TRY(const at::Tensor apart, PositionEncoding::distances(state, prepared, tile));
  const std::int64_t rows = embedding_.of(tile.layer).size(0);
  const auto last = static_cast<double>(shape_.causal ? rows - 1 : rows / 2);
  if (beyond_ == BeyondTable::kLast) {
    return apart.clamp(-last, last);
  }
  return apart.masked_fill(apart.abs() > last, std::numeric_limits<double>::quiet_NaN());
}

double Relative::macs(std::int64_t layer, std::int64_t length) const {
  const std::int64_t vectors = std::min(embedding_.of(layer).size(0), shape_.causal ? length : 2 * length - 1);
  return static_cast<double>(length) * static_cast<double>(vectors) *
         static_cast<double>(shape_.heads * shape_.head_width);
}

Entry relative_encoding() {
  return {Relative::about(), Relative::make};
}

Entry relative_capped_encoding() {
  return {Relative::about_capped(), Relative::make_capped};
}

}  // namespace locus::position

// Measurement of the view `pe-dot-product-2d`: the dot products of the encodings of a few anchor cells with those of
// all others, on an image's patches or on the cells of a picture within a text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/views/shared/view.h"

namespace locus::views {

struct Anchor {
  std::int64_t row = 0;
  std::int64_t column = 0;

  friend bool operator==(const Anchor&, const Anchor&) = default;
};

struct PeDotProduct2dKey {
  std::int64_t layer = 0;
  std::int64_t head = 0;
  models::ImageSpan cells;
  std::vector<Anchor> anchors;
  models::Similarity similarity;

  std::int64_t token(const Anchor& anchor) const { return cells.token(anchor.row * cells.columns + anchor.column); }
  friend bool operator==(const PeDotProduct2dKey&, const PeDotProduct2dKey&) = default;
};

bool of_text(const Column& column);

// The cells whose positions are shown: those of the image, or of a square grid of option `side`; of a text those of the
// picture that holds the query, else of its first one that is a grid.
models::ImageSpan cells_of_input(const ViewInput& input, const Column& column);

// The anchors of option `anchors`, "r,c r,c …", or a few. Errors: kUsage with what was found.
Result<std::vector<Anchor>> anchors_of(const ViewInput& input, const models::ImageSpan& grid);
// "2,2 7,7", as that option has them, and "(2, 2)".
std::string text_of(const std::vector<Anchor>& anchors);
std::string anchor_name(const Anchor& anchor);

// (anchors, tokens): the dot products of each anchor with every token, of an image the last being its last patch.
// Errors: dot_product()'s; kUnsupported for another grid of a trace without its checkpoint.
Result<Field> anchor_products(const PeDotProduct2dKey& key, const Column& column);
// (rows, columns): those of one anchor with the cells.
FieldPointer map_of_anchor(const Field& products, std::size_t anchor, const models::ImageSpan& cells);

}  // namespace locus::views

// Score maps: what the views of (T, T) quantities share. Choosing colours for what map_window.h fetches; putting it on
// a pair of query and key axes; picking its cells.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "app/views/shared/plots/panel.h"
#include "app/views/shared/score_maps/map_window.h"
#include "app/views/shared/score_maps/refined_map.h"
#include "app/views/shared/view.h"

namespace locus::views {

// The default transfer of attention weights. Where fewer than one weight in a hundred is 0.1 or more (their 99th
// percentile is below 0.1), linear colours are those of nothing but for a few cells: logarithmic then, and a gamma where
// all are of one query, whose many small weights are not worth telling apart. Weights that are not finite do not count;
// without any it is linear. Each weight is the largest of `cells`, and the others of these are taken to be small.
figure::Transfer transfer_of_weights(std::span<const float> weights, bool one_query, double cells = 1);

// The colours of a quantity over all these fields: weights, gates and positions from 0, signed quantities
// (contribution, differences) zero-centred, logits from the smallest to the largest value, or zero-centred under a
// diverging colormap. The default transfer of weights is that of those on keys other than the first, where attention
// often sinks; a cell of a field is the largest of `cells` of the map. That of other quantities is linear.
enum class Sign { kPositive, kWeight, kAny, kZeroCentred };
figure::ColorScale color_scale(const ViewInput& input, Sign sign, std::span<const FieldPointer> fields,
                               double cells = 1);
Sign sign_of(models::Quantity quantity);
// The same of a figure's columns: without decay the implied weights of layers without a softmax are signed too.
Sign sign_of(const ViewInput& input, models::Quantity quantity);
// The fields by which the colours of fields n to n + count − 1 are chosen: all, or these alone where columns do not
// share a range.
std::span<const FieldPointer> colored_with(const ViewInput& input, const Fields& fields, std::size_t n,
                                           std::size_t count = 1);
// The colours of field n of several whose columns are no keys, so that none of them is a sink.
figure::ColorScale scale_of(const ViewInput& input, Sign sign, const Fields& fields, std::size_t n = 0,
                            double cells = 1);

// The label of weights on the side of layers without a softmax.
inline constexpr const char* kShareOfImplied = "share of implied weights";

// "attention weight", "position contribution": as written beside a colour bar.
std::string quantity_label(models::Quantity quantity);
// The same of a figure's columns, which may be layers without a softmax: their weights are "share of implied weights".
std::string quantity_label(const ViewInput& input, models::Quantity quantity);

// "layer 2, head 5", "layer 2, mean of 8 heads".
std::string head_label(const models::ModelInfo& model, std::int64_t layer, std::int64_t head);

// A panel of query and key axes, query 0 on top, that shows the camera's part of a (length, length) map. The note says
// how cells were reduced, and how much is exact.
figure::Panel map_panel(const ViewInput& input, const models::Trace& trace, const MapWindow& window,
                        const RefinedMap& map, const figure::ColorScale& scale);

// The cell of a map at a point of its panel: query and key, as far as they exist, as the first column counts them.
Selection pick_cell(const ViewInput& input, const Hit& hit);
// The places of a cell in every column's panel, and in that of their difference.
std::vector<Place> cell_places(const ViewInput& input, const Selection& selection);

// The cell of a panel of layers by tokens, one panel a column: layer and token, which is called a query.
Selection pick_layer_token(const ViewInput& input, const Hit& hit);
// The places of a layer and token in every column's panel.
std::vector<Place> layer_token_places(const ViewInput& input, const Selection& selection);

}  // namespace locus::views

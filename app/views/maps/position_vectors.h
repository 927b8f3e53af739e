// Positions that are vectors (M-RoPE): time, row and column of every token, as strips and on the pictures.
#pragma once

#include "app/views/shared/view.h"

namespace locus::views {

bool has_position_vectors(const Column& column);
// Whether the strips and pictures below are shown for a column: its positions are vectors, or it read pictures, whose
// cells stand somewhere.
bool has_pictured_positions(const Column& column);

// For every column a strip of time, row and column, and below it for each picture the rows and the columns of its
// cells; of a column whose positions are one number, that number.
figure::Figure vector_figure(const ViewInput& input);
// [T, 4]: the token's number, and its time, row and column; [T, 2] where its position is one number.
Data vector_data(const Column& column);
// The token under a point of that figure.
Selection pick_vector(const ViewInput& input, const Hit& hit);
std::vector<Place> vector_places(const ViewInput& input, const Selection& selection);

}  // namespace locus::views

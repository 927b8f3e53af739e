// Head maps: layers × heads matrices, one cell per head, whose cells open their head.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/views/shared/score_maps/score_map.h"
#include "app/views/shared/view.h"

namespace locus::views {

// (layers, heads) of zeros, whose axes are named.
Field head_field(std::int64_t layers, std::int64_t heads);

// Layer 0 on top; the numbers, or `texts` instead, stand in the cells where they have room.
figure::Panel head_map(FieldPointer field, const figure::ColorScale& scale, std::vector<std::string> texts = {});

// The head at a point of such a panel; opens it.
Selection pick_head(const models::ModelInfo& model, const Hit& hit, std::size_t column);

// The same where panel n is column n's; beyond them nothing is picked.
Selection pick_head(const ViewInput& input, const Hit& hit);

// The selected head's cell in each of `panels` such panels; none where no single head is selected.
std::vector<Place> head_places(const Selection& selection, std::size_t panels);

}  // namespace locus::views

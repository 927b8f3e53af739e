// Head maps: layers × heads matrices, one cell per head, whose cells open their head.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/views/score_maps/score_map.h"
#include "app/views/view.h"

namespace locus::views {

// The colours of field n of several whose axes are heads: over all of them, or its own where columns do not share a
// range.
figure::ColorScale head_scale(const ViewInput& input, Sign sign,
                              const std::vector<std::shared_ptr<const Field>>& fields, std::size_t n);

// Layer 0 on top; the numbers, or `texts` instead, stand in the cells where they have room.
figure::Panel head_map(std::shared_ptr<const Field> field, const figure::ColorScale& scale,
                       std::vector<std::string> texts = {});

// The head at a point of such a panel; opens it.
Selection pick_head(const models::ModelInfo& model, const Hit& hit, std::size_t column);

// The same where panel n is column n's; beyond them nothing is picked.
Selection pick_head(const ViewInput& input, const Hit& hit);

// That head's cell.
Place head_place(std::size_t panel, std::int64_t layer, std::int64_t head);
// The selected head's cell in each of `panels` such panels; none where no single head is selected.
std::vector<Place> head_places(const Selection& selection, std::size_t panels);

}  // namespace locus::views

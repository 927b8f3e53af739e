// Head maps: layers × heads matrices, one cell a head, whose cells open their head.
#pragma once

#include <memory>

#include "app/views/view.h"

namespace locus::views {

// Layer 0 on top; the numbers stand in the cells where they have room.
figure::Panel head_map(std::shared_ptr<const Field> field, const figure::ColorScale& scale);

// The head at a point of such a panel; opens it.
Selection pick_head(const models::ModelInfo& model, const Hit& hit, std::size_t column);

// That head's cell.
Place head_place(std::size_t panel, std::int64_t layer, std::int64_t head);

}  // namespace locus::views

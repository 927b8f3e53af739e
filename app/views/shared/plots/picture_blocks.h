// Blocks of pictures on axes whose cells are a run's tokens.
#pragma once

#include <memory>
#include <vector>

#include "app/views/shared/view.h"

namespace locus::views {

using Blocks = std::shared_ptr<const std::vector<figure::AxisBlock>>;

// "image 1", "image 2", …: where the pictures of the column's text lie among its tokens, each with a small copy of what
// the model saw; null where there are none. The same pointers as long as the run is kept in the input's cache.
Blocks picture_blocks(const ViewInput& input, const Column& column);

// The same on an axis of `count` cells each of which is the whole of the tokens.
Blocks repeated_blocks(const Blocks& blocks, std::int64_t tokens, std::int64_t count);

// A copy of the picture whose longer side is at most `side` pixels, each the mean of those that it covers.
models::Picture small_picture(const models::Picture& picture, std::int64_t side);

}  // namespace locus::views

// The views by name; list.cpp puts them in order. To add one: its file, its declaration here, one line there.
#pragma once

#include "app/views/view.h"

namespace locus::views {

const View& attention_view();
const View& attention_grid_view();

}  // namespace locus::views

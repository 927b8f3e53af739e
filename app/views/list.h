// The list of views, which the build makes from the sources of this folder and the heads of their pages
// (cmake/ViewLists.cmake): a view is a function NAME_view() of a source and the page assets/manual/NAME.md.
#pragma once

#include <string_view>
#include <vector>

#include "app/views/shared/view.h"

namespace locus::views {

struct ListedView {
  std::string_view name;   // "pe-dot-product"
  std::string_view title;  // the heading of its page
  Group group;
  const View& (*view)();
};

// In the order of menus and of the manual's contents.
const std::vector<ListedView>& listed_views();

}  // namespace locus::views

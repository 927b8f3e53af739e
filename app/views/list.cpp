#include "app/views/list.h"

#include <algorithm>
#include <utility>

namespace locus::views {

const std::vector<const View*>& views() {
  static const std::vector<const View*> list = [] {
    std::vector<const View*> made;
    for (const ListedView& each : listed_views()) {
      made.push_back(&each.view());
    }
    return made;
  }();
  return list;
}

ViewInfo described(ViewInfo info) {
  const auto listed = std::ranges::find(listed_views(), info.name, &ListedView::name);
  if (listed != listed_views().end()) {
    info.title = listed->title;
    info.group = listed->group;
  }
  return info;
}

}  // namespace locus::views

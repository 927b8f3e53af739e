#include "app/views/list.h"

namespace locus::views {

const std::vector<const View*>& views() {
  static const std::vector<const View*> list{
      &attention_view(),
      &attention_grid_view(),
  };
  return list;
}

}  // namespace locus::views

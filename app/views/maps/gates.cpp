// `gates`: what CoPE counts by.
#include "app/views/list.h"
#include "app/views/maps/contextual_map.h"

namespace locus::views {

namespace {

class Gates final : public ContextualMap {
 public:
  Gates() : ContextualMap(models::Quantity::kGate) {}
  const ViewInfo& info() const override { return info_; }

 private:
  ViewInfo info_{
      .name = "gates",
      .title = "Gates",
      .group = Group::kPosition,
      .caption = "Which tokens count as a step when this head measures how far back another one is.",
      .shows =
          "CoPE's gates g_ij: 1 where query i counts key j, 0 where it passes over it. A head's mean is not defined: "
          "head 0 stands for it.",
      .uses_layer = true,
      .uses_head = true,
      .uses_query = true,
      .uses_camera = true,
      .uses_difference = true,
      .controls = {boundary_control(".!?\\n")},
  };
};

}  // namespace

const View& gates_view() {
  static const Gates view;
  return view;
}

}  // namespace locus::views

// `gates`: what CoPE counts by.
#include "app/views/maps/contextual_map.h"
#include "app/views/shared/view.h"

namespace locus::views {

namespace {

class Gates final : public ContextualMap {
 public:
  Gates() : ContextualMap(models::Quantity::kGate) {}
  const ViewInfo& info() const override { return info_; }

 private:
  ViewInfo info_ = described({
      .name = "gates",
      .caption = "Which tokens this head counts as a step when it measures how far back another token is.",
      .shows =
          "CoPE's gates g_ij: 1 where query i counts key j, 0 where it skips it. A head's mean is not defined; head 0 "
          "is shown instead.",
      .uses_layer = true,
      .uses_head = true,
      .uses_query = true,
      .uses_camera = true,
      .uses_difference = true,
      .of_scores = true,
      .controls = {boundary_control(".!?\\n")},
  });
};

}  // namespace

const View& gates_view() {
  return made_once<Gates>();
}

}  // namespace locus::views

#include "app/views/list.h"

namespace locus::views {

const std::vector<const View*>& views() {
  static const std::vector<const View*> list{
      &attention_view(),
      &attention_grid_view(),
      &attention_text_view(),
      &attention_image_view(),
      &mean_map_view(),
      &pe_dot_product_view(),
      &pe_dot_product_2d_view(),
      &gates_view(),
      &positions_view(),
      &position_attention_view(),
      &distance_profile_view(),
      &distance_bias_view(),
      &kernel_view(),
      &pair_energy_view(),
      &pair_scores_view(),
      &pair_profile_view(),
      &pair_plane_view(),
      &shift_stability_view(),
      &knock_out_view(),
      &move_view(),
      &effect_view(),
      &length_curve_view(),
      &task_accuracy_view(),
      &training_curve_view(),
      &training_view(),
      &loss_by_position_view(),
      &needle_view(),
      &heads_view(),
      &atlas_view(),
      &head_difference_view(),
      &reading_view(),
      &logit_lens_view(),
      &logit_attribution_view(),
  };
  return list;
}

}  // namespace locus::views

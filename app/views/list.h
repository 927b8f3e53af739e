// The views by name; list.cpp puts them in order. To add one: its file, its declaration here, one line there.
#pragma once

#include "app/views/shared/view.h"

namespace locus::views {

// The one view of this kind, made when it is first asked for.
template <class Kind>
const View& made_once() {
  static const Kind view;
  return view;
}

const View& attention_view();
const View& attention_grid_view();
const View& attention_text_view();
const View& attention_image_view();
const View& pe_dot_product_view();
const View& pe_dot_product_2d_view();
const View& gates_view();
const View& positions_view();
const View& position_attention_view();
const View& distance_profile_view();
const View& distance_bias_view();
const View& kernel_view();
const View& pair_energy_view();
const View& pair_scores_view();
const View& pair_profile_view();
const View& pair_plane_view();
const View& shift_stability_view();
const View& length_curve_view();
const View& task_accuracy_view();
const View& training_curve_view();
const View& heads_view();
const View& head_difference_view();
const View& knock_out_view();
const View& move_view();
const View& reading_view();
const View& mean_map_view();
const View& needle_view();
const View& atlas_view();
const View& loss_by_position_view();
const View& training_view();
const View& logit_lens_view();
const View& logit_attribution_view();
const View& effect_view();

}  // namespace locus::views

#include "app/workbench/canvas/instruments/instruments.h"

namespace locus::workbench {

std::vector<std::unique_ptr<Instrument>> make_instruments() {
  std::vector<std::unique_ptr<Instrument>> list;
  list.push_back(make_statement_line());
  list.push_back(make_color_bar());
  list.push_back(make_legend());
  list.push_back(make_plot_axes());
  list.push_back(make_range_brush());  // before what looks for room beside it
  list.push_back(make_head_navigator());
  list.push_back(make_minimap());
  list.push_back(make_profiles());
  list.push_back(make_series_reader());
  list.push_back(make_measure());
  list.push_back(make_token_lens());
  list.push_back(make_wipe_line());
  list.push_back(make_hud());
  return list;
}

}  // namespace locus::workbench

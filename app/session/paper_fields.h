// PaperState: how a figure is put on paper, and the schema of its fields.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "app/session/state_fields.h"

namespace locus::session {

struct PaperState {
  double width_mm = 0;  // 0: by the number of panels
  double dpi = 300;
  bool dark = false;
  double text_pt = 7;  // of labels; ticks, titles and notes follow
  // Parts that are drawn beside the data.
  bool titles = true;
  bool labels = true;  // of axes
  bool legend = true;  // names of curves and bars, and the colour bar
  bool marks = false;  // profiles and measures that were left on maps
};

using PaperField = FieldOf<PaperState>;
using PaperFields = std::vector<PaperField>;

// In the order of the command line's help and of the export dialog. Their bounds are the painter's.
const PaperFields& paper_fields();

// A part of a figure that can be left out: the members behind the field "without", which is a list of their names.
struct PaperPart {
  const char* name;   // "legend"
  const char* label;  // "legend and colour bar"
  bool PaperState::*shown;
};
const std::vector<PaperPart>& paper_parts();

}  // namespace locus::session

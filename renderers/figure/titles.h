// Titles of panels: "text-rope · layer 3, head 2", in as many lines as there is room for. Where there is too little,
// the names of checkpoints in it give way, never the layer and the head.
#pragma once

#include <string>
#include <vector>

#include "renderers/figure/text_metrics.h"

namespace locus::figure {

// `title` in at most `max_lines` lines of `max_width`, as equal in length as words allow. It is broken at its " · "
// where that is enough, and no line begins or ends with one. A title that needs more has each of `names`, parts of it,
// shortened in its middle, where names of one family differ least; what is still too long is elided. Empty title: no
// line.
std::vector<std::string> title_lines(const TextMetrics& metrics, const std::string& title,
                                     const std::vector<std::string>& names, double size, double max_width,
                                     int max_lines);

}  // namespace locus::figure

// Drawing of the results of `task-accuracy`: shares in percent, as papers have them; exported data are shares.
#pragma once

#include <string>
#include <vector>

#include "app/views/curves/task_results.h"

namespace locus::views {

// "bits per byte" of bits_per_byte.
std::string metric_label(const std::string& metric);

// One map per checkpoint, in one range of colours: what all share is said once. Every row has a map.
figure::Figure map_figure(const ViewInput& input, const std::vector<Accuracy>& list);

// Groups of bars, one a split, under the name `cells`; a dot at each value and a line over its interval.
figure::Figure bar_figure(const std::vector<Accuracy>& list, const std::string& cells, bool logarithmic);

// One row per checkpoint, one column per split: numbers, of several seeds with the least and the largest. Of one split
// dots on its axis instead, with a ring for each seed and a line over the interval.
figure::Figure table_figure(const ViewInput& input, const std::vector<Accuracy>& list, const std::string& cells);

}  // namespace locus::views

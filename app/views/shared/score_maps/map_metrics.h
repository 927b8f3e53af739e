// How much two maps of one size differ, in a number.
#pragma once

#include <optional>
#include <string>

#include "core/base/field.h"
#include "core/base/range.h"

namespace locus::views {

struct MapMetrics {
  double mean_absolute = 0;  // of a − b over the cells where both have a value; of weights where one has, the other 0
  // The divergence of rows as distributions over their cells, a mean over the rows where both have mass, in bits: 0
  // where they agree, 1 where no key has weight in both. JS(p, q) = ½ KL(p ‖ m) + ½ KL(q ‖ m), m = ½ (p + q). Empty:
  // there is no such row.
  std::optional<double> jensen_shannon;
};

// The metrics of those rows of two fields of one size, `weights` or another quantity. Cells below zero or without a
// value have no mass.
MapMetrics map_metrics(const Field& a, const Field& b, Range rows, bool weights);

// "mean |Δ| 0.0132, JS 0.041 bit"; without `shares` (values that are no shares of a row) only the first.
std::string metrics_text(const MapMetrics& metrics, bool shares);

}  // namespace locus::views

// How the benchmark programs print their rows.
#pragma once

#include <algorithm>
#include <cstdio>
#include <vector>

#include "models/api/bench.h"

namespace locus::bench {

inline void print_head() {
  std::printf("%s\n\n%-62s %22s %22s %8s %12s  met\n", models::bench_machine().c_str(), "row", "value", "reference",
              "ratio", "target");
}

inline void print_row(const models::BenchRow& row) {
  std::printf("%-62s %12.4g %-9s ", row.name.c_str(), row.value, row.unit.c_str());
  if (row.reference > 0) {
    std::printf("%12.4g %-9s %8.3f ", row.reference, row.unit.c_str(), row.ratio);
  } else {
    std::printf("%31s ", "");
  }
  const bool bound = row.bounds != models::BenchTarget::kNone;
  std::printf("%12s  %s\n", target_text(row).c_str(), bound ? (row.met ? "yes" : "NO") : "");
  if (!row.note.empty() || !row.reference_name.empty()) {
    std::printf("    %s%s%s\n", row.reference_name.empty() ? "" : ("against " + row.reference_name).c_str(),
                row.note.empty() || row.reference_name.empty() ? "" : "; ", row.note.c_str());
  }
  std::fflush(stdout);
}

inline double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace locus::bench

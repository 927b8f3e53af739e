// Attention at any length: every row of models/bench.h with its reference of the same run, as a table.
//   attention_bench [GROUP] [REPETITIONS]     GROUP: rows of the groups whose name contains it
#include <cstdio>
#include <cstdlib>

#include "models/bench.h"
#include "models/model.h"

int main(int argc, char** argv) {
  using namespace locus::models;
  set_threads(0);
  BenchOptions options;
  options.only = argc > 1 ? argv[1] : "";
  options.repetitions = argc > 2 ? std::atoi(argv[2]) : options.repetitions;
  std::printf("%s\n\n%-62s %22s %22s %8s %10s  met\n", bench_machine().c_str(), "row", "value", "reference", "ratio",
              "target");
  options.on_row = [](const BenchRow& row) {
    std::printf("%-62s %12.4g %-9s ", row.name.c_str(), row.value, row.unit.c_str());
    if (row.reference > 0) {
      std::printf("%12.4g %-9s %8.3f ", row.reference, row.unit.c_str(), row.ratio);
    } else {
      std::printf("%31s ", "");
    }
    const bool bound = row.bounds != BenchTarget::kNone;
    std::printf("%12s  %s\n", target_text(row).c_str(), bound ? (row.met ? "yes" : "NO") : "");
    if (!row.note.empty() || !row.reference_name.empty()) {
      std::printf("    %s%s%s\n", row.reference_name.empty() ? "" : ("against " + row.reference_name).c_str(),
                  row.note.empty() || row.reference_name.empty() ? "" : "; ", row.note.c_str());
    }
    std::fflush(stdout);
  };
  const auto rows = bench(options);
  if (!rows.ok()) {
    std::fprintf(stderr, "%s\n", rows.error().describe().c_str());
    return 1;
  }
  return 0;
}

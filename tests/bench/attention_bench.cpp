// Attention at any length: every row of models/bench.h with its reference of the same run, as a table.
//   attention_bench [GROUP] [REPETITIONS]     GROUP: rows of the groups whose name contains it
#include <cstdio>
#include <cstdlib>

#include "models/bench.h"
#include "models/model.h"
#include "tests/bench/rows.h"

int main(int argc, char** argv) {
  using namespace locus::models;
  set_threads(0);
  BenchOptions options;
  options.only = argc > 1 ? argv[1] : "";
  options.repetitions = argc > 2 ? std::atoi(argv[2]) : options.repetitions;
  locus::bench::print_head();
  options.on_row = locus::bench::print_row;
  const auto rows = locus::models::bench(options);
  if (!rows.ok()) {
    std::fprintf(stderr, "%s\n", rows.error().describe().c_str());
    return 1;
  }
  return 0;
}

// Attention at any length: every row of models/api/bench.h with its reference of the same run, and the forward pass
// against eager PyTorch (Debian: python3-torch, the same OpenBLAS) as well, as a table.
//   attention_bench [GROUP] [REPETITIONS]     GROUP: rows of the groups whose name contains it
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "models/api/bench.h"
#include "models/api/model.h"
#include "tests/bench/rows.h"
#include "tests/support/paths.h"

namespace {

using namespace locus::models;

// What eager_gpt2.py prints; empty where there is no Python with PyTorch. OpenBLAS 0.3.21 has to be told of CPUs that
// are younger than itself; the C++ program helps itself.
std::optional<nlohmann::json> eager_python(std::int64_t length, int runs) {
  const std::string command = "OPENBLAS_CORETYPE=SkylakeX /usr/bin/python3 '" + locus::test::source_dir() +
                              "/tests/bench/eager_gpt2.py' --length " + std::to_string(length) + " --runs " +
                              std::to_string(runs);
  std::FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) {
    return std::nullopt;
  }
  std::string text;
  char part[512];
  while (std::fgets(part, sizeof part, pipe) != nullptr) {
    text += part;
  }
  const bool failed = ::pclose(pipe) != 0;
  nlohmann::json answer = nlohmann::json::parse(text, nullptr, false);
  return failed || answer.is_discarded() ? std::nullopt : std::optional(std::move(answer));
}

// The forward rows again, against Python.
void print_python_rows(const std::vector<BenchRow>& rows, int runs) {
  for (const BenchRow& row : rows) {
    const bool time = row.name == "forward, T = 1024";
    const bool memory = row.name == "forward memory beyond the weights, T = 1024";
    if (!time && !memory) {
      continue;
    }
    const auto eager = eager_python(1024, runs);
    if (!eager) {
      std::printf("%-62s no PyTorch for /usr/bin/python3\n", row.name.c_str());
      continue;
    }
    BenchRow again = row;
    again.reference_name = "eager PyTorch with all maps kept";
    again.reference = time ? 1000 * eager->at("seconds").get<double>() : eager->at("memory_mb").get<double>();
    again.ratio = again.value / again.reference;
    again.met = time ? again.ratio <= again.target : again.met;
    locus::bench::print_row(again);
  }
}

}  // namespace

int main(int argc, char** argv) {
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
  print_python_rows(*rows, options.repetitions);
  return 0;
}

// locus bench: what a user waits for, measured, each row against its reference of the same run.
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "app/cli/command.h"
#include "app/cli/input_options.h"
#include "app/cli/interrupt.h"
#include "app/cli/json.h"
#include "app/cli/marked_table.h"
#include "core/base/numbers.h"
#include "core/base/shown.h"
#include "models/api/bench.h"

namespace locus::cli {
namespace {

struct BenchOptions {
  models::BenchOptions bench;
  std::int64_t repetitions = 7;
  bool json = false;
  std::optional<std::string> into;
};

bool bounded(const models::BenchRow& row) {
  return row.bounds != models::BenchTarget::kNone;
}

// Targets belong to the lengths they were set for: a quick run judges none.
Json row_json(const models::BenchRow& row, bool quick) {
  const bool compared = row.reference > 0;
  return {{"name", row.name},
          {"value", row.value},
          {"unit", row.unit},
          {"reference", compared ? Json(row.reference) : Json()},
          {"reference_name", row.reference_name},
          {"ratio", compared ? Json(row.ratio) : Json()},
          {"target", bounded(row) ? Json(row.target) : Json()},
          {"target_text", models::target_text(row)},
          {"met", bounded(row) && !quick ? Json(row.met) : Json()},
          {"note", row.note}};
}

std::string number_words(double value) {
  return general_text(value, 4);
}

// A row of a Markdown table, which is how README shows it.
std::string line(const std::string& name, const std::string& value, const std::string& reference,
                 const std::string& ratio, const std::string& target, const std::string& met) {
  return "| " + padded(name, 62) + " | " + padded(value, 16) + " | " + padded(reference, 16) + " | " +
         padded(ratio, 6) + " | " + padded(target, 12) + " | " + padded(met, 3) + " |";
}

void print_row(const models::BenchRow& row, bool quick, const std::function<void(const std::string&)>& print) {
  const bool compared = row.reference > 0;
  std::string name = row.name + (row.reference_name.empty() ? "" : "; against " + row.reference_name);
  name += row.note.empty() ? "" : " (" + row.note + ")";
  print(line(name, number_words(row.value) + " " + row.unit,
             compared ? number_words(row.reference) + " " + row.unit : "", compared ? number_words(row.ratio) : "",
             models::target_text(row), bounded(row) && !quick ? (row.met ? "yes" : "no") : ""));
}

Status run_bench(const BenchOptions& options, const Context& context) {
  Console& console = context.console;
  if (options.into && options.json) {
    return usage("--into: expected without --json, found both");
  }
  std::string table;
  const auto print = [&](const std::string& text) {
    console.print(text);
    table += text + "\n";
  };
  warn_of_slow_products(context);
  const Interrupt interrupt;
  models::BenchOptions wanted = options.bench;
  wanted.repetitions = static_cast<int>(options.repetitions);
  wanted.stop = interrupt.token();
  wanted.progress = [&](const ProgressReport& news) { console.progress(news.what); };
  if (!options.json) {
    wanted.on_row = [&, first = true](const models::BenchRow& row) mutable {
      console.end_progress();
      if (std::exchange(first, false)) {
        print(models::bench_machine() + "\n");
        print(line("work", "value", "reference", "ratio", "target", "met"));
        print("|---|---|---|---|---|---|");
      }
      print_row(row, options.bench.quick, print);
    };
  }
  const auto rows = models::bench(wanted);
  console.end_progress();
  if (!rows) {
    return rows.error();
  }
  if (options.json) {
    const Json list = list_of(*rows, [&](const models::BenchRow& row) { return row_json(row, options.bench.quick); });
    console.print(dump({{"machine", models::bench_machine()}, {"rows", list}}));
  }
  const std::string marked = "locus bench" + (options.bench.only.empty() ? "" : " --only " + options.bench.only);
  return options.into ? write_into(*options.into, marked, table) : Status();
}

}  // namespace

Action declare_bench(Arguments& arguments) {
  auto options = std::make_shared<BenchOptions>();
  arguments.text("--only", options->bench.only, "run only the groups of rows whose name contains this");
  arguments.integer("--repetitions", options->repetitions, {1, 1000},
                    "repetitions of each measurement; the median is reported");
  arguments.flag("--quick", options->bench.quick,
                 "small lengths and two repetitions: checks that it works, not how fast; targets are not evaluated");
  arguments.flag("--json", options->json, "print JSON: machine, rows");
  arguments.text(
      "--into", options->into,
      "write the machine and the table into this file, between <!-- locus bench --> (with --only: <!-- locus "
      "bench --only NAME -->) and <!-- end -->",
      FileUse::kWritten);
  return [options](const Context& context) { return run_bench(*options, context); };
}

}  // namespace locus::cli

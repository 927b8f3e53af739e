// locus verify: what Locus shows explains what the model says.
#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/cli/command.h"
#include "app/cli/input_options.h"
#include "app/cli/json.h"
#include "app/cli/marked_table.h"
#include "core/base/numbers.h"
#include "models/api/files.h"
#include "models/api/machine.h"
#include "models/api/verify.h"
#include "models/formats/hub_cache.h"

namespace locus::cli {
namespace {

struct VerifyOptions : InputAndChanges {
  std::vector<std::string> paths;
  std::optional<std::string> against;
  std::optional<std::string> expected;
  bool json = false;
  bool table = false;
  std::optional<std::string> into;
};

Json report_json(const models::VerifyReport& report) {
  const Json rows = list_of(report.rows, [](const models::VerifyRow& row) -> Json {
    return {{"name", row.name}, {"difference", row.difference}, {"tolerance", row.tolerance}, {"passed", row.passed}};
  });
  return {{"passed", report.passed}, {"rows", rows}};
}

constexpr const char* kExpected = "expected.safetensors";

// A checkpoint folder's own expected values, or nothing.
std::optional<std::filesystem::path> expected_of(const std::string& path) {
  const auto folder = formats::find_checkpoint(path);
  if (!folder.ok()) {
    return std::nullopt;  // who opens it says so
  }
  const std::filesystem::path file = *folder / kExpected;
  return models::file_exists(file) ? std::optional(file) : std::nullopt;
}

// The largest difference of rows that are, or are not, of a layer: "layers.3.attention", "decoder.layers.0.attention".
double largest(const models::VerifyReport& report, bool layers) {
  double most = 0;
  for (const models::VerifyRow& row : report.rows) {
    most = (row.name.find("layers.") != std::string::npos) == layers ? std::max(most, row.difference) : most;
  }
  return most;
}

// A line of Markdown for each folder: its family and the largest differences.
Status print_table(const VerifyOptions& options, const Context& context) {
  std::string table = "| checkpoint | family | logits or hidden | attention |\n|---|---|---|---|\n";
  bool passed = true;
  LOCUS_TRY(const models::Overrides overrides, options.overrides.read());
  for (const std::string& path : options.paths) {
    LOCUS_TRY(const auto line, models::line_to(path));
    const auto file = expected_of(path);
    if (!file) {
      return bad_input(std::string("expected a folder with ") + kExpected + ", found none", path);
    }
    LOCUS_TRY(const auto model, open_model(path, overrides, context));
    LOCUS_TRY(const models::VerifyReport report, models::verify_expected(*model, *file));
    table += "| `" + model->info().name + "` | `" + model->info().family + "` | " +
             scientific_text(largest(report, false), 1) + " | " + scientific_text(largest(report, true), 1) + " |\n";
    passed = passed && report.passed;
  }
  if (options.into && passed) {
    return write_into(*options.into, "locus verify --table", table);
  }
  table.pop_back();
  context.console.print(table);
  return passed ? Status()
                : Status(internal("differs from the expected values by more than the tolerance; see the table above"));
}

void print_report(const models::VerifyReport& report, bool json, Console& console) {
  if (json) {
    console.print(dump(report_json(report)));
    return;
  }
  for (const models::VerifyRow& row : report.rows) {
    console.print((row.passed ? "ok    " : "FAILED") + right(general_text(row.difference, 3), 10) + "  (allowed " +
                  general_text(row.tolerance, 3) + ")  " + row.name);
  }
  if (!report.verified.empty()) {
    console.print("family " + printable(report.verified) + " is verified for configurations like this one");
  }
}

Status run_verify(const VerifyOptions& options, const Context& context) {
  if (options.paths.empty()) {
    return usage("verify: expected PATH (see locus verify --help)");
  }
  if (options.into && !options.table) {
    return usage("--into: expected together with --table, found alone");
  }
  if (options.table) {
    return print_table(options, context);
  }
  if (options.paths.size() > 1) {
    return usage("verify: expected one PATH, or --table; found " + std::to_string(options.paths.size()));
  }
  const std::string& path = options.paths.front();
  LOCUS_TRY(const models::Overrides overrides, options.overrides.read());
  LOCUS_TRY(const auto line, models::line_to(path));  // one for all that is asked
  if (options.expected && (options.input.given() || options.against)) {
    return usage("--expected: expected without an input and without --against, since the file holds its own input");
  }
  const auto expected = options.expected        ? std::optional<std::filesystem::path>(*options.expected)
                        : options.input.given() ? std::nullopt
                                                : expected_of(path);
  if (expected) {
    LOCUS_TRY(const models::Edits edits, options.edits.read());
    if (!edits.empty()) {
      return usage("--edit: expected an input with it, since " + std::string(kExpected) +
                   " belongs to the model without edits");
    }
    LOCUS_TRY(const auto model, open_model(path, overrides, context));
    LOCUS_TRY(const models::VerifyReport report, models::verify_expected(*model, *expected));
    print_report(report, options.json, context.console);
    return report.passed
               ? Status()
               : Status(internal("differs from the expected values by more than the tolerance; see the rows above"));
  }
  LOCUS_TRY(const models::Input input, options.input.read());
  LOCUS_TRY(const models::Edits edits, options.edits.read());
  LOCUS_TRY(const auto model, open_model(path, overrides, context, edits));
  LOCUS_TRY(const models::VerifyReport report, models::verify(*model, input, options.against));
  for (const std::string& warning : report.warnings) {
    context.console.warn(warning);
  }
  print_report(report, options.json, context.console);
  if (!report.passed) {
    const Error error =
        report.undetermined.empty()
            ? internal("the displayed attention does not reproduce the output of the model; see the differences above")
            : bad_input(report.undetermined + "; see the differences above", path);
    return options.against
               ? bad_input("differs from the run of this model; see the differences above", *options.against)
               : error;
  }
  return {};
}

}  // namespace

Action declare_verify(Arguments& arguments) {
  auto options = std::make_shared<VerifyOptions>();
  arguments.positionals("PATH", options->paths,
                        "a checkpoint: a folder or a file; without an input, a folder with expected.safetensors",
                        FileUse::kCheckpoint);
  options->declare_input(arguments);
  arguments.text("--against", options->against, "a trace of the same input from another program", FileUse::kCheckpoint);
  arguments.text("--expected", options->expected,
                 "values that another program computed (assets/python/reference.py) instead of the folder's own",
                 FileUse::kRead);
  arguments.flag("--table", options->table,
                 "print a Markdown table with one row for each folder with expected.safetensors");
  arguments.text("--into", options->into,
                 "with --table: write the table into this file, between <!-- locus verify --table --> and <!-- end -->",
                 FileUse::kWritten);
  arguments.flag("--json", options->json, "print JSON");
  return [options](const Context& context) { return run_verify(*options, context); };
}

}  // namespace locus::cli

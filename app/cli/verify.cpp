// locus verify: what Locus shows explains what the model says.
#include <memory>
#include <optional>

#include "app/cli/command.h"
#include "app/cli/input_options.h"
#include "app/cli/json.h"
#include "core/base/numbers.h"
#include "models/verify.h"

namespace locus::cli {
namespace {

struct Options {
  std::string path;
  InputOptions input;
  OverrideOptions overrides;
  std::optional<std::string> against;
  bool json = false;
};

Json report_json(const models::VerifyReport& report) {
  Json rows = Json::array();
  for (const models::VerifyRow& row : report.rows) {
    rows.push_back(
        {{"name", row.name}, {"difference", row.difference}, {"tolerance", row.tolerance}, {"passed", row.passed}});
  }
  return {{"passed", report.passed}, {"rows", rows}};
}

Status run(const Options& options, const Context& context) {
  LOCUS_TRY(const models::Input input, options.input.read());
  LOCUS_TRY(const auto model, open_model(options.path, options.overrides.read(), context));
  std::optional<std::filesystem::path> against;
  if (options.against) {
    against = *options.against;
  }
  LOCUS_TRY(const models::VerifyReport report, models::verify(*model, input, against));
  for (const std::string& warning : report.warnings) {
    context.console.warn(warning);
  }
  if (options.json) {
    context.console.print(dump(report_json(report)));
  } else {
    for (const models::VerifyRow& row : report.rows) {
      context.console.print((row.passed ? "ok    " : "FAILED") + right(general_text(row.difference, 3), 10) +
                            "  (allowed " + general_text(row.tolerance, 3) + ")  " + row.name);
    }
  }
  if (!report.passed) {
    const Error error = internal("what is shown does not explain what the model says; the differences are above");
    return options.against ? bad_input("differs from this model's own run; the differences are above", *options.against)
                           : error;
  }
  return {};
}

}  // namespace

Action declare_verify(Arguments& arguments) {
  auto options = std::make_shared<Options>();
  arguments.positional("PATH", options->path, true, "a checkpoint: a folder or a file");
  options->input.declare(arguments);
  options->overrides.declare(arguments);
  arguments.text("--against", options->against, "a trace of the same input by another program");
  arguments.flag("--json", options->json, "print JSON");
  return [options](const Context& context) { return run(*options, context); };
}

}  // namespace locus::cli

// locus get: a model from Hugging Face's hub into its cache on this machine.
#include <algorithm>
#include <memory>

#include "app/cli/command.h"
#include "app/cli/interrupt.h"
#include "core/base/shown.h"
#include "models/hub/get.h"

namespace locus::cli {
namespace {

struct GetCommand {
  std::string name;
  std::vector<std::string> files;
  bool dry_run = false;
};

std::string state_of(const hub::PlannedFile& file) {
  if (file.present == file.bytes) {
    return "there already";
  }
  return file.present > 0 ? hub::size_text(file.bytes - file.present) + " to fetch" : "to fetch";
}

void print_files(const hub::DownloadPlan& plan, bool fetched, Console& console) {
  std::size_t width = 0;
  for (const hub::PlannedFile& file : plan.files) {
    width = std::max(width, characters_in(printable(file.name)));
  }
  for (const hub::PlannedFile& file : plan.files) {
    const bool before = file.present == file.bytes;
    const std::string done = file.has_sum ? "fetched, SHA-256 checked" : "fetched";
    console.print(padded(printable(file.name), width) + "  " + right(hub::size_text(file.bytes), 10) + "  " +
                  (fetched && !before ? done : state_of(file)));
  }
}

Status run_get(const GetCommand& command, const Context& context) {
  LOCUS_TRY(hub::HubSettings settings, hub::hub_settings());
  settings.waiting = [&](const std::string& what) { context.console.note(what); };
  const Interrupt interrupt;
  auto plan = hub::plan_download(settings, command.name, command.files, interrupt.token());
  if (!plan.ok()) {
    return keeping(plan.error(), "nothing was fetched");
  }
  if (command.dry_run) {
    print_files(*plan, false, context.console);
    context.console.print(hub::size_text(plan->missing()) + " of " + hub::size_text(plan->bytes()) + " to fetch into " +
                          plan->folder.string());
    return {};
  }
  const auto progress = [&](const ProgressReport& report) { context.console.progress(report.what); };
  const Status fetched = hub::fetch(settings, *plan, interrupt.token(), progress);
  if (!fetched.ok()) {
    return keeping(fetched.error(), "what was fetched is kept for the next time");
  }
  print_files(*plan, true, context.console);
  context.console.print(plan->folder.string());
  return {};
}

}  // namespace

Action declare_get(Arguments& arguments) {
  auto command = std::make_shared<GetCommand>();
  arguments.positional("NAME", command->name, true, "a model of the hub: ORG/NAME, or ORG/NAME@REVISION");
  arguments.repeated("--file", command->files, "this file of weights instead of the usual ones, by its name", "NAME");
  arguments.flag("--dry-run", command->dry_run, "print what would be fetched, and fetch nothing");
  return [command](const Context& context) { return run_get(*command, context); };
}

}  // namespace locus::cli

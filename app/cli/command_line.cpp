#include "app/cli/command_line.h"

#include <csignal>
#include <exception>
#include <filesystem>
#include <new>
#include <optional>
#include <string_view>

#include "app/cli/named_files.h"
#include "core/base/instruction_sets.h"
#include "core/base/mapping_guard.h"
#include "core/base/shown.h"
#include "models/api/families.h"
#include "models/api/machine.h"
#include "models/api/model.h"
#include "models/formats/hub_cache.h"
#include "models/remote/address.h"

namespace locus::cli {
namespace {

void declare_globals(Arguments arguments, Globals& globals) {
  arguments.integer("--threads", globals.threads, {0, 4096},
                    "number of threads for models; 0: OMP_NUM_THREADS, or all cores");
  arguments.integer("--memory-limit-mb", globals.memory_limit_mb, {},
                    "refuse work that needs more memory; 0: no limit");
  arguments.text("--device", globals.device,
                 "auto (the first CUDA device, else the CPU), cpu, cuda or cuda:N: device that runs the models");
  arguments.text("--base", globals.base, "base model of adapters, instead of the one that they name",
                 FileUse::kCheckpoint);
  arguments.text("--config-dir", globals.config_dir, "folder for settings, sessions and recent files");
  arguments.text("--log", globals.log, "append all printed output to this file", FileUse::kWritten);
}

// Whether the word names a device; the machine may not have it.
bool is_device(const std::string& word) {
  constexpr std::string_view kNumbered = "cuda:";
  return word == "auto" || word == "cpu" || word == "cuda" ||
         (word.starts_with(kNumbered) && word.size() > kNumbered.size() && word.size() <= kNumbered.size() + 2 &&
          word.find_first_not_of("0123456789", kNumbered.size()) == std::string::npos);
}

// The values that the words of a command line are read into.
struct Declared {
  Globals globals;
  WorkbenchRequest request;
  std::vector<Action> actions;  // one per sub-command
};

void declare(Parser& parser, Declared& declared) {
  Arguments root = parser.root();
  declare_globals(root, declared.globals);
  root.text("--figures", declared.request.figures, "draw the figures of a session into this folder, without a window");
  root.flag("--allow-ssh", declared.request.allow_ssh, "start ssh to the machines that sessions and figures name");
  root.text("--only", declared.request.only, "with --figures: draw only the figures whose names contain this");
  root.positionals("PATH", declared.request.paths,
                   "checkpoints, sessions, traces, texts or images to open in the workbench", FileUse::kCheckpoint);
  for (const Command& command : commands()) {
    Arguments arguments = parser.add_command(command.name, command.summary);
    declared.actions.push_back(command.declare(arguments));
    declare_globals(arguments, declared.globals);
  }
}

// Runs `work`, with what escapes it as an Error: memory that ran out is too large, anything else a bug of ours.
template <class Work>
auto guarded(const Work& work) -> Result<decltype(work())> {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return too_large("not enough memory");
  } catch (const std::exception& error) {
    const std::string what = error.what();
    return internal(what.substr(0, what.find('\n')));  // libraries put a backtrace after the first line
  }
}

// The command line with every path cut down to its file name: what a recorded result may say of the machine.
std::string recordable(int argc, char** argv) {
  std::string line = "locus";
  for (int n = 1; n < argc; ++n) {
    std::string word = argv[n];
    if (const auto slash = word.find_last_of('/'); slash != std::string::npos && slash + 1 < word.size()) {
      word = word.substr(slash + 1);
    }
    const bool plain = word.find_first_of(" \t\n'\"\\$`*?<>|&;()[]{}#!~") == std::string::npos && !word.empty();
    line += plain ? " " + word : " '" + word + "'";
  }
  return printable(line);
}

// The paths that somebody typed, for a sub-command or the workbench.
std::vector<std::filesystem::path> typed_paths(const Parser& parser, const std::string& command) {
  std::vector<std::filesystem::path> paths;
  for (const NamedFiles& named : parser.files()) {
    if (named.command == command || named.command.empty()) {
      const std::vector<std::string> words = named.typed();
      paths.insert(paths.end(), words.begin(), words.end());
    }
  }
  return paths;
}

// While one lives, machines that say nothing are told of on the console.
class SilentMachines {
 public:
  explicit SilentMachines(Console& console) {
    models::tell_of_silent_machines([&console](const std::string& what) { console.note(what); });
  }
  ~SilentMachines() { models::tell_of_silent_machines(nullptr); }
  SilentMachines(const SilentMachines&) = delete;
  SilentMachines& operator=(const SilentMachines&) = delete;
};

Status run_action(const Action& action, const Context& context) {
  Result<Status> outcome = guarded([&] { return action(context); });
  const Status status = outcome.ok() ? outcome.value() : Status(outcome.error());
  const std::optional<Error> lost = lost_file();
  return status.ok() && lost ? Status(*lost) : status;
}

Result<int> run_workbench(int argc, char** argv, OpenWorkbench open_workbench, WorkbenchRequest request,
                          const Context& context) {
  if (!request.only.empty() && request.figures.empty()) {
    return usage("--only: expected --figures FOLDER, found none");
  }
  for (std::string& path : request.paths) {
    LOCUS_TRY(const std::filesystem::path found, formats::find_checkpoint(path));
    path = found.string();
    std::error_code ignored;
    if (!remote::is_remote(path) && !std::filesystem::exists(path, ignored)) {
      return bad_input("no such file, folder or sub-command", path);
    }
  }
  if (open_workbench == nullptr) {
    return unsupported("this build has no workbench (LOCUS_GUI=OFF); see locus --help for the sub-commands");
  }
  Result<Result<int>> status = guarded([&] { return open_workbench(argc, argv, request, context); });
  return status.ok() ? status.value() : Result<int>(status.error());
}

int run(int argc, char** argv, OpenWorkbench open_workbench, const std::string& version_text, Console& console) {
  Parser parser(version_text);
  Declared declared;
  declare(parser, declared);
  const auto& [globals, request, actions] = declared;
  const Result<Parsed> parsed = parser.parse(argc, argv);
  if (!parsed.ok()) {
    return console.fail(parsed.error());
  }
  if (parsed->kind == Parsed::Kind::kPrinted) {
    return 0;
  }
  const bool sub_command = parsed->kind == Parsed::Kind::kCommand;
  const std::string command = sub_command ? commands()[parsed->command].name : "";
  models::allow_only_machines_of(typed_paths(parser, command));
  if (request.allow_ssh) {
    models::allow_all_machines();
  }
  const SilentMachines told(console);
  const InputFiles inputs = inputs_of(parser.files(), command);
  if (const Status status = check_outputs(parser.files(), command, inputs); !status.ok()) {
    return console.fail(status.error());
  }
  if (!is_device(globals.device)) {
    return console.fail(usage("--device: expected auto, cpu, cuda or cuda:N, found " + shown(globals.device)));
  }
  if (const Status status = console.open_log(globals.log); !status.ok()) {
    return console.fail(status.error());
  }
  if (const Result<LoopChoice> kernels = chosen_loops(); !kernels.ok()) {
    return console.fail(kernels.error());
  }
  models::set_threads(models::bounded_threads(globals.threads));  // LibTorch alone may start with one
  if (!globals.config_dir.empty()) {
    models::set_families_folder(std::filesystem::absolute(globals.config_dir) / "families");
  }
  const std::string recorded = recordable(argc, argv);
  const Context context{globals, console, inputs, recorded};
  if (!sub_command) {
    const Result<int> status = run_workbench(argc, argv, open_workbench, request, context);
    return status.ok() ? *status : console.fail(status.error());
  }
  if (!request.paths.empty() || !request.figures.empty() || !request.only.empty() || request.allow_ssh) {
    return console.fail(usage("unexpected argument before the sub-command (see --help)"));
  }
  const Status status = run_action(actions[parsed->command], context);
  return status.ok() ? 0 : console.fail(status.error());
}

}  // namespace

std::vector<CommandText> described_commands() {
  Parser parser;
  Declared declared;
  declare(parser, declared);
  return parser.describe();
}

int run_command_line(int argc, char** argv, OpenWorkbench open_workbench, const std::string& version_text) {
  hold_standard_streams();
  std::signal(SIGXFSZ, SIG_IGN);  // a file larger than the limit is an error of write(), which is told
  Console console;
  return console.finish(run(argc, argv, open_workbench, version_text, console));
}

}  // namespace locus::cli

// A sub-command: one file that declares its options and runs. To add one: its file, and one line in commands.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "app/cli/arguments.h"
#include "app/cli/console.h"
#include "core/base/input_files.h"
#include "core/base/result.h"

namespace locus::cli {

// Options that every sub-command (and the workbench) takes.
struct Globals {
  std::int64_t threads = 0;          // 0: OMP_NUM_THREADS, or all cores
  std::int64_t memory_limit_mb = 0;  // 0: none
  std::string device = "auto";
  std::string base;        // of adapters; empty: as they say
  std::string config_dir;  // empty: the desktop's
  std::string log;         // empty: no log file
};

struct Context {
  const Globals& globals;
  Console& console;
  const InputFiles& inputs;    // what it reads: not to be written over
  const std::string& command;  // the command line as it can be recorded: file names instead of paths
};

// The work of a sub-command once its options are parsed. The Status becomes the exit status.
using Action = std::function<Status(const Context&)>;

struct Command {
  std::string name;
  std::string summary;
  Action (*declare)(Arguments& arguments);
};

// In the order of --help.
const std::vector<Command>& commands();

}  // namespace locus::cli

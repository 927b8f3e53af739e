// Runs the workbench, the window of Locus.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace locus::workbench {

// The answer to the question about unsaved changes.
enum class Answer { kSave, kDiscard, kCancel };

struct WorkbenchOptions {
  std::vector<std::filesystem::path> paths;  // checkpoints, sessions, traces, texts and images to open
  std::filesystem::path config_dir;          // empty: the default of the desktop
  std::int64_t threads = 0;                  // 0: OMP_NUM_THREADS, or all cores
  std::int64_t memory_limit_mb = 0;          // 0: none
  std::string device = "auto";
  std::string base = {};  // of adapters that are opened by their path; empty: as they say
  // Asks about unsaved changes, with Save if `can_save`; empty: a message box. Tests replace it.
  std::function<Answer(const std::string& question, bool can_save)> ask;
  // Receives warnings about missing features.
  std::function<void(const std::string&)> warn = [](const std::string& /*message*/) {};
  // Receives the reason why there can be no window, and returns the exit status of the program.
  std::function<int(const Error&)> fail = [](const Error& error) { return static_cast<int>(error.code); };
};

// Opens the window on the paths, else on the last session, else on the bundled one; returns the exit status when it is
// closed. Without a display `fail` is called with kUnsupported. argc and argv are those of main(): Qt removes its own
// options from them.
int run_workbench(int& argc, char** argv, const WorkbenchOptions& options);

}  // namespace locus::workbench

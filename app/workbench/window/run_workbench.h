// The workbench: Locus's window.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace locus::workbench {

// What becomes of changes that a file does not have.
enum class Answer { kSave, kDiscard, kCancel };

struct WorkbenchOptions {
  std::vector<std::filesystem::path> paths;  // checkpoints, sessions, traces, texts and images to open
  std::filesystem::path config_dir;          // empty: the desktop's
  std::int64_t threads = 0;                  // 0: OMP_NUM_THREADS, or all cores
  std::int64_t memory_limit_mb = 0;          // 0: none
  std::string device = "cpu";
  // Asks the user, with Save where that can help; empty: a message box. Tests answer themselves.
  std::function<Answer(const std::string& question, bool can_save)> ask;
  // Told what the window cannot do.
  std::function<void(const std::string&)> warn = [](const std::string& /*message*/) {};
  // Told why there can be no window, before the program ends with the exit status it returns.
  std::function<int(const Error&)> fail = [](const Error& error) { return static_cast<int>(error.code); };
};

// Opens the window on the paths, or on the last session, or on the bundled one; returns when it is closed, with the
// exit status. Without a display the program ends as `fail` says, kUnsupported. argc and argv are what main got: Qt
// takes its own options from them.
int run_workbench(int& argc, char** argv, const WorkbenchOptions& options);

}  // namespace locus::workbench

// The workbench: Locus's window. Also its figures without a window, for machines without a display.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "core/base/progress.h"
#include "core/base/result.h"

namespace locus::session {
struct Session;
}

namespace locus::workbench {

// What becomes of changes that a file does not have.
enum class Answer { kSave, kDiscard, kCancel };

struct WorkbenchOptions {
  std::vector<std::filesystem::path> paths;  // checkpoints, sessions, traces, texts and images to open
  std::filesystem::path config_dir;          // empty: the desktop's
  std::int64_t threads = 0;                  // 0: all cores
  std::int64_t memory_limit_mb = 0;          // 0: none
  std::string device = "cpu";
  // Asks the user, with Save where that can help; empty: a message box. Tests answer themselves.
  std::function<Answer(const std::string& question, bool can_save)> ask;
  // Told why there can be no window, before the program ends with the exit status it returns.
  std::function<int(const Error&)> fail = [](const Error& error) { return static_cast<int>(error.code); };
};

// Opens the window on the paths, or on the last session, or on the bundled one; returns when it is closed, with the
// exit status. Without a display the program ends as `fail` says, kUnsupported. argc and argv are what main got: Qt
// takes its own options from them.
int run_workbench(int& argc, char** argv, const WorkbenchOptions& options);

// What came of the figures of a session.
struct RenderedSession {
  std::vector<std::filesystem::path> files;
  std::vector<std::string> warnings;  // a line for each checkpoint that is not there and each figure it was needed for
  bool stopped = false;               // the rest was not drawn
};

// Draws every figure of a session (its bookmarks, or its state when it has none) as PNG and PDF into `folder`. A
// checkpoint that is not there is left out with a warning, and so is a figure that cannot do without it. Opens
// checkpoints and runs models on the calling thread. Needs a QGuiApplication (offscreen will do). Errors: those of the
// session, of checkpoints that are there, and of views; kBadInput when the folder cannot be written. Says which figure
// it is at.
Result<RenderedSession> render_session(const std::filesystem::path& session, const std::filesystem::path& folder,
                                       const StopToken& stop = {}, const Progress& progress = {});
// The same of one that is open.
Result<RenderedSession> render_session(const session::Session& session, const std::filesystem::path& folder,
                                       const StopToken& stop, const Progress& progress);

// assets/ of this installation: beside the program, above it, or where it was built. Empty when there is none.
std::filesystem::path assets_folder();
std::filesystem::path bundled_session();

}  // namespace locus::workbench

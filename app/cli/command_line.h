// The program's entry: parses the command line, runs a sub-command or opens the workbench, and turns every error into
// one line and an exit status (locus help exit-status).
#pragma once

#include <string>
#include <vector>

#include "app/cli/command.h"

namespace locus::cli {

// The request of a command line without a sub-command.
struct WorkbenchRequest {
  std::vector<std::string> paths;
  std::string figures;     // not empty: draw the session's figures into this folder instead of opening a window
  std::string only;        // of these figures, those whose names contain this; empty: all
  bool allow_ssh = false;  // to machines that sessions and figures name
};

// Opens the workbench; the exit status. Null in a build without it.
using OpenWorkbench = Result<int> (*)(int argc, char** argv, const WorkbenchRequest& request, const Context& context);

// `version_text`: what --version prints; empty: the version alone.
int run_command_line(int argc, char** argv, OpenWorkbench open_workbench, const std::string& version_text = {});

}  // namespace locus::cli

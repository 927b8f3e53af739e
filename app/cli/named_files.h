// No output of a command line is one of its inputs.
#pragma once

#include <string>
#include <vector>

#include "app/cli/arguments.h"
#include "core/base/input_files.h"
#include "core/base/result.h"

namespace locus::cli {

// The files that a command line reads: those that it names, and those that its checkpoints, traces and sessions consist
// of. `command` is the sub-command's name; empty: the workbench.
InputFiles inputs_of(const std::vector<NamedFiles>& files, const std::string& command);

// Errors: kUsage for an option whose output is one of those inputs, or the output of another option.
Status check_outputs(const std::vector<NamedFiles>& files, const std::string& command, const InputFiles& inputs);

}  // namespace locus::cli

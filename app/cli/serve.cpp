// locus serve: the server that `ssh://host/path` starts on another machine.
#include "models/remote/server/serve.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>

#include "app/cli/command.h"
#include "core/base/unfinished.h"

namespace locus::cli {
namespace {

struct ServeOptions {
  bool stdio = false;
};

Status run_serve(const ServeOptions& options, const Context& /*context*/) {
  if (!options.stdio) {
    return usage("serve: expected --stdio");
  }
  // Messages have standard output for themselves: whatever else is written there goes to standard error.
  const int output = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
  if (output < 0 || ::dup2(STDERR_FILENO, STDOUT_FILENO) < 0) {
    return bad_input("standard output cannot be written");
  }
  return remote::serve(STDIN_FILENO, output, [] {
    remove_unfinished();
    std::_Exit(static_cast<int>(ErrorCode::kTooLarge));
  });
}

}  // namespace

Action declare_serve(Arguments& arguments) {
  auto options = std::make_shared<ServeOptions>();
  arguments.flag("--stdio", options->stdio, "talk over standard input and output");
  return [options](const Context& context) { return run_serve(*options, context); };
}

}  // namespace locus::cli

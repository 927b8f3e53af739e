// The one list of sub-commands.
#include "app/cli/command.h"

namespace locus::cli {

Action declare_info(Arguments& arguments);
Action declare_run(Arguments& arguments);
Action declare_figure(Arguments& arguments);
Action declare_train(Arguments& arguments);

const std::vector<Command>& commands() {
  static const std::vector<Command> list = {
      {"info", "what a checkpoint is: family, encoding, shape, parameters, files", declare_info},
      {"run", "run a checkpoint on an input; print the prediction, write a trace", declare_run},
      {"figure", "draw a view as PNG, SVG or PDF; write its numbers as NPY or CSV", declare_figure},
      {"train", "train a small model with any position encoding", declare_train},
  };
  return list;
}

}  // namespace locus::cli

// The one list of sub-commands.
#include "app/cli/command.h"

namespace locus::cli {

// NOLINTBEGIN(readability-redundant-declaration): defined above, where files are compiled together
Action declare_info(Arguments& arguments);
Action declare_families(Arguments& arguments);
Action declare_run(Arguments& arguments);
Action declare_figure(Arguments& arguments);
Action declare_train(Arguments& arguments);
Action declare_evaluate(Arguments& arguments);
Action declare_verify(Arguments& arguments);
Action declare_effect(Arguments& arguments);
Action declare_convert(Arguments& arguments);
Action declare_atlas(Arguments& arguments);
Action declare_get(Arguments& arguments);
Action declare_serve(Arguments& arguments);
Action declare_help(Arguments& arguments);
// NOLINTEND(readability-redundant-declaration)

const std::vector<Command>& commands() {
  static const std::vector<Command> list = {
      {"info", "describe a checkpoint: family, encoding, shape, parameters, files; list the encodings", declare_info},
      {"run", "run a checkpoint on an input: predict, write a trace, continue the text", declare_run},
      {"figure", "draw a view as PNG, SVG, PDF or HTML; write its numbers as NPY or CSV", declare_figure},
      {"verify", "check that the displayed attention reproduces the output of the model", declare_verify},
      {"effect", "run an input with and without edits; report how they change the prediction", declare_effect},
      {"convert", "write a checkpoint with its weights in another format, as GGUF or safetensors", declare_convert},
      {"families", "list the families of checkpoints, built in and of files; check or draft a file", declare_families},
      {"get", "fetch a model from Hugging Face's hub into its cache on this machine", declare_get},
      {"train", "train a small model with any position encoding", declare_train},
      {"evaluate", "measure checkpoints on a task, in and out of distribution", declare_evaluate},
      {"atlas", "means over many windows of a corpus, with intervals, on one machine or many", declare_atlas},
      {"serve", "hold checkpoints for a program on another machine, which ssh:// paths start", declare_serve},
      {"help", "the manual: print a page, list the pages, search", declare_help},
  };
  return list;
}

}  // namespace locus::cli

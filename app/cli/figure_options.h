// The command line of locus figure: its options, and the recipe that they spell out or name.
#pragma once

#include <string>
#include <vector>

#include "app/cli/arguments.h"
#include "app/cli/field_flags.h"
#include "app/cli/input_options.h"
#include "app/session/recipe.h"

namespace locus::cli {

struct FigureOptions : InputAndChanges {
  std::vector<std::string> words;  // VIEW PATH…
  std::string recipe;
  bool allow_ssh = false;  // to machines that the recipe names
  FieldFlags<session::ViewState> state{session::state_fields()};
  std::string reference;
  std::vector<std::string> view_options;
  std::string out;
  std::string data;
  FieldFlags<session::PaperState> paper{session::paper_fields()};

  void declare(Arguments& arguments);
  // The recipe of the figure, spelled out or from --recipe. Errors: kUsage for words that do not go together,
  // kBadInput for what is not found.
  // `base` of adapters, whatever a recipe says; empty: none is named.
  Result<session::Recipe> read(const std::string& base) const;
};

}  // namespace locus::cli

// The flags of a view's state: one for each of its fields that has a flag.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/cli/arguments.h"
#include "app/session/state_fields.h"

namespace locus::cli {

class StateFlags {
 public:
  explicit StateFlags(const session::StateFields& fields = session::state_fields());

  void declare(Arguments& arguments);
  // Sets the fields whose flags were given. Errors: kUsage naming the flag.
  Status read(session::ViewState& state) const;
  // The first flag that was given, where it stands beside something that says it all; empty: none.
  std::string given() const;

 private:
  const session::StateFields& fields_;
  std::vector<std::optional<std::string>> typed_;  // one per field; empty: not given
};

}  // namespace locus::cli

// The flags of a schema: one for each of its fields that has a flag.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/cli/arguments.h"
#include "app/session/state_fields.h"

namespace locus::cli {

template <class State>
class FieldFlags {
 public:
  explicit FieldFlags(const std::vector<session::FieldOf<State>>& fields) : fields_(fields), typed_(fields.size()) {}

  void declare(Arguments& arguments) {
    for (std::size_t n = 0; n < fields_.size(); ++n) {
      if (!fields_[n].flag.empty()) {
        arguments.parameter(fields_[n].flag, fields_[n].parameter, typed_[n]);
      }
    }
  }
  // Sets the fields whose flags were given. Errors: kUsage naming the flag.
  Status read(State& state) const {
    for (std::size_t n = 0; n < fields_.size(); ++n) {
      if (typed_[n]) {
        LOCUS_CHECK(session::type_field(fields_[n], state, *typed_[n], fields_[n].flag));
      }
    }
    return {};
  }
  // The first flag that was given; empty: none.
  std::string given() const {
    for (std::size_t n = 0; n < fields_.size(); ++n) {
      if (typed_[n]) {
        return fields_[n].flag;
      }
    }
    return {};
  }

 private:
  const std::vector<session::FieldOf<State>>& fields_;
  std::vector<std::optional<std::string>> typed_;  // one per field; empty: not given
};

}  // namespace locus::cli

#include "app/cli/state_flags.h"

namespace locus::cli {

StateFlags::StateFlags(const session::StateFields& fields) : fields_(fields), typed_(fields.size()) {}

void StateFlags::declare(Arguments& arguments) {
  for (std::size_t n = 0; n < fields_.size(); ++n) {
    if (!fields_[n].flag.empty()) {
      arguments.parameter(fields_[n].flag, fields_[n].parameter, typed_[n]);
    }
  }
}

Status StateFlags::read(session::ViewState& state) const {
  for (std::size_t n = 0; n < fields_.size(); ++n) {
    if (typed_[n]) {
      LOCUS_CHECK(session::type_field(fields_[n], state, *typed_[n], fields_[n].flag));
    }
  }
  return {};
}

std::string StateFlags::given() const {
  for (std::size_t n = 0; n < fields_.size(); ++n) {
    if (typed_[n]) {
      return fields_[n].flag;
    }
  }
  return {};
}

}  // namespace locus::cli

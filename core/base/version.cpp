#include "core/base/version.h"

namespace locus {

std::string_view program_version() {
  return LOCUS_VERSION;
}

}  // namespace locus

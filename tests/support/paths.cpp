#include "tests/support/paths.h"

namespace locus::test {

std::string source_dir() {
  return LOCUS_SOURCE_DIR;
}
std::string build_dir() {
  return LOCUS_BUILD_DIR;
}
std::string binary() {
  return LOCUS_BUILD_DIR "/locus";
}

}  // namespace locus::test

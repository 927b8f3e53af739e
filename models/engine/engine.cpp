#include "models/api/engine.h"

extern "C" const locus::models::Engine* locus_engine() {
  using namespace locus;  // NOLINT(google-build-using-namespace): the names of the list are relative to it
#define LOCUS_ENGINE_VALUE(space, name) &space::local::name,
  static const models::Engine kEngine{LOCUS_ENGINE_FUNCTIONS(LOCUS_ENGINE_VALUE)};
#undef LOCUS_ENGINE_VALUE
  return &kEngine;
}

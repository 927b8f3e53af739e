// The facts of this build, compiled into programs: written by cmake/BuildFacts.cmake, and linked by programs alone: a
// commit compiles it anew.
#pragma once

namespace locus {

// What --version prints: the version with the commit, and the libraries that the program was built with.
//   locus 0.3.0 (1a2b3c4d5e6f)
//   LibTorch 1.13.1, Qt 6.4.2
extern const char* const kVersionText;

}  // namespace locus

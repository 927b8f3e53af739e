// The engine's library, liblocus_engine.so: everything that computes with LibTorch, which it brings along. Loading it
// takes about half a second, since LibTorch registers thousands of operators, so the program starts without it.
#pragma once

#include "models/api/local.h"

namespace locus::models {

// The functions that the library has, by name.
struct Engine {
#define LOCUS_ENGINE_MEMBER(space, name) decltype(&space::name) name;  // NOLINT(bugprone-macro-parentheses)
  LOCUS_ENGINE_FUNCTIONS(LOCUS_ENGINE_MEMBER)
#undef LOCUS_ENGINE_MEMBER
};

// Loads the library where that is not done. Where it cannot be loaded the program ends: with status 5 where memory, the
// address space or open files are limited, otherwise 3.
const Engine& engine();

}  // namespace locus::models

// The only symbol that is looked up in the library.
extern "C" const locus::models::Engine* locus_engine();

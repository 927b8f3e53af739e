// LibTorch at its first use. Loading it takes 0.4 s, since it registers thousands of operators; the program starts
// without it, and cmake/LazyTorch.cmake puts a small function in front of each of its functions that are called here,
// which loads LibTorch once. Where a program is linked with LibTorch as usual (tests, sanitizers, other processors), it
// is there from the start. Where LibTorch cannot be
// loaded the program ends: with status 5 where memory, addresses or open files are limited, otherwise 3.
#pragma once

namespace locus {

bool torch_is_loaded();

// Calls `call` once LibTorch is there, on the thread that loads it: at once where it is. One call is kept, the latest.
void when_torch_is_loaded(void (*call)());

// The most threads that multiply at the same time, where addresses are limited; 0: as many as there are cores.
int torch_threads();

}  // namespace locus

// LibTorch at its first use. Loading it takes 0.4 s, since it registers thousands of operators; the program starts
// without it, and cmake/LazyTorch.cmake puts a small function in front of each of its functions that are called here,
// which loads LibTorch once. Where a program is linked with LibTorch as usual (tests, sanitizers, other processors), it
// is there from the start.
#pragma once

namespace locus {

bool torch_is_loaded();

// Calls `call` once LibTorch is there, on the thread that loads it: at once where it is. One call is kept, the latest.
void when_torch_is_loaded(void (*call)());

}  // namespace locus

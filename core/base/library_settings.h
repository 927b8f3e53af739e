// Settings of OpenBLAS and OpenMP, which they read from the environment when they are loaded.
#pragma once

namespace locus {

// Sets those that nobody has set: the fastest kernels that OpenBLAS has for this CPU, and how long idle threads spin. To
// be called in main() before a thread is started and before the libraries are loaded. Returns whether it set any.
//
// An OpenBLAS older than its CPU does not know it and falls back to its SSE3 kernels: on an Emerald Rapids machine
// Debian 12's 0.3.21 runs a 1024³ product at 64 GFLOP/s, at 300 with its AVX-512 kernels. Its threads spin for
// milliseconds by default, on the cores that OpenMP's, which LibTorch and this program use, need next.
//
// OpenMP's threads have to spin: a layer of a further token is a dozen loops, and waking a thread takes longer than most
// of them. But microseconds suffice: after its last loop a thread takes a core from the window that draws what was
// computed, for milliseconds by GNU's default, and a keystroke's figure takes a fifth longer.
bool set_library_defaults();

// Starts the program anew, for a library that was loaded before main(): Qt loads OpenMP in some systems. `argv`: the
// arguments of main(). Returns where that is not possible.
void restart(char** argv);

}  // namespace locus

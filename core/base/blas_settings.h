// Settings of OpenBLAS, which it reads from the environment when it is loaded.
#pragma once

namespace locus {

// Sets those that nobody has set: the fastest kernels that OpenBLAS has for this CPU, and threads that do not spin
// after their work. An OpenBLAS older than its CPU does not know it and falls back to its SSE3 kernels: on an Emerald
// Rapids machine Debian 12's 0.3.21 runs a 1024³ product at 64 GFLOP/s, at 300 with its AVX-512 kernels. Its threads spin
// for milliseconds by default, on the cores that OpenMP's, which LibTorch and this program use, need next. OpenMP's do
// spin: a layer of a further token is a dozen loops, and waking a thread takes longer than most of them. To be called in
// main() before a thread is started and before the library is loaded. Returns whether it set any.
bool set_blas_defaults();

}  // namespace locus

// Settings of OpenBLAS and OpenMP, which both read from the environment when they are loaded.
#pragma once

namespace locus {

// Sets those that nobody has set: the fastest kernels that OpenBLAS has for this CPU, and threads that do not spin
// after their work. An OpenBLAS older than its CPU does not know it and falls back to its SSE3 kernels: on an Emerald
// Rapids machine Debian 12's 0.3.21 runs a 1024³ product at 64 GFLOP/s, at 300 with its AVX-512 kernels. LibTorch's
// threads are OpenMP's, OpenBLAS has its own: by default both spin for milliseconds on the cores that the other needs
// next, and a forward pass of GPT-2 small takes 1.5 times as long on two cores. To be called in main() before a thread
// is started and before either library is loaded. Returns whether it set any.
bool set_blas_defaults();

}  // namespace locus

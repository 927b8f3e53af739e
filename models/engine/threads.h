// Threads of LibTorch's loops and of OpenBLAS, which LibTorch does not know, and the kernels of matrix products.
#pragma once

#include <cstdint>
#include <string>

namespace locus::models {

// For all work from now on.
void set_product_threads(int threads);
int product_threads();

// While one lives, loops of this thread have the threads that the announced work is worth: one where it is small, all
// otherwise. On a loaded machine another thread gets its turn milliseconds late, at every one of a forward pass's
// hundred barriers. Small work's products have one too, those of all threads: OpenBLAS counts one number of threads a
// process.
class ThreadsFor {
 public:
  // `macs` multiply-accumulates.
  explicit ThreadsFor(double macs);
  ~ThreadsFor();
  ThreadsFor(const ThreadsFor&) = delete;
  ThreadsFor& operator=(const ThreadsFor&) = delete;

 private:
  int before_;  // of this thread's loops
  bool small_;
};

// While one lives, every work of this thread has one thread, however large: others run beside it.
class OneThread {
 public:
  OneThread();
  ~OneThread();
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  bool outer_;  // within another
  ThreadsFor small_{0};
};

// Work below this is small: see ThreadsFor.
constexpr double kSmallWorkMacs = 1e8;

// "OpenBLAS", "MKL", "reference BLAS (slow)".
std::string blas_name();

// The warning of slow kernels: where `kernels` use narrower vectors than a CPU of `cpu_bits` has. `chosen` is what
// OPENBLAS_CORETYPE says, or null.
std::string slower_kernels(const std::string& kernels, int cpu_bits, const char* chosen);

}  // namespace locus::models

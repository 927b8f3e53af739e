#include "models/engine/threads.h"
#include "models/api/local.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <cstdlib>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>

#include "core/base/instruction_sets.h"

namespace locus::models {

namespace {

// OpenBLAS counts one number of threads a process; small works on several of ours overlap.
struct Counted {
  std::mutex mutex;
  int threads = 0;  // 0: not set yet, OpenBLAS's own choice
  int small = 0;    // works that want one
};

Counted& counted() {
  static Counted counted;
  return counted;
}

// A function of a library that may be in the process; null where it is not.
template <class Function>
Function* found(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

int blas_threads() {
  auto* const threads = found<int()>("openblas_get_num_threads");
  return threads != nullptr ? threads() : 1;
}

void set_blas_threads(int threads) {
  if (auto* const set = found<void(int)>("openblas_set_num_threads")) {
    set(threads);
  }
}

// Sets the threads of this thread's loops alone, and of its products by MKL, which keeps a number of its own once
// at::set_num_threads() was called; that would set those of threads to come, too.
void set_loop_threads(int threads) {
  static auto* const set = found<void(int)>("omp_set_num_threads");
  if (set != nullptr) {
    set(threads);
  }
  static auto* const set_of_mkl = found<int(int)>("MKL_Set_Num_Threads_Local");  // LibTorch's, or nobody's
  if (set_of_mkl != nullptr) {
    set_of_mkl(threads);
  }
}

// OpenBLAS's names of kernels for x86, by the widest vectors that they use.
constexpr std::array<std::string_view, 4> kAvx512{"SkylakeX", "Cooperlake", "SapphireRapids", "Zen5"};
constexpr std::array<std::string_view, 3> kAvx2{"Haswell", "Zen", "Excavator"};

int vector_bits(std::string_view kernels) {
  const auto among = [&](const auto& names) { return std::find(names.begin(), names.end(), kernels) != names.end(); };
  return among(kAvx512) ? 512 : among(kAvx2) ? 256 : 128;
}

// The vector width of the program's own loops: this CPU's widest, unless LOCUS_KERNELS chooses a narrower one.
int own_vector_bits() {
#if defined(__x86_64__)
  return 128 << used_version();
#else
  return 0;
#endif
}

thread_local bool alone = false;  // OneThread

std::string kernel_name() {
  if (at::hasMKL()) {
    return "";  // OpenBLAS may be there all the same: OpenCV's
  }
  auto* const name = found<char*()>("openblas_get_corename");
  const char* const text = name != nullptr ? name() : nullptr;
  return text != nullptr ? text : "";
}

}  // namespace

void set_product_threads(int threads) {
  at::set_num_threads(threads);
  Counted& all = counted();
  const std::lock_guard lock(all.mutex);
  all.threads = threads;
  if (all.small == 0) {
    set_blas_threads(threads);
  }
}

int product_threads() {
  return at::get_num_threads();
}

std::string blas_name() {
  if (at::hasMKL()) {
    return "MKL";
  }
  if (dlsym(RTLD_DEFAULT, "openblas_get_config") != nullptr) {
    return "OpenBLAS";
  }
  // Debian's libblas.so.3 may be the reference one; LibTorch says "generic" of both.
  return dlsym(RTLD_DEFAULT, "bli_init") != nullptr ? "BLIS" : "reference BLAS (slow)";
}

// at::get_num_threads() first: its first call on a thread sets that thread's number.
ThreadsFor::ThreadsFor(double macs) : before_(at::get_num_threads()), small_(alone || macs < kSmallWorkMacs) {
  Counted& all = counted();
  const std::lock_guard lock(all.mutex);
  if (!small_) {
    set_loop_threads(all.threads > 0 ? all.threads : before_);
    return;
  }
  set_loop_threads(1);
  if (all.small++ == 0) {
    all.threads = all.threads > 0 ? all.threads : blas_threads();
    set_blas_threads(1);
  }
}

ThreadsFor::~ThreadsFor() {
  set_loop_threads(before_);
  if (!small_) {
    return;
  }
  Counted& all = counted();
  const std::lock_guard lock(all.mutex);
  if (--all.small == 0) {
    set_blas_threads(all.threads);
  }
}

OneThread::OneThread() : outer_(std::exchange(alone, true)) {}

OneThread::~OneThread() {
  alone = outer_;
}

std::string slower_kernels(const std::string& kernels, int cpu_bits, const char* chosen) {
  if (kernels.empty() || vector_bits(kernels) >= cpu_bits) {
    return {};
  }
  return "OpenBLAS runs its " + kernels + " kernels on a CPU with vectors of " + std::to_string(cpu_bits) +
         " bits: matrix products take a multiple of their time" +
         (chosen != nullptr ? std::string("; unset OPENBLAS_CORETYPE (") + chosen + ")" : std::string());
}

Products local::products() {
  const std::string kernels = kernel_name();
  return {kernels, slower_kernels(kernels, own_vector_bits(), std::getenv("OPENBLAS_CORETYPE"))};
}

}  // namespace locus::models

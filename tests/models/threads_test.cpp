// Threads by the work they are worth, and what is said of slow kernels.
#include "models/engine/threads.h"

#include <ATen/Parallel.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "core/base/guarded.h"
#include "models/api/model.h"

namespace locus::models {
namespace {

int openblas_threads() {
  using Threads = int (*)();
  auto* const threads = reinterpret_cast<Threads>(dlsym(RTLD_DEFAULT, "openblas_get_num_threads"));
  return threads != nullptr ? threads() : 0;
}

// OMP_NUM_THREADS while it lives; null: not set.
class OpenMpThreads {
 public:
  explicit OpenMpThreads(const char* text) {
    if (const char* const before = std::getenv(kName)) {
      before_ = before;
    }
    set(text);
  }
  ~OpenMpThreads() { set(before_ ? before_->c_str() : nullptr); }
  OpenMpThreads(const OpenMpThreads&) = delete;
  OpenMpThreads& operator=(const OpenMpThreads&) = delete;

 private:
  static constexpr const char* kName = "OMP_NUM_THREADS";
  static void set(const char* text) { text != nullptr ? setenv(kName, text, 1) : unsetenv(kName); }
  std::optional<std::string> before_;
};

// Threads as they were, whatever a test set.
class Threads : public testing::Test {
 protected:
  void TearDown() override { set_product_threads(before_); }
  const int before_ = product_threads();
};

TEST_F(Threads, AreBoundedByTheCores) {
  const int cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  const OpenMpThreads none(nullptr);
  EXPECT_EQ(bounded_threads(0), cores);
  EXPECT_EQ(bounded_threads(1), 1);
  EXPECT_EQ(bounded_threads(1000), cores);
  EXPECT_EQ(bounded_threads(std::int64_t{1} << 40), cores);
}

// As every program of OpenMP: a list's first is the outermost loop's, and what is no number asks for nothing.
TEST_F(Threads, AreAsManyAsTheEnvironmentSaysWhereNoneAreAskedFor) {
  const int cores = bounded_threads(1000);
  for (const auto& [text, threads] : {std::pair("1", 1),
                                      {"1,4", 1},
                                      {"2", std::min(2, cores)},
                                      {"100000", cores},
                                      {"", cores},
                                      {"0", cores},
                                      {"-1", cores},
                                      {"2x", cores},
                                      {"all", cores}}) {
    const OpenMpThreads set(text);
    EXPECT_EQ(bounded_threads(0), threads) << text;
    EXPECT_EQ(bounded_threads(2), std::min(2, cores)) << text;
  }
}

TEST_F(Threads, SmallWorkHasOneAndLeavesTheRestAsItWas) {
  set_product_threads(2);
  {
    const ThreadsFor small(kSmallWorkMacs / 2);
    EXPECT_EQ(at::get_num_threads(), 1);
    EXPECT_LE(openblas_threads(), 1);
    {
      const ThreadsFor inner(1);
      EXPECT_EQ(at::get_num_threads(), 1);
    }
    EXPECT_EQ(at::get_num_threads(), 1);
  }
  EXPECT_EQ(at::get_num_threads(), 2);
  if (openblas_threads() > 0) {
    EXPECT_EQ(openblas_threads(), 2);
  }
  const ThreadsFor large(2 * kSmallWorkMacs);
  EXPECT_EQ(at::get_num_threads(), 2);
}

// OpenBLAS counts one number per process: what ends first must not leave the other's.
TEST_F(Threads, SmallWorksThatOverlapLeaveAllThreadsInTheEnd) {
  set_product_threads(2);
  auto first = std::make_unique<ThreadsFor>(1);
  std::thread([&first] {
    const ThreadsFor second(1);
    EXPECT_LE(openblas_threads(), 1);
  }).join();
  EXPECT_LE(openblas_threads(), 1);
  first.reset();
  if (openblas_threads() > 0) {
    EXPECT_EQ(openblas_threads(), 2);
  }
  EXPECT_EQ(at::get_num_threads(), 2);
}

TEST_F(Threads, SlowerOnesThanTheCpuHasAreNamed) {
  const std::string said = slower_kernels("Haswell", 512, "Haswell");
  EXPECT_NE(said.find("Haswell kernels"), std::string::npos) << said;
  EXPECT_NE(said.find("unset OPENBLAS_CORETYPE"), std::string::npos) << said;
  EXPECT_EQ(slower_kernels("Prescott", 256, nullptr).find("unset"), std::string::npos);
  EXPECT_FALSE(slower_kernels("Prescott", 256, nullptr).empty());
  EXPECT_EQ(slower_kernels("SkylakeX", 512, "SkylakeX"), "");
  EXPECT_EQ(slower_kernels("Zen", 256, nullptr), "");
  EXPECT_EQ(slower_kernels("Prescott", 128, nullptr), "");
  EXPECT_EQ(slower_kernels("", 512, nullptr), "");
  EXPECT_EQ(slower_kernels("ARMV8", 0, nullptr), "");
}

TEST_F(Threads, MemoryThatIsNotThereIsSaidWithoutTheLibrarysWords) {
  const Error error = error_of(std::runtime_error(
      "[enforce fail at alloc_cpu.cpp:66] . DefaultCPUAllocator: can't allocate memory: you tried to "
      "allocate 4294967296 bytes. Error code 12 (Cannot allocate memory)\nframe #0: c10::foo"));
  EXPECT_EQ(error.code, ErrorCode::kTooLarge);
  EXPECT_EQ(error.describe(), "not enough memory: could not allocate 4295 MB");
  EXPECT_EQ(error_of(std::bad_alloc()).describe(), "not enough memory");
}

}  // namespace
}  // namespace locus::models

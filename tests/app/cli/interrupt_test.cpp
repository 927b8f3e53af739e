// What a signal does to work that looks at its token, to work that does not, and where it is ignored.
#include "app/cli/interrupt.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <string>
#include <thread>

#include "core/base/atomic_file.h"
#include "core/base/temporary_folder.h"

namespace locus::cli {
namespace {

namespace fs = std::filesystem;

void wait_for(const std::stop_token& stop) {
  for (int n = 0; n < 500 && !stop.stop_requested(); ++n) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

TEST(Interrupt, ASignalIsARequest) {
  for (const int signal : {SIGINT, SIGTERM}) {
    const Interrupt interrupt;
    EXPECT_FALSE(interrupt.token().stop_requested());
    ::raise(signal);
    wait_for(interrupt.token());
    EXPECT_TRUE(interrupt.token().stop_requested());
  }
}

TEST(Interrupt, AnIgnoredSignalStaysIgnored) {
  const auto before = std::signal(SIGINT, SIG_IGN);
  {
    const Interrupt interrupt;
    ::raise(SIGINT);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_FALSE(interrupt.token().stop_requested());
    ::raise(SIGTERM);
    wait_for(interrupt.token());
    EXPECT_TRUE(interrupt.token().stop_requested());
  }
  EXPECT_EQ(std::signal(SIGINT, before), SIG_IGN);
}

// Writes to a file, and looks at no token.
[[noreturn]] void work_on(const fs::path& file, int second_signal) {
  const Interrupt interrupt(std::chrono::seconds(second_signal == 0 ? 1 : 60));
  auto partial = AtomicFile::create(file);
  auto folder = TemporaryFolder::make();
  std::fprintf(stderr, "folder %s ", folder->path().c_str());
  ::raise(SIGTERM);
  wait_for(interrupt.token());
  if (second_signal != 0) {
    ::raise(second_signal);
  }
  for (;;) {
    ::pause();
  }
}

TEST(Interrupt, WorkThatDoesNotLookEndsAndLeavesNothing) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const fs::path file = fs::path(testing::TempDir()) / "interrupted.txt";
  EXPECT_EXIT(work_on(file, 0), testing::ExitedWithCode(130), "locus: cancelled");
  EXPECT_FALSE(fs::exists(file.string() + ".partial"));
  EXPECT_EXIT(work_on(file, SIGINT), testing::ExitedWithCode(130), "locus: cancelled");
  EXPECT_FALSE(fs::exists(file.string() + ".partial"));
  EXPECT_EXIT(work_on(file, SIGTERM), testing::KilledBySignal(SIGTERM), "");
}

}  // namespace
}  // namespace locus::cli

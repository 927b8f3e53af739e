#include "core/base/system_files.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

namespace locus {
namespace {

TEST(SystemFiles, FindsTheValueOfAWholeKey) {
  const std::string path = testing::TempDir() + "locus_system_" + std::to_string(::getpid());
  std::ofstream(path)
      << "nothing here\n: 3\nMemTotalOther: 1 kB\nMemTotal:       25000 kB\nmodel name\t: A CPU: fast\nEmpty:\n";
  EXPECT_EQ(system_value(path, "MemTotal"), "25000 kB");
  EXPECT_EQ(system_bytes(path, "MemTotal"), 25000.0 * 1024);
  EXPECT_EQ(system_value(path, "model name"), "A CPU: fast");
  EXPECT_EQ(system_value(path, "Empty"), "");
  EXPECT_EQ(system_bytes(path, "Empty"), 0);
  EXPECT_EQ(system_bytes(path, "MemFree"), 0);
  std::remove(path.c_str());
  EXPECT_EQ(system_value(path, "MemTotal"), "");
}

TEST(SystemFiles, KnowsThisProcess) {
  const double now = system_bytes("/proc/self/status", "VmRSS");
  EXPECT_GT(now, 1e6);
  EXPECT_GE(system_bytes("/proc/self/status", "VmHWM"), now / 2);
}

}  // namespace
}  // namespace locus

#include "core/base/folder_lock.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <thread>
#include <vector>

#include "core/base/atomic_file.h"

namespace {

constexpr const char* kName = "training.lock";

class FolderLock : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) / ("folder_lock_" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  auto take(const std::string& work) const { return locus::FolderLock::take(folder_, kName, work); }

  std::filesystem::path folder_;
};

TEST_F(FolderLock, NamesItsHolderToWhoComesNextAndGoesWithIt) {
  {
    const auto first = take("locus train text");
    ASSERT_TRUE(first.ok()) << first.error().describe();
    const auto second = take("locus train counting");
    ASSERT_FALSE(second.ok());
    EXPECT_EQ(second.error().code, locus::ErrorCode::kBadInput);
    EXPECT_NE(second.error().message.find("process " + std::to_string(::getpid()) + " on "), std::string::npos)
        << second.error().message;
    EXPECT_NE(second.error().message.find("locus train text"), std::string::npos) << second.error().message;
  }
  EXPECT_FALSE(std::filesystem::exists(folder_ / kName));
  EXPECT_TRUE(take("locus train counting").ok());
}

TEST_F(FolderLock, WhatADeadProcessHeldIsTakenOver) {
  const pid_t child = ::fork();
  if (child == 0) {
    const auto lock = take("the first");
    ::kill(::getpid(), SIGKILL);
    ::_exit(lock.ok() ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
  ASSERT_TRUE(std::filesystem::exists(folder_ / kName));
  const auto lock = take("the second");
  ASSERT_TRUE(lock.ok()) << lock.error().describe();
  const std::string words = *locus::read_file(folder_ / kName, 1000);
  EXPECT_EQ(words.find("the first"), std::string::npos) << words;
  EXPECT_NE(words.find("the second"), std::string::npos) << words;
}

TEST_F(FolderLock, NeverHasTwoHolders) {
  std::atomic<int> inside = 0;
  std::atomic<int> most = 0;
  std::atomic<int> taken = 0;
  {
    std::vector<std::jthread> threads;
    threads.reserve(8);
    for (int n = 0; n < 8; ++n) {
      threads.emplace_back([&] {
        for (int round = 0; round < 200; ++round) {
          if (const auto lock = take("a thread"); lock.ok()) {
            const int now = ++inside;
            most = std::max(most.load(), now);
            ++taken;
            std::this_thread::yield();
            --inside;
          }
        }
      });
    }
  }
  EXPECT_EQ(most, 1);
  EXPECT_GT(taken, 0);
}

// A link names another file than the one that was opened, for ever; a pipe would wait for its other end.
TEST_F(FolderLock, WhatIsNoFileIsRefusedAndStays) {
  std::filesystem::create_symlink(folder_ / "elsewhere", folder_ / kName);
  const auto linked = take("locus train text");
  ASSERT_FALSE(linked.ok());
  EXPECT_EQ(linked.error().code, locus::ErrorCode::kBadInput);
  EXPECT_EQ(linked.error().message, "expected a lock file or nothing, found a symbolic link");
  EXPECT_TRUE(std::filesystem::is_symlink(folder_ / kName));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "elsewhere"));
  std::filesystem::remove(folder_ / kName);
  ASSERT_EQ(::mkfifo((folder_ / kName).c_str(), 0600), 0);
  const auto pipe = take("locus train text");
  ASSERT_FALSE(pipe.ok());
  EXPECT_EQ(pipe.error().message, "expected a lock file or nothing, found a device or a pipe");
  EXPECT_TRUE(std::filesystem::is_fifo(folder_ / kName));
}

TEST_F(FolderLock, AFolderThatIsNotThereIsAnError) {
  EXPECT_FALSE(locus::FolderLock::take(folder_ / "none", kName, "work").ok());
}

}  // namespace

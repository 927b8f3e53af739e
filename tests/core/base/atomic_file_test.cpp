#include "core/base/atomic_file.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

namespace {

using locus::read_file;
using locus::Status;
using locus::write_file;

class AtomicFile : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) / ("atomic_file_" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder_), {}));
  }

  // A process that writes half of `path` and is killed; what it leaves behind is there.
  static void kill_a_write_of(const std::filesystem::path& path) {
    const pid_t child = ::fork();
    if (child == 0) {
      auto file = locus::AtomicFile::create(path);
      if (file.ok() && file->write("half").ok()) {
        ::kill(::getpid(), SIGKILL);
      }
      ::_exit(1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status));
  }
  static mode_t mode(const std::filesystem::path& path) {
    struct stat found {};
    ::stat(path.c_str(), &found);
    return found.st_mode & 07777;
  }

  std::filesystem::path folder_;
};

TEST_F(AtomicFile, WithoutCommitTheOldFileStaysAndNothingIsLeftBehind) {
  const auto path = folder_ / "session.json";
  ASSERT_TRUE(write_file(path, "old").ok());
  {
    auto file = locus::AtomicFile::create(path);
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE(file->write("half of the new").ok());
    EXPECT_EQ(*read_file(path, 100), "old");
  }
  EXPECT_EQ(*read_file(path, 100), "old");
  EXPECT_EQ(files(), 1U);
}

TEST_F(AtomicFile, CommitReplacesTheOldFileWhole) {
  const auto path = folder_ / "session.json";
  ASSERT_TRUE(write_file(path, "a longer old text").ok());
  ASSERT_TRUE(write_file(path, "new").ok());
  EXPECT_EQ(*read_file(path, 100), "new");
  EXPECT_EQ(files(), 1U);
}

TEST_F(AtomicFile, ASymbolicLinkStaysAndItsTargetIsReplaced) {
  ASSERT_TRUE(write_file(folder_ / "target.json", "old").ok());
  std::filesystem::create_symlink("target.json", folder_ / "link.json");
  std::filesystem::create_symlink(folder_ / "link.json", folder_ / "chain.json");
  ASSERT_TRUE(write_file(folder_ / "chain.json", "new").ok());
  EXPECT_TRUE(std::filesystem::is_symlink(folder_ / "link.json"));
  EXPECT_TRUE(std::filesystem::is_symlink(folder_ / "chain.json"));
  EXPECT_EQ(*read_file(folder_ / "target.json", 100), "new");
  // A link to nothing makes what it leads to.
  std::filesystem::create_symlink("not-yet.json", folder_ / "early.json");
  ASSERT_TRUE(write_file(folder_ / "early.json", "made").ok());
  EXPECT_EQ(*read_file(folder_ / "not-yet.json", 100), "made");
  std::filesystem::create_symlink("b", folder_ / "a");
  std::filesystem::create_symlink("a", folder_ / "b");
  const Status circle = write_file(folder_ / "a", "text");
  ASSERT_FALSE(circle.ok());
  EXPECT_NE(circle.error().message.find("links that lead to each other"), std::string::npos);
}

TEST_F(AtomicFile, AReadOnlyFileIsRefusedWhoeverAsks) {
  const auto path = folder_ / "protected.json";
  ASSERT_TRUE(write_file(path, "old").ok());
  ASSERT_EQ(::chmod(path.c_str(), 0444), 0);
  const Status status = write_file(path, "new");
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, locus::ErrorCode::kBadInput);
  EXPECT_NE(status.error().message.find("read-only"), std::string::npos);
  EXPECT_EQ(*read_file(path, 100), "old");
  EXPECT_EQ(files(), 1U);
}

TEST_F(AtomicFile, AFullDiskIsAnErrorAndTheOldFileStays) {
  // /dev/full stands for a disk without room: every write to it fails.
  if (!std::filesystem::exists("/dev/full")) {
    GTEST_SKIP() << "no /dev/full";
  }
  const Status status = write_file("/dev/full/session.json", "text");
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, locus::ErrorCode::kBadInput);
}

TEST_F(AtomicFile, ANewFileHasWhatTheUmaskLeavesAndAReplacedOneKeepsItsMode) {
  const mode_t before = ::umask(027);
  const auto path = folder_ / "private.json";
  ASSERT_TRUE(write_file(path, "one").ok());
  ::umask(before);
  EXPECT_EQ(mode(path), 0640U);
  ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
  ASSERT_TRUE(write_file(path, "two").ok());
  EXPECT_EQ(mode(path), 0600U);
  ASSERT_EQ(::chmod(path.c_str(), 0664), 0);
  ASSERT_TRUE(write_file(path, "three").ok());
  EXPECT_EQ(mode(path), 0664U);
}

TEST_F(AtomicFile, WhatAKilledWriteLeftIsGoneAfterTheNext) {
  const auto path = folder_ / "model.safetensors";
  ASSERT_TRUE(write_file(path, "old").ok());
  kill_a_write_of(path);
  EXPECT_EQ(*read_file(path, 100), "old");
  ASSERT_EQ(files(), 2U);
  ASSERT_TRUE(write_file(path, "new").ok());
  EXPECT_EQ(*read_file(path, 100), "new");
  EXPECT_EQ(files(), 1U);
}

TEST_F(AtomicFile, OnlyWhatNobodyWritesIsRemoved) {
  kill_a_write_of(folder_ / "config.json");
  ASSERT_TRUE(write_file(folder_ / "notes.txt", "kept").ok());
  auto living = locus::AtomicFile::create(folder_ / "model.safetensors");
  ASSERT_TRUE(living.ok());
  ASSERT_EQ(files(), 3U);
  locus::remove_abandoned(folder_);
  EXPECT_EQ(files(), 2U);
  ASSERT_TRUE(living->write("whole").ok());
  ASSERT_TRUE(living->commit().ok());
  EXPECT_EQ(*read_file(folder_ / "model.safetensors", 100), "whole");
  EXPECT_EQ(*read_file(folder_ / "notes.txt", 100), "kept");
  locus::remove_abandoned(folder_ / "none");
}

TEST_F(AtomicFile, TwoWritersOfOneNameDoNotMix) {
  const auto path = folder_ / "loss.csv";
  auto first = locus::AtomicFile::create(path);
  auto second = locus::AtomicFile::create(path);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_NE(first->temporary(), second->temporary());
  ASSERT_TRUE(first->write("first").ok() && second->write("second").ok());
  ASSERT_TRUE(second->commit().ok());
  EXPECT_EQ(*read_file(path, 100), "second");
  ASSERT_TRUE(first->commit().ok());
  EXPECT_EQ(*read_file(path, 100), "first");
  EXPECT_EQ(files(), 1U);
}

TEST_F(AtomicFile, ManyThreadsThatWriteOneFileLeaveOneWhole) {
  const auto path = folder_ / "training.json";
  {
    std::vector<std::jthread> writers;
    for (char letter = 'a'; letter < 'i'; ++letter) {
      writers.emplace_back([&, letter] {
        for (int n = 0; n < 20; ++n) {
          EXPECT_TRUE(write_file(path, std::string(1000, letter)).ok());
        }
      });
    }
  }
  const std::string text = *read_file(path, 10000);
  EXPECT_EQ(text, std::string(1000, text.front()));
  EXPECT_EQ(files(), 1U);
}

TEST_F(AtomicFile, DevicesAndFoldersAreNotReplaced) {
  EXPECT_FALSE(write_file("/dev/null", "text").ok());
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
  const Status folder = write_file(folder_, "text");
  ASSERT_FALSE(folder.ok());
  EXPECT_NE(folder.error().message.find("found a folder"), std::string::npos) << folder.error().message;
}

TEST_F(AtomicFile, ReadingRefusesFoldersMissingFilesAndTooLongOnes) {
  EXPECT_FALSE(read_file(folder_, 100).ok());
  EXPECT_FALSE(read_file(folder_ / "none", 100).ok());
  ASSERT_TRUE(write_file(folder_ / "long", "12345").ok());
  const auto text = read_file(folder_ / "long", 4);
  ASSERT_FALSE(text.ok());
  EXPECT_EQ(text.error().message, "expected at most 4 bytes, found 5");
}

}  // namespace

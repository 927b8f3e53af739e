#include "core/base/atomic_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

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

TEST_F(AtomicFile, AFullDiskIsAnErrorAndTheOldFileStays) {
  // /dev/full stands for a disk without room: every write to it fails.
  if (!std::filesystem::exists("/dev/full")) {
    GTEST_SKIP() << "no /dev/full";
  }
  const Status status = write_file("/dev/full/session.json", "text");
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, locus::ErrorCode::kBadInput);
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

// The small checkpoint of the command line's tests in a cache of Hugging Face's layout.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/support/run_locus.h"

namespace locus::testing_support {

// The small checkpoint as the cache keeps it: blobs, and links to them in a snapshot.
class CachedModel : public CheckpointTest {
 protected:
  void SetUp() override {
    CheckpointTest::SetUp();
    std::filesystem::remove_all(cache());
    std::filesystem::create_directories(model() / "blobs");
    std::filesystem::create_directories(model() / "refs");
    std::filesystem::create_directories(snapshot());
    int number = 0;
    for (const auto& entry : std::filesystem::directory_iterator(path())) {
      const std::string blob = std::to_string(number++);
      std::filesystem::copy(entry.path(), model() / "blobs" / blob);
      std::filesystem::create_symlink("../../blobs/" + blob, snapshot() / entry.path().filename());
    }
    std::ofstream(model() / "refs/main") << kCommit;
    ::setenv("HF_HUB_CACHE", cache().c_str(), 1);
  }
  void TearDown() override { ::unsetenv("HF_HUB_CACHE"); }

  static std::filesystem::path cache() { return file("hub"); }
  static std::filesystem::path model() { return cache() / "models--some-one--tiny"; }
  static std::filesystem::path snapshot() { return model() / "snapshots" / kCommit; }
  static void expect_done(const std::vector<std::string>& arguments, const std::string& printed) {
    const Outcome outcome = run_locus(arguments);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_NE(outcome.out.find(printed), std::string::npos) << outcome.out;
  }

  static inline const std::string kCommit = std::string(40, '7');
};

}  // namespace locus::testing_support

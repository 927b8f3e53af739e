#include "models/checkpoint/digest.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "core/base/atomic_file.h"
#include "core/base/sha256.h"

namespace locus::checkpoint {
namespace {

namespace fs = std::filesystem;

TEST(Digest, OneFileIsItsOwnDigest) {
  const fs::path folder = fs::temp_directory_path() / ("locus_digest_" + std::to_string(::getpid()));
  fs::create_directories(folder / "b");
  ASSERT_TRUE(write_file(folder / "abc", "abc").ok());
  ASSERT_TRUE(write_file(folder / "b/empty", "").ok());
  ASSERT_TRUE(write_file(folder / "long", std::string(5'000'000, 'a')).ok());
  // FIPS 180-4's examples.
  const std::string abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
  const std::string empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
  EXPECT_EQ(*digest_of({folder / "abc"}), abc);
  EXPECT_EQ(*digest_of({folder / "b/empty"}), empty);
  EXPECT_EQ(*digest_of({folder / "long"}), sha256(std::string(5'000'000, 'a')));

  const std::string both = sha256(abc + "  abc\n" + empty + "  empty\n");
  EXPECT_EQ(*digest_of({folder / "b/empty", folder / "abc"}), both);
  EXPECT_EQ(*digest_of({folder / "abc", folder / "b/empty"}), both);

  EXPECT_EQ(digest_of({}).error().code, ErrorCode::kBadInput);
  EXPECT_EQ(digest_of({folder / "absent"}).error().code, ErrorCode::kBadInput);

  std::vector<double> fractions;
  ASSERT_TRUE(
      digest_of({folder / "long"}, [&](const ProgressReport& each) { fractions.push_back(each.fraction); }).ok());
  EXPECT_EQ(fractions.size(), 2U);
  std::stop_source stop;
  const Progress stop_soon = [&](const ProgressReport& /*report*/) { stop.request_stop(); };
  EXPECT_EQ(digest_of({folder / "long"}, stop_soon, stop.get_token()).error().code, ErrorCode::kCancelled);
  fs::remove_all(folder);
}

}  // namespace
}  // namespace locus::checkpoint

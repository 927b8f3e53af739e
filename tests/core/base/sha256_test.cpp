#include "core/base/sha256.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace {

using locus::Sha256;
using locus::sha256;

// FIPS 180-4's examples.
TEST(Sha256, MatchesTheStandard) {
  EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256(std::string(1'000'000, 'a')), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, DoesNotDependOnHowTheMessageIsCut) {
  std::string message;
  for (int n = 0; n < 300; ++n) {
    message += static_cast<char>(n * 7);
  }
  for (std::size_t cut = 0; cut <= 130; ++cut) {
    Sha256 hash;
    hash.add(std::string_view(message).substr(0, cut));
    hash.add(std::string_view(message).substr(cut));
    EXPECT_EQ(hash.finish(), sha256(message)) << cut;
  }
}

TEST(Sha256, ReadsFiles) {
  const auto path = std::filesystem::path(testing::TempDir()) / "sha256_test.bin";
  std::ofstream(path, std::ios::binary) << "abc";
  const auto hash = locus::sha256_of_file(path);
  ASSERT_TRUE(hash.ok());
  EXPECT_EQ(*hash, sha256("abc"));
  std::filesystem::remove(path);
  EXPECT_EQ(locus::sha256_of_file(path).error().code, locus::ErrorCode::kBadInput);
}

}  // namespace

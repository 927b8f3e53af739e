// Models of Hugging Face's cache, by their names, in every sub-command that takes a PATH.
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <thread>

#include "core/base/sha256.h"
#include "tests/support/hub_server.h"
#include "tests/support/run_locus.h"
#include "tests/support/signalled.h"

namespace {

using locus::testing_support::CheckpointTest;
using locus::testing_support::expect_error;
using locus::testing_support::Outcome;
using locus::testing_support::run_locus;
namespace fs = std::filesystem;

// The small checkpoint as the cache keeps it: blobs, and links to them in a snapshot.
class CliHub : public CheckpointTest {
 protected:
  void SetUp() override {
    CheckpointTest::SetUp();
    fs::remove_all(cache());
    fs::create_directories(model() / "blobs");
    fs::create_directories(model() / "refs");
    fs::create_directories(snapshot());
    int number = 0;
    for (const auto& entry : fs::directory_iterator(path())) {
      const std::string blob = std::to_string(number++);
      fs::copy(entry.path(), model() / "blobs" / blob);
      fs::create_symlink("../../blobs/" + blob, snapshot() / entry.path().filename());
    }
    std::ofstream(model() / "refs/main") << kCommit;
    ::setenv("HF_HUB_CACHE", cache().c_str(), 1);
  }
  void TearDown() override { ::unsetenv("HF_HUB_CACHE"); }

  static fs::path cache() { return file("hub"); }
  static fs::path model() { return cache() / "models--some-one--tiny"; }
  static fs::path snapshot() { return model() / "snapshots" / kCommit; }
  static void expect_done(const std::vector<std::string>& arguments, const std::string& printed) {
    const Outcome outcome = run_locus(arguments);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_NE(outcome.out.find(printed), std::string::npos) << outcome.out;
  }

  static inline const std::string kCommit = std::string(40, '7');
};

TEST_F(CliHub, EverySubCommandTakesNames) {
  expect_done({"info", "some-one/tiny"}, "some-one/tiny");
  expect_done({"info", "some-one/tiny@main", "--json"}, "\"name\": \"some-one/tiny\"");
  expect_done({"run", "some-one/tiny@" + kCommit, "--text", "one two"}, "7 tokens");
  expect_done({"verify", "some-one/tiny", "--ids", "1,2,3"}, "ok");
  const std::string data = file("hub.npy");
  expect_done(
      {"figure", "attention", "some-one/tiny", "--text", "one two", "--reference", "some-one/tiny", "--data", data},
      data);
  expect_done(
      {"figure", "--recipe", data + ".recipe.json", "some-one/tiny", "some-one/tiny", "--data", file("again.npy")},
      "again.npy");
  expect_done({"evaluate", "text", "some-one/tiny", "--validate", file("corpus.txt"), "--samples", "2"}, "bits");
}

TEST_F(CliHub, WhatIsNotInTheCacheIsSaidWithThePlace) {
  const std::string place = (cache() / "models--some-one--else").string();
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"info", "some-one/else"},
           {"run", "some-one/else", "--text", "a"},
           {"figure", "attention", "some-one/else", "--text", "a", "--data", file("x.npy")},
           {"evaluate", "text", "some-one/else"},
           {"verify", "some-one/else", "--text", "a"}}) {
    const Outcome outcome = run_locus(arguments);
    expect_error(outcome, 3, "not in the cache: expected " + place);
    EXPECT_EQ(outcome.err.rfind("locus: error: some-one/else: no such file or folder", 0), 0U) << outcome.err;
  }
  expect_error(run_locus({"info", "some-one/tiny@v9"}), 3, (model() / "refs/v9").string());
}

}  // namespace
